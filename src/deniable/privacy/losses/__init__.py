"""Statements about single mechanisms, one per file."""
