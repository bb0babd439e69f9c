//! The writer of one split.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch, StringArray};
use arrow::datatypes::{Schema as ArrowSchema, SchemaRef};
use roaring::RoaringBitmap;
use tantivy::indexer::merge_filtered_segments;
use tantivy::schema::Schema;
use tantivy::tokenizer::TokenizerManager;
use tantivy::{Index, IndexSettings, SingleSegmentIndexWriter};

use crate::cancel::Cancel;
use crate::error::{EngineError, Result};
use crate::source::{Run, Runs};
use crate::split::{
    CapitalNotes, Capitals, Encoding, Layout, NullRows, Sidecar, SidecarColumn, SourceFiles,
    to_spark,
};
use crate::store::Store;
use crate::texts::inward_type;
use crate::tokenizer;
use crate::write::bounds::Bounds;
use crate::write::column::{Column, Facts, Prepared, nanos, prepare};
use crate::write::options::{FieldSpec, WriteOptions};
use crate::write::row::{BoundBatch, BoundColumn, Cells, Passes, Row};
use crate::write::schema::{self, FieldPlan};
use crate::write::scratch::Scratch;
use crate::write::segment::{FinishedSegment, SplitInfo, forget_documents};

/// Tantivy numbers rows with 32 bits, some of which it keeps for itself.
const MOST_ROWS: u64 = (1 << 31) - 1;
/// Measured on log lines: what postings and columns in memory become in the file.
const PACKED_PER_HEAP_BYTE: f64 = 0.25;

/// Writes batches of one Arrow schema into one split. The first batch determines the encodings; a later batch
/// that does not fit them is not accepted and belongs in the next split. When the heap is full, the rows
/// become a segment on disk; finishing merges the segments.
pub struct SplitWriter {
    arrow: SchemaRef,
    columns: Vec<Column>,
    /// Known facts of later values, whatever the first batch has.
    expected: Vec<Facts>,
    options: WriteOptions,
    cancel: Cancel,
    open: Option<OpenSplit>,
    /// The last batch passed to `accepts`, so that `write` need not convert it again.
    waiting: Option<(RecordBatch, Vec<Prepared>)>,
}

/// The state that exists once there are rows.
struct OpenSplit {
    schema: Schema,
    plans: Vec<FieldPlan>,
    settings: IndexSettings,
    segment: OpenSegment,
    spilled: Vec<(Index, Scratch)>,
    tallies: Vec<Tally>,
    rows: u64,
}

/// Rows that are not finished: postings and columns in memory, the doc store on disk.
struct OpenSegment {
    index: SingleSegmentIndexWriter<Row>,
    scratch: Scratch,
    /// Memory of a segment without rows.
    empty_bytes: usize,
}

/// What is known of a column's values so far.
#[derive(Default)]
struct Tally {
    nulls: u64,
    null_rows: RoaringBitmap,
    bounds: Bounds,
    overlong: bool,
    inexact: bool,
    capitals: Option<CapitalNotes>,
}

impl SplitWriter {
    pub fn new(arrow: SchemaRef, fields: Vec<FieldSpec>, options: WriteOptions) -> Result<Self> {
        let columns = columns(&arrow, fields)?;
        options.compressor()?;
        for column in &columns {
            column.spec.tokenizer("default")?;
        }
        let cancel = Cancel::inner();
        let expected = if options.any_value { Facts::any() } else { Facts::default() };
        let expected = vec![expected; columns.len()];
        Ok(Self { arrow, columns, expected, options, cancel, open: None, waiting: None })
    }

    /// Declares facts of later values of a column, so that its encoding will fit them.
    pub fn expect(&mut self, column: &str, facts: &Facts) {
        for (known, expected) in self.columns.iter().zip(&mut self.expected) {
            if known.name == column {
                *expected = expected.and(*facts);
            }
        }
    }

    /// The handle that cancels finishing.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// The schema of a split without unusual values.
    #[cfg(feature = "bench")]
    pub fn tantivy_schema(&self) -> Result<Schema> {
        let facts = Facts::default();
        let plans: Vec<FieldPlan> =
            self.columns.iter().map(|c| FieldPlan::new(c, self.options.layout, &facts)).collect();
        schema::build(&self.columns, &plans)
    }

