//! What each column of a split is and how its values are encoded, whoever wrote it.

use std::collections::HashMap;
use std::str::FromStr;

use arrow::datatypes::{DataType, Schema as ArrowSchema, TimeUnit};
use tantivy::schema::{Field, FieldEntry, FieldType, IndexRecordOption, Schema};

use crate::split::{Encoding, Sidecar, SidecarColumn};
use crate::texts::{TEXT, inward_type};
use crate::tokenizer::is_raw;

/// One column of a split.
#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub field: Field,
    /// The name of the field that holds the values: the column's own, or that of its exact strings.
    pub field_name: String,
    pub encoding: Encoding,
    /// The type the table gives the column; literals in queries are of this type.
    pub data_type: DataType,
    /// The type the column had when the split was written, if the split says so.
    pub written: Option<DataType>,
    /// Digits after the point of the numbers on disk.
    pub scale: i8,
    /// A number or decimal that an earlier writer wrote as raw text.
    pub number_as_text: bool,
    /// The fast column holds the values themselves (not tokens).
    pub fast: bool,
    pub indexed: bool,
    pub stored: bool,
    pub record: Option<IndexRecordOption>,
    pub tokenizer: Option<String>,
    /// Some values are cut or missing in the index; unknown for splits of other writers.
    pub overlong: Option<bool>,
    pub nulls: Option<u64>,
    /// A stored field with the exact string, where rendering or decoding would change it.
    pub source: Option<Field>,
}

impl Column {
    /// A column that is computed and not part of any split.
    pub fn computed(name: &str, data_type: DataType, encoding: Encoding, scale: i8) -> Column {
        Column {
            name: name.to_owned(),
            field: Field::from_field_id(u32::MAX),
            field_name: name.to_owned(),
            encoding,
            data_type,
            written: None,
            scale,
            number_as_text: false,
            fast: false,
            indexed: false,
            stored: false,
            record: None,
            tokenizer: None,
            overlong: Some(false),
            nulls: None,
            source: None,
        }
    }

    pub fn positions(&self) -> bool {
        self.record == Some(IndexRecordOption::WithFreqsAndPositions)
    }

    /// Whether numbers on disk are of another kind than the column's type, which was widened since.
    pub fn is_converted(&self) -> bool {
        use Encoding as E;
        match self.data_type {
            DataType::Float32 | DataType::Float64 => self.encoding == E::I64,
            DataType::Timestamp(..) => matches!(self.encoding, E::Date | E::DaysI64),
            _ => false,
        }
    }

    pub fn is_json(&self) -> bool {
        use Encoding as E;
        matches!(self.encoding, E::Json | E::Struct | E::List | E::Map)
    }
}

/// All columns of a split.
#[derive(Debug, Default)]
pub struct Layout {
    columns: Vec<Column>,
    by_name: HashMap<String, usize>,
}

impl Layout {
    pub fn new(schema: &Schema, sidecar: Option<&Sidecar>, table: Option<&ArrowSchema>) -> Layout {
        let mut layout = Layout::default();
        for (field, entry) in schema.fields() {
            let note = sidecar.and_then(|s| s.column(entry.name()));
            if sidecar.is_some() && note.is_none() {
                continue;
            }
            let declared = table.and_then(|t| t.field_with_name(entry.name()).ok());
            let declared = declared.map(|f| f.data_type());
            let source = note.and_then(|n| n.source.as_deref());
            let source = source.and_then(|name| schema.get_field(name).ok());
            let column = match (source, note) {
                // every value lies in the exact field; the column's own is for other readers
                (Some(exact), Some(note)) if note.encoding == Encoding::StringBytes => {
                    let mut column =
                        describe(exact, schema.get_field_entry(exact), Some(note), declared);
                    column.name = entry.name().to_owned();
                    column
                }
                _ => Column { source, ..describe(field, entry, note, declared) },
            };
            layout.by_name.insert(column.name.clone(), layout.columns.len());
            layout.columns.push(column);
        }
        layout
    }

    pub fn get(&self, name: &str) -> Option<&Column> {
        self.by_name.get(name).map(|&at| &self.columns[at])
    }

    pub fn iter(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter()
    }

    /// The column of a name or of a path into it (`a.b.c`); the longest column name wins.
    pub fn resolve(&self, name: &str) -> Option<(&Column, Vec<String>)> {
        if let Some(column) = self.get(name) {
            return Some((column, Vec::new()));
        }
        let parts = split_path(name);
        (1..parts.len()).rev().find_map(|cut| {
            let column = self.get(&parts[..cut].join("."))?;
            column.is_json().then(|| (column, parts[cut..].to_vec()))
        })
    }
}

/// Parts of a path; `\.` is a dot inside a part.
pub fn split_path(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = path.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'.') => {
                chars.next();
                parts.last_mut().expect("never empty").push('.');
            }
            '.' => parts.push(String::new()),
            c => parts.last_mut().expect("never empty").push(c),
        }
    }
    parts
}

