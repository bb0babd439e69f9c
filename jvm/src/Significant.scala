package org.apache.spark.sql.indextables

import java.util.{Collections, EnumSet}

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.{LocalScan, ScanBuilder}
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** `indextables_significant_terms`: the typical words of a search's rows, as a table. */
object SignificantTerms {
  val name = "indextables_significant_terms"
  private val Form = s"$name('table', 'column', 'query'[, limit[, 'condition']])"
  private val kinds = Seq("table" -> StringType, "column" -> StringType, "search" -> StringType, "limit" -> IntegerType,
    "where" -> StringType)
  private val required = Set("table", "column")

  def call(arguments: Seq[Expression]): LogicalPlan = {
    if (arguments.length < 3 || arguments.length > kinds.length)
      throw wrong(s"is called with ${arguments.length} arguments")
    val given = kinds.zip(arguments).map { case ((name, kind), argument) => name -> constant(name, kind, argument) }.toMap
    val request = target(given("table").toString)
    given.foreach {
      case ("table", _) | (_, null) => ()
      case (name, n: Integer) => request.put(name, n)
      case (name, text) => request.put(name, text.toString)
    }
    Compat.relation(new SignificantTerms(request), CaseInsensitiveStringMap.empty())
  }

  private def constant(name: String, kind: DataType, argument: Expression): Any = {
    val fits = kind match {
      case IntegerType => argument.dataType.isInstanceOf[IntegralType]
      case _ => Search.isText(argument.dataType)
    }
    if (!argument.foldable || !(fits || argument.dataType == NullType)) throw wrong(s"takes a constant ${kind.sql} as `$name`")
    val value = Cast(Literal(argument.eval(), argument.dataType), kind).eval()
    if (value == null && required(name)) throw wrong(s"needs a `$name`")
    if (Option(value).collect { case n: Int => n }.exists(_ < 1)) throw wrong("needs a limit of 1 or more")
    value
  }

  private def wrong(problem: String) = new IndexTablesException(s"[SQL_SYNTAX] `$Form` $problem")

  /** The table or view of this name in the session, or the table at this path. */
  private def target(text: String): ObjectNode = {
    val session = SparkSession.active.asInstanceOf[ClassicSession]
    val named = try Some(session.table(text).queryExecution.analyzed) catch { case _: AnalysisException => None }
    named match {
      case Some(plan) => OpenView.table(plan).map(r => r.table.asInstanceOf[IndexTable].request(r.options))
        .getOrElse(throw wrong(s"takes an IndexTables table, which `$text` is not"))
      case None => TableState.load(Collections.singletonMap("path", text)).existing.json.deepCopy()
    }
  }
}

/** Computed once by the planner process, when the query is planned. */
class SignificantTerms(request: ObjectNode) extends Table with SupportsRead {
  override def name(): String = SignificantTerms.name
  override def schema(): StructType = new StructType().add("word", StringType).add("rows", LongType)
    .add("all_rows", LongType).add("score", DoubleType)
  override def capabilities(): java.util.Set[TableCapability] = EnumSet.of(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new LocalScan {
    override def readSchema(): StructType = schema()
    override def description(): String = s"$name of the column ${request.get("column")}"
    override lazy val rows: Array[InternalRow] =
      LocalAnswer.rows(Rpc.call("significant_terms", request).parts(0)).toArray
  }
}
