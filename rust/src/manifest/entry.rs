//! The fields of a manifest's record `FileEntry`, by name.

use arrow::datatypes::DataType;

use crate::manifest::columns::{list_type, map_type, runs_type, vector_type};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Map,
    Long,
    Int,
    Flag,
    List,
    Vector,
    Runs,
}

impl From<Kind> for DataType {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Utf8,
            Kind::Map => map_type(),
            Kind::Long => Self::Int64,
            Kind::Int => Self::Int32,
            Kind::Flag => Self::Boolean,
            Kind::List => list_type(),
            Kind::Vector => vector_type(),
            Kind::Runs => runs_type(),
        }
    }
}

impl Kind {
    fn avro(self) -> &'static str {
        match self {
            Self::Text => "\"string\"",
            Self::Map => r#"{"type":"map","values":"string"}"#,
            Self::Long => "\"long\"",
            Self::Int => "\"int\"",
            Self::Flag => "\"boolean\"",
            Self::List => r#"{"type":"array","items":"string"}"#,
            Self::Vector => {
                r#"{"type":"record","name":"DeletionVector","fields":[{"name":"file","type":"string"},{"name":"offset","type":"long"},{"name":"length","type":"long"},{"name":"cardinality","type":"long"}]}"#
            }
            Self::Runs => {
                r#"{"type":"array","items":{"type":"record","name":"CompanionRun","fields":[{"name":"file","type":"long"},{"name":"row","type":"long"},{"name":"rows","type":"long"},{"name":"fileRows","type":"long"},{"name":"size","type":"long"},{"name":"stamp","type":["null","string"],"default":null}]}}"#
            }
        }
    }
}

/// Name, kind, whether every entry has a value, field id. The ids of the documented fields are those of the
/// protocol; no reader uses them.
pub const COLUMNS: [(&str, Kind, bool, u32); 28] = [
    ("path", Kind::Text, true, 100),
    ("partitionValues", Kind::Map, true, 101),
    ("size", Kind::Long, true, 102),
    ("modificationTime", Kind::Long, true, 103),
    ("dataChange", Kind::Flag, true, 104),
    ("stats", Kind::Text, false, 110),
    ("minValues", Kind::Map, false, 111),
    ("maxValues", Kind::Map, false, 112),
    ("numRecords", Kind::Long, false, 113),
    ("footerStartOffset", Kind::Long, false, 120),
    ("footerEndOffset", Kind::Long, false, 121),
    ("hasFooterOffsets", Kind::Flag, true, 122),
    ("deleteOpstamp", Kind::Long, false, 123),
    ("splitTags", Kind::List, false, 130),
    ("numMergeOps", Kind::Int, false, 131),
    ("docMappingJson", Kind::Text, false, 134),
    ("docMappingRef", Kind::Text, false, 132),
    ("uncompressedSizeBytes", Kind::Long, false, 133),
    ("timeRangeStart", Kind::Text, false, 137),
    ("timeRangeEnd", Kind::Text, false, 138),
    ("addedAtVersion", Kind::Long, true, 140),
    ("addedAtTimestamp", Kind::Long, true, 141),
    ("companionSourceFiles", Kind::List, false, 150),
    ("companionDeltaVersion", Kind::Long, false, 151),
    ("companionFastFieldMode", Kind::Text, false, 152),
    ("companionRuns", Kind::Runs, false, 153),
    ("deletionVector", Kind::Vector, false, 160),
    ("extra", Kind::Text, false, 161),
];

/// The position of the column that holds members of an entry that have no column, as JSON.
pub const EXTRA: usize = COLUMNS.len() - 1;

/// Columns that only this implementation writes, and only if an entry has a value.
pub fn is_addition(name: &str) -> bool {
    matches!(name, "companionRuns" | "deletionVector" | "extra")
}

/// The Avro schema of entries with these columns.
pub fn avro_schema(wanted: &[usize]) -> String {
    let fields: Vec<String> = wanted
        .iter()
        .map(|at| {
            let (name, kind, required, id) = COLUMNS[*at];
            let kind = kind.avro();
            if name == "hasFooterOffsets" {
                format!(r#"{{"name":"{name}","type":{kind},"default":false,"field-id":{id}}}"#)
            } else if required {
                format!(r#"{{"name":"{name}","type":{kind},"field-id":{id}}}"#)
            } else {
                format!(
                    r#"{{"name":"{name}","type":["null",{kind}],"default":null,"field-id":{id}}}"#
                )
            }
        })
        .collect();
    format!(
        r#"{{"type":"record","name":"FileEntry","namespace":"io.indextables.spark.transaction.avro","fields":[{}]}}"#,
        fields.join(",")
    )
}
