//! Python face of `open`, `search` and `query`.

use std::sync::Arc;

use arrow::array::RecordBatchIterator;
use pyo3::prelude::*;

use crate::aggregate::{self, Request};
use crate::cancel::Cancel;
use crate::inspect;
use crate::open::Split;
use crate::prewarm;
use crate::profile::{self, Section};
use crate::python::arrow::{ArrowStream, import_schema};
use crate::python::errors::{run, run_interruptible};
use crate::python::query::PyQuery;
use crate::python::store::PyStore;
use crate::python::value::from_python;
use crate::search::{self, Options};
use crate::texts::inward_schema;

/// A split that is open for reading.
#[pyclass(module = "indextables._native", frozen, name = "Split")]
pub struct PySplit {
    split: Arc<Split>,
}

#[pymethods]
impl PySplit {
    #[new]
    #[pyo3(signature = (store, path, footer=None, deleted=None, schema=None))]
    fn new(
        py: Python<'_>,
        store: &PyStore,
        path: &str,
        footer: Option<(u64, u64)>,
        deleted: Option<Vec<u8>>,
        schema: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let schema = schema.map(import_schema).transpose()?;
        let store = &store.store;
        let _timer = profile::start(Section::OpenSplit);
        let split =
            run(py, || Split::open(store, path, footer, deleted.as_deref(), schema.as_deref()))?;
        Ok(Self { split: Arc::new(split) })
    }

    #[getter]
    fn num_docs(&self) -> u64 {
        self.split.num_docs()
    }

    #[getter]
    fn num_deleted(&self) -> u64 {
        self.split.num_deleted()
    }

    fn count(&self, py: Python<'_>, query: &PyQuery) -> PyResult<u64> {
        let _timer = profile::start(Section::Count);
        run(py, || search::count(&self.split, &query.node))
    }

    #[pyo3(signature = (query, schema, *, limit=None, order=None, batch_rows=None, snippet=None))]
    fn search(
        &self,
        query: &PyQuery,
        schema: &Bound<'_, PyAny>,
        limit: Option<usize>,
        order: Option<&Bound<'_, PyAny>>,
        batch_rows: Option<usize>,
        snippet: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ArrowStream> {
        let py = schema.py();
        let order = order.map(from_python).transpose()?;
        let snippet = snippet.map(from_python).transpose()?;
        let schema = import_schema(schema)?;
        let _timer = profile::start(Section::Search);
        let stream = run(py, || {
            let options = Options::new(limit, order, batch_rows, snippet)?;
            search::search(&self.split, &query.node, inward_schema(&schema), &options)
        })?;
        Ok(ArrowStream::declared(stream, schema))
    }

    /// Counts, columns, files and component sizes, as JSON.
    fn describe(&self, py: Python<'_>) -> PyResult<String> {
        run(py, || Ok(inspect::describe(&self.split)?.to_string()))
    }

    /// Loads parts of fields into the caches; what was loaded, as JSON.
    fn prewarm(&self, py: Python<'_>, parts: Vec<String>, fields: Vec<String>) -> PyResult<String> {
        run(py, || Ok(serde_json::to_string(&prewarm::prewarm(&self.split, &parts, &fields)?)?))
    }

    /// What is wrong with the bytes of a split, as a JSON list.
    #[staticmethod]
    fn verify(py: Python<'_>, store: &PyStore, path: &str) -> PyResult<String> {
        run(py, || Ok(serde_json::to_string(&inspect::verify(&store.store, path)?)?))
    }

    /// Group keys, then functions, of the matching rows, in exactly this schema.
    fn aggregate(
        &self,
        query: &PyQuery,
        request: &Bound<'_, PyAny>,
        schema: &Bound<'_, PyAny>,
    ) -> PyResult<ArrowStream> {
        let py = schema.py();
        let request = from_python(request)?;
        let schema = import_schema(schema)?;
        let _timer = profile::start(Section::Aggregate);
        let cancel = Cancel::default();
        let batch = run_interruptible(py, &cancel, || {
            let request = Request::from_value(request)?;
            let inside = inward_schema(&schema);
            aggregate::aggregate(&self.split, &query.node, &request, &inside, &cancel)
        })?;
        let batches = RecordBatchIterator::new([Ok(batch)], schema.clone());
        Ok(ArrowStream::declared(Box::new(batches), schema))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PySplit>()
}
