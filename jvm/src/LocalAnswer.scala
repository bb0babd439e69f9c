package org.apache.spark.sql.indextables

import java.io.ByteArrayInputStream

import scala.jdk.CollectionConverters._

import org.apache.arrow.vector.ipc.ArrowStreamReader

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.util.ArrowUtils
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

/** Plans reads that the planner process answers, with their sort and limit: no job, no task, no Python worker. */
object LocalAnswers extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case root: ReturnAnswer => local(root.child).toSeq
    case other => local(other).toSeq
  }

  private def local(plan: LogicalPlan): Option[SparkPlan] = plan match {
    case sort: Sort if sort.global && sort.order.forall(simple) => local(sort.child).map(SortAnswer(sort.order, _))
    case limit: GlobalLimit => counted(limit.limitExpr).flatMap(n => local(limit.child).map(CutAnswer(0, n, _)))
    // the global limit above it says the same
    case limit: LocalLimit => local(limit.child)
    case offset: Offset =>
      counted(offset.offsetExpr).flatMap(n => local(offset.child).map(CutAnswer(n, Int.MaxValue, _)))
    case PhysicalOperation(projects, filters, relation: DataSourceV2ScanRelation) => relation.scan match {
      // runtime filters only save reads; applied to rows they would drop null partition values
      case scan: IndexScan if scan.isLocal =>
        Some(answer(projects, filters.filterNot(_.isInstanceOf[DynamicPruning]), relation, scan))
      case _ => None
    }
    case project: Project if project.projectList.forall(simple) =>
      local(project.child).map(ProjectAnswer(project.projectList, _))
    case _ => None
  }

  private def simple(e: Expression) = e.deterministic && !e.exists(_.isInstanceOf[PlanExpression[_]])

  private def counted(e: Expression): Option[Int] = e match {
    case IntegerLiteral(n) => Some(n)
    case _ => None
  }

  private def answer(projects: Seq[NamedExpression], filters: Seq[Expression],
      relation: DataSourceV2ScanRelation, scan: IndexScan): SparkPlan =
    if ((projects ++ filters).forall(simple)) LocalAnswerExec(projects, filters, relation.output, scan)
    else {
      val leaf: SparkPlan = LocalAnswerExec(relation.output, Nil, relation.output, scan)
      ProjectExec(projects, filters.reduceOption(And).fold(leaf)(FilterExec(_, leaf)))
    }
}

/** A node whose rows are on the driver: collecting them needs no job. */
trait LocalRows extends SparkPlan {
  protected def rows: Array[InternalRow]

  override def outputPartitioning: Partitioning = SinglePartition
  override protected def doExecute(): RDD[InternalRow] = sparkContext.parallelize(rows.toIndexedSeq, 1)
  override def executeCollect(): Array[InternalRow] = rows
  /** What a broadcast collects. */
  override def executeCollectIterator(): (Long, Iterator[InternalRow]) = (rows.length, rows.iterator)
  override def executeTake(n: Int): Array[InternalRow] = rows.take(n)
  override def executeTail(n: Int): Array[InternalRow] = rows.takeRight(n)
}

case class SortAnswer(order: Seq[SortOrder], child: SparkPlan) extends UnaryExecNode with LocalRows {
  override def nodeName: String = "IndexTablesSort"
  override def output: Seq[Attribute] = child.output
  override def outputOrdering: Seq[SortOrder] = order
  @transient protected lazy val rows: Array[InternalRow] =
    child.executeCollect().sorted(new InterpretedOrdering(order, child.output))
  override protected def withNewChildInternal(fresh: SparkPlan): SortAnswer = copy(child = fresh)
}

case class CutAnswer(offset: Int, limit: Int, child: SparkPlan) extends UnaryExecNode with LocalRows {
  override def nodeName: String = "IndexTablesLimit"
  override def output: Seq[Attribute] = child.output
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  @transient protected lazy val rows: Array[InternalRow] = child.executeCollect().drop(offset).take(limit)
  override protected def withNewChildInternal(fresh: SparkPlan): CutAnswer = copy(child = fresh)
}

case class ProjectAnswer(projects: Seq[NamedExpression], child: SparkPlan) extends UnaryExecNode with LocalRows {
  override def nodeName: String = "IndexTablesProject"
  override def output: Seq[Attribute] = projects.map(_.toAttribute)
  @transient protected lazy val rows: Array[InternalRow] = {
    val project = UnsafeProjection.create(projects, child.output)
    child.executeCollect().map(row => project(row).copy(): InternalRow)
  }
  override protected def withNewChildInternal(fresh: SparkPlan): ProjectAnswer = copy(child = fresh)
}

