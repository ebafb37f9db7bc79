"""Lloyd's iteration: rows go to their nearest centre, centres to the mean of their rows."""
