package org.apache.spark.sql.indextables

import java.io.IOException
import java.net.URI

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.hadoop.security.UserGroupInformation

import org.apache.spark.SparkContext

/** The base of paths without a scheme; Python resolves them. */
object Locations {
  /** The working directory of the default file system, as in Spark's file sources. */
  def base(): String = {
    val conf = SparkContext.getActive.map(_.hadoopConfiguration).getOrElse(new Configuration())
    val root = defaultFileSystem(conf)
    // Python's client may support a store that Hadoop has no class for; Hadoop's home directories are in /user
    try (if (root.getScheme == "file") local else FileSystem.get(root, conf)).getWorkingDirectory.toString
    catch {
      case _: IOException | _: RuntimeException =>
        val home = new Path("/user", UserGroupInformation.getCurrentUser.getShortUserName)
        home.makeQualified(root, home).toString
    }
  }

  // to find it, Hadoop walks the stack of the thread for its user: that is slow in the planning of a query
  private lazy val local = FileSystem.get(URI.create("file:///"), new Configuration())

  def isLocal(path: String): Boolean = path.startsWith("/") && base().startsWith("file:")

  private def defaultFileSystem(conf: Configuration): URI =
    Option(Rpc.settings.getConfString(FileSystem.FS_DEFAULT_NAME_KEY, null))
      .fold(FileSystem.getDefaultUri(conf))(URI.create)
}
