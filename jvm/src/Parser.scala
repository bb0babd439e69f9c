package org.apache.spark.sql.indextables

import java.lang.reflect.{InvocationTargetException, Method, Proxy}

import scala.util.{Failure, Success, Try}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.{DescribeColumn, DescribeRelation}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
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
        if (plans(method.getName)) {
          val words = Sql.words(tokens)
          def others = call(delegate, method, Sql.rewrite(text, tokens) +: rest)
          if (Statements.own(words)) return Command(text)
          if (Statements.misspelled(words)) return try others catch { case _: ParseException => Command(text) }
          Statements.borrowed(words).foreach(target => return Borrowed.parse(text, target, others))
        }
        Sql.rewrite(text, tokens) +: rest
      case null => Nil
      case other => other.toSeq
    }
    call(delegate, method, rewritten)
  }

  private def call(delegate: ParserInterface, method: Method, arguments: Seq[AnyRef]): AnyRef =
    try method.invoke(delegate, arguments: _*)
    catch { case e: InvocationTargetException => throw e.getCause }

  /** Tables by path need a catalog of that name in the session. */
  private def nameCatalog(): Unit = {
    val conf = SQLConf.get
    if (!conf.contains(Names.Catalog)) conf.setConfString(Names.Catalog, classOf[PathCatalog].getName)
  }
}

/** How statements of ours begin, as Python wrote it down. */
object Statements {
  private val prefixes: Map[String, Seq[Seq[Set[String]]]] = {
    val source = scala.io.Source.fromInputStream(
      getClass.getClassLoader.getResourceAsStream("indextables/statements.txt"), "UTF-8")
    val lines = try source.getLines().map(_.split(' ').toSeq).toList finally source.close()
    lines.groupBy(_.head).map { case (kind, all) => kind -> all.map(_.tail.map(_.split('|').toSet)) }
  }

  private def find(kind: String, words: Seq[String]): Option[Seq[Set[String]]] = prefixes(kind).find { prefix =>
    words.length >= prefix.length && words.zip(prefix).forall { case (word, allowed) => allowed(word.toUpperCase) }
  }

  def own(words: Seq[String]): Boolean = find("own", words).isDefined

  /** Ours if Spark does not understand it. */
  def misspelled(words: Seq[String]): Boolean = find("misspelled", words).isDefined

  /** What stands where the target of a statement of another format stands. */
  def borrowed(words: Seq[String]): Option[Seq[String]] =
    find("borrowed", words).map(prefix => words.drop(prefix.length)).filter(_.nonEmpty)
}

/** Statements in the words of another format: ours on tables of ours, if nobody else understands them. */
object Borrowed {
  def parse(text: String, target: Seq[String], others: => AnyRef): AnyRef = {
    val parsed = Try(others)
    val unclaimed = parsed match {
      case Failure(_: ParseException) => true
      // how Spark reads `DESCRIBE HISTORY t`: the column `t` of a table `HISTORY`
      case Success(_: DescribeColumn | _: DescribeRelation) => true
      case _ => false
    }
    if (unclaimed && isOurs(target)) Command(text) else parsed.get
  }

  private def isOurs(target: Seq[String]): Boolean =
    Sql.literal(target.head) || {
      val end = target.indices.drop(1).find(i => (i % 2 == 1) != (target(i) == "."))
      val name = target.take(end.getOrElse(target.length)).mkString
      SparkSession.getActiveSession.exists(s => Needs.tableOf(s.asInstanceOf[ClassicSession], name).isDefined)
    }
}

/** Just enough of SQL's words to find our operators, never inside literals or comments. */
object Sql {
  private val Token = ("""(?s)[rR]?'(?:[^'\\]|\\.|'')*'|[rR]?"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`""" +
    """|--[^\r\n]*|/\*.*?\*/|[\p{L}\p{N}_]+|\s+|.""").r
  // a word before the operator that can not be a column: then the operator's name is a column itself
  private val keywords = Set("SELECT", "WHERE", "AND", "OR", "NOT", "ON", "HAVING", "WHEN", "THEN", "ELSE", "CASE",
    "BY", "DISTINCT", "FROM", "JOIN", "IN", "LIKE", "AS", "IS", "BETWEEN", "FILTER", "QUALIFY", "USING", "LIMIT")

  // a word after the operator that can not be a variable: then the operator's name is an alias
  private val follows = keywords ++ Set("GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "WINDOW", "OFFSET", "UNION",
    "EXCEPT", "INTERSECT", "MINUS", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "SEMI", "ANTI", "NATURAL", "LATERAL",
    "TABLESAMPLE", "PIVOT", "UNPIVOT", "END", "NULLS", "SET", "VALUES", "RLIKE", "ILIKE", "OVER",
    "VERSION", "TIMESTAMP", "FOR", "WITH", "MATCHED")

  def tokens(text: String): IndexedSeq[String] = Token.findAllIn(text).toIndexedSeq
  def words(tokens: IndexedSeq[String]): IndexedSeq[String] = tokens.filterNot(blank)
  private def blank(token: String) = token.trim.isEmpty || token.startsWith("--") || token.startsWith("/*")
  private def word(token: String) = Character.isLetterOrDigit(token.codePointAt(0)) || token(0) == '_'
  private def name(token: String) = token(0) == '`' || (word(token) && !literal(token))
  def literal(token: String) = token.endsWith("'") || token.endsWith("\"")

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
    else if (name(tokens(i)) && !follows(tokens(i).toUpperCase)) variable(tokens, i)
    else None
  }

  /** Where a variable's name ends, which may be `session.q`; before a quote it is the prefix of an open literal. */
  private def variable(tokens: IndexedSeq[String], first: Int): Option[Int] = {
    var last = first
    while (tokens.lift(last + 1).contains(".") && tokens.lift(last + 2).exists(name)) last += 2
    Some(last + 1).filterNot(end => tokens.lift(end).exists(literal))
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
