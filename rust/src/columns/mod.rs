//! Values of a split as Arrow columns.
