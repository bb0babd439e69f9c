//! Rows of one file, decoded in the order of the file.

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array, new_null_array};
use arrow::compute::{concat, take};
use arrow::datatypes::{DataType, Schema};
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{RowSelection, RowSelectionPolicy, RowSelector};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};

use super::Source;
use super::address::{Address, Found};
use super::file::SourceFile;
use super::kinds::{Place, conform};
use super::runs::RowList;
use crate::error::{EngineError, Result};

/// Rows decoded at a time.
const STEP: usize = 8192;

/// The wanted columns, and where they are in one file.
pub struct Projection {
    mask: ProjectionMask,
    columns: Vec<Wanted>,
    check_calendar: bool,
}

struct Wanted {
    name: String,
    target: DataType,
    /// Its position among the decoded columns, unless the file does not have it.
    at: Option<usize>,
    address: Address,
}

impl Projection {
    pub fn new(source: &Source, file: &SourceFile, wanted: &Schema) -> Result<Projection> {
        let lookup = source.lookup();
        let fields = file.footer.reader.schema().fields();
        let mut roots = Vec::new();
        let mut columns = Vec::with_capacity(wanted.fields().len());
        for field in wanted.fields() {
            let known = lookup.columns.iter().find(|address| &address.name == field.name());
            let address = known.cloned().unwrap_or_else(|| Address::named(field.name()));
            let root = match address.find(fields, lookup.case_sensitive, file.footer.has_ids) {
                Found::At(root) => Some(root),
                Found::Missing => None,
                Found::Unclear(detail) => {
                    let (path, column) = (file.id.path.clone(), field.name().clone());
                    let detail = detail.to_owned();
                    return Err(EngineError::SourceAddress { path, column, detail });
                }
            };
            roots.extend(root);
            columns.push((field, root, address));
        }
        roots.sort_unstable();
        roots.dedup();
        let schema = file.footer.reader.parquet_schema();
        let columns = columns.into_iter().map(|(field, root, address)| Wanted {
            name: field.name().clone(),
            target: field.data_type().clone(),
            at: root.and_then(|root| roots.binary_search(&root).ok()),
            address,
        });
        Ok(Projection {
            columns: columns.collect(),
            mask: ProjectionMask::roots(schema, roots.iter().copied()),
            check_calendar: lookup.calendar == super::Calendar::Exception,
        })
    }

    /// Whether the file has none of the columns.
    fn is_empty(&self) -> bool {
        self.columns.iter().all(|column| column.at.is_none())
    }

    fn nulls(&self, rows: usize) -> Vec<ArrayRef> {
        self.columns.iter().map(|column| new_null_array(&column.target, rows)).collect()
    }

    /// Decoded columns in the types of the table.
    fn conform(
        &self,
        source: &Source,
        file: &SourceFile,
        batch: &RecordBatch,
    ) -> Result<Vec<ArrayRef>> {
        let arrays = self.columns.iter().map(|column| {
            let Some(at) = column.at else {
                return Ok(new_null_array(&column.target, batch.num_rows()));
            };
            let place = Place {
                file,
                column: &column.name,
                case_sensitive: source.lookup().case_sensitive,
                check_calendar: self.check_calendar,
            };
            conform(&place, batch.column(at), &column.target, &column.address)
        });
        arrays.collect()
    }
}

/// Reads the rows of a file in order, on demand.
pub struct Stream {
    decoder: Option<ParquetPushDecoder>,
    /// Rows that were decoded and not taken yet.
    ready: Option<Vec<ArrayRef>>,
    /// The first row of `ready`, or the next row to decode.
    pub next: u64,
}

impl Stream {
    /// Reads rows from `first` on; `step` are decoded at a time.
    pub fn open(
        file: &SourceFile,
        projection: &Projection,
        first: u64,
        step: usize,
    ) -> Result<Stream> {
        if projection.is_empty() {
            return Ok(Stream { decoder: None, ready: None, next: first });
        }
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(file.footer.reader.clone())
            .with_projection(projection.mask.clone())
            .with_batch_size(step);
        if first > 0 {
            let rest = file.footer.rows.saturating_sub(first) as usize;
            let selectors = vec![RowSelector::skip(first as usize), RowSelector::select(rest)];
            builder = builder.with_row_selection(RowSelection::from(selectors));
        }
        let decoder = builder.build().map_err(|e| file.failed(e))?;
        Ok(Stream { decoder: Some(decoder), ready: None, next: first })
    }

    /// The next rows, at most `step`; nothing at the end of the file.
    pub fn batch(
        &mut self,
        source: &Source,
        file: &SourceFile,
        projection: &Projection,
        step: usize,
    ) -> Result<Option<Vec<ArrayRef>>> {
        let left = file.footer.rows.saturating_sub(self.next) as usize;
        let Some(decoder) = &mut self.decoder else {
            let rows = left.min(step);
            self.next += rows as u64;
            return Ok((rows > 0).then(|| projection.nulls(rows)));
        };
        let Some(batch) = next_batch(decoder, file)? else {
            return if left == 0 { Ok(None) } else { Err(too_few(file)) };
        };
        self.next += batch.num_rows() as u64;
        projection.conform(source, file, &batch).map(Some)
    }

