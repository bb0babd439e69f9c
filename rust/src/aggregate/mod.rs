//! Exact aggregation over the columns of a split.
