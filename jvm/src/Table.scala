package org.apache.spark.sql.indextables

import java.util.EnumSet

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.TableCapability._
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Python's description of an open table. */
case class TableState(exists: Boolean, schema: StructType, partitionColumns: Seq[String], json: ObjectNode,
    checks: Map[String, String] = Map.empty) {
  def partitioning: Array[Transform] = partitionColumns.map(c => Names.identity(c)).toArray

  /** This table; fails if it does not exist. */
  def existing: TableState =
    if (exists) this else { Rpc.call("require", json); this }

  /** A table that does not exist yet, as it will be after the first write. */
  def orElse(schema: StructType, partitioning: Array[Transform]): TableState =
    if (exists) this else copy(schema = schema, partitionColumns = Partitions.columns(partitioning))

  /** Schema and partitioning, as Python reads them. */
  def describe(request: ObjectNode): ObjectNode = {
    Option(json.get("mode")).foreach(mode => request.put("mode", mode.asText))
    request.set[ObjectNode]("table_schema", Encoder.typeOf(schema))
    val columns = request.putArray("partition_by")
    partitionColumns.foreach(c => columns.add(c))
    request
  }
}

object TableState {
  def fresh(schema: StructType, partitioning: Array[Transform]): TableState =
    TableState(exists = false, schema, Partitions.columns(partitioning), Rpc.json())

  def load(properties: java.util.Map[String, String]): TableState = {
    val request = Rpc.table(properties)
    of(Rpc.call("load", request).json, request)
  }

  def of(reply: ObjectNode, request: ObjectNode): TableState = {
    val exists = reply.get("exists").asBoolean
    val schema = if (exists) schemaOf(reply) else new StructType()
    val columns = reply.path("partition_by").elements().asScala.map(_.asText).toSeq
    TableState(exists, schema, columns, request, checksOf(reply))
  }

  /** CHECK constraints: name to SQL. */
  def checksOf(reply: ObjectNode): Map[String, String] =
    reply.path("checks").properties().asScala.map(e => e.getKey -> e.getValue.asText).toMap

  def schemaOf(node: ObjectNode): StructType =
    DataType.fromJson(node.get("schema").toString).asInstanceOf[StructType]
}

object IndexTable {
  /** The members that `_metadata` also has in Spark's file sources. */
  private val File = StructType(Seq(StructField("file_path", StringType, nullable = false),
    StructField("file_name", StringType, nullable = false), StructField("file_size", LongType, nullable = false),
    StructField("row_index", LongType, nullable = false)))

  def apply(state: TableState, given: java.util.Map[String, String], writable: Boolean): IndexTable =
    if (state.checks.nonEmpty && Compat.hasConstraints) Constraints.table(state, given, writable)
    else new IndexTable(state, given, writable)
}

/** A table of a catalog that cannot be opened: it can be dropped, and any other statement reports why. */
class UnreadableTable(failure: IndexTablesException, given: java.util.Map[String, String]) extends Table {
  def report(): Nothing = throw failure
  override def name(): String = Names.Format
  override def columns(): Array[Column] = report()
  override def schema(): StructType = report()
  override def properties(): java.util.Map[String, String] = given
  override def capabilities(): java.util.Set[TableCapability] = java.util.Set.of()
}

class IndexTable(val state: TableState, val given: java.util.Map[String, String], writable: Boolean,
    evolving: Boolean = false)
  extends Table with SupportsRead with SupportsWrite with SupportsMetadataColumns
  with SupportsDeleteV2 with SupportsRowLevelOperations with Partitions {

  val location: String = Seq("path", "location").map(given.get).find(_ != null).getOrElse("")

  /** Properties for DESCRIBE EXTENDED and SHOW CREATE TABLE: a table outside the warehouse is external. */
  override lazy val properties: java.util.Map[String, String] = {
    val warehouse = SQLConf.get.warehousePath
    val managed = location.stripPrefix("file:").startsWith(warehouse.stripPrefix("file:").stripSuffix("/") + "/")
    val kind = if (managed) TableCatalog.PROP_IS_MANAGED_LOCATION else TableCatalog.PROP_EXTERNAL
    val place = if (location.isEmpty) Nil else Seq(TableCatalog.PROP_LOCATION -> location, kind -> "true")
    (given.asScala.toMap - "path" ++ place).asJava
  }
  override def name(): String = s"${Names.Format}.`$location`"
  override def schema(): StructType = state.schema
  override def partitioning(): Array[Transform] = state.partitioning

  override def capabilities(): java.util.Set[TableCapability] =
    if (writable) {
      val all = EnumSet.of(BATCH_READ, MICRO_BATCH_READ, BATCH_WRITE, STREAMING_WRITE, TRUNCATE,
        OVERWRITE_BY_FILTER, OVERWRITE_DYNAMIC)
      if (evolving) Compat.evolution.foreach(all.add)
      all
    } else EnumSet.of(BATCH_READ, MICRO_BATCH_READ, V1_BATCH_WRITE)

  override def metadataColumns(): Array[MetadataColumn] = Array(
    Hidden("_split", StringType, "path of the split the row is in", isNullable = false),
    Hidden("_doc", LongType, "number of the row in its split", isNullable = false),
    Hidden("_score", FloatType, "relevance of the row for the search"),
    Hidden("_snippet", StringType, "the part of the text that matches"),
    Hidden("_metadata", IndexTable.File, "the split the row is in, as file sources describe files", isNullable = false))

  private case class Hidden(name: String, dataType: DataType, override val comment: String,
    override val isNullable: Boolean = true) extends MetadataColumn

  /** The common part of every call about this table. */
  def request(options: CaseInsensitiveStringMap = CaseInsensitiveStringMap.empty()): ObjectNode = {
    val node = Rpc.table(given).set[ObjectNode]("options", Rpc.options(options.asCaseSensitiveMap()))
    if (state.exists) node else state.describe(node)
  }

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    if (state.exists) new IndexScanBuilder(this, request(options)) else () => new EmptyScan(state.schema)

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = {
    requireChecked()
    new IndexWriteBuilder(this, info)
  }

  /** A version of Spark that does not check constraints must not write to a table that has some. */
  private def requireChecked(): Unit = if (state.checks.nonEmpty && !Compat.hasConstraints)
    Rpc.refuse("CONSTRAINT_UNCHECKED", "path" -> location, "names" -> state.checks.keys.mkString(", "))

  override def canDeleteWhere(predicates: Array[Predicate]): Boolean =
    !state.exists || Rpc.call("can_delete", deletion(predicates)).json.get("ok").asBoolean
  override def deleteWhere(predicates: Array[Predicate]): Unit =
    if (state.exists) Rpc.call("delete", deletion(predicates))

  private def deletion(predicates: Array[Predicate]): ObjectNode =
    request().set[ObjectNode]("predicates", Encoder.all(predicates))

  override def newRowLevelOperationBuilder(info: RowLevelOperationInfo): RowLevelOperationBuilder = {
    requireChecked()
    () => new RowDelta(this, info)
  }
}
