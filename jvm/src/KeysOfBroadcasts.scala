package org.apache.spark.sql.indextables

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.expressions.{Cast => V2Cast, Expression => V2Expression, FieldReference, LiteralValue}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.execution.{InSubqueryExec, SubqueryBroadcastExec}
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, LogicalQueryStage}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, DataSourceV2Strategy}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.{HashJoin, HashedRelationBroadcastMode}
import org.apache.spark.sql.types.DataType

/**
 * Runtime filters whose keys are in a finished broadcast. Adaptive execution plans the rest of a query again when a
 * broadcast ends: with the keys known at that time, few rows come from the planner and are a single partition, whose
 * aggregates need no shuffle. Otherwise Spark would filter the scan when it runs, after everything is planned.
 */
object KeysOfBroadcasts extends Rule[LogicalPlan] with PredicateHelper {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case join @ ExtractEquiJoinKeys(_, _, _, _, _, left, right, _) => (left, right) match {
      case (_, Finished(keys)) => join.copy(left = narrow(left, keys))
      case (Finished(keys), _) => join.copy(right = narrow(right, keys))
      case _ => join
    }
  }

  private object Finished {
    def unapply(plan: LogicalPlan): Option[BroadcastQueryStageExec] = plan match {
      case stage: LogicalQueryStage => stage.physicalPlan match {
        case keys: BroadcastQueryStageExec if keys.isMaterialized => Some(keys)
        case _ => None
      }
      case _ => None
    }
  }

  /** One side of a join, with the reads narrowed that only wait for the keys of the other side. */
  private def narrow(side: LogicalPlan, keys: BroadcastQueryStageExec): LogicalPlan = side.transform {
    case filter @ Filter(condition, relation: DataSourceV2ScanRelation) => relation.scan match {
      case scan: IndexScan =>
        val (waiting, others) = splitConjunctivePredicates(condition).partition(_.isInstanceOf[DynamicPruning])
        val known = waiting.flatMap(predicate(_, keys))
        val narrowed = if (waiting.isEmpty || known.length < waiting.length) None else scan.narrowed(known.toArray)
        narrowed.fold[LogicalPlan](filter) { found =>
          val read = Compat.replaceArgument(relation, scan, found)
          others.reduceOption(And).fold(read)(Filter(_, read))
        }
      case _ => filter
    }
  }

  /** The values of a runtime filter, if this broadcast is of its keys. */
  private def predicate(filter: Expression, keys: BroadcastQueryStageExec): Option[Predicate] = filter match {
    case d: DynamicPruningSubquery =>
      val forms = (d.pruningKey, d.buildKeys) +: Widened.asJoined(d).toSeq
      forms.find(form => hasKeys(keys, form._2)).flatMap { case (key, buildKeys) =>
        val values = InSubqueryExec(key, SubqueryBroadcastExec("keys", d.broadcastKeyIndices, buildKeys, keys), d.exprId)
        values.updateResult()
        key match {
          case Widened(column) => Names.path(column).map(path => among(path, key.dataType, values.values().get))
          case _ => DataSourceV2Strategy.translateRuntimeFilterV2(values)
        }
      }
    case _ => None
  }

  /** The keys of a wider type than the column has. */
  private def among(path: Seq[String], kind: DataType, keys: Array[Any]): Predicate = {
    val literals = keys.map(key => LiteralValue(key, kind): V2Expression)
    new Predicate("IN", (new V2Cast(FieldReference(path), kind): V2Expression) +: literals)
  }

  private def hasKeys(stage: BroadcastQueryStageExec, keys: Seq[Expression]): Boolean = stage.broadcast match {
    case exchange: BroadcastExchangeExec if keys.forall(_.references.subsetOf(stage.outputSet)) =>
      val packed = BindReferences.bindReferences(HashJoin.rewriteKeyExpr(keys), stage.output)
      exchange.mode.canonicalized == HashedRelationBroadcastMode(packed).canonicalized
    case _ => false
  }
}
