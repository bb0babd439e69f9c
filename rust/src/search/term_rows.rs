//! The number of rows that have a term, read from the block of the dictionary that has it.
//!
//! tantivy decodes where the postings of all terms of a block are in order to return those of one, with a
//! decompressor of its own. A count needs one number.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::ops::Bound;

use tantivy::{HasLen, SegmentReader, Term};
use zstd::bulk::Decompressor;

use crate::error::Result;
use crate::unzstd::unzstd;

/// Blocks hold about 4,000 bytes of keys. tantivy reads those that are much larger.
const MAX_BLOCK: usize = 1 << 20;
/// In front of a key: the lengths that follow do not fit into half a byte each.
const LONG: u8 = 1;
/// Numbers of a term: rows, bytes of postings, bytes of positions.
const NUMBERS: usize = 3;

thread_local! {
    static BLOCK: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Rows that have a term, deleted ones included.
pub fn term_rows(reader: &SegmentReader, term: &Term) -> Result<u32> {
    let index = reader.inverted_index(term.field())?;
    let key = term.serialized_value_bytes();
    let only = (Bound::Included(key), Bound::Included(key));
    let block = index.terms().file_slice_for_range(only, None);
    if block.is_empty() {
        return Ok(0); // it is behind the last one
    }
    let bytes = block.read_bytes()?;
    match BLOCK.with_borrow_mut(|buffer| rows_in(&bytes, key, buffer)) {
        Some(rows) => Ok(rows),
        // not a block as it should be: tantivy says why
        None => Ok(index.doc_freq(term)?),
    }
}

/// The rows of a key in a block; nothing if it does not look like one.
fn rows_in(block: &[u8], key: &[u8], buffer: &mut Vec<u8>) -> Option<u32> {
    let (len, rest) = block.split_first_chunk::<4>()?;
    let (codec, body) = rest.get(..u32::from_le_bytes(*len) as usize)?.split_first()?;
    let mut numbers = match codec {
        0 => body,
        1 => {
            let size = Decompressor::upper_bound(body).filter(|size| *size <= MAX_BLOCK)?;
            buffer.reserve(size);
            unzstd(body, buffer).ok()?;
            buffer
        }
        _ => return None,
    };
    let terms = usize::try_from(number(&mut numbers)?).ok()?;
    // where the postings and the positions of the first term begin
    let numbers = skip(numbers, 2)?;
    let keys = skip(numbers, terms.checked_mul(NUMBERS)?)?;
    match find(keys, key)? {
        Some(place) if place < terms => {
            u32::try_from(number(&mut skip(numbers, place * NUMBERS)?)?).ok()
        }
        Some(_) => None,
        None => Some(0),
    }
}

/// A number whose last byte has its highest bit set.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let end = bytes.iter().take(10).position(|byte| *byte >= 0x80)? + 1;
    let (own, rest) = bytes.split_at(end);
    *bytes = rest;
    Some(own.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f)))
}

/// What follows so many numbers.
fn skip(bytes: &[u8], count: usize) -> Option<&[u8]> {
    let (mut left, mut at) = (count, 0);
    for word in bytes.chunks_exact(8) {
        let ends = word.iter().filter(|byte| **byte >= 0x80).count();
        if ends >= left {
            break;
        }
        left -= ends;
        at += word.len();
    }
    while left > 0 {
        left -= usize::from(*bytes.get(at)? >= 0x80);
        at += 1;
    }
    Some(&bytes[at..])
}

/// The place of a key among keys that ascend, each written as the bytes in which it differs from the one before it.
/// The outer nothing: these are not keys.
fn find(mut keys: &[u8], wanted: &[u8]) -> Option<Option<usize>> {
    // `same`: bytes that the last key has in common with the wanted one
    let (mut place, mut same) = (0, 0);
    while let Some((first, rest)) = keys.split_first() {
        keys = rest;
        let (kept, added) = match *first {
            LONG => (length(&mut keys)?, length(&mut keys)?),
            few => (usize::from(few & 15), usize::from(few >> 4)),
        };
        let (suffix, rest) = keys.split_at_checked(added)?;
        keys = rest;
        match kept.cmp(&same) {
            Ordering::Less => return Some(None),
            Ordering::Greater => {}
            Ordering::Equal => {
                let more = suffix.iter().zip(&wanted[same..]).take_while(|(a, b)| a == b).count();
                same += more;
                match suffix[more..].cmp(&wanted[same..]) {
                    Ordering::Equal => return Some(Some(place)),
                    Ordering::Greater => return Some(None),
                    Ordering::Less => {}
                }
            }
        }
        place += 1;
    }
    Some(None)
}

/// A length whose bytes but the last have their highest bit set.
fn length(bytes: &mut &[u8]) -> Option<usize> {
    let end = bytes.iter().take(9).position(|byte| *byte < 0x80)? + 1;
    let (own, rest) = bytes.split_at(end);
    *bytes = rest;
    let value = own.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f));
    usize::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tantivy::schema::{STRING, Schema};
    use tantivy::{Index, TantivyDocument};

    use super::*;

    /// Words with common starts, short and long ones among them.
    fn words() -> impl Strategy<Value = Vec<String>> {
        let word = ("[a-c]{0,3}", 0usize..40, "[0-9é]{0,4}")
            .prop_map(|(start, middle, end)| format!("{start}{}{end}", "x".repeat(middle)));
        proptest::collection::vec(word, 1..200)
    }

    fn index_of(words: &[String]) -> tantivy::Result<(SegmentReader, tantivy::schema::Field)> {
        let mut schema = Schema::builder();
        let field = schema.add_text_field("word", STRING);
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, 15_000_000)?;
        for word in words {
            let mut document = TantivyDocument::new();
            document.add_text(field, word);
            writer.add_document(document)?;
        }
        writer.commit()?;
        Ok((index.reader()?.searcher().segment_reader(0).clone(), field))
    }

    fn check(words: &[String], wanted: &[String]) -> Result<()> {
        let (reader, field) = index_of(words)?;
        for word in wanted {
            let term = Term::from_field_text(field, word);
            let rows = words.iter().filter(|each| *each == word).count() as u32;
            assert_eq!(term_rows(&reader, &term)?, rows, "{word}");
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn rows_are_those_of_the_words(known in words(), others in words()) {
            check(&known, &known)?;
            check(&known, &others)?;
        }
    }

    #[test]
    fn words_of_many_blocks_are_found() -> Result<()> {
        let known: Vec<String> = (0..20_000).map(|n| format!("{}", n * 7 % 30_011)).collect();
        let wanted: Vec<String> = (0..31_000).step_by(13).map(|n| n.to_string()).collect();
        check(&known, &wanted)
    }

    #[test]
    fn other_bytes_are_not_a_block() {
        let mut buffer = Vec::new();
        for block in
            [&b""[..], b"\x01\0\0\0", b"\x02\0\0\0\0", b"\x02\0\0\0\x01\0", b"\x03\0\0\0\0\x83\x80"]
        {
            assert_eq!(rows_in(block, b"word", &mut buffer), None);
        }
    }
}
