//! Reading and writing the binary encoding of Avro: bounded, without panics.

use crate::error::{EngineError, Result};

/// A position in a slice; every read is checked.
pub struct Cursor<'a> {
    data: &'a [u8],
    at: usize,
}

fn short() -> EngineError {
    EngineError::corrupt("", "the data ends too early")
}

impl<'a> Cursor<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0 }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn remaining(&self) -> usize {
        self.data.len() - self.at
    }

    #[inline]
    pub fn long(&mut self) -> Result<i64> {
        // most numbers in a manifest are small: lengths, counts, flags
        if let Some(&byte) = self.data.get(self.at)
            && byte < 0x80
        {
            self.at += 1;
            return Ok(i64::from(byte >> 1) ^ -i64::from(byte & 1));
        }
        self.long_slow()
    }

    fn long_slow(&mut self) -> Result<i64> {
        let mut value: u64 = 0;
        for shift in 0..10 {
            let byte = *self.data.get(self.at).ok_or_else(short)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << (7 * shift);
            if byte < 0x80 {
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
        }
        Err(EngineError::corrupt("", "a number has too many bytes"))
    }

    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(length).ok_or_else(short)?;
        let slice = self.data.get(self.at..end).ok_or_else(short)?;
        self.at = end;
        Ok(slice)
    }

    /// A length followed by that many bytes: strings and bytes.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.long()?)
            .map_err(|_| EngineError::corrupt("", "a length is negative"))?;
        self.take(length)
    }

    pub fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?)
            .map_err(|_| EngineError::corrupt("", "a text is not UTF-8"))
    }

    pub fn boolean(&mut self) -> Result<bool> {
        match self.take(1)?[0] {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(EngineError::corrupt("", format!("{other} is not a boolean"))),
        }
    }

    /// The number of items of the next block of an array or map, 0 at its end. Each item takes at least `least`
    /// bytes, so that a hostile count cannot cause unbounded work.
    #[inline]
    pub fn block(&mut self, least: usize) -> Result<usize> {
        let mut count = self.long()?;
        if count < 0 {
            count = count.checked_neg().ok_or_else(short)?;
            self.long()?;
        }
        let count = usize::try_from(count).map_err(|_| short())?;
        if count.saturating_mul(least) > self.remaining() {
            return Err(EngineError::corrupt("", format!("{count} items cannot be in it")));
        }
        Ok(count)
    }
}

pub fn put_long(out: &mut Vec<u8>, value: i64) {
    let mut left = (value << 1).cast_unsigned() ^ (value >> 63).cast_unsigned();
    while left >= 0x80 {
        out.push((left & 0x7f) as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

pub fn put_bytes(out: &mut Vec<u8>, value: &[u8]) {
    put_long(out, value.len() as i64);
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        for value in [0, -1, 1, 63, 64, -64, -65, i64::MAX, i64::MIN, 1 << 40] {
            let mut out = Vec::new();
            put_long(&mut out, value);
            let mut cursor = Cursor::new(&out);
            assert_eq!(cursor.long().ok(), Some(value));
            assert_eq!(cursor.remaining(), 0);
        }
    }

    #[test]
    fn a_hostile_length_is_an_error() {
        let mut out = Vec::new();
        put_long(&mut out, i64::MAX);
        assert!(Cursor::new(&out).bytes().is_err());
        assert!(Cursor::new(&[0xff; 20]).long().is_err());
    }
}
