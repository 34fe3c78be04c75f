"""Privacy-loss distributions: laws of losses, their discretisation, their sums, and the certified answers."""
