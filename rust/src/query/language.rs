//! The query language: text to a tree of what is asked, with positions for errors.
//!
//! ```text
//! any    = every { OR every }
//! every  = unary { [AND] unary }
//! unary  = (NOT | + | -) unary | atom [ ^ [=] number ]
//! atom   = group | field : scoped | { field [ ^ number ] , … } : scoped | *  | value
//! group  = ( any ) [ ~ number [ % ] ]
//! scoped = group | IN [ words ] | range | (> | >= | < | <=) word | *  | value
//! value  = "phrase" [~ n | *] | 'words' | /regex/ | word [~ [n] [, prefix]]
//! ```

use super::datemath;
use crate::error::{EngineError, Result};

/// Deeper nesting is refused rather than risked.
const MAX_DEPTH: usize = 100;

#[derive(Debug, Clone, PartialEq)]
pub enum Ast {
    All,
    And(Vec<Ast>),
    Or(Vec<Ast>),
    Not(Box<Ast>),
    Boost(Box<Ast>, f32),
    /// Every match gives this many points, however well it matches.
    Constant(Box<Ast>, f32),
    /// So many of the parts must match.
    AtLeast(Vec<Ast>, usize),
    /// Words without a field are looked up in these, each with its weight.
    Within {
        fields: Vec<(String, f32)>,
        arg: Box<Ast>,
        position: usize,
    },
    Leaf {
        field: Option<String>,
        asked: Asked,
        position: usize,
    },
}

/// What a field is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    Word(String),
    /// `*` and `?` are wild, a backslash makes the next character plain.
    Wildcard(String),
    Fuzzy {
        word: String,
        distance: u8,
        /// So many characters at the begin are as they are written.
        prefix: usize,
    },
    Phrase {
        text: String,
        slop: u32,
        prefix: bool,
    },
    Words(String),
    Regex(String),
    Range {
        lower: Option<(String, bool)>,
        upper: Option<(String, bool)>,
    },
    Set(Vec<String>),
    Exists,
}

pub fn parse(text: &str) -> Result<Ast> {
    Parser::new(text).parse()
}

/// The same query with `now`, `now-1h` and so on as ends of ranges replaced by the times they are. A text that is
/// not a query stays as it is: parsing it says what is wrong.
pub fn at_time(text: &str, now: i64) -> String {
    let mut parser = Parser::new(text);
    parser.now = Some(now);
    if parser.parse().is_err() {
        return text.to_owned();
    }
    let (mut fixed, mut at) = (String::new(), 0);
    for (start, end, time) in &parser.times {
        fixed.extend(&parser.chars[at..*start]);
        fixed.push_str(time);
        at = *end;
    }
    fixed.extend(&parser.chars[at..]);
    fixed
}

struct Parser<'a> {
    text: &'a str,
    chars: Vec<char>,
    at: usize,
    depth: usize,
    /// The timestamp that replaces `now`.
    now: Option<i64>,
    /// Where times relative to it stand, and what they are.
    times: Vec<(usize, usize, String)>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parser<'a> {
        let chars = text.chars().collect();
        Parser { text, chars, at: 0, depth: 0, now: None, times: Vec::new() }
    }
}

