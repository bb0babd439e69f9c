package org.apache.spark.sql.indextables

import java.util.WeakHashMap
import java.util.concurrent.ConcurrentHashMap

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.QueryPlanningTracker

/**
 * The calls about one read of a table. They share the session's settings as they were and the version
 * that was seen first: all reads of a table in one query see the same one, whatever is committed in the meantime.
 */
class ReadCalls(table: ObjectNode) {
  private val name = s"${table.get("properties")} ${table.get("options")}"
  private val context = Rpc.context(local = Locations.isLocal(table.path("properties").path("path").asText))
  private val versions = ReadCalls.versions()
  private val marks = ReadCalls.marks()
  private val now = ReadCalls.now()

  def version: Option[Long] = Option(versions.get(name)).map(_.longValue)

  def call(operation: String, body: ObjectNode): Reply = {
    val request = body.deepCopy()
    // a change of rows names the version itself
    if (!request.has(ReadCalls.Version)) version.foreach(v => request.put(ReadCalls.Version, v))
    request.put(ReadCalls.Now, now)
    // of a companion: the state of its source
    Option(marks.get(name)).foreach(m => request.put(ReadCalls.Mark, m))
    val reply = Rpc.call(operation, request, context)
    Option(reply.json.get(ReadCalls.Mark)).foreach(m => marks.putIfAbsent(name, m.asText))
    Option(reply.json.get("version")).foreach(v => versions.putIfAbsent(name, v.asLong))
    reply
  }
}

object ReadCalls {
  val Version = "read_version"
  val Mark = "source_mark"
  val Now = "now"
  // a query has one tracker from parsing on, also for its subqueries
  private val byQuery = new WeakHashMap[QueryPlanningTracker, ConcurrentHashMap[String, java.lang.Long]]()

  private val marksByQuery = new WeakHashMap[QueryPlanningTracker, ConcurrentHashMap[String, String]]()

  private val timesByQuery = new WeakHashMap[QueryPlanningTracker, java.lang.Long]()

  /** What `now` is in the searches of a query, in microseconds since 1970: the same for all of them. */
  def now(): Long = {
    val current = System.currentTimeMillis * 1000
    QueryPlanningTracker.get.fold(current) { query =>
      synchronized(timesByQuery.computeIfAbsent(query, _ => current))
    }
  }

  private def marks(): ConcurrentHashMap[String, String] = QueryPlanningTracker.get match {
    case Some(query) => synchronized(marksByQuery.computeIfAbsent(query, _ => new ConcurrentHashMap()))
    case None => new ConcurrentHashMap()
  }

  private def versions(): ConcurrentHashMap[String, java.lang.Long] = QueryPlanningTracker.get match {
    case Some(query) => synchronized(byQuery.computeIfAbsent(query, _ => new ConcurrentHashMap()))
    case None => new ConcurrentHashMap()
  }
}
