//! Queries of our own: a function per segment that finds its documents.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use tantivy::query::{
    BitSetDocSet, ConstScoreQuery, ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight,
};
use tantivy::{BitSet, DocId, Score, SegmentReader, TantivyError};

use super::members;
use super::test::{Leaf, Test};
use crate::columns::stored_value::{Cursor, Stored};
use crate::columns::{BlockReader, Docs, SegmentColumns};
use crate::error::{EngineError, Result};
use crate::open::{Column, Segment, Split, is_alive};
use crate::split::Encoding;
use crate::texts::{TEXT, bytes_of};

type Find = dyn Fn(&Arc<Split>, usize) -> Result<BitSet> + Send + Sync;

/// A query answered by a function, once per segment.
#[derive(Clone)]
pub struct FunctionQuery {
    split: Arc<Split>,
    find: Arc<Find>,
}

impl FunctionQuery {
    pub fn boxed(
        split: &Arc<Split>,
        find: impl Fn(&Arc<Split>, usize) -> Result<BitSet> + Send + Sync + 'static,
    ) -> Box<dyn Query> {
        Box::new(FunctionQuery { split: split.clone(), find: Arc::new(find) })
    }
}

impl fmt::Debug for FunctionQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FunctionQuery")
    }
}

impl Query for FunctionQuery {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(FunctionWeight(self.clone())))
    }
}

struct FunctionWeight(FunctionQuery);

impl Weight for FunctionWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let split = &self.0.split;
        let at = split.segments.iter().position(|s| s.reader.segment_id() == reader.segment_id());
        let at = at.ok_or_else(|| TantivyError::InternalError("a foreign segment".to_owned()))?;
        let found = (self.0.find)(split, at).map_err(std::io::Error::from)?;
        Ok(Box::new(ConstScorer::new(BitSetDocSet::from(found), boost)))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let mut scorer = self.scorer(reader, 1.0)?;
        if scorer.seek(doc) == doc {
            Ok(Explanation::new("FunctionQuery", 1.0))
        } else {
            Err(TantivyError::InvalidArgument(format!("document {doc} does not match")))
        }
    }
}

/// All documents but those that a query finds; they give no points.
pub fn all_but(split: &Arc<Split>, query: Box<dyn Query>) -> Box<dyn Query> {
    let others = FunctionQuery::boxed(split, move |split, at| {
        let reader = &split.segments[at].reader;
        let mut left = BitSet::with_max_value_and_full(reader.max_doc());
        let weight = query.weight(EnableScoring::disabled_from_schema(&split.schema))?;
        weight.for_each_no_score(reader, &mut |found| {
            found.iter().for_each(|doc| left.remove(*doc));
        })?;
        Ok(left)
    });
    Box::new(ConstScoreQuery::new(others, 0.0))
}

/// Documents among which to look: all, or those another query finds.
pub fn candidates(split: &Split, at: usize, among: Option<&dyn Query>) -> Result<Option<Vec<u32>>> {
    let Some(query) = among else {
        return Ok(living(split, at, None));
    };
    let weight = query.weight(EnableScoring::disabled_from_schema(&split.schema))?;
    let mut docs = Vec::new();
    weight.for_each_no_score(&split.segments[at].reader, &mut |found| {
        docs.extend_from_slice(found);
    })?;
    Ok(living(split, at, Some(docs)))
}

/// Those of some documents, or of all, whose values may be read. Hidden rows of a companion are left out:
/// their file may be gone.
fn living(split: &Split, at: usize, docs: Option<Vec<u32>>) -> Option<Vec<u32>> {
    let segment = &split.segments[at];
    let (Some(words), Some(_)) = (segment.alive.as_deref(), &split.source) else {
        return docs;
    };
    let alive = |doc: &u32| is_alive(words, *doc);
    Some(match docs {
        Some(docs) => docs.into_iter().filter(alive).collect(),
        None => (0..segment.reader.max_doc()).filter(alive).collect(),
    })
}

const CHUNK: usize = 8192;