    pub fn rows(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.rows)
    }

    pub fn memory_bytes(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.segment.index.mem_usage())
    }

    /// About how large the split would be if it were finished now.
    pub fn estimated_bytes(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| {
            let heap = open.segment.index.mem_usage().saturating_sub(open.segment.empty_bytes);
            let scratches = open.spilled.iter().map(|(_, scratch)| scratch);
            let written: u64 = scratches.chain([&open.segment.scratch]).map(Scratch::written).sum();
            written + (heap as f64 * PACKED_PER_HEAP_BYTE) as u64
        })
    }

    /// Whether this split accepts the batch; if not, finish it and start another.
    pub fn accepts(&mut self, batch: &RecordBatch) -> Result<bool> {
        let prepared = self.prepare(batch)?;
        let verdict = match &self.open {
            None => true,
            Some(open) => {
                let facts = prepared.iter().map(|prepared| &prepared.facts);
                open.rows + batch.num_rows() as u64 <= MOST_ROWS
                    && self
                        .columns
                        .iter()
                        .zip(&open.plans)
                        .zip(facts)
                        .all(|((column, plan), facts)| plan.holds(column, facts))
            }
        };
        self.waiting = verdict.then(|| (batch.clone(), prepared));
        Ok(verdict)
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let prepared = match self.waiting.take() {
            Some((waiting, prepared)) if is_same(&waiting, batch) => prepared,
            _ => self.prepare(batch)?,
        };
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if self.open.is_none() {
            let found = prepared.iter().map(|prepared| prepared.facts);
            let facts = found.zip(&self.expected).map(|(found, known)| found.and(*known));
            self.open = Some(OpenSplit::create(&self.columns, facts, &self.options, &self.cancel)?);
        }
        let open = self.open.as_mut().ok_or_else(|| EngineError::internal("no open split"))?;
        for ((column, plan), prepared) in self.columns.iter().zip(&open.plans).zip(&prepared) {
            if !plan.holds(column, &prepared.facts) {
                let detail = "its values need another encoding than this split has";
                return Err(EngineError::bad_value(&column.name, detail));
            }
        }
        open.write(&self.columns, prepared, batch.num_rows())?;
        if open.segment.index.mem_usage() > self.options.heap_bytes {
            open.spill(&self.options, &self.cancel)?;
        }
        Ok(())
    }

    fn prepare(&self, batch: &RecordBatch) -> Result<Vec<Prepared>> {
        check_schema(&self.arrow, &batch.schema())?;
        self.columns.iter().zip(batch.columns()).map(|(c, array)| prepare(c, array)).collect()
    }

    /// Writes the split to the store. For a companion, `runs` are the source rows that were written.
    pub fn finish(
        &mut self,
        store: &Store,
        path: &str,
        runs: Option<Vec<Run>>,
    ) -> Result<SplitInfo> {
        if runs.is_some() != (self.options.layout == Layout::Companion) {
            return Err(EngineError::internal("runs belong to companions, and to each of them"));
        }
        if let Some(runs) = &runs {
            Runs::new(runs.clone(), self.rows())?;
        }
        self.waiting = None;
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let facts = self.expected.iter().copied();
                OpenSplit::create(&self.columns, facts, &self.options, &self.cancel)?
            }
        };
        let finished = open.finish(&self.columns, &self.options, runs, &self.cancel)?;
        finished.send(store, path, &self.cancel)
    }

    /// Drops all rows and the temporary files.
    pub fn abort(&mut self) {
        self.open = None;
        self.waiting = None;
    }
}

