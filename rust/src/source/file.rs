//! An open Parquet file: its bytes, and its footer, which is cached by the identity of the file.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;
use parquet::DecodeResult;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    KeyValue, PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataPushDecoder,
    ParquetMetaDataReader,
};
use parquet::schema::types::{SchemaDescriptor, Type};
use serde::Deserialize;

use super::Source;
use super::address::has_ids;
use crate::error::{EngineError, Result};
use crate::store::RangeSource;

/// The last bytes of a file are fetched at once: most footers are shorter.
const TAIL_BYTES: u64 = 64 << 10;
const MAGIC: &[u8] = b"PAR1";
/// Footers kept in memory, all together.
const MOST_KEPT: usize = 64 << 20;

/// The identity of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
pub struct FileId {
    pub path: String,
    pub size: u64,
    #[serde(default)]
    pub stamp: Option<String>,
}

pub struct SourceFile {
    pub id: FileId,
    pub footer: Arc<Footer>,
    bytes: Arc<dyn RangeSource>,
}

/// The content of a file's footer.
pub struct Footer {
    pub reader: ArrowReaderMetadata,
    /// Columns with the types that Spark would give them; strings are declared as such.
    pub declared: SchemaRef,
    pub rows: u64,
    /// CRC-32 of its bytes.
    pub sum: u32,
    pub has_ids: bool,
    /// Days and microseconds are in the calendar of old writers.
    pub old_dates: bool,
    /// The same for timestamps of 96 bits.
    pub old_int96: bool,
}

impl SourceFile {
    /// Opens a file; its footer is read once. `cached` keeps the bytes of remote files.
    pub fn open(source: &Source, id: FileId, cached: bool) -> Result<SourceFile> {
        let opened = source.bytes(&id, cached).and_then(|(bytes, name)| {
            if bytes.len() != id.size {
                return Err(changed(&id, bytes.len()));
            }
            let key = Key { name, id: id.clone(), changed_ns: bytes.changed_ns() };
            let footer = match kept(&key) {
                Some(footer) => footer,
                None => {
                    let read = read_footer(bytes.as_ref(), id.size);
                    let footer = Arc::new(read.map_err(|e| suspect(source, &id, e))?);
                    keep(key, &footer);
                    footer
                }
            };
            Ok(SourceFile { id: id.clone(), footer, bytes })
        });
        opened.map_err(|error| named(error, &id.path))
    }

    /// Bytes of some ranges, fetched together.
    pub fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let found = self.bytes.read_many(ranges).map_err(EngineError::from);
        let found = found.map_err(|error| named(error, &self.id.path))?;
        Ok(found.into_iter().map(Bytes::from_owner).collect())
    }

    pub fn is_remote(&self) -> bool {
        self.bytes.is_remote()
    }

    pub fn failed(&self, error: ParquetError) -> EngineError {
        damaged(error).at(&self.id.path)
    }
}

/// Converts errors of the store: a missing source file is not a damaged table.
pub fn named(error: EngineError, path: &str) -> EngineError {
    match error {
        EngineError::Missing { .. } => EngineError::SourceMissing { path: path.to_owned() },
        other => other.at(path),
    }
}

fn changed(id: &FileId, found: u64) -> EngineError {
    let detail = format!("it has {found} bytes, {} were indexed", id.size);
    EngineError::SourceChanged { path: id.path.clone(), detail }
}

fn damaged(error: ParquetError) -> EngineError {
    EngineError::corrupt("", error)
}

/// A footer that cannot be decoded may belong to another file, which has another length.
fn suspect(source: &Source, id: &FileId, error: EngineError) -> EngineError {
    match source.length(id) {
        Ok(length) if length != id.size => changed(id, length),
        Err(missing @ EngineError::Missing { .. }) => missing,
        _ => error,
    }
}

fn read_footer(bytes: &dyn RangeSource, size: u64) -> Result<Footer> {
    let not_parquet = || EngineError::corrupt("", "it is not a Parquet file");
    let tail = bytes.read(size.saturating_sub(TAIL_BYTES)..size)?;
    let end = tail.last_chunk::<8>().ok_or_else(not_parquet)?;
    if &end[4..] != MAGIC {
        return Err(not_parquet());
    }
    let length = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
    let start = size.checked_sub(8 + length).ok_or_else(not_parquet)?;
    let whole = match (tail.len() as u64).checked_sub(8 + length) {
        Some(at) => tail.slice(at as usize..tail.len() - 8),
        None => bytes.read(start..size - 8)?,
    };
    let written = ParquetMetaDataReader::decode_schema(&whole).map_err(damaged)?;
    // Spark allows strings that are not UTF-8: read them as bytes
    let plain = Arc::new(SchemaDescriptor::new(Arc::new(
        without_texts(written.root_schema(), true).map_err(damaged)?,
    )));
    let options = ParquetMetaDataOptions::new().with_schema(plain.clone());
    let metadata = ParquetMetaDataReader::decode_metadata_with_options(&whole, Some(&options))
        .map_err(damaged)?;
    let metadata = Arc::new(with_offsets(metadata, bytes, size)?);
    let schema = Arc::new(with_micros(&plain)?);
    let options = ArrowReaderOptions::new().with_schema(schema);
    let file = metadata.file_metadata();
    let marks = Marks::of(file.key_value_metadata().map_or(&[][..], Vec::as_slice));
    let rows = u64::try_from(file.num_rows()).map_err(|_| not_parquet())?;
    let reader = ArrowReaderMetadata::try_new(metadata.clone(), options).map_err(damaged)?;
    Ok(Footer {
        has_ids: has_ids(reader.schema().fields()),
        reader,
        declared: Arc::new(with_micros(&written)?),
        rows,
        sum: crc32fast::hash(&whole),
        old_dates: marks.old_dates,
        old_int96: marks.old_int96,
    })
}

