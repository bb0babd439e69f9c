package org.apache.spark.sql.indextables

import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.{DataFrame, SaveMode}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Literal => TrueOrFalse}
import org.apache.spark.sql.catalyst.plans.logical.{AppendData, LogicalPlan, OverwriteByExpression, OverwritePartitionsDynamic}
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.connector.distributions.{Distribution, Distributions}
import org.apache.spark.sql.connector.expressions._
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.execution.datasources.v2.python.PythonWriterCommitMessage
import org.apache.spark.sql.functions.{expr, lit}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Turns `save()` in any mode into the V2 plan that Python chooses. */
object Saving {
  /** The option of a V1 write in which Spark passes the columns of `partitionBy`. */
  val PartitionKey = "__partition_columns"

  def save(mode: SaveMode, options: Map[String, String], data: DataFrame, more: ObjectNode = Rpc.json()): Unit = {
    val given = options - PartitionKey
    val request = more.deepCopy().put("mode", mode.name.toLowerCase)
    request.set[ObjectNode]("properties", Rpc.options(given.asJava))
    request.set[ObjectNode]("data_schema", Encoder.typeOf(data.schema))
    options.get(PartitionKey).foreach { columns =>
      // Spark passes them as they were written, perhaps in backquotes
      val names = request.putArray("partition_by")
      Rpc.parse(columns).elements().asScala.foreach(c => names.add(FieldReference(c.asText).fieldNames.mkString(".")))
    }
    val reply = Rpc.call("prepare_write", request).json
    if (reply.get("action").asText != "none") run(reply, request, given, data)
  }

  private def run(reply: ObjectNode, request: ObjectNode, options: Map[String, String], data: DataFrame): Unit = {
    val session = data.sparkSession.asInstanceOf[SparkSession]
    val state = TableState(exists = false, TableState.schemaOf(reply),
      reply.get("partition_by").elements().asScala.map(_.asText).toSeq, request, TableState.checksOf(reply))
    val table = IndexTable(state, options.asJava, writable = true)
    val relation = Compat.relation(table, new CaseInsensitiveStringMap(options.asJava))
    val missing = reply.path("missing").elements().asScala.map(_.asText).toSet
    val complete = state.schema.filter(f => missing(f.name))
      .foldLeft(data) { (frame, f) =>
        frame.withColumn(f.name, f.getCurrentDefaultValue().map(expr).getOrElse(lit(null)).cast(f.dataType))
      }
    val query = complete.asInstanceOf[Dataset[_]].queryExecution.analyzed
    val plan: LogicalPlan = reply.get("action").asText match {
      case "append" => Compat.byName(AppendData, relation, query, options)
      case "overwrite" => Compat.byName(OverwriteByExpression, relation, query, TrueOrFalse.TrueLiteral, options)
      case "dynamic" => Compat.byName(OverwritePartitionsDynamic, relation, query, options)
      case "replace" =>
        val where = session.sessionState.sqlParser.parseExpression(reply.get("where").asText)
        Compat.byName(OverwriteByExpression, relation, query, where, options)
    }
    Dataset.ofRows(session, plan)
  }
}

/** With `replaces`, an overwrite also replaces the definition of the table. */
class IndexWriteBuilder(table: IndexTable, info: LogicalWriteInfo, replaces: Boolean = false) extends WriteBuilder
  with SupportsOverwriteV2 with SupportsDynamicOverwrite {
  private val request = Requests.write(table, info, info.schema()).put("overwrite", "none")

  override def truncate(): WriteBuilder = { request.put("overwrite", if (replaces) "table" else "all"); this }
  override def overwrite(predicates: Array[Predicate]): WriteBuilder = {
    request.put("overwrite", "where").set[ObjectNode]("predicates", Encoder.all(predicates))
    this
  }
  override def overwriteDynamicPartitions(): WriteBuilder = { request.put("overwrite", "dynamic"); this }
  override def build(): Write = new IndexWrite(info.schema(), request, Rpc.call("begin_write", request))
}

/**
 * The requests of writes. They do not use Spark's commit coordinator: the splits of each task attempt have unique names
 * and are not part of the table until the driver commits them, so attempts cannot interfere.
 */
