package org.apache.spark.sql.indextables

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.analysis.{ResolvedIdentifier, ResolvedTable}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.command.{CreateTableLikeCommand, ExecutedCommandExec, LeafRunnableCommand}
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/**
 * CREATE, REPLACE and ALTER TABLE of a name in another catalog: that catalog stores the name, and the table's own log
 * defines the table. So the catalog is wrapped in one that writes both.
 */
object ChangeByName extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case c: CreateTable if isOurs(c.tableSpec.provider) => named(c, rows = false, replaces = false)
    case c: CreateTableAsSelect if isOurs(c.tableSpec.provider) => named(c, rows = true, replaces = false)
    case r: ReplaceTable if isOurs(r.tableSpec.provider) => named(r, rows = false, replaces = true)
    case r: ReplaceTableAsSelect if isOurs(r.tableSpec.provider) =>
      // Spark would ignore the option and replace all rows
      r.writeOptions.keys.find(_.equalsIgnoreCase("replaceWhere")).foreach(_ => Rpc.refuse("REPLACE_WHERE_IN_REPLACE"))
      named(r, rows = true, replaces = true)
    case a: AlterTableCommand => a.mapChildren {
      case r: ResolvedTable if r.table.isInstanceOf[IndexTable] && !isWrapped(r.catalog) =>
        Compat.replaceArgument(r, r.catalog, new NamedTables(r.catalog))
      case other => other
    }
    // matched by name: these classes were added after Spark 4.0
    case like if like.nodeName == "CreateTableLike" && LikeTable.isOurs(like) => named(like, rows = false, replaces = false)
    case check if check.nodeName == "AddCheckConstraint" => check.mapChildren(_.transform {
      case r: DataSourceV2Relation if r.table.isInstanceOf[IndexTable] =>
        val wrapped = r.catalog.collect {
          case catalog: TableCatalog if !isWrapped(catalog) => new NamedTables(catalog)
        }
        if (wrapped.isEmpty) r else Compat.replaceArgument(r, r.catalog, wrapped)
    })
  }

  private def isWrapped(catalog: TableCatalog): Boolean =
    catalog.isInstanceOf[PathCatalog] || catalog.isInstanceOf[NamedTables]

  private def named(plan: LogicalPlan, rows: Boolean, replaces: Boolean): LogicalPlan = plan.mapChildren {
    case r: ResolvedIdentifier => r.catalog match {
      case catalog: TableCatalog if !isWrapped(catalog) => Compat.replaceArgument(r, catalog,
        if (replaces) new ReplacedTables(catalog, rows) else new NamedTables(catalog, rows))
      case _ => r
    }
    case other => other
  }

  def isOurs(provider: Option[String]): Boolean =
    DataSource.lookupDataSourceV2(provider.getOrElse(SQLConf.get.defaultDataSourceName), SQLConf.get)
      .exists(_.isInstanceOf[Provider])
}

/** Registers tables in another catalog. With `rows` a write follows; `replaces` allows a table at the location. */
class NamedTables(names: TableCatalog, rows: Boolean = false, replaces: Boolean = false) extends DelegatingCatalogExtension {
  setDelegateCatalog(names)

  override def createTable(name: Identifier, schema: StructType, partitions: Array[Transform],
      properties: java.util.Map[String, String]): Table =
    createTable(name, CatalogV2Util.structTypeToV2Columns(schema), partitions, properties)

  override def createTable(name: Identifier, columns: Array[Column], partitions: Array[Transform],
      properties: java.util.Map[String, String]): Table =
    create(name, columns, partitions, properties, None)

  override def createTable(name: Identifier, info: TableInfo): Table =
    create(name, info.columns, info.partitions, info.properties, None, Constraints.encode(info.constraints))

  override def capabilities(): java.util.Set[TableCatalogCapability] = Compat.capabilities

