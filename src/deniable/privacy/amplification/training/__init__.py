"""Losses that are known only of a whole training run."""
