package org.apache.spark.sql.indextables

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

/** A number in the Spark UI. Spark makes it anew by the name of its class when it shows it. */
abstract class Sum(override val name: String, override val description: String) extends CustomSumMetric

case class Count(override val name: String, override val value: Long) extends CustomTaskMetric

class SplitsConsidered extends Sum("splitsConsidered", "splits considered")
class SplitsPrunedByPartition extends Sum("splitsPrunedByPartition", "splits pruned by partition")
class SplitsPrunedByStatistics extends Sum("splitsPrunedByStatistics", "splits pruned by statistics")
class SplitsScanned extends Sum("splitsScanned", "splits scanned")
class RowsScanned extends Sum("rowsScanned", "rows of scanned splits")
class BytesScanned extends Sum("bytesScanned", "bytes of scanned splits")
class RequestsSent extends Sum("requests", "requests to the store")
class BytesFetched extends Sum("bytesFetched", "bytes fetched from the store")
class CacheHits extends Sum("cacheHits", "cache hits")
class CacheMisses extends Sum("cacheMisses", "cache misses")

class SplitsWritten extends Sum("splitsWritten", "splits written")
class RowsWritten extends Sum("rowsWritten", "rows written")
class BytesWritten extends Sum("bytesWritten", "bytes written")

object ScanMetrics {
  def all: Array[CustomMetric] = Array(
    new SplitsConsidered, new SplitsPrunedByPartition, new SplitsPrunedByStatistics, new SplitsScanned,
    new RowsScanned, new BytesScanned, new RequestsSent, new BytesFetched, new CacheHits, new CacheMisses)

  /** What Python counted, by name. */
  def counts(numbers: JsonNode): Array[CustomTaskMetric] =
    numbers.properties().asScala.map(e => Count(e.getKey, e.getValue.asLong): CustomTaskMetric).toArray
}

object WriteMetrics {
  def all: Array[CustomMetric] = Array(new SplitsWritten, new RowsWritten, new BytesWritten)

  def counts(written: Written): Array[CustomTaskMetric] = Array(Count("splitsWritten", written.splits),
    Count("rowsWritten", written.rows), Count("bytesWritten", written.bytes))
}

/** Reading tasks. What the Python worker of a remote table fetched is told to Spark when there are no more rows. */
class TaskReaders(factory: PartitionReaderFactory, remote: Boolean) extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val file = if (remote) Some(Files.createTempFile("indextables", ".json")) else None
    // a task's properties travel to its worker; there is no other way to give it anything of this host
    file.foreach(f => TaskContext.get().getLocalProperties.setProperty(TaskReaders.Property, f.toString))
    new TaskReader(factory.createReader(partition), file)
  }
}

object TaskReaders {
  val Property = "indextables.fetched"
}

class TaskReader(reader: PartitionReader[InternalRow], file: Option[Path]) extends PartitionReader[InternalRow] {
  // Spark asks every hundred rows: the reader's own counts, which nobody sees, would cost a tenth of a scan
  private var fetched = Array.empty[CustomTaskMetric]

  override def next(): Boolean = {
    val more = reader.next()
    // the worker has written it before it says that there are no more rows
    if (!more && fetched.isEmpty) fetched = file.filter(f => Files.exists(f) && Files.size(f) > 0)
      .fold(fetched)(f => ScanMetrics.counts(Rpc.parse(Files.readString(f))))
    more
  }
  override def get(): InternalRow = reader.get()
  override def currentMetricsValues(): Array[CustomTaskMetric] = fetched
  override def close(): Unit = try reader.close() finally file.foreach(Files.deleteIfExists(_))
}
