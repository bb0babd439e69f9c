package org.apache.spark.sql.indextables

import java.time.ZoneId

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{ApplyFunctionExpression, Literal, TruncTimestamp}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types._

/** `date_trunc` in GROUP BY as a function that Spark offers to sources; it computes the same. */
object OfferDateTrunc extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case aggregate: Aggregate if Reads.ours(aggregate.child) => offered(aggregate)
  }

  /** Spark may compute keys in a projection below: there they are offered too. */
  private def offered(plan: LogicalPlan): LogicalPlan = plan match {
    case above @ (_: Aggregate | _: Project) =>
      above.mapExpressions(_.transform {
        case t @ TruncTimestamp(unit: Literal, timestamp, Some(_)) if unit.value != null && timestamp.dataType == TimestampType =>
          ApplyFunctionExpression(new DateTrunc(t.zoneId).of(2, 0), Seq(unit, timestamp))
      }).mapChildren(offered)
    case other => other.mapChildren(offered)
  }
}

class DateTrunc(zone: ZoneId) extends BucketFunction[java.lang.Long] {
  override def name(): String = "date_trunc"
  override def canonicalName(): String = s"date_trunc in $zone"
  override def resultType(): DataType = TimestampType
  override protected def types(count: Int): Array[DataType] = Array(StringType, TimestampType)
  override def produceResult(row: InternalRow): java.lang.Long = {
    val level = DateTimeUtils.parseTruncLevel(row.getUTF8String(0))
    if (row.isNullAt(1) || level < DateTimeUtils.TRUNC_TO_MICROSECOND) null
    else DateTimeUtils.truncTimestamp(row.getLong(1), level, zone)
  }
}
