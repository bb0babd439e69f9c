//! Engine errors as the exceptions of `indextables.errors`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use serde_json::Value;

use crate::cancel::Cancel;
use crate::error::{EngineError, Result};

/// How often waiting for long work looks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(25);

/// Runs work without the interpreter; a panic becomes an error instead of ending the process.
pub fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.check_signals()?;
    if let Some(Err(error)) = Cancel::current().map(|cancel| cancel.check()) {
        return Err(to_python(py, &error));
    }
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(to_python(py, &error)),
        Err(panic) => Err(to_python(py, &EngineError::internal(panic_text(panic.as_ref())))),
    }
}

/// Runs long work on a thread of its own while this one looks for signals: Ctrl-C stops it.
pub fn run_interruptible<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    if !on_main_thread(py)? {
        return run(py, work);
    }
    py.check_signals()?;
    let mut signal = None;
    let outcome = std::thread::scope(|scope| {
        let (done, mut finished) = channel();
        let stopping = Some(cancel.clone());
        let worker = scope.spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| Cancel::during(stopping, work)));
            // the receiver is gone only if this scope is being left
            let _ = done.send(());
            outcome
        });
        loop {
            let (listening, waited) = py.detach(move || {
                let waited = finished.recv_timeout(SIGNAL_INTERVAL);
                (finished, waited)
            });
            finished = listening;
            if waited != Err(RecvTimeoutError::Timeout) {
                break worker.join().unwrap_or_else(Err);
            }
            if let Err(raised) = py.check_signals() {
                cancel.ask();
                signal = Some(raised);
            }
        }
    });
    if let Some(signal) = signal {
        return Err(signal);
    }
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(to_python(py, &error)),
        Err(panic) => Err(to_python(py, &EngineError::internal(panic_text(panic.as_ref())))),
    }
}

/// Runs long work on this thread, which looks for signals whenever the work checks whether to go on: a
/// thread of its own would cost more than a short aggregation. Work that waits for a store needs one.
pub fn run_checking<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Cancel) -> Result<T> + Send,
) -> PyResult<T> {
    let signal: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let (raised, looked) = (signal.clone(), Mutex::new(Instant::now()));
    let cancel = Cancel::inner().looking(move || {
        let (Ok(mut looked), Ok(mut raised)) = (looked.lock(), raised.lock()) else {
            return true;
        };
        if looked.elapsed() >= SIGNAL_INTERVAL {
            *looked = Instant::now();
            *raised = Python::attach(|py| py.check_signals()).err();
        }
        raised.is_some()
    });
    let outcome = run(py, || Cancel::during(Some(cancel.clone()), || work(&cancel)));
    match signal.lock().map(|mut raised| raised.take()) {
        Ok(Some(raised)) => Err(raised),
        _ => outcome,
    }
}

/// Runs work that may wait for a store, which Ctrl-C ends; local disk is not waited for.
pub fn run_waiting<T: Send>(
    py: Python<'_>,
    remote: bool,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    if remote { run_interruptible(py, &Cancel::inner(), work) } else { run(py, work) }
}

/// Python tells signals to its main thread alone.
fn on_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let current = threading.call_method0("current_thread")?;
    Ok(current.is(&threading.call_method0("main_thread")?))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!("the engine panicked: {}", text.as_deref().unwrap_or("without a message"))
}

/// The exception of this error: `indextables.errors.error(kind, **context)`.
pub fn to_python(py: Python<'_>, error: &EngineError) -> PyErr {
    if matches!(error, EngineError::Interrupted)
        && let Err(signal) = py.check_signals()
    {
        return signal;
    }
    match build(py, error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    }
}

fn build<'py>(py: Python<'py>, error: &EngineError) -> PyResult<Bound<'py, PyAny>> {
    let context = match error.context() {
        Value::Object(members) => members
            .into_iter()
            .map(|(key, value)| Ok((key, scalar(py, &value)?)))
            .collect::<PyResult<Vec<_>>>()?
            .into_py_dict(py)?,
        _ => PyDict::new(py),
    };
    py.import("indextables.errors")?.getattr("error")?.call((error.kind(),), Some(&context))
}

fn scalar<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::String(text) => Ok(text.into_pyobject(py)?.into_any()),
        Value::Bool(flag) => Ok(flag.into_pyobject(py)?.to_owned().into_any()),
        Value::Number(number) => Ok(number.as_i64().into_pyobject(py)?),
        other => Ok(other.to_string().into_pyobject(py)?.into_any()),
    }
}
