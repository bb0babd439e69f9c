package org.apache.spark.sql.indextables

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{TypeCheckResult, UnresolvedAttribute}
import org.apache.spark.sql.catalyst.expressions.{Attribute, BinaryComparison, Cast, Expression, Literal, StringRPad}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.types.{AbstractDataType, AnyDataType, DataType, NullType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * `column indexquery 'text'` and its siblings. With `all`, every column is searched, and `left` only tells of which
 * table. Spark translates a BinaryComparison to a V2 predicate named after its operator, at any depth of AND, OR and
 * NOT, so it reaches the scan like any predicate. Spark cannot evaluate it: a search that is not pushed down becomes a
 * function of rows (`MatchRows`) or fails on the driver, so it never gives a wrong answer. `source` is the table and the
 * column that `left` comes from, if known.
 */
case class Search(operator: String, all: Boolean, left: Expression, right: Expression,
    source: Option[(IndexTable, String)] = None) extends BinaryComparison {
  override def sqlOperator: String = if (all) operator + "all" else operator
  override def symbol: String = sqlOperator
  override def sql: String = if (all) s"* $operator ${right.sql}" else s"${left.sql} $operator ${right.sql}"
  override def inputType: AbstractDataType = AnyDataType
  override def nullable: Boolean = false
  override def foldable: Boolean = false
  override def checkInputDataTypes(): TypeCheckResult =
    if (!Search.isText(right.dataType))
      TypeCheckResult.TypeCheckFailure(s"the right side of `$operator` must be a string")
    else if (!right.foldable && !Compat.hasArrowFunctions)
      TypeCheckResult.TypeCheckFailure(s"the right side of `$operator` must be a constant before Spark 4.1")
    else TypeCheckResult.TypeCheckSuccess

  // code is generated on the driver: the query fails before any task starts
  override def doGenCode(context: CodegenContext, code: ExprCode): ExprCode = throw notPushed
  override def eval(row: InternalRow): Any = throw notPushed
  // a bound column has lost its name
  private def shown = left match {
    case column: Attribute => s"${column.name} $symbol ${right.sql}"
    case _ => s"$symbol ${right.sql}"
  }
  private def notPushed = new IndexTablesException(
    s"[SEARCH_NOT_PUSHED] `$shown` cannot be answered by an index here" + (
      if (all && Compat.hasArrowFunctions) "; hint: search one column by name, or filter before caching or aggregating"
      else "; hint: use it in WHERE, directly on a column of an IndexTables table, or use Spark 4.1 or newer"))
  override protected def withNewChildrenInternal(l: Expression, r: Expression): Expression =
    copy(left = unpadded(l, left), right = unpadded(r, right))

  /** Spark pads what is compared with a CHAR column, but a query is not a value. */
  private def unpadded(changed: Expression, before: Expression): Expression = changed match {
    case StringRPad(same, _, _) if same.fastEquals(before) => before
    case _ => changed
  }
}

object Search {
  val Operators: Seq[String] = Seq("indexquery", "textsearch", "fieldmatch")
  val names: Set[String] = Operators.flatMap(o => Seq(o, o + "all")).toSet

  /** NULL finds nothing, as in any comparison. */
  def isText(kind: DataType): Boolean = kind.isInstanceOf[StringType] || kind == NullType

  def function(operator: String, all: Boolean)(arguments: Seq[Expression]): Expression = arguments match {
    case Seq(column, query) => Search(operator, all, column, query)
    case Seq(query) if all => Search(operator, all, UnresolvedAttribute(Seq(Names.AllFields)), query)
    case _ =>
      val form = if (all) s"${operator}all('query')" else s"$operator(column, 'query')"
      throw new IndexTablesException(s"[SQL_SYNTAX] `$form` is called with ${arguments.length} arguments")
  }
}

/** Undoes casts of search strings, and gives a search of all columns a column of its table. */
object ResolveSearch extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case node if node.childrenResolved && node.expressions.exists(_.exists(coerced)) =>
      node.transformExpressions {
        // Spark casts both sides to a common type: cast only the column, to a string
        case s @ Search(_, _, left, c: Cast, _) if coerced(s) =>
          s.copy(left = Cast(Inputs.bare(left), StringType), right = c.child)
      }
    case node if node.childrenResolved && node.children.nonEmpty &&
        node.expressions.exists(_.exists(_.isInstanceOf[Search])) => node.transformExpressions {
      case s @ Search(_, true, AllFields(qualifier), _, _) =>
        s.copy(left = column(node.children, qualifier).getOrElse(throw new IndexTablesException(
          s"[SEARCH_NOT_PUSHED] `${s.sql}` does not say which table it means; hint: use it on one " +
            s"table, or write `table.${Names.AllFields} ${s.operator} '...'`")))
      // the column may be given as a string: `indexquery('message', 'x')`
      case s @ Search(_, false, Literal(name: UTF8String, _), _, _) =>
        node.children.flatMap(_.resolveQuoted(name.toString, node.conf.resolver)).headOption.fold[Expression](
          s.copy(left = UnresolvedAttribute.quotedString(name.toString)))(column => s.copy(left = column))
    }
  }

  private def coerced(e: Expression): Boolean = e match {
    case Search(_, _, left, c: Cast, _) => left.resolved && c.child.dataType.isInstanceOf[StringType]
    case _ => false
  }

  private object AllFields {
    def unapply(e: Expression): Option[Seq[String]] = e match {
      case u: UnresolvedAttribute if u.nameParts.last.equalsIgnoreCase(Names.AllFields) => Some(u.nameParts.init)
      case _ => None
    }
  }

  private def column(children: Seq[LogicalPlan], qualifier: Seq[String]): Option[Attribute] = {
    val tables = children.flatMap(_.collect {
      case relation if Reads.table(relation).isDefined => relation.outputSet
      case leaf if leaf.children.isEmpty && Companions.of(leaf).isDefined => leaf.outputSet
    })
    val output = children.flatMap(_.output)
    def fits(a: Attribute) = qualifier.isEmpty ||
      (a.qualifier.length >= qualifier.length && a.qualifier.takeRight(qualifier.length).zip(qualifier)
        .forall { case (x, y) => x.equalsIgnoreCase(y) })
    // without an IndexTables table, all columns are meant
    val ours = output.filter(a => tables.exists(_.contains(a)))
    val candidates = (if (ours.isEmpty && Compat.hasArrowFunctions) output else ours).filter(fits)
    // a search of a column that Spark pads cannot be pushed down
    val (padded, plain) = candidates.partition(a => CharVarcharUtils.getRawType(a.metadata).exists(Inputs.isPadded))
    val texts = plain.filter(_.dataType.isInstanceOf[StringType])
    if (tables.count(t => candidates.exists(t.contains)) <= 1) (texts ++ plain ++ padded).headOption else None
  }
}
