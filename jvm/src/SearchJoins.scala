package org.apache.spark.sql.indextables

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.RewritePredicateSubquery
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.PYTHON_UDF
import org.apache.spark.sql.types.BooleanType

/**
 * Outer, semi and anti joins and EXISTS whose condition searches one side with queries of the other. Spark computes Python
 * functions of both sides above inner joins only. Here the rows of both sides are numbered, joined by the other conditions
 * and matched; then a row that the join keeps without a match is there once.
 */
object SearchJoins extends Rule[LogicalPlan] with PredicateHelper {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!Compat.hasArrowFunctions || plan.isStreaming || !plan.containsPattern(PYTHON_UDF)) plan
    else plan.transformUp {
      case node if node.expressions.exists(asksRows) => RewritePredicateSubquery(node)
    }.transformUp {
      case j: Join if !j.joinType.isInstanceOf[InnerLike] && j.condition.exists(_.exists(spans(_, j))) => matched(j)
    }

  /** Whether an expression has a subquery that searches with or in columns of the outer row. */
  private def asksRows(e: Expression): Boolean = e.exists {
    case s: SubqueryExpression => s.children.exists(_.exists(EngineFunction.matchesRows))
    case InSubquery(_, query) => query.children.exists(_.exists(EngineFunction.matchesRows))
    case _ => false
  }

  private def spans(e: Expression, join: Join): Boolean =
    EngineFunction.matchesRows(e) && !canEvaluate(e, join.left) && !canEvaluate(e, join.right)

  private def matched(join: Join): LogicalPlan = {
    val (late, early) = splitConjunctivePredicates(join.condition.get).partition(_.exists(spans(_, join)))
    val outer = Seq(LeftOuter, RightOuter, FullOuter).contains(join.joinType)
    val (left, right) = (Side(join.left, outer), Side(join.right, outer))
    def named(a: Attribute) = left.names.get(a).orElse(right.names.get(a)).getOrElse(a)
    val condition = early.map(_.transform { case a: Attribute => named(a) }).reduceOption(And(_, _))
    val pairs = Join(left.numbered, right.numbered, if (outer) join.joinType else LeftOuter, condition, join.hint)
    def paired(a: Attribute) = pairs.output.find(_.exprId == named(a).exprId).get
    val there = Seq(left, right).map(side => IsNotNull(paired(side.row)))
    val search = late.map(_.transform { case a: Attribute => paired(a) })
    val isHit = Alias(Coalesce(Seq((there ++ search).reduce(And(_, _)), Literal.FalseLiteral)), "hit")()
    val hit = isHit.toAttribute
    val marked = Project(pairs.output :+ isHit, pairs)
    def first(side: Side) = And(IsNotNull(paired(side.row)), EqualTo(side.place(hit).toAttribute, Literal(1)))
    join.joinType match {
      case LeftSemi => Project(join.output, Filter(And(first(left), hit), left.placed(marked, hit)))
      case LeftAnti => Project(join.output, Filter(And(first(left), Not(hit)), left.placed(marked, hit)))
      case ExistenceJoin(exists) =>
        val found = Alias(hit, exists.name)(exists.exprId)
        Project(join.left.output :+ found, Filter(first(left), left.placed(marked, hit)))
      case kind =>
        val kept = Seq(left).filter(_ => kind != RightOuter) ++ Seq(right).filter(_ => kind != LeftOuter)
        def row(sides: Side*) = Seq(left, right).flatMap { side =>
          side.plan.output.map(a => if (sides.contains(side)) paired(a) else Literal(null, a.dataType))
        }
        val rows = (row(left, right) :+ hit) +: kept.map(side => row(side) :+ And(Not(hit), first(side)))
        val is = AttributeReference("is", BooleanType)()
        val placed = kept.foldLeft[LogicalPlan](marked)((below, side) => side.placed(below, hit))
        Project(join.output, Filter(is, Expand(rows, join.output :+ is, placed)))
    }
  }

  /** One side of a join, with its rows numbered, and its columns renamed if the join gives some as NULL. */
  private case class Side(plan: LogicalPlan, renamed: Boolean) {
    private val number = Alias(MonotonicallyIncreasingID(), "row")()
    private val columns = plan.output.map(a => if (renamed) Alias(a, a.name)() else a)
    private val placeId = NamedExpression.newExprId
    val row: Attribute = number.toAttribute
    val names: AttributeMap[Attribute] = AttributeMap(plan.output.zip(columns.map(_.toAttribute)))
    val numbered: LogicalPlan = Project(columns :+ number, plan)

    /** The place of a pair among those of the same row: hits come first. */
    def place(hit: Attribute): NamedExpression = {
      val spec = WindowSpecDefinition(Seq(row), Seq(SortOrder(hit, Descending)),
        SpecifiedWindowFrame(RowFrame, UnboundedPreceding, CurrentRow))
      Alias(WindowExpression(RowNumber(), spec), "place")(placeId)
    }

    def placed(pairs: LogicalPlan, hit: Attribute): LogicalPlan =
      Window(Seq(place(hit)), Seq(row), Seq(SortOrder(hit, Descending)), pairs)
  }
}
