//! Version files of the log, line by line: actions that add and remove splits become columns.
//!
//! A line that is unusual in any way (an unknown kind, a member of an unexpected type, a float, a
//! suspicious path) is left to the caller, which decides what to accept and reports errors. So every line
//! that is decoded here means the same there.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema};
use serde::de::DeserializeSeed;

use crate::error::{EngineError, Result};
use crate::manifest::column::Column;
use crate::manifest::columns::check_memory;
use crate::manifest::entry::{COLUMNS, Kind};
use crate::manifest::members::{Cell, Member, Members, Rule};

/// The kinds of lines.
pub const ADD: u8 = 0;
pub const REMOVE: u8 = 1;
pub const OTHER: u8 = 2;

/// The actions of a text: `kinds` has one byte for each, `others` the lines that are not in a batch.
pub struct Lines {
    pub kinds: Vec<u8>,
    pub adds: Option<RecordBatch>,
    pub removes: Option<RecordBatch>,
    pub others: Vec<Range<usize>>,
}

/// Reads the lines of a text, up to a limit.
pub fn decode(text: &[u8], most: usize) -> Result<Lines> {
    let mut adds = Table::new("add", &ADD_SHAPE);
    let mut removes = Table::new("remove", &REMOVE_SHAPE);
    let mut kinds = Vec::new();
    let mut others = Vec::new();
    let mut at = 0;
    while let Some(line) = next_line(text, at) {
        at = line.end;
        if kinds.len() == most {
            kinds.push(OTHER);
            others.push(line);
            break;
        }
        let bytes = &text[line.clone()];
        kinds.push(if adds.takes(bytes)? {
            ADD
        } else if removes.takes(bytes)? {
            REMOVE
        } else {
            others.push(line);
            OTHER
        });
    }
    Ok(Lines { kinds, adds: adds.finish()?, removes: removes.finish()?, others })
}

/// The next line that is not blank, without leading blanks.
fn next_line(text: &[u8], from: usize) -> Option<Range<usize>> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let start = from + text[from..].iter().position(|byte| !blank(byte))?;
    let length = text[start..].iter().position(|byte| *byte == b'\n');
    Some(start..length.map_or(text.len(), |length| start + length))
}

type Shape = std::sync::LazyLock<Vec<Member>>;

static ADD_SHAPE: Shape = Shape::new(|| {
    COLUMNS.iter().map(|(name, kind, required, _)| add_member(name, *kind, *required)).collect()
});

fn add_member(name: &'static str, kind: Kind, required: bool) -> Member {
    let (rule, default) = match name {
        "path" => (Rule::Path, None),
        "size" => (Rule::Plain, None),
        "modificationTime" => (Rule::Timestamp, None),
        "partitionValues" => (Rule::Partition, Some(Cell::Map(Vec::new()))),
        "dataChange" => (Rule::Plain, Some(Cell::Flag(true))),
        "hasFooterOffsets" => (Rule::Plain, Some(Cell::Flag(false))),
        "extra" => (Rule::Unlogged, Some(Cell::Absent)),
        "addedAtVersion" | "addedAtTimestamp" => (Rule::Unlogged, Some(Cell::Long(0))),
        _ => (Rule::Plain, (!required).then_some(Cell::Absent)),
    };
    Member { name, kind, rule, default }
}

static REMOVE_SHAPE: Shape = Shape::new(|| {
    let member = |name, kind, rule, default| Member { name, kind, rule, default };
    let absent = || Some(Cell::Absent);
    vec![
        member("path", Kind::Text, Rule::Path, None),
        member("deletionTimestamp", Kind::Long, Rule::Timestamp, absent()),
        member("dataChange", Kind::Flag, Rule::Plain, Some(Cell::Flag(true))),
        member("partitionValues", Kind::Map, Rule::Partition, absent()),
        member("size", Kind::Long, Rule::Plain, absent()),
        member("extra", Kind::Text, Rule::Unlogged, absent()),
    ]
});

/// The actions of one kind.
struct Table {
    start: Vec<u8>,
    shape: &'static [Member],
    columns: Vec<Column>,
    rows: usize,
}

impl Table {
    fn new(kind: &str, shape: &'static Shape) -> Self {
        let columns = shape.iter().map(|member| Column::new(member.name, member.kind)).collect();
        Self { start: format!("{{\"{kind}\":").into_bytes(), shape, columns, rows: 0 }
    }

    /// Appends the action of a line; false if it is of another kind, or unusual.
    fn takes(&mut self, line: &[u8]) -> Result<bool> {
        let Some(body) = line.strip_prefix(&self.start[..]) else { return Ok(false) };
        let Some(cells) = read(body, self.shape) else { return Ok(false) };
        for (column, cell) in self.columns.iter_mut().zip(&cells) {
            column.push_cell(cell)?;
        }
        self.rows += 1;
        Ok(true)
    }

    fn finish(self) -> Result<Option<RecordBatch>> {
        if self.rows == 0 {
            return Ok(None);
        }
        check_memory(self.rows, self.columns.len())?;
        let fields: Vec<Field> = self
            .shape
            .iter()
            .map(|member| {
                let nullable = matches!(member.default, Some(Cell::Absent));
                Field::new(member.name, DataType::from(member.kind), nullable)
            })
            .collect();
        let arrays = self.columns.into_iter().map(Column::finish).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
            .map(Some)
            .map_err(|cause| EngineError::corrupt("", cause))
    }
}

/// The members of an action, from the object of a line and the brace that ends the line.
fn read<'a>(body: &'a [u8], shape: &'static [Member]) -> Option<Vec<Cell<'a>>> {
    let text = std::str::from_utf8(body).ok()?;
    let text = text.trim_end_matches([' ', '\t', '\r']).strip_suffix('}')?;
    let mut json = serde_json::Deserializer::from_str(text);
    let mut cells = Members { shape }.deserialize(&mut json).ok()?;
    json.end().ok()?;
    for (cell, member) in cells.iter_mut().zip(shape) {
        if matches!(cell, Cell::Absent) {
            *cell = member.default.clone()?;
        }
    }
    Some(cells)
}
