"""Audits by canaries: made-up records that were put into the data or left out, in one run or in many."""
