//! Values of stored documents, read in place.
//!
//! Every length is checked against the bytes at hand: `None` means that the document is damaged.

/// Deeper nesting than this is not written by anybody and would only exhaust the stack.
const MAX_DEPTH: usize = 200;

/// Bytes of a document that are not read yet.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

/// One stored value; arrays and objects are read on demand.
#[derive(Debug, Clone, Copy)]
pub enum Stored<'a> {
    Null,
    Str(&'a str),
    U64(u64),
    I64(i64),
    F64(f64),
    Bool(bool),
    /// Nanoseconds since the epoch.
    Date(i64),
    Bytes(&'a [u8]),
    Ip(u128),
    Array(Items<'a>),
    Object(Members<'a>),
}

#[derive(Debug, Clone, Copy)]
pub struct Items<'a> {
    cursor: Cursor<'a>,
    left: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct Members<'a> {
    cursor: Cursor<'a>,
    left: u64,
}

impl Items<'_> {
    pub fn empty() -> Items<'static> {
        Items { cursor: Cursor { rest: &[] }, left: 0 }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Stored<'a>;

    fn next(&mut self) -> Option<Stored<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.cursor.value()
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Stored<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let Stored::Str(name) = self.cursor.value()? else {
            return None;
        };
        Some((name, self.cursor.value()?))
    }
}

mod code {
    pub const TEXT: u8 = 0;
    pub const U64: u8 = 1;
    pub const I64: u8 = 2;
    pub const FACET: u8 = 3;
    pub const BYTES: u8 = 4;
    pub const DATE: u8 = 5;
    pub const F64: u8 = 6;
    pub const BOOL: u8 = 9;
    pub const IP: u8 = 10;
    pub const NULL: u8 = 11;
    pub const ARRAY: u8 = 12;
    pub const OBJECT: u8 = 13;
}

impl<'a> Cursor<'a> {
    pub fn new(rest: &'a [u8]) -> Cursor<'a> {
        Cursor { rest }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    #[inline]
    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    /// A number in groups of seven bits; the last byte has its high bit set.
    #[inline]
    pub fn vint(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.fixed()?;
            number |= u64::from(byte & 127) << shift;
            if byte >= 128 {
                return Some(number);
            }
        }
        None
    }

    #[inline]
    pub fn field(&mut self) -> Option<u32> {
        self.fixed().map(u32::from_le_bytes)
    }

    #[inline]
    fn run(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.vint()?).ok()?;
        self.take(len)
    }

    /// Reads one value.
    #[inline]
    pub fn value(&mut self) -> Option<Stored<'a>> {
        let [kind] = self.fixed()?;
        Some(match kind {
            code::TEXT | code::FACET => Stored::Str(std::str::from_utf8(self.run()?).ok()?),
            code::U64 => Stored::U64(u64::from_le_bytes(self.fixed()?)),
            code::I64 => Stored::I64(i64::from_le_bytes(self.fixed()?)),
            code::BYTES => Stored::Bytes(self.run()?),
            code::DATE => Stored::Date(i64::from_le_bytes(self.fixed()?)),
            code::F64 => Stored::F64(tantivy::u64_to_f64(u64::from_le_bytes(self.fixed()?))),
            code::BOOL => {
                let [byte] = self.fixed()?;
                Stored::Bool(byte != 0)
            }
            code::IP => Stored::Ip(u128::from_le_bytes(self.fixed()?)),
            code::NULL => Stored::Null,
            code::ARRAY => {
                let left = self.vint()?;
                let cursor = self.skip_values(left, MAX_DEPTH)?;
                Stored::Array(Items { cursor, left })
            }
            code::OBJECT => {
                let left = self.vint()?;
                let cursor = self.skip_values(left, MAX_DEPTH)?;
                Stored::Object(Members { cursor, left: left / 2 })
            }
            _ => return None,
        })
    }

    /// Goes over `count` values and returns a cursor to the first of them.
    fn skip_values(&mut self, count: u64, depth: usize) -> Option<Cursor<'a>> {
        let start = *self;
        for _ in 0..count {
            self.skip_value(depth)?;
        }
        Some(start)
    }

    /// Goes over one document: its bytes.
    #[inline]
    pub fn document(&mut self) -> Option<&'a [u8]> {
        let start = self.rest;
        for _ in 0..self.vint()? {
            self.field()?;
            self.skip()?;
        }
        start.get(..start.len() - self.rest.len())
    }

    /// Goes over one value without reading it.
    #[inline]
    pub fn skip(&mut self) -> Option<()> {
        self.skip_value(MAX_DEPTH)
    }

    fn skip_value(&mut self, depth: usize) -> Option<()> {
        let [kind] = self.fixed()?;
        match kind {
            code::TEXT | code::FACET | code::BYTES => self.run().map(|_| ()),
            code::U64 | code::I64 | code::DATE | code::F64 => self.take(8).map(|_| ()),
            code::BOOL => self.take(1).map(|_| ()),
            code::IP => self.take(16).map(|_| ()),
            code::NULL => Some(()),
            code::ARRAY | code::OBJECT => {
                let count = self.vint()?;
                let depth = depth.checked_sub(1)?;
                self.skip_values(count, depth).map(|_| ())
            }
            _ => None,
        }
    }
}

impl Stored<'_> {
    /// The value as JSON, compact, members in order.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match *self {
            Stored::Null => Json::Null,
            Stored::Str(text) => Json::from(text),
            Stored::U64(number) => Json::from(number),
            Stored::I64(number) => Json::from(number),
            Stored::F64(number) => Json::from(number),
            Stored::Bool(value) => Json::from(value),
            Stored::Date(nanos) => Json::from(rfc3339(nanos)),
            Stored::Bytes(bytes) => {
                use base64::Engine as _;
                Json::from(base64::engine::general_purpose::STANDARD.encode(bytes))
            }
            Stored::Ip(address) => Json::from(ip_text(address)),
            Stored::Array(items) => Json::Array(items.map(|item| item.to_json()).collect()),
            Stored::Object(members) => {
                Json::Object(members.map(|(name, v)| (name.to_owned(), v.to_json())).collect())
            }
        }
    }
}

/// A date as a string: other writers convert strings that look like dates.
pub fn rfc3339(nanos: i64) -> String {
    use tantivy::time::format_description::well_known::Rfc3339;
    let date = tantivy::DateTime::from_timestamp_nanos(nanos).into_utc();
    date.format(&Rfc3339).unwrap_or_default()
}

/// The shortest form of an address; IPv4 plain.
pub fn ip_text(address: u128) -> String {
    let address = std::net::Ipv6Addr::from(address);
    match address.to_ipv4_mapped() {
        Some(v4) => v4.to_string(),
        None => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_object_is_read_in_order() {
        let mut bytes = vec![code::OBJECT, 128 | 4];
        for (name, value) in [("b", 1i64), ("a", -2)] {
            bytes.extend([code::TEXT, 128 | 1]);
            bytes.extend(name.as_bytes());
            bytes.push(code::I64);
            bytes.extend(value.to_le_bytes());
        }
        bytes.push(code::NULL);
        let mut cursor = Cursor::new(&bytes);
        let object = cursor.value().map(|v| v.to_json().to_string());
        assert_eq!(object.as_deref(), Some(r#"{"b":1,"a":-2}"#));
        assert!(matches!(cursor.value(), Some(Stored::Null)));
        assert!(cursor.value().is_none());
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(0u8..20, 0..200)) {
            let mut cursor = Cursor::new(&bytes);
            while let Some(value) = cursor.value() {
                let _ = value.to_json();
            }
        }
    }
}