    /// The given rows, which must come after all rows taken before.
    pub fn take(
        &mut self,
        source: &Source,
        file: &SourceFile,
        projection: &Projection,
        rows: &RowList,
    ) -> Result<Vec<ArrayRef>> {
        let ranges = rows.ranges();
        let mut found: Vec<Vec<ArrayRef>> = Vec::new();
        let mut at = 0;
        while at < ranges.len() {
            let arrays = match self.ready.take() {
                Some(arrays) => arrays,
                None => self
                    .batch(source, file, projection, STEP)?
                    .inspect(|arrays| self.next -= length(arrays))
                    .ok_or_else(|| too_few(file))?,
            };
            let (start, end) = (self.next, self.next + length(&arrays));
            let mut picked = Vec::new();
            while at < ranges.len() && ranges[at].start < end {
                let range = ranges[at].start.max(start)..ranges[at].end.min(end);
                picked.extend((range.start - start) as u32..(range.end - start) as u32);
                if ranges[at].end > end {
                    break;
                }
                at += 1;
            }
            found.push(pick(&arrays, picked)?);
            let last = rows.span().end.min(end);
            if last < end {
                let kept = (last - start) as usize;
                let rest = |array: &ArrayRef| array.slice(kept, array.len() - kept);
                self.ready = Some(arrays.iter().map(rest).collect());
                self.next = last;
            } else {
                self.next = end;
            }
        }
        join(found, projection)
    }
}

fn length(arrays: &[ArrayRef]) -> u64 {
    arrays.first().map_or(0, |array| array.len() as u64)
}

fn pick(arrays: &[ArrayRef], rows: Vec<u32>) -> Result<Vec<ArrayRef>> {
    let whole = |array: &ArrayRef| array.len() == rows.len();
    if arrays.iter().all(whole) {
        return Ok(arrays.to_vec());
    }
    let (first, count) = (rows.first().copied().unwrap_or(0) as usize, rows.len());
    if rows.last().is_none_or(|&last| last as usize + 1 == first + count) {
        return Ok(arrays.iter().map(|array| array.slice(first, count)).collect());
    }
    let rows = UInt32Array::from(rows);
    arrays.iter().map(|array| Ok(take(array, &rows, None)?)).collect()
}

fn join(mut parts: Vec<Vec<ArrayRef>>, projection: &Projection) -> Result<Vec<ArrayRef>> {
    match parts.len() {
        0 => Ok(projection.nulls(0)),
        1 => Ok(parts.swap_remove(0)),
        _ => join_parts(&parts),
    }
}

/// The concatenated columns of several parts.
pub fn join_parts(parts: &[Vec<ArrayRef>]) -> Result<Vec<ArrayRef>> {
    let columns = parts.first().map_or(0, Vec::len);
    let column = |at: usize| {
        let arrays: Vec<&dyn Array> = parts.iter().map(|part| part[at].as_ref()).collect();
        Ok(concat(&arrays)?)
    };
    (0..columns).map(column).collect()
}

/// Some rows of a file, wherever they are: only their pages are fetched.
pub fn fetch(
    source: &Source,
    file: &SourceFile,
    projection: &Projection,
    rows: &RowList,
) -> Result<Vec<ArrayRef>> {
    if projection.is_empty() {
        return Ok(projection.nulls(rows.len()));
    }
    let ranges = rows.ranges();
    let total = file.footer.rows as usize;
    let selected = ranges.iter().map(|range| range.start as usize..range.end as usize);
    let selection = RowSelection::from_consecutive_ranges(selected, total);
    let span = rows.span();
    // measured: skipping to single rows of large pages is faster than masking them
    let scattered = (rows.len() as u64).saturating_mul(64) < span.end - span.start;
    let policy =
        if scattered { RowSelectionPolicy::Selectors } else { RowSelectionPolicy::default() };
    let mut decoder = ParquetPushDecoderBuilder::new_with_metadata(file.footer.reader.clone())
        .with_projection(projection.mask.clone())
        .with_row_selection(selection)
        .with_row_selection_policy(policy)
        .with_batch_size(rows.len().clamp(1, 1 << 16))
        .build()
        .map_err(|e| file.failed(e))?;
    let mut found = Vec::new();
    while let Some(batch) = next_batch(&mut decoder, file)? {
        found.push(projection.conform(source, file, &batch)?);
    }
    if found.iter().map(|arrays| length(arrays) as usize).sum::<usize>() != rows.len() {
        return Err(too_few(file));
    }
    join(found, projection)
}

fn next_batch(decoder: &mut ParquetPushDecoder, file: &SourceFile) -> Result<Option<RecordBatch>> {
    loop {
        match decoder.try_decode().map_err(|e| file.failed(e))? {
            DecodeResult::Data(batch) => return Ok(Some(batch)),
            DecodeResult::Finished => return Ok(None),
            DecodeResult::NeedsData(ranges) => {
                let found = file.read(&ranges)?;
                decoder.push_ranges(ranges, found).map_err(|e| file.failed(e))?;
            }
        }
    }
}

fn too_few(file: &SourceFile) -> EngineError {
    EngineError::corrupt(&file.id.path, "it has fewer rows than its footer says")
}
