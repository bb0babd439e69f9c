//! Avro manifests of the log as Arrow batches.
