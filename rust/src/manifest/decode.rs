//! Manifests to Arrow in one pass over the bytes, with fields of any writer matched by name.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema};

use crate::error::{EngineError, Result};
use crate::manifest::column::{Column, HIVE_NULL, is_inside};
use crate::manifest::columns::{
    Lists, Maps, RUN_NUMBERS, RUN_STAMP, Runs, VECTOR_NUMBERS, Vectors, check_memory,
};
use crate::manifest::container::Container;
use crate::manifest::cursor::Cursor;
use crate::manifest::entry::{COLUMNS, EXTRA};
use crate::manifest::schema::{self, Node};

const MOST_RESERVED: usize = 1 << 20;

impl Column {
    /// Whether a value of this schema can go into this column.
    fn accepts(&self, node: &Node) -> bool {
        match (self, node) {
            (_, Node::Union(branches)) => {
                branches.iter().all(|b| *b == Node::Null || self.accepts(b))
            }
            (Self::Text(_) | Self::Path(_), Node::Text)
            | (Self::Long(_) | Self::Int(_), Node::Int | Node::Long)
            | (Self::Flag(_), Node::Boolean) => true,
            (Self::Map(_) | Self::Partition(_), Node::Map(value)) => is_text(value),
            (Self::List(_), Node::Array(item)) => is_text(item),
            (Self::Vector(_), Node::Record(fields)) => {
                fields.iter().any(|(name, node)| name == "file" && *node == Node::Text)
            }
            (Self::Runs(_), Node::Array(item)) => matches!(item.as_ref(), Node::Record(_)),
            _ => false,
        }
    }

    fn push(&mut self, node: &Node, cursor: &mut Cursor<'_>) -> Result<()> {
        match (self, node) {
            (column, Node::Union(branches)) => {
                let index = usize::try_from(cursor.long()?).unwrap_or(usize::MAX);
                match branches.get(index) {
                    Some(Node::Null) => column.push_absent(),
                    Some(branch) => column.push(branch, cursor),
                    None => Err(EngineError::corrupt("", "a union has no such branch")),
                }
            }
            (Self::Text(texts), _) => texts.push(Some(cursor.bytes()?)),
            (Self::Path(texts), _) => {
                let path = cursor.bytes()?;
                check_path(path)?;
                texts.push(Some(path))
            }
            (Self::Map(maps), Node::Map(value)) => push_map(maps, value, cursor, None),
            (Self::Partition(maps), Node::Map(value)) => {
                push_map(maps, value, cursor, Some(HIVE_NULL))
            }
            (Self::Long(longs) | Self::Int(longs), _) => longs.push(Some(cursor.long()?)),
            (Self::Flag(flags), _) => flags.push(Some(cursor.boolean()?)),
            (Self::List(lists), Node::Array(item)) => push_list(lists, item, cursor),
            (Self::Vector(vectors), Node::Record(fields)) => push_vector(vectors, fields, cursor),
            (Self::Runs(runs), Node::Array(item)) => push_runs(runs, item, cursor),
            _ => Err(EngineError::internal("a manifest column got a value it does not accept")),
        }
    }
}

fn is_text(node: &Node) -> bool {
    match node {
        Node::Text => true,
        Node::Union(branches) => branches.iter().all(|b| matches!(b, Node::Null | Node::Text)),
        _ => false,
    }
}

/// A string that may be null inside a list or map.
#[inline]
fn item<'a>(node: &Node, cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>> {
    match node {
        Node::Union(branches) => {
            let index = usize::try_from(cursor.long()?).unwrap_or(usize::MAX);
            match branches.get(index) {
                Some(Node::Text) => cursor.bytes().map(Some),
                Some(_) => Ok(None),
                None => Err(EngineError::corrupt("", "a union has no such branch")),
            }
        }
        _ => cursor.bytes().map(Some),
    }
}

