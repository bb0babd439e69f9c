//! One segment that is ready to become a split, and what the log needs to know of it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use tantivy::Index;

use crate::cancel::Cancel;
use crate::error::{At, Result};
use crate::split::{NullRows, Packed, Sidecar, pack};
use crate::store::Store;
use crate::write::doc_mapping::doc_mapping;
use crate::write::scratch::Scratch;

/// What the log needs to know of a finished split.
#[derive(Debug, Clone, Serialize)]
pub struct SplitInfo {
    pub size: u64,
    pub footer_start: u64,
    pub footer_end: u64,
    pub num_records: u64,
    pub uncompressed_size: u64,
    pub doc_mapping: Value,
    pub columns: BTreeMap<String, ColumnInfo>,
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
        })
    }
}

/// The files of the one segment of a split, in a folder of their own.
pub struct Finished {
    pub index: Index,
    pub scratch: Scratch,
    /// None when splits of other writers were merged.
    pub sidecar: Option<Sidecar>,
    pub nulls: NullRows,
}

impl Finished {
    /// Packs the files straight into the store; there is no packed copy of them on this machine.
    pub fn send(self, store: &Store, path: &str, cancel: &Cancel) -> Result<SplitInfo> {
        let mut upload = store.create(path, self.scratch.written(), cancel)?;
        let packed = pack(&self.scratch, self.sidecar, &self.nulls, &mut upload).at(path)?;
        let info = SplitInfo::new(&packed, &self.index)?;
        upload.complete()?;
        Ok(info)
    }
}
