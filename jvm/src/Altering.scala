package org.apache.spark.sql.indextables

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.connector.catalog.{ColumnDefaultValue, Identifier, TableCatalog, TableChange}
import org.apache.spark.sql.connector.catalog.TableChange.{AddColumn, ColumnPosition, UpdateColumnPosition}

/** ALTER TABLE: changes the table's own log, which defines the table. Either all changes are made or none. */
object Altering {
  /** Change a table; `name` is its name in SQL. */
  def alter(request: ObjectNode, name: Seq[String], changes: Seq[TableChange]): Unit =
    alter(request, name, changes, () => ())

  /** Change a table of another catalog, then that catalog's copy of the schema and properties. */
  def alter(table: IndexTable, catalog: TableCatalog, name: Identifier, changes: Seq[TableChange]): Unit = {
    val (columns, properties) = copy(table, changes).partition(_.isInstanceOf[TableChange.ColumnChange])
    alter(table.request(), (catalog.name +: name.namespace.toSeq) :+ name.name, changes, () => {
      if (properties.nonEmpty) catalog.alterTable(name, properties: _*)
      // the log defines the columns: a copy that a write to the path has left stale must not fail the statement
      if (columns.nonEmpty) Try(catalog.alterTable(name, columns: _*))
    })
  }

  private def alter(request: ObjectNode, name: Seq[String], changes: Seq[TableChange], follow: () => Unit): Unit = {
    val altered = request.deepCopy()
    val array = altered.putArray("changes")
    changes.foreach(c => array.add(encode(c)))
    val done = Rpc.call("alter", altered).json
    val version = done.get("version").asLong
    try {
      update(name, done)
      follow()
      finish(request, name, done, version)
    } catch {
      case NonFatal(e) =>
        Rpc.call("undo_alter", request.deepCopy().put("version", version))
        throw e
    }
  }

  /** Give existing rows the values that Python returns. */
  private def update(name: Seq[String], todo: ObjectNode): Unit = {
    val fills = todo.get("fills").elements().asScala.map(_.asText).toSeq
    if (fills.nonEmpty) {
      val table = name.map(part => "`" + part.replace("`", "``") + "`").mkString(".")
      SparkSession.active.sql(s"UPDATE $table SET ${fills.mkString(", ")}")
    }
  }

  /** Make the changes that depend on the update. It is repeated as long as other writers commit in between. */
  @scala.annotation.tailrec
  private def finish(request: ObjectNode, name: Seq[String], todo: ObjectNode, after: Long): Unit =
    if (!todo.get("then").isEmpty) {
      val last = request.deepCopy().put("after", after)
      last.set[ObjectNode]("changes", todo.get("then"))
      val again = Rpc.call("finish_alter", last).json.get("again").asLong
      if (again >= 0) {
        update(name, todo)
        finish(request, name, todo, again)
      }
    }

  /** The changes as a catalog takes them: partition columns last, no default values, which it allows for few formats. */
  private def copy(table: IndexTable, changes: Seq[TableChange]): Seq[TableChange] = {
    val partitions = table.state.partitionColumns
    val last = table.schema.fieldNames.filterNot(partitions.contains).lastOption
    val end = last.map(ColumnPosition.after).getOrElse(ColumnPosition.first)
    changes.collect {
      case c: AddColumn =>
        val place = if (partitions.isEmpty || c.fieldNames.length > 1) c.position else end
        TableChange.addColumn(c.fieldNames, c.dataType, c.isNullable, c.comment, place, null)
      case c: UpdateColumnPosition if partitions.isEmpty => c
      case c @ (_: TableChange.SetProperty | _: TableChange.RemoveProperty | _: TableChange.UpdateColumnComment |
        _: TableChange.UpdateColumnNullability | _: TableChange.UpdateColumnType | _: TableChange.RenameColumn |
        _: TableChange.DeleteColumn) => c
    }
  }

  private def encode(change: TableChange): ObjectNode = change match {
    case c: TableChange.SetProperty => Rpc.json().put("set", c.property).put("value", c.value)
    case c: TableChange.RemoveProperty => Rpc.json().put("remove", c.property)
    case c: AddColumn =>
      val node = column(c.fieldNames.init)
      val added = node.putObject("add").put("name", c.fieldNames.last).put("nullable", c.isNullable)
      added.set[ObjectNode]("type", Encoder.typeOf(c.dataType))
      if (c.comment != null) added.put("comment", c.comment)
      if (c.position != null) added.set[ObjectNode]("position", position(c.position))
      if (c.defaultValue != null) added.put("default", c.defaultValue.getSql).put("initial", initial(c.defaultValue))
      node
    case c: TableChange.UpdateColumnComment => column(c.fieldNames).put("comment", c.newComment)
    case c: TableChange.UpdateColumnNullability => column(c.fieldNames).put("nullable", c.nullable)
    case c: TableChange.UpdateColumnDefaultValue => column(c.fieldNames).put("default", c.newDefaultValue)
    case c: TableChange.RenameColumn => column(c.fieldNames).put("rename", c.newName)
    case c: TableChange.DeleteColumn =>
      val node = column(c.fieldNames)
      node.putObject("drop").put("if_exists", c.ifExists)
      node
    case c: TableChange.UpdateColumnType => column(c.fieldNames).set[ObjectNode]("type", Encoder.typeOf(c.newDataType))
    case c: UpdateColumnPosition => column(c.fieldNames).set[ObjectNode]("move", position(c.position))
    case _: TableChange.ClusterBy => Rpc.json().put("other", "CLUSTER BY")
    case other if Compat.hasConstraints => Constraints.change(other)
    case other => Rpc.json().put("other", other.getClass.getSimpleName)
  }

  private def initial(default: ColumnDefaultValue): String = Literal(default.getValue.value, default.getValue.dataType).sql

  private def column(names: Array[String]): ObjectNode = {
    val node = Rpc.json()
    val path = node.putArray("column")
    names.foreach(name => path.add(name))
    node
  }

  private def position(at: ColumnPosition): ObjectNode = at match {
    case after: TableChange.After => Rpc.json().put("after", after.column)
    case _ => Rpc.json().put("first", true)
  }
}
