//! The type and encoding of each column of a split, for splits of any writer.

use std::collections::{HashMap, HashSet};

use arrow::datatypes::{DataType, Schema as ArrowSchema, TimeUnit};
use tantivy::schema::{Field, FieldEntry, FieldType, IndexRecordOption, Schema};

use crate::source::Address;
use crate::split::{self, Encoding, Sidecar, SidecarColumn, TRIGRAMS_PREFIX};
use crate::texts::{TEXT, inward_type};
use crate::tokenizer::is_raw;

/// One column of a split.
#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub field: Field,
    /// The name of the field that holds the values: the column's own, or that of its exact strings.
    pub field_name: String,
    /// The name the column had when the split was written.
    pub written_name: String,
    pub encoding: Encoding,
    /// The type of the column in the table; literals in queries have this type.
    pub data_type: DataType,
    /// The type of the column when the split was written, if the split records it.
    pub written: Option<DataType>,
    /// Digits after the point of the numbers on disk.
    pub scale: i8,
    /// A number or decimal that an earlier writer stored as a raw string.
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
    /// The field does not reproduce every value exactly.
    pub inexact: bool,
    /// Values are in the files of the source.
    pub outside: bool,
    /// A field with the trigrams of every value.
    pub trigrams: Option<Field>,
}

impl Column {
    /// A column that is computed and not part of any split.
    pub fn computed(name: &str, data_type: DataType, encoding: Encoding, scale: i8) -> Column {
        Column {
            name: name.to_owned(),
            field: Field::from_field_id(u32::MAX),
            field_name: name.to_owned(),
            written_name: name.to_owned(),
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
            inexact: false,
            outside: false,
            trigrams: None,
        }
    }