impl Parser<'_> {
    fn parse(&mut self) -> Result<Ast> {
        self.space();
        if self.at == self.chars.len() {
            return Err(self.error(0, "the query is empty"));
        }
        let ast = self.any(None)?;
        self.space();
        match self.peek() {
            None => Ok(ast),
            Some(found) => Err(self.error(self.at, &format!("`{found}` is not expected here"))),
        }
    }

    fn error(&self, position: usize, detail: &str) -> EngineError {
        EngineError::QuerySyntax {
            query: self.text.to_owned(),
            position,
            detail: detail.to_owned(),
        }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn look(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: char, opened: usize) -> Result<()> {
        self.space();
        if self.eat(wanted) {
            return Ok(());
        }
        Err(self.error(opened, &format!("this is not closed by `{wanted}`")))
    }

    /// Whether an operator word stands here, on its own.
    fn operator(&mut self, word: &str) -> bool {
        let end = self.at + word.len();
        let same = self.chars.get(self.at..end).is_some_and(|c| c.iter().copied().eq(word.chars()));
        let alone = self.chars.get(end).is_none_or(|c| c.is_whitespace() || "()[]\"'".contains(*c));
        if same && alone {
            self.at = end;
        }
        same && alone
    }

    fn nested<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(self.at, "the query is nested too deeply"));
        }
        let result = run(self);
        self.depth -= 1;
        result
    }

    fn any(&mut self, field: Option<&str>) -> Result<Ast> {
        let mut parts = vec![self.every(field)?];
        loop {
            self.space();
            let position = self.at;
            if !self.operator("OR") {
                break;
            }
            self.operand_follows(position, "OR")?;
            parts.push(self.every(field)?);
        }
        Ok(one_or(parts, Ast::Or))
    }

    fn operand_follows(&mut self, position: usize, operator: &str) -> Result<()> {
        self.space();
        if self.peek().is_none_or(|c| c == ')') {
            return Err(self.error(position, &format!("`{operator}` has nothing after it")));
        }
        Ok(())
    }

    fn every(&mut self, field: Option<&str>) -> Result<Ast> {
        let mut parts = Vec::new();
        loop {
            self.space();
            let position = self.at;
            if self.peek().is_none_or(|c| c == ')') {
                break;
            }
            if self.operator("OR") {
                if parts.is_empty() {
                    return Err(self.error(position, "`OR` has nothing before it"));
                }
                self.at = position;
                break;
            }
            if self.operator("AND") {
                if parts.is_empty() {
                    return Err(self.error(position, "`AND` has nothing before it"));
                }
                self.operand_follows(position, "AND")?;
            }
            parts.push(self.nested(|p| p.unary(field))?);
        }
        if parts.is_empty() {
            return Err(self.error(self.at, "a word or a phrase is expected here"));
        }
        Ok(one_or(parts, Ast::And))
    }

    fn unary(&mut self, field: Option<&str>) -> Result<Ast> {
        self.space();
        let position = self.at;
        if self.operator("NOT") {
            self.operand_follows(position, "NOT")?;
            return Ok(Ast::Not(Box::new(self.nested(|p| p.unary(field))?)));
        }
        for operator in ["AND", "OR"] {
            if self.operator(operator) {
                let detail = format!("`{operator}` has nothing before it");
                return Err(self.error(position, &detail));
            }
        }
        if self.eat('-') {
            self.operand_follows(position, "-")?;
            return Ok(Ast::Not(Box::new(self.nested(|p| p.unary(field))?)));
        }
        if self.eat('+') {
            self.operand_follows(position, "+")?;
            return self.nested(|p| p.unary(field));
        }
        let atom = self.atom(field)?;
        self.boosted(atom)
    }

    fn boosted(&mut self, atom: Ast) -> Result<Ast> {
        let position = self.at;
        if !self.eat('^') {
            return Ok(atom);
        }
        let constant = self.eat('=');
        let points = self.points(position)?;
        Ok(if constant {
            Ast::Constant(Box::new(atom), points)
        } else {
            Ast::Boost(Box::new(atom), points)
        })
    }

    /// The number after a `^`.
    fn points(&mut self, position: usize) -> Result<f32> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit() || c == '.') {
            self.at += 1;
        }
        let number: String = self.chars[start..self.at].iter().collect();
        let found = number.parse().ok().filter(|points: &f32| points.is_finite());
        found.ok_or_else(|| self.error(position, "`^` needs a number, as in `word^2.0`"))
    }

    fn group(&mut self, field: Option<&str>) -> Result<Ast> {
        let opened = self.at;
        self.at += 1;
        self.space();
        if self.peek() == Some(')') {
            return Err(self.error(opened, "the parentheses are empty"));
        }
        let inner = self.nested(|p| p.any(field))?;
        self.expect(')', opened)?;
        self.at_least(inner)
    }

    /// `~2` or `~75%` after a group: so many of its members must match. What is negated must not, and does not count.
    fn at_least(&mut self, group: Ast) -> Result<Ast> {
        let position = self.at;
        if !self.eat('~') {
            return Ok(group);
        }
        let members = match group {
            Ast::And(parts) | Ast::Or(parts) => parts,
            one => vec![one],
        };
        let (excluded, counted): (Vec<Ast>, Vec<Ast>) =
            members.into_iter().partition(|member| matches!(member, Ast::Not(_)));
        let given = self.digits().map(|number| number as usize);
        let count = match (given, self.eat('%')) {
            (Some(share @ 1..=100), true) => Some((counted.len() * share / 100).max(1)),
            (count, false) => count,
            _ => None,
        };
        let count = count.filter(|count| (1..=counted.len()).contains(count)).ok_or_else(|| {
            let most = counted.len();
            let detail = format!(
                "`~` after a group needs a number from 1 to {most}, its members, or a share such as `75%`"
            );
            self.error(position, &detail)
        })?;
        let mut parts = vec![Ast::AtLeast(counted, count)];
        parts.extend(excluded);
        Ok(one_or(parts, Ast::And))
    }

    fn atom(&mut self, field: Option<&str>) -> Result<Ast> {
        let position = self.at;
        if self.peek() == Some('(') {
            return self.group(field);
        }
        if self.peek() == Some('{') {
            return self.within(position);
        }
        if let Some(name) = self.field_name() {
            return self.scoped(Some(&name), position);
        }
        if field.is_none() && self.peek() == Some('*') && self.ends_word(self.at + 1) {
            self.at += 1;
            return Ok(Ast::All);
        }
        self.value(field, position)
    }

    fn ends_word(&self, at: usize) -> bool {
        self.chars.get(at).is_none_or(|c| c.is_whitespace() || *c == ')' || *c == '^')
    }

    /// `name:` if one stands here; a name has no spaces, quotes or brackets.
    fn field_name(&mut self) -> Option<String> {
        let mut name = String::new();
        let mut at = self.at;
        loop {
            match self.chars.get(at).copied()? {
                ':' if !name.is_empty() => {
                    self.at = at + 1;
                    return Some(name);
                }
                '\\' => {
                    let next = self.chars.get(at + 1).copied()?;
                    if next == '.' {
                        name.push('\\');
                    }
                    name.push(next);
                    at += 2;
                }
                c if c.is_whitespace() || "()[]{}\"'^~*?:<>".contains(c) => return None,
                c => {
                    name.push(c);
                    at += 1;
                }
            }
        }
    }

    /// `{title^3, body}:` and the query for these fields.
    fn within(&mut self, position: usize) -> Result<Ast> {
        self.at += 1;
        let mut fields = Vec::new();
        loop {
            self.space();
            let start = self.at;
            let name = self.listed_name();
            if name.is_empty() {
                return Err(
                    self.error(start, "a field is expected here, as in `{title^3, body}:word`")
                );
            }
            let weight = if self.eat('^') { self.points(start)? } else { 1.0 };
            fields.push((name, weight));
            self.space();
            if self.eat(',') {
                continue;
            }
            if self.eat('}') {
                break;
            }
            return Err(self.error(position, "this list of fields is not closed by `}`"));
        }
        if !self.eat(':') {
            return Err(self.error(self.at, "`:` is expected after a list of fields"));
        }
        let arg = Box::new(self.nested(|p| p.scoped(None, position))?);
        Ok(Ast::Within { fields, arg, position })
    }

    fn listed_name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.peek().filter(|c| !c.is_whitespace() && !"{}^,:".contains(*c)) {
            self.at += 1;
            match (c, self.peek()) {
                ('\\', Some(next)) => {
                    self.at += 1;
                    if next == '.' {
                        name.push('\\');
                    }
                    name.push(next);
                }
                _ => name.push(c),
            }
        }
        name
    }

    fn scoped(&mut self, field: Option<&str>, position: usize) -> Result<Ast> {
        self.space();
        let leaf = |asked| Ast::Leaf { field: field.map(str::to_owned), asked, position };
        match self.peek() {
            None | Some(')') => {
                let name = field.unwrap_or("{…}");
                Err(self.error(position, &format!("no query for field `{name}`")))
            }
            Some('(') => self.group(field),
            Some('[' | '{') => Ok(leaf(self.range()?)),
            Some('>' | '<') => Ok(leaf(self.comparison()?)),
            Some('*') if self.ends_word(self.at + 1) => {
                self.at += 1;
                Ok(leaf(Asked::Exists))
            }
            Some(_) if self.operator("IN") => Ok(leaf(self.set()?)),
            Some(_) => self.value(field, position),
        }
    }

    fn set(&mut self) -> Result<Asked> {
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
                    return Ok(Asked::Set(values));
                }
                Some(_) => values.push(self.plain("]")?),
            }
        }
    }

    fn range(&mut self) -> Result<Asked> {
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
        Ok(Asked::Range { lower: end(lower, lower_inclusive), upper: end(upper, upper_inclusive) })
    }

    fn comparison(&mut self) -> Result<Asked> {
        let greater = self.peek() == Some('>');
        self.at += 1;
        let inclusive = self.eat('=');
        self.space();
        let bound = Some((self.end_of_range(")")?, inclusive));
        Ok(if greater {
            Asked::Range { lower: bound, upper: None }
        } else {
            Asked::Range { lower: None, upper: bound }
        })
    }

    /// A value, or a time relative to now; in quotes it is a value.
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

    /// A word or quoted text without any special meaning; colons belong to it.
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

    fn value(&mut self, field: Option<&str>, position: usize) -> Result<Ast> {
        let asked = match self.peek() {
            Some('"') => self.phrase()?,
            Some('\'') => Asked::Words(self.quoted('\'')?),
            Some('/') => self.regex()?,
            _ => self.word(field.is_some())?,
        };
        Ok(Ast::Leaf { field: field.map(str::to_owned), asked, position })
    }

    fn phrase(&mut self) -> Result<Asked> {
        let text = self.quoted('"')?;
        if self.peek() == Some('~') && self.look(1).is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
            let slop = self.digits().ok_or_else(|| self.error(self.at, "the slop is too large"))?;
            return Ok(Asked::Phrase { text, slop, prefix: false });
        }
        let prefix = self.eat('*');
        Ok(Asked::Phrase { text, slop: 0, prefix })
    }

    fn digits(&mut self) -> Option<u32> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect::<String>().parse().ok()
    }

    fn regex(&mut self) -> Result<Asked> {
        let opened = self.at;
        self.at += 1;
        let mut pattern = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                '/' => {
                    regex::Regex::new(&pattern)
                        .map_err(|e| self.error(opened, &format!("regular expression: {e}")))?;
                    return Ok(Asked::Regex(pattern));
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
    fn word(&mut self, colons: bool) -> Result<Asked> {
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
            return Ok(Asked::Wildcard(pattern));
        }
        Ok(Asked::Word(text))
    }
}

