//! The null rows of columns whose fast fields cannot represent them.
//!
//! `u32 number of columns`, then for each `u32 length · name · u64 length · roaring bitmap`
//! (little-endian, portable bitmap serialization).

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use roaring::RoaringBitmap;

use crate::error::{EngineError, Result};

pub const NULLS_FILE: &str = "_indextables_nulls";

/// Rows without a value by column; a column that is not named has a value in every row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NullRows {
    pub columns: BTreeMap<String, RoaringBitmap>,
}

impl NullRows {
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = (self.columns.len() as u32).to_le_bytes().to_vec();
        for (name, rows) in &self.columns {
            out.extend_from_slice(&(name.len() as u32).to_le_bytes());
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(&(rows.serialized_size() as u64).to_le_bytes());
            rows.serialize_into(&mut out).map_err(EngineError::internal)?;
        }
        Ok(out)
    }

    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let damaged = |detail: &str| EngineError::corrupt("", format!("{NULLS_FILE}: {detail}"));
        let mut rest = Cursor::new(bytes);
        let mut columns = BTreeMap::new();
        let count = u32::from_le_bytes(take(&mut rest).ok_or_else(|| damaged("no count"))?);
        for _ in 0..count {
            let len = take(&mut rest).map(u32::from_le_bytes).ok_or_else(|| damaged("no name"))?;
            let name = slice(&mut rest, u64::from(len)).ok_or_else(|| damaged("a name is cut"))?;
            let name = std::str::from_utf8(name).map_err(|_| damaged("a name is not UTF-8"))?;
            let len = take(&mut rest).map(u64::from_le_bytes).ok_or_else(|| damaged("no rows"))?;
            let rows = slice(&mut rest, len).ok_or_else(|| damaged("a bitmap is cut"))?;
            let rows = RoaringBitmap::deserialize_from(rows)
                .map_err(|error| damaged(&error.to_string()))?;
            columns.insert(name.to_owned(), rows);
        }
        Ok(Self { columns })
    }
}

fn take<const N: usize>(from: &mut Cursor<&[u8]>) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).ok().map(|()| bytes)
}

fn slice<'a>(from: &mut Cursor<&'a [u8]>, len: u64) -> Option<&'a [u8]> {
    let start = from.position();
    let end = start.checked_add(len)?;
    let found = from.get_ref().get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)?;
    from.set_position(end);
    Some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_come_back(
            columns in proptest::collection::btree_map(
                ".{0,6}", proptest::collection::btree_set(0u32..100_000, 0..30), 0..4),
            damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5),
            cut in 0usize..20,
        ) {
            let columns = columns
                .into_iter()
                .map(|(name, rows)| (name, rows.into_iter().collect::<RoaringBitmap>()))
                .collect();
            let nulls = NullRows { columns };
            let mut bytes = nulls.to_bytes().map_err(|e| TestCaseError::fail(e.to_string()))?;
            let back = NullRows::parse(&bytes).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(&back, &nulls);
            for (at, value) in damage {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            bytes.truncate(bytes.len().saturating_sub(cut));
            let _ = NullRows::parse(&bytes);
        }
    }
}
