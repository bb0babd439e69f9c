//! What our reader is measured against: tantivy's own searcher over the same split.

use tantivy::aggregation::AggregationCollector;
use tantivy::aggregation::agg_req::Aggregations;
use tantivy::collector::Count;
use tantivy::query::{AllQuery, BooleanQuery, Occur, PhraseQuery, Query, RangeQuery, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{Index, ReloadPolicy, Searcher, Term};

use crate::directory::BundleDirectory;
use crate::error::{EngineError, Result};
use crate::store::Store;
use crate::tokenizer;

/// A searcher as tantivy's documentation makes one.
pub struct Plain {
    searcher: Searcher,
    index: Index,
}

impl Plain {
    pub fn open(store: &Store, path: &str) -> Result<Plain> {
        let directory = BundleDirectory::open(store.source(path, None)?, None)?;
        let index = Index::open(directory)?;
        tokenizer::register(&index.schema(), index.tokenizers());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Plain { searcher: reader.searcher(), index })
    }

    fn word(&self, field: &str, word: &str) -> Result<Term> {
        Ok(Term::from_field_text(self.index.schema().get_field(field)?, word))
    }

    fn term(&self, field: &str, word: &str) -> Result<Box<dyn Query>> {
        Ok(Box::new(TermQuery::new(self.word(field, word)?, IndexRecordOption::Basic)))
    }

    /// Number of documents for one of four kinds of query.
    pub fn count(&self, kind: &str, field: &str, words: &[String]) -> Result<usize> {
        let query: Box<dyn Query> = match kind {
            "term" => self.term(field, &words[0])?,
            "phrase" => {
                let terms = words.iter().map(|w| self.word(field, w)).collect::<Result<_>>()?;
                Box::new(PhraseQuery::new(terms))
            }
            "boolean" => {
                let parts = words.iter().map(|w| Ok((Occur::Must, self.term(field, w)?)));
                Box::new(BooleanQuery::new(parts.collect::<Result<_>>()?))
            }
            "range" => {
                let field = self.index.schema().get_field(field)?;
                let end = |word: &String| {
                    let value = word.parse().map_err(EngineError::internal)?;
                    Ok::<_, EngineError>(Term::from_field_f64(field, value))
                };
                let (low, high) = (end(&words[0])?, end(&words[1])?);
                Box::new(RangeQuery::new(
                    std::ops::Bound::Included(low),
                    std::ops::Bound::Excluded(high),
                ))
            }
            other => return Err(EngineError::internal(other)),
        };
        Ok(self.searcher.search(query.as_ref(), &Count)?)
    }

    /// Tantivy's aggregation of all documents.
    pub fn aggregate(&self, request: &str) -> Result<String> {
        let request: Aggregations = serde_json::from_str(request)?;
        let collector = AggregationCollector::from_aggs(request, Default::default());
        let found = self.searcher.search(&AllQuery, &collector)?;
        Ok(serde_json::to_string(&found)?)
    }
}
