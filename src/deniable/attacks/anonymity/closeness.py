"""Earth mover's distance between the secrets of a class and those of the table.

Every ground is a tree: a star, a line, or one that is given. On a tree the transport over an edge is forced: it costs
the edge's length times the difference of the shares below it. Source: Li, Li, Venkatasubramanian (2007).
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from deniable.attacks.chunks import stretches
from deniable.attacks.frames import CodedColumn
from deniable.attacks.numbers import Floats
from deniable.errors import InvalidParameterError

Ground: TypeAlias = Literal["auto", "equal", "ordered", "numeric"] | Mapping[Any, Any]
_MAX_CELLS = 1 << 22  # of a dense part of the counts: 32 MB


def distances(secret: CodedColumn, counts: sparse.csr_array, ground: Ground) -> Floats:
    """Return the distance of every class from the table, shape (classes,), in [0, 1].

    Args:
        secret: the sensitive attribute.
        counts: of its values in the classes, shape (classes, values).
        ground: how far one secret is from another, as for `t_closeness`.

    Raises: InvalidParameterError if the ground does not fit the values.
    """
    values = counts.shape[1]
    below = sparse.eye_array(values, format="csr")
    kind = name_ground(secret, ground)
    if isinstance(ground, Mapping):
        below, length = _edges(secret, ground)
    elif kind == "equal":
        length = np.full(values, 1 / 2)
    elif kind in ("ordered", "numeric"):
        position = _numbers(secret) if kind == "numeric" else np.arange(float(values))
        length = np.diff(position, append=position[-1]) / max(position[-1] - position[0], 1e-300)
    else:
        raise InvalidParameterError(f'ground must be "auto", "equal", "ordered", "numeric" or a tree, got {ground!r}')
    table = counts.sum(axis=0) / counts.sum() @ below
    apart = []
    for start, stop in stretches(np.full(counts.shape[0], len(table)), _MAX_CELLS):
        part = counts[start:stop]
        excess = (part @ below).toarray() / part.sum(axis=1)[:, None] - table
        if kind in ("ordered", "numeric"):
            excess = excess.cumsum(axis=1)
        apart.append(np.abs(excess) @ length)
    return np.concatenate(apart).clip(0.0, 1.0).astype(np.float64, copy=False)


def name_ground(secret: CodedColumn, ground: Ground) -> str:
    """Return the name of a ground; "auto" depends on the values."""
    if isinstance(ground, Mapping):
        return "tree"
    if ground != "auto":
        return ground
    return "ordered" if secret.ordered else "equal"


def _edges(secret: CodedColumn, tree: Mapping[Any, Any]) -> tuple[sparse.csr_array, Floats]:
    """Return the values below each edge, and half of each edge's length.

    Shapes (values, edges) and (edges,); lengths are in heights of the root.

    Two values are as far apart as their lowest common ancestor is high. That is half their path along edges as long
    as the heights of their ends differ.
    """
    height = dict.fromkeys([*tree.values(), *tree], 0)  # edges down to the farthest leaf
    for node in tree:
        for steps, below in enumerate(_climb(node, tree), start=1):
            height[tree[below]] = max(height[tree[below]], steps)
    parents = set(tree.values())
    if len(parents - set(tree)) != 1:
        raise InvalidParameterError("the tree must have exactly one root: a parent that has no parent")
    if unfit := [value for value in secret.values if value not in tree or value in parents]:
        raise InvalidParameterError(f"{len(unfit)} values of {secret.name} are not leaves of the tree (None: missing)")
    index = {node: at for at, node in enumerate(tree)}
    pairs = [(at, index[one]) for at, value in enumerate(secret.values) for one in _climb(value, tree)]
    leaf, edge = np.array(pairs).T
    length = np.array([height[parent] - height[node] for node, parent in tree.items()]) / (2 * max(height.values()))
    return sparse.csr_array((np.ones(len(leaf)), (leaf, edge)), (len(secret.values), len(tree))), length


def _climb(value: Any, tree: Mapping[Any, Any]) -> Iterator[Any]:
    """Yield nodes from a value up to below the root."""
    for _ in range(len(tree)):
        if value not in tree:
            return
        yield value
        value = tree[value]
    if value in tree:
        raise InvalidParameterError("the tree must not have a cycle: a node is its own ancestor")


def _numbers(secret: CodedColumn) -> Floats:
    """Return the values as finite numbers."""
    try:
        values = np.array(secret.values, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([math.nan])
    if not np.isfinite(values).all():
        raise InvalidParameterError(f'ground "numeric" needs finite numbers in {secret.name}, and no missing values')
    return values