/// The metadata with the offset index, if the file has one.
fn with_offsets(
    metadata: ParquetMetaData,
    bytes: &dyn RangeSource,
    size: u64,
) -> Result<ParquetMetaData> {
    let mut decoder = ParquetMetaDataPushDecoder::try_new_with_metadata(size, metadata)
        .map_err(damaged)?
        .with_column_index_policy(PageIndexPolicy::Skip)
        .with_offset_index_policy(PageIndexPolicy::Optional);
    loop {
        match decoder.try_decode().map_err(damaged)? {
            DecodeResult::Data(metadata) => return Ok(metadata),
            DecodeResult::Finished => return Err(EngineError::internal("no metadata")),
            DecodeResult::NeedsData(ranges) => {
                let found = bytes.read_many(&ranges)?;
                let found = found.into_iter().map(Bytes::from_owner).collect();
                decoder.push_ranges(ranges, found).map_err(damaged)?;
            }
        }
    }
}

/// A schema whose strings are plain bytes.
fn without_texts(kind: &Type, root: bool) -> Result<Type, ParquetError> {
    let info = kind.get_basic_info();
    let id = info.has_id().then(|| info.id());
    if kind.is_primitive() {
        let text = matches!(
            info.logical_type_ref(),
            Some(LogicalType::String | LogicalType::Enum | LogicalType::Json | LogicalType::Bson)
        ) || matches!(
            info.converted_type(),
            ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON | ConvertedType::BSON
        );
        if !text {
            return Ok(kind.clone());
        }
        return Type::primitive_type_builder(info.name(), kind.get_physical_type())
            .with_repetition(info.repetition())
            .with_id(id)
            .build();
    }
    let fields = kind.get_fields().iter().map(|field| without_texts(field, false).map(Arc::new));
    let builder = Type::group_type_builder(info.name())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_id(id)
        .with_fields(fields.collect::<Result<_, _>>()?);
    // the root has no repetition
    let repetition = if root { Repetition::REQUIRED } else { info.repetition() };
    if root { builder.build() } else { builder.with_repetition(repetition).build() }
}

/// The Arrow schema of a file, with timestamps of 96 bits as Spark reads them.
fn with_micros(schema: &SchemaDescriptor) -> Result<Schema> {
    let natural = parquet_to_arrow_schema(schema, None).map_err(damaged)?;
    let mut leaf = 0;
    let fields: Vec<Field> =
        natural.fields().iter().map(|field| micros_field(field, schema, &mut leaf)).collect();
    Ok(Schema::new(fields))
}

/// Leaves of both schemas come in the same order.
fn micros_field(field: &Field, schema: &SchemaDescriptor, leaf: &mut usize) -> Field {
    let mut inner = |field: &Arc<Field>| Arc::new(micros_field(field, schema, leaf));
    let kind = match field.data_type() {
        DataType::Struct(members) => DataType::Struct(members.iter().map(inner).collect()),
        DataType::List(item) => DataType::List(inner(item)),
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        other => {
            let at = *leaf;
            *leaf += 1;
            if schema.column(at).physical_type() == Physical::INT96 {
                DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
            } else {
                other.clone()
            }
        }
    };
    field.clone().with_data_type(kind)
}

/// What the writer recorded about its calendar, as Spark reads it.
struct Marks {
    old_dates: bool,
    old_int96: bool,
}

impl Marks {
    fn of(notes: &[KeyValue]) -> Marks {
        let note = |name: &str| notes.iter().find(|n| n.key == format!("org.apache.spark.{name}"));
        let Some(version) = note("version").and_then(|note| note.value.as_deref()) else {
            return Marks { old_dates: false, old_int96: false };
        };
        Marks {
            old_dates: version < "3.0.0" || note("legacyDateTime").is_some(),
            old_int96: version < "3.1.0" || note("legacyINT96").is_some(),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    name: String,
    id: FileId,
    /// Of local files, whose names may be used again.
    changed_ns: Option<i64>,
}

#[derive(Default)]
struct Kept {
    footers: HashMap<Key, (Arc<Footer>, usize, u64)>,
    bytes: usize,
    clock: u64,
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

fn kept(key: &Key) -> Option<Arc<Footer>> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_default();
    kept.clock += 1;
    let clock = kept.clock;
    kept.footers.get_mut(key).map(|(footer, _, used)| {
        *used = clock;
        footer.clone()
    })
}

fn keep(key: Key, footer: &Arc<Footer>) {
    let size = footer.reader.metadata().memory_size();
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_default();
    kept.clock += 1;
    kept.bytes += size;
    let entry = (footer.clone(), size, kept.clock);
    if let Some((_, before, _)) = kept.footers.insert(key, entry) {
        kept.bytes -= before;
    }
    while kept.bytes > MOST_KEPT && kept.footers.len() > 1 {
        let oldest = kept.footers.iter().min_by_key(|(_, (_, _, used))| *used);
        let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
        if let Some((_, size, _)) = kept.footers.remove(&oldest) {
            kept.bytes -= size;
        }
    }
}
