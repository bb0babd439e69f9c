//! The query tree and the query language.
