//! Fetches everything that a query of several terms needs from a remote split at once.

use tantivy::query::Query;
use tantivy::schema::IndexRecordOption;
use tantivy::{SegmentReader, Term};

use crate::cancel::Cancel;
use crate::open::Split;

/// Requests in flight.
const PARALLEL: usize = 8;

/// Reads the postings of every term of the query into the split's memory. A failure is ignored: the query
/// itself meets it again and reports it.
pub fn fetch_terms(split: &Split, query: &dyn Query) {
    if !split.directory.is_remote() {
        return;
    }
    let mut terms: Vec<(Term, bool)> = Vec::new();
    query.query_terms(&mut |term, positions| terms.push((term.clone(), positions)));
    terms.sort_unstable();
    terms.dedup();
    // one term costs as many requests with and without this, and its count needs no postings
    if terms.len() < 2 {
        return;
    }
    for segment in &split.segments {
        for few in terms.chunks(PARALLEL) {
            std::thread::scope(|scope| {
                for (term, positions) in few {
                    let cancel = Cancel::current();
                    scope.spawn(|| {
                        Cancel::during(cancel, || fetch_term(&segment.reader, term, *positions))
                    });
                }
            });
        }
    }
}

fn fetch_term(reader: &SegmentReader, term: &Term, positions: bool) -> Option<()> {
    let index = reader.inverted_index(term.field()).ok()?;
    let info = index.get_term_info(term).ok()??;
    let record =
        if positions { IndexRecordOption::WithFreqsAndPositions } else { IndexRecordOption::Basic };
    index.read_postings_from_terminfo(&info, record).ok().map(|_| ())
}
