//! The fields that a query may name, and how each is searched.

use std::collections::{BTreeMap, BTreeSet};

use arrow::datatypes::DataType;
use serde::Deserialize;
use serde_json::Value;

use super::tree::Mode;
use crate::columns::convert::member_type;
use crate::error::{EngineError, Result};
use crate::open::{Layout, is_text, split_path};
use crate::split::Encoding;
use crate::tokenizer;

/// How a field is searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldKind {
    Text {
        positions: bool,
    },
    /// A whole value, indexed by its hash.
    Hashed,
    Exact,
    Bool,
    Whole,
    Float,
    Decimal,
    Date,
    Timestamp,
    Ip,
    /// A value inside JSON whose type is not known.
    Json,
    /// It can only be tested for existence.
    Opaque,
}

/// The fields a query may name.
#[derive(Debug, Default)]
pub struct Fields {
    pub kinds: BTreeMap<String, (FieldKind, Option<DataType>)>,
    /// Tokenizers with stop words, by field.
    pub stopping: BTreeMap<String, String>,
    /// Values inside of nested columns, which words without a field are not looked up in.
    pub members: BTreeSet<String>,
    /// A missing field has no values, instead of being an error.
    pub lenient: bool,
}

/// The fields whose tokenizers have stop words.
fn stopping<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    let found = fields.filter(|(_, tokenizer)| tokenizer::stops(tokenizer));
    found.map(|(name, tokenizer)| (name.to_owned(), tokenizer.to_owned())).collect()
}

/// The role of a value inside of a nested column.
const MEMBER: &str = "member";

/// A field as Python describes it.
#[derive(Debug, Clone, Deserialize)]
pub struct Described {
    pub name: String,
    #[serde(default, rename = "type")]
    data_type: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    record: String,
    /// The tokenizer's name in the index; empty for whole values.
    #[serde(default)]
    pub tokenizer: String,
}

impl Described {
    pub fn list(value: Value) -> Result<Vec<Described>> {
        serde_json::from_value(value)
            .map_err(|e| EngineError::bad_query(format!("fields of a query: {e}")))
    }
}

impl Fields {
    /// From `[{"name", "type": Spark's name of the type, "role", "record"}]`.
    pub fn from_value(value: Value) -> Result<Fields> {
        let fields = Described::list(value)?;
        let stopping = stopping(fields.iter().map(|f| (f.name.as_str(), f.tokenizer.as_str())));
        let members = fields.iter().filter(|field| field.role == MEMBER);
        let members = members.map(|field| field.name.clone()).collect();
        let kinds = fields.into_iter().map(|field| {
            let kind = kind_by_name(&field);
            (field.name, (kind, None))
        });
        Ok(Fields { kinds: kinds.collect(), stopping, members, lenient: false })
    }

    pub fn of_layout(layout: &Layout) -> Fields {
        let kinds = layout.iter().map(|column| {
            let kind = match column.encoding {
                Encoding::Text => {
                    text_kind(column.tokenizer.as_deref().unwrap_or_default(), column.positions())
                }
                Encoding::Ip => FieldKind::Ip,
                Encoding::Json | Encoding::Struct | Encoding::List | Encoding::Map => {
                    FieldKind::Json
                }
                Encoding::StringBytes => FieldKind::Exact,
                Encoding::String if !column.number_as_text => FieldKind::Exact,
                _ => kind_of(&column.data_type),
            };
            (column.name.clone(), (kind, Some(column.data_type.clone())))
        });
        let tokenizers =
            layout.iter().filter_map(|c| Some((c.name.as_str(), c.tokenizer.as_deref()?)));
        let (kinds, stopping) = (kinds.collect(), stopping(tokenizers));
        Fields { kinds, stopping, members: BTreeSet::new(), lenient: true }
    }

