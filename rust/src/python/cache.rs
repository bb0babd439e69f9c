//! Python interface of `cache` and `profile`: counters, and clearing.

use std::collections::HashMap;

use pyo3::prelude::*;

use crate::cache;
use crate::profile;
use crate::python::errors::run;
use crate::python::value::shown;

/// Hits, misses and bytes of the caches of this process.
#[pyfunction]
#[pyo3(signature = (reset=false))]
fn cache_stats(py: Python<'_>, reset: bool) -> PyResult<Bound<'_, PyAny>> {
    shown(py, &run(py, || Ok(cache::stats(reset)))?)
}

/// Waits until all pending pieces are on disk.
#[pyfunction]
fn cache_sync(py: Python<'_>) -> PyResult<()> {
    run(py, || {
        cache::sync();
        Ok(())
    })
}

/// Clears the memory cache; returns the number of pieces and bytes.
#[pyfunction]
fn clear_memory_cache(py: Python<'_>) -> PyResult<(u64, u64)> {
    run(py, || Ok(cache::clear_memory()))
}

/// Folder, limit, bytes, pieces and files of the disk cache that store options describe, if any.
#[pyfunction]
fn disk_cache_usage(
    py: Python<'_>,
    options: HashMap<String, String>,
) -> PyResult<Option<(String, u64, u64, u64, u64)>> {
    run(py, || {
        Ok(cache::disk_usage(&options)?.map(|(root, limit, usage)| {
            let root = root.to_string_lossy().into_owned();
            (root, limit, usage.bytes, usage.pieces, usage.files)
        }))
    })
}

/// Deletes the disk cache that store options describe: bytes and pieces; nothing when it is off.
#[pyfunction]
fn clear_disk_cache(
    py: Python<'_>,
    options: HashMap<String, String>,
) -> PyResult<Option<(u64, u64)>> {
    run(py, || cache::clear_disk(&options))
}

/// Turns the profiler of this process on or off.
#[pyfunction]
fn enable_profiler(on: bool) {
    profile::enable(on);
}

/// What each section of the engine took.
#[pyfunction]
#[pyo3(signature = (reset=false))]
fn profile_sections(py: Python<'_>, reset: bool) -> PyResult<Bound<'_, PyAny>> {
    shown(py, &run(py, || Ok(profile::measured(reset)))?)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(cache_stats, module)?)?;
    module.add_function(wrap_pyfunction!(cache_sync, module)?)?;
    module.add_function(wrap_pyfunction!(clear_memory_cache, module)?)?;
    module.add_function(wrap_pyfunction!(disk_cache_usage, module)?)?;
    module.add_function(wrap_pyfunction!(clear_disk_cache, module)?)?;
    module.add_function(wrap_pyfunction!(enable_profiler, module)?)?;
    module.add_function(wrap_pyfunction!(profile_sections, module)?)
}
