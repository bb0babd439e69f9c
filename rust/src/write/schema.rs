//! Columns to a tantivy schema.

use tantivy::schema::{
    BytesOptions, DateOptions, DateTimePrecision, IndexRecordOption, IpAddrOptions,
    JsonObjectOptions, NumericOptions, Schema, SchemaBuilder, TextFieldIndexing, TextOptions,
};

use crate::error::Result;
use crate::split::{Encoding, Layout, TRIGRAMS_PREFIX};
use crate::tokenizer::TRIGRAMS;
use crate::write::column::{Column, Facts};
use crate::write::options::{JsonMode, Record};

/// How a column becomes a field.
#[derive(Debug, Clone)]
pub struct FieldPlan {
    pub encoding: Encoding,
    pub fast: bool,
    pub stored: bool,
    pub indexed: bool,
    /// Name of the field with exact strings, when it is needed.
    pub source: Option<String>,
    /// Exact strings are bytes: some are not UTF-8.
    pub source_bytes: bool,
    /// Name of the field with the trigrams of every value, if it is wanted.
    pub trigrams: Option<String>,
    /// Values that the field cannot reproduce are read from the source files.
    companion: bool,
}

/// Prefix of fields that hold the exact strings of a column.
pub const SOURCE_PREFIX: &str = "_indextables_source.";

impl FieldPlan {
    /// Follows the layout where the specification is silent.
    pub fn new(column: &Column, layout: Layout, facts: &Facts) -> Self {
        use Encoding as E;
        let encoding = column.encoding_for(facts);
        let spec = &column.spec;
        let is_object = encoding.is_object();
        let minimal = is_object && spec.json_mode == Some(JsonMode::Minimal);
        let fast = !minimal && !matches!(encoding, E::Text | E::Bytes);
        let lean = layout == Layout::Lean;
        let companion = layout == Layout::Companion;
        // a column that is neither fast nor stored could not be read
        let stored = !lean || is_object || matches!(encoding, E::Text | E::Bytes);
        // equality on floats is rare and a fast column answers it; each value would be a term of its own
        let indexed = match encoding {
            E::F64 | E::F64Decimal => false,
            E::Text | E::Bytes | E::String | E::StringBytes => true,
            // a fast column answers for itself
            _ if companion => is_object || !spec.fast.unwrap_or(fast),
            _ => !lean || is_object,
        };
        let fast = spec.fast.unwrap_or(fast);
        // `stored` and `indexed` can be ruled out; otherwise the layout decides
        let stored = spec.stored != Some(false) && (stored || !fast);
        // what a fast column cannot reproduce exactly must be stored, whatever the options say
        let stored = stored || (fast && (facts.overlong || facts.inexact));
        let stored = if companion { spec.kept == Some(true) } else { stored };
        let exact = facts.inexact && (!companion || stored);
        Self {
            encoding,
            fast,
            stored,
            indexed: indexed && spec.indexed != Some(false),
            source: (exact || encoding == E::StringBytes)
                .then(|| format!("{SOURCE_PREFIX}{}", column.name)),
            source_bytes: facts.not_utf8,
            trigrams: (spec.trigrams && matches!(encoding, E::Text | E::String | E::StringBytes))
                .then(|| format!("{TRIGRAMS_PREFIX}{}", column.name)),
            companion,
        }
    }

    /// Whether the field fits values with these facts.
    pub fn holds(&self, column: &Column, facts: &Facts) -> bool {
        let encoded = match self.encoding {
            Encoding::DaysI64 | Encoding::MicrosI64 | Encoding::StringBytes => true,
            encoding => encoding == column.encoding_for(facts),
        };
        let read_elsewhere = self.companion && !self.stored;
        encoded
            && (read_elsewhere || self.stored || !self.fast || !facts.overlong)
            && (read_elsewhere || self.source.is_some() || !facts.inexact)
            && (self.source_bytes || !facts.not_utf8)
    }
}

