//! Many single numbers, to find out which values of a column are among them.

use super::literal::Span;
use crate::hash::NumberSet;

/// Fewer numbers are compared one by one.
const FEW: usize = 8;
/// Numbers that lie this close to each other, on average, are bits of a map.
const BITS_PER_NUMBER: usize = 256;

/// A set of whole numbers that is looked into once per row.
pub enum Points {
    Bits { first: i128, words: Vec<u64> },
    Hashed(NumberSet<i128>),
}

impl Points {
    /// The numbers of spans that hold one each; nothing if others are among them, or if they are few.
    pub fn of(spans: &[Span]) -> Option<Points> {
        if spans.len() <= FEW {
            return None;
        }
        let numbers = spans.iter().filter(|span| **span != Span::Empty).map(|span| match span {
            Span::Whole(low, high) if low == high => Some(*low),
            _ => None,
        });
        let numbers = numbers.collect::<Option<Vec<i128>>>()?;
        let (first, last) = (*numbers.iter().min()?, *numbers.iter().max()?);
        let bits = last.checked_sub(first).and_then(|width| usize::try_from(width).ok());
        match bits.filter(|&bits| bits / BITS_PER_NUMBER < numbers.len()) {
            Some(bits) => {
                let mut words = vec![0; bits / 64 + 1];
                for number in numbers {
                    let at = (number - first) as usize;
                    words[at / 64] |= 1 << (at % 64);
                }
                Some(Points::Bits { first, words })
            }
            None => Some(Points::Hashed(numbers.into_iter().collect())),
        }
    }

    #[inline]
    pub fn contains(&self, number: i128) -> bool {
        match self {
            Points::Bits { first, words } => {
                // a number below the first wraps around to one beyond the last
                let at = number.wrapping_sub(*first) as u128;
                at < 64 * words.len() as u128
                    && words[at as usize / 64] & (1 << (at as usize % 64)) != 0
            }
            Points::Hashed(numbers) => numbers.contains(&number),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spans(numbers: &[i128]) -> Vec<Span> {
        numbers.iter().map(|number| Span::Whole(*number, *number)).collect()
    }

    proptest! {
        #[test]
        fn a_set_has_its_numbers_and_no_others(
            numbers in proptest::collection::vec(
                prop_oneof![-300i128..300, any::<i64>().prop_map(i128::from), any::<i128>()], 9..60),
            others in proptest::collection::vec(prop_oneof![-400i128..400, any::<i128>()], 0..60),
        ) {
            let near: Vec<i128> = numbers.iter().map(|number| number % 300).collect();
            for numbers in [numbers, near] {
                let points = Points::of(&spans(&numbers)).expect("numbers");
                prop_assert!(numbers.iter().all(|number| points.contains(*number)));
                for other in others.iter().chain(&[i128::MIN, i128::MAX]) {
                    prop_assert_eq!(points.contains(*other), numbers.contains(other));
                }
            }
        }
    }

    #[test]
    fn near_numbers_are_bits() {
        let near: Vec<i128> = (-10..10).collect();
        assert!(matches!(Points::of(&spans(&near)), Some(Points::Bits { .. })));
        let far: Vec<i128> = (-10..10).map(|number| number * 1_000_000).collect();
        assert!(matches!(Points::of(&spans(&far)), Some(Points::Hashed(_))));
        assert!(Points::of(&spans(&near[..8])).is_none());
        let mut mixed = spans(&near);
        mixed.push(Span::Whole(1, 2));
        assert!(Points::of(&mixed).is_none());
    }
}
