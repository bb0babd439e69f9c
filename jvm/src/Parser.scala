package org.apache.spark.sql.indextables

import java.lang.reflect.{InvocationTargetException, Method, Proxy}

import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.internal.SQLConf

/** Spark's parser with our words in front; a proxy, because the interface differs between versions. */
object Parser {
  private val plans = Set("parsePlan", "parsePlanWithParameters")
  private val texts = plans ++ Set("parseQuery", "parseExpression")

  def wrap(delegate: ParserInterface): ParserInterface =
    Proxy.newProxyInstance(getClass.getClassLoader, Array(classOf[ParserInterface]),
      (_: Any, method: Method, arguments: Array[AnyRef]) => invoke(delegate, method, arguments))
      .asInstanceOf[ParserInterface]

  private def invoke(delegate: ParserInterface, method: Method, arguments: Array[AnyRef]): AnyRef = {
    nameCatalog()
    val rewritten = arguments match {
      case Array(text: String, rest @ _*) if texts(method.getName) =>
        val tokens = Sql.tokens(text)
        if (plans(method.getName) && Sql.isCommand(tokens)) return Command(text)
        Sql.rewrite(text, tokens) +: rest
      case null => Nil
      case other => other.toSeq
    }
    try method.invoke(delegate, rewritten: _*)
    catch { case e: InvocationTargetException => throw e.getCause }
  }

  /** Tables by path need a catalog of that name in the session. */
  private def nameCatalog(): Unit = {
    val conf = SQLConf.get
    if (!conf.contains(Names.Catalog)) conf.setConfString(Names.Catalog, classOf[PathCatalog].getName)
  }
}

/** Just enough of SQL's words to find our operators and commands, never inside literals or comments. */
object Sql {
  private val Token = ("""(?s)[rR]?'(?:[^'\\]|\\.|'')*'|[rR]?"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`""" +
    """|--[^\r\n]*|/\*.*?\*/|[\p{L}\p{N}_]+|\s+|.""").r
  private val product = Set("INDEXTABLES", "TANTIVY4SPARK")
  private val verbs = Set("DESCRIBE", "DESC", "DROP", "FLUSH", "INVALIDATE", "PREWARM", "CHECKPOINT", "COMPACT",
    "TRUNCATE", "BUILD", "SET", "UNSET", "ENABLE", "DISABLE", "RESET", "RESTORE", "SHOW")
  // these two words are enough; behind the other verbs a table or key of the product's name may stand
  private val whole = Set("CHECKPOINT", "COMPACT", "RESTORE")
  // a word before the operator that can not be a column: then the operator's name is a column itself
  private val keywords = Set("SELECT", "WHERE", "AND", "OR", "NOT", "ON", "HAVING", "WHEN", "THEN", "ELSE", "CASE",
    "BY", "DISTINCT", "FROM", "JOIN", "IN", "LIKE", "AS", "IS", "BETWEEN", "FILTER", "QUALIFY", "USING", "LIMIT")

  def tokens(text: String): IndexedSeq[String] = Token.findAllIn(text).toIndexedSeq
  private def blank(token: String) = token.trim.isEmpty || token.startsWith("--") || token.startsWith("/*")
  private def word(token: String) = Character.isLetterOrDigit(token.codePointAt(0)) || token(0) == '_'
  private def name(token: String) = token(0) == '`' || (word(token) && !literal(token))
  private def literal(token: String) = token.endsWith("'") || token.endsWith("\"")

  def isCommand(tokens: IndexedSeq[String]): Boolean = {
    val head = tokens.iterator.filterNot(blank).take(3).map(_.toUpperCase).toSeq
    head match {
      case Seq("MERGE", "SPLITS", _*) | Seq("PURGE", "INDEXTABLE", _*) | Seq("REPAIR", "INDEXFILES", _*) => true
      case Seq("WAIT", "FOR", third) => product(third)
      case Seq(verb, second, _*) if whole(verb) => product(second)
      case Seq(verb, second, third) => verbs(verb) && product(second) && word(third)
      case _ => false
    }
  }

  /** `a.b indexquery 'x'` becomes `indexquery(a.b, 'x')`, `* indexquery 'x'` becomes `indexqueryall('x')`. */
  def rewrite(text: String, tokens: IndexedSeq[String]): String =
    if (!tokens.exists(operator(_).isDefined)) text
    else {
      var done = Vector.empty[String]
      var i = 0
      while (i < tokens.length) {
        val call = for {
          op <- operator(tokens(i))
          end <- operand(tokens, i + 1)
          (start, left) <- subject(done)
        } yield (start, end, render(op, left, tokens.slice(i + 1, end).mkString.trim))
        call match {
          case Some((start, end, rendered)) => done = done.take(start) :+ rendered; i = end
          case None => done = done :+ tokens(i); i += 1
        }
      }
      done.mkString
    }

  private def operator(token: String): Option[String] = Search.Operators.find(token.equalsIgnoreCase)

  private def render(op: String, left: String, right: String): String = {
    val last = left.substring(left.lastIndexOf('.') + 1)
    if (left == "*" || left.equalsIgnoreCase(Names.AllFields)) s"${op}all($right)"
    else if (last == "*") s"${op}all(${left.dropRight(1)}${Names.AllFields}, $right)"
    else if (last.equalsIgnoreCase(Names.AllFields)) s"${op}all($left, $right)"
    else s"$op($left, $right)"
  }

  /** Where the operand ends that starts after `from`: texts, a parameter, or a call. */
  private def operand(tokens: IndexedSeq[String], from: Int): Option[Int] = {
    def next(i: Int) = tokens.indexWhere(!blank(_), i)
    val i = next(from)
    if (i < 0) None
    else if (literal(tokens(i))) Some(literals(tokens, i, next))
    else if (tokens(i) == "?") Some(i + 1)
    else if (tokens(i) == ":" && i + 1 < tokens.length && name(tokens(i + 1))) Some(i + 2)
    else if (tokens(i) == "$" && tokens.lift(i + 1).contains("{")) Some(tokens.indexOf("}", i) + 1).filter(_ > 0)
    else if (name(tokens(i)) && tokens.lift(i + 1).contains("(")) closing(tokens, i + 1)
    else None
  }

  /** Adjacent texts are one text in SQL. */
  private def literals(tokens: IndexedSeq[String], first: Int, next: Int => Int): Int = {
    var last = first
    var i = next(first + 1)
    while (i > 0 && literal(tokens(i))) { last = i; i = next(i + 1) }
    last + 1
  }

  private def closing(tokens: IndexedSeq[String], open: Int): Option[Int] = {
    var depth = 0
    val end = tokens.indices.drop(open).find { i =>
      if (tokens(i) == "(") depth += 1 else if (tokens(i) == ")") depth -= 1
      depth == 0
    }
    end.map(_ + 1)
  }

  /** The qualified name, or star, at the end of what is already written, and where it starts. */
  private def subject(done: Vector[String]): Option[(Int, String)] = {
    val end = done.lastIndexWhere(!blank(_)) + 1
    var start = end
    def piece(token: String) = token == "*" || name(token)
    if (start > 0 && piece(done(start - 1))) {
      start -= 1
      while (start >= 2 && done(start - 1) == "." && name(done(start - 2))) start -= 2
    }
    val left = done.slice(start, end).mkString
    if (start == end || (end - start == 1 && keywords(left.toUpperCase))) None else Some((start, left))
  }
}
