package org.apache.spark.sql.indextables

import java.io.InvalidClassException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Collections

import scala.util.Try

import org.apache.spark.{ExceptionFailure, SparkContext, SparkEnv}
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}

/**
 * Executors must have the driver's jar, package and engine. Every task compares them: the jar here, the rest in Python
 * (spark/same_versions.py). Spark would retry a task that finds a difference, perhaps on a host where it passes. So the
 * driver cancels the stage instead, with one message that names the host.
 */
object Executors {
  /** A digest of the sources of this JVM's jar. */
  lazy val jar: String = Option(getClass.getResourceAsStream("/META-INF/indextables-sources.sha256"))
    .map(in => try new String(in.readAllBytes(), UTF_8) finally in.close()).getOrElse("")

  /** The digest of the driver's jar, serialized with tasks. */
  @SerialVersionUID(1L)
  class SameJar extends Serializable {
    private val needed = jar
    def check(): Unit = if (needed != jar) throw new OtherJar(jar, needed)
  }

  /** Watch the tasks of this application. */
  def sameJar(): SameJar = {
    SparkContext.getActive.filterNot(_.isLocal).foreach { context =>
      if (watched.add(context)) context.addSparkListener(new VersionWatch(context))
    }
    new SameJar
  }

  private val watched = Collections.synchronizedSet(Collections.newSetFromMap(
    new java.util.WeakHashMap[SparkContext, java.lang.Boolean]()))
}

@SerialVersionUID(1L)
class OtherJar(val found: String, val needed: String) extends RuntimeException(s"jar $found, needed $needed")

class VersionWatch(context: SparkContext) extends SparkListener {
  override def onTaskEnd(end: SparkListenerTaskEnd): Unit = end.reason match {
    case failure: ExceptionFailure => problem(failure, end.taskInfo.host).foreach(context.cancelStage(end.stageId, _))
    case _ =>
  }

  private def problem(failure: ExceptionFailure, host: String): Option[String] = {
    val text = s"${failure.description}"
    if (text.startsWith(s"[$Mismatch]")) Some(text)
    else failure.className match {
      case name if name == classOf[OtherJar].getName => failure.exception.collect { case other: OtherJar =>
        render(host, s"jar ${other.found.take(Shown)}", s"jar ${other.needed.take(Shown)}")
      }
      case name if unloadable(name) && text.contains(getClass.getPackageName) =>
        Some(render(host, s"no jar, or another one ($text)", s"jar ${Executors.jar.take(Shown)}"))
      case _ => None
    }
  }

  private def unloadable(name: String): Boolean = Set(classOf[ClassNotFoundException].getName,
    classOf[NoClassDefFoundError].getName, classOf[InvalidClassException].getName)(name)

  private def render(host: String, found: String, needed: String): String =
    Try(Rpc.refuse(Mismatch, "host" -> host, "found" -> found, "needed" -> needed)).failed.get.getMessage

  private val Mismatch = "EXECUTOR_MISMATCH"
  // of a digest
  private val Shown = 12
}
