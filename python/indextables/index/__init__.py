"""The files of a table's `index/` folder: deletion vectors and hash indexes, in Paimon's formats.

This module knows only bytes and numbers: no log, no store, no engine.
"""
