package org.apache.spark.sql.indextables

import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Plans that read an IndexTables table. */
object Reads {
  /** The table of a relation. Spark wraps the table that a DELETE, UPDATE or MERGE changes. */
  def table(plan: LogicalPlan): Option[IndexTable] = plan match {
    case relation: DataSourceV2Relation => relation.table match {
      case table: IndexTable => Some(table)
      case RowLevelOperationTable(table: IndexTable, _) => Some(table)
      case _ => None
    }
    case _ => None
  }

  /** Whether rows come from an IndexTables table, through filters and projections only. */
  def ours(plan: LogicalPlan): Boolean = plan match {
    case Project(_, child) => ours(child)
    case Filter(_, child) => ours(child)
    case other => table(other).isDefined
  }
}
