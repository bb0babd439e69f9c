package org.apache.spark.sql.indextables

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.expressions.PredicateHelper
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.catalyst.util.V2ExpressionBuilder
import org.apache.spark.sql.classic.{Dataset, SparkSession => ClassicSession}
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * A command is text for Python. It answers rows, or says what it needs from Spark first: where a
 * named table lies, what a predicate means, or tasks run on the executors; then it is asked again.
 */
case class Command(text: String) extends LeafRunnableCommand with PredicateHelper {
  override lazy val schema: StructType = TableState.schemaOf(Rpc.call("command_schema", Rpc.json().put("text", text)).json)
  override lazy val output: Seq[Attribute] = toAttributes(schema)

  override def run(session: SparkSession): Seq[Row] = {
    val request = Rpc.json().put("text", text)
    val answers = request.putArray("answers")
    var reply = Rpc.call("command", request)
    while (reply.json.has("need")) {
      answers.add(satisfy(session.asInstanceOf[ClassicSession], reply))
      if (reply.json.has("state")) request.set[ObjectNode]("state", reply.json.get("state"))
      reply = Rpc.call("command", request)
    }
    val convert = CatalystTypeConverters.createToScalaConverter(schema)
    val rows = ArrayBuffer.empty[Row]
    LocalAnswer.foreachRow(reply.parts(0))(rows += convert(_).asInstanceOf[Row])
    rows.toSeq
  }

  private def satisfy(session: ClassicSession, reply: Reply): JsonNode = {
    val need = reply.json.get("need")
    need.get("kind").asText match {
      case "location" =>
        location(session, need.get("name").elements().asScala.map(p => s"`${p.asText.replace("`", "``")}`").mkString("."))
      case "predicate" => predicate(session, need.get("text").asText, need.get("schema").toString)
      case "tasks" => tasks(session, reply.parts, need.path("places").elements().asScala.map(_.asText).toArray)
    }
  }

  /** The path of a table that a catalog knows, or null. */
  private def location(session: ClassicSession, name: String): JsonNode = {
    val node = Rpc.json()
    val found = scala.util.Try(session.table(name).queryExecution.analyzed).toOption.flatMap(_.collectFirst {
      case r: DataSourceV2Relation if r.table.isInstanceOf[IndexTable] => r.table.asInstanceOf[IndexTable].location
    })
    found.fold(node.putNull("location"))(l => node.put("location", l))
  }

  private def predicate(session: ClassicSession, where: String, schema: String): JsonNode = {
    val relation = LocalRelation(toAttributes(DataType.fromJson(schema).asInstanceOf[StructType]))
    val filter = Filter(session.sessionState.sqlParser.parseExpression(where), relation)
    val condition = Dataset.ofRows(session, filter).queryExecution.optimizedPlan.collectFirst {
      case f: Filter => f.condition
    }
    val parts: Seq[Expression] = condition.toSeq.flatMap(splitConjunctivePredicates)
    val node = Rpc.json()
    node.set[ObjectNode]("predicates", Encoder.all(parts.map { p =>
      new V2ExpressionBuilder(p, true).buildPredicate().getOrElse(
        throw new IndexTablesException(s"[SQL_SYNTAX] `${p.sql}` can not be used in this WHERE clause"))
    }))
    node
  }

  /** Every task's answer, as the JSON it returned. */
  private def tasks(session: ClassicSession, parts: Array[Array[Byte]], places: Array[String]): JsonNode = {
    val node = Rpc.json()
    val results = node.putArray("results")
    val relation = Compat.relation(new TaskTable(parts, places), CaseInsensitiveStringMap.empty())
    Dataset.ofRows(session, relation).collect().foreach { row =>
      results.add(Rpc.parse(new String(row.getAs[Array[Byte]](0), UTF_8)))
    }
    node
  }
}

/** Python tasks as a table with one row per task; each may have a place where it would best run. */
class TaskTable(parts: Array[Array[Byte]], places: Array[String]) extends Table with SupportsRead {
  override def name(): String = s"${Names.Format} tasks"
  override def schema(): StructType = StructType(Seq(StructField("result", BinaryType)))
  override def capabilities(): java.util.Set[TableCapability] = java.util.EnumSet.of(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new Scan with Batch {
    override def readSchema(): StructType = schema()
    override def toBatch: Batch = this
    override def planInputPartitions(): Array[InputPartition] =
      parts.drop(1).zipWithIndex.map { case (part, i) => new Task(i, part, places.lift(i).toArray) }
    override def createReaderFactory(): PartitionReaderFactory = new TaskReaders(parts(0), schema())
  }
}
