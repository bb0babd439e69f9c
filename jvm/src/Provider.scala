package org.apache.spark.sql.indextables

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, SaveMode, SQLContext}
import org.apache.spark.sql.catalyst.plans.logical.{InsertIntoStatement, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.{Table, TableCatalog, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.streaming.Sink
import org.apache.spark.sql.sources._
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The format behind `spark.read.format`, `df.write.format` and `CREATE TABLE ... USING`. */
class Provider extends TableProvider with DataSourceRegister with CreatableRelationProvider
  with RelationProvider with SchemaRelationProvider with StreamSinkProvider {
  private var known: Option[TableState] = None

  override def shortName(): String = Names.Format
  // messages of Spark name the format so
  override def toString: String = Names.Format
  override def supportsExternalMetadata(): Boolean = true

  private def state(properties: java.util.Map[String, String]): TableState = {
    if (known.isEmpty) known = Some(TableState.load(properties))
    known.get
  }

  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    state(options.asCaseSensitiveMap()).existing.schema

  override def inferPartitioning(options: CaseInsensitiveStringMap): Array[Transform] =
    state(options.asCaseSensitiveMap()).partitioning

  override def getTable(schema: StructType, partitioning: Array[Transform],
      properties: java.util.Map[String, String]): Table = {
    // A catalog passes table properties, DataFrameWriter.save() plain options. Only the former may write
    // through V2, because save() supports only `append` and `overwrite` there.
    val fromCatalog = Seq(TableCatalog.PROP_PROVIDER, TableCatalog.PROP_OWNER).exists(properties.containsKey)
    try table(schema, partitioning, properties, fromCatalog)
    catch { case e: IndexTablesException if fromCatalog => new UnreadableTable(e, properties) }
  }

  private def table(asked: StructType, partitioning: Array[Transform], properties: java.util.Map[String, String],
      fromCatalog: Boolean): Table = {
    val found = state(properties)
    // a save passes the schema of its rows; only a read of other columns is wrong
    if (fromCatalog || !found.exists || same(asked, found.schema))
      IndexTable(found.orElse(asked, partitioning), properties, writable = fromCatalog)
    else new IndexTable(found, properties, writable = false) {
      override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
        Rpc.refuse("SCHEMA_GIVEN", "given" -> asked.toDDL, "existing" -> found.schema.toDDL)
    }
  }

  private def same(one: StructType, other: StructType): Boolean =
    one.length == other.length && one.zip(other).forall { case (a, b) =>
      a.name == b.name && a.dataType.asNullable == b.dataType.asNullable
    }

  /** `df.write.format("indextables").mode(...).save()`, in all four modes. */
  override def createRelation(context: SQLContext, mode: SaveMode, options: Map[String, String],
      data: DataFrame): BaseRelation = {
    Saving.save(mode, options, data)
    new BaseRelation { val sqlContext = context; val schema = data.schema }
  }

  /** `writeStream.start(path)`: V2 passes neither `partitionBy` nor schema changes. */
  override def createSink(context: SQLContext, options: Map[String, String], partitionColumns: Seq[String],
      mode: OutputMode): Sink = new IndexSink(context, options, partitionColumns, mode)

  // The session catalog of another product takes this for a V1 source: it gets a marker, which `UseV2`
  // replaces by the table.
  override def createRelation(context: SQLContext, options: Map[String, String]): BaseRelation =
    new Marker(context, inferSchema(new CaseInsensitiveStringMap(options.asJava)), options)
  override def createRelation(context: SQLContext, options: Map[String, String], schema: StructType): BaseRelation =
    new Marker(context, schema, options)
}

class Marker(val sqlContext: SQLContext, val schema: StructType, val options: Map[String, String])
  extends BaseRelation with InsertableRelation {
  override def insert(data: DataFrame, overwrite: Boolean): Unit =
    Saving.save(if (overwrite) SaveMode.Overwrite else SaveMode.Append, options, data)
}

/** Markers become V2 relations that keep the attributes the plan already uses. */
object UseV2 extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case IsMarked(relation) => relation
    case insert: InsertIntoStatement => insert.table match {
      case IsMarked(relation) => Compat.replaceArgument(insert, insert.table, relation)
      case _ => insert
    }
  }

  private object IsMarked {
    def unapply(plan: LogicalPlan): Option[LogicalPlan] = plan match {
      case l: LogicalRelation => l.relation match {
        case marker: Marker =>
          val properties = (marker.options + (TableCatalog.PROP_PROVIDER -> Names.Format)).asJava
          val table = new Provider().getTable(marker.schema, Array.empty, properties)
          val relation = Compat.relation(table, new CaseInsensitiveStringMap(properties))
          val output = relation.output.map(a => l.output.find(_.name == a.name).getOrElse(a))
          Some(Compat.replaceArgument(relation, relation.output, output))
        case _ => None
      }
      case _ => None
    }
  }
}
