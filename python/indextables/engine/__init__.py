"""Typed interface of the native engine: everything per row or per byte."""

from __future__ import annotations

import warnings

from indextables import _native

if not _native.OPTIMIZED:
    warnings.warn(
        "the native engine was built without optimization and is several times slower; "
        "build it with `make setup PROFILE=release`",
        RuntimeWarning,
        stacklevel=2,
    )
