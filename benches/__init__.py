"""Benchmarks: `python -m benches [name ...]`. Each module has `run() -> list[Result]`."""