object Requests {
  def write(table: IndexTable, info: LogicalWriteInfo, schema: StructType): ObjectNode =
    table.request(info.options()).put("query_id", info.queryId()).set[ObjectNode]("schema", Encoder.typeOf(schema))
      .set[ObjectNode]("wire", Encoder.typeOf(Compat.wire(schema)))

  /** The request of the commit, with the id it got when the write began. */
  def named(request: ObjectNode, begun: Reply): ObjectNode =
    request.deepCopy().set[ObjectNode]("attempt", begun.json.get("attempt"))
}

/** The distribution and order of rows that Python requires. */
trait Arrangement extends Write with RequiresDistributionAndOrdering {
  protected def layout: ObjectNode
  private def columns(key: String): Array[NamedReference] =
    layout.path(key).elements().asScala.map(c => Names.column(c.asText)).toArray
  override def requiredDistribution(): Distribution =
    if (columns("cluster_by").isEmpty) Distributions.unspecified()
    else Distributions.clustered(columns("cluster_by").map(c => c: Expression))
  override def distributionStrictlyRequired(): Boolean = false
  override def advisoryPartitionSizeInBytes(): Long = layout.path("advisory_bytes").asLong(0)
  override def requiredOrdering(): Array[SortOrder] =
    columns("sort_by").map(c => Expressions.sort(c, SortDirection.ASCENDING))
}

class IndexWrite(schema: StructType, given: ObjectNode, begun: Reply) extends Arrangement {
  private val request = Requests.named(given, begun)
  override protected def layout: ObjectNode = begun.json
  override def description(): String = Names.Format
  override def toString: String = Names.Format
  private val progress = new WriteProgress
  override def supportedCustomMetrics(): Array[CustomMetric] = WriteMetrics.all
  override def reportDriverMetrics(): Array[CustomTaskMetric] = progress.metrics
  override def toBatch: BatchWrite = new BatchWrite {
    override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = {
      progress.begin(info.numPartitions())
      new MeasuredFactory(Compat.writerFactory(begun.parts(0), schema))
    }
    override def onDataWriterCommit(message: WriterCommitMessage): Unit = progress.add(message)
    override def useCommitCoordinator(): Boolean = false // see Requests
    override def commit(messages: Array[WriterCommitMessage]): Unit = Finish.commit(request, messages)
    override def abort(messages: Array[WriterCommitMessage]): Unit = Finish("abort", request, messages)
  }
  override def toStreaming: StreamingWrite = new StreamingWrite {
    override def useCommitCoordinator(): Boolean = false
    override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory =
      new EpochFactory(new MeasuredFactory(Compat.writerFactory(begun.parts(0), schema)))
    override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit =
      Finish.commit(request.deepCopy().put("epoch", epoch), messages)
    override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit =
      Finish("abort", request.deepCopy().put("epoch", epoch), messages)
  }
}

class EpochFactory(factory: DataWriterFactory) extends StreamingDataWriterFactory {
  override def createWriter(partition: Int, task: Long, epoch: Long): DataWriter[InternalRow] =
    factory.createWriter(partition, task)
}

/** Passes the reports of tasks to Python, which commits or cleans up. */
object Finish {
  /** Commit, and run the maintenance that follows; the write waits for it unless Python says otherwise. */
  def commit(request: ObjectNode, messages: Array[WriterCommitMessage]): Unit = {
    val reply = Finish("commit", request, messages)
    if (reply.json.has("need")) {
      val session = SparkSession.active.asInstanceOf[SparkSession]
      if (reply.json.get("background").asBoolean) Needs.satisfyInBackground(session, reply)
      else Needs.satisfy(session, reply)
    }
  }

  def apply(operation: String, request: ObjectNode, messages: Array[WriterCommitMessage]): Reply = {
    val body = request.deepCopy()
    val array = body.putArray("messages")
    messages.foreach {
      case m: PythonWriterCommitMessage => array.add(Rpc.parse(new String(m.pickledMessage, UTF_8)))
      case _ => array.addNull()
    }
    Rpc.call(operation, body)
  }
}
