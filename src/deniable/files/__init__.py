"""Text files (CSV, TSV) become typed, columnar files: once, by their owner, as declared. Questions never read text."""
