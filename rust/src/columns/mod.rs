//! Rows as Arrow: each wanted column from its fast field where that is exact and cheap, else from the
//! document store.

pub mod build;
pub mod convert;
mod doc_store;
pub mod fast;
mod lz4;
mod offsets;
pub mod stored_value;
pub mod text;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, new_null_array};
use arrow::datatypes::{DataType, Field, SchemaRef};
use tantivy::columnar::DynamicColumn;

pub use doc_store::{BlockReader, DocStore};

use build::Builder;
use fast::{FastReader, unit_of};
use stored_value::{Cursor, Stored};

use crate::cancel::Cancel;
use crate::error::{EngineError, Result};
use crate::open::{Column, Segment, Split};
use crate::source::SourceRows;
use crate::split::Encoding;
use crate::split::decimals::floats;

/// Some documents of a segment, ascending.
#[derive(Debug, Clone)]
pub enum Docs<'a> {
    Range(Range<u32>),
    List(&'a [u32]),
}

impl<'a> Docs<'a> {
    /// A list without gaps is a range, which reads faster.
    pub fn of(list: &'a [u32]) -> Docs<'a> {
        match (list.first(), list.last()) {
            (Some(&first), Some(&last)) if (last - first) as usize + 1 == list.len() => {
                Docs::Range(first..last + 1)
            }
            _ => Docs::List(list),
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Docs::Range(range) => range.len(),
            Docs::List(list) => list.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn get(&self, at: usize) -> u32 {
        match self {
            Docs::Range(range) => range.start + at as u32,
            Docs::List(list) => list[at],
        }
    }

    /// How many documents, from position `at` on, come before document `end`.
    pub fn count_before(&self, at: usize, end: u32) -> usize {
        match self {
            Docs::Range(range) => (end.min(range.end) - (range.start + at as u32)) as usize,
            Docs::List(list) => list[at..].partition_point(|&doc| doc < end),
        }
    }
}

/// So few rows are read from the document store, if some column of theirs is there only: opening a fast column takes
/// longer than reading one more value of each.
const FEW_ROWS: usize = 16;

/// Name of the column with the number of a row in its split.
pub const DOC_COLUMN: &str = "_doc";

/// The wanted columns of one segment, open for reading.
pub struct SegmentColumns {
    split: Arc<Split>,
    segment: usize,
    schema: SchemaRef,
    readers: Vec<Reader>,
    blocks: Option<BlockReader>,
    /// The columns that are read from the source's files.
    outside: Option<SourceRows>,
}

enum Reader {
    /// Not in this split: null everywhere.
    Absent,
    Doc,
    /// A fast column that is not open yet.
    Column,
    Fast(FastReader),
    Store,
    /// In the files of the source.
    Source,
}

impl SegmentColumns {
    /// `hits` is how many documents will be read at most: few of them come cheaper from the document
    /// store when the split is remote.
    pub fn open(
        split: &Arc<Split>,
        segment: usize,
        schema: SchemaRef,
        hits: usize,
    ) -> Result<SegmentColumns> {
        let part = &split.segments[segment];
        let mut readers = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            readers.push(match split.layout.get(field.name()) {
                None if field.name() == DOC_COLUMN && !split.layout.is_column(DOC_COLUMN) => {
                    Reader::Doc
                }
                // a companion that was opened with its source has every column
                None if split.is_companion() => Reader::Source,
                None => Reader::Absent,
                Some(column) => choose(column),
            });
        }
        if split.directory.is_remote() {
            prefer_store(split, part, &schema, &mut readers, hits)?;
        } else if hits <= FEW_ROWS && readers.iter().any(|r| matches!(r, Reader::Store)) {
            use_store(split, &schema, &mut readers);
        }
        open_columns(split, part, &schema, &mut readers)?;
        let (split, blocks, outside) = (split.clone(), None, None);
        Ok(SegmentColumns { split, segment, schema, readers, blocks, outside })
    }

    /// The wanted columns of some documents.
    pub fn read(&mut self, docs: &Docs<'_>) -> Result<Vec<ArrayRef>> {
        let base = self.split.segments[self.segment].base;
        let mut arrays: Vec<Option<ArrayRef>> = vec![None; self.readers.len()];
        for (at, reader) in self.readers.iter_mut().enumerate() {
            let data_type = self.schema.field(at).data_type();
            arrays[at] = match reader {
                Reader::Absent => Some(new_null_array(data_type, docs.len())),
                Reader::Doc => Some(convert::cast(&doc_numbers(docs, base), data_type)?),
                Reader::Store | Reader::Column | Reader::Source => None,
                Reader::Fast(fast) => match fast.read(docs)? {
                    Ok(array) => Some(array),
                    Err(fast::Overlong) => {
                        *reader = Reader::Store;
                        None
                    }
                },
            };
        }
        self.read_outside(docs, base, &mut arrays)?;
        self.read_stored(docs, &mut arrays)?;
        arrays
            .into_iter()
            .map(|array| array.ok_or_else(|| EngineError::internal("a column was not read")))
            .collect()
    }

    fn read_outside(
        &mut self,
        docs: &Docs<'_>,
        base: u32,
        arrays: &mut [Option<ArrayRef>],
    ) -> Result<()> {
        let wanted: Vec<usize> =
            (0..arrays.len()).filter(|&at| matches!(self.readers[at], Reader::Source)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let rows = match &mut self.outside {
            Some(rows) => rows,
            none => {
                let source = self.split.source.as_ref();
                let (source, runs) =
                    source.ok_or_else(|| EngineError::internal("a split without its source"))?;
                let schema = Arc::new(self.schema.project(&wanted)?);
                none.insert(SourceRows::new(source.clone(), runs.clone(), schema))
            }
        };
        for (at, array) in wanted.into_iter().zip(rows.read(docs, base)?) {
            arrays[at] = Some(array);
        }
        Ok(())
    }

    fn read_stored(&mut self, docs: &Docs<'_>, arrays: &mut [Option<ArrayRef>]) -> Result<()> {
        let wanted: Vec<usize> = (0..arrays.len()).filter(|&at| arrays[at].is_none()).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let columns = wanted.iter().map(|&at| {
            let field = self.schema.field(at);
            let column = self.split.layout.get(field.name());
            let column = column.ok_or_else(|| EngineError::internal("a column vanished"))?;
            StoredColumn::new(column, field.data_type(), docs.len())
        });
        let mut rows = StoredRows::new(columns.collect::<Result<_>>()?);
        if self.blocks.is_none() {
            let store = self.split.segments[self.segment].doc_store()?;
            self.blocks = Some(BlockReader::new(store, self.split.directory.clone()));
        }
        let blocks = self.blocks.as_mut().ok_or_else(|| EngineError::internal("no blocks"))?;
        blocks.read(docs, |document| rows.push(document))?;
        for (at, column) in wanted.into_iter().zip(rows.columns) {
            arrays[at] = Some(column.builder.finish()?);
        }
        Ok(())
    }
}

fn doc_numbers(docs: &Docs<'_>, base: u32) -> ArrayRef {
    let numbers = (0..docs.len()).map(|at| i64::from(base) + i64::from(docs.get(at)));
    Arc::new(Int64Array::from_iter_values(numbers))
}

/// Where a column is read from when reading costs no round trips.
fn choose(column: &Column) -> Reader {
    let exact = column.fast
        && !column.is_json()
        && column.encoding != Encoding::Text
        && column.overlong != Some(true)
        && !column.inexact
        && column.source.is_none();
    if exact {
        return Reader::Column;
    }
    if column.stored {
        return Reader::Store;
    }
    if column.outside {
        return Reader::Source;
    }
    // a column that was written to be searched only reads as null
    Reader::Absent
}

/// Reads stored columns from the document store.
fn use_store(split: &Split, schema: &SchemaRef, readers: &mut [Reader]) {
    for (field, reader) in schema.fields().iter().zip(readers) {
        let stored = split.layout.get(field.name()).is_some_and(|column| column.stored);
        if stored && matches!(reader, Reader::Column) {
            *reader = Reader::Store;
        }
    }
}

/// A fast column is always fetched whole. For few rows the blocks of the document store are fewer
/// bytes; if some of them are needed anyway, the columns in them cost nothing more.
fn prefer_store(
    split: &Split,
    segment: &Segment,
    schema: &SchemaRef,
    readers: &mut [Reader],
    hits: usize,
) -> Result<()> {
    let docs = segment.reader.max_doc() as usize;
    let stored = |field: &Arc<Field>| split.layout.get(field.name()).is_some_and(|c| c.stored);
    if hits >= docs / 4
        || !schema.fields().iter().any(stored)
        || !readers.iter().any(|reader| matches!(reader, Reader::Column))
    {
        return Ok(());
    }
    let stored_anyway = readers.iter().any(|reader| matches!(reader, Reader::Store));
    let store = segment.doc_store()?;
    let block = store.num_bytes() / (store.num_blocks() as u64).max(1);
    let store_bytes = if stored_anyway { 0 } else { (hits as u64).saturating_mul(block) };
    let fast_file = split
        .directory
        .files()
        .filter(|(path, _)| path.extension().is_some_and(|extension| extension == "fast"));
    // sizes of single columns would cost a request; their mean does
    let fast_bytes: u64 = fast_file.map(|(_, bytes)| bytes).sum();
    let fast_columns = split.layout.iter().filter(|column| column.fast).count().max(1) as u64;
    if store_bytes < fast_bytes / fast_columns {
        use_store(split, schema, readers);
    }
    Ok(())
}

/// Opens the chosen fast columns, all at once where that saves waiting.
fn open_columns(
    split: &Split,
    segment: &Segment,
    schema: &SchemaRef,
    readers: &mut [Reader],
) -> Result<()> {
    let open = |at: usize| -> Result<Reader> {
        let field = schema.field(at);
        let column = split.layout.get(field.name());
        let column = column.ok_or_else(|| EngineError::internal("a column vanished"))?;
        Ok(match open_fast(segment, column)? {
            Some(values) => Reader::Fast(FastReader::new(values, column, field.data_type())),
            None => Reader::Absent,
        })
    };
    let wanted: Vec<usize> =
        (0..readers.len()).filter(|&at| matches!(readers[at], Reader::Column)).collect();
    if !split.directory.is_remote() || wanted.len() < 2 {
        for at in wanted {
            readers[at] = open(at)?;
        }
        return Ok(());
    }
    for few in wanted.chunks(8) {
        let opened: Vec<Result<Reader>> = std::thread::scope(|scope| {
            let open = &open;
            let begin = |&at: &usize| {
                let cancel = Cancel::current();
                scope.spawn(move || Cancel::during(cancel, || open(at)))
            };
            let threads: Vec<_> = few.iter().map(begin).collect();
            let panicked = || Err(EngineError::corrupt("", "a column does not open"));
            threads.into_iter().map(|t| t.join().unwrap_or_else(|_| panicked())).collect()
        });
        for (&at, reader) in few.iter().zip(opened) {
            readers[at] = reader?;
        }
    }
    Ok(())
}

/// The fast column of a top-level column, if any document of the segment has a value.
pub fn open_fast(segment: &Segment, column: &Column) -> Result<Option<DynamicColumn>> {
    Ok(match (column.encoding, segment.fast_column(&column.field_name)?) {
        (Encoding::F64Decimal, Some(DynamicColumn::I64(whole))) => {
            Some(DynamicColumn::F64(floats(whole, column.scale as u8)))
        }
        (_, opened) => opened,
    })
}

/// Columns that are filled from stored documents.
struct StoredRows {
    columns: Vec<StoredColumn>,
    /// Slot of each field number: the column, and whether it is the column's exact text.
    slots: Vec<Option<(usize, bool)>>,
    row: usize,
    early_end: bool,
}

struct StoredColumn {
    field: u32,
    source: Option<u32>,
    builder: Builder,
    /// Lists and maps with nested keys lie inside an object of one member.
    wrapped: bool,
}

impl StoredColumn {
    fn new(column: &Column, target: &DataType, rows: usize) -> Result<StoredColumn> {
        let nested = matches!(target, DataType::List(_) | DataType::Map(..));
        Ok(StoredColumn {
            field: column.field.field_id(),
            source: column.source.map(|field| field.field_id()),
            builder: Builder::widened(
                &column.name,
                target,
                unit_of(column),
                column.written.as_ref(),
                rows,
            )?,
            wrapped: nested && matches!(column.encoding, Encoding::List | Encoding::Map),
        })
    }

    #[inline]
    fn push(&mut self, value: Stored<'_>) {
        if self.wrapped {
            return self.builder.push(unwrap(&self.builder, value));
        }
        self.builder.push(value);
    }
}

/// The array inside `{"<column>":[…]}` or `{"_values":[…]}`.
fn unwrap<'a>(builder: &Builder, value: Stored<'a>) -> Stored<'a> {
    let Stored::Object(mut members) = value else {
        return value;
    };
    let is_list = matches!(builder, Builder::List { .. });
    match members.next() {
        Some((_, inner @ Stored::Array(_))) if is_list || has_nested_keys(builder) => inner,
        // an empty list has no member where nulls and empties are left out
        None if is_list => Stored::Array(stored_value::Items::empty()),
        _ => value,
    }
}

fn has_nested_keys(builder: &Builder) -> bool {
    matches!(builder, Builder::Map(map) if map.has_nested_keys())
}

impl StoredRows {
    fn new(columns: Vec<StoredColumn>) -> StoredRows {
        let fields = columns.iter().flat_map(|c| [Some(c.field), c.source]).flatten();
        let mut slots = vec![None; fields.max().map_or(0, |last| last as usize + 1)];
        for (at, column) in columns.iter().enumerate() {
            slots[column.field as usize] = Some((at, false));
            if let Some(source) = column.source {
                slots[source as usize] = Some((at, true));
            }
        }
        let early_end = columns.iter().all(|column| column.source.is_none());
        StoredRows { columns, slots, row: 0, early_end }
    }

