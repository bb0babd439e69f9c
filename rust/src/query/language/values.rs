//! The values of a query: words, phrases, patterns, ranges and sets.

use super::parser::Parser;
use super::{Ast, FieldQuery};
use crate::error::Result;
use crate::query::datemath;

impl Parser<'_> {
    pub fn set(&mut self) -> Result<FieldQuery> {
        self.space();
        let opened = self.at;
        if !self.eat('[') {
            return Err(self.error(opened, "`IN` needs a list, as in `field: IN [a b]`"));
        }
        let mut values = Vec::new();
        loop {
            self.space();
            match self.peek() {
                None => return Err(self.error(opened, "this is not closed by `]`")),
                Some(']') => {
                    self.at += 1;
                    return Ok(FieldQuery::Set(values));
                }
                Some(_) => values.push(self.plain("]")?),
            }
        }
    }

    pub fn range(&mut self) -> Result<FieldQuery> {
        let opened = self.at;
        let lower_inclusive = self.peek() == Some('[');
        self.at += 1;
        self.space();
        let lower = self.end_of_range("]}")?;
        self.space();
        if !self.operator("TO") {
            return Err(self.error(self.at, "a range reads `[from TO to]`"));
        }
        self.space();
        let upper = self.end_of_range("]}")?;
        self.space();
        let upper_inclusive = match self.peek() {
            Some(']') => true,
            Some('}') => false,
            _ => return Err(self.error(opened, "this range is not closed by `]` or `}`")),
        };
        self.at += 1;
        let end = |text: String, inclusive| (text != "*").then_some((text, inclusive));
        Ok(FieldQuery::Range {
            lower: end(lower, lower_inclusive),
            upper: end(upper, upper_inclusive),
        })
    }

    pub fn comparison(&mut self) -> Result<FieldQuery> {
        let greater = self.peek() == Some('>');
        self.at += 1;
        let inclusive = self.eat('=');
        self.space();
        let bound = Some((self.end_of_range(")")?, inclusive));
        Ok(if greater {
            FieldQuery::Range { lower: bound, upper: None }
        } else {
            FieldQuery::Range { lower: None, upper: bound }
        })
    }

    /// A value, or a timestamp relative to now; in quotes it is a value.
    fn end_of_range(&mut self, ends: &str) -> Result<String> {
        let start = self.at;
        let quoted = matches!(self.peek(), Some('"' | '\''));
        let text = self.plain(ends)?;
        let now = self.now.filter(|_| !quoted);
        let time = now.and_then(|now| datemath::evaluate(&text, now));
        if let Some(time) = time.and_then(datemath::render) {
            self.times.push((start, self.at, time));
        }
        Ok(text)
    }

    /// A word or quoted text without special meaning; colons belong to it.
    fn plain(&mut self, ends: &str) -> Result<String> {
        let position = self.at;
        if let Some(quote @ ('"' | '\'')) = self.peek() {
            return self.quoted(quote);
        }
        let mut word = String::new();
        while let Some(c) = self.peek() {
            if c.is_whitespace() || ends.contains(c) {
                break;
            }
            self.at += 1;
            word.push(if c == '\\' { self.escaped()? } else { c });
        }
        if word.is_empty() {
            return Err(self.error(position, "a value is expected here"));
        }
        Ok(word)
    }

    fn escaped(&mut self) -> Result<char> {
        let position = self.at - 1;
        let next = self.peek().ok_or_else(|| self.error(position, "nothing follows the `\\`"))?;
        self.at += 1;
        Ok(next)
    }

    fn quoted(&mut self, quote: char) -> Result<String> {
        let opened = self.at;
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                '\\' => text.push(self.escaped()?),
                c if c == quote => return Ok(text),
                c => text.push(c),
            }
        }
        Err(self.error(opened, "this quote is not closed"))
    }

    pub fn value(&mut self, field: Option<&str>, position: usize) -> Result<Ast> {
        let query = match self.peek() {
            Some('"') => self.phrase()?,
            Some('\'') => FieldQuery::Words(self.quoted('\'')?),
            Some('/') => self.regex()?,
            _ => self.word(field.is_some())?,
        };
        Ok(Ast::Leaf { field: field.map(str::to_owned), query, position })
    }

    fn phrase(&mut self) -> Result<FieldQuery> {
        let text = self.quoted('"')?;
        if self.peek() == Some('~') && self.look(1).is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
            let slop = self.digits().ok_or_else(|| self.error(self.at, "the slop is too large"))?;
            return Ok(FieldQuery::Phrase { text, slop, prefix: false });
        }
        let prefix = self.eat('*');
        Ok(FieldQuery::Phrase { text, slop: 0, prefix })
    }

    pub fn digits(&mut self) -> Option<u32> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect::<String>().parse().ok()
    }

    fn regex(&mut self) -> Result<FieldQuery> {
        let opened = self.at;
        self.at += 1;
        let mut pattern = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                '/' => {
                    regex::Regex::new(&pattern)
                        .map_err(|e| self.error(opened, &format!("regular expression: {e}")))?;
                    return Ok(FieldQuery::Regex(pattern));
                }
                '\\' if self.peek() == Some('/') => {
                    self.at += 1;
                    pattern.push('/');
                }
                '\\' => {
                    pattern.push('\\');
                    pattern.push(self.escaped()?);
                }
                c => pattern.push(c),
            }
        }
        Err(self.error(opened, "this regular expression is not closed by `/`"))
    }

    /// A bare word; after a field name colons belong to it (times, addresses).
    fn word(&mut self, colons: bool) -> Result<FieldQuery> {
        let position = self.at;
        let (mut text, mut pattern) = (String::new(), String::new());
        let mut wild = false;
        while let Some(c) = self.peek() {
            if c.is_whitespace() || "()[]{}\"^~".contains(c) || (c == ':' && !colons) {
                break;
            }
            self.at += 1;
            match c {
                '\\' => {
                    let plain = self.escaped()?;
                    text.push(plain);
                    pattern.push('\\');
                    pattern.push(plain);
                }
                '*' | '?' => {
                    wild = true;
                    text.push(c);
                    pattern.push(c);
                }
                c => {
                    text.push(c);
                    pattern.push(c);
                }
            }
        }
        if text.is_empty() {
            let detail = match self.peek() {
                Some(found) => format!("`{found}` is not expected here; write `\\{found}` for it"),
                None => "a word or a phrase is expected here".to_owned(),
            };
            return Err(self.error(position, &detail));
        }
        if self.eat('~') {
            return self.fuzzy(text, wild, position);
        }
        if wild {
            return Ok(FieldQuery::Wildcard(pattern));
        }
        Ok(FieldQuery::Word(text))
    }

    /// `word~`, `word~2`, and `word~2,3`, where the first three characters must match.
    fn fuzzy(&mut self, word: String, wild: bool, position: usize) -> Result<FieldQuery> {
        let wrong = "a fuzzy word reads `word~1`, `word~2`, or `word~1,3` with a prefix of 3";
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let distance = if is_digit(self.peek()) { self.digits() } else { Some(1) };
        let mut prefix = Some(0);
        if self.peek() == Some(',') && is_digit(self.look(1)) {
            self.at += 1;
            prefix = self.digits();
        }
        match (distance, prefix) {
            (Some(distance @ 0..=2), Some(prefix)) if !wild => {
                Ok(FieldQuery::Fuzzy { word, distance: distance as u8, prefix: prefix as usize })
            }
            _ => Err(self.error(position, wrong)),
        }
    }
}
