package org.apache.spark.sql.indextables

import java.util.{Optional, OptionalLong}

import scala.collection.immutable.ListMap
import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.connector.expressions.{NamedReference, SortOrder}
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics
import org.apache.spark.sql.connector.read.partitioning.{KeyGroupedPartitioning, Partitioning, UnknownPartitioning}
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.internal.connector.SupportsMetadata
import org.apache.spark.sql.types._

/** Offers each piece that Spark can push down to Python, and records what Python accepts. */
class IndexScanBuilder(table: IndexTable, request: ObjectNode) extends ScanBuilder
  with SupportsPushDownV2Filters with SupportsPushDownRequiredColumns with SupportsPushDownLimit
  with SupportsPushDownOffset with SupportsPushDownTopN with SupportsPushDownAggregates {
  private var output: StructType = table.schema()
  private var pushed = Array.empty[Predicate]
  private var partial = true
  private val calls = new ReadCalls(request)
  // the plan that came with the last accepted piece, perhaps with its rows, if nothing can change it any more
  private var settled: Option[Reply] = None
  private var aggregation: Option[(Aggregation, ObjectNode)] = None

  override def pushPredicates(predicates: Array[Predicate]): Array[Predicate] =
    if (predicates.isEmpty) predicates
    else {
      request.set[ObjectNode]("predicates", Encoder.all(predicates))
      val verdicts = calls.call("push", request).json.get("pushed").elements().asScala.map(_.asText).toSeq
      val judged = predicates.toSeq.zip(verdicts)
      pushed = judged.collect { case (p, v) if v != "no" => p }.toArray
      request.set[ObjectNode]("predicates", Encoder.all(pushed))
      // a superset is found by the index and then checked by Spark
      val left = judged.collect { case (p, v) if v != "exact" => p }.toArray
      request.put("residual", left.nonEmpty)
      left
    }
  override def pushedPredicates(): Array[Predicate] = pushed.filter(Compat.canShow)

  override def pruneColumns(schema: StructType): Unit = if (!request.has("aggregation")) output = schema

  /** Offer one more piece to Python; a rejected piece is withdrawn. */
  private def offer(keys: (String, ObjectNode => Unit)*): Option[ObjectNode] = {
    val attempt = request.deepCopy()
    keys.foreach(_._2(attempt))
    val answer = calls.call("offer", attempt)
    val reply = answer.json
    if (!reply.get("ok").asBoolean) None
    else {
      keys.foreach { case (key, _) => request.set[ObjectNode](key, attempt.get(key)) }
      partial = !reply.path("complete").asBoolean(false)
      if (!partial) request.put("complete", true)
      settled = Option(reply.get("plan")).collect { case plan: ObjectNode => Reply(plan, answer.parts) }
      Some(reply)
    }
  }

  override def pushLimit(limit: Int): Boolean =
    offer("limit" -> (_.put("limit", limit))).isDefined
  override def pushOffset(offset: Int): Boolean =
    offer("offset" -> (_.put("offset", offset))).isDefined
  override def pushTopN(orders: Array[SortOrder], limit: Int): Boolean =
    offer("order" -> (_.set[ObjectNode]("order", Encoder.all(orders))),
      "limit" -> (_.put("limit", limit))).isDefined
  override def isPartiallyPushed(): Boolean = partial

  private def offerAggregation(wanted: Aggregation): Option[ObjectNode] = aggregation match {
    case Some((known, reply)) if known eq wanted => Some(reply)
    case _ =>
      val node = Rpc.json().set[ObjectNode]("group_by", Encoder.all(wanted.groupByExpressions))
        .set[ObjectNode]("functions", Encoder.all(wanted.aggregateExpressions))
      val reply = offer("aggregation" -> (_.set[ObjectNode]("aggregation", node)))
      aggregation = reply.map(wanted -> _)
      reply
  }
  override def supportCompletePushDown(wanted: Aggregation): Boolean =
    offerAggregation(wanted).exists(_.path("complete").asBoolean(false))
  override def pushAggregation(wanted: Aggregation): Boolean = offerAggregation(wanted) match {
    case Some(reply) => output = TableState.schemaOf(reply); true
    case None => false
  }

  override def build(): Scan = {
    request.set[ObjectNode]("schema", Encoder.typeOf(output))
    request.set[ObjectNode]("wire", Encoder.typeOf(Compat.wire(output)))
    new IndexScan(output, request, calls, settled)
  }
}

