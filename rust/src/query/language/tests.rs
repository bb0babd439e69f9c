//! Forms of the query language, and texts that are not queries.

use proptest::prelude::*;

use super::*;
use crate::error::EngineError;

fn word(text: &str, position: usize) -> Ast {
    Ast::Leaf { field: None, query: FieldQuery::Word(text.to_owned()), position }
}

fn query(text: &str) -> Option<FieldQuery> {
    match parse(text) {
        Ok(Ast::Leaf { query, .. }) => Some(query),
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
    let fuzzy = |s: &str, distance, prefix| FieldQuery::Fuzzy { word: text(s), distance, prefix };
    assert_eq!(
        query(r#""a b"~2"#),
        Some(FieldQuery::Phrase { text: text("a b"), slop: 2, prefix: false })
    );
    assert_eq!(
        query(r#""a b"*"#),
        Some(FieldQuery::Phrase { text: text("a b"), slop: 0, prefix: true })
    );
    assert_eq!(query("'a b'"), Some(FieldQuery::Words(text("a b"))));
    assert_eq!(query("te?t*"), Some(FieldQuery::Wildcard(text("te?t*"))));
    assert_eq!(query(r"a\*b"), Some(FieldQuery::Word(text("a*b"))));
    assert_eq!(query("/a.c/"), Some(FieldQuery::Regex(text("a.c"))));
    assert_eq!(query("word~2"), Some(fuzzy("word", 2, 0)));
    assert_eq!(query("word~2,3"), Some(fuzzy("word", 2, 3)));
    assert_eq!(query("word~,4"), Some(fuzzy("word", 1, 4)));
    assert_eq!(query("f: IN [a \"b c\"]"), Some(FieldQuery::Set(vec![text("a"), text("b c")])));
    assert_eq!(query("f:*"), Some(FieldQuery::Exists));
    assert_eq!(
        query("f:[a TO b}"),
        Some(FieldQuery::Range { lower: Some((text("a"), true)), upper: Some((text("b"), false)) })
    );
    assert_eq!(
        query("ts:[* TO 2024-01-01T10:00:00Z]"),
        Some(FieldQuery::Range { lower: None, upper: Some((text("2024-01-01T10:00:00Z"), true)) })
    );
    assert_eq!(
        query("f:>=5"),
        Some(FieldQuery::Range { lower: Some((text("5"), true)), upper: None })
    );
    assert_eq!(parse("*").ok(), Some(Ast::All));
    assert!(matches!(parse("a^2.5"), Ok(Ast::Boost(_, 2.5))));
    assert!(matches!(parse("(a OR b)^=1.5"), Ok(Ast::Constant(_, 1.5))));
}

#[test]
fn bounds_need_no_field() -> Result<()> {
    let text = |s: &str| s.to_owned();
    let range = |lower: Option<(&str, bool)>, upper: Option<(&str, bool)>| {
        let end = |end: Option<(&str, bool)>| end.map(|(value, within)| (text(value), within));
        Some(FieldQuery::Range { lower: end(lower), upper: end(upper) })
    };
    assert_eq!(query("[1 TO 5}"), range(Some(("1", true)), Some(("5", false))));
    assert_eq!(query("{a TO *]"), range(Some(("a", false)), None));
    assert_eq!(query(">=100"), range(Some(("100", true)), None));
    assert_eq!(query("<2024-01-01"), range(None, Some(("2024-01-01", false))));
    assert_eq!(query("IN [a \"b c\"]"), Some(FieldQuery::Set(vec![text("a"), text("b c")])));
    let grouped = Ast::Or(vec![
        Ast::Leaf { field: Some(text("f")), query: FieldQuery::Word(text("x")), position: 3 },
        Ast::Leaf {
            field: Some(text("f")),
            query: FieldQuery::Range { lower: Some((text("5"), false)), upper: None },
            position: 8,
        },
    ]);
    assert_eq!(parse("f:(x OR >5)")?, grouped);
    for words in ["a -> b", "a => b", "a > b", "IN"] {
        assert!(!format!("{:?}", parse(words)?).contains("Range"), "{words}");
    }
    assert!(matches!(parse("{a, b}:x"), Ok(Ast::Within { .. })));
    assert_eq!(position("[ERROR] x"), Some(0));
    Ok(())
}

#[test]
fn a_group_may_ask_for_some_of_its_members() {
    for text in ["(a b c)~2", "(a OR b OR c)~2", "(a b c)~67%"] {
        let Ok(Ast::AtLeast(parts, 2)) = parse(text) else { panic!("{text}") };
        assert_eq!(parts.len(), 3, "{text}");
    }
    let Ok(Ast::And(parts)) = parse("(a b -c)~1") else { panic!("negated members") };
    assert!(matches!(&parts[..], [Ast::AtLeast(counted, 1), Ast::Not(_)] if counted.len() == 2));
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
        query: FieldQuery::Word(text.to_owned()),
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
