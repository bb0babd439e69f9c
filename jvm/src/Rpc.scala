package org.apache.spark.sql.indextables

import java.io.{DataInputStream, DataOutputStream, IOException, InterruptedIOException}
import java.nio.channels.ClosedByInterruptException

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Try}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode
import net.razorvine.pickle.Pickler
import org.apache.hadoop.conf.Configuration

import org.apache.spark.{JobArtifactSet, SparkContext, SparkEnv, SparkException}
import org.apache.spark.api.python.{PythonWorkerUtils, SpecialLengths}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.TableCatalog
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.python.PythonPlannerRunner
import org.apache.spark.sql.internal.SQLConf

/** Python's answer: one JSON document and any number of binary parts. */
case class Reply(json: ObjectNode, parts: Array[Array[Byte]])

object Reply {
  def read(operation: String, in: DataInputStream): Reply = {
    val length = in.readInt()
    if (length == SpecialLengths.PYTHON_EXCEPTION_THROWN) {
      val trace = PythonWorkerUtils.readUTF(in)
      throw new IndexTablesException(s"[INTERNAL] `$operation` failed in the planner:\n$trace")
    }
    val document = Rpc.mapper.readTree(PythonWorkerUtils.readBytes(length, in)).asInstanceOf[ObjectNode]
    Option(document.get("counts")).foreach(Monitoring.add)
    Reply(document, Array.fill(in.readInt())(PythonWorkerUtils.readBytes(in)))
  }
}

/**
 * The whole contract with Python: an operation and a JSON document go in, a JSON document and binary parts come out.
 * Every call goes to the same process, so its caches survive.
 */
object Rpc {
  /** Increment together with `PROTOCOL` in spark/planner.py when the meaning of a document changes. */
  val Protocol = 1
  val mapper = new ObjectMapper()

  def json(): ObjectNode = mapper.createObjectNode()
  def parse(text: String): JsonNode = mapper.readTree(text)

  def call(operation: String, body: ObjectNode): Reply = call(operation, body, context())

  def call(operation: String, body: ObjectNode, context: ObjectNode): Reply = {
    KeepAlive.touch()
    val request = body.deepCopy().put("protocol", Protocol).setAll[ObjectNode](context)
    val reply = Monitoring.timed(operation)(send(operation, request))
    Option(reply.json.get("error")).foreach(e => throw Errors.of(e))
    reply
  }

  /** Raise an error of Python's table of errors. */
  def refuse(code: String, context: (String, String)*): Nothing = {
    call("refuse", json().put("code", code).set[ObjectNode]("context", options(context.toMap.asJava)))
    throw new IllegalStateException(code)
  }

