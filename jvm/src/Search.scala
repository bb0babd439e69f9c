package org.apache.spark.sql.indextables

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{TypeCheckResult, UnresolvedAttribute}
import org.apache.spark.sql.catalyst.expressions.{Attribute, BinaryComparison, Cast, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{AbstractDataType, AnyDataType, DataType, NullType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * `column indexquery 'text'` and its siblings; `all` searches every column and `left` only says of
 * which table. Spark translates a BinaryComparison to a V2 predicate named after its operator, at any
 * depth of AND, OR and NOT, so it reaches the scan by the usual way. Spark cannot evaluate it: what
 * was not pushed down fails on the driver, and never answers wrongly.
 */
case class Search(operator: String, all: Boolean, left: Expression, right: Expression) extends BinaryComparison {
  override def sqlOperator: String = if (all) operator + "all" else operator
  override def symbol: String = sqlOperator
  override def sql: String = if (all) s"* $operator ${right.sql}" else s"${left.sql} $operator ${right.sql}"
  override def inputType: AbstractDataType = AnyDataType
  override def nullable: Boolean = false
  override def foldable: Boolean = false
  override def checkInputDataTypes(): TypeCheckResult =
    if (right.foldable && Search.isText(right.dataType)) TypeCheckResult.TypeCheckSuccess
    else TypeCheckResult.TypeCheckFailure(s"the right side of `$operator` must be a constant string")

  // whole-stage code is made on the driver: the query fails before any task starts
  override def doGenCode(context: CodegenContext, code: ExprCode): ExprCode = throw notPushed
  override def eval(row: InternalRow): Any = throw notPushed
  // a bound column has no name any more
  private def shown = left match {
    case column: Attribute => s"${column.name} $symbol ${right.sql}"
    case _ => s"$symbol ${right.sql}"
  }
  private def notPushed = new IndexTablesException(
    s"[SEARCH_NOT_PUSHED] `$shown` cannot be answered by an index here; hint: use it in WHERE, directly on a " +
      "column of an IndexTables table, and not on a cached DataFrame, in SELECT, CASE or HAVING, after an " +
      "aggregation, or in one OR with a condition that only Spark can compute")
  override protected def withNewChildrenInternal(l: Expression, r: Expression): Expression = copy(left = l, right = r)
}

object Search {
  val Operators: Seq[String] = Seq("indexquery", "textsearch", "fieldmatch")
  val names: Set[String] = Operators.flatMap(o => Seq(o, o + "all")).toSet

  /** NULL finds nothing, as any comparison with it. */
  def isText(kind: DataType): Boolean = kind.isInstanceOf[StringType] || kind == NullType

  def function(operator: String, all: Boolean)(arguments: Seq[Expression]): Expression = arguments match {
    case Seq(column, query) => Search(operator, all, column, query)
    case Seq(query) if all => Search(operator, all, UnresolvedAttribute(Seq(Names.AllFields)), query)
    case _ =>
      val form = if (all) s"${operator}all('query')" else s"$operator(column, 'query')"
      throw new IndexTablesException(s"[SQL_SYNTAX] `$form` is called with ${arguments.length} arguments")
  }
}

/** Search texts stay texts, and a search over all columns gets a column of the table it means. */
object ResolveSearch extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case node if node.childrenResolved && node.expressions.exists(_.exists(coerced)) =>
      node.transformExpressions {
        // Spark casts the text, and often the column too, to a type both fit: cast only the column, to text
        case s @ Search(_, _, left, c: Cast) if coerced(s) =>
          s.copy(left = Cast(bare(left), StringType), right = c.child)
      }
    case filter: Filter if filter.childrenResolved => filter.transformExpressions {
      case s @ Search(_, true, AllFields(qualifier), _) =>
        s.copy(left = column(filter.child, qualifier).getOrElse(throw new IndexTablesException(
          s"[SEARCH_NOT_PUSHED] `${s.sql}` does not say which table it means; hint: use it on one " +
            s"IndexTables table, or write `table.${Names.AllFields} ${s.operator} '...'`")))
      // the column may be given by its name: `indexquery('message', 'x')`
      case s @ Search(_, false, Literal(name: UTF8String, _), _) =>
        filter.child.resolveQuoted(name.toString, filter.conf.resolver).fold[Expression](
          s.copy(left = UnresolvedAttribute.quotedString(name.toString)))(column => s.copy(left = column))
    }
  }

  private def coerced(e: Expression): Boolean = e match {
    case Search(_, _, left, c: Cast) => left.resolved && c.child.dataType.isInstanceOf[StringType]
    case _ => false
  }

  private def bare(e: Expression): Expression = e match {
    case c: Cast => bare(c.child)
    case other => other
  }

  private object AllFields {
    def unapply(e: Expression): Option[Seq[String]] = e match {
      case u: UnresolvedAttribute if u.nameParts.last.equalsIgnoreCase(Names.AllFields) => Some(u.nameParts.init)
      case _ => None
    }
  }

  private def column(child: LogicalPlan, qualifier: Seq[String]): Option[Attribute] = {
    val tables = child.collect { case r: DataSourceV2Relation if r.table.isInstanceOf[IndexTable] => r.outputSet }
    def fits(a: Attribute) = qualifier.isEmpty ||
      (a.qualifier.length >= qualifier.length && a.qualifier.takeRight(qualifier.length).zip(qualifier)
        .forall { case (x, y) => x.equalsIgnoreCase(y) })
    val candidates = child.output.filter(a => fits(a) && tables.exists(_.contains(a)))
    val texts = candidates.filter(_.dataType.isInstanceOf[StringType])
    if (tables.count(t => candidates.exists(t.contains)) == 1) (texts ++ candidates).headOption else None
  }
}
