package org.apache.spark.sql.indextables

import java.util.WeakHashMap
import java.util.concurrent.ConcurrentHashMap

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.QueryPlanningTracker

/**
 * The calls about one read of a table. They share the session's settings and the version that the first call saw: all
 * reads of a table in one query see the same version, whatever is committed in the meantime.
 */
class ReadCalls(table: ObjectNode) {
  private val name = s"${table.get("properties")} ${table.get("options")}"
  private val context = Rpc.context(local = Locations.isLocal(table.path("properties").path("path").asText))
  private val query = ReadCalls.query()

  def version: Option[Long] = Option(query.versions.get(name)).map(_.longValue)

  def call(operation: String, body: ObjectNode): Reply = {
    val request = body.deepCopy()
    // a row-level operation sets the version itself
    if (!request.has(ReadCalls.Version)) version.foreach(v => request.put(ReadCalls.Version, v))
    request.put(ReadCalls.Now, query.now)
    // of a companion: the state of its source
    Option(query.marks.get(name)).foreach(m => request.put(ReadCalls.Mark, m))
    val reply = Rpc.call(operation, request, context)
    Option(reply.json.get(ReadCalls.Mark)).foreach(m => query.marks.putIfAbsent(name, m.asText))
    Option(reply.json.get("version")).foreach(v => query.versions.putIfAbsent(name, v.asLong))
    reply
  }
}

object ReadCalls {
  val Version = "read_version"
  val Mark = "source_mark"
  val Now = "now"
  // a query has one tracker from parsing on, also for its subqueries
  private val queries = new WeakHashMap[QueryPlanningTracker, QueryState]()

  private def query(): QueryState = QueryPlanningTracker.get match {
    case Some(tracker) => synchronized(queries.computeIfAbsent(tracker, _ => new QueryState))
    case None => new QueryState
  }

  /** The value of `now` in all searches of a query, in microseconds since 1970. */
  def now(): Long = query().now
}

/** What all reads of one query share, by table: its version, and for a companion the state of its source. */
private class QueryState {
  val now: Long = System.currentTimeMillis * 1000
  val versions = new ConcurrentHashMap[String, java.lang.Long]()
  val marks = new ConcurrentHashMap[String, String]()
}
