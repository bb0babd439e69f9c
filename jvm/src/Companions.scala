package org.apache.spark.sql.indextables

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{Expression, InputFileBlockLength, InputFileBlockStart, InputFileName}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, V2ScanRelationPushDown}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A companion that replaces its source table in a plan. */
class SourceAnswer(state: TableState, given: java.util.Map[String, String], source: String)
  extends IndexTable(state, given, writable = false) {
  override def name(): String = s"companion of $source"
  override def request(options: CaseInsensitiveStringMap): ObjectNode =
    super.request(options).put("answers_for", source)
}

/** Finds the companion that answers for a table of another format; Python decides. */
object Companions extends Logging {
  private val known = TreeNodeTag[Option[SourceAnswer]]("indextables.companion")

  /** The companion whose index settings apply to searches on a source table. */
  def of(plan: LogicalPlan): Option[SourceAnswer] = Source.of(plan).flatMap { source =>
    plan.getTagValue(known).getOrElse {
      val found = ask(source, pinned = false)
      plan.setTagValue(known, found)
      found
    }
  }

  /** Whether a companion may answer any query of a table. Sessions without companion settings make no call. */
  def answersAll(source: Source): Boolean =
    SQLConf.get.getAllConfs.keys.exists(_.startsWith(Names.CompanionKeys)) &&
      Rpc.call("companion", source.request(pinned = false)).json.path("all").asBoolean(false)

  /** A read of the companion that has the rows which the query sees in a source table. */
  def read(source: Source): Option[LogicalPlan] = ask(source, pinned = true).flatMap(inPlaceOf(source, _))

  /** Fall back to Spark, which can answer the query itself, if anything is wrong with the companion. */
  def orElseSpark(source: Source)(found: => Option[LogicalPlan]): Option[LogicalPlan] =
    try found
    catch { case NonFatal(failure) => logWarning(notAnswered(source, failure.getMessage)); None }

  private def notAnswered(source: Source, reason: String) = s"${source.name} is not answered by a companion: $reason"

  private def ask(source: Source, pinned: Boolean): Option[SourceAnswer] = {
    val reply = Rpc.call("companion", source.request(pinned)).json
    if (reply.get("found").asBoolean) {
      val version = Option(reply.get("version")).map("sourceVersionAsOf" -> _.asText)
      val given = (source.options + ("path" -> reply.get("path").asText) ++ version).asJava
      Some(new SourceAnswer(TableState.load(given).existing, given, source.name))
    } else {
      val reason = reply.get("reason").asText
      if (reason.nonEmpty) logWarning(notAnswered(source, reason))
      None
    }
  }

  /** A read of the companion with the attributes of the source table; None if their types differ. */
  private def inPlaceOf(source: Source, table: SourceAnswer): Option[LogicalPlan] = {
    val schema = table.schema()
    val fits = source.output.forall { a =>
      schema.exists(f => f.name == a.name && DataType.equalsIgnoreNullability(f.dataType, a.dataType))
    }
    if (!fits) {
      logWarning(notAnswered(source, "its columns are read as other types"))
      None
    } else {
      val relation = Compat.relation(table, CaseInsensitiveStringMap.empty())
      val output = relation.output.map(a => source.output.find(_.name == a.name).getOrElse(a))
      Some(Compat.replaceArgument(relation, relation.output, output))
    }
  }
}

/**
 * Replaces source tables by their companions: where a search is right above the table and, if the session allows it,
 * where the index alone answers a filter, an aggregation or a top-k.
 */
object AnswerByCompanion extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (plan.exists(_.expressions.exists(_.exists(namesFile)))) plan
    else {
      val answered = plan.transformDownWithSubqueries { case node => answer(node) }
      if (answered eq plan) plan else offered(answered)
    }

  private def namesFile(e: Expression): Boolean =
    e.isInstanceOf[InputFileName] || e.isInstanceOf[InputFileBlockStart] || e.isInstanceOf[InputFileBlockLength]

  /** Apply the optimizer rules for IndexTables tables, which ran when the plan still had the source table. */
  private def offered(plan: LogicalPlan): LogicalPlan =
    KeepComputed(WidenSums(OfferDateTrunc(MakePushable(plan))))

  private def answer(node: LogicalPlan): LogicalPlan = {
    val wanted = searches(node)
    if (!wanted && !narrows(node)) node
    else leaf(node).flatMap(table => Source.of(table).map(table -> _)).fold(node) { case (table, source) =>
      def swapped = Companions.read(source).map(swap(node, table, _))
      val found =
        if (wanted) swapped
        else Companions.orElseSpark(source) {
          if (Companions.answersAll(source)) swapped.filter(isAnswered) else None
        }
      found.getOrElse(node)
    }
  }

  private def swap(node: LogicalPlan, table: LogicalPlan, relation: LogicalPlan): LogicalPlan = {
    val plan = node.transformDown { case leaf if leaf eq table => relation }
    // the projection goes above the filter, which Spark pushes down only from right above the table
    if (plan.output == node.output) plan else Project(node.output, plan)
  }

  /** The table below a node, if the index may answer everything between them. */
  private def leaf(node: LogicalPlan): Option[LogicalPlan] = node match {
    case _: GlobalLimit | _: LocalLimit | _: Sort | _: Aggregate | _: Project | _: Filter => leaf(node.children.head)
    case other => Some(other).filter(_.children.isEmpty)
  }

  private def searches(node: LogicalPlan): Boolean = node match {
    case filter: Filter => filter.condition.exists(_.isInstanceOf[Search])
    case project: Project => searches(project.child)
    case _ => false
  }

  private def narrows(node: LogicalPlan): Boolean = node match {
    case _: GlobalLimit | _: Aggregate | _: Filter => true
    case _ => false
  }

  /** Whether the index answers a whole plan, found by letting Spark push down what it can. */
  private def isAnswered(plan: LogicalPlan): Boolean = Try {
    V2ScanRelationPushDown(offered(plan)).collectFirst { case r: DataSourceV2ScanRelation => r.scan }.exists {
      case scan: IndexScan =>
        scan.isLocal // fails if it cannot be planned: then Spark answers
        val request = scan.request
        request.has("aggregation") || request.has("order") ||
          (!plan.exists(_.isInstanceOf[Aggregate]) && request.path("predicates").size > 0 &&
            !request.path("residual").asBoolean(false))
      case _ => false
    }
  }.getOrElse(false)
}
