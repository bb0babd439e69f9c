package org.apache.spark.sql.indextables

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.sql.catalyst.analysis.{NoSuchTableException, RelationTimeTravel, TableAlreadyExistsException, UnresolvedRelation}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Tables by path: indextables.`/path/to/table`. It stores nothing: the path is the name. */
class PathCatalog extends StagingTableCatalog {
  private var given: String = Names.Format
  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = given = name
  override def name(): String = given

  override def capabilities(): java.util.Set[TableCatalogCapability] = Compat.capabilities

  private def properties(table: Identifier, more: Map[String, String] = Map.empty): java.util.Map[String, String] = {
    if (table.namespace().nonEmpty) throw new NoSuchTableException(table)
    (Map("path" -> table.name, TableCatalog.PROP_PROVIDER -> Names.Format) ++ more).asJava
  }

  private def load(table: Identifier, more: Map[String, String] = Map.empty): Table = {
    val all = properties(table, more)
    val state = TableState.load(all)
    if (!state.exists) throw new NoSuchTableException(table)
    IndexTable(state, all, writable = true)
  }
  override def loadTable(table: Identifier): Table = load(table)
  override def loadTable(table: Identifier, version: String): Table = load(table, Map("versionAsOf" -> version))
  override def loadTable(table: Identifier, micros: Long): Table =
    load(table, Map("timestampAsOf" -> java.time.Instant.ofEpochSecond(
      Math.floorDiv(micros, 1000000L), Math.floorMod(micros, 1000000L) * 1000).toString))

  override def createTable(table: Identifier, schema: StructType, partitions: Array[Transform],
      extra: java.util.Map[String, String]): Table =
    create(table, schema, partitions, extra, Rpc.mapper.createArrayNode())
  override def createTable(table: Identifier, info: TableInfo): Table = create(table,
    CatalogV2Util.v2ColumnsToStructType(info.columns), info.partitions, info.properties, Constraints.encode(info.constraints))

  override def createTableLike(table: Identifier, info: TableInfo, source: Table): Table = create(table,
    CatalogV2Util.v2ColumnsToStructType(info.columns), info.partitions, info.properties,
    Rpc.mapper.createArrayNode(), Some(source))

  private def create(table: Identifier, schema: StructType, partitions: Array[Transform],
      extra: java.util.Map[String, String], constraints: ArrayNode, like: Option[Table] = None): Table = {
    val request = Rpc.table(properties(table, extra.asScala.toMap)).set[ObjectNode]("constraints", constraints)
    like.collect { case source: IndexTable => request.set[ObjectNode]("like", Rpc.options(source.given)) }
    Rpc.call("create", TableState.fresh(schema, partitions).describe(request))
    load(table)
  }

  override def stageCreate(table: Identifier, schema: StructType, partitions: Array[Transform],
      extra: java.util.Map[String, String]): StagedTable = {
    if (tableExists(table)) throw new TableAlreadyExistsException(table)
    staged(table, schema, partitions, extra)
  }
  override def stageReplace(table: Identifier, schema: StructType, partitions: Array[Transform],
      extra: java.util.Map[String, String]): StagedTable = {
    if (!tableExists(table)) throw new NoSuchTableException(table)
    staged(table, schema, partitions, extra)
  }
  override def stageCreateOrReplace(table: Identifier, schema: StructType, partitions: Array[Transform],
      extra: java.util.Map[String, String]): StagedTable = staged(table, schema, partitions, extra)

  override def stageReplace(table: Identifier, info: TableInfo): StagedTable = {
    Constraints.refuseIn(info)
    super.stageReplace(table, info)
  }
  override def stageCreateOrReplace(table: Identifier, info: TableInfo): StagedTable = {
    Constraints.refuseIn(info)
    super.stageCreateOrReplace(table, info)
  }

  private def staged(table: Identifier, schema: StructType, partitions: Array[Transform],
      extra: java.util.Map[String, String]): StagedTable =
    new StagedIndexTable(TableState.fresh(schema, partitions), properties(table, extra.asScala.toMap))

  override def alterTable(table: Identifier, changes: TableChange*): Table = {
    Altering.alter(Rpc.table(properties(table)), Seq(name(), table.name), changes)
    load(table)
  }

  override def dropTable(table: Identifier): Boolean =
    Rpc.call("drop", Rpc.table(properties(table))).json.get("dropped").asBoolean
  override def listTables(namespace: Array[String]): Array[Identifier] = Array.empty
  override def renameTable(from: Identifier, to: Identifier): Unit =
    throw new IndexTablesException("[UNSUPPORTED_CHANGE] a table named by its path cannot be renamed")
}

/**
 * Reports that a queried path has no table. Spark itself would say that the format does not support queries of
 * files. Paths that had a table before are not checked again.
 */
object MissingPaths extends Rule[LogicalPlan] {
  private val known = java.util.concurrent.ConcurrentHashMap.newKeySet[String]()
  private val Most = 10000

  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan.foreach {
      case past: RelationTimeTravel => apply(past.relation)
      case u: UnresolvedRelation => u.multipartIdentifier match {
        case Seq(Names.Format, path) if !known.contains(path) =>
          TableState.load(Map("path" -> path).asJava).existing
          if (known.size > Most) known.clear()
          known.add(path)
        case _ =>
      }
      case _ =>
    }
    plan
  }
}

/** A table that replaces an existing one, schema included, when its rows are committed. */
class StagedIndexTable(state: TableState, properties: java.util.Map[String, String])
  extends IndexTable(state, properties, writable = true) with StagedTable {
  private var written = false

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = {
    written = true
    new IndexWriteBuilder(this, info, replaces = true).truncate()
  }
  override def commitStagedChanges(): Unit = if (!written) Rpc.call("replace", request())
  override def abortStagedChanges(): Unit = ()
  // both parents have a default for this
  override def reportDriverMetrics(): Array[CustomTaskMetric] = Array.empty
}
