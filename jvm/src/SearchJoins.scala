package org.apache.spark.sql.indextables

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.RewritePredicateSubquery
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.PYTHON_UDF

/**
 * Left and right outer, semi and anti joins and EXISTS whose condition searches one side with queries of the other. Spark
 * computes Python functions of both sides above inner joins only. Here the rows that the join keeps are numbered, joined by
 * the other conditions and matched; then a row without a match stays once.
 */
object SearchJoins extends Rule[LogicalPlan] with PredicateHelper {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!Compat.hasArrowFunctions || plan.isStreaming || !plan.containsPattern(PYTHON_UDF)) plan
    else plan.transformUp {
      case node if node.expressions.exists(asksRows) => RewritePredicateSubquery(node)
    }.transformUp {
      case j: Join if j.condition.exists(splitConjunctivePredicates(_).exists(spans(_, j))) => j.joinType match {
        case LeftSemi | LeftAnti | ExistenceJoin(_) | LeftOuter => matched(j, j.left, j.right, j.hint)
        case RightOuter => matched(j, j.right, j.left, JoinHint(j.hint.rightHint, j.hint.leftHint))
        case _ => j
      }
    }

  /** Whether an expression has a subquery that searches with or in columns of the outer row. */
  private def asksRows(e: Expression): Boolean = e.exists {
    case s: SubqueryExpression => s.children.exists(_.exists(EngineFunction.matchesRows))
    case InSubquery(_, query) => query.children.exists(_.exists(EngineFunction.matchesRows))
    case _ => false
  }

  private def spans(condition: Expression, join: Join): Boolean = condition.exists { e =>
    EngineFunction.matchesRows(e) && !canEvaluate(e, join.left) && !canEvaluate(e, join.right)
  }

  private def matched(join: Join, kept: LogicalPlan, other: LogicalPlan, hint: JoinHint): LogicalPlan = {
    val (late, early) = splitConjunctivePredicates(join.condition.get).partition(spans(_, join))
    val row = Alias(MonotonicallyIncreasingID(), "row")()
    val there = Alias(Literal.TrueLiteral, "there")()
    // the columns of a row without a match become NULL above, under their own ids
    val renamed = AttributeMap(other.output.map(a => a -> Alias(a, a.name)()))
    def inPairs(parts: Seq[Expression]) = parts.map(_.transform {
      case a: Attribute => renamed.get(a).fold[Expression](a)(_.toAttribute)
    }).reduceOption(And(_, _))
    val pairs = Join(Project(kept.output :+ row, kept), Project(other.output.map(renamed) :+ there, other), LeftOuter,
      inPairs(early), hint)
    def paired(alias: Alias) = pairs.output.find(_.exprId == alias.exprId).get
    val hit = Alias(Coalesce(Seq(And(paired(there), inPairs(late).get), Literal.FalseLiteral)), "hit")()
    val order = Seq(SortOrder(hit.toAttribute, Descending))
    val frame = SpecifiedWindowFrame(RowFrame, UnboundedPreceding, CurrentRow)
    val place = Alias(
      WindowExpression(RowNumber(), WindowSpecDefinition(Seq(row.toAttribute), order, frame)), "place")()
    val ranked = Window(Seq(place), Seq(row.toAttribute), order, Project(pairs.output :+ hit, pairs))
    val first = EqualTo(place.toAttribute, Literal(1))
    join.joinType match {
      case LeftSemi => Project(kept.output, Filter(And(first, hit.toAttribute), ranked))
      case LeftAnti => Project(kept.output, Filter(And(first, Not(hit.toAttribute)), ranked))
      case ExistenceJoin(exists) =>
        Project(kept.output :+ Alias(hit.toAttribute, exists.name)(exists.exprId), Filter(first, ranked))
      case _ => Project(join.output.map { a =>
        renamed.get(a).fold[NamedExpression](a)(r =>
          Alias(If(hit.toAttribute, paired(r), Literal(null, a.dataType)), a.name)(a.exprId, a.qualifier))
      }, Filter(Or(first, hit.toAttribute), ranked))
    }
  }
}
