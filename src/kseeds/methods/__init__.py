"""One folder a law, one file a way of drawing from it."""
