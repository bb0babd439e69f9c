package org.apache.spark.sql.indextables

import java.net.URI

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.analysis.NoSuchTableException
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.metric.CustomTaskMetric

/**
 * REPLACE TABLE by name: an IndexTables table is replaced by one new version of its log, so that nothing is lost if that
 * fails, and earlier versions stay. Any other table is dropped first.
 */
class ReplacedTables(names: TableCatalog, rows: Boolean)
  extends NamedTables(names, rows, replaces = true) with StagingTableCatalog {

  override def stageReplace(name: Identifier, columns: Array[Column], partitions: Array[Transform],
      properties: java.util.Map[String, String]): StagedTable = {
    if (!names.tableExists(name)) throw new NoSuchTableException(name)
    stageCreateOrReplace(name, columns, partitions, properties)
  }
  override def stageCreateOrReplace(name: Identifier, columns: Array[Column], partitions: Array[Transform],
      properties: java.util.Map[String, String]): StagedTable = existing(name) match {
    case Some(table: IndexTable) if table.state.exists && stays(table, properties) =>
      val after = TableState.fresh(CatalogV2Util.v2ColumnsToStructType(columns), partitions)
      new Replacement(names, name, table, after, properties)
    case Some(table: UnreadableTable) => table.report()
    case before =>
      before.foreach(_ => names.dropTable(name))
      new NewName(create(name, columns, partitions, properties, None), () => names.dropTable(name))
  }

  override def stageReplace(name: Identifier, info: TableInfo): StagedTable = {
    Constraints.refuseIn(info)
    super.stageReplace(name, info)
  }
  override def stageCreateOrReplace(name: Identifier, info: TableInfo): StagedTable = {
    Constraints.refuseIn(info)
    super.stageCreateOrReplace(name, info)
  }

  private def existing(name: Identifier): Option[Table] =
    if (names.tableExists(name)) Some(names.loadTable(name)) else None

  /** Whether the statement names the table's own location, or none. */
  private def stays(table: IndexTable, properties: java.util.Map[String, String]): Boolean = {
    def place(text: String): (String, String, String) = {
      val uri: URI = new Path(text).toUri
      (Option(uri.getScheme).getOrElse("file"), Option(uri.getAuthority).getOrElse(""), uri.getPath)
    }
    Option(properties.get(TableCatalog.PROP_LOCATION)).forall(place(_) == place(table.location))
  }
}

/** The next version of a table in a catalog. Its rows are committed first, then the catalog's copy is updated. */
private class Replacement(names: TableCatalog, name: Identifier, before: IndexTable, after: TableState,
    properties: java.util.Map[String, String]) extends StagedIndexTable(after, Replacement.given(before, properties)) {
  override def commitStagedChanges(): Unit = {
    super.commitStagedChanges()
    val fresh = Replacement.own(properties)
    val gone = Replacement.own(before.given).keySet -- fresh.keySet
    val changes = gone.map(TableChange.removeProperty) ++ fresh.map { case (k, v) => TableChange.setProperty(k, v) }
    if (changes.nonEmpty) names.alterTable(name, changes.toSeq: _*)
    // the log defines the columns: not every catalog allows replacing them
    Try(names.alterTable(name, newColumns: _*))
  }

  private def newColumns: Seq[TableChange] =
    before.schema.fieldNames.toSeq.map(c => TableChange.deleteColumn(Array(c), true)) ++
      after.schema.fields.map(f => TableChange.addColumn(Array(f.name), f.dataType, f.nullable, f.getComment().orNull))
}

private object Replacement {
  private val reserved = CatalogV2Util.TABLE_RESERVED_PROPERTIES.toSet + "path"

  def own(properties: java.util.Map[String, String]): Map[String, String] = properties.asScala.toMap.filterNot {
    case (key, _) => reserved(key) || key.startsWith(TableCatalog.OPTION_PREFIX)
  }
  def given(before: IndexTable, properties: java.util.Map[String, String]): java.util.Map[String, String] =
    (properties.asScala.toMap - TableCatalog.PROP_LOCATION ++
      Map("path" -> before.location, TableCatalog.PROP_PROVIDER -> Names.Format)).asJava
}

/** A table that was registered before its rows are written. */
private class NewName(table: IndexTable, undo: () => Unit)
  extends IndexTable(table.state, table.given, writable = true) with StagedTable {
  override def commitStagedChanges(): Unit = ()
  override def abortStagedChanges(): Unit = undo()
  // both parents have a default for this
  override def reportDriverMetrics(): Array[CustomTaskMetric] = Array.empty
}
