package org.apache.spark.sql.indextables

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.expressions.{Alias, Literal}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{Dataset, SparkSession => ClassicSession}
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Schema evolution: for MERGE and INSERT WITH SCHEMA EVOLUTION, Spark compares the target with the source and asks the
 * target's catalog to change it, so targets get a catalog that changes the table's own log. For writes with the option
 * `mergeSchema`, the schemas are compared here.
 */
case class EvolveTargets(session: SparkSession) extends Rule[LogicalPlan] with LookupCatalog {
  override protected lazy val catalogManager = session.asInstanceOf[ClassicSession].sessionState.catalogManager

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case merge: MergeIntoTable if merge.withSchemaEvolution =>
      named(merge.targetTable).fold[LogicalPlan](merge)(t => merge.withNewChildren(Seq(t, merge.sourceTable)))
    case insert: InsertIntoStatement if Compat.evolves(insert) =>
      found(insert.table).fold[LogicalPlan](insert)(t => Compat.replaceArgument(insert, insert.table, evolving(t)))
    case write: V2WriteCommand if Compat.evolves(write) =>
      found(write.table).fold[LogicalPlan](write)(t => Compat.replaceArgument(write, write.table, evolving(t)))
    case write: V2WriteCommand if EvolveTargets.merges(write) =>
      found(write.table).filter(_.table.state.exists).fold[LogicalPlan](write)(merged(write, _))
  }

  /** A target with its aliases. */
  private def named(plan: LogicalPlan): Option[LogicalPlan] = plan match {
    case alias: SubqueryAlias => named(alias.child).map(child => alias.withNewChildren(Seq(child)))
    case name: UnresolvedRelation => found(name).map(t => SubqueryAlias(name.multipartIdentifier, evolving(t)))
    case other => found(other).map(evolving)
  }

  private def found(plan: LogicalPlan): Option[Target] = plan match {
    case name: UnresolvedRelation => name.multipartIdentifier match {
      case CatalogAndIdentifier(catalog: TableCatalog, id) =>
        Try(catalog.loadTable(id)).toOption.collect { case t: IndexTable =>
          // Spark adds write privileges to the options
          Target(t, Some(catalog), Some(id), name.clearWritePrivileges.options)
        }
      case _ => None
    }
    case r: DataSourceV2Relation if !r.catalog.exists(_.isInstanceOf[EvolvingCatalog]) => r.table match {
      case t: IndexTable => Some(Target(t, r.catalog, r.identifier, r.options))
      case _ => None
    }
    case _ => None
  }

  private def evolving(target: Target): LogicalPlan = {
    if (Compat.evolution.isEmpty) throw new IndexTablesException(
      "[SPARK_TOO_OLD] WITH SCHEMA EVOLUTION needs Spark 4.1 or newer; hint: update Spark, or add the columns first")
    val catalog = target.catalog.collect { case c: TableCatalog => new EvolvingCatalog(c) }
    Compat.relation(Compat.evolving(target.table), target.options, catalog, target.name)
  }

  private def merged(write: V2WriteCommand, target: Target): LogicalPlan = {
    val options = new CaseInsensitiveStringMap(EvolveTargets.options(write).asJava)
    val data = if (write.query.resolved) write.query
      else Dataset.ofRows(session.asInstanceOf[ClassicSession], write.query).queryExecution.analyzed
    val renamed = data.schema.zipAll(target.table.schema, null, null).collect {
      case (field, known) if field != null => if (write.isByName || known == null) field else field.copy(name = known.name)
    }
    val state = Evolving.evolve(target.table, StructType(renamed), options)
    val table = IndexTable(state, target.table.given, writable = true)
    val given = data.schema.fieldNames.map(_.toLowerCase).toSet
    // Spark fills in columns that have a default
    val missing = state.schema.filter { f =>
      write.isByName && !given(f.name.toLowerCase) && f.getCurrentDefaultValue().isEmpty
    }
    // do not touch a write that fits: Spark applies the rule until nothing changes
    if (missing.isEmpty && write.query.resolved && write.table.resolved && state.schema == target.table.schema) return write
    val nulls = missing.map(f => Alias(Literal(null, f.dataType), f.name)())
    val query = if (nulls.isEmpty) data else Project(data.output ++ nulls, data)
    val complete = Compat.replaceArgument(write, write.query, query)
    Compat.replaceArgument(complete, write.table, Compat.relation(table, target.options, target.catalog, target.name))
  }

  private case class Target(table: IndexTable, catalog: Option[CatalogPlugin], name: Option[Identifier],
    options: CaseInsensitiveStringMap)
}

