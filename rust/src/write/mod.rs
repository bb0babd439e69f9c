//! Arrow batches to a split.

mod bounds;
mod column;
mod nested;
mod options;
mod row;
mod schema;
mod scratch;
#[cfg(test)]
mod tests;
mod writer;

pub use bounds::Bounds;
pub use column::{Facts, LONGEST_TERM, ordered_bytes, render_address};
pub use options::{FieldSpec, JsonMode, Record, Role, WriteOptions, parse_fields};
pub use schema::doc_mapping;
pub use scratch::Scratch;
pub use writer::{ColumnInfo, FinishedSplit, SplitInfo, SplitWriter};
