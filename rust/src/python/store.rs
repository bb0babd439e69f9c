//! Python interface of `store`.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::cancel::Cancel;
use crate::error::{EngineError, Result};
use crate::python::errors::{run, run_waiting, to_python};
use crate::store::{self, Counters, Listing, Meta, Request, Store, lock};

/// Path, size, age in milliseconds since 1970, tag and, of a local file, its last change in nanoseconds.
type ObjectMeta = (String, u64, i64, Option<String>, Option<i64>);

fn given(meta: Meta) -> ObjectMeta {
    (meta.path, meta.size, meta.modified_ms, meta.e_tag, meta.changed_ns)
}

/// A place that holds the files of a table.
#[pyclass(module = "indextables._native", frozen, name = "Store")]
pub struct PyStore {
    pub store: Store,
}

impl PyStore {
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> Result<T> + Send,
    ) -> PyResult<T> {
        run_waiting(py, self.store.is_remote(), work)
    }
}

#[pymethods]
impl PyStore {
    #[new]
    #[pyo3(signature = (url, options=""))]
    fn new(py: Python<'_>, url: &str, options: &str) -> PyResult<Self> {
        let store = Store::open(url, options).map_err(|e| to_python(py, &e))?;
        Ok(Self { store })
    }

    #[getter]
    fn url(&self) -> &str {
        self.store.url()
    }

    #[getter]
    fn is_remote(&self) -> bool {
        self.store.is_remote()
    }

    #[getter]
    fn has_folders(&self) -> bool {
        self.store.has_folders()
    }

    fn find<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let found = self.wait(py, || self.store.find(path))?;
        Ok(found.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn find_all<'py>(
        &self,
        py: Python<'py>,
        paths: Vec<String>,
        at_once: usize,
    ) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let found = self.wait(py, || self.store.find_all(&paths, at_once))?;
        Ok(found.into_iter().map(|each| each.map(|bytes| PyBytes::new(py, &bytes))).collect())
    }

    fn get_ranges<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        ranges: Vec<(u64, u64)>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let ranges: Vec<_> = ranges.into_iter().map(|(start, end)| start..end).collect();
        let parts = self.wait(py, || self.store.ranges(path, &ranges))?;
        Ok(parts.iter().map(|part| PyBytes::new(py, part)).collect())
    }

    // an interrupt also waits for the response
    #[pyo3(signature = (path, data, *, if_absent=false))]
    fn put(&self, py: Python<'_>, path: &str, data: &[u8], if_absent: bool) -> PyResult<bool> {
        let bytes = bytes::Bytes::copy_from_slice(data);
        run(py, || match if_absent {
            true => self.store.put_if_absent(path, bytes),
            false => self.store.put(path, bytes).map(|()| true),
        })
    }

    fn head(&self, py: Python<'_>, path: &str) -> PyResult<Option<ObjectMeta>> {
        Ok(self.wait(py, || self.store.head(path))?.map(given))
    }

    #[pyo3(signature = (folder, after=None))]
    fn list(&self, py: Python<'_>, folder: &str, after: Option<&str>) -> PyResult<PyListing> {
        let listing = self.wait(py, || self.store.list(folder, after))?;
        Ok(PyListing { listing: Mutex::new(listing), remote: self.store.is_remote() })
    }

    fn names(&self, py: Python<'_>, folder: &str) -> PyResult<Vec<String>> {
        self.wait(py, || self.store.names(folder))
    }

    fn inside(&self, py: Python<'_>, folder: &str) -> PyResult<(Vec<ObjectMeta>, Vec<String>)> {
        let (files, folders) = self.wait(py, || self.store.inside(folder))?;
        Ok((files.into_iter().map(given).collect(), folders))
    }

    fn delete(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        self.wait(py, || self.store.delete(path))
    }

    fn remove_empty(&self, py: Python<'_>, folder: &str) -> PyResult<()> {
        self.wait(py, || self.store.remove_empty(folder))
    }

    fn counters(&self) -> (Vec<(&'static str, u64)>, u64, u64) {
        counted(self.store.counters())
    }
}

/// Requests by kind, bytes read, bytes written.
fn counted(counters: &Counters) -> (Vec<(&'static str, u64)>, u64, u64) {
    let requests = Request::ALL.iter().map(|&kind| (kind.name(), counters.of(kind))).collect();
    (requests, counters.bytes_read(), counters.bytes_written())
}

/// Pages of a listing, in the order of paths.
#[pyclass(module = "indextables._native", frozen, name = "Listing")]
pub struct PyListing {
    listing: Mutex<Listing>,
    remote: bool,
}

#[pymethods]
impl PyListing {
    fn __iter__(listing: PyRef<'_, Self>) -> PyRef<'_, Self> {
        listing
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Vec<ObjectMeta>>> {
        let page = run_waiting(py, self.remote, || lock(&self.listing).next_page())?;
        Ok(page.map(|page| page.into_iter().map(given).collect()))
    }
}

/// Stops what other threads wait for: `with cancel:` in them, `cancel.ask()` in the one that stops.
#[pyclass(module = "indextables._native", frozen, name = "Cancel")]
pub struct PyCancel {
    cancel: Cancel,
}

#[pymethods]
impl PyCancel {
    #[new]
    fn new() -> Self {
        Self { cancel: Cancel::inner() }
    }

    fn ask(&self) {
        self.cancel.ask();
    }

    fn __enter__(&self) {
        Cancel::replace(Some(self.cancel.clone()));
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        Cancel::replace(None);
    }
}

/// Requests by kind, bytes read and bytes written of all object stores of this process.
#[pyfunction]
fn storage_totals() -> (Vec<(&'static str, u64)>, u64, u64) {
    counted(store::totals())
}

/// The path itself, if it stays below the root it is joined to.
#[pyfunction]
fn check_path(py: Python<'_>, path: &str) -> PyResult<()> {
    store::check_path(path).map_err(|e| to_python(py, &e))
}

/// Asks `indextables.storage.credentials` for temporary credentials.
fn fetch_credentials(spec: &str) -> Result<String> {
    Python::attach(|py| {
        let fetched = py
            .import("indextables.storage.credentials")
            .and_then(|module| module.getattr("fetch")?.call1((spec,))?.extract());
        fetched.map_err(|raised: PyErr| {
            let context = raised.value(py).getattr("context");
            let text = |key: &str| {
                context.as_ref().ok().and_then(|c| c.get_item(key).ok()?.extract::<String>().ok())
            };
            // the text of an unknown exception may hold a secret; its class does not
            let class = || raised.get_type(py).to_string();
            EngineError::Credentials {
                url: text("url").unwrap_or_default(),
                detail: text("detail").unwrap_or_else(class),
            }
        })
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    store::set_credentials_source(fetch_credentials);
    module.add_function(wrap_pyfunction!(storage_totals, module)?)?;
    module.add_function(wrap_pyfunction!(check_path, module)?)?;
    module.add_class::<PyListing>()?;
    module.add_class::<PyCancel>()?;
    module.add_class::<PyStore>()
}
