//! Object stores and local disk.
