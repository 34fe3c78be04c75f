"""Amplification: losses that become smaller by sampling, shuffling and training."""
