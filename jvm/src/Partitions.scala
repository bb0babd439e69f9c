package org.apache.spark.sql.indextables

import java.util.{Collections, Map => JavaMap}

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.SupportsAtomicPartitionManagement
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.connector.expressions.{IdentityTransform, LiteralValue, Transform}
import org.apache.spark.sql.connector.expressions.filter.{And, Or, Predicate}
import org.apache.spark.sql.types.StructType

object Partitions {
  /** The columns of a partitioning; Python reports buckets and computed partitions as unsupported. */
  def columns(partitioning: Array[Transform]): Seq[String] = partitioning.toSeq.map {
    case IdentityTransform(reference) => reference.fieldNames.mkString(".")
    case other => Rpc.refuse("UNSUPPORTED_PARTITIONING", "partitioning" -> other.describe)
  }
}

/** SHOW PARTITIONS, TRUNCATE TABLE ... PARTITION and ALTER TABLE ... DROP PARTITION; writing rows creates partitions. */
trait Partitions extends SupportsAtomicPartitionManagement { self: IndexTable =>
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

  /** In one version. Spark also calls this for a single partition. */
  override def dropPartitions(all: Array[InternalRow]): Boolean = {
    if (all.nonEmpty) deleteWhere(Array(any(all.map(is))))
    all.nonEmpty
  }
  override def truncatePartitions(all: Array[InternalRow]): Boolean = dropPartitions(all)
  override def truncatePartition(values: InternalRow): Boolean = dropPartitions(Array(values))

  private def is(values: InternalRow): Predicate = partitionSchema().zipWithIndex.map { case (field, i) =>
    new Predicate("<=>", Array(Names.column(field.name), LiteralValue(values.get(i, field.dataType), field.dataType)))
  }.reduce(new And(_, _))

  /** A balanced tree: there may be thousands of partitions. */
  private def any(predicates: Array[Predicate]): Predicate =
    if (predicates.length == 1) predicates.head
    else {
      val (some, others) = predicates.splitAt(predicates.length / 2)
      new Or(any(some), any(others))
    }

  override def createPartitions(all: Array[InternalRow], properties: Array[JavaMap[String, String]]): Unit =
    throw new IndexTablesException("[UNSUPPORTED_CHANGE] partitions are created by writing rows")
  override def replacePartitionMetadata(values: InternalRow, properties: JavaMap[String, String]): Unit =
    throw new IndexTablesException("[UNSUPPORTED_CHANGE] partitions have no properties")
  override def loadPartitionMetadata(values: InternalRow): JavaMap[String, String] = Collections.emptyMap()
}