/// The schema of these columns, in order, followed by the fields of exact strings and of trigrams.
pub fn build(columns: &[Column], plans: &[FieldPlan]) -> Result<Schema> {
    let mut builder = Schema::builder();
    for (column, plan) in columns.iter().zip(plans) {
        add_field(&mut builder, column, plan)?;
    }
    for plan in plans {
        let Some(source) = plan.source.as_deref() else { continue };
        if plan.encoding == Encoding::StringBytes {
            builder.add_bytes_field(source, bytes(plan));
        } else if plan.source_bytes {
            builder.add_bytes_field(source, BytesOptions::default().set_stored());
        } else {
            builder.add_text_field(source, TextOptions::default().set_stored());
        }
    }
    for name in plans.iter().filter_map(|plan| plan.trigrams.as_deref()) {
        let indexing = indexing(TRIGRAMS, Record::Position, false);
        builder.add_text_field(name, TextOptions::default().set_indexing_options(indexing));
    }
    Ok(builder.build())
}

fn add_field(builder: &mut SchemaBuilder, column: &Column, plan: &FieldPlan) -> Result<()> {
    use Encoding as E;
    let name = column.name.as_str();
    match plan.encoding {
        E::Null => return Ok(()),
        E::Bool => builder.add_bool_field(name, numeric(plan)),
        E::F64 | E::F64Decimal => builder.add_f64_field(name, numeric(plan)),
        E::I64 | E::DecimalI64 | E::DaysI64 | E::MicrosI64 | E::DurationI64 => {
            builder.add_i64_field(name, numeric(plan))
        }
        E::Date | E::Timestamp => builder.add_date_field(name, date(plan)),
        E::Ip => builder.add_ip_addr_field(name, ip(plan)),
        E::Bytes | E::DecimalBytes => builder.add_bytes_field(name, bytes(plan)),
        E::String | E::StringBytes => {
            let indexing = indexing("raw", column.spec.record.unwrap_or(Record::Basic), false);
            builder.add_text_field(name, text(plan, indexing))
        }
        E::Text => {
            let tokenizer = column.spec.tokenizer("default")?;
            let record = column.spec.record.unwrap_or(Record::Position);
            builder.add_text_field(name, text(plan, indexing(&tokenizer, record, true)))
        }
        E::Json | E::Struct | E::List | E::Map => {
            let tokenizer = column.spec.tokenizer("raw")?;
            let record = column.spec.record.unwrap_or(Record::Basic);
            builder.add_json_field(name, object(plan, indexing(&tokenizer, record, false)))
        }
    };
    Ok(())
}

fn indexing(tokenizer: &str, record: Record, norms: bool) -> TextFieldIndexing {
    TextFieldIndexing::default()
        .set_tokenizer(tokenizer)
        .set_index_option(IndexRecordOption::from(record))
        .set_fieldnorms(norms)
}

fn numeric(plan: &FieldPlan) -> NumericOptions {
    let options = NumericOptions::default();
    let options = if plan.indexed { options.set_indexed() } else { options };
    let options = if plan.fast { options.set_fast() } else { options };
    if plan.stored { options.set_stored() } else { options }
}

fn date(plan: &FieldPlan) -> DateOptions {
    let options = DateOptions::default().set_precision(DateTimePrecision::Microseconds);
    let options = if plan.indexed { options.set_indexed() } else { options };
    let options = if plan.fast { options.set_fast() } else { options };
    if plan.stored { options.set_stored() } else { options }
}

fn ip(plan: &FieldPlan) -> IpAddrOptions {
    let options = IpAddrOptions::default();
    let options = if plan.indexed { options.set_indexed() } else { options };
    let options = if plan.fast { options.set_fast() } else { options };
    if plan.stored { options.set_stored() } else { options }
}

fn bytes(plan: &FieldPlan) -> BytesOptions {
    let options = BytesOptions::default();
    let options = if plan.indexed { options.set_indexed() } else { options };
    let options = if plan.fast { options.set_fast() } else { options };
    if plan.stored { options.set_stored() } else { options }
}

fn text(plan: &FieldPlan, indexing: TextFieldIndexing) -> TextOptions {
    let options = TextOptions::default();
    let options = if plan.indexed { options.set_indexing_options(indexing) } else { options };
    let options = if plan.fast { options.set_fast("raw") } else { options };
    if plan.stored { options.set_stored() } else { options }
}

fn object(plan: &FieldPlan, indexing: TextFieldIndexing) -> JsonObjectOptions {
    let options = JsonObjectOptions::default();
    let options = if plan.indexed { options.set_indexing_options(indexing) } else { options };
    let options = if plan.fast { options.set_fast("raw") } else { options };
    if plan.stored { options.set_stored() } else { options }
}
