package org.apache.spark.sql.indextables

import java.time.{Instant, ZoneOffset}
import java.util.concurrent.TimeUnit

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{ApplyFunctionExpression, Cast, Expression}
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * `indextables_histogram`, `indextables_date_histogram`, `indextables_range`: what a row's bucket is.
 * As V2 functions they travel with GROUP BY to the index; where they are not pushed down Spark
 * computes the same.
 */
object Buckets {
  def histogram(arguments: Seq[Expression]): Expression = {
    check("indextables_histogram(column, interval[, offset[, min_doc_count]])", arguments, 2 to 4)
    call(new Histogram, arguments.take(3).map(Cast(_, DoubleType)), arguments)
  }
  def dateHistogram(arguments: Seq[Expression]): Expression = {
    check("indextables_date_histogram(column, 'interval'[, 'offset'[, min_doc_count]])", arguments, 2 to 4)
    call(new DateHistogram, Cast(arguments.head, TimestampType) +: arguments.slice(1, 3), arguments)
  }
  def range(arguments: Seq[Expression]): Expression = {
    if (arguments.length < 4 || arguments.length % 3 != 1)
      check("indextables_range(column, 'name', from, to, ...)", arguments, 4 to 3)
    val typed = arguments.tail.zipWithIndex.map { case (a, i) => if (i % 3 == 0) Cast(a, StringType) else Cast(a, DoubleType) }
    call(new RangeBucket, Cast(arguments.head, DoubleType) +: typed, arguments)
  }

  private def call(function: BucketFunction[_], typed: Seq[Expression], given: Seq[Expression]): Expression =
    ApplyFunctionExpression(function.of(typed.map(_ => NullType)), typed)

  private def check(form: String, arguments: Seq[Expression], allowed: Range): Unit =
    if (!allowed.contains(arguments.length))
      throw new IndexTablesException(s"[SQL_SYNTAX] `$form` is called with ${arguments.length} arguments")
}

abstract class BucketFunction[T] extends ScalarFunction[T] {
  private var arguments: Array[DataType] = Array.empty
  def of(given: Seq[DataType]): this.type = { arguments = types(given.length); this }
  protected def types(count: Int): Array[DataType]
  override def inputTypes(): Array[DataType] = arguments
  override def canonicalName(): String = name()
  // the same call in SELECT and in GROUP BY is the same expression
  override def equals(other: Any): Boolean = other match {
    case that: BucketFunction[_] => canonicalName() == that.canonicalName() && inputTypes().sameElements(that.inputTypes())
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
      val interval = row.getDouble(1)
      val offset = if (row.numFields > 2) row.getDouble(2) else 0.0
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
      val offset = if (row.numFields > 2) DateHistogram.micros(row.getString(2)) else 0L
      DateHistogram.start(row.getLong(0) - offset, row.getString(1)) + offset
    }
}

object DateHistogram {
  private val Form = """(-?\d+)(ms|s|m|h|d|w|M|q|y)""".r
  private val units = Map("ms" -> 1000L, "s" -> 1000000L, "m" -> 60000000L, "h" -> 3600000000L,
    "d" -> 86400000000L, "w" -> 604800000000L)
  private val months = Map("M" -> 1, "q" -> 3, "y" -> 12)

  def micros(text: String): Long = text match {
    case Form(n, unit) if units.contains(unit) => n.toLong * units(unit)
    case _ => throw new IndexTablesException(s"[SQL_SYNTAX] `$text` is not an interval such as `5m`, `1h`, `1d`")
  }

  /** The start of the bucket a moment is in; months, quarters and years follow the calendar in UTC. */
  def start(moment: Long, interval: String): Long = interval match {
    case Form(n, unit) if months.contains(unit) && n.toInt > 0 =>
      val date = Instant.ofEpochSecond(Math.floorDiv(moment, 1000000L)).atZone(ZoneOffset.UTC)
      val month = date.getYear.toLong * 12 + date.getMonthValue - 1
      val step = n.toLong * months(unit)
      val first = Math.floorDiv(month, step) * step
      val day = java.time.LocalDate.of(Math.floorDiv(first, 12L).toInt, Math.floorMod(first, 12L).toInt + 1, 1)
      TimeUnit.DAYS.toMicros(day.toEpochDay)
    case _ =>
      val step = micros(interval)
      if (step <= 0) throw new IndexTablesException(s"[SQL_SYNTAX] the interval `$interval` must be positive")
      Math.floorDiv(moment, step) * step
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
