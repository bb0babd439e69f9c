package org.apache.spark.sql.indextables

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SubqueryAlias, UnaryNode, View}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * Makes the metadata columns of a table visible through a temporary view (`createOrReplaceTempView`). Spark's View node
 * hides them and must stay in the plan, because Spark collects from it the temporary views that a new view refers to.
 * So this node is put above the view and its aliases while names are resolved.
 */
case class OpenView(child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override def metadataOutput: Seq[Attribute] = {
    val qualifier = child match {
      case SubqueryAlias(name, _) => name.qualifier :+ name.name
      case _ => Nil
    }
    OpenView.table(child).toSeq.flatMap(_.metadataOutput).map(_.withQualifier(qualifier))
  }
  override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan = copy(child = newChild)
}

object OpenView {
  def table(plan: LogicalPlan): Option[DataSourceV2Relation] = plan match {
    case r: DataSourceV2Relation if r.table.isInstanceOf[IndexTable] => Some(r)
    case view: View if view.isTempViewStoringAnalyzedPlan => table(view.child)
    case SubqueryAlias(_, child) => table(child)
    case OpenView(child) => table(child)
    case _ => None
  }
}

object OpenViews extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case node @ (_: OpenView | _: SubqueryAlias) => node
    case node if node.children.exists(isOpenable) =>
      node.mapChildren { case child if isOpenable(child) => OpenView(child); case other => other }
  }
  private def isOpenable(plan: LogicalPlan): Boolean = plan match {
    case view: View => OpenView.table(view).isDefined
    case SubqueryAlias(_, child) => isOpenable(child)
    case _ => false
  }
}

object CloseViews extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators { case OpenView(child) => child }
}
