"""Statements about single mechanisms, one in a file: what is proved of each noise, test and choice."""