impl Parser<'_> {
    /// `word~`, `word~2`, and `word~2,3`: the first three characters are as they are written.
    fn fuzzy(&mut self, word: String, wild: bool, position: usize) -> Result<Asked> {
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
                Ok(Asked::Fuzzy { word, distance: distance as u8, prefix: prefix as usize })
            }
            _ => Err(self.error(position, wrong)),
        }
    }
}

fn one_or(mut parts: Vec<Ast>, many: impl Fn(Vec<Ast>) -> Ast) -> Ast {
    if parts.len() == 1 { parts.swap_remove(0) } else { many(parts) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn word(text: &str, position: usize) -> Ast {
        Ast::Leaf { field: None, asked: Asked::Word(text.to_owned()), position }
    }

    fn asked(text: &str) -> Option<Asked> {
        match parse(text) {
            Ok(Ast::Leaf { asked, .. }) => Some(asked),
            _ => None,
        }
    }

    fn position(text: &str) -> Option<usize> {
        match parse(text) {
            Err(EngineError::QuerySyntax { position, .. }) => Some(position),
            _ => None,
        }
    }

    #[test]
    fn and_binds_tighter_than_or() -> Result<()> {
        let expected = Ast::Or(vec![Ast::And(vec![word("a", 0), word("b", 2)]), word("c", 7)]);
        assert_eq!(parse("a b OR c")?, expected);
        let expected = Ast::And(vec![word("a", 0), Ast::Not(Box::new(word("b", 9)))]);
        assert_eq!(
            parse("a AND NOT b").ok(),
            parse("a AND -b")
                .ok()
                .map(|_| { Ast::And(vec![word("a", 0), Ast::Not(Box::new(word("b", 10)))]) })
        );
        assert_eq!(parse("a   AND -b").ok(), Some(expected));
        Ok(())
    }

    #[test]
    fn every_form_is_understood() {
        let text = |s: &str| s.to_owned();
        let fuzzy = |s: &str, distance, prefix| Asked::Fuzzy { word: text(s), distance, prefix };
        assert_eq!(
            asked(r#""a b"~2"#),
            Some(Asked::Phrase { text: text("a b"), slop: 2, prefix: false })
        );
        assert_eq!(
            asked(r#""a b"*"#),
            Some(Asked::Phrase { text: text("a b"), slop: 0, prefix: true })
        );
        assert_eq!(asked("'a b'"), Some(Asked::Words(text("a b"))));
        assert_eq!(asked("te?t*"), Some(Asked::Wildcard(text("te?t*"))));
        assert_eq!(asked(r"a\*b"), Some(Asked::Word(text("a*b"))));
        assert_eq!(asked("/a.c/"), Some(Asked::Regex(text("a.c"))));
        assert_eq!(asked("word~2"), Some(fuzzy("word", 2, 0)));
        assert_eq!(asked("word~2,3"), Some(fuzzy("word", 2, 3)));
        assert_eq!(asked("word~,4"), Some(fuzzy("word", 1, 4)));
        assert_eq!(asked("f: IN [a \"b c\"]"), Some(Asked::Set(vec![text("a"), text("b c")])));
        assert_eq!(asked("f:*"), Some(Asked::Exists));
        assert_eq!(
            asked("f:[a TO b}"),
            Some(Asked::Range { lower: Some((text("a"), true)), upper: Some((text("b"), false)) })
        );
        assert_eq!(
            asked("ts:[* TO 2024-01-01T10:00:00Z]"),
            Some(Asked::Range { lower: None, upper: Some((text("2024-01-01T10:00:00Z"), true)) })
        );
        assert_eq!(
            asked("f:>=5"),
            Some(Asked::Range { lower: Some((text("5"), true)), upper: None })
        );
        assert_eq!(parse("*").ok(), Some(Ast::All));
        assert!(matches!(parse("a^2.5"), Ok(Ast::Boost(_, 2.5))));
        assert!(matches!(parse("(a OR b)^=1.5"), Ok(Ast::Constant(_, 1.5))));
    }

    #[test]
    fn a_group_may_ask_for_some_of_its_members() {
        for text in ["(a b c)~2", "(a OR b OR c)~2", "(a b c)~67%"] {
            let Ok(Ast::AtLeast(parts, 2)) = parse(text) else { panic!("{text}") };
            assert_eq!(parts.len(), 3, "{text}");
        }
        let Ok(Ast::And(parts)) = parse("(a b -c)~1") else { panic!("negated members") };
        assert!(
            matches!(&parts[..], [Ast::AtLeast(counted, 1), Ast::Not(_)] if counted.len() == 2)
        );
        for (text, at) in [("(a b)~3", 5), ("(a b)~0", 5), ("(a b)~", 5), ("(a b)~200%", 5)] {
            assert_eq!(position(text), Some(at), "{text}");
        }
    }

    #[test]
    fn times_are_those_of_a_moment() {
        let now = 1_709_210_096_500_000; // 2024-02-29T12:34:56.5Z
        for (text, expected) in [
            (
                "a AND ts:[now-1h TO now}",
                "a AND ts:[2024-02-29T11:34:56.500000Z TO 2024-02-29T12:34:56.500000Z}",
            ),
            ("ö ts:>=now/d", "ö ts:>=2024-02-29T00:00:00.000000Z"),
            ("now ts:[\"now\" TO *]", "now ts:[\"now\" TO *]"),
            ("ts:[nowhere TO now-1x]", "ts:[nowhere TO now-1x]"),
            ("(now", "(now"),
        ] {
            assert_eq!(at_time(text, now), expected);
        }
    }

    #[test]
    fn fields_have_weights() {
        let Ok(Ast::Within { fields, arg, position: 2 }) = parse("+ {title^3, a\\.b}:(x y)") else {
            panic!("a list of fields");
        };
        assert_eq!(fields, [("title".to_owned(), 3.0), ("a\\.b".to_owned(), 1.0)]);
        assert_eq!(*arg, Ast::And(vec![word("x", 19), word("y", 21)]));
        for (text, at) in [("{a b}:x", 0), ("{}:x", 1), ("{a}x", 3), ("{a}:", 0), ("{a^}:x", 1)] {
            assert_eq!(position(text), Some(at), "{text}");
        }
    }

    #[test]
    fn a_field_scopes_its_group() -> Result<()> {
        let leaf = |field: &str, text: &str, position| Ast::Leaf {
            field: Some(field.to_owned()),
            asked: Asked::Word(text.to_owned()),
            position,
        };
        let expected = Ast::Or(vec![leaf("a.b", "x", 5), leaf("c", "y", 10)]);
        assert_eq!(parse("a.b:(x OR c:y)")?, expected);
        Ok(())
    }

    #[test]
    fn errors_point_at_the_place() {
        for (text, at) in [
            ("", 0),
            ("  ", 0),
            ("(a", 0),
            ("a)", 1),
            ("a AND", 2),
            ("OR a", 0),
            ("\"a", 0),
            ("a f:", 2),
            ("f:[a b]", 5),
            ("a ()", 2),
            ("x /a", 2),
            ("x /(/", 2),
            ("a^", 1),
            ("NOT", 0),
            ("a\\", 1),
            ("a^x", 1),
            ("a~7", 0),
        ] {
            assert_eq!(position(text), Some(at), "{text}");
        }
        assert!(position(&"(".repeat(500)).is_some());
        assert!(position(&"NOT ".repeat(500)).is_some());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[ -~äß\"'()\\[\\]{}:*?/^~+-]{0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn no_token_sequence_panics(parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "a", "AND", "OR", "NOT", "(", ")", "f:", "[", "]", "{", "}", "TO", "*", "\"", "'",
                "/", "^", "~", "2", "IN", "%", ",", ">", "=", "\\", "+", "-", " ",
            ]), 0..20)) {
            let _ = parse(&parts.concat());
            let _ = parse(&parts.join(" "));
        }
    }
}
