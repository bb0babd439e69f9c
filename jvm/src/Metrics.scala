package org.apache.spark.sql.indextables

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

/** A number in the Spark UI. Spark instantiates it by class name to show it. */
abstract class Sum(override val name: String, override val description: String) extends CustomSumMetric

case class Count(override val name: String, override val value: Long) extends CustomTaskMetric

class SplitsConsidered extends Sum("splitsConsidered", "splits considered")
class SplitsPrunedByPartition extends Sum("splitsPrunedByPartition", "splits pruned by partition")
class SplitsPrunedByStatistics extends Sum("splitsPrunedByStatistics", "splits pruned by statistics")
class SplitsScanned extends Sum("splitsScanned", "splits scanned")
class RowsScanned extends Sum("rowsScanned", "rows of scanned splits")
class BytesScanned extends Sum("bytesScanned", "bytes of scanned splits")
class RequestsSent extends Sum("requests", "requests to the store")
class RequestsHedged extends Sum("requestsHedged", "requests sent twice because of a late response")
class BytesFetched extends Sum("bytesFetched", "bytes fetched from the store")
class CacheHits extends Sum("cacheHits", "cache hits")
class CacheMisses extends Sum("cacheMisses", "cache misses")
class PendingFiles extends Sum("pendingFiles", "source files without a split")
class PendingBytes extends Sum("pendingBytes", "bytes of source files without a split")
class GoneFiles extends Sum("goneFiles", "indexed files that the source no longer has")
class HiddenRows extends Sum("hiddenRows", "indexed rows that the source no longer has")

class SplitsWritten extends Sum("splitsWritten", "splits written")
class RowsWritten extends Sum("rowsWritten", "rows written")
class BytesWritten extends Sum("bytesWritten", "bytes written")

object ScanMetrics {
  def all: Array[CustomMetric] = Array(
    new SplitsConsidered, new SplitsPrunedByPartition, new SplitsPrunedByStatistics, new SplitsScanned,
    new RowsScanned, new BytesScanned, new RequestsSent, new RequestsHedged, new BytesFetched, new CacheHits,
    new CacheMisses, new PendingFiles, new PendingBytes, new GoneFiles, new HiddenRows)

  /** Python's counters by name. */
  def counts(numbers: JsonNode): Array[CustomTaskMetric] =
    numbers.properties().asScala.map(e => Count(e.getKey, e.getValue.asLong): CustomTaskMetric).toArray
}

object WriteMetrics {
  def all: Array[CustomMetric] = Array(new SplitsWritten, new RowsWritten, new BytesWritten)

  def counts(written: Written): Array[CustomTaskMetric] = Array(Count("splitsWritten", written.splits),
    Count("rowsWritten", written.rows), Count("bytesWritten", written.bytes))
}
