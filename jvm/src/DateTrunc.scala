package org.apache.spark.sql.indextables

import java.time.{Instant, ZoneId}
import java.time.zone.ZoneOffsetTransitionRule
import java.time.zone.ZoneOffsetTransitionRule.TimeDefinition

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{ApplyFunctionExpression, Literal, TruncTimestamp}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Rewrites `date_trunc` in GROUP BY as a V2 function, which Spark offers to sources; it computes the same. */
object OfferDateTrunc extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case aggregate: Aggregate if Reads.ours(aggregate.child) => offered(aggregate)
  }

  /** Spark may compute group keys in a projection below the aggregate. */
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
  override def canonicalName(): String = Clock.Named + zone
  override def resultType(): DataType = TimestampType
  override protected def types(count: Int): Array[DataType] = Array(StringType, TimestampType)
  override def produceResult(row: InternalRow): java.lang.Long = {
    val level = DateTimeUtils.parseTruncLevel(row.getUTF8String(0))
    if (row.isNullAt(1) || level < DateTimeUtils.TRUNC_TO_MICROSECOND) null
    else DateTimeUtils.truncTimestamp(row.getLong(1), level, zone)
  }
}

/** The rules of a time zone as this JVM knows them, for the engine, which has no time zone data. */
object Clock {
  val Named = "date_trunc in "

  /** The rules of the time zone in a function's canonical name. */
  def of(canonicalName: String): Option[String] =
    Option.when(canonicalName.startsWith(Named))(of(ZoneId.of(canonicalName.stripPrefix(Named))).toString)

  /** Whether this Spark keeps the offset where a month starts in an overlap (Berlin, 1916-10-01); older ones do not. */
  private lazy val keepsOffset: Boolean = {
    val berlin = ZoneId.of("Europe/Berlin")
    def micros(text: String) = Instant.parse(text).getEpochSecond * 1000000L
    val month = DateTimeUtils.parseTruncLevel(UTF8String.fromString("MONTH"))
    DateTimeUtils.truncTimestamp(micros("1916-10-20T12:00:00Z"), month, berlin) == micros("1916-09-30T23:00:00Z")
  }

  private def of(zone: ZoneId): ObjectNode = {
    val rules = zone.getRules
    val changes = rules.getTransitions
    val first = if (changes.isEmpty) rules.getOffset(Instant.EPOCH) else changes.get(0).getOffsetBefore
    val node = Rpc.json().put("offset", first.getTotalSeconds).put("keeps_offset", keepsOffset)
    val transitions = node.putArray("transitions")
    changes.forEach(c => transitions.addArray().add(c.toEpochSecond).add(c.getOffsetAfter.getTotalSeconds))
    val yearly = node.putArray("rules")
    rules.getTransitionRules.forEach(rule => yearly.add(encode(rule)))
    node
  }

  private def encode(rule: ZoneOffsetTransitionRule): ObjectNode = {
    val shift = rule.getTimeDefinition match {
      case TimeDefinition.UTC => 0
      case TimeDefinition.STANDARD => rule.getStandardOffset.getTotalSeconds
      case TimeDefinition.WALL => rule.getOffsetBefore.getTotalSeconds
    }
    val node = Rpc.json().put("month", rule.getMonth.getValue).put("day", rule.getDayOfMonthIndicator)
    Option(rule.getDayOfWeek).foreach(day => node.put("weekday", day.getValue))
    node.put("second", if (rule.isMidnightEndOfDay) 86400 else rule.getLocalTime.toSecondOfDay)
      .put("shift", shift).put("offset", rule.getOffsetAfter.getTotalSeconds)
  }
}
