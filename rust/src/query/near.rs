//! Words near each other: the definition of a phrase, for postings and for rows without an index.

use std::sync::Arc;

use tantivy::postings::Postings;
use tantivy::query::Query;
use tantivy::schema::IndexRecordOption;
use tantivy::{BitSet, DocSet, TERMINATED, Term};

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
    FunctionQuery::boxed(split, move |split, at| find(split, at, &terms, slop))
}

fn find(split: &Split, at: usize, terms: &[(usize, Term)], slop: u32) -> Result<BitSet> {
    let reader = &split.segments[at].reader;
    let mut found = BitSet::with_max_value(reader.max_doc());
    let mut words = Vec::with_capacity(terms.len());
    for (offset, term) in terms {
        let index = reader.inverted_index(term.field())?;
        match index.read_postings(term, IndexRecordOption::WithFreqsAndPositions)? {
            Some(postings) => words.push((*offset as i64, postings)),
            None => return Ok(found),
        }
    }
    let mut positions = Vec::new();
    let mut doc = 0;
    'docs: while doc != TERMINATED {
        for (_, postings) in &mut words {
            let next = if postings.doc() < doc { postings.seek(doc) } else { postings.doc() };
            if next != doc {
                doc = next;
                continue 'docs;
            }
        }
        let places: Vec<Vec<i64>> = words
            .iter_mut()
            .map(|(offset, postings)| {
                postings.positions(&mut positions);
                positions.iter().map(|position| i64::from(*position) - *offset).collect()
            })
            .collect();
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