fn describe(
    field: Field,
    entry: &FieldEntry,
    note: Option<&SidecarColumn>,
    declared: Option<&DataType>,
) -> Column {
    let kind = entry.field_type();
    let written = note.and_then(|n| DataType::from_str(&n.data_type).ok());
    let (written, declared) = (written.map(|t| inward_type(&t)), declared.map(inward_type));
    let declared = declared.as_ref();
    let encoding = note.map_or_else(|| guess_encoding(kind, declared), |n| n.encoding);
    let data_type =
        declared.cloned().or_else(|| written.clone()).unwrap_or_else(|| natural_type(encoding));
    let scale = match (encoding, written.as_ref().or(declared)) {
        (Encoding::DecimalI64 | Encoding::DecimalBytes, Some(DataType::Decimal128(_, scale))) => {
            *scale
        }
        _ => 0,
    };
    let (tokenizer, record, fast_values) = text_facts(kind);
    Column {
        name: entry.name().to_owned(),
        field,
        field_name: entry.name().to_owned(),
        encoding,
        number_as_text: note.is_none() && encoding == Encoding::String && !is_text(&data_type),
        data_type,
        written,
        scale,
        fast: kind.is_fast() && fast_values,
        indexed: kind.is_indexed(),
        stored: entry.is_stored(),
        record,
        tokenizer,
        overlong: note.map(|n| n.overlong),
        nulls: note.map(|n| n.nulls),
        source: None,
    }
}

pub fn is_text(data_type: &DataType) -> bool {
    *data_type == TEXT
}

/// The tokenizer and record option of a text field, and whether its fast column holds whole values.
fn text_facts(kind: &FieldType) -> (Option<String>, Option<IndexRecordOption>, bool) {
    match kind {
        FieldType::Str(options) => {
            let indexing = options.get_indexing_options();
            let fast = options.get_fast_field_tokenizer_name().is_none_or(is_raw);
            let tokenizer = indexing.map(|i| i.tokenizer().to_owned());
            (tokenizer, indexing.map(|i| i.index_option()), fast)
        }
        FieldType::JsonObject(options) => {
            let indexing = options.get_text_indexing_options();
            let tokenizer = indexing.map(|i| i.tokenizer().to_owned());
            (tokenizer, indexing.map(|i| i.index_option()), true)
        }
        other => (None, other.get_index_record_option(), true),
    }
}

fn guess_encoding(kind: &FieldType, declared: Option<&DataType>) -> Encoding {
    match kind {
        FieldType::Bool(_) => Encoding::Bool,
        FieldType::I64(_) | FieldType::U64(_) => Encoding::I64,
        FieldType::F64(_) => Encoding::F64,
        FieldType::Date(_) => match declared {
            Some(DataType::Date32) => Encoding::Date,
            _ => Encoding::Timestamp,
        },
        FieldType::Bytes(_) => Encoding::Bytes,
        FieldType::IpAddr(_) => Encoding::Ip,
        FieldType::JsonObject(_) => match declared {
            Some(DataType::List(_) | DataType::LargeList(_)) => Encoding::List,
            Some(DataType::Map(..)) => Encoding::Map,
            Some(DataType::Struct(_)) => Encoding::Struct,
            _ => Encoding::Json,
        },
        FieldType::Str(options) => {
            let raw = options.get_indexing_options().is_none_or(|i| is_raw(i.tokenizer()));
            if raw { Encoding::String } else { Encoding::Text }
        }
        _ => Encoding::Null,
    }
}

fn natural_type(encoding: Encoding) -> DataType {
    use Encoding as E;
    match encoding {
        E::Bool => DataType::Boolean,
        E::I64 => DataType::Int64,
        E::F64 => DataType::Float64,
        E::DecimalI64 => DataType::Decimal128(18, 0),
        E::DecimalBytes => DataType::Decimal128(38, 0),
        E::Bytes => DataType::Binary,
        E::Date | E::DaysI64 => DataType::Date32,
        E::Timestamp | E::MicrosI64 => DataType::Timestamp(TimeUnit::Microsecond, None),
        E::DurationI64 => DataType::Duration(TimeUnit::Microsecond),
        E::Null => DataType::Null,
        E::String | E::StringBytes | E::Text | E::Json | E::Ip => TEXT,
        E::Struct | E::List | E::Map => TEXT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{Field as ArrowField, Fields};

    #[test]
    fn nested_types_are_read_back_from_their_names() {
        let member = Fields::from(vec![ArrowField::new("a b", DataType::Date32, true)]);
        let nested =
            DataType::List(ArrowField::new("element", DataType::Struct(member), true).into());
        assert_eq!(DataType::from_str(&nested.to_string()).ok(), Some(nested));
    }
}
