//! An open split: its segments, its columns and its live documents.

mod alive;
mod fast_columns;
mod layout;
mod term_counts;

use std::sync::{Arc, OnceLock};

use arrow::datatypes::Schema as ArrowSchema;
use tantivy::columnar::{Column as Values, DynamicColumn};
use tantivy::directory::FileSlice;
use tantivy::schema::Schema;
use tantivy::{Index, ReloadPolicy, Searcher, SegmentReader};

pub use alive::{Deleted, is_alive};
pub use layout::{Column, Layout, is_text, split_path};
pub use term_counts::TermCounts;

use fast_columns::FastColumns;

use crate::columns::DocStore;
use crate::directory::BundleDirectory;
use crate::error::{At, EngineError, Result};
use crate::query::Fields;
use crate::source::{Runs, Source};
use crate::split::{
    CAPITALS_FILE, Capitals, Encoding, NULLS_FILE, NullRows, SIDECAR_FILE, SIDECAR_VERSION,
    Sidecar, SidecarColumn, decimals,
};
use crate::store::Store;
use crate::tokenizer;

/// A split that is open for reading; its documents are numbered across segments.
pub struct Split {
    pub path: String,
    pub directory: BundleDirectory,
    pub index: Index,
    pub schema: Schema,
    pub segments: Vec<Segment>,
    pub layout: Layout,
    pub sidecar: Option<Sidecar>,
    /// For a companion: the source of its rows.
    pub source: Option<(Arc<Source>, Arc<Runs>)>,
    pub term_counts: TermCounts,
    fields: OnceLock<Fields>,
    null_rows: OnceLock<Arc<NullRows>>,
    capitals: OnceLock<Arc<Capitals>>,
    searcher: OnceLock<Searcher>,
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
    /// Fast columns that are open. Those of a remote split would keep all their bytes in memory.
    columns: Option<FastColumns>,
    segment: tantivy::Segment,
}

impl Segment {
    /// One of the segment's files.
    pub fn open(&self, part: tantivy::index::SegmentComponent) -> Result<FileSlice> {
        Ok(self.segment.open_read(part).map_err(tantivy::TantivyError::from)?)
    }

    /// The fast column of this name, if any document has a value.
    pub fn fast_column(&self, name: &str) -> Result<Option<DynamicColumn>> {
        match &self.columns {
            Some(columns) => columns.get(&self.reader, name),
            None => fast_columns::open(&self.reader, name),
        }
    }

    /// The same, if it is known that its numbers ascend and no row is without one.
    pub fn ascending_column(&self, name: &str) -> Result<Option<Values<i64>>> {
        self.columns.as_ref().map_or(Ok(None), |columns| columns.ascending(&self.reader, name))
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
    /// documents, `table` the types the table declares (they decide where the split does not say them),
    /// `rows` the source of a companion's rows.
    pub fn open(
        store: &Store,
        path: &str,
        footer: Option<(u64, u64)>,
        deleted: Option<&[u8]>,
        table: Option<&ArrowSchema>,
        rows: Option<Arc<Source>>,
    ) -> Result<Split> {
        let source = store.source(path, footer.map(|(_, end)| end))?;
        if let Some((_, end)) = footer
            && source.len() != end
        {
            let detail = format!("it has {} bytes, the log says {end}", source.len());
            return Err(EngineError::corrupt(path, detail));
        }
        let directory = BundleDirectory::open(source, footer.map(|(start, _)| start)).at(path)?;
        Self::from_directory(directory, path, deleted, table, rows).at(path)
    }

    pub fn from_directory(
        directory: BundleDirectory,
        path: &str,
        deleted: Option<&[u8]>,
        table: Option<&ArrowSchema>,
        rows: Option<Arc<Source>>,
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
            let columns = (!directory.is_remote()).then(FastColumns::default);
            let doc_store = OnceLock::new();
            segments.push(Segment { reader, base, alive, doc_store, columns, segment });
            base += max_doc;
        }
        let files = sidecar.as_ref().and_then(|sidecar| sidecar.source.as_ref());
        let source = match (files, rows) {
            (Some(files), Some(rows)) => {
                Some((rows, Arc::new(Runs::new(files.runs.clone(), total_docs)?)))
            }
            _ => None,
        };
        let addresses = source.as_ref().map(|(source, _)| source.lookup().columns.as_slice());
        Ok(Split {
            path: path.to_owned(),
            layout: Layout::new(&schema, sidecar.as_ref(), table, addresses),
            source,
            directory,
            index,
            schema,
            segments,
            sidecar,
            term_counts: TermCounts::default(),
            fields: OnceLock::new(),
            null_rows: OnceLock::new(),
            capitals: OnceLock::new(),
            searcher: OnceLock::new(),
            total_docs,
            deleted_docs: deleted.map_or(0, |d| d.count()),
        })
    }

    /// Documents that are not deleted.
    pub fn num_docs(&self) -> u64 {
        self.total_docs - self.deleted_docs
    }

    /// Whether its rows are those of a source.
    pub fn is_companion(&self) -> bool {
        self.sidecar.as_ref().is_some_and(|sidecar| sidecar.source.is_some())
    }

    pub fn num_deleted(&self) -> u64 {
        self.deleted_docs
    }

    /// The fields that a query may name.
    pub fn fields(&self) -> &Fields {
        self.fields.get_or_init(|| Fields::of_layout(&self.layout))
    }

    /// Null rows, for columns whose fast fields cannot represent them.
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

    /// How the words of text columns were written.
    pub fn capitals(&self) -> Result<Arc<Capitals>> {
        if let Some(known) = self.capitals.get() {
            return Ok(known.clone());
        }
        let parsed = match self.directory.file(CAPITALS_FILE)? {
            Some(bytes) => Capitals::parse(&bytes)?,
            None => Capitals::default(),
        };
        Ok(self.capitals.get_or_init(|| Arc::new(parsed)).clone())
    }

    /// Tantivy's own view of the split, which scores need.
    pub fn searcher(&self) -> Result<&Searcher> {
        if let Some(open) = self.searcher.get() {
            return Ok(open);
        }
        let reader = self.index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let searcher = reader.try_into()?.searcher();
        Ok(self.searcher.get_or_init(|| searcher))
    }
}

pub fn read_sidecar(directory: &BundleDirectory) -> Result<Option<Sidecar>> {
    let Some(bytes) = directory.file(SIDECAR_FILE)? else {
        return Ok(None);
    };
    let sidecar: Sidecar = serde_json::from_slice(&bytes)
        .map_err(|e| EngineError::corrupt("", format!("{SIDECAR_FILE} does not parse: {e}")))?;
    if !(1..=SIDECAR_VERSION).contains(&sidecar.version) {
        let found = sidecar.version;
        let detail =
            format!("{SIDECAR_FILE} has version {found}, this reads 1 to {SIDECAR_VERSION}");
        return Err(EngineError::corrupt("", detail));
    }
    let is_odd = |column: &SidecarColumn| {
        let digits = column.digits.is_some_and(decimals::is_known);
        digits != (column.encoding == Encoding::F64Decimal)
    };
    if let Some(column) = sidecar.columns.iter().find(|column| is_odd(column)) {
        let detail = format!("{SIDECAR_FILE} has wrong digits of `{}`", column.name);
        return Err(EngineError::corrupt("", detail));
    }
    Ok(Some(sidecar))
}
