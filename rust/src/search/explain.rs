//! Explains the score of one row.

use serde_json::{Value, json};
use tantivy::DocId;

use super::score::Scoring;
use crate::error::{EngineError, Result};
use crate::query::{Node, build};

/// The tree of a query with the score of each part for the row; a part that does not match has none.
pub fn explain(scoring: &Scoring, node: &Node, row: u32) -> Result<Value> {
    let segments = &scoring.split.segments;
    let segment = segments.iter().rposition(|s| s.base <= row).unwrap_or(0);
    let doc = row - segments[segment].base;
    if doc >= segments[segment].reader.max_doc() {
        return Err(EngineError::bad_query(format!("the split has no row {row}")));
    }
    part(scoring, segment, doc, node)
}

fn part(scoring: &Scoring, segment: usize, doc: DocId, node: &Node) -> Result<Value> {
    let parts = |args: &[Node]| {
        args.iter().map(|arg| part(scoring, segment, doc, arg)).collect::<Result<Vec<_>>>()
    };
    let sum = |parts: &[Value]| parts.iter().filter_map(|p| p["score"].as_f64()).sum::<f64>();
    let matches = |part: &Value| !part["score"].is_null();
    Ok(match node {
        Node::All => json!({"what": "every row", "score": 0.0}),
        Node::None => json!({"what": "no row", "score": null}),
        Node::And { args } => {
            let parts = parts(args)?;
            let score = parts.iter().all(matches).then(|| sum(&parts));
            json!({"what": "all of", "score": score, "parts": parts})
        }
        Node::Or { args } => {
            let parts = parts(args)?;
            let score = parts.iter().any(matches).then(|| sum(&parts));
            json!({"what": "any of", "score": score, "parts": parts})
        }
        Node::Not { arg } => {
            let inner = part(scoring, segment, doc, arg)?;
            let score = (!matches(&inner)).then_some(0.0);
            json!({"what": "not", "score": score, "parts": [inner]})
        }
        Node::Boost { arg, boost } => {
            let inner = part(scoring, segment, doc, arg)?;
            let score = inner["score"].as_f64().map(|score| score * f64::from(*boost));
            json!({"what": format!("times {boost}"), "score": score, "parts": [inner]})
        }
        Node::Constant { arg, score } => {
            let inner = part(scoring, segment, doc, arg)?;
            let score = matches(&inner).then_some(*score);
            json!({"what": "constant", "score": score, "parts": [inner]})
        }
        Node::AtLeast { args, count } => {
            let parts = parts(args)?;
            let found = parts.iter().filter(|part| matches(part)).count();
            let score = (found >= *count).then(|| sum(&parts));
            json!({"what": format!("at least {count} of"), "score": score, "parts": parts})
        }
        Node::Search { query, fields, mode } => {
            part(scoring, segment, doc, &query.lower(scoring.split.fields(), fields, *mode)?)?
        }
        leaf => leaf_part(scoring, segment, doc, leaf)?,
    })
}

fn leaf_part(scoring: &Scoring, segment: usize, doc: DocId, leaf: &Node) -> Result<Value> {
    let reader = &scoring.split.segments[segment].reader;
    let weight = scoring.weight(build(&scoring.split, leaf, true)?.as_ref())?;
    let mut scorer = weight.scorer(reader, 1.0)?;
    if scorer.doc() < doc {
        scorer.seek(doc);
    }
    let what = serde_json::to_value(leaf)?;
    if scorer.doc() != doc {
        return Ok(json!({"what": what, "score": null}));
    }
    let score = f64::from(scorer.score());
    if !matches!(leaf, Node::TokenTerm { .. } | Node::Phrase { .. }) {
        return Ok(json!({"what": what, "score": score}));
    }
    let details: Value = serde_json::from_str(&weight.explain(reader, doc)?.to_pretty_json())?;
    Ok(json!({"what": what, "score": score, "details": details}))
}
