"""The command language: text -> frozen command -> its function. The rules are in commands/."""
