package org.apache.spark.sql.indextables

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.{AnalysisException, Row, SparkSession}
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Cast, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Project}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.classic.{Dataset, SparkSession => ClassicSession}
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A command: Python parses and runs its text and returns rows. */
case class Command(text: String) extends LeafRunnableCommand {
  override lazy val schema: StructType = TableState.schemaOf(Rpc.call("command_schema", Rpc.json().put("text", text)).json)
  override lazy val output: Seq[Attribute] = toAttributes(schema)

  override def run(session: SparkSession): Seq[Row] = {
    val reply = Needs.satisfy(session.asInstanceOf[ClassicSession], Rpc.call("command", Rpc.json().put("text", text)))
    val convert = CatalystTypeConverters.createToScalaConverter(schema)
    val rows = ArrayBuffer.empty[Row]
    LocalAnswer.foreachRow(reply.parts(0))(rows += convert(_).asInstanceOf[Row])
    rows.toSeq
  }
}

/**
 * What a command in the planner process needs from Spark: the location of a named table, the partitions that match a
 * predicate, tasks on the executors. The command waits under an id and resumes with the answer.
 */
object Needs {
  /** Answer the needs of a command until it ends. */
  def satisfy(session: ClassicSession, first: Reply): Reply = {
    var reply = first
    while (reply.json.has("need")) {
      val id = reply.json.get("id").asText
      val answer = try answerTo(session, reply) catch { case e: Throwable => stop(id, e); throw e }
      reply = Rpc.call("command_next", Rpc.json().put("id", id).set[ObjectNode]("answer", answer))
    }
    reply
  }

  /** The same in the background; the command itself logs failures. */
  def satisfyInBackground(session: ClassicSession, first: Reply): Unit = {
    val thread = new Thread(() => session.withActive {
      try satisfy(session, first) catch { case _: Exception => () }
    }, "indextables maintenance")
    thread.setDaemon(true)
    thread.start()
  }

  /** Stop the command, even if this thread was interrupted. */
  private def stop(id: String, failure: Throwable): Unit = {
    val interrupted = Thread.interrupted()
    val reason = Option(failure.getMessage).getOrElse(failure.getClass.getSimpleName)
    try Rpc.call("command_stop", Rpc.json().put("id", id).put("reason", reason))
    catch { case e: Exception => failure.addSuppressed(e) }
    finally if (interrupted) Thread.currentThread().interrupt()
  }

  private def answerTo(session: ClassicSession, reply: Reply): JsonNode = {
    val need = reply.json.get("need")
    need.get("kind").asText match {
      case "location" =>
        location(session, need.get("name").elements().asScala.map(p => s"`${p.asText.replace("`", "``")}`").mkString("."))
      case "matches" => matches(session, need, reply.parts(0))
      case "properties" => properties(session, need.path("places").elements().asScala.map(_.asText).toSeq)
      case "tasks" => tasks(session, reply.parts, need.path("places").elements().asScala.map(_.asText).toArray)
    }
  }

  /** The location of a table in a catalog, or null. */
  private def location(session: ClassicSession, name: String): JsonNode = {
    val node = Rpc.json()
    val found = tableOf(session, name)
    if (found.isEmpty) node.put("database", Try(session.catalog.databaseExists(name)).getOrElse(false))
    found.fold(node.putNull("location"))(t => node.put("location", t.location))
  }

  /** The properties of the driver, and of the executors at these locations. */
  private def properties(session: ClassicSession, places: Seq[String]): JsonNode = {
    val conf = session.sparkContext.conf
    val node = Rpc.json()
    node.set[ObjectNode]("driver", Environment.describe(conf, (conf.getAll.toMap ++ session.conf.getAll).toSeq,
      session.sessionState.newHadoopConf()))
    val workers = node.putArray("workers")
    Environment.ofExecutors(session.sparkContext, places).foreach(text => workers.add(Rpc.parse(text)))
    node
  }

  /** The IndexTables table with a name. */
  def tableOf(session: ClassicSession, name: String): Option[IndexTable] =
    Try(session.table(name).queryExecution.analyzed).toOption.flatMap(_.collectFirst {
      case r: DataSourceV2Relation if r.table.isInstanceOf[IndexTable] => r.table.asInstanceOf[IndexTable]
    })

  /** The rows for which a predicate is true, and the columns it names; or why Spark does not understand it. */
  private def matches(session: ClassicSession, need: JsonNode, values: Array[Byte]): JsonNode = {
    val node = Rpc.json()
    try {
      val schema = DataType.fromJson(need.get("schema").toString).asInstanceOf[StructType]
      val row = need.get("row").asText
      val known = LocalAnswer.relation(values)
      val columns = schema.map { f =>
        val value = known.output.find(_.name == f.name).getOrElse(Literal(null, f.dataType))
        Alias(Cast(value, f.dataType), f.name)()
      }
      val filter = Filter(session.sessionState.sqlParser.parseExpression(need.get("where").asText),
        Project(columns ++ known.output.filter(_.name == row), known))
      val found = Dataset.ofRows(session, filter)
      val named = node.putArray("columns")
      found.queryExecution.analyzed.collect { case f: Filter => f.condition.references }.flatten
        .foreach(a => named.add(a.name))
      val rows = node.putArray("rows")
      found.select(row).collect().foreach(r => rows.add(r.getInt(0)))
    } catch { case e: AnalysisException => node.put("problem", e.getSimpleMessage) }
    node
  }

  /** The JSON that each task returned. */
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

/** Python tasks as a table with one row per task; each may have a preferred location. */
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
