//! Several splits to one: tantivy merges the segments, the sidecars are folded.

mod compress;
mod fold;
mod input;
mod rewrite;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tantivy::Index;
use tantivy::indexer::merge_filtered_segments;

use crate::cancel::Cancel;
use crate::error::{EngineError, Result};
use crate::merge::input::OpenInput;
use crate::source::Source;
use crate::store::Store;
use crate::write::{FinishedSegment, Scratch, SplitInfo, WriteOptions, forget_documents};

pub use rewrite::Target;

/// A split to merge; `deleted` is a portable roaring bitmap of the rows to leave out.
#[derive(Debug, Clone)]
pub struct MergeInput {
    pub path: String,
    pub footer: Option<(u64, u64)>,
    pub deleted: Option<Vec<u8>>,
}

/// The merged split, and the inputs that could not be read.
#[derive(Debug)]
pub struct Merged {
    pub split: SplitInfo,
    pub skipped: Vec<Skipped>,
}

#[derive(Debug, Clone)]
pub struct Skipped {
    pub path: String,
    pub reason: String,
}

/// Merges splits of one store into a new split, in the given order. Segments that are indexed alike are merged
/// directly, unless they must be reindexed; otherwise the rows are rewritten as `target` says. Companions can
/// leave out whole runs, and their rows are rewritten from `source`.
pub fn merge(
    inputs: &[MergeInput],
    store: &Store,
    output: &str,
    target: Option<&Target>,
    source: Option<&Arc<Source>>,
    options: &WriteOptions,
    cancel: &Cancel,
) -> Result<Merged> {
    let scratch = Scratch::create(options.temp_dir.as_deref(), cancel.clone())?;
    let (open, skipped) = open_all(inputs, store, &scratch)?;
    let split = match (unlike(&open), target) {
        (differs, Some(target)) if differs.is_some() || target.rewrite => {
            let runs = fold::runs(&open)?;
            let options =
                WriteOptions { source_table: fold::source_table(&open), ..options.clone() };
            rewrite::rewrite(open, target, source, &options, cancel)?.finish(store, output, runs)?
        }
        (Some((left, right)), _) => {
            let detail = format!("`{left}` and `{right}` are indexed differently");
            return Err(EngineError::internal(detail));
        }
        (None, _) => merge_alike(open, options, cancel)?.send(store, output, cancel)?,
    };
    Ok(Merged { split, skipped })
}

fn merge_alike(
    open: Vec<OpenInput>,
    options: &WriteOptions,
    cancel: &Cancel,
) -> Result<FinishedSegment> {
    let scratch = Scratch::create(options.temp_dir.as_deref(), cancel.clone())?;
    let index = merge_segments(&open, options, &scratch)?;
    if options.store_compression.is_some() {
        compress::compress_rows(&index, &scratch)?;
    }
    let (sidecar, nulls) = fold::fold(&open, &index, options.stats_length)?;
    let capitals = fold::capitals(&open, &index)?;
    forget_documents(&index, &scratch)?;
    Ok(FinishedSegment { index, scratch, sidecar, nulls, capitals })
}

/// Opens every input; a corrupt input does not prevent merging the others.
fn open_all(
    inputs: &[MergeInput],
    store: &Store,
    scratch: &Scratch,
) -> Result<(Vec<OpenInput>, Vec<Skipped>)> {
    let (mut open, mut skipped) = (Vec::with_capacity(inputs.len()), Vec::new());
    let mut damage = None;
    for input in inputs {
        match OpenInput::open(input, store, scratch) {
            Ok(found) => open.push(found),
            Err(error @ (EngineError::Corrupt { .. } | EngineError::Missing { .. })) => {
                skipped.push(Skipped { path: input.path.clone(), reason: error.to_string() });
                damage = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    match damage {
        Some(error) if open.is_empty() => Err(error),
        _ if open.is_empty() => Err(EngineError::internal("nothing was given to merge")),
        _ => Ok((open, skipped)),
    }
}

/// Two inputs whose segments cannot be merged as they are, if any.
fn unlike(open: &[OpenInput]) -> Option<(String, String)> {
    let schema = open[0].index.schema();
    let alike = |input: &&OpenInput| {
        input.index.schema() == schema && fold::have_one_meaning(&open[0], input)
    };
    let other = open.iter().find(|input| !alike(input))?;
    Some((open[0].path.clone(), other.path.clone()))
}

fn merge_segments(open: &[OpenInput], options: &WriteOptions, target: &Scratch) -> Result<Index> {
    let mut segments = Vec::new();
    let mut living = Vec::new();
    for input in open {
        let mut base = 0;
        for segment in input.index.searchable_segments()? {
            let rows = segment.meta().max_doc();
            living.push(input.living(base, rows)?);
            segments.push(segment);
            base += rows;
        }
    }
    let mut settings = open[0].index.settings().clone();
    settings.docstore_compress_dedicated_thread = false;
    if options.store_compression.is_some() {
        settings.docstore_compression = options.compressor()?;
    }
    Ok(merge_filtered_segments(&segments, settings, living, target.clone())?)
}
