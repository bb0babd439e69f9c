package org.apache.spark.sql.indextables

import java.time.{Instant, ZoneOffset}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, ApplyFunctionExpression, Cast, Expression, GreaterThanOrEqual, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction
import org.apache.spark.sql.connector.expressions.LiteralValue
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * `indextables_histogram`, `indextables_date_histogram`, `indextables_range`: the bucket of a row.
 * Python checks and normalizes the arguments. The calls are V2 functions, so Spark pushes them down with GROUP BY, and
 * computes the same result where it does not.
 */
object Buckets {
  private val functions: Map[String, () => BucketFunction[_]] = Map("indextables_histogram" -> (() => new Histogram),
    "indextables_date_histogram" -> (() => new DateHistogram), "indextables_range" -> (() => new RangeBucket))
  def names: Iterable[String] = functions.keys

  def call(name: String)(arguments: Seq[Expression]): Expression = {
    val reply = Rpc.call("bucket", described(name, arguments)).json
    val given = reply.get("arguments").elements().asScala.map(literal).toSeq
    val function = functions(name)().of(given.length + 1, reply.get("min_doc_count").asInt)
    ApplyFunctionExpression(function, Cast(arguments.head, function.inputTypes().head) +: given)
  }

  /** The call as JSON: the type of each argument, and the value of constant ones. */
  private def described(name: String, arguments: Seq[Expression]): ObjectNode = {
    val request = Rpc.json().put("function", name)
    val described = request.putArray("arguments")
    arguments.foreach { a =>
      val node = if (a.foldable) Encoder.encode(LiteralValue(a.eval(), a.dataType)) else Rpc.json()
      described.add(node.set[ObjectNode]("type", Encoder.typeOf(a.dataType)))
    }
    request
  }

  private def literal(value: JsonNode): Expression =
    if (value.isTextual) Literal(value.asText)
    else if (value.isNull) Literal(null, DoubleType)
    else Literal(value.asDouble)
}

/** `min_doc_count`: removes groups with fewer rows. */
object LeaveOutSmallBuckets extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case grouped: Aggregate if grouped.resolved && least(grouped) > 1 =>
      val count = Alias(Count(Literal(1)).toAggregateExpression(), "min_doc_count")()
      val every = grouped.transformExpressions {
        case call @ ApplyFunctionExpression(function: BucketFunction[_], _) => call.copy(function = function.of(1))
      }
      val counted = every.copy(aggregateExpressions = every.aggregateExpressions :+ count)
      Project(grouped.output, Filter(GreaterThanOrEqual(count.toAttribute, Literal(least(grouped).toLong)), counted))
  }

  private def least(grouped: Aggregate): Int = grouped.groupingExpressions.flatMap(_.collect {
    case ApplyFunctionExpression(function: BucketFunction[_], _) => function.least
  }).maxOption.getOrElse(0)
}

abstract class BucketFunction[T] extends ScalarFunction[T] with Cloneable {
  private var arguments: Array[DataType] = Array.empty
  /** How many rows a group must have to be kept. */
  var least: Int = 0
  def of(count: Int, leastRows: Int): this.type = { arguments = types(count); least = leastRows; this }
  def of(leastRows: Int): BucketFunction[T] = {
    val same = clone().asInstanceOf[BucketFunction[T]]
    same.least = leastRows
    same
  }
  protected def types(count: Int): Array[DataType]
  override def inputTypes(): Array[DataType] = arguments
  override def canonicalName(): String = name()
  // the same call in SELECT and in GROUP BY must be the same expression
  override def equals(other: Any): Boolean = other match {
    case that: BucketFunction[_] => canonicalName() == that.canonicalName() && least == that.least &&
      inputTypes().sameElements(that.inputTypes())
    case _ => false
  }
  override def hashCode(): Int = canonicalName().hashCode
}

class Histogram extends BucketFunction[java.lang.Double] {
  override def name(): String = "indextables_histogram"
  override def resultType(): DataType = DoubleType
  override protected def types(count: Int): Array[DataType] = Array.fill(count)(DoubleType)
  override def produceResult(row: InternalRow): java.lang.Double =
    if (row.isNullAt(0)) null
    else {
      val (interval, offset) = (row.getDouble(1), row.getDouble(2))
      math.floor((row.getDouble(0) - offset) / interval) * interval + offset
    }
}

class DateHistogram extends BucketFunction[java.lang.Long] {
  override def name(): String = "indextables_date_histogram"
  override def resultType(): DataType = TimestampType
  override protected def types(count: Int): Array[DataType] = TimestampType +: Array.fill[DataType](count - 1)(StringType)
  override def produceResult(row: InternalRow): java.lang.Long =
    if (row.isNullAt(0)) null
    else {
      val offset = DateHistogram.micros(row.getString(2))
      DateHistogram.start(row.getLong(0) - offset, row.getString(1)) + offset
    }
}

/** Intervals as Python writes them: a number and one of these units. */
object DateHistogram {
  private val Form = """(-?\d+)(ms|s|m|h|d|w|M|q|y)""".r
  private val units = Map("ms" -> 1000L, "s" -> 1000000L, "m" -> 60000000L, "h" -> 3600000000L,
    "d" -> 86400000000L, "w" -> 604800000000L)
  private val months = Map("M" -> 1, "q" -> 3, "y" -> 12)

  def micros(text: String): Long = text match { case Form(n, unit) => n.toLong * units(unit) }

  /** The start of the bucket a timestamp is in; months, quarters and years follow the calendar in UTC. */
  def start(timestamp: Long, interval: String): Long = interval match {
    case Form(n, unit) if months.contains(unit) =>
      val date = Instant.ofEpochSecond(Math.floorDiv(timestamp, 1000000L)).atZone(ZoneOffset.UTC)
      val month = date.getYear.toLong * 12 + date.getMonthValue - 1
      val step = n.toLong * months(unit)
      val first = Math.floorDiv(month, step) * step
      val day = java.time.LocalDate.of(Math.floorDiv(first, 12L).toInt, Math.floorMod(first, 12L).toInt + 1, 1)
      TimeUnit.DAYS.toMicros(day.toEpochDay)
    case _ =>
      val step = micros(interval)
      Math.floorDiv(timestamp, step) * step
  }
}

class RangeBucket extends BucketFunction[UTF8String] {
  override def name(): String = "indextables_range"
  override def resultType(): DataType = StringType
  override protected def types(count: Int): Array[DataType] =
    Array.tabulate(count)(i => if (i > 0 && (i - 1) % 3 == 0) StringType else DoubleType)
  override def produceResult(row: InternalRow): UTF8String =
    if (row.isNullAt(0)) null
    else {
      val value = row.getDouble(0)
      val hit = (1 until row.numFields by 3).find { i =>
        (row.isNullAt(i + 1) || value >= row.getDouble(i + 1)) && (row.isNullAt(i + 2) || value < row.getDouble(i + 2))
      }
      hit.map(row.getUTF8String).orNull
    }
}
