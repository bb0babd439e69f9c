package org.apache.spark.sql.indextables

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.plans.logical.{AlterTableCommand, LogicalPlan}
import org.apache.spark.sql.connector.catalog.{Identifier, TableCatalog, TableChange}
import org.apache.spark.sql.connector.catalog.TableChange.ColumnPosition
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.command.{ExecutedCommandExec, LeafRunnableCommand}

/**
 * ALTER TABLE of a name in another catalog changes the table's own log, which says what the table is;
 * the catalog's copy of the schema and properties follows.
 */
object AlterTables extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case alter: AlterTableCommand => alter.table match {
      case ResolvedTable(catalog, name, table: IndexTable, _) if !catalog.isInstanceOf[PathCatalog] =>
        Seq(ExecutedCommandExec(Altered(catalog, name, table, alter.changes)))
      case _ => Nil
    }
    case _ => Nil
  }
}

case class Altered(@transient catalog: TableCatalog, name: Identifier, @transient table: IndexTable,
    @transient changes: Seq[TableChange]) extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    if (table.state.exists) Altering.alter(table.request(), changes)
    catalog.alterTable(name, beforePartitions: _*)
    Nil
  }

  /** Spark's own catalog keeps partition columns at the end; in the table's log a new column comes last. */
  private def beforePartitions: Seq[TableChange] = {
    val plain = table.schema.fieldNames.filterNot(table.state.partitionColumns.contains)
    var last = plain.lastOption
    changes.map {
      case c: TableChange.AddColumn if table.state.partitionColumns.nonEmpty && c.position == null =>
        val place = last.map(ColumnPosition.after).getOrElse(ColumnPosition.first)
        last = Some(c.fieldNames.last)
        TableChange.addColumn(c.fieldNames, c.dataType, c.isNullable, c.comment, place, null)
      case other => other
    }
  }
}

object Altering {
  def alter(request: ObjectNode, changes: Seq[TableChange]): Unit = {
    val array = request.putArray("changes")
    changes.foreach(c => array.add(encode(c)))
    Rpc.call("alter", request)
  }

  private def encode(change: TableChange): ObjectNode = change match {
    case c: TableChange.SetProperty => Rpc.json().put("set", c.property).put("value", c.value)
    case c: TableChange.RemoveProperty => Rpc.json().put("remove", c.property)
    case c: TableChange.AddColumn if c.fieldNames.length == 1 =>
      val node = Rpc.json().put("add_column", c.fieldNames.head)
      node.set[ObjectNode]("type", Encoder.typeOf(c.dataType))
      node
    case other => throw new IndexTablesException(
      s"[UNSUPPORTED_CHANGE] ALTER TABLE can not do `${other.getClass.getSimpleName}` on an IndexTables table")
  }
}
