package org.apache.spark.sql.indextables

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.conf.Configuration

import org.apache.spark.{SparkConf, SparkContext, SparkEnv}
import org.apache.spark.deploy.SparkHadoopUtil
import org.apache.spark.util.Utils

/** The properties of Spark and Hadoop that are in force in a JVM, without what Spark itself takes for a secret. */
object Environment {
  def describe(conf: SparkConf, spark: Seq[(String, String)], hadoop: Configuration): ObjectNode = {
    val node = Rpc.json().put("host", Utils.localCanonicalHostName())
    node.set[ObjectNode]("spark", shown(conf, spark))
    node.set[ObjectNode]("hadoop", shown(conf, hadoop.asScala.map(e => e.getKey -> hadoop.get(e.getKey)).toSeq))
    node
  }

  /** One description for each place, written by the executor that took the task. */
  def ofExecutors(context: SparkContext, places: Seq[String]): Seq[String] =
    if (places.isEmpty) Nil
    else context.makeRDD(places.map(place => place -> Seq(place))).map { _ =>
      val conf = SparkEnv.get.conf
      describe(conf, conf.getAll.toSeq, SparkHadoopUtil.get.newConfiguration(conf)).toString
    }.collect().toSeq

  private def shown(conf: SparkConf, values: Seq[(String, String)]): ObjectNode =
    Rpc.options(Utils.redact(conf, values.filter(_._2 != null)).toMap.asJava)
}