fn columns(arrow: &ArrowSchema, fields: Vec<FieldSpec>) -> Result<Vec<Column>> {
    let mut specs: HashMap<String, FieldSpec> =
        fields.into_iter().map(|spec| (spec.name.clone(), spec)).collect();
    let columns = arrow.fields().iter().map(|field| {
        let spec = specs.remove(field.name()).unwrap_or_default();
        Column::new(field.name(), field.data_type(), spec)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    if let Some(unknown) = specs.into_keys().next() {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let allowed = format!("one of {}", names.join(", "));
        return Err(EngineError::bad_option("field specifications", unknown, allowed));
    }
    Ok(columns)
}

fn check_schema(expected: &ArrowSchema, found: &ArrowSchema) -> Result<()> {
    let same = expected.fields().len() == found.fields().len()
        && expected.fields().iter().zip(found.fields()).all(|(left, right)| {
            // rewritten rows come in the form in which the engine reads them
            left.name() == right.name()
                && inward_type(left.data_type()).equals_datatype(&inward_type(right.data_type()))
        });
    if same {
        Ok(())
    } else {
        Err(EngineError::bad_value(
            "*",
            format!("a batch of {found} came, {expected} was declared"),
        ))
    }
}

/// Whether both are the same memory.
fn is_same(left: &RecordBatch, right: &RecordBatch) -> bool {
    left.num_rows() == right.num_rows()
        && left.num_columns() == right.num_columns()
        && left.columns().iter().zip(right.columns()).all(|(a, b)| a.to_data().ptr_eq(&b.to_data()))
}

impl OpenSegment {
    fn create(
        schema: &Schema,
        settings: &IndexSettings,
        options: &WriteOptions,
        cancel: &Cancel,
    ) -> Result<Self> {
        let scratch = Scratch::create(options.temp_dir.as_deref(), cancel.clone())?;
        let tokenizers = TokenizerManager::default();
        tokenizer::register(schema, &tokenizers);
        let index = Index::builder()
            .schema(schema.clone())
            .settings(settings.clone())
            .tokenizers(tokenizers)
            .single_segment_index_writer(scratch.clone(), options.heap_bytes)?;
        let empty_bytes = index.mem_usage();
        Ok(Self { index, scratch, empty_bytes })
    }
}

impl OpenSplit {
    fn create(
        columns: &[Column],
        facts: impl Iterator<Item = Facts>,
        options: &WriteOptions,
        cancel: &Cancel,
    ) -> Result<Self> {
        let plans: Vec<FieldPlan> = columns
            .iter()
            .zip(facts)
            .map(|(column, facts)| FieldPlan::new(column, options.layout, &facts))
            .collect();
        let schema = schema::build(columns, &plans)?;
        let settings = IndexSettings {
            docstore_compression: options.compressor()?,
            docstore_blocksize: options.block_bytes(),
            // a thread per writer would not survive a fork and would take a core from Spark's tasks
            docstore_compress_dedicated_thread: false,
            ..IndexSettings::default()
        };
        let segment = OpenSegment::create(&schema, &settings, options, cancel)?;
        let tallies = columns.iter().zip(&plans).map(|(column, plan)| Tally::new(column, plan));
        let tallies = tallies.collect::<Result<_>>()?;
        Ok(Self { schema, plans, settings, segment, spilled: Vec::new(), tallies, rows: 0 })
    }

    /// Finishes the rows in memory as a segment and begins another.
    fn spill(&mut self, options: &WriteOptions, cancel: &Cancel) -> Result<()> {
        let fresh = OpenSegment::create(&self.schema, &self.settings, options, cancel)?;
        let full = std::mem::replace(&mut self.segment, fresh);
        self.spilled.push((full.index.finalize()?, full.scratch));
        Ok(())
    }

    fn write(&mut self, columns: &[Column], prepared: Vec<Prepared>, rows: usize) -> Result<()> {
        for ((tally, plan), prepared) in self.tallies.iter_mut().zip(&self.plans).zip(&prepared) {
            tally.add(plan, prepared, self.rows as u32);
        }
        let batch = Arc::new(self.bind(columns, prepared)?);
        for row in 0..rows {
            self.segment.index.add_document(Row::new(batch.clone(), row))?;
        }
        self.rows += rows as u64;
        Ok(())
    }

    fn bind(&self, columns: &[Column], prepared: Vec<Prepared>) -> Result<BoundBatch> {
        let mut bound = Vec::with_capacity(columns.len());
        let (mut sources, mut trigrams) = (Vec::new(), Vec::new());
        for ((column, plan), prepared) in columns.iter().zip(&self.plans).zip(prepared) {
            let Some(cells) = prepared.cells else { continue };
            let field = self.schema.get_field(&column.name)?;
            let cells = match cells {
                Cells::I64(values) if nanos(plan.encoding) > 1 => {
                    Cells::Date(values, nanos(plan.encoding))
                }
                other => other,
            };
            let passes = Passes::new(plan.indexed, plan.fast, plan.stored);
            let nulls = prepared.nulls;
            if let (Some(name), Some(cells)) = (&plan.trigrams, cells.texts()) {
                let (field, nulls) = (self.schema.get_field(name)?, nulls.clone());
                let passes = Passes::new(true, false, false);
                trigrams.push(BoundColumn { field, cells, nulls, passes });
            }
            match prepared.stored {
                None => bound.push(BoundColumn { field, cells, nulls: nulls.clone(), passes }),
                Some(stored) => {
                    let (index, store) = (passes.without_store(), passes.only_store());
                    bound.push(BoundColumn { field, cells, nulls: nulls.clone(), passes: index });
                    let nulls = nulls.clone();
                    bound.push(BoundColumn { field, cells: stored, nulls, passes: store });
                }
            }
            let Some(name) = &plan.source else { continue };
            let field = self.schema.get_field(name)?;
            if plan.encoding == Encoding::StringBytes {
                let cells = prepared.exact.ok_or_else(|| EngineError::internal("no strings"))?;
                sources.push(BoundColumn { field, cells, nulls, passes });
            } else if let Some(strings) = prepared.source {
                let nulls = strings.nulls().cloned();
                let cells = match StringArray::try_from_binary(strings.clone()) {
                    Ok(texts) if !plan.source_bytes => Cells::Text(texts),
                    _ => Cells::Bytes(strings),
                };
                let passes = Passes::new(false, false, true);
                sources.push(BoundColumn { field, cells, nulls, passes });
            }
        }
        bound.append(&mut sources);
        bound.append(&mut trigrams);
        Ok(bound)
    }

    fn finish(
        self,
        columns: &[Column],
        options: &WriteOptions,
        runs: Option<Vec<Run>>,
        cancel: &Cancel,
    ) -> Result<FinishedSegment> {
        let Self { plans, settings, segment, mut spilled, tallies, rows, .. } = self;
        spilled.push((segment.index.finalize()?, segment.scratch));
        let scratch = one_segment(spilled, settings, options, cancel)?;
        let (mut nulls, mut capitals) = (NullRows::default(), Capitals::default());
        let mut described = Vec::with_capacity(columns.len());
        for ((column, plan), tally) in columns.iter().zip(&plans).zip(tallies) {
            let (min, max) = tally.bounds.to_json(options.stats_length);
            described.push(SidecarColumn {
                name: column.name.clone(),
                data_type: to_spark(&column.data_type),
                encoding: plan.encoding,
                digits: None,
                overlong: tally.overlong,
                nulls: tally.nulls,
                tokens: None,
                source: plan.source.clone(),
                address: column.spec.address.clone().unwrap_or_default(),
                inexact: tally.inexact && options.layout == Layout::Companion,
                min,
                max,
            });
            if !tally.null_rows.is_empty() {
                nulls.columns.insert(column.name.clone(), tally.null_rows);
            }
            if let Some(words) = tally.capitals.and_then(CapitalNotes::finish) {
                capitals.columns.insert(column.name.clone(), words);
            }
        }
        let mut sidecar = Sidecar::new(options.layout, rows, described);
        sidecar.source = runs.map(|runs| SourceFiles { runs, table: options.source_table.clone() });
        let index = Index::open(scratch.clone())?;
        forget_documents(&index, &scratch)?;
        Ok(FinishedSegment { index, scratch, sidecar: Some(sidecar), nulls, capitals })
    }
}

/// The folder of the only segment, merged from several if need be.
fn one_segment(
    mut segments: Vec<(Index, Scratch)>,
    settings: IndexSettings,
    options: &WriteOptions,
    cancel: &Cancel,
) -> Result<Scratch> {
    if segments.len() == 1
        && let Some((_, scratch)) = segments.pop()
    {
        return Ok(scratch);
    }
    let merged = Scratch::create(options.temp_dir.as_deref(), cancel.clone())?;
    let mut parts = Vec::with_capacity(segments.len());
    for (index, _) in &segments {
        parts.extend(index.searchable_segments()?.into_iter().filter(|s| s.meta().max_doc() > 0));
    }
    let all_rows = parts.iter().map(|_| None).collect();
    merge_filtered_segments(&parts, settings, all_rows, merged.clone())?;
    Ok(merged)
}

impl Tally {
    fn new(column: &Column, plan: &FieldPlan) -> Result<Tally> {
        let longest = match plan.encoding {
            Encoding::Text if plan.indexed => {
                tokenizer::longest_word(&column.spec.tokenizer("default")?)
            }
            _ => None,
        };
        Ok(Tally { capitals: longest.map(CapitalNotes::new), ..Tally::default() })
    }

    fn add(&mut self, plan: &FieldPlan, prepared: &Prepared, first_row: u32) {
        self.nulls += prepared.null_count as u64;
        self.overlong |= prepared.facts.overlong;
        self.inexact |= prepared.facts.inexact;
        self.bounds.fold(prepared.bounds.clone());
        if let (true, Some(nulls)) = (needs_null_rows(plan), &prepared.nulls) {
            let rows = nulls.iter().enumerate().filter(|(_, valid)| !valid);
            self.null_rows.extend(rows.map(|(row, _)| first_row + row as u32));
        }
        if let (Some(notes), Some(cells)) = (&mut self.capitals, &prepared.cells) {
            cells.for_each_text(|text| notes.add(text));
        }
    }
}

/// A fast column knows its empty rows; the columns of a JSON object only know those of its leaves.
fn needs_null_rows(plan: &FieldPlan) -> bool {
    plan.encoding != Encoding::Null && (plan.encoding.is_object() || !plan.fast)
}
