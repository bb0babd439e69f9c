//! Arrow batches to a split.

mod bounds;
mod column;
mod doc_mapping;
mod narrow;
mod nested;
mod options;
mod row;
mod schema;
mod scratch;
mod segment;
#[cfg(test)]
mod tests;
mod writer;

pub use bounds::Bounds;
pub use column::{Facts, LONGEST_TERM, render_address};
pub use doc_mapping::doc_mapping;
pub use narrow::widen_floats;
pub use options::{FieldSpec, JsonMode, Record, Role, WriteOptions, field_specs};
pub use scratch::Scratch;
pub use segment::{ColumnInfo, FinishedSegment, SplitInfo, forget_documents};
pub use writer::SplitWriter;
