package org.apache.spark.sql.indextables

import scala.sys.process._

import org.apache.spark.SparkEnv
import org.apache.spark.api.python.{PythonFunction, PythonUtils, SimplePythonFunction}
import org.apache.spark.util.Utils

/**
 * Which Python runs where. Spark knows one default for both, the driver's: with an environment that was shipped to
 * the executors only, or a notebook named in PYSPARK_DRIVER_PYTHON, that is the wrong one for half of the work.
 */
object Interpreters {
  // Spark starts a Python process (50 ms) to ask for its version each time a function is made
  private lazy val default: SimplePythonFunction = PythonUtils.createPythonFunction(Array.emptyByteArray)

  /** Names the planner's interpreter and its environment; what it runs is chosen by the worker module. */
  lazy val planner: PythonFunction = settings("spark.pyspark.driver.python") match {
    case Some(named) if named != default.pythonExec => default.copy(pythonExec = named, pythonVer = versionOf(named))
    case _ => default
  }

  /** Names the interpreter of tasks, as PySpark itself chooses it. */
  lazy val tasks: PythonFunction = {
    val named = settings("spark.pyspark.python").orElse(sys.env.get("PYSPARK_PYTHON"))
    val exec = named.getOrElse(if (Utils.isLocalMaster(SparkEnv.get.conf)) planner.pythonExec else "python3")
    default.copy(pythonExec = exec, pythonVer = planner.pythonVer)
  }

  private def settings(key: String): Option[String] = Option(SparkEnv.get).flatMap(_.conf.getOption(key))

  private def versionOf(exec: String): String =
    Seq(exec, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").!!.trim
}
