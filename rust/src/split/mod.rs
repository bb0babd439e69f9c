//! The split file: bundle, hotcache and sidecar.
