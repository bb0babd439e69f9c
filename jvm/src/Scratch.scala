package org.apache.spark.sql.indextables

import java.nio.channels.FileChannel
import java.nio.file.{Files, Path}
import java.nio.file.StandardOpenOption.{CREATE, WRITE}

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.util.Utils

/**
 * This JVM's folder for small files. The JVM holds a lock in it, which ends with the process, however it ends. The next
 * JVM that creates such a folder removes those that nobody holds a lock in.
 */
object Scratch {
  private val Prefix = "indextables-jvm"
  // not the name of the engine's lock files: its locks and Java's do not see each other
  private val Lock = "jvm.lock"
  /** A younger folder may not have its lock yet. */
  private val YoungMs = 60 * 1000L
  private val pid = ProcessHandle.current().pid()

  // keeps the lock's channel: the garbage collector would close it
  private lazy val held = {
    val parent = Path.of(System.getProperty("java.io.tmpdir"))
    try removeAbandoned(parent) catch { case NonFatal(_) => } // the next JVM tries again
    // Spark removes it when the JVM exits normally
    val folder = Utils.createTempDir(parent.toString, s"$Prefix-$pid").toPath
    val channel = FileChannel.open(folder.resolve(Lock), CREATE, WRITE)
    // on a file system without locks, no JVM considers the folder abandoned
    try channel.tryLock() catch { case NonFatal(_) => }
    folder -> channel
  }

  /** The folder; created again if a clean-up of temporary files has removed it. */
  def folder: Path = Files.createDirectories(held._1)

  private def removeAbandoned(parent: Path): Unit = {
    val found = Files.newDirectoryStream(parent, s"$Prefix-*")
    // closing any channel of this JVM's lock file would release its lock
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
      case NonFatal(_) => false // no lock file, another user's folder, or removed in the meantime
    }
  }
}