fn push_map(
    maps: &mut Maps,
    value: &Node,
    cursor: &mut Cursor<'_>,
    null: Option<&[u8]>,
) -> Result<()> {
    loop {
        let count = cursor.block(2)?;
        if count == 0 {
            return maps.close(true);
        }
        for _ in 0..count {
            let key = cursor.bytes()?;
            let found = item(value, cursor)?;
            // null is written by omitting the member
            if let Some(text) = found.filter(|text| Some(*text) != null) {
                maps.keys.push_item(key)?;
                maps.values.push_item(text)?;
            }
        }
    }
}

fn push_list(lists: &mut Lists, node: &Node, cursor: &mut Cursor<'_>) -> Result<()> {
    loop {
        let count = cursor.block(1)?;
        if count == 0 {
            return lists.close(true);
        }
        for _ in 0..count {
            if let Some(text) = item(node, cursor)? {
                lists.items.push_item(text)?;
            }
        }
    }
}

fn push_vector(
    vectors: &mut Vectors,
    fields: &[(String, Node)],
    cursor: &mut Cursor<'_>,
) -> Result<()> {
    let mut numbers = [None; 3];
    for (name, node) in fields {
        let number = VECTOR_NUMBERS.iter().position(|n| n == name);
        match (number, node) {
            (Some(at), Node::Int | Node::Long) => numbers[at] = Some(cursor.long()?),
            _ if name == "file" => {
                let file = cursor.bytes()?;
                check_path(file)?;
                vectors.files.push(Some(file))?;
            }
            _ => node.skip(cursor)?,
        }
    }
    for (column, number) in vectors.numbers.iter_mut().zip(numbers) {
        if number.is_none_or(|n| n < 0) {
            return Err(EngineError::corrupt("", "a deletion vector has no place"));
        }
        column.push(number)?;
    }
    vectors.close()
}

fn push_runs(runs: &mut Runs, node: &Node, cursor: &mut Cursor<'_>) -> Result<()> {
    let Node::Record(fields) = node else {
        return Err(EngineError::internal("runs that are not records"));
    };
    loop {
        let count = cursor.block(node.least_bytes())?;
        if count == 0 {
            return runs.close(true);
        }
        for _ in 0..count {
            push_run(runs, fields, cursor)?;
        }
    }
}

fn push_run(runs: &mut Runs, fields: &[(String, Node)], cursor: &mut Cursor<'_>) -> Result<()> {
    let (mut numbers, mut stamp) = ([None; 5], None);
    for (name, node) in fields {
        let number = RUN_NUMBERS.iter().position(|n| n == name);
        match (number, node) {
            (Some(at), Node::Int | Node::Long) => numbers[at] = Some(cursor.long()?),
            _ if name == RUN_STAMP && is_text(node) => stamp = item(node, cursor)?,
            _ => node.skip(cursor)?,
        }
    }
    for (column, number) in runs.numbers.iter_mut().zip(numbers) {
        if number.is_none_or(|n| n < 0) {
            return Err(EngineError::corrupt("", "a companion's run is not complete"));
        }
        column.push(number)?;
    }
    runs.stamps.push(stamp)
}

/// A path in a log must not leave the table.
fn check_path(path: &[u8]) -> Result<()> {
    if is_inside(path) {
        return Ok(());
    }
    let path = String::from_utf8_lossy(path);
    Err(EngineError::corrupt("", format!("`{path}` is not a path inside a table")))
}

