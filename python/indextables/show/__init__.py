"""Values for people: text, HTML and charts. Pure: nothing is read."""
