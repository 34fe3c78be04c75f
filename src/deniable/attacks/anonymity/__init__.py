"""Anonymity: what k-anonymity and its kin say of a table, and what attacks get out of it all the same."""
