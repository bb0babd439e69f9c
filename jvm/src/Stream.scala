package org.apache.spark.sql.indextables

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.{DataFrame, SaveMode, SQLContext}
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.execution.streaming.Sink
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType

/** A position in a table's history; only Python interprets it. */
case class StreamOffset(json: String) extends Offset

/** The table's appends as micro-batches. Python decides how far a batch reaches. */
class IndexStream(output: StructType, request: ObjectNode) extends MicroBatchStream
  with SupportsTriggerAvailableNow {
  private var end: Option[Offset] = None
  private var function: Array[Byte] = _

  private def ask(operation: String, fields: (String, Option[Offset])*): Reply = {
    val body = request.deepCopy()
    fields.foreach { case (key, offset) => offset.foreach(o => body.set[ObjectNode](key, Rpc.parse(o.json))) }
    Rpc.call(operation, body)
  }
  private def offset(reply: Reply): Offset = StreamOffset(reply.json.get("offset").toString)

  override def initialOffset(): Offset = offset(ask("stream_start"))
  override def latestOffset(): Offset = offset(ask("stream_latest"))
  override def latestOffset(start: Offset, limit: ReadLimit): Offset =
    offset(ask("stream_latest", "start" -> Some(start), "last" -> end))
  override def prepareForTriggerAvailableNow(): Unit = end = Some(latestOffset())

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val reply = ask("stream_plan", "start" -> Some(start), "end" -> Some(end))
    function = reply.parts(0)
    reply.parts.drop(1).zipWithIndex.map { case (part, i) => new Task(i, part, Array.empty) }
  }
  override def createReaderFactory(): PartitionReaderFactory = new TaskReaders(function, output)

  override def deserializeOffset(json: String): Offset = StreamOffset(json)
  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()
}

/**
 * Saves micro-batches. Each carries the query id and its number, so a micro-batch that is run again after a failure
 * changes nothing.
 */
class IndexSink(context: SQLContext, options: Map[String, String], partitionColumns: Seq[String], mode: OutputMode)
  extends Sink {
  if (mode == OutputMode.Update)
    throw new IndexTablesException("[STREAM_MODE] streaming writes support only mode append or complete")

  override def addBatch(batch: Long, data: DataFrame): Unit = {
    val session = data.sparkSession.asInstanceOf[SparkSession]
    // the plan of a micro-batch cannot be used in a batch write, its rows can
    val rows = session.internalCreateDataFrame(
      data.asInstanceOf[Dataset[_]].queryExecution.toRdd, data.schema)
    val query = session.sparkContext.getLocalProperty("sql.streaming.queryId")
    val columns = Rpc.mapper.valueToTree[JsonNode](partitionColumns.asJava).toString
    val given = options ++ Map("txnAppId" -> query, "txnVersion" -> batch.toString) ++
      (if (partitionColumns.isEmpty) Map.empty else Map(Saving.PartitionKey -> columns))
    Saving.save(if (mode == OutputMode.Complete) SaveMode.Overwrite else SaveMode.Append, given, rows)
  }
}
