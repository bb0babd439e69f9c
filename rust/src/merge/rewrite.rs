//! Rewrites splits that are indexed differently as one split.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use tantivy::schema::FieldType;

use crate::cancel::Cancel;
use crate::error::{At, Result};
use crate::merge::input::OpenInput;
use crate::open::Split;
use crate::query::Node;
use crate::search::{Options, search};
use crate::source::Source;
use crate::split::Encoding;
use crate::texts::inward_schema;
use crate::write::{Facts, FieldSpec, Role, SplitWriter, WriteOptions};

/// How the splits of the table are written.
pub struct Target {
    pub schema: SchemaRef,
    pub fields: Vec<FieldSpec>,
    /// The columns are reindexed, so rows are always rewritten.
    pub rewrite: bool,
}

/// A writer of the rows of all inputs, in order and without the deleted ones.
pub fn rewrite(
    open: Vec<OpenInput>,
    target: &Target,
    source: Option<&Arc<Source>>,
    options: &WriteOptions,
    cancel: &Cancel,
) -> Result<SplitWriter> {
    let mut writer =
        SplitWriter::new(target.schema.clone(), target.fields.clone(), options.clone())?;
    for field in target.schema.fields() {
        let mut facts = known_facts(&open, field.name(), target.rewrite);
        let spec = target.fields.iter().find(|spec| spec.name == *field.name());
        if target.rewrite && spec.is_some_and(|spec| parses(spec.role)) {
            // which of its texts parse is known only when they are read
            (facts.inexact, facts.not_utf8) = (true, true);
        }
        writer.expect(field.name(), &facts);
    }
    for input in open {
        let path = input.path.clone();
        copy_rows(input, target, source, &mut writer, cancel).at(&path)?;
    }
    Ok(writer)
}

fn copy_rows(
    input: OpenInput,
    target: &Target,
    source: Option<&Arc<Source>>,
    writer: &mut SplitWriter,
    cancel: &Cancel,
) -> Result<()> {
    let mut deleted = Vec::new();
    input.deleted.serialize_into(&mut deleted)?;
    let split = Split::from_directory(
        input.directory,
        &input.path,
        Some(&deleted),
        Some(target.schema.as_ref()),
        source.cloned(),
    )?;
    let schema = inward_schema(&target.schema);
    let rows = search(&Arc::new(split), &Node::All, schema, &Options::default())?;
    for batch in rows {
        cancel.check()?;
        writer.write(&batch?)?;
    }
    Ok(())
}

/// Whether strings are stored as parsed values, apart from those that cannot be parsed.
fn parses(role: Role) -> bool {
    matches!(role, Role::Json | Role::Ip)
}

/// What the inputs record about the values of a column, before they are read: the first batch determines the
/// encoding, which must fit the others, too. `reindexed`: the column may get another role.
fn known_facts(open: &[OpenInput], column: &str, reindexed: bool) -> Facts {
    let mut facts = Facts::default();
    for input in open {
        let schema = input.index.schema();
        let Some(sidecar) = &input.sidecar else {
            // splits of other writers do not record the lengths of their strings
            facts.overlong = true;
            continue;
        };
        let Some(column) = sidecar.column(column) else { continue };
        // of parsed texts only the lengths of their parts are recorded
        let parsed = matches!(column.encoding, Encoding::Json | Encoding::Ip);
        facts.overlong |= column.overlong || (reindexed && parsed);
        let source = column.source.as_deref().and_then(|name| schema.get_field(name).ok());
        let entry = source.map(|field| schema.get_field_entry(field).field_type());
        let kept = !reindexed && column.encoding == Encoding::StringBytes;
        facts.inexact |= source.is_some() && !kept;
        facts.not_utf8 |= matches!(entry, Some(FieldType::Bytes(_)));
        facts.beyond_dates |= matches!(column.encoding, Encoding::DaysI64 | Encoding::MicrosI64);
    }
    facts
}