/** A planned read: answered by the planner process if it is small, else by tasks in Python workers. */
class IndexScan(output: StructType, val request: ObjectNode, val calls: ReadCalls, settled: Option[Reply])
  extends Scan with Batch with SupportsReportStatistics with SupportsReportPartitioning with SupportsRuntimeV2Filtering
  with SupportsMetadata {
  private var plan: Reply = settled.orNull
  // a stream is planned batch by batch, so it has no overall statistics
  private var streaming = false
  private def planned(distributed: Boolean = false): Reply = synchronized {
    if (plan == null || (distributed && plan.json.get("local").asBoolean))
      plan = calls.call("plan", if (distributed) request.deepCopy().put("distributed", true) else request)
    plan
  }

  /** Whether the rows are on the driver, or come there when they are needed. */
  def isLocal: Boolean = {
    val reply = planned()
    reply.json.get("local").asBoolean || holdsAll(reply)
  }
  private def holdsAll(reply: Reply): Boolean =
    reply.parts.length == 1 && (reply.json.get("local").asBoolean || holdsRows(reply))
  /** The whole answer as an Arrow stream, without a Spark job; a small one came with the plan. */
  def answer(): Reply = {
    val reply = planned()
    if (holdsAll(reply)) reply else calls.call("run", request)
  }

  override def readSchema(): StructType = output
  override def description(): String =
    if (streaming) s"${Names.Format} stream"
    else planned().json.get("explain").asText + (if (joins.isEmpty) "" else joins.values.mkString(", joins: [", ", ", "]"))
  /** For EXPLAIN FORMATTED. */
  override def getMetaData(): Map[String, String] = Map("Pushed" -> description())
  override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.SUPPORTED
  override def toBatch: Batch = this
  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = {
    streaming = true
    new IndexStream(output, request)
  }

  override def planInputPartitions(): Array[InputPartition] = {
    val reply = planned(distributed = true)
    if (holdsRows(reply)) reply.parts.map(rows => AnsweredTask(rows))
    else {
      val hosts = reply.json.get("hosts")
      val keys = if (partitionedBy(reply).isEmpty) None else Some(keysOf(reply))
      reply.parts.slice(1, 1 + hosts.size).zipWithIndex.map { case (part, i) =>
        val places = hosts.path(i).elements().asScala.map(_.asText).toArray
        keys.fold(new Task(i, part, places))(found => new KeyedTask(i, part, places, found(i)))
      }
    }
  }

  /** Whether the parts of a plan are the rows of its tasks, in place of what their workers read. */
  private def holdsRows(reply: Reply): Boolean = reply.json.path("answered").asBoolean(false)

  /** The partition columns by which tasks are divided; most plans have none. */
  private def partitionedBy(reply: Reply): Array[String] =
    reply.json.path("partitioned_by").elements().asScala.map(_.asText).toArray
  /** Their values, one row per task. */
  private def keysOf(reply: Reply): Seq[InternalRow] = {
    val copy = UnsafeProjection.create(partitionedBy(reply).map(output(_).dataType))
    val found = ArrayBuffer.empty[InternalRow]
    LocalAnswer.foreachRow(reply.parts.last)(row => found += copy(row).copy())
    found.toSeq
  }
  override def outputPartitioning(): Partitioning = {
    val reply = if (streaming) Reply(Rpc.json(), Array.empty) else planned()
    val columns = partitionedBy(reply)
    if (columns.isEmpty) new UnknownPartitioning(0)
    else new KeyGroupedPartitioning(columns.map(Names.identity), reply.json.get("hosts").size)
  }
  override def createReaderFactory(): PartitionReaderFactory = {
    val reply = planned(distributed = true)
    if (holdsRows(reply)) AnswerReaders else new TaskReaders(reply.parts(0), output)
  }

  private def runtimeColumns: Array[String] =
    if (streaming || request.has("aggregation") || request.has("limit")) Array.empty
    else planned().json.path("runtime_columns").elements().asScala.map(_.asText)
      .filter(output.fieldNames.contains).toArray
  /** None for row-level operations: Spark would compute their condition twice. Join keys do not need them. */
  override def filterAttributes(): Array[NamedReference] =
    if (request.has("command")) Array.empty else runtimeColumns.map(c => Names.column(c))
  override def filter(predicates: Array[Predicate]): Unit = synchronized {
    request.set[ObjectNode]("runtime", Encoder.runtime(predicates, planned().json.path("runtime_keys").asInt))
    plan = null
  }

  /** The same read of the rows with these keys; nothing if there are too many keys to look up. */
  def narrowed(predicates: Array[Predicate]): Option[IndexScan] = {
    val keys = Encoder.runtime(predicates, planned().json.path("runtime_keys").asInt)
    if (!keys.elements().asScala.forall(_.has("values"))) None
    else {
      val narrower = request.deepCopy().set[ObjectNode]("runtime", keys)
      val reply = calls.call("plan", narrower.deepCopy().put("distributed", true))
      val scan = new IndexScan(output, narrower, calls, Some(reply))
      scan.joins = joins
      Some(scan)
    }
  }

  /** Whether it has predicates other than IS NOT NULL. */
  def chooses: Boolean = !streaming && planned().json.path("chosen").asBoolean(false)

  // the text of EXPLAIN about joins, by column
  private var joins = ListMap.empty[Seq[String], String]
  private val uses = mutable.Map.empty[(Seq[String], KeySource), Option[String]]
  /** How the keys of a join narrow this read: always, only from a broadcast, or not at all. */
  def join(column: Seq[String], other: KeySource): Option[String] = synchronized {
    if (!runtimeColumns.contains(column.head)) None
    // the optimizer applies a rule until the plan no longer changes
    else uses.getOrElseUpdate((column, other), {
      val asked = request.deepCopy()
      asked.putObject("keys").put("rows", other.rows.min(Long.MaxValue).toLong)
        .put("bytes", other.bytes.min(Long.MaxValue).toLong).put("chosen", other.chosen)
      val path = asked.putArray("join")
      column.foreach(name => path.add(name))
      val reply = calls.call("join", asked).json
      Option(reply.get("explain")).foreach(text => joins += column -> text.asText)
      Option(reply.get("use")).map(_.asText)
    })
  }

  override def estimateStatistics(): Statistics = new Statistics {
    private def number(key: String): OptionalLong = {
      val node = if (streaming) Rpc.json() else planned().json.path(key)
      if (node.isNumber) OptionalLong.of(node.asLong) else OptionalLong.empty()
    }
    override def sizeInBytes(): OptionalLong = number("bytes")
    override def numRows(): OptionalLong = number("rows")
    /** Only the cost-based optimizer uses them: without it no call is made. */
    override def columnStats(): java.util.Map[NamedReference, ColumnStatistics] = {
      val conf = SQLConf.get
      if (!conf.cboEnabled && !conf.planStatsEnabled || request.has("aggregation")) java.util.Map.of()
      else ColumnBounds.of(output, calls.call("column_statistics", request).json.get("bounds"))
    }
  }

  override def supportedCustomMetrics(): Array[CustomMetric] = ScanMetrics.all
  override def reportDriverMetrics(): Array[CustomTaskMetric] =
    ScanMetrics.counts(if (streaming) Rpc.json() else planned().json.get("metrics"))

  // equal scans let Spark reuse an exchange
  override def equals(other: Any): Boolean = other match {
    case that: IndexScan => request == that.request && calls.version == that.calls.version
    case _ => false
  }
  override def hashCode(): Int = request.hashCode()
}

