package org.apache.spark.sql.indextables

import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types._

/**
 * `indextables_analyze(text)`, `indextables_analyze(text, 'tokenizer')` and `indextables_analyze(text, column)`: the tokens
 * of a text. `by` is the name of a tokenizer or a column of an IndexTables table; without it `text` may be such a column.
 */
case class TextTokens(children: Seq[Expression]) extends Unevaluable {
  def text: Expression = children.head
  def by: Option[Expression] = children.lift(1)
  override def prettyName: String = TextTokens.name
  override def nullable: Boolean = true
  override def dataType: DataType = TextTokens.result
  override def checkInputDataTypes(): TypeCheckResult =
    if (!Search.isText(text.dataType)) TypeCheckResult.TypeCheckFailure("the text must be a string")
    else if (!Compat.hasArrowFunctions) TypeCheckResult.TypeCheckFailure(s"`$prettyName` needs Spark 4.1 or newer")
    else TypeCheckResult.TypeCheckSuccess
  override protected def withNewChildrenInternal(changed: IndexedSeq[Expression]): Expression = copy(children = changed)
}

object TextTokens {
  val name = "indextables_analyze"
  private val Form = s"$name(text[, 'tokenizer' or column])"
  val result: DataType = ArrayType(new StructType().add("text", StringType).add("position", IntegerType)
    .add("start", IntegerType).add("end", IntegerType))

  def call(arguments: Seq[Expression]): Expression =
    if (arguments.length == 1 || arguments.length == 2) TextTokens(arguments)
    else throw new IndexTablesException(s"[SQL_SYNTAX] `$Form` is called with ${arguments.length} arguments")

  /** Call the analyzer of a column of an IndexTables table, or a tokenizer by its name. */
  def function(call: TextTokens, input: Inputs): Expression = {
    val column = Inputs.column(call.by.getOrElse(call.text)).flatMap(input.origin)
    val request = column.fold(Rpc.json())(_._1.state.json.deepCopy())
    (column, call.by) match {
      case (Some((_, named)), _) => request.put("column", named)
      case (None, None) => request.put("tokenizer", "default")
      case (None, Some(by)) if by.foldable && Search.isText(by.dataType) && by.eval() != null =>
        request.put("tokenizer", by.eval().toString)
      case _ => throw new IndexTablesException(s"[SQL_SYNTAX] the second argument of `$Form` must be the name of a " +
        "tokenizer, or a column of an IndexTables table")
    }
    EngineFunction(name, Rpc.call("analyzer", request).parts(0), result, Seq(call.text))
  }
}

/** The engine computes the tokens, in Spark's Python workers. */
object AnalyzeTexts extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case node if node.resolved && node.expressions.exists(_.exists(_.isInstanceOf[TextTokens])) =>
      val input = Inputs(node.children.flatMap(_.output), node.children)
      node.transformExpressions { case call: TextTokens => TextTokens.function(call, input) }
  }
}
