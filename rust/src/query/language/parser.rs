//! The structure of a query: operators, groups and fields.

use super::{Ast, FieldQuery};
use crate::error::{EngineError, Result};

/// Deeper nesting is rejected, because it could overflow the stack.
const MAX_DEPTH: usize = 100;

pub struct Parser<'a> {
    text: &'a str,
    pub chars: Vec<char>,
    pub at: usize,
    depth: usize,
    /// The timestamp that replaces `now`.
    pub now: Option<i64>,
    /// The positions of expressions relative to it, and their timestamps.
    pub times: Vec<(usize, usize, String)>,
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str) -> Parser<'a> {
        let chars = text.chars().collect();
        Parser { text, chars, at: 0, depth: 0, now: None, times: Vec::new() }
    }
}
impl Parser<'_> {
    pub fn parse(&mut self) -> Result<Ast> {
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

    pub fn error(&self, position: usize, detail: &str) -> EngineError {
        EngineError::QuerySyntax {
            query: self.text.to_owned(),
            position,
            detail: detail.to_owned(),
        }
    }

    pub fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub fn look(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    pub fn space(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    pub fn eat(&mut self, wanted: char) -> bool {
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

    /// Consumes an operator word if one is here.
    pub fn operator(&mut self, word: &str) -> bool {
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

    /// `~2` or `~75%` after a group: the number or share of its members that must match. Negated members must not
    /// match and do not count.
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
        if let Some(query) = self.bounds()? {
            return Ok(Ast::Leaf { field: field.map(str::to_owned), query, position });
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

    /// A range, comparison or set without a field of its own: it is that of the group or of the search.
    fn bounds(&mut self) -> Result<Option<FieldQuery>> {
        let start = self.at;
        match self.peek() {
            Some('[' | '{') if self.is_range() => self.range().map(Some),
            Some('<' | '>') if self.is_comparison() => self.comparison().map(Some),
            Some('I') if self.operator("IN") => {
                self.space();
                if self.peek() == Some('[') {
                    return self.set().map(Some);
                }
                self.at = start;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Whether the bracket here is closed after the word `TO`.
    fn is_range(&self) -> bool {
        let inner = self.chars[self.at + 1..].split(|c| matches!(c, ']' | '}')).next();
        let words = inner.unwrap_or_default().split(|c| c.is_whitespace());
        words.skip(1).any(|word| word == ['T', 'O'])
    }

    /// Whether a value follows directly; an arrow or a comparison in a text has none.
    fn is_comparison(&self) -> bool {
        let value = if self.look(1) == Some('=') { self.look(2) } else { self.look(1) };
        value.is_some_and(|c| !c.is_whitespace() && !"<>=()".contains(c))
    }

    fn ends_word(&self, at: usize) -> bool {
        self.chars.get(at).is_none_or(|c| c.is_whitespace() || *c == ')' || *c == '^')
    }

    /// `name:` if it is here; a name has no spaces, quotes or brackets.
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
        let leaf = |query| Ast::Leaf { field: field.map(str::to_owned), query, position };
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
                Ok(leaf(FieldQuery::Exists))
            }
            Some(_) if self.operator("IN") => Ok(leaf(self.set()?)),
            Some(_) => self.value(field, position),
        }
    }
}

fn one_or(mut parts: Vec<Ast>, many: impl Fn(Vec<Ast>) -> Ast) -> Ast {
    if parts.len() == 1 { parts.swap_remove(0) } else { many(parts) }
}
