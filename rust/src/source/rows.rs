//! The values of a split's documents, read from the source files.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;

use super::Source;
use super::decode::{Projection, Stream, fetch, join_parts};
use super::file::SourceFile;
use super::runs::{Part, RowList, Run, Runs};
use crate::cancel::Cancel;
use crate::columns::Docs;
use crate::error::{EngineError, Result};

/// Files of remote stores that are read at the same time.
const SIDE_BY_SIDE: usize = 8;
/// Reading continues from the last position if at most this many rows are skipped.
const NEAR_ROWS: u64 = 65_536;

/// Reads columns of the documents of one segment, in ascending order.
pub struct SourceRows {
    source: Arc<Source>,
    runs: Arc<Runs>,
    schema: SchemaRef,
    files: HashMap<String, Arc<Open>>,
    stream: Option<(Arc<Open>, Stream)>,
    /// The last file that was read, and the row after the last one.
    last: Option<(Arc<Open>, u64)>,
}

struct Open {
    file: SourceFile,
    projection: Projection,
}

impl SourceRows {
    pub fn new(source: Arc<Source>, runs: Arc<Runs>, schema: SchemaRef) -> SourceRows {
        SourceRows { source, runs, schema, files: HashMap::new(), stream: None, last: None }
    }

    /// The columns of some documents of a segment whose first one is document `base`.
    pub fn read(&mut self, docs: &Docs<'_>, base: u32) -> Result<Vec<ArrayRef>> {
        let runs = self.runs.clone();
        let parts = runs.parts(docs, base);
        let mut found: Vec<Option<Vec<ArrayRef>>> = parts.iter().map(|_| None).collect();
        let mut scattered = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let open = self.open(runs.get(part.run))?;
            // one range of rows is fetched as it is; a second one after it looks like a scan
            if is_dense(&part.rows) && self.goes_on(&open, part.rows.span().start) {
                found[at] = Some(self.read_on(open.clone(), &part.rows)?);
            } else {
                scattered.push((at, open.clone()));
            }
            self.last = Some((open, part.rows.span().end));
        }
        for (at, arrays) in self.fetch_all(&parts, scattered)? {
            found[at] = Some(arrays);
        }
        let mut found: Vec<Vec<ArrayRef>> = found.into_iter().flatten().collect();
        if found.len() == 1 {
            return Ok(found.swap_remove(0));
        }
        join_parts(&found)
    }

    fn open(&mut self, run: &Run) -> Result<Arc<Open>> {
        if let Some(open) = self.files.get(&run.path) {
            return Ok(open.clone());
        }
        let file = SourceFile::open(&self.source, run.file(), true)?;
        check(run, &file)?;
        let projection = Projection::new(&self.source, &file, &self.schema)?;
        let open = Arc::new(Open { file, projection });
        self.files.insert(run.path.clone(), open.clone());
        Ok(open)
    }

    fn goes_on(&self, open: &Arc<Open>, first: u64) -> bool {
        self.last.as_ref().is_some_and(|(last, end)| {
            Arc::ptr_eq(last, open) && *end <= first && first - end <= NEAR_ROWS
        })
    }

    /// Reads rows that are close to each other: decoding continues where it stopped.
    fn read_on(&mut self, open: Arc<Open>, rows: &RowList) -> Result<Vec<ArrayRef>> {
        let first = rows.span().start;
        let goes_on = self.stream.as_ref().is_some_and(|(current, stream)| {
            Arc::ptr_eq(current, &open) && stream.next <= first && first - stream.next <= NEAR_ROWS
        });
        if !goes_on {
            let stream = Stream::open(&open.file, &open.projection, first, STEP)?;
            self.stream = Some((open, stream));
        }
        let (open, stream) =
            self.stream.as_mut().ok_or_else(|| EngineError::internal("no stream of rows"))?;
        let taken = stream.take(&self.source, &open.file, &open.projection, rows);
        if taken.is_err() {
            self.stream = None;
        }
        taken
    }

    fn fetch_all(
        &self,
        parts: &[Part],
        wanted: Vec<(usize, Arc<Open>)>,
    ) -> Result<Vec<(usize, Vec<ArrayRef>)>> {
        let source = self.source.as_ref();
        let one = |(at, open): &(usize, Arc<Open>)| -> Result<(usize, Vec<ArrayRef>)> {
            let rows = &parts[*at].rows;
            Ok((*at, fetch(source, &open.file, &open.projection, rows)?))
        };
        if wanted.len() < 2 || !wanted[0].1.file.is_remote() {
            return wanted.iter().map(one).collect();
        }
        let mut found = Vec::with_capacity(wanted.len());
        for few in wanted.chunks(SIDE_BY_SIDE) {
            let fetched: Vec<Result<(usize, Vec<ArrayRef>)>> = std::thread::scope(|scope| {
                let one = &one;
                let begin = |part| {
                    let cancel = Cancel::current();
                    scope.spawn(move || Cancel::during(cancel, || one(part)))
                };
                let threads: Vec<_> = few.iter().map(begin).collect();
                let panicked = || Err(EngineError::internal("reading a source file panicked"));
                threads.into_iter().map(|t| t.join().unwrap_or_else(|_| panicked())).collect()
            });
            for arrays in fetched {
                found.push(arrays?);
            }
        }
        Ok(found)
    }
}

const STEP: usize = 8192;
/// Up to this many rows are always looked up one by one.
const FEW_ROWS: usize = 512;

/// Whether decoding all rows between the first and the last is cheaper than looking up each.
fn is_dense(rows: &RowList) -> bool {
    let span = rows.span();
    rows.len() >= FEW_ROWS && (span.end - span.start) <= 4 * rows.len() as u64
}

/// Checks that the file is the one that was indexed, because rows are identified by number.
fn check(run: &Run, file: &SourceFile) -> Result<()> {
    let changed = |detail: String| EngineError::SourceChanged { path: run.path.clone(), detail };
    if run.footer.is_some_and(|footer| footer != file.footer.sum) {
        return Err(changed("another file was written in its place".to_owned()));
    }
    if run.row + run.rows > file.footer.rows {
        let (found, wanted) = (file.footer.rows, run.row + run.rows);
        return Err(changed(format!("it has {found} rows, {wanted} were indexed")));
    }
    Ok(())
}
