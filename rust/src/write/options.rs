//! Options of the caller, per field and for the whole split.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use tantivy::schema::IndexRecordOption;
use tantivy::store::{Compressor, ZstdCompressor};

use crate::error::{EngineError, Result};
use crate::source::Identity;
use crate::split::Layout;
use crate::tokenizer::{self, DEFAULT_TOKEN_LENGTH, MAX_TOKEN_LENGTH};

/// What a string column is used for; `auto` follows the column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    #[default]
    Auto,
    String,
    Text,
    Json,
    Ip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Record {
    Basic,
    Freq,
    Position,
}

impl From<Record> for IndexRecordOption {
    fn from(record: Record) -> Self {
        match record {
            Record::Basic => Self::Basic,
            Record::Freq => Self::WithFreqs,
            Record::Position => Self::WithFreqsAndPositions,
        }
    }
}

/// `full` indexes every path of a JSON value and makes it a fast column; `minimal` only indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JsonMode {
    Full,
    Minimal,
}

/// Options of one column; defaults follow from the role and the layout.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldSpec {
    pub name: String,
    #[serde(default)]
    pub role: Role,
    pub tokenizer: Option<String>,
    pub record: Option<Record>,
    pub token_length: Option<usize>,
    pub fast: Option<bool>,
    pub stored: Option<bool>,
    pub indexed: Option<bool>,
    pub stats: Option<bool>,
    pub json_mode: Option<JsonMode>,
    /// Also index the trigrams of a string column, to find substrings.
    #[serde(default)]
    pub trigrams: bool,
    /// For a companion: the values are also stored in the split.
    pub kept: Option<bool>,
    /// For a companion: the address of the column in the source files.
    pub address: Option<Identity>,
}

impl FieldSpec {
    /// The tokenizer's name in the schema, checked.
    pub fn tokenizer(&self, default: &str) -> Result<String> {
        let limit = self.token_length.unwrap_or(DEFAULT_TOKEN_LENGTH);
        if limit == 0 || limit > MAX_TOKEN_LENGTH {
            let allowed = format!("a number from 1 to {MAX_TOKEN_LENGTH}");
            return Err(EngineError::bad_option("indexing.tokenlength", limit, allowed));
        }
        let name = tokenizer::full_name(self.tokenizer.as_deref().unwrap_or(default), limit);
        tokenizer::analyzer(&name)?;
        Ok(name)
    }
}

/// Choices for a whole split.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WriteOptions {
    pub layout: Layout,
    /// The writer asks for a new split when it holds more than this.
    pub heap_bytes: usize,
    pub temp_dir: Option<PathBuf>,
    pub store_compression: Option<String>,
    pub store_block_bytes: Option<usize>,
    /// Longest text kept as minimum or maximum, in characters.
    pub stats_length: usize,
    /// Use encodings that fit all values: no batch is rejected.
    pub any_value: bool,
    /// For a companion: the source's definition from the log, stored in the sidecar.
    pub source_table: Option<Value>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            layout: Layout::default(),
            heap_bytes: 256 << 20,
            temp_dir: None,
            store_compression: None,
            store_block_bytes: None,
            stats_length: 32,
            any_value: false,
            source_table: None,
        }
    }
}

impl WriteOptions {
    pub fn from_value(value: Value) -> Result<Self> {
        let shown = value.to_string();
        serde_json::from_value(value)
            .map_err(|e| EngineError::bad_option("writer options", shown, e.to_string()))
    }

    pub fn compressor(&self) -> Result<Compressor> {
        let default = match self.layout {
            Layout::Compatible => "lz4",
            Layout::Lean | Layout::Companion => "zstd:1",
        };
        let name = self.store_compression.as_deref().unwrap_or(default);
        let zstd = |level| Ok(Compressor::Zstd(ZstdCompressor { compression_level: level }));
        match name.split_once(':') {
            None if name == "none" => Ok(Compressor::None),
            None if name == "lz4" => Ok(Compressor::Lz4),
            None if name == "zstd" => zstd(None),
            Some(("zstd", level)) if level.parse().is_ok_and(|level| (1..=22).contains(&level)) => {
                zstd(level.parse().ok())
            }
            _ => Err(EngineError::bad_option(
                "store_compression",
                name,
                "none, lz4, zstd or zstd:<level from 1 to 22>",
            )),
        }
    }

    pub fn block_bytes(&self) -> usize {
        self.store_block_bytes.unwrap_or(match self.layout {
            Layout::Compatible => 16 << 10,
            Layout::Lean | Layout::Companion => 64 << 10,
        })
    }
}

/// The field specifications in a list.
pub fn field_specs(value: Value) -> Result<Vec<FieldSpec>> {
    let shown = value.to_string();
    serde_json::from_value(value)
        .map_err(|e| EngineError::bad_option("field specifications", shown, e.to_string()))
}