/// Runs `visit` over chunks of the candidate documents.
pub fn for_each_chunk(
    max_doc: u32,
    among: Option<&[u32]>,
    mut visit: impl FnMut(&Docs<'_>) -> Result<()>,
) -> Result<()> {
    match among {
        Some(list) => list.chunks(CHUNK).try_for_each(|chunk| visit(&Docs::of(chunk))),
        None => (0..max_doc)
            .step_by(CHUNK)
            .try_for_each(|start| visit(&Docs::Range(start..max_doc.min(start + CHUNK as u32)))),
    }
}

/// Checks every candidate's value of a column, wherever the value lies.
pub fn scan_column(
    split: &Arc<Split>,
    column: &Column,
    test: Test,
    among: Option<Box<dyn Query>>,
) -> Box<dyn Query> {
    let field = Field::new(&column.name, scan_type(column), true);
    let schema: SchemaRef = Arc::new(Schema::new(vec![field]));
    FunctionQuery::boxed(split, move |split, at| {
        let max_doc = split.segments[at].reader.max_doc();
        let mut found = BitSet::with_max_value(max_doc);
        let list = candidates(split, at, among.as_deref())?;
        let mut columns = SegmentColumns::open(split, at, schema.clone(), max_doc as usize)?;
        for_each_chunk(max_doc, list.as_deref(), |docs| {
            let arrays = columns.read(docs)?;
            for (row, hit) in test.check(&arrays[0])?.into_iter().enumerate() {
                if hit {
                    found.insert(docs.get(row));
                }
            }
            Ok(())
        })?;
        Ok(found)
    })
}

/// Nested columns are only tested for null, which their text shows.
fn scan_type(column: &Column) -> DataType {
    if column.is_json() && !column.outside { TEXT } else { column.data_type.clone() }
}

/// Adds those of some documents whose string passes, read from wherever it is whole.
pub fn check_docs(
    split: &Arc<Split>,
    at: usize,
    column: &Column,
    docs: &[u32],
    passes: impl Fn(&[u8]) -> bool,
    found: &mut BitSet,
) -> Result<()> {
    let schema = Arc::new(Schema::new(vec![Field::new(&column.name, TEXT, true)]));
    let mut columns = SegmentColumns::open(split, at, schema, docs.len())?;
    let docs = living(split, at, Some(docs.to_vec())).unwrap_or_default();
    for chunk in docs.chunks(CHUNK) {
        let arrays = columns.read(&Docs::of(chunk))?;
        for (&doc, text) in chunk.iter().zip(bytes_of(&arrays[0])?.iter()) {
            if text.is_some_and(&passes) {
                found.insert(doc);
            }
        }
    }
    Ok(())
}

/// The same as `scan_path` for a column that is read from the source.
fn scan_outside(
    split: &Arc<Split>,
    column: &Column,
    path: Vec<String>,
    leaf: Leaf,
    test: Test,
) -> Box<dyn Query> {
    let field = Field::new(&column.name, column.data_type.clone(), true);
    let schema: SchemaRef = Arc::new(Schema::new(vec![field]));
    let is_json = column.encoding == Encoding::Json;
    FunctionQuery::boxed(split, move |split, at| {
        let max_doc = split.segments[at].reader.max_doc();
        let mut found = BitSet::with_max_value(max_doc);
        let mut columns = SegmentColumns::open(split, at, schema.clone(), max_doc as usize)?;
        let living = living(split, at, None);
        for_each_chunk(max_doc, living.as_deref(), |docs| {
            let arrays = columns.read(docs)?;
            let hits = if is_json {
                members::of_texts(&arrays[0], &path, &test, &leaf)?
            } else {
                members::of_values(&arrays[0], &path, &test)?
            };
            for (row, _) in hits.into_iter().enumerate().filter(|(_, hit)| *hit) {
                found.insert(docs.get(row));
            }
            Ok(())
        })?;
        Ok(found)
    })
}

/// Checks the values at a path inside a stored JSON column; in arrays, any element may pass.
pub fn scan_path(
    split: &Arc<Split>,
    column: &Column,
    path: Vec<String>,
    leaf: Leaf,
    test: Test,
) -> Box<dyn Query> {
    if column.outside && !column.stored {
        return scan_outside(split, column, path, leaf, test);
    }
    let field = column.field.field_id();
    FunctionQuery::boxed(split, move |split, at| {
        let segment: &Segment = &split.segments[at];
        let max_doc = segment.reader.max_doc();
        let mut found = BitSet::with_max_value(max_doc);
        let mut blocks = BlockReader::new(segment.doc_store()?, split.directory.clone());
        let mut doc = 0;
        blocks.read(&Docs::Range(0..max_doc), |document| {
            if let Some(value) = field_value(document, field)?
                && holds(value, &path, &test, &leaf)?
            {
                found.insert(doc);
            }
            doc += 1;
            Ok(())
        })?;
        Ok(found)
    })
}

/// The first stored value of a field.
pub fn field_value(document: &[u8], field: u32) -> Result<Option<Stored<'_>>> {
    let mut cursor = Cursor::new(document);
    let mut find = || -> Option<Option<Stored<'_>>> {
        for _ in 0..cursor.vint()? {
            if cursor.field()? == field {
                return cursor.value().map(Some);
            }
            cursor.skip()?;
        }
        Some(None)
    };
    find().ok_or_else(|| EngineError::corrupt("", "a stored document does not parse"))
}

fn holds(value: Stored<'_>, path: &[String], test: &Test, leaf: &Leaf) -> Result<bool> {
    match (value, path) {
        (Stored::Array(items), _) => {
            for item in items {
                if holds(item, path, test, leaf)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        (Stored::Object(mut members), [first, rest @ ..]) if first == super::ANY_MEMBER => {
            match members.next() {
                Some((_, value)) => holds(value, rest, test, leaf),
                None => Ok(false),
            }
        }
        (Stored::Object(mut members), [first, rest @ ..]) => {
            match members.find(|(name, _)| name == first) {
                Some((_, value)) => holds(value, rest, test, leaf),
                None => Ok(false),
            }
        }
        (Stored::Object(_), []) => Ok(matches!(test, Test::Exists)),
        (_, [_, ..]) => Ok(false),
        (value, []) => test.check_stored(value, leaf),
    }
}
