package org.apache.spark.sql.indextables

import java.util.{Collections, Map => JavaMap}

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.SupportsPartitionManagement
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.connector.expressions.{IdentityTransform, LiteralValue, Transform}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.types.StructType

object Partitions {
  /** The columns of a partitioning; Python reports buckets and computed partitions as unsupported. */
  def columns(partitioning: Array[Transform]): Seq[String] = partitioning.toSeq.map {
    case IdentityTransform(reference) => reference.fieldNames.mkString(".")
    case other => Rpc.refuse("UNSUPPORTED_PARTITIONING", "partitioning" -> other.describe)
  }
}

/** SHOW PARTITIONS and ALTER TABLE ... DROP PARTITION; partitions are created by writing rows. */
trait Partitions extends SupportsPartitionManagement { self: IndexTable =>
  override def partitionSchema(): StructType = StructType(state.partitionColumns.map(state.schema(_)))

  override def listPartitionIdentifiers(names: Array[String], wanted: InternalRow): Array[InternalRow] = {
    val found = ArrayBuffer.empty[InternalRow]
    val places = names.map(partitionSchema().fieldIndex)
    val types = places.map(partitionSchema()(_).dataType)
    val copy = UnsafeProjection.create(partitionSchema())
    if (state.exists) LocalAnswer.foreachRow(Rpc.call("partitions", request()).parts(0)) { columnar =>
      val row = copy(columnar)
      val same = places.indices.forall(i => row.get(places(i), types(i)) == wanted.get(i, types(i)))
      if (same) found += row.copy()
    }
    found.toArray
  }

  override def dropPartition(values: InternalRow): Boolean = {
    val same = partitionSchema().zipWithIndex.map { case (field, i) =>
      new Predicate("<=>", Array(Names.column(field.name),
        LiteralValue(values.get(i, field.dataType), field.dataType)))
    }
    deleteWhere(same.toArray)
    true
  }

  override def createPartition(values: InternalRow, properties: JavaMap[String, String]): Unit =
    throw new IndexTablesException("[UNSUPPORTED_CHANGE] partitions are created by writing rows")
  override def replacePartitionMetadata(values: InternalRow, properties: JavaMap[String, String]): Unit =
    throw new IndexTablesException("[UNSUPPORTED_CHANGE] partitions have no properties")
  override def loadPartitionMetadata(values: InternalRow): JavaMap[String, String] = Collections.emptyMap()
}
