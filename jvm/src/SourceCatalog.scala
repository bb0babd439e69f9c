package org.apache.spark.sql.indextables

import java.util.concurrent.{ConcurrentHashMap, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.analysis.NoSuchTableException
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Companions by the names of their source tables: `<this catalog>.<source catalog>.<namespace>.<table>`. The
 * properties of the source table say where its companion is; Python reads them.
 */
class SourceCatalog extends TableCatalog with SupportsNamespaces {
  private var given: String = _
  private val places = new ConcurrentHashMap[Identifier, (String, Long)]()

  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = given = name
  override def name(): String = given

  override def loadTable(table: Identifier): Table = load(table)
  override def loadTable(table: Identifier, version: String): Table = load(table, "versionAsOf" -> version)

  private def load(table: Identifier, more: (String, String)*): Table = {
    val remembered = Option(places.get(table)).collect { case (path, until) if System.nanoTime() < until => path }
    try open(remembered.getOrElse(look(table)), more)
    catch {
      case NonFatal(failure) if remembered.isDefined =>
        // the source may have been recreated with another companion
        val now = look(table)
        if (remembered.contains(now)) throw failure else open(now, more)
    }
  }

  private def open(path: String, more: Seq[(String, String)]): Table = {
    val properties = (Map("path" -> path, TableCatalog.PROP_PROVIDER -> Names.Format) ++ more).asJava
    IndexTable(TableState.load(properties).existing, properties, writable = false)
  }

  /** The companion's location by the properties of the source table; cached for a while. */
  private def look(table: Identifier): String = {
    val request = Rpc.json().put("name", table.toString)
    request.putObject("source").set[ObjectNode]("properties", Rpc.options(Source.properties(source(table)).asJava))
    val reply = Rpc.call("companion_path", request).json
    val kept = TimeUnit.MINUTES.toNanos(reply.get("minutes").asLong)
    places.put(table, (reply.get("path").asText, System.nanoTime() + kept))
    reply.get("path").asText
  }

  private def source(table: Identifier): Table = table.namespace() match {
    case Array(catalog, namespace @ _*) if namespace.nonEmpty =>
      Compat.catalog(catalog).loadTable(Identifier.of(namespace.toArray, table.name))
    case _ => throw new NoSuchTableException(table)
  }

  override def listTables(namespace: Array[String]): Array[Identifier] = Array.empty
  override def dropTable(table: Identifier): Boolean = false
  override def createTable(table: Identifier, schema: StructType, partitions: Array[Transform],
      properties: java.util.Map[String, String]): Table = refuse("CREATE TABLE")
  override def alterTable(table: Identifier, changes: TableChange*): Table = refuse("ALTER TABLE")
  override def renameTable(from: Identifier, to: Identifier): Unit = refuse("RENAME TABLE")

  override def listNamespaces(): Array[Array[String]] = Array.empty
  override def listNamespaces(namespace: Array[String]): Array[Array[String]] = Array.empty
  override def namespaceExists(namespace: Array[String]): Boolean = true
  override def loadNamespaceMetadata(namespace: Array[String]): java.util.Map[String, String] = java.util.Map.of()
  override def createNamespace(namespace: Array[String], metadata: java.util.Map[String, String]): Unit =
    refuse("CREATE NAMESPACE")
  override def alterNamespace(namespace: Array[String], changes: NamespaceChange*): Unit = refuse("ALTER NAMESPACE")
  override def dropNamespace(namespace: Array[String], cascade: Boolean): Boolean = refuse("DROP NAMESPACE")

  private def refuse(change: String): Nothing =
    Rpc.refuse("CATALOG_READ_ONLY", "change" -> change, "catalog" -> given)
}
