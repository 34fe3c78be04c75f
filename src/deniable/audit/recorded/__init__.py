"""Audits that record every draw of a run, and repeat the run on a neighbouring input with the same draws."""
