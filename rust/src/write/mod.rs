//! Arrow batches to a split.
