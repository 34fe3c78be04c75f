"""Reports, pictures and comparisons of losses, and imports from other programs."""
