package org.apache.spark.sql.indextables

import java.util.Base64

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import com.fasterxml.jackson.databind.util.RawValue

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
            val written = values.collect { case Literal(value, _) => valueOf(value) }
            if (!written.contains(null)) {
              val list = Rpc.mapper.createArrayNode()
              written.foreach(value => list.add(value))
              // as one text: requests are copied and compared as often as scans are
              node.putRawValue("values", new RawValue(list.toString))
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

  private def literal(value: Any, dataType: DataType): ObjectNode = {
    val node = Rpc.json().set[ObjectNode]("type", typeOf(dataType))
    valueOf(value) match {
      case null => node.put("op", "UNKNOWN").put("class", value.getClass.getName)
      case known => node.set[ObjectNode]("lit", known)
    }
  }

  private val nodes = Rpc.mapper.getNodeFactory

  /** Values as the engine reads them: days, microseconds, decimals as strings, base64; null for unknown ones. */
  private def valueOf(value: Any): JsonNode = value match {
    case null => nodes.nullNode()
    case v: java.lang.Boolean => nodes.booleanNode(v)
    case v @ (_: java.lang.Byte | _: java.lang.Short | _: java.lang.Integer | _: java.lang.Long) =>
      nodes.numberNode(v.asInstanceOf[Number].longValue)
    case v: java.lang.Float => double(v.doubleValue)
    case v: java.lang.Double => double(v)
    case v: Decimal => nodes.textNode(v.toJavaBigDecimal.toPlainString)
    case v: UTF8String => string(v)
    case v: Array[Byte] => nodes.textNode(Base64.getEncoder.encodeToString(v))
    case _ => null
  }

  /** Spark's strings may be any bytes; those of JSON are Unicode. */
  private def string(value: UTF8String): JsonNode = {
    val text = value.toString
    if (UTF8String.fromString(text).equals(value)) nodes.textNode(text)
    else Rpc.json().put("base64", Base64.getEncoder.encodeToString(value.getBytes))
  }

  private def double(value: Double): JsonNode =
    if (value.isNaN || value.isInfinite) nodes.textNode(value.toString) else nodes.numberNode(value)
}
