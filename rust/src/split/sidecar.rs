//! What a tantivy schema cannot express about the columns of a split: the sidecar `_indextables.json`.

use std::collections::BTreeMap;

use arrow::datatypes::DataType;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::source::{Identity, Run};
use crate::split::types::parse as parse_type;

pub const SIDECAR_FILE: &str = "_indextables.json";
/// CRC-32 of the sidecar, which itself has those of all other files.
pub const SIDECAR_SUM_FILE: &str = "_indextables.crc";
/// Version 1 had Arrow's display names as types; version 3 has doubles that are stored as integers.
pub const SIDECAR_VERSION: u32 = 3;
/// The version of splits that need nothing newer, so that older readers open them.
const PLAIN_VERSION: u32 = 2;

/// How much of a row the document store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Readable by other implementations: every column is stored.
    #[default]
    Compatible,
    /// Only values that columns cannot reproduce are stored.
    Lean,
    /// The rows are those of Parquet files, which the split only indexes.
    Companion,
}

/// How the values of a column are encoded in a tantivy field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    Bool,
    I64,
    F64,
    /// Short doubles: the column holds integers, to be divided by a power of ten.
    #[serde(rename = "f64_decimal")]
    F64Decimal,
    /// Decimal of up to 18 digits as its unscaled number.
    #[serde(rename = "decimal_i64")]
    DecimalI64,
    /// Unscaled number as 16 bytes, big-endian, sign bit flipped: byte order is number order.
    DecimalBytes,
    /// The whole value is one token.
    String,
    /// The same with some value that is not UTF-8: the field `source` has the bytes of every value.
    StringBytes,
    Text,
    Json,
    Ip,
    Bytes,
    /// Midnight UTC as a tantivy date.
    Date,
    #[serde(rename = "days_i64")]
    DaysI64,
    Timestamp,
    #[serde(rename = "micros_i64")]
    MicrosI64,
    #[serde(rename = "duration_i64")]
    DurationI64,
    Struct,
    List,
    Map,
    /// A column without a type holds nothing: it has no field.
    Null,
}

impl Encoding {
    /// Whether values are JSON objects: their fast columns are those of their leaves.
    pub fn is_object(self) -> bool {
        matches!(self, Self::Json | Self::Struct | Self::List | Self::Map)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SidecarColumn {
    pub name: String,
    /// The column's type as Spark's JSON.
    #[serde(rename = "type")]
    pub data_type: Value,
    pub encoding: Encoding,
    /// For `F64Decimal`: the number of decimal places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<u8>,
    /// Some value is too long for a term or a fast column: only the document store has it whole.
    #[serde(default)]
    pub overlong: bool,
    /// For a companion: the field does not reproduce every value exactly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inexact: bool,
    /// Rows without a value.
    pub nulls: u64,
    /// What identifies the column in the source after a rename.
    #[serde(default, skip_serializing_if = "Identity::is_empty")]
    pub address: Identity,
    /// For a text column: the sum of the lengths of its rows, for scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The field with the exact bytes of values that do not survive parsing, rendering or decoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sidecar {
    pub version: u32,
    pub writer: String,
    pub layout: Layout,
    pub rows: u64,
    pub columns: Vec<SidecarColumn>,
    /// The source rows that the documents are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceFiles>,
    #[serde(default)]
    pub checksums: BTreeMap<String, u32>,
    /// Checksums of the blocks of `BLOCK_BYTES` of each file, so that a reader verifies only what it reads.
    #[serde(default)]
    pub blocks: BTreeMap<String, Vec<u32>>,
}

impl SidecarColumn {
    /// The column's type, if it is one of those known here.
    pub fn arrow_type(&self) -> Option<DataType> {
        parse_type(&self.data_type)
    }
}

/// The rows of a companion split, in document order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceFiles {
    pub runs: Vec<Run>,
    /// The source's definition from the table's log, from which a lost log can be rebuilt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Value>,
}

impl Sidecar {
    pub fn new(layout: Layout, rows: u64, columns: Vec<SidecarColumn>) -> Self {
        let writer = crate::WRITER.to_owned();
        let version = PLAIN_VERSION;
        let (checksums, blocks) = (BTreeMap::new(), BTreeMap::new());
        Self { version, writer, layout, rows, columns, source: None, checksums, blocks }
    }

    pub fn column(&self, name: &str) -> Option<&SidecarColumn> {
        self.columns.iter().find(|column| column.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_have_the_names_of_the_specification() {
        let names = [
            (Encoding::DecimalI64, "decimal_i64"),
            (Encoding::DecimalBytes, "decimal_bytes"),
            (Encoding::I64, "i64"),
            (Encoding::F64, "f64"),
            (Encoding::F64Decimal, "f64_decimal"),
            (Encoding::DaysI64, "days_i64"),
            (Encoding::MicrosI64, "micros_i64"),
            (Encoding::DurationI64, "duration_i64"),
            (Encoding::String, "string"),
            (Encoding::StringBytes, "string_bytes"),
        ];
        for (encoding, name) in names {
            assert_eq!(serde_json::to_value(encoding).ok(), Some(Value::from(name)));
        }
    }
}