    /// A column without a field in the split: its values are in the source files.
    fn outside(name: &str, data_type: &DataType) -> Column {
        let data_type = inward_type(data_type);
        let scale = match data_type {
            DataType::Decimal128(_, scale) => scale,
            _ => 0,
        };
        let encoding = outside_encoding(&data_type);
        Column {
            outside: true,
            overlong: None,
            ..Column::computed(name, data_type, encoding, scale)
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
    /// Columns of the table, whether this split has them or not.
    declared: HashSet<String>,
}

impl Layout {
    /// `addresses` are those of a companion's columns in its source.
    pub fn new(
        schema: &Schema,
        sidecar: Option<&Sidecar>,
        table: Option<&ArrowSchema>,
        addresses: Option<&[Address]>,
    ) -> Layout {
        let names = table.iter().flat_map(|table| table.fields());
        let declared = names.map(|field| field.name().clone()).collect();
        let mut layout = Layout { declared, ..Layout::default() };
        for (field, entry) in schema.fields() {
            let note = sidecar.and_then(|s| s.column(entry.name()));
            if sidecar.is_some() && note.is_none() {
                continue;
            }
            let renamed = note.zip(addresses).map(|(note, addresses)| name_now(note, addresses));
            let name = match &renamed {
                Some(Some(name)) => name.as_str(),
                // the source has dropped the column
                Some(None) => continue,
                None => entry.name(),
            };
            let declared = table.and_then(|t| t.field_with_name(name).ok());
            let declared = declared.map(|f| f.data_type());
            let source = note.and_then(|n| n.source.as_deref());
            let source = source.and_then(|name| schema.get_field(name).ok());
            let column = match (source, note) {
                // every value is in the exact field; the column's own is for other readers
                (Some(exact), Some(note)) if note.encoding == Encoding::StringBytes => {
                    describe(exact, schema.get_field_entry(exact), Some(note), declared)
                }
                _ => Column { source, ..describe(field, entry, note, declared) },
            };
            let (name, written_name) = (name.to_owned(), entry.name().to_owned());
            let outside = sidecar.is_some_and(|s| s.layout == split::Layout::Companion);
            let trigrams = schema.get_field(&format!("{TRIGRAMS_PREFIX}{written_name}")).ok();
            let column = Column { name, written_name, outside, trigrams, ..column };
            layout.by_name.insert(column.name.clone(), layout.columns.len());
            layout.columns.push(column);
        }
        for field in table.filter(|_| addresses.is_some()).iter().flat_map(|t| t.fields()) {
            if layout.get(field.name()).is_none() {
                layout.by_name.insert(field.name().clone(), layout.columns.len());
                layout.columns.push(Column::outside(field.name(), field.data_type()));
            }
        }
        layout
    }

    pub fn get(&self, name: &str) -> Option<&Column> {
        self.by_name.get(name).map(|&at| &self.columns[at])
    }

    /// Whether the table has a column of this name: a pseudo column gives way to it.
    pub fn is_column(&self, name: &str) -> bool {
        self.by_name.contains_key(name) || self.declared.contains(name)
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
    let written = note.and_then(SidecarColumn::arrow_type);
    let (written, declared) = (written.map(|t| inward_type(&t)), declared.map(inward_type));
    let declared = declared.as_ref();
    let encoding = note.map_or_else(|| guess_encoding(kind, declared), |n| n.encoding);
    let data_type =
        declared.cloned().or_else(|| written.clone()).unwrap_or_else(|| natural_type(encoding));
    let scale = match (encoding, written.as_ref().or(declared)) {
        (Encoding::DecimalI64 | Encoding::DecimalBytes, Some(DataType::Decimal128(_, scale))) => {
            *scale
        }
        (Encoding::F64Decimal, _) => note.and_then(|n| n.digits).unwrap_or_default() as i8,
        _ => 0,
    };
    let (tokenizer, record, fast_values) = text_facts(kind);
    Column {
        name: entry.name().to_owned(),
        field,
        field_name: entry.name().to_owned(),
        written_name: entry.name().to_owned(),
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
        inexact: note.is_some_and(|n| n.inexact),
        outside: false,
        trigrams: None,
    }
}

/// The name that the source's column has now; none if it has been dropped there.
fn name_now(note: &SidecarColumn, addresses: &[Address]) -> Option<String> {
    if addresses.is_empty() {
        return Some(note.name.clone());
    }
    let same = |address: &&Address| {
        let identity = address.identity();
        if identity.is_empty() && note.address.is_empty() {
            return address.name == note.name;
        }
        identity.matches(&note.address)
    };
    addresses.iter().find(same).map(|address| address.name.clone())
}

/// How values of a type would be encoded: this decides which predicates the index can answer.
fn outside_encoding(data_type: &DataType) -> Encoding {
    use DataType as D;
    match data_type {
        D::Boolean => Encoding::Bool,
        D::Float32 | D::Float64 => Encoding::F64,
        D::Decimal128(..) => Encoding::DecimalBytes,
        D::Binary => Encoding::Bytes,
        D::Date32 => Encoding::DaysI64,
        D::Timestamp(..) => Encoding::MicrosI64,
        D::Duration(_) => Encoding::DurationI64,
        D::Struct(_) => Encoding::Struct,
        D::List(_) => Encoding::List,
        D::Map(..) => Encoding::Map,
        D::Null => Encoding::Null,
        other if is_text(other) => Encoding::String,
        _ => Encoding::I64,
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
        E::F64 | E::F64Decimal => DataType::Float64,
        E::DecimalI64 => DataType::Decimal128(18, 0),
        E::DecimalBytes => DataType::Decimal128(38, 0),
        E::Bytes => DataType::Binary,
        E::Date | E::DaysI64 => DataType::Date32,
        // other writers index timestamps, which have a time zone
        E::Timestamp | E::MicrosI64 => {
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
        }
        E::DurationI64 => DataType::Duration(TimeUnit::Microsecond),
        E::Null => DataType::Null,
        E::String | E::StringBytes | E::Text | E::Json | E::Ip => TEXT,
        E::Struct | E::List | E::Map => TEXT,
    }
}
