//! Words near each other: the definition of a phrase, for postings and for rows without an index.

use std::sync::Arc;

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::Query;
use tantivy::schema::IndexRecordOption;
use tantivy::{BitSet, DocId, DocSet, SegmentReader, TERMINATED, Term};

use super::scan::FunctionQuery;
use crate::error::Result;
use crate::open::Split;

/// Whether some positions of the words of a phrase, one of each, are as in the phrase, with at most `slop`
/// moves in total. `places` are the positions at which each word would start the phrase, ascending.
pub fn are_near(places: &[Vec<i64>], slop: u32) -> bool {
    let Some((first, rest)) = places.split_first() else {
        return false;
    };
    // where the phrase so far may start, and the moves it took
    let mut reached: Vec<(i64, i64)> = first.iter().map(|place| (*place, 0)).collect();
    for places in rest {
        let cost = |place: i64| reached.iter().map(|(at, moves)| moves + (place - at).abs()).min();
        let next = places.iter().filter_map(|place| {
            let moves = cost(*place)?;
            (moves <= i64::from(slop)).then_some((*place, moves))
        });
        reached = next.collect();
    }
    !reached.is_empty()
}

/// A phrase of three words or more with slop, for which tantivy's result depends on the order of its postings.
pub fn near_words(split: &Arc<Split>, terms: Vec<(usize, Term)>, slop: u32) -> Box<dyn Query> {
    FunctionQuery::boxed(split, move |split, at| {
        let reader = &split.segments[at].reader;
        let words = terms.iter().map(|(offset, term)| Word::new(reader, *offset, term));
        find(reader, words.collect::<Result<_>>()?, slop)
    })
}

/// A phrase whose last word is a prefix, where the last word does not lie right behind the others: tantivy expects it there.
pub fn before_prefix(split: &Arc<Split>, terms: Vec<(usize, Term)>) -> Box<dyn Query> {
    FunctionQuery::boxed(split, move |split, at| {
        let reader = &split.segments[at].reader;
        let Some(((offset, prefix), terms)) = terms.split_last() else {
            return Ok(BitSet::with_max_value(reader.max_doc()));
        };
        let words = terms.iter().map(|(offset, term)| Word::new(reader, *offset, term));
        let mut words = words.collect::<Result<Vec<_>>>()?;
        words.push(Word::with_prefix(reader, *offset, prefix)?);
        find(reader, words, 0)
    })
}

/// A word of a phrase: the postings of all terms that it may be.
struct Word {
    offset: i64,
    terms: Vec<SegmentPostings>,
}

impl Word {
    fn new(reader: &SegmentReader, offset: usize, term: &Term) -> Result<Word> {
        let index = reader.inverted_index(term.field())?;
        let found = index.read_postings(term, IndexRecordOption::WithFreqsAndPositions)?;
        Ok(Word { offset: offset as i64, terms: found.into_iter().collect() })
    }

    fn with_prefix(reader: &SegmentReader, offset: usize, prefix: &Term) -> Result<Word> {
        let index = reader.inverted_index(prefix.field())?;
        let start = prefix.serialized_value_bytes();
        let mut found = index.terms().range().ge(start).into_stream()?;
        let mut terms = Vec::new();
        while found.advance() && found.key().starts_with(start) {
            let record = IndexRecordOption::WithFreqsAndPositions;
            terms.push(index.read_postings_from_terminfo(found.value(), record)?);
        }
        Ok(Word { offset: offset as i64, terms })
    }

    /// The first row from this one on that has the word.
    fn seek(&mut self, doc: DocId) -> DocId {
        let docs = self.terms.iter_mut().map(|term| match term.doc() {
            before if before < doc => term.seek(doc),
            there => there,
        });
        docs.min().unwrap_or(TERMINATED)
    }

    /// Where a phrase with this word would begin in the current row.
    fn places(&mut self, doc: DocId, buffer: &mut Vec<u32>) -> Vec<i64> {
        let mut places = Vec::new();
        for term in self.terms.iter_mut().filter(|term| term.doc() == doc) {
            term.positions(buffer);
            places.extend(buffer.iter().map(|position| i64::from(*position) - self.offset));
        }
        places.sort_unstable();
        places
    }
}

fn find(reader: &SegmentReader, mut words: Vec<Word>, slop: u32) -> Result<BitSet> {
    let mut found = BitSet::with_max_value(reader.max_doc());
    let mut positions = Vec::new();
    let mut doc = 0;
    'docs: while doc != TERMINATED {
        for word in &mut words {
            let next = word.seek(doc);
            if next != doc {
                doc = next;
                continue 'docs;
            }
        }
        let places: Vec<Vec<i64>> =
            words.iter_mut().map(|word| word.places(doc, &mut positions)).collect();
        if are_near(&places, slop) {
            found.insert(doc);
        }
        doc += 1;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_add_up_over_the_words() {
        assert!(are_near(&[vec![0], vec![0], vec![0]], 0));
        assert!(!are_near(&[vec![0], vec![1], vec![0]], 1));
        assert!(are_near(&[vec![0], vec![1], vec![0]], 2));
        assert!(are_near(&[vec![5], vec![1, 4], vec![4]], 1));
        assert!(!are_near(&[vec![], vec![1]], 9));
    }
}