/** Rows that the planner computed; remaining filters and the projection run on the driver. */
case class LocalAnswerExec(projects: Seq[NamedExpression], filters: Seq[Expression],
    input: Seq[Attribute], @transient scan: IndexScan) extends LeafExecNode with LocalRows {
  override def output: Seq[Attribute] = projects.map(_.toAttribute)
  override def producedAttributes: AttributeSet = AttributeSet(input)
  override def nodeName: String = "IndexTablesAnswer"
  override def simpleString(maxFields: Int): String =
    s"$nodeName ${output.mkString("[", ", ", "]")} ${scan.description()}" +
      (if (filters.isEmpty) "" else filters.mkString(" then filtered by [", ", ", "]"))

  override def verboseStringWithOperatorId(): String =
    s"$formattedNodeName\nOutput: ${output.mkString("[", ", ", "]")}\nPushed: ${scan.description()}\n" +
      (if (filters.isEmpty) "" else filters.mkString("Filters: [", ", ", "]\n"))

  override lazy val metrics: Map[String, SQLMetric] =
    (("numOutputRows" -> "number of output rows") +: ScanMetrics.all.map(m => m.name -> m.description)).map {
      case (key, text) => key -> SQLMetrics.createMetric(sparkContext, text)
    }.toMap

  @transient private lazy val reply: Reply = {
    val found = scan.answer()
    ScanMetrics.counts(found.json.get("metrics")).foreach(m => longMetric(m.name()).add(m.value()))
    found
  }
  private def post(): Unit = SQLMetrics.postDriverMetricUpdates(sparkContext,
    sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY), metrics.values.toSeq)

  @transient protected lazy val rows: Array[InternalRow] = {
    val result = LocalAnswer.open(reply.parts(0))(new AnswerRows(projects, filters, input)(_).map(_.copy()).toArray)
    longMetric("numOutputRows").add(result.length)
    post()
    result
  }

  /** In a job, the rows are decoded by its task. */
  override protected def doExecute(): RDD[InternalRow] = {
    val (node, count) = (new AnswerRows(projects, filters, input), longMetric("numOutputRows"))
    val task = AnsweredTask(reply.parts(0))
    post()
    sparkContext.parallelize(Seq(task), 1).mapPartitionsInternal(_.flatMap { answered =>
      val reader = new AnswerReader(answered.rows)
      TaskContext.get().addTaskCompletionListener[Unit](_ => reader.close())
      node(reader).map { row => count.add(1); row }
    })
  }
}

/** Filters and projects the rows of an answer; each is valid only until the next one. */
class AnswerRows(projects: Seq[NamedExpression], filters: Seq[Expression], input: Seq[Attribute])
  extends Serializable {
  def apply(answer: AnswerReader): Iterator[InternalRow] = {
    val keep = filters.reduceOption(And).map(f => BindReferences.bindReference(f, AttributeSeq(input)))
      .map(f => if (answer.isSmall) Predicate.createInterpreted(f) else Predicate.create(f))
    keep.foreach(_.initialize(0))
    def projection(to: Seq[Expression]) =
      if (answer.isSmall) InterpretedUnsafeProjection.createProjection(BindReferences.bindReferences(to, input))
      else UnsafeProjection.create(to, input)
    val project = projection(projects)
    // expressions must not be computed on the columns of a batch, where null elements of arrays read as zeros
    val whole = if (keep.isEmpty && projects.forall(_.isInstanceOf[Attribute])) None else Some(projection(input))
    answer.rows.map(row => whole.fold(row)(_.apply(row))).filter(row => keep.forall(_.eval(row))).map(project)
  }
}

object LocalAnswer {
  /** The rows as a relation. */
  def relation(stream: Array[Byte]): LocalRelation = {
    val allocator = ArrowUtils.rootAllocator.newChildAllocator("indextables relation", 0, Long.MaxValue)
    val reader = new ArrowStreamReader(new ByteArrayInputStream(stream), allocator)
    val schema = try ArrowUtils.fromArrowSchema(reader.getVectorSchemaRoot.getSchema)
      finally { reader.close(); allocator.close() }
    LocalRelation(toAttributes(schema), rows(stream))
  }

  /** Copies of all rows. */
  def rows(stream: Array[Byte]): Seq[InternalRow] = open(stream)(_.rows.map(_.copy()).toIndexedSeq)

  /** Call `use` with each row; a row is valid only during the call. */
  def foreachRow(stream: Array[Byte])(use: InternalRow => Unit): Unit = open(stream)(_.rows.foreach(use))

  def open[T](stream: Array[Byte])(read: AnswerReader => T): T = {
    val reader = new AnswerReader(stream)
    try read(reader) finally reader.close()
  }
}

/** The batches of an Arrow stream; each is valid until the next one is loaded. */
class AnswerReader(stream: Array[Byte]) extends PartitionReader[ColumnarBatch] {
  private val allocator = ArrowUtils.rootAllocator.newChildAllocator("indextables answer", 0, Long.MaxValue)
  private val reader = new ArrowStreamReader(new ByteArrayInputStream(stream), allocator)

  /** Whether generating code takes longer than it saves. */
  val isSmall: Boolean = stream.length < (64 << 10)

  /** All rows; each is valid only until the next one. */
  def rows: Iterator[InternalRow] =
    Iterator.continually(next()).takeWhile(identity).flatMap(_ => get().rowIterator().asScala)

  override def next(): Boolean = reader.loadNextBatch()
  override def get(): ColumnarBatch = {
    val root = reader.getVectorSchemaRoot
    val columns = root.getFieldVectors.asScala.map(v => new BorrowedVector(v): ColumnVector).toArray
    new ColumnarBatch(columns, root.getRowCount)
  }
  override def close(): Unit = {
    reader.close()
    allocator.close()
  }
}

/** Reads tasks that hold their rows, without a Python worker. */
object AnswerReaders extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = true
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    throw new UnsupportedOperationException("rows are read in batches")
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    new AnswerReader(partition.asInstanceOf[AnsweredTask].rows)
}
