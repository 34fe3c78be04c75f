"""A loss for people and for other programs: words, comparisons, pictures, imports."""
