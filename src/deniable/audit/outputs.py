"""Outputs of any mechanism as numbers, whatever their types and shapes.

Every output is read by itself, so an event that is chosen from some runs means the same for all others.
"""

import math
from array import array
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import shown as short
from deniable.numbers.rationals import yes_or_no

OutputLabels = NDArray[np.int64]
Sample: TypeAlias = list[object] | NDArray[Any]

MAX_COLUMNS = 256
"""Numbers that are read from one output; further ones count for its identity alone."""

LOW_BITS = "log2 of the power of two that divides"
RATIO = "log likelihood ratio"
"""Names of columns that are computed from an output."""

UNREAD = "object "
"""Prefix of the kind of an output of which only the type is read."""

_MAX_PAIRED_COLUMNS = 64  # whose differences are read too


@dataclass(frozen=True)
class Failed:
    """Output that is an error, by the name of its type; its text may hold data."""

    error: str


@dataclass(frozen=True)
class Outputs:
    """Runs of a mechanism on one input, encoded.

    Args:
        labels: shape (runs,): equal where the outputs are equal.
        kinds: shape (runs,): equal where the outputs are of one type and shape.
        columns: shape (runs, columns), NaN where an output has no such number.
        names: of the columns, in words.
        shown: from a label to an output in words.
        kind_shown: from a kind to its name.
        numbers: number of first columns that are the numbers of the output itself.
        low_bits: whether the same number of columns follows, for the powers of two that divide them.
    """

    labels: OutputLabels
    kinds: OutputLabels
    columns: Floats
    names: tuple[str, ...]
    shown: Callable[[int], str]
    kind_shown: Callable[[int], str]
    numbers: int = 0
    low_bits: bool = False

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, runs: "NDArray[Any] | slice") -> "Outputs":
        return replace(self, labels=self.labels[runs], kinds=self.kinds[runs], columns=self.columns[runs])

    def joined(self, name: str, column: Floats) -> "Outputs":
        """Return these outputs with one more column."""
        return replace(self, columns=np.column_stack([self.columns, column]), names=(*self.names, name))


def encode(ours: Sample, theirs: Sample, *, low_bits: bool = True) -> tuple[Outputs, Outputs]:
    """Return both samples with common labels and columns.

    Args:
        ours, theirs: one output for each run: a list of anything, or a numeric array whose first axis is the run.
        low_bits: whether floats have a column for the power of two that divides them.
    """
    both = _of_arrays(ours, theirs) or _of_objects([*ours, *theirs])
    both = _with_statistics(both, yes_or_no("low_bits", low_bits))
    return both[: len(ours)], both[len(ours) :]


def _of_arrays(ours: Sample, theirs: Sample) -> Outputs | None:
    """Return outputs of numeric arrays of one shape, or None."""
    if not (isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray)):
        return None
    if ours.shape[1:] != theirs.shape[1:] or ours.dtype.kind not in "biuf" or theirs.dtype.kind not in "biuf":
        return None
    table = np.concatenate([ours, theirs]).reshape(len(ours) + len(theirs), -1)
    labels = _labels(table[:, 0] if table.shape[1] == 1 else _hashes(table))
    columns = table[:, :MAX_COLUMNS].astype(np.float64)

    def show(label: int) -> str:
        row = table[int(np.argmax(labels == label))]
        return shown(row[0] if ours.ndim == 1 else row)

    return Outputs(labels, np.zeros(len(table), dtype=np.int64), columns, (), show, lambda _: "an array")


def _labels(values: NDArray[Any]) -> OutputLabels:
    """Return labels, equal for equal values; integers close together are not sorted."""
    if values.dtype.kind == "i" and len(values) and int(values.max()) - int(values.min()) <= len(values):
        labels: OutputLabels = (values - values.min()).astype(np.int64)
    else:
        labels = np.unique(values, return_inverse=True)[1]
    return labels


