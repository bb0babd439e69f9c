package org.apache.spark.sql.indextables

import java.util.Base64

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.sql.connector.expressions.{Literal => _, _}
import org.apache.spark.sql.connector.expressions.aggregate._
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Spark's V2 expressions as JSON; the files in tests/spark/golden pin the format. */
object Encoder {
  def all(expressions: Iterable[Expression]): ArrayNode = {
    val array = Rpc.mapper.createArrayNode()
    expressions.foreach(e => array.add(encode(e)))
    array
  }

  /** Runtime filters: the values are one list, or only counted if there are more than `most`. */
  def runtime(predicates: Iterable[Predicate], most: Int): ArrayNode = {
    val array = Rpc.mapper.createArrayNode()
    predicates.foreach { p =>
      p.children.toSeq match {
        case column +: (values @ (Literal(_, kind) +: _)) if p.name == "IN" =>
          val node = op("IN", Seq(column)).put("keys", values.length)
          node.set[ObjectNode]("type", typeOf(kind))
          if (values.length <= most) {
            val written = values.collect { case Literal(value, _) => literal(value, kind).get("lit") }
            if (!written.contains(null)) {
              val list = node.putArray("values")
              written.foreach(value => list.add(value))
            }
          }
          array.add(node)
        case _ => array.add(encode(p))
      }
    }
    array
  }

  private object Literal {
    def unapply(e: Expression): Option[(Any, DataType)] = e match {
      case l: org.apache.spark.sql.connector.expressions.Literal[_] => Some(l.value -> l.dataType)
      case _ => None
    }
  }

  def encode(expression: Expression): ObjectNode = expression match {
    case r: NamedReference =>
      val node = Rpc.json()
      val path = node.putArray("col")
      r.fieldNames.foreach(name => path.add(name))
      node
    case Literal(value, kind) => literal(value, kind)
    case c: Cast => op("CAST", Seq(c.expression)).set("type", typeOf(c.dataType))
    case x: Extract => op("EXTRACT", Seq(x.source)).put("field", x.field)
    case f: UserDefinedScalarFunc =>
      val clock = Clock.of(f.canonicalName).map(rules => LiteralValue(UTF8String.fromString(rules), StringType))
      op(f.name, f.children ++ clock)
    case g: GeneralScalarExpression if Search.names(g.name) =>
      op(g.name, g.children.map { case c: Cast => c.expression; case other => other })
    case g: GeneralScalarExpression => op(g.name, g.children)
    case s: SortOrder =>
      Rpc.json().set[ObjectNode]("expr", encode(s.expression)).put("asc", s.direction == SortDirection.ASCENDING)
        .put("nulls_first", s.nullOrdering == NullOrdering.NULLS_FIRST)
    case _: CountStar => Rpc.json().put("agg", "COUNT_STAR")
    case c: Count => aggregate("COUNT", c.children, c.isDistinct)
    case m: Min => aggregate("MIN", m.children, distinct = false)
    case m: Max => aggregate("MAX", m.children, distinct = false)
    case s: Sum => aggregate("SUM", s.children, s.isDistinct)
    case a: Avg => aggregate("AVG", a.children, a.isDistinct)
    case t: Transform => op(t.name, t.arguments)
    case other => op("UNKNOWN", other.children).put("class", other.getClass.getName)
  }

  private def op(name: String, args: Iterable[Expression]): ObjectNode =
    Rpc.json().put("op", name).set[ObjectNode]("args", all(args))

  private def aggregate(name: String, args: Iterable[Expression], distinct: Boolean): ObjectNode =
    Rpc.json().put("agg", name).put("distinct", distinct).set[ObjectNode]("args", all(args))

  /** Spark's JSON of a string type leaves the collation to the column's metadata, which is not sent. */
  def typeOf(dataType: DataType): JsonNode = dataType match {
    case s: StringType => Rpc.mapper.getNodeFactory.textNode(s.typeName)
    case other => Rpc.parse(other.json)
  }

  /** Values as the engine reads them: days, microseconds, decimals as strings, base64. */
  private def literal(value: Any, dataType: DataType): ObjectNode = {
    val node = Rpc.json().set[ObjectNode]("type", typeOf(dataType))
    value match {
      case null => node.putNull("lit")
      case v: java.lang.Boolean => node.put("lit", v)
      case v: java.lang.Byte => node.put("lit", v.longValue)
      case v: java.lang.Short => node.put("lit", v.longValue)
      case v: java.lang.Integer => node.put("lit", v.longValue)
      case v: java.lang.Long => node.put("lit", v.longValue)
      case v: java.lang.Float => double(node, v.doubleValue)
      case v: java.lang.Double => double(node, v)
      case v: Decimal => node.put("lit", v.toJavaBigDecimal.toPlainString)
      case v: UTF8String => string(node, v)
      case v: Array[Byte] => node.put("lit", Base64.getEncoder.encodeToString(v))
      case _ => node.put("op", "UNKNOWN").put("class", value.getClass.getName)
    }
  }

  /** Spark's strings may be any bytes; those of JSON are Unicode. */
  private def string(node: ObjectNode, value: UTF8String): ObjectNode = {
    val text = value.toString
    if (UTF8String.fromString(text).equals(value)) node.put("lit", text)
    else {
      node.putObject("lit").put("base64", Base64.getEncoder.encodeToString(value.getBytes))
      node
    }
  }

  private def double(node: ObjectNode, value: Double): ObjectNode =
    if (value.isNaN || value.isInfinite) node.put("lit", value.toString) else node.put("lit", value)
}
