"""People of a block, reconstructed from its published tables."""

from deniable.attacks.census.reconstruct import BlockSolutions, reconstruct_block, solve_block
from deniable.attacks.census.tables import BlockTables, Group, Statistic, read_block, tabulate_block

__all__ = [
    "BlockSolutions",
    "BlockTables",
    "Group",
    "Statistic",
    "read_block",
    "reconstruct_block",
    "solve_block",
    "tabulate_block",
]
