//! Arrow batches to a split.

mod bounds;
mod column;
mod doc_mapping;
mod finished;
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
pub use doc_mapping::doc_mapping;
pub use finished::{ColumnInfo, Finished, SplitInfo, forget_documents};
pub use options::{FieldSpec, JsonMode, Record, Role, WriteOptions, field_specs};
pub use scratch::Scratch;
pub use writer::SplitWriter;
