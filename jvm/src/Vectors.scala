package org.apache.spark.sql.indextables

import org.apache.arrow.vector.ValueVector
import org.apache.arrow.vector.complex.{BaseListVector, MapVector, RepeatedValueVector, StructVector}

import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarArray, ColumnarMap}

/**
 * A column of an Arrow batch that its reader owns and reuses: Spark would close it after the batch.
 */
class BorrowedVector(vector: ValueVector) extends ArrowColumnVector(vector) {
  private val inside: Array[InnerVector] = vector match {
    case map: MapVector => members(map.getDataVector.asInstanceOf[StructVector])
    case list: RepeatedValueVector => Array(new InnerVector(list.getDataVector))
    case struct: StructVector => members(struct)
    case _ => Array.empty
  }
  private def members(struct: StructVector): Array[InnerVector] =
    Array.tabulate(struct.size)(i => new InnerVector(struct.getChildByOrdinal(i)))

  override def close(): Unit = ()
  override def getChild(ordinal: Int): ArrowColumnVector = inside(ordinal)

  override def getArray(row: Int): ColumnarArray = if (isNullAt(row)) null else {
    val (start, length) = range(row)
    new ColumnarArray(inside(0), start, length)
  }

  override def getMap(row: Int): ColumnarMap = if (isNullAt(row)) null else {
    val (start, length) = range(row)
    new ColumnarMap(inside(0), inside(1), start, length)
  }

  private def range(row: Int): (Int, Int) = {
    val list = vector.asInstanceOf[BaseListVector]
    val start = list.getElementStartIndex(row)
    (start, list.getElementEndIndex(row) - start)
  }
}

/**
 * The elements of arrays and maps, and the members of structs. Spark's generated code for lambdas reads an element before
 * it checks whether it is null, as Spark's own vectors allow; Arrow's would fail.
 */
class InnerVector(vector: ValueVector) extends BorrowedVector(vector) {
  override def getBoolean(i: Int): Boolean = !isNullAt(i) && super.getBoolean(i)
  override def getByte(i: Int): Byte = if (isNullAt(i)) 0 else super.getByte(i)
  override def getShort(i: Int): Short = if (isNullAt(i)) 0 else super.getShort(i)
  override def getInt(i: Int): Int = if (isNullAt(i)) 0 else super.getInt(i)
  override def getLong(i: Int): Long = if (isNullAt(i)) 0L else super.getLong(i)
  override def getFloat(i: Int): Float = if (isNullAt(i)) 0f else super.getFloat(i)
  override def getDouble(i: Int): Double = if (isNullAt(i)) 0d else super.getDouble(i)
}
