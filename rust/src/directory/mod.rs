//! Opening a split and reading its files from a store.
