//! The options of a search besides its query.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::score::Scoring;
use super::statistics::Statistics;
use crate::error::{EngineError, Result};
use crate::open::Split;

#[derive(Debug, Clone, Default)]
pub struct Options {
    pub limit: Option<usize>,
    pub order: Option<Order>,
    pub batch_rows: Option<usize>,
    pub snippet: Option<SnippetOptions>,
    pub statistics: Option<Arc<Statistics>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Order {
    Score(ScoreOrder),
    Keys(Vec<SortKey>),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreOrder {
    Score,
}

#[derive(Debug, Clone, Deserialize)]
pub struct SortKey {
    pub field: String,
    #[serde(default = "yes")]
    pub ascending: bool,
    #[serde(default)]
    pub nulls_first: Option<bool>,
}

impl SortKey {
    /// Spark's default: nulls first when ascending.
    pub fn nulls_first(&self) -> bool {
        self.nulls_first.unwrap_or(self.ascending)
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct SnippetOptions {
    /// Columns that snippets are cut from.
    pub fields: Vec<String>,
    /// The maximum number of parts of each text, joined by `separator`.
    #[serde(default = "one")]
    pub fragments: usize,
    #[serde(default = "ellipsis")]
    pub separator: String,
    #[serde(default = "snippet_chars")]
    pub max_chars: usize,
    #[serde(default = "open_mark")]
    pub pre: String,
    #[serde(default = "close_mark")]
    pub post: String,
}

fn yes() -> bool {
    true
}

fn one() -> usize {
    1
}

fn ellipsis() -> String {
    " … ".to_owned()
}

fn snippet_chars() -> usize {
    150
}

fn open_mark() -> String {
    "<b>".to_owned()
}

fn close_mark() -> String {
    "</b>".to_owned()
}

const DEFAULT_BATCH_ROWS: usize = 8192;

impl Options {
    /// `order` is `"score"` or a list of sort keys, `snippet` names fields, `statistics` are those to score by.
    pub fn new(
        limit: Option<usize>,
        order: Option<Value>,
        batch_rows: Option<usize>,
        snippet: Option<Value>,
        statistics: Option<Value>,
    ) -> Result<Options> {
        let bad = |e: serde_json::Error| EngineError::bad_query(format!("search options: {e}"));
        Ok(Options {
            limit,
            order: order.map(serde_json::from_value).transpose().map_err(bad)?,
            batch_rows,
            snippet: snippet.map(serde_json::from_value).transpose().map_err(bad)?,
            statistics: statistics.map(Statistics::from_value).transpose()?.map(Arc::new),
        })
    }

    pub fn scoring(&self, split: &Arc<Split>) -> Scoring {
        Scoring { split: split.clone(), statistics: self.statistics.clone() }
    }

    pub fn batch_rows(&self) -> usize {
        self.batch_rows.unwrap_or(DEFAULT_BATCH_ROWS).clamp(1, 1 << 20)
    }
}
