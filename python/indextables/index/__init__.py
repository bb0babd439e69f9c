"""The files of a table's `index/` folder: deletion vectors and hash indexes, as Apache Paimon's.

Only bytes and numbers are known here: no log, no store, no engine.
"""
