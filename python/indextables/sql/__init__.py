"""The command language: text -> frozen command -> its verb. The rules stand in commands/."""
