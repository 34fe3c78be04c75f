"""Amplification in training: correlated noise, last iterates, noisy objectives."""
