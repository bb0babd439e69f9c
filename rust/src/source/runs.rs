//! The rows of source files that the documents of a split are.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::FileId;
use crate::columns::Docs;
use crate::error::{EngineError, Result};

/// Consecutive rows of a file that are consecutive documents of a split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Relative to the source, or a whole URL.
    pub path: String,
    /// The first row.
    pub row: u64,
    pub rows: u64,
    /// Bytes of the file.
    pub size: u64,
    /// Rows of the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_rows: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
    /// CRC-32 of the file's footer when it was indexed, to detect a replaced file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footer: Option<u32>,
}

impl Run {
    pub fn file(&self) -> FileId {
        FileId { path: self.path.clone(), size: self.size, stamp: self.stamp.clone() }
    }
}

/// The runs of a split, in document order.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    runs: Vec<Run>,
    /// First document of each run, and the number of documents at the end.
    starts: Vec<u64>,
}

/// Some rows of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub run: usize,
    /// Rows of the file, ascending.
    pub rows: RowList,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RowList {
    Range(Range<u64>),
    List(Vec<u64>),
}

impl RowList {
    pub fn len(&self) -> usize {
        match self {
            RowList::Range(range) => (range.end - range.start) as usize,
            RowList::List(list) => list.len(),
        }
    }

    /// The range from the first row to the last.
    pub fn span(&self) -> Range<u64> {
        match self {
            RowList::Range(range) => range.clone(),
            RowList::List(list) => {
                list.first().copied().unwrap_or(0)..list.last().map_or(0, |&last| last + 1)
            }
        }
    }

    /// Ranges of consecutive rows.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        match self {
            RowList::Range(range) => vec![range.clone()],
            RowList::List(list) => {
                let mut ranges: Vec<Range<u64>> = Vec::new();
                for &row in list {
                    match ranges.last_mut() {
                        Some(last) if last.end == row => last.end += 1,
                        _ => ranges.push(row..row + 1),
                    }
                }
                ranges
            }
        }
    }
}

impl Runs {
    /// Checks that the runs add up to the number of documents.
    pub fn new(runs: Vec<Run>, docs: u64) -> Result<Runs> {
        let mut starts = Vec::with_capacity(runs.len() + 1);
        let mut next = 0u64;
        for run in &runs {
            starts.push(next);
            let end = next.checked_add(run.rows);
            next = end.ok_or_else(|| EngineError::corrupt("", "its runs have too many rows"))?;
        }
        starts.push(next);
        if next != docs {
            let detail = format!("its runs have {next} rows, it has {docs} documents");
            return Err(EngineError::corrupt("", detail));
        }
        Ok(Runs { runs, starts })
    }

    pub fn get(&self, at: usize) -> &Run {
        &self.runs[at]
    }

    pub fn iter(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter()
    }

    /// The rows that some documents of a segment are, file by file. `base` is the number of the
    /// segment's first document in the split.
    pub fn parts(&self, docs: &Docs<'_>, base: u32) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut at = 0;
        while at < docs.len() {
            let doc = u64::from(base) + u64::from(docs.get(at));
            let run = self.starts.partition_point(|&start| start <= doc) - 1;
            let end = self.starts[run + 1];
            let count = docs.count_before(at, (end - u64::from(base)) as u32);
            let row = |at: usize| {
                u64::from(base) + u64::from(docs.get(at)) - self.starts[run] + self.runs[run].row
            };
            let (first, last) = (row(at), row(at + count - 1));
            let rows = if (last - first) as usize + 1 == count {
                RowList::Range(first..last + 1)
            } else {
                RowList::List((at..at + count).map(row).collect())
            };
            parts.push(Part { run, rows });
            at += count;
        }
        parts
    }
}
