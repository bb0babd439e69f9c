//! Python interface of `open`, `search` and `query`.

use std::sync::{Arc, Mutex};

use arrow::array::RecordBatchIterator;
use arrow::datatypes::SchemaRef;
use pyo3::prelude::*;

use crate::aggregate::{self, Request};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::inspect;
use crate::open::Split;
use crate::prewarm;
use crate::profile::{self, Section};
use crate::python::arrow::{ArrowStream, import_schema};
use crate::python::errors::{run_checking, run_interruptible, run_waiting};
use crate::python::query::PyQuery;
use crate::python::source::PySource;
use crate::python::store::PyStore;
use crate::python::value::{from_python, shown};
use crate::query::Node;
use crate::search::{self, Options};
use crate::store::lock;
use crate::texts::inward_schema;

/// A split that is open for reading.
#[pyclass(module = "indextables._native", frozen, name = "Split")]
pub struct PySplit {
    split: Arc<Split>,
    /// Of the last search: most searches of a split have one schema.
    schema: Mutex<Option<KnownSchema>>,
}

/// A schema of pyarrow, which never changes, as declared and as the engine has it inside.
struct KnownSchema {
    object: Py<PyAny>,
    declared: SchemaRef,
    inward: SchemaRef,
}

impl PySplit {
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> Result<T> + Send,
    ) -> PyResult<T> {
        run_waiting(py, self.split.directory.is_remote(), work)
    }

    /// The schema of a search as declared, and as the engine has it inside.
    fn schemas(&self, schema: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, SchemaRef)> {
        let known = |known: &KnownSchema| (known.declared.clone(), known.inward.clone());
        if let Some(last) = &*lock(&self.schema)
            && last.object.is(schema)
        {
            return Ok(known(last));
        }
        let declared = import_schema(schema)?;
        let inward = inward_schema(&declared);
        let read = KnownSchema { object: schema.clone().unbind(), declared, inward };
        let found = known(&read);
        // what it replaces is dropped without the lock: that may run Python
        let before = lock(&self.schema).replace(read);
        drop(before);
        Ok(found)
    }
}

#[pymethods]
impl PySplit {
    #[new]
    #[pyo3(signature = (store, path, footer=None, deleted=None, schema=None, source=None))]
    fn new(
        py: Python<'_>,
        store: &PyStore,
        path: &str,
        footer: Option<(u64, u64)>,
        deleted: Option<Vec<u8>>,
        schema: Option<&Bound<'_, PyAny>>,
        source: Option<&Bound<'_, PySource>>,
    ) -> PyResult<Self> {
        let schema = schema.map(import_schema).transpose()?;
        let store = &store.store;
        let source = source.map(|source| source.get().source.clone());
        let _timer = profile::start(Section::OpenSplit);
        // the rows of a companion are in another store
        let remote = store.is_remote() || source.is_some();
        let split = run_waiting(py, remote, || {
            Split::open(store, path, footer, deleted.as_deref(), schema.as_deref(), source)
        })?;
        Ok(Self { split: Arc::new(split), schema: Mutex::default() })
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
        self.wait(py, || search::count(&self.split, &query.node))
    }

    #[pyo3(signature = (query, schema, *, limit=None, order=None, batch_rows=None, snippet=None, statistics=None))]
    fn search(
        &self,
        query: &PyQuery,
        schema: &Bound<'_, PyAny>,
        limit: Option<usize>,
        order: Option<&Bound<'_, PyAny>>,
        batch_rows: Option<usize>,
        snippet: Option<&Bound<'_, PyAny>>,
        statistics: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ArrowStream> {
        let py = schema.py();
        let order = order.map(from_python).transpose()?;
        let snippet = snippet.map(from_python).transpose()?;
        let statistics = statistics.map(from_python).transpose()?;
        let (schema, inward) = self.schemas(schema)?;
        let _timer = profile::start(Section::Search);
        let stream = self.wait(py, || {
            let options = Options::new(limit, order, batch_rows, snippet, statistics)?;
            search::search(&self.split, &query.node, inward, &options)
        })?;
        Ok(ArrowStream::declared(stream, schema).waiting(self.split.directory.is_remote()))
    }

    /// The statistics of live rows that scores need, for the words of these queries.
    fn statistics<'py>(
        &self,
        py: Python<'py>,
        queries: Vec<PyRef<'py, PyQuery>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let nodes: Vec<Node> = queries.iter().map(|query| query.node.clone()).collect();
        shown(py, &self.wait(py, || search::gather_statistics(&self.split, &nodes))?)
    }

    /// Words of a column that begin like the last word of a text, with the number of their rows.
    fn complete(
        &self,
        py: Python<'_>,
        field: &str,
        text: &str,
        limit: usize,
    ) -> PyResult<Vec<(String, u64)>> {
        self.wait(py, || search::complete(&self.split, field, text, limit))
    }

    /// Words of a column that are at most so many edits away from the last word of a text.
    fn similar(
        &self,
        py: Python<'_>,
        field: &str,
        text: &str,
        distance: u8,
        limit: usize,
    ) -> PyResult<Vec<(String, u64)>> {
        self.wait(py, || search::similar(&self.split, field, text, distance, limit))
    }

    /// The number of rows that have each of some words of a column.
    fn frequencies(&self, py: Python<'_>, field: &str, words: Vec<String>) -> PyResult<Vec<u64>> {
        self.wait(py, || search::frequencies(&self.split, field, &words))
    }

    /// Where the score of a row comes from: the tree of the query, with the points of each part.
    #[pyo3(signature = (query, row, statistics=None))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        query: &PyQuery,
        row: u32,
        statistics: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let statistics = statistics.map(from_python).transpose()?;
        let found = self.wait(py, || {
            let options = Options::new(None, None, None, None, statistics)?;
            search::explain(&options.scoring(&self.split), &query.node, row)
        })?;
        shown(py, &found)
    }

    /// Counts, columns, document mapping and files.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shown(py, &self.wait(py, || inspect::describe(&self.split))?)
    }

    /// The bytes of every component.
    fn components<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shown(py, &self.wait(py, || inspect::components(&self.split))?)
    }

    /// Loads parts of fields into the caches: bytes, and the fields that the split does not have.
    fn prewarm(
        &self,
        py: Python<'_>,
        parts: Vec<String>,
        fields: Vec<String>,
    ) -> PyResult<(u64, Vec<String>)> {
        let loaded = self.wait(py, || prewarm::prewarm(&self.split, &parts, &fields))?;
        Ok((loaded.bytes, loaded.missing))
    }

    /// Verifies the bytes of a split: damaged files and their problems.
    #[staticmethod]
    fn verify(py: Python<'_>, store: &PyStore, path: &str) -> PyResult<Vec<(String, String)>> {
        run_waiting(py, store.store.is_remote(), || inspect::verify(&store.store, path))
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
        let work = |cancel: &Cancel| {
            let request = Request::from_value(request)?;
            let inside = inward_schema(&schema);
            aggregate::aggregate(&self.split, &query.node, &request, &inside, cancel)
        };
        // the rows of a companion may lie in a remote store
        let batch = if self.split.directory.is_remote() || self.split.source.is_some() {
            let cancel = Cancel::inner();
            run_interruptible(py, &cancel, || work(&cancel))
        } else {
            run_checking(py, work)
        }?;
        let batches = RecordBatchIterator::new([Ok(batch)], schema.clone());
        Ok(ArrowStream::declared(Box::new(batches), schema))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PySplit>()
}
