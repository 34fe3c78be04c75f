"""The words in which a loss may be stated besides epsilon and delta, and the way from one to another."""
