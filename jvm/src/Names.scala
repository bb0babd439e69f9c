package org.apache.spark.sql.indextables {
  import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, GetStructField}
  import org.apache.spark.sql.connector.expressions.{FieldReference, IdentityTransform, NamedReference, Transform}

  object Names {
    val Format = "indextables"
    val Keys = s"spark.$Format."
    val CompanionKeys = s"${Keys}companion."
    val Catalog = "spark.sql.catalog." + Format
    /** In front of the names of functions, as an older release of the existing implementation has them. */
    val LegacyPrefix = "tantivy4spark_"
    /** Before `indexquery` it means every searchable column. */
    val AllFields = "_indexall"

    /** A column by its bare name, which may hold any character; `Expressions.column` would parse it. */
    def column(name: String): NamedReference = FieldReference(Seq(name))
    def identity(name: String): Transform = IdentityTransform(FieldReference(Seq(name)))

    /** The names that lead to a column or a member of a struct; None of any other expression. */
    def path(e: Expression): Option[Seq[String]] = e match {
      case a: AttributeReference => Some(Seq(a.name))
      case g: GetStructField => path(g.child).map(_ :+ g.childSchema(g.ordinal).name)
      case _ => None
    }
  }
}

// The names users of the existing implementation write in their configuration.
package io.indextables.provider {
  class IndexTablesProvider extends org.apache.spark.sql.indextables.Provider
}
package io.indextables.spark.core {
  class IndexTables4SparkTableProvider extends org.apache.spark.sql.indextables.Provider
}
package io.indextables.extensions {
  class IndexTablesSparkExtensions extends org.apache.spark.sql.indextables.Extensions
}
package io.indextables.spark.extensions {
  class IndexTables4SparkExtensions extends org.apache.spark.sql.indextables.Extensions
}
