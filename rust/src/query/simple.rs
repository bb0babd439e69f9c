//! Free text from a search box: words, "quoted phrases" and -excluded ones. Every text is valid.

/// The query of such a text: all words and phrases must match, except those after a minus. Punctuation on its own
/// is ignored, and an empty text finds nothing.
pub fn to_query(text: &str) -> String {
    let pieces = pieces(text);
    let spoken = |piece: &Piece<'_>| piece.text.contains(char::is_alphanumeric);
    let any_spoken = pieces.iter().any(spoken);
    let searched = pieces.iter().filter(|piece| !any_spoken || spoken(piece));
    let query: Vec<String> = searched.map(Piece::render).collect();
    if query.is_empty() { "-*".to_owned() } else { query.join(" ") }
}

struct Piece<'a> {
    text: &'a str,
    quoted: bool,
    excluded: bool,
}

impl Piece<'_> {
    /// The piece in the query language, with special characters escaped.
    fn render(&self) -> String {
        let mut out = String::from(if self.excluded { "-" } else { "" });
        if self.quoted {
            out.push('"');
            out.push_str(&self.text.replace('\\', "\\\\"));
            out.push('"');
            return out;
        }
        for (at, c) in self.text.chars().enumerate() {
            // leading capital letters might be an operator
            if !(c.is_alphanumeric() || c == '_') || (at == 0 && c.is_ascii_uppercase()) {
                out.push('\\');
            }
            out.push(c);
        }
        out
    }
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(skip) = text[at..].find(|c: char| !c.is_whitespace()) {
        at += skip;
        let rest = &text[at..];
        let body = rest.strip_prefix('-').filter(|body| starts_piece(body));
        let excluded = body.is_some();
        let body = body.unwrap_or(rest);
        let begin = at + rest.len() - body.len();
        let (piece, quoted, end) = match body.strip_prefix('"') {
            // an unclosed quote extends to the end
            Some(inner) => {
                let length = inner.find('"').unwrap_or(inner.len());
                (&inner[..length], true, begin + 1 + (length + 1).min(inner.len()))
            }
            None => {
                let length = body.find(char::is_whitespace).unwrap_or(body.len());
                (&body[..length], false, begin + length)
            }
        };
        at = end;
        if !piece.trim().is_empty() {
            found.push(Piece { text: piece, quoted, excluded });
        }
    }
    found
}

fn starts_piece(body: &str) -> bool {
    body.starts_with(|c: char| !c.is_whitespace() && c != '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::language::{Ast, FieldQuery, parse};
    use proptest::prelude::*;

    /// The parts of a text as `word`, `"phrase"` or `-word`.
    fn shown(text: &str) -> Vec<String> {
        let leaf = |ast: &Ast| match ast {
            Ast::Leaf { field: None, query: FieldQuery::Word(word), .. } => word.clone(),
            Ast::Leaf { field: None, query: FieldQuery::Phrase { text, .. }, .. } => {
                format!("\"{text}\"")
            }
            other => format!("{other:?}"),
        };
        let part = |part: &Ast| match part {
            Ast::Not(inner) => format!("-{}", leaf(inner)),
            part => leaf(part),
        };
        match parse(&to_query(text)) {
            Ok(Ast::And(parts)) => parts.iter().map(part).collect(),
            Ok(one) => vec![part(&one)],
            Err(error) => vec![error.to_string()],
        }
    }

    #[test]
    fn words_phrases_and_exclusions() {
        assert_eq!(shown("disk full"), ["disk", "full"]);
        assert_eq!(shown("a -b \"c d\" -\"e f\""), ["a", "-b", "\"c d\"", "-\"e f\""]);
        assert_eq!(
            shown("error: (disk && full) OR C++"),
            ["error:", "(disk", "full)", "OR", "C++"]
        );
        assert_eq!(shown("open \"quote \\here"), ["open", "\"quote \\here\""]);
        assert_eq!(shown("a - b --c \"\""), ["a", "b", "--c"]);
        assert_eq!(shown("!!!"), ["!!!"]);
        assert_eq!(to_query("  "), "-*");
    }

    proptest! {
        #[test]
        fn every_text_has_a_meaning(text in "(\\PC|[ \"\\-a-zA-Z:()*?/^~]){0,40}") {
            let query = to_query(&text);
            prop_assert!(parse(&query).is_ok(), "{}", query);
        }
    }
}
