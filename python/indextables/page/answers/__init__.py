"""Answers about tables for the page; each is a value, computed in the query process."""
