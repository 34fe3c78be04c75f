"""Earth mover's distance between the secrets of a class and those of the table, for four grounds.

Source: Li, Li, Venkatasubramanian (2007). No class is stored densely: with many
distinct secrets the work grows with the rows, not with classes times values.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from deniable.attacks.anonymity.classes import Floats, Secrets
from deniable.attacks.anonymity.columns import Codes, Column
from deniable.errors import InvalidParameterError

Ground: TypeAlias = Literal["auto", "equal", "ordered", "numeric"] | Sequence[Any] | Mapping[Any, Any]


def distances(secret: Column, held: Secrets, ground: Ground) -> Floats:
    """Distance of every class from the table, shape (classes,), in [0, 1].

    Args:
        secret: the sensitive attribute.
        held: its counts in the classes.
        ground: how far one secret is from another, as for `t_closeness`.

    Raises: InvalidParameterError if the ground does not fit the values.
    """
    if isinstance(ground, Mapping):
        return _over_tree(held, secret, ground)
    if not isinstance(ground, str):
        order = list(ground)
        return _over_line(held, _places(secret, order), len(order) - 1)
    kind = name_ground(secret, ground)
    if kind == "equal":
        gain = np.maximum(held.shares - held.table[held.counts.indices], 0.0)
        return _total(held.owner, gain, held)
    if kind == "ordered":
        return _over_line(held, np.arange(float(len(secret.values))), len(secret.values) - 1)
    if kind == "numeric":
        values = _numbers(secret)
        return _over_line(held, values, float(values[-1] - values[0]))
    raise InvalidParameterError(
        f'ground must be "auto", "equal", "ordered", "numeric", an order or a tree, got {kind!r}'
    )


def name_ground(secret: Column, ground: Ground) -> str:
    """Say which ground it is: "auto" depends on the values."""
    if isinstance(ground, str):
        return ground if ground != "auto" else ("ordered" if secret.ordered else "equal")
    return "tree" if isinstance(ground, Mapping) else "order"


def _over_line(held: Secrets, position: Floats, length: float) -> Floats:
    """Area between the distribution functions of class and table, in parts of the length of the line.

    Between two of its own values a class's distribution function is a constant c, and the table's rises; so the area
    over that stretch splits where the table's passes c, and both parts are differences of prefix sums.
    """
    if not length > 0:
        return np.zeros(len(held.starts))
    order = np.argsort(position)
    rank = np.argsort(order)
    gaps = np.diff(position[order])
    rising = np.cumsum(held.table[order])[:-1]  # the table's distribution function on each gap
    weight, moment = (np.concatenate([[0.0], np.cumsum(part)]) for part in (gaps, gaps * rising))

    places = rank[held.counts.indices]
    by_place = np.lexsort((places, held.owner))
    places, counts = places[by_place], held.counts.data[by_place]
    running = np.cumsum(counts)
    passed = running - (running - counts)[held.starts][held.owner]
    level = passed / np.add.reduceat(counts, held.starts)[held.owner]
    following = np.append(places[1:], 0)
    following[np.append(held.starts[1:], len(places)) - 1] = len(gaps)

    # One stretch from each value of a class to its next, and one before its first, where the class has passed nothing.
    owner = np.concatenate([held.owner, np.arange(len(held.starts))])
    start = np.concatenate([places, np.zeros_like(held.starts)])
    end = np.concatenate([following, places[held.starts]])
    constant = np.concatenate([level, np.zeros(len(held.starts))])
    turn = np.clip(np.searchsorted(rising, constant), start, end)
    lower = constant * (weight[turn] - weight[start]) - (moment[turn] - moment[start])
    upper = (moment[end] - moment[turn]) - constant * (weight[end] - weight[turn])
    return np.clip(_total(owner, lower + upper, held) / length, 0.0, 1.0)


def _over_tree(held: Secrets, secret: Column, tree: Mapping[Any, Any]) -> Floats:
    """Distance over the edges: each costs its length times the difference of the shares below it.

    Two values are as far apart as their lowest common ancestor is high. That is half their path along edges as long
    as the heights of their ends differ, and on a tree the transport over an edge is forced.
    """
    height = _heights(tree)
    parents = set(tree.values())
    if unfit := [value for value in secret.values if value not in tree or value in parents]:
        raise InvalidParameterError(f"{len(unfit)} values of {secret.name} are no leaves of the tree (None: missing)")
    nodes = {node: place for place, node in enumerate(tree)}
    edges = np.array([height[parent] - height[node] for node, parent in tree.items()], dtype=np.float64)
    above = [(leaf, nodes[node]) for leaf, value in enumerate(secret.values) for node in _climb(value, tree)]
    leaf, node = np.array(above).T
    under = sparse.coo_array((np.ones(len(leaf)), (leaf, node)), (len(secret.values), len(nodes))).tocsr()
    shares = sparse.csr_array((held.shares, held.counts.indices, held.counts.indptr), held.counts.shape)
    inside = (shares @ under).tocoo()
    table = held.table @ under
    moved = edges[inside.col] * (np.abs(inside.data - table[inside.col]) - table[inside.col])
    cost: Floats = edges @ table + _total(inside.row, moved, held)
    return cost / (2 * max(height.values()))


def _climb(value: Any, tree: Mapping[Any, Any]) -> Iterator[Any]:
    """Nodes from a value to below the root."""
    for _ in range(len(tree)):
        if value not in tree:
            return
        yield value
        value = tree[value]
    if value in tree:
        raise InvalidParameterError("the tree has a cycle: a node is its own ancestor")


def _heights(tree: Mapping[Any, Any]) -> dict[Any, int]:
    """Height of each node: edges down to its farthest leaf."""
    height = dict.fromkeys([*tree.values(), *tree], 0)
    for node in tree:
        for steps, below in enumerate(_climb(node, tree), start=1):
            height[tree[below]] = max(height[tree[below]], steps)
    if len(set(tree.values()) - set(tree)) != 1:
        raise InvalidParameterError("the tree must have one root: a parent that has no parent")
    return height


def _places(secret: Column, order: list[Any]) -> Floats:
    place = {value: at for at, value in enumerate(order)}
    if unknown := [value for value in secret.values if value not in place]:
        raise InvalidParameterError(f"the order of {secret.name} lacks {len(unknown)} of its values (None: missing)")
    return np.array([place[value] for value in secret.values], dtype=np.float64)


def _numbers(secret: Column) -> Floats:
    try:
        values = np.array(secret.values, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([math.nan])
    if not np.isfinite(values).all():
        raise InvalidParameterError(f'ground "numeric" needs finite numbers in {secret.name}, none of them missing')
    return values


def _total(owner: Codes, parts: Floats, held: Secrets) -> Floats:
    return np.bincount(owner, parts, minlength=len(held.starts)).astype(np.float64, copy=False)
