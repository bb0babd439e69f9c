//! Conditions on IP addresses: literals, networks (`10.0.0.0/8`) and trailing wildcards (`10.1.*.*`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Bound as End;

use tantivy::Term;
use tantivy::query::{EmptyQuery, Query};

use super::leaf::term_query;
use super::spans::range_query;
use super::tree::Bound;
use crate::open::Column;

/// First and last address, inclusive; `None` if the text is not an address.
pub fn parse(text: &str) -> Option<(Ipv6Addr, Ipv6Addr)> {
    let text = text.trim();
    if let Some((network, bits)) = text.split_once('/') {
        return network_range(network.parse().ok()?, bits.parse().ok()?);
    }
    if text.contains('*') {
        return wildcard_range(text);
    }
    let address = widen(text.parse().ok()?);
    Some((address, address))
}

fn widen(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

fn network_range(network: IpAddr, bits: u32) -> Option<(Ipv6Addr, Ipv6Addr)> {
    let (width, address) = match network {
        IpAddr::V4(_) => (32, widen(network).to_bits()),
        IpAddr::V6(v6) => (128, v6.to_bits()),
    };
    let host_bits = width - bits.min(width);
    if bits > width {
        return None;
    }
    let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
    Some((Ipv6Addr::from_bits(address & mask), Ipv6Addr::from_bits(address | !mask)))
}

fn wildcard_range(text: &str) -> Option<(Ipv6Addr, Ipv6Addr)> {
    let parts: Vec<&str> = text.split('.').collect();
    let fixed = parts.iter().position(|part| *part == "*")?;
    if parts.len() > 4 || parts[fixed..].iter().any(|part| *part != "*") {
        return None;
    }
    let mut low = [0u8; 4];
    let mut high = [255u8; 4];
    for (at, part) in parts[..fixed].iter().enumerate() {
        low[at] = part.parse().ok()?;
        high[at] = low[at];
    }
    Some((Ipv4Addr::from(low).to_ipv6_mapped(), Ipv4Addr::from(high).to_ipv6_mapped()))
}

fn term(column: &Column, address: Ipv6Addr) -> Term {
    Term::from_field_ip_addr(column.field, address)
}

/// The address is this one, or inside this network.
pub fn equals(column: &Column, text: &str) -> Box<dyn Query> {
    match parse(text) {
        None => Box::new(EmptyQuery),
        Some((low, high)) if low == high && column.indexed => term_query(term(column, low)),
        Some((low, high)) => {
            range_query(column, End::Included(term(column, low)), End::Included(term(column, high)))
        }
    }
}

/// Addresses in numeric order between two ends.
pub fn range(column: &Column, lower: Option<&Bound>, upper: Option<&Bound>) -> Box<dyn Query> {
    let end = |bound: &Bound| bound.value.as_str().and_then(parse);
    let lower = match lower.map(|b| (end(b), b.inclusive)) {
        None => End::Unbounded,
        Some((None, _)) => return Box::new(EmptyQuery),
        Some((Some((low, _)), true)) => End::Included(term(column, low)),
        Some((Some((_, high)), false)) => End::Excluded(term(column, high)),
    };
    let upper = match upper.map(|b| (end(b), b.inclusive)) {
        None => End::Unbounded,
        Some((None, _)) => return Box::new(EmptyQuery),
        Some((Some((_, high)), true)) => End::Included(term(column, high)),
        Some((Some((low, _)), false)) => End::Excluded(term(column, low)),
    };
    range_query(column, lower, upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range_of(text: &str) -> Option<(String, String)> {
        parse(text).map(|(a, b)| (a.to_string(), b.to_string()))
    }

    #[test]
    fn networks_and_wildcards_are_ranges() {
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(range_of("10.0.0.0/8"), pair("::ffff:10.0.0.0", "::ffff:10.255.255.255"));
        assert_eq!(range_of("10.1.*.*"), pair("::ffff:10.1.0.0", "::ffff:10.1.255.255"));
        assert_eq!(range_of("10.1.*"), pair("::ffff:10.1.0.0", "::ffff:10.1.255.255"));
        assert_eq!(range_of("2001:db8::/32").map(|r| r.0), Some("2001:db8::".to_owned()));
        assert_eq!(range_of("0.0.0.0/0").map(|r| r.1), Some("::ffff:255.255.255.255".to_owned()));
        for bad in ["10.*.1.1", "10.0.0.0/33", "x", "1.2.3.4.*"] {
            assert_eq!(range_of(bad), None, "{bad}");
        }
    }
}
