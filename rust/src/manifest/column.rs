//! A column of entries under construction, by the kind of its member.

use std::sync::Arc;

use arrow::array::ArrayRef;

use crate::error::{EngineError, Result};
use crate::manifest::columns::{Flags, Lists, Longs, Maps, Runs, Texts, Vectors};
use crate::manifest::entry::Kind;
use crate::manifest::members::Cell;

/// The partition value that means null if a writer does not omit it.
pub const HIVE_NULL: &[u8] = b"__HIVE_DEFAULT_PARTITION__";

pub enum Column {
    Text(Texts),
    Path(Texts),
    Map(Maps),
    Partition(Maps),
    Long(Longs),
    Int(Longs),
    Flag(Flags),
    List(Lists),
    Vector(Vectors),
    Runs(Runs),
}

impl Column {
    pub fn new(name: &str, kind: Kind) -> Self {
        match kind {
            Kind::Text if name == "path" => Self::Path(Texts::default()),
            Kind::Text => Self::Text(Texts::default()),
            Kind::Map if name == "partitionValues" => Self::Partition(Maps::default()),
            Kind::Map => Self::Map(Maps::default()),
            Kind::Long => Self::Long(Longs::default()),
            Kind::Int => Self::Int(Longs::default()),
            Kind::Flag => Self::Flag(Flags::default()),
            Kind::List => Self::List(Lists::default()),
            Kind::Vector => Self::Vector(Vectors::default()),
            Kind::Runs => Self::Runs(Runs::default()),
        }
    }

    pub fn push_absent(&mut self) -> Result<()> {
        match self {
            Self::Path(_) => Err(EngineError::corrupt("", "an entry has no path")),
            Self::Text(texts) => texts.push(None),
            Self::Map(maps) => maps.close(false),
            // no values means: null in every partition column
            Self::Partition(maps) => maps.close(true),
            Self::List(lists) => lists.close(false),
            Self::Long(longs) | Self::Int(longs) => longs.push(None),
            Self::Flag(flags) => flags.push(None),
            Self::Vector(vectors) => vectors.push_null(),
            Self::Runs(runs) => runs.close(false),
        }
    }

    /// Appends the default of a required field that the writer does not have.
    pub fn push_default(&mut self) -> Result<()> {
        match self {
            Self::Long(longs) | Self::Int(longs) => longs.push(Some(0)),
            Self::Flag(flags) => flags.push(Some(false)),
            other => other.push_absent(),
        }
    }

    /// Reserves this many times the current size.
    pub fn reserve(&mut self, more: f64) -> Result<()> {
        match self {
            Self::Text(texts) | Self::Path(texts) => texts.reserve(more),
            Self::Map(maps) | Self::Partition(maps) => maps.reserve(more),
            Self::Long(longs) | Self::Int(longs) => longs.reserve(more),
            Self::Flag(_) | Self::List(_) | Self::Vector(_) | Self::Runs(_) => Ok(()),
        }
    }

    pub fn finish(self) -> Result<ArrayRef> {
        match self {
            Self::Text(texts) | Self::Path(texts) => Ok(Arc::new(texts.finish()?)),
            Self::Map(maps) | Self::Partition(maps) => maps.finish(),
            Self::Long(longs) => Ok(longs.finish()),
            Self::Int(longs) => longs.finish_narrow(),
            Self::Flag(flags) => Ok(flags.finish()),
            Self::List(lists) => lists.finish(),
            Self::Vector(vectors) => vectors.finish(),
            Self::Runs(runs) => runs.finish(),
        }
    }

    /// Appends the value of a member.
    pub fn push_cell(&mut self, cell: &Cell<'_>) -> Result<()> {
        match (self, cell) {
            (Self::Partition(maps), Cell::Absent) => maps.close(false),
            (column, Cell::Absent) => column.push_absent(),
            (Self::Text(texts) | Self::Path(texts), Cell::Text(text)) => {
                texts.push(Some(text.as_bytes()))
            }
            (Self::Map(maps) | Self::Partition(maps), Cell::Map(members)) => {
                for (name, value) in members {
                    maps.keys.push_item(name.as_bytes())?;
                    maps.values.push_item(value.as_bytes())?;
                }
                maps.close(true)
            }
            (Self::Long(longs) | Self::Int(longs), Cell::Long(value)) => longs.push(Some(*value)),
            (Self::Flag(flags), Cell::Flag(value)) => flags.push(Some(*value)),
            (Self::List(lists), Cell::List(items)) => {
                items.iter().try_for_each(|item| lists.items.push_item(item.as_bytes()))?;
                lists.close(true)
            }
            (Self::Vector(vectors), Cell::Vector(file, numbers)) => {
                vectors.files.push(Some(file.as_bytes()))?;
                for (column, number) in vectors.numbers.iter_mut().zip(numbers) {
                    column.push(Some(*number))?;
                }
                vectors.close()
            }
            _ => Err(EngineError::internal("a column of entries got a value of another kind")),
        }
    }
}

/// Whether a path stays below the table.
pub fn is_inside(path: &[u8]) -> bool {
    let unfit = |part: &[u8]| matches!(part, b"" | b"." | b"..");
    let leaves = path.split(|byte| *byte == b'/').any(unfit) || has_scheme(path);
    !leaves && path.iter().all(|byte| *byte >= 0x20)
}

fn has_scheme(path: &[u8]) -> bool {
    let Some(end) = path.windows(2).position(|pair| pair == b":/") else { return false };
    let rest = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-');
    path[0].is_ascii_alphabetic() && path[..end].iter().all(rest)
}
