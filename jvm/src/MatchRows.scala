package org.apache.spark.sql.indextables

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.api.python.SimplePythonFunction
import org.apache.spark.sql.catalyst.expressions.{Predicate => _, _}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.catalyst.util.V2ExpressionBuilder
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.types._
import org.apache.spark.util.ArrayImplicits._

/**
 * Searches that no index can answer: in SELECT, CASE, HAVING, FILTER, in conditions that only Spark can compute, with a
 * query from another table, or on rows of other formats. The engine matches the rows of each batch by the same rules, in
 * Spark's Python workers. Searches that may still be pushed down remember their table, for `MatchLeftRows`.
 */
object MatchRows extends Rule[LogicalPlan] with PredicateHelper {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!Compat.hasArrowFunctions) plan else matched(plan, Ctes.of(plan))

  private def matched(plan: LogicalPlan, ctes: Ctes): LogicalPlan = plan.resolveOperatorsUp {
    case command: Command => command
    case node if node.resolved => below(node, ctes) match {
      case done if !searches(done) || done.children.exists(ctes.misses) => done
      case filter: Filter => filter.copy(condition = conjuncts(filter.condition, filter.child, ctes))
      case join: Join => join.copy(condition = join.condition.map(conjuncts(_, join, ctes)))
      case other => other.transformExpressions { case s: Search => RowMatch(s, inputs(other, ctes)) }
    }
  }

  private def searches(node: LogicalPlan) = node.expressions.exists(_.exists(_.isInstanceOf[Search]))

  /** A subquery is analyzed before the common table expressions that it names are known: here they are. */
  private def below(node: LogicalPlan, ctes: Ctes): LogicalPlan =
    if (ctes.isEmpty) node
    else node.transformExpressions { case s: SubqueryExpression => s.withNewPlan(matched(s.plan, ctes)) }

  private def conjuncts(condition: Expression, child: LogicalPlan, ctes: Ctes): Expression = {
    val input = child match {
      case join: Join => inputs(join, ctes)
      case other => Inputs(other.output, Seq(other), ctes)
    }
    val limited = input.plans.exists(input.ctes.limits)
    // a search that is left to `MatchLeftRows` may have lost the other columns
    val varied = input.plans.exists(input.ctes.varies)
    val parts = splitConjunctivePredicates(condition).map { part =>
      def namesOthers = part.exists { case s: Search => !RowMatch.alone(s); case _ => false }
      if (!limited && !(varied && namesOthers) && mayBePushed(part, input))
        part.transform { case s: Search => s.copy(source = input.source(s)) }
      else byRow(part, input)
    }
    parts.reduce(And(_, _))
  }

  private def byRow(part: Expression, input: Inputs) = part.transform { case s: Search => RowMatch(s, input) }

  /**
   * A condition right above a table, which will be offered to it. The session may have another time zone than when the
   * plan was made, for instance by a view.
   */
  def offeredNow(condition: Expression, table: LogicalPlan): Expression = {
    val input = Inputs(table.output, Seq(table))
    splitConjunctivePredicates(condition).map { part =>
      val crosses = part.exists { case c: Cast => KeepComputed.dependsOnZone(c); case _ => false }
      if (crosses && !mayBePushed(part, input)) byRow(part, input) else part
    }.reduce(And(_, _))
  }

  private def inputs(node: LogicalPlan, ctes: Ctes) = Inputs(node.children.flatMap(_.output), node.children, ctes)

  /** Whether a condition is about one IndexTables table only, and its index answers it. */
  private def mayBePushed(part: Expression, input: Inputs): Boolean = {
    val searches = part.collect { case s: Search => s }
    val tables = part.references.toSeq.map(input.origin(_).map(_._1)).distinct
    searches.isEmpty || (tables.length == 1 && searches.forall(s => s.right.foldable && isIndexed(s, input)) &&
      tables.head.exists(table => onlySearches(part) || answers(table, part, input)))
  }

  /**
   * Whether a search is of a column or struct member, but not of a partition column, whose values only the log has, nor
   * of a column that Spark pads.
   */
  private def isIndexed(search: Search, input: Inputs): Boolean = {
    val column = input.source(search)
    def partition = column.exists { case (table, name) => table.state.partitionColumns.contains(name) }
    def padded = column.exists { case (table, name) =>
      table.schema().exists(c => c.name == name && Inputs.isPadded(c.dataType))
    }
    !padded && (search.all || (Names.path(Inputs.bare(search.left)).isDefined && !partition))
  }

  private def onlySearches(e: Expression): Boolean = e match {
    case And(l, r) => onlySearches(l) && onlySearches(r)
    case Or(l, r) => onlySearches(l) && onlySearches(r)
    case Not(inner) => onlySearches(inner)
    case other => other.isInstanceOf[Search]
  }

  /** Whether the table's index answers a condition, written with the table's own column names. */
  private def answers(table: IndexTable, part: Expression, input: Inputs): Boolean = {
    val named = offered(part).transform {
      case a: AttributeReference => input.origin(a).fold(a)(origin => a.withName(origin._2))
    }
    new V2ExpressionBuilder(KeepComputed.inValue(named), true).build().collect { case p: Predicate => p }.exists { predicate =>
      val request = table.state.json.deepCopy()
      request.set[ObjectNode]("predicates", Encoder.all(Seq(predicate)))
      Rpc.call("push", request).json.get("pushed").get(0).asText == "exact"
    }
  }

  /** The condition in the shape that the optimizer will give it: constants folded, predicates as in `MakePushable`. */
  private def offered(part: Expression): Expression = part.transformDown {
    case e if e.foldable && e.dataType == BooleanType => Literal.TrueLiteral
    case l: Literal => l
    case e if e.foldable => Literal.create(null, e.dataType)
    case Like(l, r, _) => EqualTo(l, r)
    case RLike(l, r) => EqualTo(l, r)
    case a: ArrayContains => IsNotNull(a.left)
  }
}

