package org.apache.spark.sql.indextables

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.conf.Configuration

import org.apache.spark.{SparkConf, SparkContext, SparkEnv}
import org.apache.spark.deploy.SparkHadoopUtil
import org.apache.spark.util.Utils

/** The properties of Spark and Hadoop in effect in a JVM, with secrets redacted by Spark's own rules. */
object Environment {
  def describe(conf: SparkConf, spark: Seq[(String, String)], hadoop: Configuration): ObjectNode =
    Rpc.json().put("host", Utils.localCanonicalHostName()).set[ObjectNode]("spark", shown(conf, spark))
      .set[ObjectNode]("hadoop", shown(conf, hadoop.asScala.map(e => e.getKey -> hadoop.get(e.getKey)).toSeq))

  /** One description per location, from the executor that ran the task. */
  def ofExecutors(context: SparkContext, places: Seq[String]): Seq[String] =
    if (places.isEmpty) Nil
    else context.makeRDD(places.map(place => place -> Seq(place))).map { _ =>
      val conf = SparkEnv.get.conf
      describe(conf, conf.getAll.toSeq, SparkHadoopUtil.get.newConfiguration(conf)).toString
    }.collect().toSeq

  private def shown(conf: SparkConf, values: Seq[(String, String)]): ObjectNode =
    Rpc.options(Utils.redact(conf, values.filter(_._2 != null)).toMap.asJava)
}