def _hashes(table: NDArray[Any]) -> NDArray[np.uint64]:
    """Return one number for each row; rows that collide share a label, which is safe."""
    bits = np.ascontiguousarray(table, dtype=np.float64).view(np.uint64)
    mixed = np.full(len(table), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in bits.T:
        mixed = (mixed ^ column) * np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
    return mixed


def _of_objects(outputs: list[object]) -> Outputs:
    """Return outputs of any kind, read one by one."""
    once = {id(output): output for output in outputs}  # a mechanism may return one object many times
    reads = {address: _read(output) for address, output in once.items()}
    keys = {address: (kind, array("d", numbers).tobytes(), text) for address, (kind, numbers, text) in reads.items()}
    read = [reads[id(output)] for output in outputs]
    labels, first = _numbered([keys[id(output)] for output in outputs])
    kinds, kind_first = _numbered([kind for kind, _, _ in read])
    width = min(max((len(numbers) for _, numbers, _ in read), default=0), MAX_COLUMNS)
    table = np.full((len(first), width), np.nan)  # one row for each label
    for row, index in zip(table, first, strict=True):
        numbers = read[index][1]
        row[: len(numbers)] = numbers[:width]
    columns = table[labels]
    return Outputs(
        labels,
        kinds,
        columns,
        (),
        lambda label: shown(outputs[first[label]]),
        lambda kind: _any(read[kind_first[kind]][0]),
    )


def _any(kind: str) -> str:
    """Return a kind of output in words."""
    return kind if kind == "None" or kind.startswith("an error") else f"any {kind}"


def _numbered(keys: Sequence[Hashable]) -> tuple[OutputLabels, list[int]]:
    """Return a number for every key, and the index at which each is first."""
    numbers: dict[Hashable, int] = {}
    first = []
    for index, key in enumerate(keys):
        if key not in numbers:
            numbers[key] = len(numbers)
            first.append(index)
    return np.array([numbers[key] for key in keys], dtype=np.int64), first


def _read(output: object) -> tuple[str, list[float], str]:
    """Return kind, numbers and texts of one output; of other objects the type alone."""
    if isinstance(output, str | bytes):
        return "text", [float(len(output))], str(output)
    if isinstance(output, np.ndarray) and output.dtype.kind in "biufc":
        parts = [output.real, output.imag] if output.dtype.kind == "c" else [output]
        return f"array {output.shape}", [float(x) for part in parts for x in part.ravel()], ""
    if isinstance(output, Failed):
        return shown(output), [], ""
    if output is None:
        return "None", [], ""
    if isinstance(output, complex):
        return "complex", [output.real, output.imag], ""
    if hasattr(output, "__float__"):
        number = _number(output)
        return type(output).__name__, [number], "" if abs(number) < 2**53 and number % 1 == 0 else _text(output)
    if isinstance(output, dict):
        return _joined(type(output).__name__, [x for pair in sorted(output.items(), key=str) for x in pair])
    if isinstance(output, set | frozenset):
        return _joined("set", sorted(output, key=str))
    if is_dataclass(output) and not isinstance(output, type):
        return _joined(type(output).__name__, [getattr(output, field.name) for field in fields(output)])
    if isinstance(output, list | tuple | np.ndarray):
        return _joined(type(output).__name__, list(output))
    return f"{UNREAD}{type(output).__name__}", [], ""


def _text(number: object) -> str:
    """Return a number as text that identifies it."""
    try:
        return str(number)
    except ValueError:  # an int of more digits than Python writes
        return f"hash {hash(number)}"


def kind_of(output: object) -> str:
    """Return the type and shape of one output, in words."""
    return _read(output)[0]


def unread(*samples: Sample) -> str:
    """Return the reason why no event of these outputs can be read, if there is one."""
    if any(isinstance(sample, np.ndarray) and sample.dtype != object for sample in samples):
        return ""
    kinds = {kind_of(one) for sample in samples for one in {type(one): one for one in sample}.values()}
    held = kinds.pop() if len(kinds) == 1 else ""
    return f"outputs of type {held.removeprefix(UNREAD)} cannot be read" if held.startswith(UNREAD) else ""


def _joined(kind: str, parts: list[object]) -> tuple[str, list[float], str]:
    """Return kind, numbers and texts of a container."""
    read = [_read(part) for part in parts]
    kinds = {one for one, _, _ in read}
    inside = f"{len(read)} {kinds.pop()}" if len(kinds) == 1 else ", ".join(one for one, _, _ in read)
    numbers = [x for one, part, _ in read for x in (part or [math.nan])]
    return f"{kind} of {inside or 'nothing'}", numbers, "\0".join(text for _, _, text in read)


def _number(value: object) -> float:
    """Return a number as float, or NaN."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _with_statistics(outputs: Outputs, low_bits: bool) -> Outputs:
    """Return outputs with columns for sums, extremes, differences and low bits."""
    columns = outputs.columns
    width = columns.shape[1]
    names = ["output"] if width == 1 else [f"output[{index}]" for index in range(width)]
    tables = [columns]
    if low_bits:
        tables.append(powers_of_two(columns))
        names += [f"{LOW_BITS} {name}" for name in names]
    if width > 1:
        absent = np.isnan(columns)  # also numbers that only longer outputs have: they change no statistic
        low = np.where(absent, -np.inf, columns)
        high = np.where(absent, np.inf, columns)
        with np.errstate(invalid="ignore", over="ignore"):
            statistics = {
                "sum": np.where(absent, 0.0, columns).sum(axis=1),
                "maximum": low.max(axis=1),
                "minimum": high.min(axis=1),
                "place of the maximum": low.argmax(axis=1).astype(np.float64),
                "place of the minimum": high.argmin(axis=1).astype(np.float64),
            }
            if width <= _MAX_PAIRED_COLUMNS:
                statistics |= {
                    f"output[{index + 1}] - output[{index}]": columns[:, index + 1] - columns[:, index]
                    for index in range(width - 1)
                }
        tables += [values[:, None] for values in statistics.values()]
        names += list(statistics)
    return replace(
        outputs, columns=np.concatenate(tables, axis=1), names=tuple(names), numbers=width, low_bits=low_bits
    )


def powers_of_two(values: Floats) -> Floats:
    """Return the exponent of the largest power of two that divides each number.

    NaN for 0 and for numbers that are not finite.
    Source: Haney, Desfontaines, Hartman, Shrestha, Hay (2022), arXiv:2207.13793: low bits of sums of floats reveal the
        size of the terms.
    """
    usual = np.isfinite(values) & (values != 0)
    fraction, exponent = np.frexp(np.where(usual, values, 1.0))
    whole = np.abs(fraction * 2.0**53).astype(np.int64)
    lowest = np.log2((whole & -whole).astype(np.float64))
    return np.where(usual, lowest + exponent - 53, np.nan)


def shown(output: object) -> str:
    """Return one output in a few words."""
    if isinstance(output, Failed):
        return f"an error of type {output.error}"
    if isinstance(output, np.ndarray):
        output = output.tolist()
    return short(output.item() if isinstance(output, np.generic) else output)
