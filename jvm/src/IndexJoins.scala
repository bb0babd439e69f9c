package org.apache.spark.sql.indextables

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{NormalizeNaNAndZero, PushDownPredicates}
import org.apache.spark.sql.catalyst.planning.{ExtractEquiJoinKeys, PhysicalOperation}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/**
 * Joins by index: the keys of one side become a runtime filter on the other side, which the index answers. Spark's own
 * rule is made for partitions and requires a filter on the side of the keys and a broadcast of it; here Python decides.
 */
object IndexJoins extends Rule[LogicalPlan] {
  /**
   * No rule of an extension runs after scans are planned. Experimental rules do, and the optimizer collects them after
   * those of extensions, before every query.
   */
  def register(session: SparkSession): Unit = {
    val rules = session.asInstanceOf[org.apache.spark.sql.classic.SparkSession].experimental
    if (!rules.extraOptimizations.contains(this)) rules.extraOptimizations = rules.extraOptimizations :+ this
  }

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case s: Subquery if s.correlated => plan
    case _ if conf.dynamicPartitionPruningEnabled => joins(plan)
    case _ => plan
  }

  private def joins(plan: LogicalPlan): LogicalPlan = plan match {
    // a recursive query optimizes every step again, with the rows of the step before, and fails on a plan that has
    // runtime filters already, Spark's own as well; by name, because Spark 4.0 does not have this class
    case _ if plan.nodeName == "UnionLoop" =>
      plan.transformAllExpressions { case _: DynamicPruningSubquery => Literal.TrueLiteral }
    case _ => plan.mapChildren(joins) match {
      case join: Join => byIndex(join)
      case other => other
    }
  }

  private def byIndex(join: Join): LogicalPlan = join match {
    case ExtractEquiJoinKeys(kind, leftKeys, rightKeys, _, _, left, right, _) =>
      val (fewerLeft, fewerRight) = kind match {
        case Inner => (true, true)
        case LeftSemi => (true, true)
        case RightOuter => (true, false)
        case LeftOuter => (false, true)
        case _ => (false, false)
      }
      if (fewerLeft && isNarrowed(left)) join.copy(left = narrow(leftKeys, left, rightKeys, right))
      else if (fewerRight && isNarrowed(right)) join.copy(right = narrow(rightKeys, right, leftKeys, left))
      else join
    case _ => join
  }

  /** Whether a side reads an IndexTables table with tasks; small tables are read whole. */
  private def isNarrowed(side: LogicalPlan): Boolean = !side.isStreaming && reads(side).exists(!_.scan.isLocal)

  /** One side of a join, with runtime filters on the keys that the index answers. */
  private def narrow(keys: Seq[Expression], side: LogicalPlan, otherKeys: Seq[Expression],
      other: LogicalPlan): LogicalPlan =
    if (side.isStreaming || other.isStreaming || !other.deterministic) side
    else keys.indices.foldLeft(side) { (plan, i) =>
      column(keys(i)).flatMap(key => filtered(plan, key, otherKeys, i, other)).getOrElse(plan)
    }

  private def filtered(side: LogicalPlan, key: Expression, otherKeys: Seq[Expression], at: Int,
      other: LogicalPlan): Option[LogicalPlan] = {
    val fresh = Compat.pruning(key, other, otherKeys, at)
    val pushed = lowered(fresh, side)
    for {
      (read, mine) <- reads(pushed).flatMap(r => r.pruning.find(_.exprId == fresh.exprId).map(r -> _)).headOption
      path <- Names.path(Widened.column(mine.pruningKey))
      use <- read.scan.join(path, KeySource(mostRows(other, otherKeys(at)), cost(other), chooses(other)))
      // Spark's rule, or an earlier run of this one, may have added a filter already
      known = read.pruning.find(d => d.exprId != fresh.exprId &&
        Widened.column(d.pruningKey).semanticEquals(Widened.column(mine.pruningKey)))
      everywhere = use == IndexJoins.Always && repeatable(other) && Widened.castsKeys(mine.pruningKey)
      // Spark itself filters by plain columns only
      if everywhere || conf.adaptiveExecutionEnabled || Names.path(mine.pruningKey).isDefined
      changed <- known match {
        case Some(d) if d.onlyInBroadcast == everywhere => Some(replaced(side, d.exprId, used(d, everywhere)))
        case Some(_) => None
        case None if everywhere => Some(replaced(pushed, fresh.exprId, used(mine, everywhere)))
        case None => Some(pushed)
      }
    } yield changed
  }

  private def lowered(filter: Expression, side: LogicalPlan): LogicalPlan = side match {
    // MERGE numbers the rows of its target to find those that match twice: which numbers does not matter
    case Project(list, child) if filter.references.subsetOf(child.outputSet) && list.exists(numbers) =>
      Project(list, lowered(filter, child))
    case Filter(condition, child @ Project(list, _)) if list.exists(numbers) => Filter(condition, lowered(filter, child))
    case _ => PushDownPredicates(Filter(filter, side))
  }

  private def numbers(e: NamedExpression): Boolean = e match {
    case Alias(_: MonotonicallyIncreasingID, "__row_id") => true
    case _ => false
  }

  private val Always = "always"

  /** The same filter, with keys that are always computed or taken from a broadcast only. */
  private def used(d: DynamicPruningSubquery, everywhere: Boolean): DynamicPruningSubquery = {
    val (key, keys) = if (everywhere) Widened.byColumn(d) else (d.pruningKey, d.buildKeys)
    Compat.pruning(key, d.buildQuery, keys, d.broadcastKeyIndices.head, onlyInBroadcast = !everywhere)
  }

  private def replaced(plan: LogicalPlan, id: ExprId, by: DynamicPruningSubquery): LogicalPlan =
    plan.transform { case node => node.transformExpressions { case d: DynamicPruningSubquery if d.exprId == id => by } }

  private case class Read(scan: IndexScan, pruning: Seq[DynamicPruningSubquery])

  /** The reads of IndexTables tables in a plan, with the runtime filters right above them. */
  private def reads(plan: LogicalPlan): Seq[Read] = plan.collect {
    case PhysicalOperation(_, filters, relation: DataSourceV2ScanRelation) => relation.scan match {
      case scan: IndexScan => Some(Read(scan, filters.collect { case d: DynamicPruningSubquery => d }))
      case _ => None
    }
  }.flatten

  /** The column of a key; the index compares numbers by value, so the normalization of zeros and NaNs is dropped. */
  private def column(key: Expression): Option[Expression] = key match {
    case KnownFloatingPointNormalized(NormalizeNaNAndZero(child)) => column(child)
    case Widened(column) => Names.path(column).map(_ => key)
    case _ => Names.path(key).map(_ => key)
  }

  /** The bytes that Spark would read to compute the other side a second time. */
  private def cost(other: LogicalPlan): BigInt = other.collectLeaves().map {
    case _: InMemoryRelation => BigInt(0)
    case leaf => leaf.stats.sizeInBytes
  }.sum

  /** An upper bound of the rows that have keys: those of the table with the key column, or of the largest table. */
  private def mostRows(other: LogicalPlan, key: Expression): BigInt = {
    val leaves = other.collectLeaves()
    val own = leaves.filter(leaf => key.references.subsetOf(leaf.outputSet))
    (if (own.isEmpty) leaves else own).map { leaf =>
      val width = leaf.output.map(_.dataType.defaultSize).sum + 8
      leaf.stats.rowCount.getOrElse(leaf.stats.sizeInBytes / width)
    }.maxOption.getOrElse(BigInt(0))
  }

  /** Whether a condition selects some of the rows; IS NOT NULL does not count. */
  private def chooses(plan: LogicalPlan): Boolean = plan.exists {
    case Filter(condition, _) => condition.exists {
      case _: IsNotNull | _: And | _: Attribute | _: DynamicPruning => false
      case _ => true
    }
    case r: DataSourceV2ScanRelation => r.scan match {
      case scan: IndexScan => scan.chooses
      case _ => false
    }
    case _ => false
  }

  /** Whether a plan has the same rows when it is computed twice: no limit, no dependence on order, no unknown source. */
  private def repeatable(plan: LogicalPlan): Boolean = plan match {
    case _: LocalRelation | _: Range | _: InMemoryRelation => true
    case l: LogicalRelation => l.relation.isInstanceOf[HadoopFsRelation]
    case l: LogicalRDD => l.rdd.isCheckpointed
    case r: DataSourceV2ScanRelation => r.scan match {
      case scan: IndexScan => !scan.request.has("limit")
      case scan => scan.isInstanceOf[FileScan]
    }
    case a: Aggregate => a.aggregateExpressions.forall(_.find(_.isInstanceOf[aggregate.AggregateExpression]).isEmpty) &&
      repeatable(a.child)
    case _: Project | _: Filter | _: Union | _: Join => plan.children.forall(repeatable)
    case _ => false
  }
}

