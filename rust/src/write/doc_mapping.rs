//! The document mapping of the log: the fields of a split, for readers that plan with it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tantivy::index::SegmentComponent;
use tantivy::schema::{FieldEntry, FieldType, Schema, TextFieldIndexing};
use tantivy::{Index, TantivyError};
use tantivy_columnar::{ColumnType, ColumnarReader};

use crate::error::Result;
use crate::split::TRIGRAMS_PREFIX;
use crate::write::schema::SOURCE_PREFIX;

/// Separates the members of a path in the name of a column.
const PATH_SEPARATOR: char = '\u{1}';
/// Paths beyond these are not listed: map columns may have any number of keys.
const MOST_PATHS: usize = 1000;

/// The doc mapping of an index, with the paths found in its JSON columns.
pub fn doc_mapping(index: &Index) -> Result<Value> {
    let schema: Schema = index.schema();
    let members = members_of(index)?;
    let fields = schema.fields().map(|(_, entry)| entry);
    let hidden = |name: &str| [SOURCE_PREFIX, TRIGRAMS_PREFIX].iter().any(|p| name.starts_with(p));
    let shown = fields.filter(|entry| !hidden(entry.name()));
    Ok(shown.map(|entry| mapping(entry, members.children.get(entry.name()))).collect())
}

fn mapping(entry: &FieldEntry, members: Option<&Member>) -> Value {
    let (kind, tokenizer) = kind(entry.field_type());
    let mut mapping = json!({
        "name": entry.name(), "type": kind, "stored": entry.is_stored(),
        "indexed": entry.is_indexed(), "fast": entry.is_fast(),
    });
    if let Some(tokenizer) = tokenizer {
        mapping["tokenizer"] = json!(tokenizer);
    }
    if kind == "object" {
        mapping["expand_dots"] = json!(false);
        mapping["fast_tokenizer"] = json!("raw");
        mapping["field_mappings"] = members.map_or_else(|| json!([]), |m| m.mappings(entry));
    }
    mapping
}

fn kind(field_type: &FieldType) -> (&'static str, Option<&str>) {
    match field_type {
        FieldType::Str(options) => {
            ("text", options.get_indexing_options().map(TextFieldIndexing::tokenizer))
        }
        FieldType::JsonObject(options) => {
            ("object", options.get_text_indexing_options().map(TextFieldIndexing::tokenizer))
        }
        FieldType::U64(_) => ("u64", None),
        FieldType::I64(_) => ("i64", None),
        FieldType::F64(_) => ("f64", None),
        FieldType::Bool(_) => ("bool", None),
        FieldType::Date(_) => ("datetime", None),
        FieldType::Bytes(_) => ("bytes", None),
        FieldType::IpAddr(_) => ("ip", None),
        _ => ("text", None),
    }
}

/// A member of a JSON object as its fast columns show it.
#[derive(Default)]
struct Member {
    column: Option<ColumnType>,
    children: BTreeMap<String, Member>,
}

impl Member {
    fn mappings(&self, field: &FieldEntry) -> Value {
        let described = self.children.iter().map(|(name, member)| {
            let kind = member.kind();
            let mut mapping = json!({
                "name": name, "type": kind, "stored": field.is_stored(),
                "indexed": field.is_indexed(), "fast": true,
            });
            if matches!(kind, "text" | "object") {
                mapping["tokenizer"] = json!("raw");
            }
            if kind == "object" {
                mapping["expand_dots"] = json!(false);
                mapping["fast_tokenizer"] = json!("raw");
                mapping["field_mappings"] = member.mappings(field);
            }
            mapping
        });
        described.collect()
    }

    fn kind(&self) -> &'static str {
        match self.column {
            _ if !self.children.is_empty() => "object",
            Some(ColumnType::I64) => "i64",
            Some(ColumnType::U64) => "u64",
            Some(ColumnType::F64) => "f64",
            Some(ColumnType::Bool) => "bool",
            Some(ColumnType::DateTime) => "datetime",
            _ => "text",
        }
    }
}

/// The paths of all JSON columns, below the names of their fields.
fn members_of(index: &Index) -> Result<Member> {
    let mut root = Member::default();
    for segment in index.searchable_segments()? {
        let file = segment.open_read(SegmentComponent::FastFields).map_err(TantivyError::from)?;
        let columns = ColumnarReader::open(file)?.list_columns()?;
        let nested = columns.into_iter().filter(|(name, _)| name.contains(PATH_SEPARATOR));
        for (name, column) in nested.take(MOST_PATHS) {
            let mut at = &mut root;
            for part in name.split(PATH_SEPARATOR) {
                at = at.children.entry(part.to_owned()).or_default();
            }
            at.column = Some(column.column_type());
        }
    }
    Ok(root)
}
