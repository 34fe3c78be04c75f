"""Audits by canaries: made-up records that are put into the data or left out."""
