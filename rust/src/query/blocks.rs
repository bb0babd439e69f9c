//! Rows whose stored values match a pattern, searched in whole blocks of the document store: rows of a block
//! without the needle are not read.

use std::sync::Arc;

use regex::bytes::Regex;
use tantivy::BitSet;
use tantivy::query::Query;

use super::dictionary::Pattern;
use super::needles::longest_needle;
use super::scan::{FunctionQuery, field_value, for_each_chunk};
use super::tree::Node;
use crate::columns::BlockReader;
use crate::columns::stored_value::Stored;
use crate::error::Result;
use crate::open::{Column, Split};
use crate::split::Encoding;

/// Finds a needle of a pattern in the bytes of rows.
pub struct Finder(Regex);

impl Finder {
    /// Where every value of the column is in the document store as it was written, and every match has a needle.
    pub fn of(column: &Column, node: &Node) -> Option<Finder> {
        let ours = column.nulls.is_some() && !column.outside;
        let whole = column.encoding == Encoding::Text && column.stored && column.source.is_none();
        if !ours || !whole {
            return None;
        }
        let built = match (node, longest_needle(node)?) {
            // a plain string that is in a value is also in the bytes around it
            (Node::Regex { pattern, .. }, _) => Regex::new(pattern).ok(),
            (_, needle) => Pattern::bytes_regex(needle.text.as_bytes()).ok(),
        };
        built.map(Finder)
    }

    /// The rows whose values pass.
    pub fn matching(self, split: &Arc<Split>, column: &Column, pattern: Pattern) -> Box<dyn Query> {
        let field = column.field.field_id();
        FunctionQuery::boxed(split, move |split, at| {
            let mut found = BitSet::with_max_value(split.segments[at].reader.max_doc());
            self.search(split, at, field, None, &pattern, &mut found)?;
            Ok(found)
        })
    }

    /// Adds those of some documents, or of all, whose values of a field pass.
    pub fn search(
        &self,
        split: &Split,
        at: usize,
        field: u32,
        among: Option<&[u32]>,
        pattern: &Pattern,
        found: &mut BitSet,
    ) -> Result<()> {
        let segment = &split.segments[at];
        let mut blocks = BlockReader::new(segment.doc_store()?, split.directory.clone());
        let find = |bytes: &[u8]| self.0.find(bytes).map(|hit| hit.start());
        for_each_chunk(segment.reader.max_doc(), among, |docs| {
            blocks.search(docs, find, |doc, document| {
                if let Some(Stored::Str(text)) = field_value(document, field)?
                    && pattern.matches(text.as_bytes())
                {
                    found.insert(doc);
                }
                Ok(())
            })
        })
    }
}