    fn push(&mut self, document: &[u8]) -> Result<()> {
        self.push_row(document)
            .ok_or_else(|| EngineError::corrupt("", "a stored document does not parse"))
    }

    fn push_row(&mut self, document: &[u8]) -> Option<()> {
        let mut cursor = Cursor::new(document);
        let mut filled = 0;
        let mut sources: Vec<(usize, Cursor<'_>)> = Vec::new();
        let mut values: Vec<(usize, Cursor<'_>)> = Vec::new();
        for _ in 0..cursor.vint()? {
            let field = cursor.field()?;
            match self.slots.get(field as usize).copied().flatten() {
                None => cursor.skip()?,
                Some((at, _)) if !self.early_end => {
                    let is_source = self.slots[field as usize].is_some_and(|(_, source)| source);
                    let list = if is_source { &mut sources } else { &mut values };
                    list.push((at, cursor));
                    cursor.skip()?;
                }
                Some((at, _)) if self.columns[at].builder.rows() > self.row => cursor.skip()?,
                Some((at, _)) => {
                    let value = cursor.value()?;
                    self.columns[at].push(value);
                    filled += 1;
                    if filled == self.columns.len() {
                        break;
                    }
                }
            }
        }
        // the exact text wins over the rendered value
        for (at, mut cursor) in sources.into_iter().chain(values) {
            if self.columns[at].builder.rows() == self.row {
                self.columns[at].push(cursor.value()?);
                filled += 1;
            }
        }
        self.row += 1;
        if filled < self.columns.len() {
            for column in &mut self.columns {
                if column.builder.rows() < self.row {
                    column.builder.push_null();
                }
            }
        }
        Some(())
    }
}
