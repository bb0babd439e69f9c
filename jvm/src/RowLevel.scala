package org.apache.spark.sql.indextables

import java.util.concurrent.{ArrayBlockingQueue, TimeUnit}

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeProjection}
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * DELETE, UPDATE and MERGE as a delta: the Python writer gets rows of (`__op`, row id, columns). Scan and commit name
 * the same version, so that Python can detect changes in between.
 */
class RowDelta(table: IndexTable, info: RowLevelOperationInfo) extends RowLevelOperation with SupportsDelta {
  table.schema.fieldNames.find(name => RowDelta.own.exists(_.equalsIgnoreCase(name)))
    .foreach(name => Rpc.refuse("COLUMN_RESERVED", "column" -> name, "command" -> info.command().name))
  private val version = Rpc.call("load", table.request()).json.path("version").asLong(-1)

  override def description(): String = s"${Names.Format} ${command()}"
  override def command(): RowLevelOperation.Command = info.command()
  override def rowId(): Array[NamedReference] = Array(Expressions.column("_split"), Expressions.column("_doc"))
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new IndexScanBuilder(table, pinned(table.request(options)))

  private def pinned(request: ObjectNode): ObjectNode =
    request.put(ReadCalls.Version, version).put("command", command().name)

  override def newWriteBuilder(write: LogicalWriteInfo): DeltaWriteBuilder = new DeltaWriteBuilder {
    override def build(): DeltaWrite = {
      val schema = RowDelta.schema(write.schema())
      val request = pinned(Requests.write(table, write, schema))
      new RowDeltaWrite(schema, request, Rpc.call("begin_write", request))
    }
  }
}

object RowDelta {
  val Delete = 1
  val Update = 2
  val Insert = 3
  private val id = Seq(StructField("__op", IntegerType), StructField("_split", StringType), StructField("_doc", LongType))
  /** The columns that identify a row and its operation; a table column of the same name would hide them. */
  val own: Seq[String] = id.map(_.name)
  def schema(row: StructType): StructType = StructType(id ++ row.map(_.copy(nullable = true)))
}

class RowDeltaWrite(schema: StructType, given: ObjectNode, begun: Reply) extends DeltaWrite with Arrangement {
  private val request = Requests.named(given, begun)
  override protected def layout: ObjectNode = begun.json
  override def description(): String = Names.Format
  override def toBatch: DeltaBatchWrite = new DeltaBatchWrite {
    override def useCommitCoordinator(): Boolean = false
    override def createBatchWriterFactory(info: PhysicalWriteInfo): DeltaWriterFactory =
      new RowDeltaFactory(Compat.writerFactory(begun.parts(0), schema), schema)
    override def commit(messages: Array[WriterCommitMessage]): Unit = Finish("commit", request, messages)
    override def abort(messages: Array[WriterCommitMessage]): Unit = Finish("abort", request, messages)
  }
}

@SerialVersionUID(1L)
class RowDeltaFactory(factory: DataWriterFactory, schema: StructType) extends DeltaWriterFactory {
  private val same = Executors.sameJar()
  override def createWriter(partition: Int, task: Long): DeltaWriter[InternalRow] = {
    same.check()
    TaskWatch.add(TaskContext.get())
    new RowDeltaWriter(factory.createWriter(partition, task), schema)
  }
}

/** Spark pushes rows, the Python writer pulls from an iterator: a bounded queue and a thread connect them. */
class RowDeltaWriter(writer: DataWriter[InternalRow], schema: StructType) extends DeltaWriter[InternalRow] {
  private object End
  private val queue = new ArrayBlockingQueue[AnyRef](4096)
  private val unsafe = UnsafeProjection.create(schema)
  private val noId = new GenericInternalRow(2)
  private val noRow = new GenericInternalRow(schema.length - 3)
  private val context = TaskContext.get()
  @volatile private var failure: Throwable = _

  private val pump = new Thread(() => pull(), s"indextables delta writer ${context.taskAttemptId()}")
  pump.setDaemon(true)
  pump.start()

  private def pull(): Unit = try {
    TaskContext.setTaskContext(context)
    writer.writeAll(new java.util.Iterator[InternalRow] {
      private var ahead: AnyRef = _
      override def hasNext: Boolean = { if (ahead == null) ahead = queue.take(); ahead ne End }
      override def next(): InternalRow = {
        if (!hasNext) throw new NoSuchElementException
        val row = ahead.asInstanceOf[InternalRow]
        ahead = null
        row
      }
    })
  } catch { case e: Throwable => failure = Errors.inside(e) } finally TaskContext.unset()

  private def put(item: AnyRef): Unit = {
    while (failure == null && !queue.offer(item, 50, TimeUnit.MILLISECONDS)) {}
    if (failure != null) throw failure
  }
  private def send(op: Int, id: InternalRow, row: InternalRow): Unit =
    put(unsafe(new JoinedRow(new JoinedRow(new GenericInternalRow(Array[Any](op)), id), row)).copy())

  override def delete(metadata: InternalRow, id: InternalRow): Unit = send(RowDelta.Delete, id, noRow)
  override def update(metadata: InternalRow, id: InternalRow, row: InternalRow): Unit = send(RowDelta.Update, id, row)
  override def insert(row: InternalRow): Unit = send(RowDelta.Insert, noId, row)
  override def commit(): WriterCommitMessage = {
    put(End)
    pump.join()
    if (failure != null) throw failure
    writer.commit()
  }
  override def abort(): Unit = {
    failure = new InterruptedException("the task was aborted")
    pump.interrupt()
    writer.abort()
  }
  override def close(): Unit = writer.close()
}
