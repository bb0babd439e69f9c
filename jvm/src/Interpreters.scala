package org.apache.spark.sql.indextables

import scala.sys.process._

import org.apache.spark.SparkEnv
import org.apache.spark.api.python.{PythonFunction, PythonUtils, SimplePythonFunction}
import org.apache.spark.util.Utils

/**
 * The Python interpreters of the planner and of tasks. Spark has one default for both, the driver's. That is wrong for
 * one of them if an environment was shipped to the executors only, or PYSPARK_DRIVER_PYTHON starts a notebook.
 */
object Interpreters {
  // Spark starts a Python process (50 ms) to get its version each time it creates a function
  private lazy val default: SimplePythonFunction = PythonUtils.createPythonFunction(Array.emptyByteArray)

  /** The planner's interpreter and environment; the worker module determines what it runs. */
  lazy val planner: PythonFunction = settings("spark.pyspark.driver.python") match {
    case Some(named) if named != default.pythonExec => default.copy(pythonExec = named, pythonVer = versionOf(named))
    case _ => default
  }

  /** The interpreter of tasks, chosen as PySpark chooses it. */
  lazy val tasks: PythonFunction = {
    val named = settings("spark.pyspark.python").orElse(sys.env.get("PYSPARK_PYTHON"))
    val exec = named.getOrElse(if (Utils.isLocalMaster(SparkEnv.get.conf)) planner.pythonExec else "python3")
    default.copy(pythonExec = exec, pythonVer = planner.pythonVer)
  }

  private def settings(key: String): Option[String] = Option(SparkEnv.get).flatMap(_.conf.getOption(key))

  private def versionOf(exec: String): String =
    Seq(exec, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").!!.trim
}
