"""Counts that tell about one person: alone, as a difference, as an average, and in a log of answered queries."""
