//! The split engine: Arrow batches in, search splits out, and back.
