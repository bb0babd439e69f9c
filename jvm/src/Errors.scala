package org.apache.spark.sql.indextables

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.{ErrorClassesJsonReader, ErrorInfo, SparkThrowableHelper}
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.trees.Origin

/**
 * An error of IndexTables in the form of Spark's errors: the message starts with the condition in brackets and ends
 * with a hint; SQLSTATE and parameters come from Python.
 */
class IndexTablesException(text: String, cause: Option[Throwable] = None, facts: Option[JsonNode] = None)
  extends AnalysisException(text, None, None, cause, Errors.condition(text), Errors.parameters(facts), Array.empty) {
  override def getSqlState: String = facts.orElse(Errors.ask(getCondition)).map(_.path("sqlstate").asText).orNull
  // a copy with a position would be Spark's exception class, without SQLSTATE
  override def withPosition(origin: Origin): AnalysisException = this
}

object Errors {
  /** The last line of a traceback. The version check runs before the error classes are imported: a RuntimeError. */
  private val Raised = """(?m)^(?:indextables\.errors\.\w+|RuntimeError): (\[[A-Z][A-Z0-9_]+\] .*)$""".r
  private val Condition = """^\[([A-Z][A-Z0-9_]+)\] """.r.unanchored

  def condition(text: String): Option[String] = text match {
    case Condition(code) => Some(code)
    case _ => None
  }

  def parameters(facts: Option[JsonNode]): Map[String, String] =
    facts.toSeq.flatMap(_.path("parameters").properties().asScala.map(e => e.getKey -> e.getValue.asText)).toMap

  /** The exception that Python describes. */
  def of(facts: JsonNode, cause: Option[Throwable] = None): IndexTablesException = {
    Try(register(facts))
    val hint = facts.path("hint").asText("")
    val text = s"[${facts.get("code").asText}] ${facts.get("message").asText}" + (if (hint.isEmpty) "" else s"; hint: $hint")
    new IndexTablesException(text, cause, Some(facts))
  }

  /** The IndexTables error in a worker's traceback, if there is one. */
  def inside(failure: Throwable): Throwable =
    Raised.findFirstMatchIn(s"${failure.getMessage}").fold(failure)(found => new IndexTablesException(found.group(1)))

  /** Python's description of an error condition. */
  def ask(condition: String): Option[JsonNode] =
    Try(Rpc.call("describe_error", Rpc.json().put("code", condition)).json: JsonNode).toOption

  /** Spark renders messages of the conditions in a map that it loads once: add ours to it. */
  private def register(facts: JsonNode): Unit = synchronized {
    val (reader, code) = (SparkThrowableHelper.errorReader, facts.get("code").asText)
    if (!reader.errorInfoMap.contains(code)) {
      val constructor = classOf[ErrorInfo].getConstructors.head
      val known = Seq[AnyRef](Seq(facts.get("template").asText), None, Some(facts.get("sqlstate").asText))
      val rest = Seq.fill[AnyRef](constructor.getParameterCount - known.length)(None)
      val info = constructor.newInstance(known ++ rest: _*).asInstanceOf[ErrorInfo]
      val field = classOf[ErrorClassesJsonReader].getDeclaredField("errorInfoMap")
      field.setAccessible(true)
      field.set(reader, reader.errorInfoMap + (code -> info))
    }
  }
}
