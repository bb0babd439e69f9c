package org.apache.spark.sql.indextables

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{AbstractDataType, AnyDataType, BooleanType, DataType}

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

/** A part of a condition that Spark computes. No source is offered a condition that contains it. */
case class Computed(child: Expression) extends UnaryExpression {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = child.nullable
  override def foldable: Boolean = false
  override def sql: String = child.sql
  override def toString: String = child.toString
  override def eval(row: InternalRow): Any = child.eval(row)
  override def genCode(context: CodegenContext): ExprCode = child.genCode(context)
  override protected def doGenCode(context: CodegenContext, code: ExprCode): ExprCode = child.genCode(context)
  override protected def withNewChildInternal(newChild: Expression): Expression = copy(child = newChild)
}

/**
 * Keeps from sources what Spark fails to translate: an AND, OR, NOT or CASE of NULL or of a cast. NULL comes from
 * comparisons with values beyond a column's type, such as `tinyint > 200`. In conditions, Spark itself replaces NULL by
 * FALSE. Also casts in another time zone than the session's, as in views that were made there: Spark does not tell
 * sources the zone.
 */
object KeepComputed extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.exists(Reads.table(_).isDefined)) plan
    else plan.transform {
      case filter: Filter => filter.copy(condition = inCondition(filter.condition))
      case join: Join => join.copy(condition = join.condition.map(inCondition))
      case other => other.mapExpressions(inValue)
    }

  def inValue(e: Expression): Expression = e match {
    case known: Computed => known
    case c: Cast if isInOtherZone(c) => Computed(c.mapChildren(inValue))
    case i: If => i.copy(inBranch(i.predicate), inValue(i.trueValue), inValue(i.falseValue))
    case c: CaseWhen =>
      c.copy(c.branches.map { case (when, value) => inBranch(when) -> inValue(value) }, c.elseValue.map(inValue))
    case _: And | _: Or | _: Not => e.mapChildren {
      case part @ Literal(null, _) => Computed(part)
      case part => computed(part).getOrElse(inValue(part))
    }
    // Spark puts what has a name in the place of the name
    case a: Alias if a.dataType == BooleanType => a.mapChildren(part => computed(part).getOrElse(inValue(part)))
    case other => other.mapChildren(inValue)
  }

  private def inCondition(e: Expression): Expression = e match {
    case _: And | _: Or => e.mapChildren(inBranch)
    case other => inValue(other)
  }

  private def inBranch(condition: Expression): Expression = computed(condition).getOrElse(inCondition(condition))

  private def isInOtherZone(cast: Cast): Boolean =
    cast.timeZoneId.exists(_ != SQLConf.get.sessionLocalTimeZone) && dependsOnZone(cast)

  def dependsOnZone(cast: Cast): Boolean = Cast.needsTimeZone(cast.child.dataType, cast.dataType)

  private def computed(e: Expression): Option[Expression] = e match {
    case _: Cast | _: ApplyFunctionExpression => Some(Computed(inValue(e)))
    case _ => None
  }
}
