//! Finding rows of a split.
