//! Python interface of `query`.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use pyo3::prelude::*;
use pyo3::types::PyType;
use serde_json::Value;

use crate::error::EngineError;
use crate::python::arrow::{ArrowBatch, import_batch};
use crate::python::errors::run;
use crate::python::value;
use crate::query::{
    Described, Fields, Mode, Node, SearchText, at_time, match_rows, to_query, trigrams_of,
};
use crate::tokenizer;

/// The columns that a query may name; described once, for any number of queries.
#[pyclass(module = "indextables._native", frozen, name = "Fields")]
pub struct PyFields {
    known: Fields,
}

#[pymethods]
impl PyFields {
    #[new]
    fn new(py: Python<'_>, described: &Bound<'_, PyAny>) -> PyResult<Self> {
        let described = value::from_python(described)?;
        run(py, || Ok(Self { known: Fields::from_value(described)? }))
    }
}

/// A query tree, built once per scan and run on every split of it.
#[pyclass(module = "indextables._native", frozen, eq, name = "Query")]
#[derive(PartialEq)]
pub struct PyQuery {
    pub node: Node,
}

#[pymethods]
impl PyQuery {
    #[new]
    fn new(py: Python<'_>, tree: &Bound<'_, PyAny>) -> PyResult<Self> {
        let tree = value::from_python(tree)?;
        run(py, || Ok(Self { node: Node::from_value(tree)? }))
    }

    /// The query of a text in the query language, over described fields.
    #[staticmethod]
    #[pyo3(signature = (text, fields, default_fields=Vec::new(), mode="any"))]
    fn parse(
        py: Python<'_>,
        text: &str,
        fields: &PyFields,
        default_fields: Vec<String>,
        mode: &str,
    ) -> PyResult<Self> {
        run(py, || {
            let mode: Mode = serde_json::from_value(Value::String(mode.to_owned()))
                .map_err(|e| EngineError::bad_query(e.to_string()))?;
            Ok(Self { node: SearchText::from(text).lower(&fields.known, &default_fields, mode)? })
        })
    }

    /// The query of what a person types: words, quoted phrases and `-word`.
    #[staticmethod]
    fn plain(text: &str) -> String {
        to_query(text)
    }

    /// A query text with times relative to now replaced by those of this one, in microseconds since 1970.
    #[staticmethod]
    fn at_time(text: &str, now: i64) -> String {
        at_time(text, now)
    }

    /// The rows of a batch that the query finds, without an index: one boolean column.
    fn match_rows(
        &self,
        batch: &Bound<'_, PyAny>,
        fields: &Bound<'_, PyAny>,
    ) -> PyResult<ArrowBatch> {
        let rows = import_batch(batch)?;
        let fields = value::from_python(fields)?;
        run(batch.py(), || {
            let found = match_rows(&rows, &self.node, &Described::list(fields)?)?;
            let column: ArrayRef = Arc::new(found);
            Ok(ArrowBatch::new(RecordBatch::try_from_iter([("found", column)])?))
        })
    }

    #[getter]
    fn tree<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tree = run(py, || Ok(serde_json::to_value(&self.node)?))?;
        value::to_python(py, &tree)
    }

    #[getter]
    fn is_lookup(&self) -> bool {
        self.node.is_lookup()
    }

    /// Whether trigrams narrow it: a pattern with at least three known characters.
    #[getter]
    fn has_trigrams(&self) -> bool {
        !trigrams_of(&self.node).is_empty()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Query({})", self.tree(py)?.repr()?))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyAny>,))> {
        Ok((py.get_type::<Self>(), (self.tree(py)?,)))
    }
}

/// The tokens that a tokenizer makes of each text of a batch's only column.
#[pyfunction]
fn analyze(tokenizer: &str, batch: &Bound<'_, PyAny>) -> PyResult<ArrowBatch> {
    let texts = import_batch(batch)?;
    run(batch.py(), || {
        let tokens: ArrayRef = Arc::new(tokenizer::analyze(tokenizer, texts.column(0))?);
        Ok(ArrowBatch::new(RecordBatch::try_from_iter([("tokens", tokens)])?))
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(analyze, module)?)?;
    module.add_class::<PyFields>()?;
    module.add_class::<PyQuery>()
}