/** Searches that Spark did not push down to an IndexTables table: on cached rows, after an aggregation or a limit, in a stream. */
object MatchLeftRows extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!Compat.hasArrowFunctions) plan
    else plan.transformUpWithSubqueries {
      case filter @ Filter(condition, table) if Reads.table(table).isDefined =>
        filter.copy(condition = MatchRows.offeredNow(condition, table))
      // the condition of a DELETE, UPDATE or MERGE, which its plan computes
      case command: Command => command
      // what the read of an optimized subquery has been offered
      case read if read.children.isEmpty => read
      case node if node.expressions.exists(_.exists(_.isInstanceOf[Search])) => node.transformExpressions {
        case s: Search if !s.all => RowMatch(s, Inputs(s.references.toSeq, Nil))
      }
    }
}

/** The common table expressions that a plan defines. */
case class Ctes(plans: Map[Long, LogicalPlan]) {
  def isEmpty: Boolean = plans.isEmpty
  /** A recursive one has rows of every step: they come from no single table. */
  def plan(ref: CTERelationRef): Option[LogicalPlan] = if (ref.recursive) None else plans.get(ref.cteId)

  /** Whether a plan names one that is defined elsewhere. */
  def misses(in: LogicalPlan): Boolean = in.exists {
    case ref: CTERelationRef => !ref.recursive && plan(ref).isEmpty
    case _ => false
  }

  /** Whether rows are counted off, so that no condition above may be pushed down. */
  def limits(above: LogicalPlan): Boolean = below(above) {
    case _: GlobalLimit | _: LocalLimit | _: Offset | _: Tail => true
    case _ => false
  }

  /** Whether rows get values as `rand()`: Spark moves no condition below them, unless nothing uses the values. */
  def varies(above: LogicalPlan): Boolean = below(above) {
    case project: Project => !project.projectList.forall(_.deterministic)
    case _ => false
  }

  private def below(above: LogicalPlan)(found: LogicalPlan => Boolean): Boolean = found(above) || (above match {
    case ref: CTERelationRef => plan(ref).exists(below(_)(found))
    case unary: UnaryNode => below(unary.child)(found)
    case _ => false
  })
}

object Ctes {
  def of(plan: LogicalPlan): Ctes = Ctes(plan.collectWithSubqueries { case d: CTERelationDef => d.id -> d.child }.toMap)
}

/** The columns that an expression may name, and where they come from. */
case class Inputs(columns: Seq[Attribute], plans: Seq[LogicalPlan], ctes: Ctes = Ctes(Map.empty)) {
  /** The IndexTables table of a column, and its name there. */
  def origin(column: Attribute): Option[(IndexTable, String)] =
    plans.iterator.flatMap(Inputs.origin(_, column, ctes)).nextOption()

  def source(search: Search): Option[(IndexTable, String)] =
    search.source.orElse(Inputs.place(search.left).flatMap { case (column, _) => origin(column) })
}

object Inputs {
  def bare(e: Expression): Expression = e match {
    case c: Cast => bare(c.child)
    case other => other
  }

  def column(e: Expression): Option[Attribute] = Some(bare(e)).collect { case a: Attribute => a }

  /** The column that an expression is or lies inside of, and the names on the way to it, as an index has them. */
  def place(e: Expression): Option[(Attribute, Seq[String])] = {
    def inside(child: Expression, name: Option[Any]) =
      place(child).map { case (column, path) => column -> (path ++ name.map(_.toString)) }
    e match {
      case c: Cast => place(c.child)
      case a: Attribute => Some(a -> Nil)
      case g: GetStructField => inside(g.child, Some(g.childSchema(g.ordinal).name))
      case g: GetArrayStructFields => inside(g.child, Some(g.field.name))
      case GetMapValue(child, key) if key.foldable => inside(child, Some(key.eval()))
      case ElementAt(child, key, _, _) if child.dataType.isInstanceOf[MapType] && key.foldable =>
        inside(child, Some(key.eval()))
      case GetArrayItem(child, _, _) => inside(child, None)
      case ElementAt(child, _, _, _) => inside(child, None)
      case _ => None
    }
  }

