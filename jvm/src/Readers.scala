package org.apache.spark.sql.indextables

import java.io.IOException
import java.nio.file.{Files, Path}

import scala.collection.mutable.ArrayBuffer
import scala.util.control.NonFatal

import org.apache.arrow.vector.complex.StructVector

import org.apache.spark.{JobArtifactSet, SparkException, TaskContext}
import org.apache.spark.api.python.{ChainedPythonFunctions, PythonEvalType, PythonException}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.v2.python.{PythonInputPartition, UserDefinedPythonDataSource}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.python.{ArrowPythonRunner, PythonSQLMetrics}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch, ColumnVector}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Reading tasks: passes on the batches of Python workers. Spark's own reader of Python sources converts them to rows,
 * twice, which took half of a scan's time.
 */
@SerialVersionUID(1L)
class TaskReaders(function: Array[Byte], output: StructType) extends PartitionReaderFactory {
  private val source = UserDefinedPythonDataSource(Interpreters.tasks)
  private val same = Executors.sameJar()
  private val artifacts = JobArtifactSet.getCurrentJobArtifactState.map(_.uuid)
  private val wire = Compat.wire(output)

  override def supportColumnarReads(partition: InputPartition): Boolean = true
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    throw new UnsupportedOperationException("rows are read in batches")

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] = {
    same.check()
    TaskWatch.add(TaskContext.get())
    val file = Files.createTempFile(Scratch.folder, "task", ".json")
    val content = partition.asInstanceOf[PythonInputPartition].pickedPartition
    val work = InternalRow(content, UTF8String.fromString(file.toString))
    val reader = new TaskReader(() => batches(work), wire, file)
    // must run before the runner's own completion listener: listeners run in reverse order
    TaskContext.get().addTaskCompletionListener[Unit](reader.finish)
    reader
  }

  private def batches(work: InternalRow): Iterator[ColumnarBatch] = {
    val conf = SQLConf.get
    val context = TaskContext.get()
    val run = ChainedPythonFunctions(Seq(source.createPythonFunction(function)))
    // the runner updates these metrics; they are not shown
    val metrics = (PythonSQLMetrics.pythonSizeMetricsDesc ++ PythonSQLMetrics.pythonTimingMetricsDesc ++
      PythonSQLMetrics.pythonOtherMetricsDesc).map { case (name, _) => name -> new SQLMetric("size", -1) }
    Compat.arrowRunner(Seq(run -> 0L), Int.box(PythonEvalType.SQL_MAP_ARROW_ITER_UDF), Array(Array(0)), TaskReaders.Input,
      conf.sessionLocalTimeZone, Boolean.box(conf.arrowUseLargeVarTypes), ArrowPythonRunner.getPythonRunnerConfMap(conf),
      metrics, artifacts)
      .compute(Iterator(Iterator(InternalRow(work))), context.partitionId(), context)
  }
}

object TaskReaders {
  /** The input of a task, and a file through which both sides communicate. */
  val Input: StructType = StructType(Seq(StructField("struct",
    StructType(Seq(StructField("partition", BinaryType), StructField("file", StringType))))))
}

/** The batches of one worker. It writes its network metrics to the task file and polls the file for the stop marker. */
class TaskReader(start: () => Iterator[ColumnarBatch], wire: StructType, file: Path)
  extends PartitionReader[ColumnarBatch] {
  private var batches = start()
  private var fetched = Array.empty[CustomTaskMetric]
  private var reading = false
  // the sizes of the batches that were passed on
  private val handed = ArrayBuffer.empty[Int]

  override def next(): Boolean = {
    reading = try hasNext(TaskReader.Tries) catch { case e: PythonException => throw Errors.inside(e) }
    // the worker writes it before it ends its output
    if (!reading && Files.exists(file) && Files.size(file) > 0) {
      val counts = Rpc.parse(Files.readString(file))
      fetched = ScanMetrics.counts(counts)
      Monitoring.add(counts)
    }
    reading
  }

  /**
   * A worker that is killed is replaced here: Spark would retry the whole task, and in local mode not even that. The same
   * splits give the same batches, so the next worker continues where the last one ended.
   */
  private def hasNext(tries: Int): Boolean =
    try batches.hasNext
    catch {
      case e: PythonException => throw e
      case e @ (_: SparkException | _: IOException) if tries > 1 && isLost(e) =>
        batches = start()
        skip(e)
        hasNext(tries - 1)
    }

  private def skip(lost: Throwable): Unit = handed.foreach { rows =>
    if (!batches.hasNext || batches.next().numRows != rows) throw lost
  }

  private def isLost(e: Throwable): Boolean = e.isInstanceOf[IOException] || e.getCause.isInstanceOf[IOException]

  override def get(): ColumnarBatch = {
    val batch = batches.next()
    handed += batch.numRows
    val rows = batch.column(0).asInstanceOf[ArrowColumnVector]
    if (!DataType.equalsIgnoreCompatibleNullability(rows.dataType, wire)) throw new IndexTablesException(
      s"[INTERNAL] a task's columns are ${rows.dataType.catalogString}, not ${wire.catalogString}")
    val columns = rows.getValueVector.asInstanceOf[StructVector]
    new ColumnarBatch(Array.tabulate[ColumnVector](wire.length)(i => new BorrowedVector(columns.getChildByOrdinal(i))),
      batch.numRows)
  }

  override def currentMetricsValues(): Array[CustomTaskMetric] = fetched

  /**
   * A worker that sees the marker stops at the next batch. Spark cannot reuse a worker that it kills midway, and the next
   * query would wait seconds for a new one. So the few batches in flight are read.
   */
  def finish(context: TaskContext): Unit =
    if (reading && !context.isFailed() && !context.isInterrupted())
      try {
        Files.writeString(file, "enough")
        batches.take(TaskReader.UnderWay).foreach(_ => ())
      } catch { case NonFatal(_) => // these rows, and errors in them, are not needed
      } finally close()

  override def close(): Unit = Files.deleteIfExists(file)
}

object TaskReader {
  /** Only a worker that does not see the marker sends more batches than this. */
  val UnderWay = 16
  /** How many workers may die between two batches. */
  val Tries = 3
}
