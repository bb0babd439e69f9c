//! An open split: its segments, its columns and which of its documents live.

mod alive;
mod layout;

use std::sync::{Arc, OnceLock};

use arrow::datatypes::Schema as ArrowSchema;
use tantivy::directory::FileSlice;
use tantivy::schema::Schema;
use tantivy::{Index, SegmentReader};

pub use alive::Deleted;
pub use layout::{Column, Layout, is_text, split_path};

use crate::columns::DocStore;
use crate::directory::BundleDirectory;
use crate::error::{At, EngineError, Result};
use crate::split::{NULLS_FILE, NullRows, SIDECAR_FILE, Sidecar};
use crate::store::Store;
use crate::tokenizer;

/// A split that is open for reading; the documents of its segments are numbered through.
pub struct Split {
    pub path: String,
    pub directory: BundleDirectory,
    pub index: Index,
    pub schema: Schema,
    pub segments: Vec<Segment>,
    pub layout: Layout,
    pub sidecar: Option<Sidecar>,
    null_rows: OnceLock<Arc<NullRows>>,
    total_docs: u64,
    deleted_docs: u64,
}

/// One segment of a split.
pub struct Segment {
    pub reader: SegmentReader,
    /// Number of the segment's first document in the split.
    pub base: u32,
    /// Living documents, one bit each; nothing when all live.
    pub alive: Option<Vec<u64>>,
    doc_store: OnceLock<Arc<DocStore>>,
    segment: tantivy::Segment,
}

impl Segment {
    /// One of the segment's files.
    pub fn open(&self, part: tantivy::index::SegmentComponent) -> Result<FileSlice> {
        Ok(self.segment.open_read(part).map_err(tantivy::TantivyError::from)?)
    }

    /// The reader of stored documents, opened on first use.
    pub fn doc_store(&self) -> Result<Arc<DocStore>> {
        if let Some(open) = self.doc_store.get() {
            return Ok(open.clone());
        }
        let file = self.open(tantivy::index::SegmentComponent::Store)?;
        let path = self.segment.relative_path(tantivy::index::SegmentComponent::Store);
        let open = Arc::new(DocStore::open(file, path, self.reader.max_doc())?);
        Ok(self.doc_store.get_or_init(|| open).clone())
    }
}

impl Split {
    /// Opens a split. `footer` are the footer offsets of the log, `deleted` a roaring bitmap of deleted
    /// documents, `table` the types the table declares (they decide where the split does not say them).
    pub fn open(
        store: &Store,
        path: &str,
        footer: Option<(u64, u64)>,
        deleted: Option<&[u8]>,
        table: Option<&ArrowSchema>,
    ) -> Result<Split> {
        let source = store.source(path, footer.map(|(_, end)| end))?;
        if let Some((_, end)) = footer
            && source.len() != end
        {
            let detail = format!("it has {} bytes, the log says {end}", source.len());
            return Err(EngineError::corrupt(path, detail));
        }
        let directory = BundleDirectory::open(source, footer.map(|(start, _)| start)).at(path)?;
        Self::from_directory(directory, path, deleted, table).at(path)
    }

    pub fn from_directory(
        directory: BundleDirectory,
        path: &str,
        deleted: Option<&[u8]>,
        table: Option<&ArrowSchema>,
    ) -> Result<Split> {
        let sidecar = read_sidecar(&directory)?;
        directory.compare(sidecar.as_ref())?;
        let index = Index::open(directory.clone())?;
        let schema = index.schema();
        tokenizer::register(&schema, index.tokenizers());
        let found = index.searchable_segments()?;
        let total_docs: u64 = found.iter().map(|s| u64::from(s.meta().max_doc())).sum();
        let docs = u32::try_from(total_docs)
            .map_err(|_| EngineError::corrupt("", "it has more than 4 billion rows"))?;
        let deleted = deleted.map(|bytes| Deleted::parse(bytes, docs)).transpose()?;
        let mut segments = Vec::with_capacity(found.len());
        let mut base = 0;
        for segment in found {
            let max_doc = segment.meta().max_doc();
            let alive = deleted.as_ref().and_then(|d| d.alive(base, max_doc));
            let alive_set = alive.as_ref().map(|words| alive::alive_set(words, max_doc));
            let reader = SegmentReader::open_with_custom_alive_set(&segment, alive_set)?;
            segments.push(Segment { reader, base, alive, doc_store: OnceLock::new(), segment });
            base += max_doc;
        }
        Ok(Split {
            path: path.to_owned(),
            layout: Layout::new(&schema, sidecar.as_ref(), table),
            directory,
            index,
            schema,
            segments,
            sidecar,
            null_rows: OnceLock::new(),
            total_docs,
            deleted_docs: deleted.map_or(0, |d| d.count()),
        })
    }

    /// Documents that are not deleted.
    pub fn num_docs(&self) -> u64 {
        self.total_docs - self.deleted_docs
    }

    pub fn num_deleted(&self) -> u64 {
        self.deleted_docs
    }

    /// Rows without a value, for columns whose fast fields cannot say it.
    pub fn null_rows(&self) -> Result<Arc<NullRows>> {
        if let Some(known) = self.null_rows.get() {
            return Ok(known.clone());
        }
        let parsed = match self.directory.file(NULLS_FILE)? {
            Some(bytes) => NullRows::parse(&bytes)?,
            None => NullRows::default(),
        };
        Ok(self.null_rows.get_or_init(|| Arc::new(parsed)).clone())
    }

    /// The segment a reader belongs to.
    pub fn segment_of(&self, reader: &SegmentReader) -> Option<&Segment> {
        self.segments.iter().find(|s| s.reader.segment_id() == reader.segment_id())
    }
}

pub fn read_sidecar(directory: &BundleDirectory) -> Result<Option<Sidecar>> {
    let Some(bytes) = directory.file(SIDECAR_FILE)? else {
        return Ok(None);
    };
    let sidecar: Sidecar = serde_json::from_slice(&bytes)
        .map_err(|e| EngineError::corrupt("", format!("{SIDECAR_FILE} does not parse: {e}")))?;
    if sidecar.version != 1 {
        let detail = format!("{SIDECAR_FILE} has version {}, 1 is known", sidecar.version);
        return Err(EngineError::corrupt("", detail));
    }
    Ok(Some(sidecar))
}
