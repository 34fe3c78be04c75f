"""Losses that become smaller because a unit takes part only with some probability."""
