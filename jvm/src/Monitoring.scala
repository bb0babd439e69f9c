package org.apache.spark.sql.indextables

import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import com.codahale.metrics.MetricRegistry
import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.SparkEnv
import org.apache.spark.metrics.source.Source

/**
 * Counters of this JVM and its Python processes for Spark's metrics system, whose sinks write to Prometheus, JMX,
 * Graphite or files. The driver has the planner's counters, an executor those of its tasks.
 */
object Monitoring extends Source {
  override val sourceName: String = Names.Format
  override val metricRegistry: MetricRegistry = new MetricRegistry

  /** Python's counters and their names for monitoring. */
  private val names = Map(
    "requests" -> "store.requests",
    "requestsHedged" -> "store.hedged",
    "bytesFetched" -> "store.bytes",
    "cacheHits" -> "store.cache.hits",
    "cacheMisses" -> "store.cache.misses",
    "commits" -> "commit.count",
    "commitRetries" -> "commit.retries",
    "commitConflicts" -> "commit.conflicts",
    "commitsUnknown" -> "commit.unknown")
  names.values.foreach(name => metricRegistry.counter(name))
  private val lostCalls = metricRegistry.counter("planner.lost")

  /** Add counts that Python sent. */
  def add(counts: JsonNode): Unit = {
    register()
    counts.properties().asScala.foreach { e =>
      names.get(e.getKey).foreach(metricRegistry.counter(_).inc(e.getValue.asLong))
    }
  }

  /** Time a call of the planner process. */
  def timed[T](operation: String)(call: => T): T = {
    register()
    val start = System.nanoTime()
    try call
    finally metricRegistry.timer(s"planner.call.$operation").update(System.nanoTime() - start, TimeUnit.NANOSECONDS)
  }

  /** A call whose planner process ended before it answered. */
  def lost(): Unit = lostCalls.inc()

  /** Register once per application of this JVM. */
  private def register(): Unit = {
    val env = SparkEnv.get
    if (env != null && env != known) synchronized {
      if (env != known) {
        env.metricsSystem.registerSource(this)
        known = env
      }
    }
  }
  @volatile private var known: SparkEnv = _
}
