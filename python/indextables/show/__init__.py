"""Values as people read them: text, HTML and charts. Pure: nothing is read or asked here."""
