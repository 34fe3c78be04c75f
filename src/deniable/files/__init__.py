"""Import of text files (CSV, TSV) into typed, columnar files.

The owner imports them once, as declared. Questions never read text.
"""