/** A column of integers or dates that is compared with keys of a wider type. */
object Widened {
  def unapply(e: Expression): Option[Expression] = e match {
    // Python has the time zone of the session
    case cast: Cast if widens(cast.child.dataType, cast.dataType) &&
        cast.timeZoneId.forall(_ == SQLConf.get.sessionLocalTimeZone) => Some(cast.child)
    case _ => None
  }

  /**
   * Whether keys can be cast to the type of the column without losing rows. Not timestamps: in a time zone that skipped
   * a day, two dates begin at the same timestamp.
   */
  def castsKeys(e: Expression): Boolean = column(e).dataType != DateType || (column(e) eq e)

  def column(e: Expression): Expression = unapply(e).getOrElse(e)

  /** A runtime filter of the column itself: keys that do not fit its type become null, which the join finds no rows for. */
  def byColumn(d: DynamicPruningSubquery): (Expression, Seq[Expression]) = d.pruningKey match {
    case Widened(column) =>
      val at = d.broadcastKeyIndices.head
      (column, d.buildKeys.updated(at, Cast(d.buildKeys(at), column.dataType, None, EvalMode.TRY)))
    case _ => (d.pruningKey, d.buildKeys)
  }

  /** The same filter as the join compares its keys. */
  def asJoined(d: DynamicPruningSubquery): Option[(Expression, Seq[Expression])] = {
    val at = d.broadcastKeyIndices.head
    d.buildKeys(at) match {
      case cast: Cast if cast.evalMode == EvalMode.TRY && widens(cast.dataType, cast.child.dataType) =>
        Some((Cast(d.pruningKey, cast.child.dataType), d.buildKeys.updated(at, cast.child)))
      case _ => None
    }
  }

  private def widens(from: DataType, to: DataType): Boolean = (from, to) match {
    case (_: IntegralType, _: IntegralType | _: DecimalType) => from != to && Cast.canUpCast(from, to)
    case (DateType, TimestampType | TimestampNTZType) => true
    case _ => false
  }
}

/** The other side of a join: how many rows have keys, the bytes read for them, and whether a filter selects them. */
case class KeySource(rows: BigInt, bytes: BigInt, chosen: Boolean)