/** Minimum and maximum of columns as Spark's internal values. */
object ColumnBounds {
  def of(schema: StructType, bounds: JsonNode): java.util.Map[NamedReference, ColumnStatistics] =
    schema.fields.flatMap { field =>
      Option(bounds.get(field.name)).filter(_ => counted(field.dataType)).map { pair =>
        val stats: ColumnStatistics = new ColumnStatistics {
          override def min(): Optional[AnyRef] = Optional.of(value(pair.get(0), field.dataType))
          override def max(): Optional[AnyRef] = Optional.of(value(pair.get(1), field.dataType))
        }
        Names.column(field.name) -> stats
      }
    }.toMap.asJava

  private def counted(kind: DataType): Boolean = kind match {
    case _: NumericType | DateType | TimestampType | TimestampNTZType => true
    case _ => false
  }

  private def value(node: JsonNode, kind: DataType): AnyRef = kind match {
    case ByteType => Byte.box(node.asInt.toByte)
    case ShortType => Short.box(node.asInt.toShort)
    case IntegerType | DateType => Int.box(node.asInt)
    case FloatType => Float.box(node.asDouble.toFloat)
    case DoubleType => Double.box(node.asDouble)
    case _: DecimalType => Decimal(new java.math.BigDecimal(node.asText))
    case _ => Long.box(node.asLong)
  }
}

/** A table in a catalog that has no rows yet. */
class EmptyScan(schema: StructType) extends Scan with Batch {
  override def readSchema(): StructType = schema
  override def description(): String = "an empty table"
  override def toBatch: Batch = this
  override def planInputPartitions(): Array[InputPartition] = Array.empty
  override def createReaderFactory(): PartitionReaderFactory = new TaskReaders(Array.empty, schema)
}

/** One task: the splits it reads, and its preferred locations. */
@SerialVersionUID(1L)
class Task(index: Int, content: Array[Byte], hosts: Array[String]) extends PythonInputPartition(index, content) {
  override def preferredLocations(): Array[String] = hosts
}

/** A task with its rows, as an Arrow stream: the planner has found them already. */
trait AnsweredTask extends InputPartition {
  def rows: Array[Byte]
}

object AnsweredTask {
  /** Spark warns of tasks of more than 1,000 KiB: more rows go to the executor in a broadcast. */
  private val MostBytes = 900 << 10

  def apply(rows: Array[Byte]): AnsweredTask =
    if (rows.length <= MostBytes) Carried(rows)
    else Shared(SparkSession.active.sparkContext.broadcast(rows))

  private case class Carried(rows: Array[Byte]) extends AnsweredTask
  private case class Shared(value: Broadcast[Array[Byte]]) extends AnsweredTask {
    override def rows: Array[Byte] = value.value
  }
}

/** A task whose rows all have the same values of the partition columns. */
@SerialVersionUID(1L)
class KeyedTask(index: Int, content: Array[Byte], hosts: Array[String], key: InternalRow)
  extends Task(index, content, hosts) with HasPartitionKey {
  override def partitionKey(): InternalRow = key
}
