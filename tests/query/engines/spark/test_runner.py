"""Spark as a source: settings, types, rows."""
