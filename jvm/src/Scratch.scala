package org.apache.spark.sql.indextables

import java.nio.channels.FileChannel
import java.nio.file.{Files, Path}
import java.nio.file.StandardOpenOption.{CREATE, WRITE}

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.util.Utils

/**
 * A folder of this JVM for small files. The JVM holds a lock in it, which ends with the process, however it ends:
 * the next JVM that makes such a folder in the same place removes those whose locks nobody holds.
 */
object Scratch {
  private val Prefix = "indextables-jvm"
  // not the name of the engine's lock files: its locks and those of Java do not see each other
  private val Lock = "jvm.lock"
  /** A folder that is being created briefly has no lock. */
  private val YoungMs = 60 * 1000L
  private val pid = ProcessHandle.current().pid()

  // with the channel of the lock: one that is forgotten is closed
  private lazy val held = {
    val parent = Path.of(System.getProperty("java.io.tmpdir"))
    try removeAbandoned(parent) catch { case NonFatal(_) => } // the next one tries again
    // Spark removes it when the JVM ends as it should
    val folder = Utils.createTempDir(parent.toString, s"$Prefix-$pid").toPath
    val channel = FileChannel.open(folder.resolve(Lock), CREATE, WRITE)
    // on a file system without locks, no JVM considers the folder abandoned
    try channel.tryLock() catch { case NonFatal(_) => }
    folder -> channel
  }

  /** The folder, also after a clean-up of temporary files has removed it. */
  def folder: Path = Files.createDirectories(held._1)

  private def removeAbandoned(parent: Path): Unit = {
    val found = Files.newDirectoryStream(parent, s"$Prefix-*")
    // to close a lock file of this JVM would end its lock
    try found.asScala.filterNot(_.getFileName.toString.startsWith(s"$Prefix-$pid-")).filter(isAbandoned)
      .foreach(folder => Utils.deleteRecursively(folder.toFile))
    finally found.close()
  }

  private def isAbandoned(folder: Path): Boolean = {
    val lock = folder.resolve(Lock)
    try {
      val age = System.currentTimeMillis() - Files.getLastModifiedTime(lock).toMillis
      age >= YoungMs && Using.resource(FileChannel.open(lock, WRITE))(_.tryLock() != null)
    } catch {
      case NonFatal(_) => false // without a lock file, another user's, or gone meanwhile
    }
  }
}
