package org.apache.spark.sql.indextables

import java.io.ByteArrayInputStream

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import org.apache.arrow.vector.ipc.ArrowStreamReader

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.util.ArrowUtils
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch, ColumnVector}

/** Plans reads that the planner process answers itself: no job, no task, no worker. */
object LocalAnswers extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case PhysicalOperation(projects, filters, relation: DataSourceV2ScanRelation) =>
      relation.scan match {
        case scan: IndexScan if scan.isLocal => Seq(answer(projects, filters, relation, scan))
        case _ => Nil
      }
    case _ => Nil
  }

  private def answer(projects: Seq[NamedExpression], filters: Seq[Expression],
      relation: DataSourceV2ScanRelation, scan: IndexScan): SparkPlan = {
    def simple(e: Expression) = e.deterministic && !e.exists(_.isInstanceOf[PlanExpression[_]])
    if ((projects ++ filters).forall(simple)) LocalAnswerExec(projects, filters, relation.output, scan)
    else {
      val leaf: SparkPlan = LocalAnswerExec(relation.output, Nil, relation.output, scan)
      ProjectExec(projects, filters.reduceOption(And).fold(leaf)(FilterExec(_, leaf)))
    }
  }
}

/** Rows that the planner computed, with what is left of filters and projection done on the driver. */
case class LocalAnswerExec(projects: Seq[NamedExpression], filters: Seq[Expression],
    input: Seq[Attribute], @transient scan: IndexScan) extends LeafExecNode {
  override def output: Seq[Attribute] = projects.map(_.toAttribute)
  override def producedAttributes: AttributeSet = AttributeSet(input)
  override def nodeName: String = "IndexTablesAnswer"
  override def simpleString(maxFields: Int): String =
    s"$nodeName ${output.mkString("[", ", ", "]")} ${scan.description()}" +
      (if (filters.isEmpty) "" else filters.mkString(" then filtered by [", ", ", "]"))

  override lazy val metrics: Map[String, SQLMetric] =
    (("numOutputRows" -> "number of output rows") +: ScanMetrics.all.map(m => m.name -> m.description)).map {
      case (key, text) => key -> SQLMetrics.createMetric(sparkContext, text)
    }.toMap

  @transient private lazy val rows: Array[InternalRow] = {
    val reply = scan.answer()
    val few = reply.parts(0).length < LocalAnswer.FewBytes
    val keep = filters.reduceOption(And).map(f => BindReferences.bindReference(f, AttributeSeq(input)))
      .map(f => if (few) Predicate.createInterpreted(f) else Predicate.create(f))
    keep.foreach(_.initialize(0))
    val project = if (few) InterpretedUnsafeProjection.createProjection(BindReferences.bindReferences(projects, input))
      else UnsafeProjection.create(projects, input)
    val result = ArrayBuffer.empty[InternalRow]
    LocalAnswer.foreachRow(reply.parts(0)) { row =>
      if (keep.forall(_.eval(row))) result += project(row).copy()
    }
    longMetric("numOutputRows").add(result.length)
    ScanMetrics.counts(reply.json.get("metrics")).foreach(m => longMetric(m.name()).add(m.value()))
    val execution = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(sparkContext, execution, metrics.values.toSeq)
    result.toArray
  }

  override protected def doExecute(): RDD[InternalRow] =
    if (rows.isEmpty) sparkContext.emptyRDD
    else sparkContext.parallelize(rows.toIndexedSeq, 1)
  override def executeCollect(): Array[InternalRow] = rows
  override def executeTake(n: Int): Array[InternalRow] = rows.take(n)
  override def executeTail(n: Int): Array[InternalRow] = rows.takeRight(n)
}

object LocalAnswer {
  /** Making code for the rows of a smaller answer takes longer than going without. */
  val FewBytes = 64 << 10

  /** Calls `use` with rows that are valid until it returns. */
  def foreachRow(stream: Array[Byte])(use: InternalRow => Unit): Unit = {
    val allocator = ArrowUtils.rootAllocator.newChildAllocator("indextables answer", 0, Long.MaxValue)
    val reader = new ArrowStreamReader(new ByteArrayInputStream(stream), allocator)
    try {
      val root = reader.getVectorSchemaRoot
      while (reader.loadNextBatch()) {
        val columns = root.getFieldVectors.asScala.map(v => new ArrowColumnVector(v): ColumnVector).toArray
        new ColumnarBatch(columns, root.getRowCount).rowIterator().asScala.foreach(use)
      }
    } finally {
      reader.close()
      allocator.close()
    }
  }
}
