package org.apache.spark.sql.indextables

import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.TaskContext
import org.apache.spark.api.python.PythonException
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.execution.datasources.v2.python.PythonWriterCommitMessage

/** What a task has written, by its own report. */
case class Written(splits: Long, rows: Long, bytes: Long) {
  def +(other: Written): Written = Written(splits + other.splits, rows + other.rows, bytes + other.bytes)
}

object Written {
  val nothing: Written = Written(0, 0, 0)

  def by(message: WriterCommitMessage): Written = message match {
    case m: PythonWriterCommitMessage =>
      val splits = Rpc.parse(new String(m.pickledMessage, UTF_8)).path("splits").elements().asScala.toSeq
      Written(splits.size, splits.map(_.path("num_records").asLong).sum, splits.map(_.path("size").asLong).sum)
    case _ => nothing
  }
}

/** Python's writer, with output metrics for Spark's stages and tasks. */
@SerialVersionUID(1L)
class MeasuredFactory(factory: DataWriterFactory) extends DataWriterFactory {
  private val same = Executors.sameJar()
  override def createWriter(partition: Int, task: Long): DataWriter[InternalRow] = {
    same.check()
    TaskWatch.add(TaskContext.get())
    new MeasuredWriter(factory.createWriter(partition, task))
  }
}

class MeasuredWriter(writer: DataWriter[InternalRow]) extends DataWriter[InternalRow] {
  override def write(row: InternalRow): Unit = writer.write(row)
  override def writeAll(rows: java.util.Iterator[InternalRow]): Unit =
    try writer.writeAll(rows) catch { case e: PythonException => throw Errors.inside(e) }
  override def commit(): WriterCommitMessage = {
    val message = writer.commit()
    val written = Written.by(message)
    Option(TaskContext.get()).foreach { context =>
      val output = context.taskMetrics().outputMetrics
      output.setBytesWritten(output.bytesWritten + written.bytes)
      output.setRecordsWritten(output.recordsWritten + written.rows)
    }
    message
  }
  override def abort(): Unit = writer.abort()
  override def close(): Unit = writer.close()
  override def currentMetricsValues(): Array[CustomTaskMetric] = writer.currentMetricsValues()
}

/** The progress of a write: counted as tasks finish, and logged on the driver during long writes. */
class WriteProgress extends Logging {
  private var tasks = 0
  private var done = 0
  private var written = Written.nothing
  private var said = System.nanoTime()

  def begin(total: Int): Unit = synchronized { tasks = total }

  def add(message: WriterCommitMessage): Unit = synchronized {
    done += 1
    written = written + Written.by(message)
    if (System.nanoTime() - said > WriteProgress.Pause) {
      said = System.nanoTime()
      logInfo(s"${Names.Format}: $done of $tasks tasks have written ${written.rows} rows in " +
        s"${written.splits} splits, ${written.bytes >> 20} MiB")
    }
  }

  /** For the plan's node in the Spark UI. */
  def metrics: Array[CustomTaskMetric] = synchronized(WriteMetrics.counts(written))
}

object WriteProgress {
  private val Pause = 10L * 1000000000L
}
