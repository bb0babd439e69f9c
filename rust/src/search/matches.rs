//! The live documents that a query finds, segment by segment, in blocks.

use std::sync::Arc;

use tantivy::COLLECT_BLOCK_BUFFER_LEN;
use tantivy::query::{Scorer, Weight};

use crate::error::Result;
use crate::open::{Split, is_alive};

/// Goes through the matches of one segment.
pub struct Matches {
    split: Arc<Split>,
    segment: usize,
    source: Source,
}

enum Source {
    /// Every document that lives, from here on.
    All(u32),
    Found {
        scorer: Box<dyn Scorer>,
        ahead: Box<Ahead>,
    },
}

/// Documents that were taken from a scorer at once and not returned yet.
struct Ahead {
    docs: [u32; COLLECT_BLOCK_BUFFER_LEN],
    at: usize,
    len: usize,
    ended: bool,
}

impl Ahead {
    fn next_docs(&mut self, scorer: &mut dyn Scorer) -> &[u32] {
        if self.at == self.len && !self.ended {
            self.len = scorer.fill_buffer(&mut self.docs);
            self.at = 0;
            self.ended = self.len < self.docs.len();
        }
        &self.docs[self.at..self.len]
    }
}

impl Matches {
    /// `weight` is nothing when every document matches.
    pub fn new(split: &Arc<Split>, segment: usize, weight: Option<&dyn Weight>) -> Result<Matches> {
        let source = match weight {
            None => Source::All(0),
            Some(weight) => {
                let scorer = weight.scorer(&split.segments[segment].reader, 1.0)?;
                let docs = [0; COLLECT_BLOCK_BUFFER_LEN];
                Source::Found {
                    scorer,
                    ahead: Box::new(Ahead { docs, at: 0, len: 0, ended: false }),
                }
            }
        };
        Ok(Matches { split: split.clone(), segment, source })
    }

    /// An upper bound of the remaining documents.
    pub fn size_hint(&self) -> usize {
        match &self.source {
            Source::All(_) => self.split.segments[self.segment].reader.num_docs() as usize,
            Source::Found { scorer, .. } => scorer.size_hint() as usize,
        }
    }

    /// Adds up to `wanted` documents to `docs`; fewer only at the end.
    pub fn fill(&mut self, docs: &mut Vec<u32>, wanted: usize) {
        let segment = &self.split.segments[self.segment];
        let max_doc = segment.reader.max_doc();
        let goal = docs.len() + wanted;
        let alive = segment.alive.as_deref();
        match &mut self.source {
            Source::All(next) => match alive {
                None => {
                    let end = max_doc.min(next.saturating_add(wanted.min(1 << 31) as u32));
                    docs.extend(*next..end);
                    *next = end;
                }
                Some(words) => fill_alive(docs, goal, words, next, max_doc),
            },
            Source::Found { scorer, ahead } => {
                while docs.len() < goal {
                    let found = ahead.next_docs(scorer.as_mut());
                    if found.is_empty() {
                        break;
                    }
                    let taken = found.len().min(goal - docs.len());
                    match alive {
                        None => docs.extend_from_slice(&found[..taken]),
                        Some(words) => {
                            docs.extend(found[..taken].iter().filter(|&&doc| is_alive(words, doc)))
                        }
                    }
                    ahead.at += taken;
                }
            }
        }
    }
}

/// Living documents from `next` on, word by word.
fn fill_alive(docs: &mut Vec<u32>, goal: usize, words: &[u64], next: &mut u32, max_doc: u32) {
    while docs.len() < goal && *next < max_doc {
        let base = *next & !63;
        let mut word = words[(*next >> 6) as usize] & (u64::MAX << (*next & 63));
        *next = base + 64;
        while word != 0 {
            let doc = base + word.trailing_zeros();
            if docs.len() == goal {
                *next = doc;
                break;
            }
            docs.push(doc);
            word &= word - 1;
        }
    }
}
