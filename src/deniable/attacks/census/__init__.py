"""Reconstruction of the people of a block from its published tables."""

from deniable.attacks.census.reconstruct import BlockSolutions, reconstruct_block, solve_block
from deniable.attacks.census.tables import BlockStatistic, BlockTables, Group, read_block, tabulate_block

__all__ = [
    "BlockSolutions",
    "BlockStatistic",
    "BlockTables",
    "Group",
    "read_block",
    "reconstruct_block",
    "solve_block",
    "tabulate_block",
]
