"""Projected descents with exact, sampled and private gradients."""
