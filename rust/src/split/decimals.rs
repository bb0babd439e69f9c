//! Short doubles, which columns store as integers: 37.335 as 37335 with three digits.
//!
//! A double has 52 bits that look random, however short it is in decimal. An integer divided by a power of ten is the
//! double nearest to that decimal, if both are exact doubles, so the division restores every bit.

use std::sync::Arc;

use tantivy_columnar::{Column, ColumnValues};

/// Integers up to this one are exact doubles and can be converted by an addition.
pub const LARGEST: i64 = 1 << 51;
/// The bits of the double 1.5 * 2^52: the lower bits of the doubles around it are integers.
const MIDDLE: i64 = 0x4338_0000_0000_0000;
const POWERS: [f64; 16] =
    [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The divisor for this number of digits.
fn divisor(digits: u8) -> f64 {
    POWERS[usize::from(digits).min(POWERS.len() - 1)]
}

/// The double of an integer.
pub fn decode(whole: i64, digits: u8) -> f64 {
    to_double(whole) / divisor(digits)
}

/// An integer up to `LARGEST` as a double. Unlike a conversion, the compiler vectorizes this.
#[inline(always)]
fn to_double(whole: i64) -> f64 {
    f64::from_bits(whole.wrapping_add(MIDDLE) as u64) - f64::from_bits(MIDDLE as u64)
}

/// The integer that restores a double exactly, if there is one: not for -0.0 and NaN.
fn encode(value: f64, digits: u8) -> Option<i64> {
    let scaled = (value * POWERS[usize::from(digits)]).round();
    let fits = scaled.abs() < LARGEST as f64;
    let whole = scaled as i64;
    (fits && decode(whole, digits).to_bits() == value.to_bits()).then_some(whole)
}

/// All values as integers with the fewest possible digits, if possible.
pub fn encode_all(values: &[f64]) -> Option<(u8, Vec<i64>)> {
    let mut digits = 0;
    for &value in values {
        while encode(value, digits).is_none() {
            digits += 1;
            if usize::from(digits) == POWERS.len() {
                return None;
            }
        }
    }
    let whole = values.iter().map(|&value| encode(value, digits)).collect::<Option<_>>()?;
    Some((digits, whole))
}

/// Whether a number of digits in a sidecar can be read.
pub fn is_known(digits: u8) -> bool {
    usize::from(digits) < POWERS.len()
}

/// The doubles of a column of integers.
pub fn floats(whole: Column<i64>, digits: u8) -> Column<f64> {
    Column {
        index: whole.index,
        values: Arc::new(Floats { whole: whole.values, divisor: divisor(digits) }),
    }
}

struct Floats {
    whole: Arc<dyn ColumnValues<i64>>,
    divisor: f64,
}

/// Values that are decoded at a time.
const CHUNK: usize = 256;

impl Floats {
    fn decode_into(&self, whole: &[i64], output: &mut [f64]) {
        for (out, &number) in output.iter_mut().zip(whole) {
            *out = to_double(number) / self.divisor;
        }
    }
}

impl ColumnValues<f64> for Floats {
    fn get_val(&self, at: u32) -> f64 {
        to_double(self.whole.get_val(at)) / self.divisor
    }

    fn get_vals(&self, indexes: &[u32], output: &mut [f64]) {
        let mut buffer = [0; CHUNK];
        for (some, out) in indexes.chunks(CHUNK).zip(output.chunks_mut(CHUNK)) {
            self.whole.get_vals(some, &mut buffer[..some.len()]);
            self.decode_into(&buffer[..some.len()], out);
        }
    }

    fn get_range(&self, start: u64, output: &mut [f64]) {
        let (mut at, mut buffer) = (start, [0; CHUNK]);
        for out in output.chunks_mut(CHUNK) {
            self.whole.get_range(at, &mut buffer[..out.len()]);
            self.decode_into(&buffer[..out.len()], out);
            at += out.len() as u64;
        }
    }

    fn min_value(&self) -> f64 {
        to_double(self.whole.min_value()) / self.divisor
    }

    fn max_value(&self) -> f64 {
        to_double(self.whole.max_value()) / self.divisor
    }

    fn num_vals(&self) -> u32 {
        self.whole.num_vals()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_doubles_come_back_bit_by_bit() {
        let values = [37.335, 0.1 + 0.7, 1e6, -12.5, 0.0, 693.199, 1e-3];
        assert!(encode_all(&values).is_none_or(|(digits, _)| digits > 3), "0.1 + 0.7 is not 0.8");
        let values = [37.335, 0.8, 1e6, -12.5, 0.0, 693.199, 1e-3];
        let (digits, whole) = encode_all(&values).expect("all of them are short");
        assert_eq!((digits, whole[0], whole[3]), (3, 37_335, -12_500));
        for (value, number) in values.iter().zip(whole) {
            assert_eq!(decode(number, digits).to_bits(), value.to_bits());
        }
        assert_eq!(encode_all(&[]), Some((0, vec![])));
    }

    #[test]
    fn doubles_that_no_whole_number_gives_are_left_alone() {
        for value in [-0.0, f64::NAN, f64::INFINITY, 1.0 / 3.0, 1e300, f64::MIN_POSITIVE, 2e16] {
            assert_eq!(encode_all(&[1.5, value]), None, "{value}");
        }
        // each is short, but not both with the same digits
        assert_eq!(encode_all(&[2_251_799_813_685_247.0, 0.001]), None);
        assert!(encode_all(&[2_251_799_813_685_247.0, -2_251_799_813_685_247.0]).is_some());
        assert_eq!(encode_all(&[2_251_799_813_685_248.0]), None);
    }
}
