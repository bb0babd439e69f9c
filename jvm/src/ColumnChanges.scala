package org.apache.spark.sql.indextables

import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * DELETE, UPDATE and MERGE whose conditions and values are columns, from Python's `IndexTable`. Of the three, a Spark
 * client can send only a MERGE, and its target has no alias. So all of them come as a MERGE, and the name of its target
 * says what is meant: `indextables_change`.`{"verb": ..., "table": ..., "alias": ...}`.
 */
object ColumnChanges extends Rule[LogicalPlan] {
  private val Marker = "indextables_change"

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case merge: MergeIntoTable => merge.targetTable match {
      case named: UnresolvedRelation if named.multipartIdentifier.head == Marker => meant(merge, named)
      case _ => merge
    }
  }

  private def meant(merge: MergeIntoTable, named: UnresolvedRelation): LogicalPlan = {
    val given = Rpc.parse(named.multipartIdentifier.last)
    val table = named.copy(multipartIdentifier = CatalystSqlParser.parseMultipartIdentifier(given.get("table").asText))
    val target = if (given.has("alias")) SubqueryAlias(given.get("alias").asText, table) else table
    (given.get("verb").asText, merge.matchedActions) match {
      case ("delete", _) => DeleteFromTable(target, merge.mergeCondition)
      case ("update", Seq(update: UpdateAction)) => UpdateTable(target, update.assignments, Some(merge.mergeCondition))
      case _ => merge.withNewChildren(Seq(target, merge.sourceTable))
    }
  }
}
