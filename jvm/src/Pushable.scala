package org.apache.spark.sql.indextables

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.{AbstractDataType, AnyDataType}

/**
 * LIKE, RLIKE and array_contains, for which Spark has no V2 predicate. It translates any BinaryComparison to a V2
 * predicate named after its operator, so they are wrapped in one. If it is not pushed down, the wrapped expression is
 * computed.
 */
case class Pushable(operator: String, itself: BinaryExpression) extends BinaryComparison {
  override def left: Expression = itself.left
  override def right: Expression = itself.right
  override def symbol: String = operator
  override def sqlOperator: String = operator
  override def sql: String = itself.sql
  override def toString: String = itself.toString
  override def inputType: AbstractDataType = AnyDataType
  override def nullable: Boolean = itself.nullable
  override def checkInputDataTypes(): TypeCheckResult = itself.checkInputDataTypes()
  override def eval(row: InternalRow): Any = itself.eval(row)
  override def genCode(context: CodegenContext): ExprCode = itself.genCode(context)
  override protected def withNewChildrenInternal(l: Expression, r: Expression): Expression =
    copy(itself = itself.withNewChildren(Seq(l, r)).asInstanceOf[BinaryExpression])
}

/** Makes predicates on columns of IndexTables tables pushable. */
object MakePushable extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    val ours = AttributeSet(plan.collect { case relation if Reads.table(relation).isDefined => relation.output }.flatten)
    if (ours.isEmpty) plan
    else plan.transform {
      case filter: Filter => filter.transformExpressions {
        case like @ Like(Column() | Lower(Column()), Literal(_, _), '\\') if like.references.subsetOf(ours) =>
          Pushable("LIKE", like)
        case like @ RLike(Column(), Literal(_, _)) if like.references.subsetOf(ours) => Pushable("RLIKE", like)
        case has @ ArrayContains(Column(), Literal(_, _)) if has.references.subsetOf(ours) =>
          Pushable("ARRAY_CONTAINS", has)
      }
    }
  }

  /** A column or a member of a struct column. */
  private object Column {
    def unapply(e: Expression): Boolean = e match {
      case _: AttributeReference => true
      case g: GetStructField => unapply(g.child)
      case _ => false
    }
  }
}
