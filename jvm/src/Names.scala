package org.apache.spark.sql.indextables {
  import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, GetStructField}
  import org.apache.spark.sql.connector.expressions.{FieldReference, IdentityTransform, NamedReference, Transform}

  object Names {
    val Format = "indextables"
    val Keys = s"spark.$Format."
    val CompanionKeys = s"${Keys}companion."
    val Catalog = "spark.sql.catalog." + Format
    /** Prefix of function names in an older release of the existing implementation. */
    val LegacyPrefix = "tantivy4spark_"
    /** Before `indexquery` it means every searchable column. */
    val AllFields = "_indexall"

    /** A column by its name, which may contain any character; `Expressions.column` would parse it. */
    def column(name: String): NamedReference = FieldReference(Seq(name))
    def identity(name: String): Transform = IdentityTransform(FieldReference(Seq(name)))

    /** The path of a column or struct member; None for any other expression. */
    def path(e: Expression): Option[Seq[String]] = e match {
      case a: AttributeReference => Some(Seq(a.name))
      case g: GetStructField => path(g.child).map(_ :+ g.childSchema(g.ordinal).name)
      case _ => None
    }
  }
}

// The class names in configurations for the existing implementation.
package io.indextables.provider {
  class IndexTablesProvider extends org.apache.spark.sql.indextables.Provider
}
package io.indextables.catalog {
  class IndexTablesCatalog extends org.apache.spark.sql.indextables.SourceCatalog
}
package io.indextables.spark.catalog {
  class IndexTables4SparkCatalog extends org.apache.spark.sql.indextables.SourceCatalog
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
