package org.apache.spark.sql.indextables

import java.util.Collections

import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo}

/** Everything that is added to a session: the parser, rules, strategies and functions. */
class Extensions extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit =
    if (Extensions.first(extensions)) {
      extensions.injectParser((_, parser) => Parser.wrap(parser))
      extensions.injectResolutionRule(_ => UseV2)
      extensions.injectResolutionRule(_ => ChangeByName)
      extensions.injectResolutionRule(_ => AnalyzeTables)
      extensions.injectResolutionRule(_ => OpenViews)
      extensions.injectResolutionRule(_ => ResolveSearch)
      extensions.injectPostHocResolutionRule(_ => CloseViews)
      extensions.injectPostHocResolutionRule(_ => MatchRows)
      extensions.injectPostHocResolutionRule(_ => AnalyzeTexts)
      extensions.injectPreCBORule(_ => AnswerByCompanion)
      extensions.injectPreCBORule(_ => MatchLeftRows)
      extensions.injectPreCBORule(_ => SearchJoins)
      extensions.injectOptimizerRule { session => IndexJoins.register(session); MakePushable }
      extensions.injectRuntimeOptimizerRule(_ => KeysOfBroadcasts)
      extensions.injectOptimizerRule(_ => OfferDateTrunc)
      extensions.injectOptimizerRule(_ => ValueCounts)
      extensions.injectOptimizerRule(_ => WidenSums)
      extensions.injectOptimizerRule(_ => OfferConditions)
      extensions.injectOptimizerRule(_ => KeepComputed)
      extensions.injectPlannerStrategy(_ => LocalAnswers)
      extensions.injectPlannerStrategy(_ => CreateLike)
      extensions.injectHintResolutionRule(_ => ColumnChanges)
      extensions.injectHintResolutionRule(TravelByName(_))
      extensions.injectHintResolutionRule(_ => MissingPaths)
      extensions.injectHintResolutionRule(EvolveTargets(_))
      extensions.injectPostHocResolutionRule(_ => LeaveOutSmallBuckets)
      for (operator <- Search.Operators; prefix <- Seq("", Names.LegacyPrefix)) {
        function(extensions, prefix + operator, Search.function(operator, all = false))
        function(extensions, prefix + operator + "all", Search.function(operator, all = true))
      }
      function(extensions, TextTokens.name, TextTokens.call)
      Buckets.names.foreach(name => function(extensions, name, Buckets.call(name)))
      extensions.injectTableFunction((FunctionIdentifier(SignificantTerms.name),
        new ExpressionInfo(getClass.getName, SignificantTerms.name), SignificantTerms.call))
    }

  private def function(extensions: SparkSessionExtensions, name: String, build: Seq[Expression] => Expression): Unit =
    extensions.injectFunction((FunctionIdentifier(name), new ExpressionInfo(getClass.getName, name), build))
}

/** Discovered by Spark on the class path, so that the jar needs no configuration. */
class DiscoveredExtensions extends Extensions

/** The extensions may be discovered and also named in `spark.sql.extensions`: apply them once. */
object Extensions {
  private val seen = Collections.newSetFromMap(
    new java.util.WeakHashMap[SparkSessionExtensions, java.lang.Boolean]())
  def first(extensions: SparkSessionExtensions): Boolean = synchronized(seen.add(extensions))
}
