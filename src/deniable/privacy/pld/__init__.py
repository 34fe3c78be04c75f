"""Privacy-loss distributions: laws, discretisation, sums, and certified answers."""
