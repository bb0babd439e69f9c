package org.apache.spark.sql.indextables

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.BooleanType

/**
 * Rewrites conditional aggregates (`FILTER (WHERE c)`, `count_if(c)`, `bool_and(c)`, `bool_or(c)`) as aggregates of
 * `CASE WHEN c THEN x END`, which Spark offers to sources.
 */
object OfferConditions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case aggregate: Aggregate if Reads.ours(aggregate.child) => offered(aggregate)
  }

  private def offered(aggregate: Aggregate): Aggregate = {
    val functions = aggregate.aggregateExpressions.flatMap(_.collect { case e: AggregateExpression => e })
    val below = aggregate.child match {
      case p: Project => AttributeMap(p.projectList.collect { case a: Alias => a.toAttribute -> a.child })
      case _ => AttributeMap.empty[Expression]
    }
    // a condition that is used twice is computed in a projection below
    def whole(e: Expression): Expression = e.transform { case a: Attribute => below.getOrElse(a, a) }
    val matched = functions.exists(whole(_).exists(_.isInstanceOf[PythonUDF]))
    if (matched || !functions.exists(isConditional) || !functions.forall(isSimple)) aggregate
    else {
      val results = aggregate.aggregateExpressions.map(_.transformUp {
        case e: AggregateExpression if isConditional(e) => changed(e, whole)
      }.asInstanceOf[NamedExpression])
      aggregate.copy(aggregateExpressions = results, child = providing(aggregate.child, AttributeSet(results.flatMap(_.references))))
    }
  }

  /** The child, with the columns that the conditions name. */
  private def providing(child: LogicalPlan, wanted: AttributeSet): LogicalPlan = child match {
    case p: Project =>
      val missing = p.child.output.filter(a => wanted.contains(a) && !p.outputSet.contains(a))
      if (missing.isEmpty) p else p.copy(projectList = p.projectList ++ missing)
    case other => other
  }

  /** Whether a function can be pushed down; Spark pushes down all functions or none. */
  private def isSimple(e: AggregateExpression): Boolean = !e.isDistinct && e.mode == Complete &&
    e.filter.forall(_.deterministic) && (e.aggregateFunction match {
      case Count(Seq(child)) => child.deterministic
      case Sum(child, _) => child.deterministic
      case Average(child, _) => child.deterministic
      case Min(child) => child.deterministic
      case Max(child) => child.deterministic
      case _ => false
    })

  private def isConditional(e: AggregateExpression): Boolean = e.filter.isDefined || (e.aggregateFunction match {
    case Count(Seq(NullUnless(_))) => true
    case Min(c) => isTruth(c)
    case Max(c) => isTruth(c)
    case _ => false
  })

  /** A condition, as opposed to a boolean column. */
  private def isTruth(e: Expression): Boolean = e.dataType == BooleanType && e.isInstanceOf[Predicate]

  private def changed(e: AggregateExpression, whole: Expression => Expression): Expression = (e.aggregateFunction, e.filter) match {
    case (f, Some(c)) => e.copy(aggregateFunction = over(f, whole(c)), filter = None)
    case (Count(Seq(NullUnless(c))), None) => counted(e, whole(c))
    case (Min(c), None) => first(e, Not(whole(c)), Literal.FalseLiteral, whole(c), Literal.TrueLiteral)
    case (Max(c), None) => first(e, whole(c), Literal.TrueLiteral, Not(whole(c)), Literal.FalseLiteral)
    case _ => e
  }

  private def over(function: AggregateFunction, condition: Expression): AggregateFunction = function match {
    case Count(Seq(l: Literal)) if l.value != null => Count(Seq(when(condition, Literal(1))))
    case other => other.withNewChildren(when(condition, other.children.head) +: other.children.tail).asInstanceOf[AggregateFunction]
  }

  private def counted(e: AggregateExpression, condition: Expression): AggregateExpression =
    e.copy(aggregateFunction = Count(Seq(when(condition, Literal(1)))), resultId = NamedExpression.newExprId)

  /** `ifOne` if any row satisfies `one`, else `ifOther` if any row satisfies `other`, else null. */
  private def first(e: AggregateExpression, one: Expression, ifOne: Literal, other: Expression, ifOther: Literal): Expression = {
    def some(c: Expression) = GreaterThan(counted(e, c), Literal(0L))
    CaseWhen(Seq(some(one) -> ifOne, some(other) -> ifOther), None)
  }

  private def when(condition: Expression, value: Expression): Expression = CaseWhen(Seq(condition -> value), None)

  /** The argument of Spark's rewrite of `count_if(c)`: the condition where it holds, else null. */
  private object NullUnless {
    def unapply(e: Expression): Option[Expression] = e match {
      case If(Not(c), Literal(null, _), same) if c.semanticEquals(same) => Some(c)
      case If(EqualTo(c, Literal.FalseLiteral), Literal(null, _), same) if c.semanticEquals(same) => Some(c)
      case _ => None
    }
  }
}
