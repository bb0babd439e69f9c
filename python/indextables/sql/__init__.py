"""The command language: text -> frozen command -> ops. The grammar stands in `grammar.py` only."""
