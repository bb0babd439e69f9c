//! Several splits to one.
