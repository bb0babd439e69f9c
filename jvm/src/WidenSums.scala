package org.apache.spark.sql.indextables

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, CaseWhen, Cast, EvalMode, Expression, GetStructField, If, KnownNullable, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction, Average, Sum}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types._

/**
 * Rewrites sums of narrow columns as sums of wide ones. Spark casts the partial sums of tasks to the type of the column
 * before it adds them up, so the sum of an INT column would have to fit into an INT. Averages are pushed down as a sum
 * and a count, and Spark adds their values as doubles.
 *
 * Spark does not tell sources what a sum does if it overflows, so the arguments of `try_sum`, and of sums in views that
 * were made in the other ANSI mode, are not pushed down.
 */
object WidenSums extends Rule[LogicalPlan] {
  /** Adding ten digits twice must not exceed Spark's limit of 38. */
  private val widestDecimal = 18

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case aggregate: Aggregate if Reads.ours(aggregate.child) => aggregate.transformExpressions {
      case e @ AggregateExpression(f @ (_: Sum | _: Average), _, _, _, _)
          if Compat.evalMode(f) != EvalMode.fromSQLConf(conf) => f.children.head match {
        case _: KnownNullable => e
        case argument => over(e, f, KnownNullable(argument))
      }
      case e @ AggregateExpression(sum @ Sum(Column(kind, as), _), _, false, _, _) =>
        def wide(kind: DataType) = over(e, sum, as(kind))
        kind match {
          case ByteType | ShortType | IntegerType => wide(LongType)
          case FloatType => wide(DoubleType)
          case DecimalType.Fixed(digits, scale) if digits <= widestDecimal =>
            Cast(wide(DecimalType(digits + 10, scale)), DecimalType(digits + 10, scale))
          case _ => e
        }
      case e @ AggregateExpression(average @ Average(Column(kind, as), _), _, false, _, _)
          if Seq(ByteType, ShortType, IntegerType, LongType, FloatType).contains(kind) =>
        over(e, average, as(DoubleType))
    }
  }

  /** A column or struct member, perhaps inside CASE WHEN: its type, and a function that casts it. */
  private object Column {
    type As = DataType => Expression

    def unapply(e: Expression): Option[(DataType, As)] = e match {
      case column @ (_: AttributeReference | _: GetStructField) => Some((column.dataType, (kind: DataType) => Cast(column, kind)))
      case CaseWhen(Seq((condition, Column(kind, as))), None | Some(Literal(null, _))) => Some((kind, when(condition, as)))
      case If(condition, Column(kind, as), Literal(null, _)) => Some((kind, when(condition, as)))
      case _ => None
    }

    private def when(condition: Expression, as: As): As = kind => CaseWhen(Seq(condition -> as(kind)), None)
  }

  // not by copying the function: its other arguments differ between Spark 4.0 and 4.3
  private def over(e: AggregateExpression, function: AggregateFunction, argument: Expression): AggregateExpression =
    e.copy(aggregateFunction = function.withNewChildren(Seq(argument)).asInstanceOf[AggregateFunction])
}
