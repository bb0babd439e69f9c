package org.apache.spark.sql.indextables

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.sql.connector.catalog.{TableChange, TableInfo}
import org.apache.spark.sql.connector.catalog.constraints._

/** Constraints were added in Spark 4.1: use this only if `Compat.hasConstraints`. */
object Constraints {
  def encode(constraints: Array[Constraint]): ArrayNode = {
    val array = Rpc.mapper.createArrayNode()
    constraints.foreach(c => array.add(encode(c)))
    array
  }

  private def encode(constraint: Constraint): ObjectNode = {
    val node = Rpc.json().put("name", constraint.name)
    constraint match {
      case c: Check => node.put("kind", "check").put("sql", c.predicateSql)
      case k: PrimaryKey =>
        val columns = node.put("kind", "primary_key").put("sql", k.toDDL).putArray("columns")
        k.columns.foreach(c => columns.add(c.fieldNames.mkString(".")))
        node
      case other => node.put("kind", "other").put("sql", other.toDDL)
    }
  }

  /** A table that replaces another one cannot have constraints. */
  def refuseIn(info: TableInfo): Unit =
    info.constraints.foreach(c => Rpc.refuse("CONSTRAINT_IN_REPLACE", "constraint" -> c.toDDL))

  def change(change: TableChange): ObjectNode = change match {
    case c: TableChange.AddConstraint => Rpc.json().set[ObjectNode]("add_constraint", encode(c.constraint))
    case c: TableChange.DropConstraint => Rpc.json().put("drop_constraint", c.name).put("if_exists", c.ifExists)
    case other => Rpc.json().put("other", other.getClass.getSimpleName)
  }

  def table(state: TableState, given: java.util.Map[String, String], writable: Boolean,
      evolving: Boolean = false): IndexTable = new CheckedTable(state, given, writable, evolving)
}

/** A table with CHECK constraints: Spark checks them on every write. */
class CheckedTable(state: TableState, given: java.util.Map[String, String], writable: Boolean, evolving: Boolean = false)
  extends IndexTable(state, given, writable, evolving) {
  override def constraints(): Array[Constraint] = state.checks.map { case (name, sql) =>
    Constraint.check(name).predicateSql(sql).enforced(true).validationStatus(Constraint.ValidationStatus.VALID)
      .build(): Constraint
  }.toArray
}
