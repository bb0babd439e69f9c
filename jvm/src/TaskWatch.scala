package org.apache.spark.sql.indextables

import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.TaskContext

/**
 * Ends the Python workers of canceled tasks at once. Spark checks for canceled tasks every two seconds and lets a worker
 * run for another two. Workers leave their process ids in a folder while they run (spark/same_versions.py).
 */
object TaskWatch {
  /** The task property with that folder; tasks may share properties. */
  private val Place = "indextables.worker"
  private val EveryMs = 200
  private val tasks = new ConcurrentHashMap[Long, TaskContext]()
  private lazy val thread = {
    val started = new Thread(() => while (true) { look(); Thread.sleep(EveryMs) }, "indextables canceled tasks")
    started.setDaemon(true)
    started.start()
    started
  }

  /** Watch a task, before it starts a worker. */
  def add(context: TaskContext): Unit = {
    val id = context.taskAttemptId()
    if (tasks.putIfAbsent(id, context) == null) {
      context.getLocalProperties.setProperty(Place, Scratch.folder.toString)
      context.addTaskCompletionListener[Unit] { _ =>
        tasks.remove(id)
        // left by workers that were killed
        workers(id).foreach(Files.deleteIfExists(_))
      }
      thread
    }
  }

  private def look(): Unit = tasks.forEach { (id, context) =>
    if (context.isInterrupted() && !context.isCompleted())
      try workers(id).foreach(end) catch { case NonFatal(_) => } // then Spark ends them
  }

  private def workers(id: Long): Seq[Path] = {
    val found = Files.newDirectoryStream(Scratch.folder, s"$id-*")
    try found.asScala.toSeq finally found.close()
  }

  private def end(worker: Path): Unit =
    ProcessHandle.of(worker.getFileName.toString.split("-").last.toLong).ifPresent(_.destroy())
}
