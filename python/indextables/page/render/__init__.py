"""Answers as HTML. Whatever comes from data goes through `show/markup.py` and is escaped."""