  /**
   * The session's settings and executors. Tables on local disk need no store credentials, and reads of them no executors
   * if there is only the driver: these take time to collect.
   */
  def context(local: Boolean = false): ObjectNode = {
    val node = json().set[ObjectNode]("session", sessionConf(local))
    if (!local || !SparkContext.getActive.exists(_.isLocal)) node.set[ObjectNode]("executors", executors())
    SparkContext.getActive.flatMap(c => Option(c.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)))
      .foreach(node.put("query", _))
    node.put("base", Locations.base())
  }

  /**
   * All calls go over lines into one process, which knows what every other call did. Spark's runner, which may start a
   * second process, is used only where no line can be opened. Calls that change nothing are repeated if their process is
   * lost. A commit carries an id, so that the next process can tell whether it was written. The outcome of any other
   * change is unknown, which Python reports.
   */
  private def send(operation: String, request: ObjectNode): Reply = {
    val again = repeatable(operation)
    try lines.call(operation, request.toString, again).getOrElse(sendBySpark(operation, request, again))
    catch {
      case Lost(_) if operation == "commit" && !request.has("tried") => send(operation, request.put("tried", true))
      case Lost(cause) if !again => lost(operation, request, cause)
    }
  }
  private val repeatable = Set("ping", "echo", "describe_error", "refuse", "listen", "load", "require", "partitions",
    "push", "offer", "plan", "run", "join", "column_statistics", "bucket", "matcher", "analyzer", "significant_terms",
    "companion", "companion_path", "can_evolve", "prepare_write", "begin_write", "abort", "lost", "can_delete", "stream_start",
    "stream_latest", "stream_plan", "command_schema")

  private def sendBySpark(operation: String, request: ObjectNode, again: Boolean): Reply = {
    val call = new Call(operation, request.toString)
    if (again) call.persistently()
    else {
      new Call("ping", s"""{"protocol":$Protocol}""").persistently()
      call.run()
    }
  }

  private def lost(operation: String, request: ObjectNode, cause: Throwable): Reply = {
    val reply = send("lost", request.put("operation", operation))
    throw Errors.of(reply.json.get("error"), Some(cause))
  }

  /** The failure of a call that ended without an answer and was not canceled. */
  private object Lost {
    def unapply(e: Throwable): Option[Throwable] = e match {
      case _: InterruptedIOException | _: ClosedByInterruptException => None
      case _: IOException | _: SparkException => Some(e)
      case _ => None
    }
  }

  private val lines = new Lines(() => {
    val body = json().put("protocol", Protocol).setAll[ObjectNode](context(local = true))
    Option(new Call("listen", body.toString).persistently().json.get("path")).map(_.asText)
  }, s"""{"protocol":$Protocol}""")

  /** A request about the table with these properties. */
  def table(properties: java.util.Map[String, String]): ObjectNode =
    json().set[ObjectNode]("properties", options(properties))

  /** Options or properties, without the second copy of options that Spark adds to the properties of new tables. */
  def options(values: java.util.Map[String, String]): ObjectNode = {
    val node = json()
    values.asScala.foreach { case (k, v) => if (!k.startsWith(TableCatalog.OPTION_PREFIX)) node.put(k, v) }
    node
  }

  /** Spark's keys that Python needs because they affect results. */
  private val sparkKeys = Seq("spark.sql.session.timeZone", "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive", "spark.sql.sources.partitionOverwriteMode", "spark.default.parallelism")

  private val fileSystemKeys = Seq("fs.s3a.", "fs.azure.", "fs.gs.", "dfs.", "hadoop.security.authentication",
    "hadoop.rpc.protection")

  private def isFileSystem(key: String): Boolean = fileSystemKeys.exists(key.startsWith)

  /** The settings of Hadoop's stores, without Hadoop's own defaults. */
  private def fileSystems(conf: Configuration, node: ObjectNode): Unit =
    conf.forEach { e =>
      if (isFileSystem(e.getKey)) {
        val sources = conf.getPropertySources(e.getKey)
        if (sources == null || sources.lastOption.exists(!_.endsWith("-default.xml")))
          node.put("spark.hadoop." + e.getKey, conf.get(e.getKey))
      }
    }

  /** In a thread that a program has started there is no active session, and Spark falls back to empty settings. */
  private[indextables] def settings: SQLConf = SQLConf.get match {
    case none if none eq SQLConf.getFallbackConf =>
      SparkSession.getDefaultSession.map(_.sessionState.conf).getOrElse(none)
    case found => found
  }

  private def applicationConf(): SQLConf = {
    val conf = new SQLConf
    for (e <- Option(SparkEnv.get); (k, v) <- e.conf.getAll if k.startsWith("spark.sql.")) conf.setConfString(k, v)
    conf
  }

  private def sessionConf(local: Boolean): ObjectNode = {
    val conf = settings
    val node = json()
    if (!local) SparkContext.getActive.foreach(c => fileSystems(c.hadoopConfiguration, node))
    conf.getAllConfs.foreach { case (k, v) =>
      if (k.startsWith(Names.Keys) || isFileSystem(k.stripPrefix("spark.hadoop."))) node.put(k, v)
    }
    sparkKeys.foreach(k => if (conf.contains(k)) node.put(k, conf.getConfString(k)))
    Option(SparkEnv.get).foreach { e =>
      Seq("spark.master", "spark.app.id").foreach(k => node.put(k, e.conf.get(k, "")))
    }
    node
  }

  /** The executors; in local mode the driver itself. */
  private def executors(): JsonNode = {
    val all = mapper.createArrayNode()
    val known = SparkContext.getActive.toSeq.flatMap(_.statusStore.executorList(true))
    val working = if (known.exists(_.id != "driver")) known.filter(_.id != "driver") else known
    working.foreach(e => all.addObject().put("id", e.id).put("host", e.hostPort.split(":").head))
    all
  }

  /** More than the number of planner processes that are idle at once, plus their daemon. */
  private val Held = 8

  private class Call(operation: String, body: String)
    extends PythonPlannerRunner[Reply](Interpreters.planner) {
    // Spark's daemon only imports worker modules whose name starts with "pyspark".
    override val workerModule = "pyspark_indextables.planner"

    /**
     * Spark starts separate processes for sessions and for some of their settings. All calls must reach the one that the
     * pings keep alive, so they run without a session, with the settings of the application.
     */
    final def run(): Reply = {
      val session = SparkSession.getActiveSession
      SparkSession.clearActiveSession()
      try JobArtifactSet.withActiveJobArtifactState(null) {
        SQLConf.withExistingConf(applicationConf()) { runInPython() }
      } finally session.foreach(SparkSession.setActiveSession)
    }

    /** Spark may still hold idle processes, or a daemon, that were killed; each call detects one of them. */
    @tailrec final def persistently(tries: Int = Held): Reply =
      Try(run()) match {
        case Failure(Lost(_)) if tries > 1 => persistently(tries - 1)
        case answer => answer.get
      }

    override protected def writeToPython(out: DataOutputStream, pickler: Pickler): Unit = {
      PythonWorkerUtils.writeUTF(operation, out)
      PythonWorkerUtils.writeUTF(body, out)
    }

    override protected def receiveFromPython(in: DataInputStream): Reply = Reply.read(operation, in)
  }

  /**
   * Spark ends Python workers after an idle minute, and with them the cached snapshots. A ping every 20 s keeps the planner
   * alive for half an hour after the last query. Lines that many concurrent queries needed are closed sooner.
   */
  private object KeepAlive {
    @volatile private var lastUse = 0L
    @volatile private var thread: Thread = _

    def touch(): Unit = {
      lastUse = System.nanoTime()
      if (thread == null || !thread.isAlive) synchronized {
        if (thread == null || !thread.isAlive) {
          thread = new Thread(() => loop(), "indextables planner keep-alive")
          thread.setDaemon(true)
          thread.start()
        }
      }
    }

    private def loop(): Unit = try {
      while (SparkEnv.get != null && System.nanoTime() - lastUse < 1800L * 1000000000L) {
        (1 to 4).foreach { _ =>
          Thread.sleep(5000)
          lines.closeIdle(seconds = 5)
        }
        // not over a line: Spark must see that the process is in use. A ping that fails met a process that was killed;
        // another process may be answering a long call
        if (SparkEnv.get != null) Try(new Call("ping", s"""{"protocol":$Protocol}""").run())
      }
    } catch { case _: InterruptedException => () } // the next call starts it again
  }
}
