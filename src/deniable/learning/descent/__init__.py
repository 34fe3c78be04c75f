"""Projected descents: with exact gradients, with sampled ones, and with private ones."""
