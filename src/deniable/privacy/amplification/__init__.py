"""Losses that become smaller by sampling, by shuffling and in training."""