object EvolveTargets {
  private val Key = "mergeschema"

  def options(write: LogicalPlan): Map[String, String] = write match {
    case a: AppendData => a.writeOptions
    case o: OverwriteByExpression => o.writeOptions
    case o: OverwritePartitionsDynamic => o.writeOptions
    case _ => Map.empty
  }

  /** Whether `mergeSchema` may be set; Python decides. */
  def merges(write: LogicalPlan): Boolean = options(write).keys.exists(_.toLowerCase.endsWith(Key)) ||
    SQLConf.get.getAllConfs.keys.exists(k => k.startsWith(Names.Keys) && k.toLowerCase.endsWith(Key))
}

object Evolving {
  /** The table after evolving to the schema of the data, if the options say so. */
  def evolve(table: IndexTable, data: StructType, options: CaseInsensitiveStringMap): TableState =
    TableState.of(Rpc.call("evolve", request(table, data, options)).json, table.state.json)

  private def request(table: IndexTable, data: StructType, options: CaseInsensitiveStringMap): ObjectNode =
    table.request(options).set[ObjectNode]("data_schema", Encoder.typeOf(data))

  private val always = new CaseInsensitiveStringMap(java.util.Map.of("mergeSchema", "true"))

  /** Make Spark's changes, except those that would lose values. */
  def change(table: IndexTable, changes: Seq[TableChange]): Unit = evolve(table, changed(table, changes), always)

  def canChange(table: IndexTable, change: TableChange): Boolean =
    Try(changed(table, Seq(change))).toOption.exists { schema =>
      Rpc.call("can_evolve", request(table, schema, always)).json.get("ok").asBoolean
    }

  private def changed(table: IndexTable, changes: Seq[TableChange]): StructType =
    CatalogV2Util.applySchemaChanges(table.schema, changes, Some(Names.Format), "MERGE")
}

/** The catalog of a target whose schema may evolve. */
class EvolvingCatalog(catalog: TableCatalog) extends TableCatalog {
  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = ()
  override def name(): String = catalog.name
  override def loadTable(id: Identifier): Table = catalog.loadTable(id) match {
    case table: IndexTable => Compat.evolving(table)
    case other => other
  }
  override def alterTable(id: Identifier, changes: TableChange*): Table = catalog.loadTable(id) match {
    case table: IndexTable =>
      Evolving.change(table, changes)
      loadTable(id)
    case _ => catalog.alterTable(id, changes: _*)
  }
  override def listTables(namespace: Array[String]): Array[Identifier] = catalog.listTables(namespace)
  override def dropTable(id: Identifier): Boolean = catalog.dropTable(id)
  override def renameTable(from: Identifier, to: Identifier): Unit = catalog.renameTable(from, to)
}

/** Separate from `Compat`, so that older versions of Spark do not load the class and its interface with it. */
object AskedTable {
  def of(table: IndexTable): IndexTable = new AskedTable(table.state, table.given)
}

/** A target that Spark asks which changes it supports; the interface was added after Spark 4.2. */
class AskedTable(state: TableState, given: java.util.Map[String, String])
  extends CheckedTable(state, given, writable = true, evolving = true) with SupportsSchemaEvolution {
  override def supportsColumnChange(change: TableChange.ColumnChange): Boolean = Evolving.canChange(this, change)
}
