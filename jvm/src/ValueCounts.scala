package org.apache.spark.sql.indextables

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.{LongType, NumericType}

/**
 * Exact percentiles, medians and distinct counts of several columns, computed from the number of rows per value. Spark
 * offers these functions only to sources that can answer them completely, but groups and counts to every source.
 */
object ValueCounts extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case outer @ Aggregate(keys, _, child, _) if Reads.ours(child) && keys.forall(_.isInstanceOf[Attribute]) =>
      counted(outer).getOrElse(outer)
  }

  private def counted(outer: Aggregate): Option[LogicalPlan] = {
    val functions = outer.aggregateExpressions.flatMap(_.collect { case e: AggregateExpression => e })
    val valued = functions.flatMap(values).distinct
    if (valued.length != 1 || !functions.forall(e => values(e).isDefined || refolded(e))) None
    else {
      val keys = outer.groupingExpressions.collect { case a: Attribute => a }
      val columns = valued.head.distinct.filterNot(c => keys.exists(_.semanticEquals(c)))
      val rows = Alias(AggregateExpression(Count(Literal(1)), Complete, isDistinct = false), "rows")()
      val parts = functions.filter(e => values(e).isEmpty).distinctBy(_.canonicalized).map(e => e -> Alias(e, "part")())
      val inner = Aggregate(keys ++ columns, keys ++ columns ++ (rows +: parts.map(_._2)), outer.child)
      val results = outer.aggregateExpressions.map(_.transformUp {
        case e: AggregateExpression => folded(e, rows.toAttribute, parts)
      }.asInstanceOf[NamedExpression])
      Some(outer.copy(aggregateExpressions = results, child = inner))
    }
  }

  /** The columns of a function that can be computed from the number of rows per value. */
  private def values(e: AggregateExpression): Option[Seq[Attribute]] = e match {
    case AggregateExpression(p: Percentile, _, false, None, _) => (p.child, p.frequencyExpression) match {
      case (a: Attribute, Literal(1L, LongType)) if a.dataType.isInstanceOf[NumericType] => Some(Seq(a))
      case _ => None
    }
    case AggregateExpression(Count(several), _, true, None, _) if several.length > 1 =>
      val columns = several.collect { case a: Attribute => a }
      if (columns.length == several.length) Some(columns) else None
    case _ => None
  }

  /** Functions whose result can be computed from their results per group. */
  private def refolded(e: AggregateExpression): Boolean = !e.isDistinct && e.filter.isEmpty && (e.aggregateFunction match {
    case Count(Seq(_: Attribute | _: Literal)) => true
    case Min(_: Attribute) | Max(_: Attribute) => true
    case _ => false
  })

  private def folded(e: AggregateExpression, rows: Attribute, parts: Seq[(AggregateExpression, Alias)]): Expression = {
    def part = parts.find(_._1.canonicalized == e.canonicalized).get._2.toAttribute
    e.aggregateFunction match {
      case p: Percentile => e.copy(aggregateFunction =
        p.withNewChildren(Seq(p.child, p.percentageExpression, rows)).asInstanceOf[AggregateFunction])
      // rows with a null in any column are not counted, and every other combination occurs once
      case c: Count if e.isDistinct => e.copy(aggregateFunction = c, isDistinct = false)
      case _: Count => Coalesce(Seq(e.copy(aggregateFunction = new Sum(part)), Literal(0L)))
      case m: Min => e.copy(aggregateFunction = m.copy(child = part))
      case m: Max => e.copy(aggregateFunction = m.copy(child = part))
    }
  }
}