/// The entries of a manifest as one batch with all columns, in the order of `COLUMNS`. The state records their
/// number; a manifest with another number is rejected before anything is decompressed.
pub fn decode(data: &[u8], expected: usize) -> Result<RecordBatch> {
    let container = Container::open(data)?;
    check_count(container.records()?, expected)?;
    let Node::Record(fields) = schema::parse(container.schema)? else {
        return Err(EngineError::corrupt("", "its records are not entries"));
    };
    let mut columns: Vec<Column> =
        COLUMNS.iter().map(|(name, kind, ..)| Column::new(name, *kind)).collect();
    let targets = targets(&fields, &columns)?;
    let others = targets.contains(&None);
    let absent: Vec<usize> = (0..columns.len())
        .filter(|at| !(targets.contains(&Some(*at)) || others && *at == EXTRA))
        .collect();
    let mut rows = 0;
    container.for_each_block(|count, bytes| {
        let mut cursor = Cursor::new(bytes);
        for _ in 0..count {
            if others {
                push_with_others(&fields, &targets, &mut columns, &mut cursor)?;
                continue;
            }
            for ((_, node), target) in fields.iter().zip(&targets) {
                if let Some(at) = target {
                    columns[*at].push(node, &mut cursor)?;
                }
            }
        }
        if cursor.remaining() > 0 {
            return Err(EngineError::corrupt("", "a block has bytes after its records"));
        }
        if rows == 0 && count > 0 && expected > count {
            // the first block shows how much memory the others need; growing copies everything
            let more = (expected - count).min(MOST_RESERVED) as f64 / count as f64;
            columns.iter_mut().try_for_each(|column| column.reserve(more))?;
        }
        rows += count;
        Ok(())
    })?;
    for at in absent {
        for _ in 0..rows {
            if COLUMNS[at].2 { columns[at].push_default()? } else { columns[at].push_absent()? }
        }
    }
    check_memory(rows, COLUMNS.len())?;
    let arrays = columns.into_iter().map(Column::finish).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(arrow_schema()), arrays, &options)
        .map_err(|e| EngineError::corrupt("", e))
}

fn check_count(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(EngineError::corrupt("", format!("{found} entries, its state says {expected}")))
}

/// Appends an entry with unknown fields: they are kept as members of `extra`, so that rewriting the entry
/// does not lose them.
fn push_with_others(
    fields: &[(String, Node)],
    targets: &[Option<usize>],
    columns: &mut [Column],
    cursor: &mut Cursor<'_>,
) -> Result<()> {
    let mut members = serde_json::Map::new();
    for ((name, node), target) in fields.iter().zip(targets) {
        match target {
            Some(EXTRA) => {
                if let Some(text) = item(node, cursor)? {
                    let held: serde_json::Map<_, _> = serde_json::from_slice(text)
                        .map_err(|_| EngineError::corrupt("", "`extra` is not a JSON object"))?;
                    members.extend(held);
                }
            }
            Some(at) => columns[*at].push(node, cursor)?,
            None => {
                let value = node.json(cursor)?;
                if !value.is_null() {
                    members.insert(name.clone(), value);
                }
            }
        }
    }
    if members.is_empty() {
        return columns[EXTRA].push_absent();
    }
    let text = serde_json::Value::Object(members).to_string();
    match &mut columns[EXTRA] {
        Column::Text(texts) => texts.push(Some(text.as_bytes())),
        _ => Err(EngineError::internal("`extra` is not a string")),
    }
}

/// The column of each field of the writer.
fn targets(fields: &[(String, Node)], columns: &[Column]) -> Result<Vec<Option<usize>>> {
    let mut found = Vec::with_capacity(fields.len());
    for (name, node) in fields {
        let at = COLUMNS.iter().position(|(column, ..)| column == name);
        if let Some(at) = at
            && (!columns[at].accepts(node) || found.contains(&Some(at)))
        {
            let detail = format!("field `{name}` has an unexpected type");
            return Err(EngineError::corrupt("", detail));
        }
        found.push(at);
    }
    if !found.contains(&Some(0)) {
        return Err(EngineError::corrupt("", "its entries have no path"));
    }
    Ok(found)
}

pub fn arrow_schema() -> Schema {
    let fields: Vec<Field> = COLUMNS
        .iter()
        .map(|(name, kind, required, _)| Field::new(*name, DataType::from(*kind), !required))
        .collect();
    Schema::new(fields)
}
