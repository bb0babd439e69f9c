"""Answers as HTML. `show/markup.py` escapes everything that comes from data."""
