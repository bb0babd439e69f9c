package org.apache.spark.sql.indextables

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{RelationTimeTravel, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{Alias, Cast, Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, OneRowRelation, Project, SubqueryAlias}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{Dataset, SparkSession => ClassicSession}
import org.apache.spark.sql.connector.catalog.{CatalogV2Util, LookupCatalog, TableCatalog}
import org.apache.spark.sql.types.TimestampType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * `name VERSION AS OF n` of a table in Spark's session catalog: that catalog has no versions, so the table is opened
 * here, at the requested version. Also a path at a timestamp that is computed: Spark takes it for a file before it knows
 * the timestamp.
 */
case class TravelByName(session: SparkSession) extends Rule[LogicalPlan] with LookupCatalog {
  private def classic = session.asInstanceOf[ClassicSession]
  override protected lazy val catalogManager = classic.sessionState.catalogManager

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case travel @ RelationTimeTravel(name: UnresolvedRelation, timestamp, version) =>
      table(name, timestamp.exists(!_.resolved)).fold[LogicalPlan](travel) { table =>
        val at = version.map("versionAsOf" -> _) ++ timestamp.map("timestampAsOf" -> instant(_))
        val properties = (table.given.asScala ++ at).asJava
        val opened = IndexTable(TableState.load(properties).existing, properties, writable = false)
        SubqueryAlias(name.multipartIdentifier, Compat.relation(opened, CaseInsensitiveStringMap.empty()))
      }
    case other => other.transformExpressions { case s: SubqueryExpression => s.withNewPlan(apply(s.plan)) }
  }

  private def table(name: UnresolvedRelation, computed: Boolean): Option[IndexTable] = name.multipartIdentifier match {
    case CatalogAndIdentifier(catalog: TableCatalog, id)
        if CatalogV2Util.isSessionCatalog(catalog) || (computed && catalog.isInstanceOf[PathCatalog]) =>
      scala.util.Try(catalog.loadTable(id)).toOption.collect { case found: IndexTable => found }
    case _ => None
  }

  /** The value of a timestamp expression that needs no table. */
  private def instant(expression: Expression): String = {
    val cast = Cast(expression, TimestampType, Some(classic.sessionState.conf.sessionLocalTimeZone))
    val row = Project(Seq(Alias(cast, "timestamp")()), OneRowRelation())
    val found = Dataset.ofRows(classic, row).collect().head
    if (found.isNullAt(0)) throw new IndexTablesException(s"[TIMESTAMP_INVALID] `${expression.sql}` is not a valid timestamp")
    found.get(0) match {
      case t: java.sql.Timestamp => t.toInstant.toString
      case t: java.time.Instant => t.toString
    }
  }
}
