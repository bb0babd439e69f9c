package org.apache.spark.sql.indextables

import java.lang.reflect.InvocationTargetException

import scala.util.Try

import org.apache.spark.{JobArtifactSet, SPARK_VERSION}
import org.apache.spark.api.python.PythonEvalType
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{DynamicPruningSubquery, EvalMode, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.{Expression => V2Expression, GeneralScalarExpression}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.write.DataWriterFactory
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.datasources.v2.python.{PythonBatchWriterFactory, UserDefinedPythonDataSource}
import org.apache.spark.sql.execution.python.ArrowPythonRunner
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The only place that knows the differences between Spark 4.0 and 4.3: one jar serves all. */
object Compat {
  /** The session UUID argument was added after 4.0. */
  def writerFactory(function: Array[Byte], schema: StructType): DataWriterFactory = {
    val constructor = classOf[PythonBatchWriterFactory].getConstructors.maxBy(_.getParameterCount)
    val artifacts = JobArtifactSet.getCurrentJobArtifactState.map(_.uuid)
    val arguments = Array[AnyRef](UserDefinedPythonDataSource(Interpreters.tasks), function, wire(schema), artifacts, None)
    constructor.newInstance(arguments.take(constructor.getParameterCount): _*).asInstanceOf[DataWriterFactory]
  }

  /** What a sum or an average does if it overflows: an argument of its own in 4.0, later part of one. */
  def evalMode(function: AggregateFunction): EvalMode.Value = {
    def parts(values: Iterator[Any]): Iterator[EvalMode.Value] = values.flatMap {
      case _: Expression => Iterator.empty
      case mode: Enumeration#Value => Iterator(mode.asInstanceOf[EvalMode.Value])
      case product: Product => parts(product.productIterator)
      case _ => Iterator.empty
    }
    parts(function.productIterator).next()
  }

  /** Table constraints were added in 4.1. */
  lazy val hasConstraints: Boolean =
    scala.util.Try(Class.forName("org.apache.spark.sql.connector.catalog.constraints.Constraint")).isSuccess

  /** Functions over Arrow arrays were added in 4.1; this is their eval type. */
  val ArrowFunction = 250
  lazy val hasArrowFunctions: Boolean =
    Try(PythonEvalType.getClass.getMethod("SQL_SCALAR_ARROW_UDF")).isSuccess

  /** The capabilities of IndexTables catalogs that this Spark knows. */
  lazy val capabilities: java.util.Set[TableCatalogCapability] = {
    val known = TableCatalogCapability.values().filter { c =>
      Set("SUPPORT_COLUMN_DEFAULT_VALUE", "SUPPORT_TABLE_CONSTRAINT")(c.name)
    }
    java.util.EnumSet.copyOf(java.util.Arrays.asList(known: _*))
  }

  /** `create` takes a time travel argument after 4.0. */
  def relation(table: Table, options: CaseInsensitiveStringMap, catalog: Option[CatalogPlugin] = None,
      name: Option[Identifier] = None): DataSourceV2Relation = {
    val create = DataSourceV2Relation.getClass.getMethods.filter { m =>
      m.getName == "create" && m.getParameterCount >= 4 &&
        m.getParameterTypes()(3) == classOf[CaseInsensitiveStringMap]
    }.maxBy(_.getParameterCount)
    val rest = Seq.fill[AnyRef](create.getParameterCount - 4)(None)
    create.invoke(DataSourceV2Relation, Seq[AnyRef](table, catalog, name, options) ++ rest: _*)
      .asInstanceOf[DataSourceV2Relation]
  }

  /** A catalog of the active session; CatalogManager is a class in 4.0 and an interface in 4.3. */
  def catalog(name: String): TableCatalog = {
    val manager = SparkSession.active.asInstanceOf[ClassicSession].sessionState.catalogManager
    val find = classOf[CatalogManager].getMethod("catalog", classOf[String])
    try find.invoke(manager, name).asInstanceOf[TableCatalog]
    catch { case e: InvocationTargetException => throw e.getCause }
  }

  /** Whether Spark can show a pushed predicate; 4.2.0 recurses endlessly on operator names it does not know. */
  def canShow(predicate: Predicate): Boolean = SPARK_VERSION != "4.2.0" || !holdsSearch(predicate)

  private def holdsSearch(e: V2Expression): Boolean = (e match {
    case g: GeneralScalarExpression => Search.names(g.name)
    case _ => false
  }) || e.children.exists(holdsSearch)

  /** A copy with one argument replaced, however many arguments the class has in this Spark. */
  def replaceArgument(plan: LogicalPlan, from: AnyRef, to: AnyRef): LogicalPlan =
    plan.makeCopy(plan.productIterator.map { a =>
      val argument = a.asInstanceOf[AnyRef]
      if (argument eq from) to else argument
    }.toArray)

  /** A runtime filter by the keys of the other side of a join; Spark 4.3 has one more, optional, argument. */
  def pruning(key: Expression, other: LogicalPlan, otherKeys: Seq[Expression], at: Int,
      onlyInBroadcast: Boolean = true): DynamicPruningSubquery = {
    val constructor = classOf[DynamicPruningSubquery].getConstructors.maxBy(_.getParameterCount)
    val arguments = Seq[AnyRef](key, other, otherKeys, Seq(at), Boolean.box(onlyInBroadcast), NamedExpression.newExprId)
    val rest = Seq.fill[AnyRef](constructor.getParameterCount - arguments.length)(None)
    constructor.newInstance(arguments ++ rest: _*).asInstanceOf[DynamicPruningSubquery]
  }

  /** The capability of a table whose schema may evolve; Spark 4.0 does not have it. */
  val evolution: Option[TableCapability] = TableCapability.values.find(_.name == "AUTOMATIC_SCHEMA_EVOLUTION")

  private val asks = Try(Class.forName("org.apache.spark.sql.connector.catalog.SupportsSchemaEvolution")).isSuccess

  /** The table as one whose schema may evolve; newer versions of Spark ask it which changes it supports. */
  def evolving(table: IndexTable): IndexTable =
    if (asks) AskedTable.of(table)
    else if (hasConstraints) Constraints.table(table.state, table.given, writable = true, evolving = true)
    else new IndexTable(table.state, table.given, writable = true, evolving = true)

  /** Whether a statement says WITH SCHEMA EVOLUTION; INSERT can since 4.2. */
  def evolves(plan: LogicalPlan): Boolean =
    plan.getClass.getMethods.find(m => m.getName == "withSchemaEvolution" && m.getParameterCount == 0)
      .exists(_.invoke(plan) == java.lang.Boolean.TRUE)

  /** `AppendData.byName` and its siblings gain arguments with defaults between versions. */
  def byName(companion: AnyRef, arguments: AnyRef*): LogicalPlan = {
    val method = companion.getClass.getMethods.filter(_.getName == "byName").maxBy(_.getParameterCount)
    val defaults = (arguments.length until method.getParameterCount).map { i =>
      companion.getClass.getMethod(s"byName$$default$$${i + 1}").invoke(companion)
    }
    method.invoke(companion, arguments ++ defaults: _*).asInstanceOf[LogicalPlan]
  }

  /** A runner of Arrow batches; its last arguments differ between versions and are all optional. */
  def arrowRunner(arguments: AnyRef*): ArrowPythonRunner = {
    val constructor = classOf[ArrowPythonRunner].getConstructors.head
    val rest = Seq.fill(constructor.getParameterCount - arguments.length)(None)
    constructor.newInstance(arguments ++ rest: _*).asInstanceOf[ArrowPythonRunner]
  }

  /** The types of rows on their way to and from Python: pyarrow has no year-month interval. */
  def wire(schema: StructType): StructType = wireType(schema).asInstanceOf[StructType]

  def wireType(dataType: DataType): DataType = dataType match {
    case s: StructType => StructType(s.map(f => f.copy(dataType = wireType(f.dataType))))
    case a: ArrayType => a.copy(elementType = wireType(a.elementType))
    case m: MapType => m.copy(keyType = wireType(m.keyType), valueType = wireType(m.valueType))
    case _: YearMonthIntervalType => IntegerType
    case _: StringType => StringType
    case u: UserDefinedType[_] => wireType(u.sqlType)
    case other => other
  }
}