  /** Create an empty table, with the properties of `like` if it is given. */
  def create(name: Identifier, columns: Array[Column], partitions: Array[Transform],
      properties: java.util.Map[String, String], like: Option[Table],
      constraints: ArrayNode = Rpc.mapper.createArrayNode()): IndexTable = {
    val state = TableState.fresh(CatalogV2Util.v2ColumnsToStructType(columns), partitions)
    val all = (properties.asScala.toMap + (TableCatalog.PROP_PROVIDER -> Names.Format)).asJava
    if (rows || replaces) Rpc.call("prepare_location", definition(all, state).put("replaces", replaces))
    names.createTable(name, columns.map(withoutDefault), partitions, all)
    try {
      val made = given(name)
      val request = definition(made, state).set[ObjectNode]("constraints", constraints)
      like.collect { case table: IndexTable => request.set[ObjectNode]("like", Rpc.options(table.given)) }
      if (!rows) Rpc.call("adopt", request)
      val created = TableState.load(made)
      IndexTable(if (created.exists) created else state, made, writable = true)
    } catch { case NonFatal(e) => names.dropTable(name); throw e }
  }

  /** Spark's catalog allows default values for few formats only; the log has them. */
  private def withoutDefault(c: Column): Column =
    if (c.defaultValue == null) c else Column.create(c.name, c.dataType, c.nullable, c.comment, c.metadataInJSON)

  override def createTableLike(name: Identifier, info: TableInfo, source: Table): Table =
    create(name, info.columns, info.partitions, info.properties, Some(source))

  override def alterTable(name: Identifier, changes: TableChange*): Table = {
    names.loadTable(name) match {
      case table: IndexTable if table.state.exists => Altering.alter(table, names, name, changes)
      case _ => names.alterTable(name, changes: _*)
    }
    names.loadTable(name)
  }

  /** The properties of a table in the catalog, with its location. */
  private def given(name: Identifier): java.util.Map[String, String] = names.loadTable(name) match {
    case table: IndexTable => table.given
    case V1Table(table) => (table.properties + ("path" -> table.location.toString)).asJava
    case other => other.properties
  }

  private def definition(given: java.util.Map[String, String], state: TableState): ObjectNode =
    state.describe(Rpc.table(given))
}

/** CREATE TABLE ... LIKE as a plan, after Spark 4.0. */
object LikeTable {
  def isOurs(plan: LogicalPlan): Boolean = plan match {
    case like: CreateTableLike => like.provider.map(p => ChangeByName.isOurs(Some(p))).getOrElse(like.source match {
      case ResolvedTable(_, _, _: IndexTable, _) => true
      case _ => false
    })
    case _ => false
  }
}

/** CREATE TABLE ... LIKE as a command, if the new table is ours: Spark's own command would only register the name. */
object CreateLike extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case like: CreateTableLikeCommand if like.fileFormat.inputFormat.isEmpty =>
      val catalog = Compat.catalog("spark_catalog")
      val source = scala.util.Try(catalog.loadTable(identifier(like.sourceTable))).toOption
      val ours = like.provider.fold(source.exists(_.isInstanceOf[IndexTable]))(p => ChangeByName.isOurs(Some(p)))
      if (ours && source.isDefined) Seq(ExecutedCommandExec(LikeCommand(catalog, source.get, like))) else Nil
    case _ => Nil
  }

  def identifier(table: TableIdentifier): Identifier =
    Identifier.of(Array(table.database.getOrElse(SparkSession.active.catalog.currentDatabase)), table.table)
}

case class LikeCommand(@transient catalog: TableCatalog, @transient source: Table,
    @transient like: CreateTableLikeCommand) extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    val name = CreateLike.identifier(like.targetTable)
    val place = like.fileFormat.locationUri.map(TableCatalog.PROP_LOCATION -> _.toString)
    if (!like.ifNotExists || !catalog.tableExists(name)) {
      new NamedTables(catalog).create(name, source.columns, source.partitioning, (like.properties ++ place).asJava, Some(source))
    }
    Nil
  }
}
