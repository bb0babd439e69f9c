//! The fast columns of a segment, kept open: opening one takes longer than reading a few values of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tantivy::SegmentReader;
use tantivy::columnar::{Cardinality, Column, DynamicColumn};

use crate::error::Result;

/// Whether numbers ascend is checked once the queries of a column, at this many rows each, have paid for a pass over it.
const ROWS_PER_QUERY: u32 = 16_384;
/// Rows that are compared to see at once that numbers do not ascend.
const SAMPLED: u32 = 32;
const BLOCK_ROWS: usize = 1024;

/// Columns that were opened before, of a split on local disk: those of another would keep all their bytes in memory.
#[derive(Default)]
pub struct FastColumns(Mutex<HashMap<String, Arc<OpenColumn>>>);

struct OpenColumn {
    values: Option<DynamicColumn>,
    queries: AtomicU32,
    ascends: OnceLock<bool>,
}

impl FastColumns {
    /// The column of this name, if any document has a value.
    pub fn get(&self, reader: &SegmentReader, name: &str) -> Result<Option<DynamicColumn>> {
        Ok(self.column(reader, name)?.values.clone())
    }

    /// The column of this name, if every document has a number in it and the numbers are known to ascend.
    pub fn ascending(&self, reader: &SegmentReader, name: &str) -> Result<Option<Column<i64>>> {
        let column = self.column(reader, name)?;
        let Some(DynamicColumn::I64(values)) = &column.values else { return Ok(None) };
        if values.get_cardinality() != Cardinality::Full {
            return Ok(None);
        }
        let ascends = match column.ascends.get() {
            Some(known) => *known,
            None if is_mixed(values) => *column.ascends.get_or_init(|| false),
            None => {
                let queries = column.queries.fetch_add(1, Ordering::Relaxed) + 1;
                let pays_off = queries.saturating_mul(ROWS_PER_QUERY) >= values.values.num_vals();
                pays_off && *column.ascends.get_or_init(|| ascends(values))
            }
        };
        Ok(ascends.then(|| values.clone()))
    }

    fn column(&self, reader: &SegmentReader, name: &str) -> Result<Arc<OpenColumn>> {
        let columns = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = columns().get(name) {
            return Ok(known.clone());
        }
        let opened = Arc::new(OpenColumn {
            values: open(reader, name)?,
            queries: AtomicU32::new(0),
            ascends: OnceLock::new(),
        });
        Ok(columns().entry(name.to_owned()).or_insert(opened).clone())
    }
}

/// Opens the column of this name.
pub fn open(reader: &SegmentReader, name: &str) -> Result<Option<DynamicColumn>> {
    let handles = reader.fast_fields().dynamic_column_handles(name)?;
    Ok(handles.into_iter().next().map(|handle| handle.open()).transpose()?)
}

/// Whether some rows show that the numbers do not ascend.
fn is_mixed(column: &Column<i64>) -> bool {
    let values = &column.values;
    let step = (values.num_vals() / SAMPLED).max(1) as usize;
    let mut last = i64::MIN;
    (0..values.num_vals()).step_by(step).any(|row| {
        let value = values.get_val(row);
        std::mem::replace(&mut last, value) > value
    })
}

fn ascends(column: &Column<i64>) -> bool {
    let values = &column.values;
    let mut block = [0; BLOCK_ROWS];
    let mut last = i64::MIN;
    (0..values.num_vals()).step_by(BLOCK_ROWS).all(|start| {
        let block = &mut block[..BLOCK_ROWS.min((values.num_vals() - start) as usize)];
        values.get_range(u64::from(start), block);
        std::mem::replace(&mut last, block[block.len() - 1]) <= block[0] && block.is_sorted()
    })
}
