//! Finding rows: counts, matching rows as a stream of batches, the best rows by an order.

mod explain;
mod matches;
mod options;
mod output;
mod points;
mod score;
mod snippet;
mod statistics;
mod stream;
mod suggest;
mod term_rows;
mod top;
mod warm;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use tantivy::query::{EnableScoring, Query, TermQuery, Weight};

pub use explain::explain;
pub use matches::Matches;
pub use options::{Options, Order, SnippetOptions, SortKey};
pub use statistics::{Statistics, gather as gather_statistics};
pub use suggest::{complete, frequencies, similar};
pub(crate) use top::one_zero;

use crate::error::{At, EngineError, Result};
use crate::open::Split;
use crate::profile::{self, Section};
use crate::query::{Node, build};
use output::Output;
use term_rows::term_rows;

/// Number of living documents that match.
pub fn count(split: &Arc<Split>, node: &Node) -> Result<u64> {
    if node.is_all() {
        return Ok(split.num_docs());
    }
    let query = build(split, node, false)?;
    let term = query.downcast_ref::<TermQuery>().map(TermQuery::term);
    let weight = weight_of(split, query.as_ref())?;
    let mut total = 0;
    for segment in &split.segments {
        let rows = match term {
            // all rows that have it live
            Some(term) if segment.alive.is_none() => term_rows(&segment.reader, term),
            _ => weight.count(&segment.reader).map_err(EngineError::from),
        };
        total += u64::from(rows.at(&split.path)?);
    }
    Ok(total)
}

/// The query's weight, without scores.
pub fn weight(split: &Arc<Split>, node: &Node) -> Result<Box<dyn Weight>> {
    weight_of(split, build(split, node, false)?.as_ref())
}

fn weight_of(split: &Split, query: &dyn Query) -> Result<Box<dyn Weight>> {
    warm::fetch_terms(split, query);
    query.weight(EnableScoring::disabled_from_schema(&split.schema)).at(&split.path)
}

/// Matching rows as batches in exactly the wanted schema.
pub fn search(
    split: &Arc<Split>,
    node: &Node,
    schema: SchemaRef,
    options: &Options,
) -> Result<Box<dyn RecordBatchReader + Send>> {
    let output = Output::new(split, node, schema.clone(), options.snippet.as_ref())?;
    let limit = options.limit.unwrap_or(usize::MAX);
    let places = match &options.order {
        None => None,
        Some(Order::Keys(keys)) if keys.is_empty() => None,
        Some(Order::Keys(keys)) => {
            let scoring = options.scoring(split);
            let mut places = top::first_by_keys(&scoring, node, keys, limit)?;
            if output.wants_score() {
                score::fill(&scoring, node, &mut places)?;
            }
            Some(places)
        }
        Some(Order::Score(_)) => Some(score::best(&options.scoring(split), node, limit)?),
    };
    let inner: Batches = match places {
        None => Box::new(stream::RowStream::new(split, node, output, options)?),
        Some(places) => {
            let rows = top::read_places(split, &output, &places)?;
            let (total, step) = (rows.num_rows(), options.batch_rows());
            let starts = (0..total).step_by(step);
            Box::new(starts.map(move |at| Ok(rows.slice(at, step.min(total - at)))))
        }
    };
    Ok(Box::new(Guarded { schema, inner: Some(inner), path: split.path.clone() }))
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Ends after the first error, and converts a panic to one: a panic must not reach the foreign code that
/// consumes the stream.
struct Guarded {
    schema: SchemaRef,
    inner: Option<Batches>,
    path: String,
}

impl Iterator for Guarded {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let inner = self.inner.as_mut()?;
        let _timer = profile::start(Section::ReadBatch);
        let outcome = catch_unwind(AssertUnwindSafe(|| inner.next()));
        let item = outcome.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("");
            let detail = format!("reading it failed inside the engine: {text}");
            Some(Err(EngineError::corrupt(&self.path, detail)))
        });
        if !matches!(item, Some(Ok(_))) {
            self.inner = None;
        }
        item.map(|batch| batch.at(&self.path).map_err(ArrowError::from))
    }
}

impl RecordBatchReader for Guarded {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