  /** The column that an expression is; permanent views cast every column to its own type, and Spark pads CHAR. */
  private def itself(e: Expression): Option[Attribute] = e match {
    case c: Cast if c.dataType == c.child.dataType => itself(c.child)
    case a: Attribute => Some(a)
    case padded if padded.exists(pads) => padded.references.toSeq match {
      case Seq(only) if only.dataType == padded.dataType => Some(only)
      case _ => None
    }
    case _ => None
  }

  private def pads(e: Expression): Boolean = e match {
    case call: StaticInvoke => call.functionName == "readSidePadding"
    case _ => false
  }

  /** Whether Spark pads values of a type when it reads them, also inside of others. */
  def isPadded(kind: DataType): Boolean = kind.existsRecursively(_.isInstanceOf[CharType])

  private def origin(plan: LogicalPlan, column: Attribute, ctes: Ctes): Option[(IndexTable, String)] = {
    def below(c: Attribute) = plan.children.iterator.flatMap(origin(_, c, ctes)).nextOption()
    def at(output: Seq[Attribute], child: LogicalPlan) = output.indexWhere(_.exprId == column.exprId) match {
      case -1 => None
      case place => child.output.lift(place).flatMap(origin(child, _, ctes))
    }
    def renamed(list: Seq[NamedExpression]) =
      list.collectFirst { case a: Alias if a.exprId == column.exprId => itself(a.child) }.flatten
    def own(table: IndexTable) = plan.output.find(_.exprId == column.exprId).map(a => table -> a.name)
    plan match {
      case s: StreamingRelationV2 => Some(s.table).collect { case t: IndexTable => t }.flatMap(own)
      case ref: CTERelationRef => ctes.plan(ref).flatMap(at(ref.output, _))
      case leaf if leaf.children.isEmpty => Reads.table(leaf).orElse(Companions.of(leaf)).flatMap(own)
      case p: Project => below(renamed(p.projectList).getOrElse(column))
      case a: Aggregate => below(renamed(a.aggregateExpressions).getOrElse(column))
      case u: Union => at(u.output, u.children.head)
      case other => below(column)
    }
  }
}

/** A search as a function of rows, computed by the engine. */
object RowMatch {
  def apply(search: Search, input: Inputs): Expression = {
    val source = input.source(search)
    val place = Inputs.place(search.left)
    val searched = place.fold(search.left)(_ => Inputs.bare(search.left))
    val columns = others(search, input, source).filterNot { case (_, c) => c.semanticEquals(searched) }
    val path = place.fold(Seq("value")) { case (column, members) => source.fold(column.name)(_._2) +: members }
    val all = ((path.mkString(".") -> searched) +: columns).distinctBy(_._1)
    val request = source.map(_._1.state.json.deepCopy()).getOrElse(Rpc.json())
    val described = request.putArray("columns")
    all.foreach { case (name, column) =>
      described.addObject().put("name", name).set[ObjectNode]("type", Encoder.typeOf(Compat.wireType(column.dataType)))
    }
    request.put("operator", search.operator).put("table", source.isDefined)
    if (!search.all) path.foldLeft(request.putArray("field"))(_.add(_))
    if (search.right.foldable) Option(search.right.eval()).foreach(q => request.put("search", q.toString))
    request.put(ReadCalls.Now, ReadCalls.now())
    val call = EngineFunction(search.operator + EngineFunction.OnRows, Rpc.call("matcher", request).parts(0), BooleanType,
      all.map(_._2) :+ search.right)
    Coalesce(Seq(call, Literal.FalseLiteral))
  }

  /** Whether the query names no other column. */
  def alone(search: Search): Boolean = !search.all && search.right.foldable &&
    Option(search.right.eval()).forall(q => !q.toString.contains(':'))

  /** Columns that the query may name: those of the same table, or of the same rows. */
  private def others(search: Search, input: Inputs, source: Option[(IndexTable, String)]): Seq[(String, Attribute)] = {
    if (alone(search)) Nil
    else input.columns.filter(c => searchable(c.dataType)).flatMap { c =>
      source match {
        case None => Some(c.name -> c)
        case Some((table, _)) => input.origin(c).collect { case (t, name) if t eq table => name -> c }
      }
    }
  }

  private def searchable(kind: DataType): Boolean = kind match {
    case _: BinaryType => false
    case _: AtomicType | _: StructType | _: ArrayType | _: MapType => true
    case _ => false
  }
}

/** A function that the engine computes in Spark's Python workers, batch by batch; Python pickled it. */
object EngineFunction {
  val OnRows = " on rows"

  /** Whether an expression is a search that the engine matches with rows. */
  def matchesRows(e: Expression): Boolean = e match {
    case f: PythonUDF => f.name.endsWith(OnRows) && f.evalType == Compat.ArrowFunction
    case _ => false
  }

  def apply(name: String, pickled: Array[Byte], result: DataType, arguments: Seq[Expression]): Expression = {
    val function = Interpreters.tasks.asInstanceOf[SimplePythonFunction].copy(command = pickled.toImmutableArraySeq)
    PythonUDF(name, function, result, arguments, Compat.ArrowFunction, udfDeterministic = true)
  }
}
