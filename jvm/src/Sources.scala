package org.apache.spark.sql.indextables

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.{Table, TableCatalog, V1Table}
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}

/**
 * A Delta, Iceberg or Parquet table in a plan. `seen` adds what the query sees of it to a request: a version, or the
 * files that Spark has listed.
 */
case class Source(format: String, location: String, properties: Map[String, String], options: Map[String, String],
    output: Seq[AttributeReference], seen: ObjectNode => Unit) {
  def name: String = s"$format.`$location`"

  def request(pinned: Boolean): ObjectNode = {
    val request = Rpc.json().set[ObjectNode]("options", Rpc.options(options.asJava))
    val node = request.putObject("source").put("format", format).put("location", location)
    node.set[ObjectNode]("properties", Rpc.options(properties.asJava))
    if (pinned) seen(node)
    request
  }
}

object Source {
  def of(plan: LogicalPlan): Option[Source] = plan match {
    case l: LogicalRelation if !l.isStreaming => l.relation match {
      case files: HadoopFsRelation =>
        val properties = l.catalogTable.fold(Map.empty[String, String])(_.properties)
        Delta.of(l, files, properties).orElse(parquet(l, files, properties))
      case _ => None
    }
    case r: DataSourceV2Relation => r.table match {
      case table: FileTable if table.formatName == "Parquet" =>
        ofFiles(table.fileIndex, table.properties.asScala.toMap, r.options.asScala.toMap, r.output)
      case table if table.getClass.getName == Iceberg.Table => Iceberg.of(r)
      case _ => None
    }
    case _ => None
  }

  /** The properties of a table, whatever catalog it is from. */
  def properties(table: Table): Map[String, String] = table match {
    case v1: V1Table => v1.v1Table.properties ++ v1.properties.asScala
    case other => other.properties.asScala.toMap
  }

  private def parquet(l: LogicalRelation, files: HadoopFsRelation, properties: Map[String, String]): Option[Source] =
    if (files.fileFormat.getClass != classOf[ParquetFileFormat]) None
    else ofFiles(files.location, properties, files.options, l.output)

  private def ofFiles(index: FileIndex, properties: Map[String, String], options: Map[String, String],
      output: Seq[AttributeReference]): Option[Source] = index.rootPaths match {
    case Seq(root) => Some(Source("parquet", root.toString, properties, ours(options), output, node => {
      val files = node.putArray("files")
      for (folder <- index.listFiles(Nil, Nil); file <- folder.files)
        files.addArray().add(file.getPath.toString).add(file.getLen).add(file.getModificationTime)
    }))
    case _ => None
  }

  def ours(options: Map[String, String]): Map[String, String] =
    options.filter { case (key, _) => key.toLowerCase(java.util.Locale.ROOT).startsWith(Names.Keys) }
}

/** Delta tables, accessed by reflection: Delta is not on the class path when this is compiled. */
object Delta {
  private val Indexes = Set("org.apache.spark.sql.delta.files.TahoeLogFileIndex",
    "org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex")

  def of(l: LogicalRelation, files: HadoopFsRelation, properties: Map[String, String]): Option[Source] =
    if (!Indexes(files.location.getClass.getName)) None
    else {
      val index: AnyRef = files.location
      val metadata = Member(index, "metadata")
      val given = Member(metadata, "configuration").asInstanceOf[Map[String, String]]
      Some(Source("delta", Member(index, "path").toString, properties ++ given, Source.ours(files.options), l.output,
        // a scan that Delta has prepared has chosen its version already
        node => node.put("version", Member(Try(Member(index, "preparedScan")).getOrElse(Member(index, "getSnapshot")),
          "version").toString)))
    }
}

/** Iceberg tables, described by their properties. */
object Iceberg {
  val Table = "org.apache.iceberg.spark.source.SparkTable"
  /** Read options that select other rows than those of the table's snapshot. */
  private val Choosing = Set("branch", "tag", "snapshot-id", "as-of-timestamp", "start-snapshot-id", "end-snapshot-id",
    "start-timestamp", "end-timestamp", "scan-task-set-id")

  def of(r: DataSourceV2Relation): Option[Source] = {
    val properties = r.table.properties.asScala.toMap
    val options = r.options.asScala.toMap
    val travel = Option(Try(Member(r.table, "snapshotId")).getOrElse(null))
    val snapshot = travel.map(_.toString).orElse(properties.get("current-snapshot-id"))
    val branch = Option(Try(Member(r.table, "branch")).getOrElse(null))
    for (location <- properties.get(TableCatalog.PROP_LOCATION); id <- snapshot
        if branch.isEmpty && !options.keys.exists(k => Choosing(k.toLowerCase(java.util.Locale.ROOT))))
      yield Source("iceberg", location, properties, Source.ours(options), r.output,
        node => node.put("version", if (id == "none") "-1" else id))
  }
}

/** Calls a method of an object by reflection. */
object Member {
  def apply(of: AnyRef, name: String): AnyRef = {
    val method = of.getClass.getMethods.find(m => m.getName == name && m.getParameterCount == 0)
      .getOrElse(throw new NoSuchMethodException(s"${of.getClass.getName}.$name"))
    method.setAccessible(true)
    method.invoke(of)
  }
}