    /// The columns of rows without an index, as a split with the same columns would have them.
    pub fn of_rows<'a>(
        columns: impl Iterator<Item = (&'a Described, &'a DataType)> + Clone,
    ) -> Fields {
        let tokenizers = columns.clone().map(|(f, _)| (f.name.as_str(), f.tokenizer.as_str()));
        let stopping = stopping(tokenizers);
        let kinds = columns.map(|(field, data_type)| {
            let kind = match field.role.as_str() {
                "text" | "json" | "ip" => kind_by_name(field),
                _ if data_type.is_nested() => FieldKind::Json,
                _ => kind_of(data_type),
            };
            (field.name.clone(), (kind, Some(data_type.clone())))
        });
        Fields { kinds: kinds.collect(), stopping, members: BTreeSet::new(), lenient: false }
    }

    pub fn kind(&self, name: &str) -> Option<FieldKind> {
        if let Some((kind, _)) = self.kinds.get(name) {
            return Some(*kind);
        }
        let parts = split_path(name);
        (1..parts.len()).rev().find_map(|cut| {
            let (kind, data_type) = self.kinds.get(&parts[..cut].join("."))?;
            if *kind != FieldKind::Json {
                return None;
            }
            Some(data_type.as_ref().map_or(FieldKind::Json, |t| leaf_kind(t, &parts[cut..])))
        })
    }

    /// The fields in which a word without a field is searched, with their weights.
    pub fn defaults(&self, wanted: &[String], mode: Mode) -> Vec<(String, f32)> {
        if !wanted.is_empty() {
            return wanted.iter().map(|name| (name.clone(), 1.0)).collect();
        }
        let is_text = |kind: &FieldKind| matches!(kind, FieldKind::Text { .. });
        let fits = |kind: &FieldKind| match mode {
            Mode::Any => !matches!(kind, FieldKind::Opaque | FieldKind::Json),
            Mode::Text => is_text(kind),
            Mode::Exact => !is_text(kind) && !matches!(kind, FieldKind::Opaque | FieldKind::Json),
        };
        let own = self.kinds.iter().filter(|(name, _)| !self.members.contains(*name));
        let found = own.filter(|(_, (kind, _))| fits(kind));
        found.map(|(name, _)| (name.clone(), 1.0)).collect()
    }
}

fn leaf_kind(data_type: &DataType, path: &[String]) -> FieldKind {
    let mut data_type = data_type;
    for part in path {
        match member_type(data_type, part) {
            Some(inner) => data_type = inner,
            None => return FieldKind::Json,
        }
    }
    while let DataType::List(item) = data_type {
        data_type = item.data_type();
    }
    match kind_of(data_type) {
        FieldKind::Exact | FieldKind::Opaque => FieldKind::Json,
        kind => kind,
    }
}

fn kind_of(data_type: &DataType) -> FieldKind {
    use DataType as D;
    match data_type {
        D::Boolean => FieldKind::Bool,
        D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::Duration(_) => FieldKind::Whole,
        D::Float32 | D::Float64 => FieldKind::Float,
        D::Decimal128(..) => FieldKind::Decimal,
        D::Date32 => FieldKind::Date,
        D::Timestamp(..) => FieldKind::Timestamp,
        other if is_text(other) => FieldKind::Exact,
        _ => FieldKind::Opaque,
    }
}

fn text_kind(tokenizer: &str, positions: bool) -> FieldKind {
    if tokenizer == tokenizer::HASH { FieldKind::Hashed } else { FieldKind::Text { positions } }
}

fn kind_by_name(field: &Described) -> FieldKind {
    match field.role.as_str() {
        "text" => {
            let positions = field.record.is_empty() || field.record == "position";
            return text_kind(&field.tokenizer, positions);
        }
        "json" => return FieldKind::Json,
        "ip" => return FieldKind::Ip,
        _ => {}
    }
    match field.data_type.as_str() {
        "boolean" => FieldKind::Bool,
        "byte" | "tinyint" | "short" | "smallint" | "integer" | "int" | "long" | "bigint" => {
            FieldKind::Whole
        }
        "float" | "real" | "double" => FieldKind::Float,
        "date" => FieldKind::Date,
        "timestamp" | "timestamp_ntz" | "timestamp_ltz" => FieldKind::Timestamp,
        "binary" => FieldKind::Opaque,
        name if name.starts_with("decimal") => FieldKind::Decimal,
        name if name.starts_with("interval") => FieldKind::Whole,
        name if name.starts_with("struct")
            || name.starts_with("array")
            || name.starts_with("map") =>
        {
            FieldKind::Json
        }
        _ => FieldKind::Exact,
    }
}
