"""The files of a table's `index/` folder: deletion vectors and hash indexes, as Apache Paimon's.

This module knows only bytes and numbers: no log, no store, no engine.
"""
