//! A finished segment that becomes a split, and its facts for the log.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use tantivy::directory::{Directory, RamDirectory};
use tantivy::index::SegmentComponent;
use tantivy::tokenizer::TokenizerManager;
use tantivy::{Index, TantivyDocument};

use crate::cancel::Cancel;
use crate::error::{At, EngineError, Result};
use crate::source::Run;
use crate::split::{Capitals, NullRows, Packed, Sidecar, note_lengths, pack};
use crate::store::Store;
use crate::tokenizer;
use crate::write::doc_mapping::doc_mapping;
use crate::write::narrow::narrow_floats;
use crate::write::scratch::Scratch;

/// The facts of a finished split for the log.
#[derive(Debug, Clone, Serialize)]
pub struct SplitInfo {
    pub size: u64,
    pub footer_start: u64,
    pub footer_end: u64,
    pub num_records: u64,
    pub uncompressed_size: u64,
    pub doc_mapping: Value,
    pub columns: BTreeMap<String, ColumnInfo>,
    /// For a companion: the source rows that it indexes.
    pub runs: Vec<Run>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ColumnInfo {
    pub min: Option<Value>,
    pub max: Option<Value>,
    pub null_count: u64,
}

impl SplitInfo {
    fn new(packed: &Packed, index: &Index) -> Result<Self> {
        let described = packed.sidecar.iter().flat_map(|sidecar| &sidecar.columns);
        let columns = described.map(|column| {
            let (min, max) = (column.min.clone(), column.max.clone());
            (column.name.clone(), ColumnInfo { min, max, null_count: column.nulls })
        });
        Ok(Self {
            size: packed.extent.footer_end,
            footer_start: packed.extent.footer_start,
            footer_end: packed.extent.footer_end,
            num_records: packed.rows,
            uncompressed_size: packed.extent.footer_start,
            doc_mapping: doc_mapping(index)?,
            columns: columns.collect(),
            runs: packed
                .sidecar
                .as_ref()
                .and_then(|sidecar| sidecar.source.as_ref())
                .map_or_else(Vec::new, |source| source.runs.clone()),
        })
    }
}

/// The files of the one segment of a split, in a folder of their own.
pub struct FinishedSegment {
    pub index: Index,
    pub scratch: Scratch,
    /// None when splits of other writers were merged.
    pub sidecar: Option<Sidecar>,
    pub nulls: NullRows,
    pub capitals: Capitals,
}

impl FinishedSegment {
    /// Packs the files straight into the store; no packed copy is written to local disk.
    pub fn send(mut self, store: &Store, path: &str, cancel: &Cancel) -> Result<SplitInfo> {
        if let Some(sidecar) = &mut self.sidecar {
            note_lengths(&self.index, sidecar)?;
            narrow_floats(&self.index, &self.scratch, sidecar)?;
        }
        let mut upload = store.create(path, self.scratch.written(), cancel)?;
        let packed = pack(&self.scratch, self.sidecar, &self.nulls, &self.capitals, &mut upload);
        let packed = packed.at(path)?;
        let info = SplitInfo::new(&packed, &self.index)?;
        upload.complete()?;
        Ok(info)
    }
}

/// Memory of a writer without rows; the minimum that tantivy accepts.
const LITTLE_HEAP: usize = 15_000_000;

/// Replaces a doc store without stored fields, which still has some bytes per row, by an empty one.
pub fn forget_documents(index: &Index, scratch: &Scratch) -> Result<()> {
    let schema = index.schema();
    if schema.fields().any(|(_, entry)| entry.is_stored()) {
        return Ok(());
    }
    let store_of = |index: &Index| -> Result<std::path::PathBuf> {
        let segments = index.searchable_segment_metas()?;
        let segment = segments.first().ok_or_else(|| EngineError::internal("no segment"))?;
        Ok(segment.relative_path(SegmentComponent::Store))
    };
    let memory = RamDirectory::create();
    let tokenizers = TokenizerManager::default();
    tokenizer::register(&schema, &tokenizers);
    let empty = Index::builder()
        .schema(schema)
        .tokenizers(tokenizers)
        .settings(index.settings().clone())
        .single_segment_index_writer::<TantivyDocument>(memory.clone(), LITTLE_HEAP)?
        .finalize()?;
    let file = memory.open_read(&store_of(&empty)?).map_err(tantivy::TantivyError::from)?;
    let path = scratch.path(&store_of(index)?.to_string_lossy());
    std::fs::write(&path, file.read_bytes()?.as_slice()).at(&path.to_string_lossy())
}
