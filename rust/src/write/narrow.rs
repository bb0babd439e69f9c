//! Short doubles as integers, once all rows of a split are known; and back for merges.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use tantivy::directory::Directory;
use tantivy::index::SegmentComponent;
use tantivy::{HasLen, Index, TantivyError};
use tantivy_columnar::{ColumnType, ColumnarReader, DynamicColumn};

use crate::error::{At, EngineError, Result};
use crate::split::decimals::{encode_all, floats};
use crate::split::fast_file::{Replaced, replace_columns};
use crate::split::{Encoding, Layout, SIDECAR_VERSION, Sidecar};
use crate::write::Scratch;

/// Rewrites the columns of doubles that are smaller as integers, and records them in the sidecar.
pub fn narrow_floats(index: &Index, scratch: &Scratch, sidecar: &mut Sidecar) -> Result<()> {
    let is_double = |sidecar: &Sidecar, name: &str| {
        sidecar.column(name).is_some_and(|column| column.encoding == Encoding::F64)
    };
    let any = sidecar.columns.iter().any(|column| column.encoding == Encoding::F64);
    // other readers would return the integers as values
    if sidecar.layout == Layout::Compatible || !any {
        return Ok(());
    }
    let path = fast_path(index)?;
    let body = index.directory().open_read(&path).map_err(TantivyError::from)?;
    let mut smaller: HashMap<String, (u8, Replaced)> = HashMap::new();
    for (name, handle) in ColumnarReader::open(body)?.iter_columns()? {
        if !is_double(sidecar, &name) {
            continue;
        }
        let DynamicColumn::F64(column) = handle.open()? else { continue };
        // drop the doubles before their replacement is written
        let encoded = encode_all(&column.values.iter().collect::<Vec<_>>());
        let Some((digits, whole)) = encoded else { continue };
        let replaced = Replaced::new(&handle, ColumnType::I64, &whole)?;
        if replaced.bytes.len() < handle.file_slice().len() {
            smaller.insert(name, (digits, replaced));
        }
    }
    if smaller.is_empty() {
        return Ok(());
    }
    for column in &mut sidecar.columns {
        if let Some((digits, _)) = smaller.get(&column.name) {
            (column.encoding, column.digits) = (Encoding::F64Decimal, Some(*digits));
        }
    }
    sidecar.version = SIDECAR_VERSION;
    let new = scratch.path("narrow.fast");
    let file = scratch.open_read(&path).map_err(TantivyError::from)?;
    let out = BufWriter::new(File::create(&new).at(&new.to_string_lossy())?);
    replace_columns(file, |name, _| Ok(smaller.remove(name).map(|(_, replaced)| replaced)), out)?;
    Ok(std::fs::rename(new, scratch.path(&path.to_string_lossy()))?)
}

/// Writes the columnar file of a split to `target` with doubles, as tantivy merges them, and updates the
/// sidecar. Returns the path of the file in the split, if it has to be replaced.
pub fn widen_floats(
    index: &Index,
    directory: &dyn Directory,
    sidecar: &mut Sidecar,
    target: &Path,
) -> Result<Option<PathBuf>> {
    let narrow: HashMap<String, u8> = sidecar
        .columns
        .iter()
        .filter(|column| column.encoding == Encoding::F64Decimal)
        .map(|column| (column.name.clone(), column.digits.unwrap_or_default()))
        .collect();
    if narrow.is_empty() {
        return Ok(None);
    }
    let path = fast_path(index)?;
    let file = directory.open_read(&path).map_err(TantivyError::from)?;
    let out = BufWriter::new(File::create(target)?);
    replace_columns(
        file,
        |name, handle| match (narrow.get(name), handle.open()?) {
            (Some(digits), DynamicColumn::I64(whole)) => {
                let values: Vec<f64> = floats(whole, *digits).values.iter().collect();
                Replaced::new(handle, ColumnType::F64, &values).map(Some)
            }
            _ => Ok(None),
        },
        out,
    )?;
    for column in &mut sidecar.columns {
        if narrow.contains_key(&column.name) {
            (column.encoding, column.digits) = (Encoding::F64, None);
        }
    }
    Ok(Some(path))
}

fn fast_path(index: &Index) -> Result<PathBuf> {
    let segments = index.searchable_segment_metas()?;
    match segments.as_slice() {
        [segment] => Ok(segment.relative_path(SegmentComponent::FastFields)),
        _ => Err(EngineError::corrupt("", "it does not have one segment")),
    }
}
