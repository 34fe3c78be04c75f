"""State of a model and a loss, kept before a forward pass and restored after it."""

import sys
from array import array
from collections import UserDict, UserList, deque
from collections.abc import Callable, Iterator
from functools import partial
from operator import is_not
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from deniable.errors import InvalidParameterError

MAX_OBJECTS = 200_000  # to search: a dataset inside a model is refused, and does not slow every step
MAX_BYTES = 2**28  # of tensors besides parameters and buffers: copies of them are made before every pass


class State:
    """Everything that a forward pass may change in some objects.

    It is restored whenever `with` ends, and by `restore`: the memory and the `grad` of tensors, arrays, and the
    contents of attributes, slots, dicts, lists, sets, deques, bytearrays and closures, at any depth, parameters,
    buffers, hooks and submodules included. Not searched are modules and classes of Python, datasets, and objects of
    PyTorch and the standard library other than modules and containers.

    Args:
        roots: the objects to search from, such as a model and a loss.

    Raises: InvalidParameterError for more than MAX_OBJECTS objects, or MAX_BYTES besides parameters and buffers, and
        for a generator or another iterator, which cannot be put back.
    """

    def __init__(self, *roots: object) -> None:
        self._tensors: list[tuple[Tensor, Tensor, bool, Tensor | None]] = []
        self._memory: dict[int, tuple[Any, Any]] = {}  # storages and their copies, by address
        self._undo: list[Callable[[], None]] = []
        seen: dict[int, object] = {}
        modules = [root for root in roots if isinstance(root, nn.Module)]
        registered = {_address(tensor) for module in modules for tensor in _named(module)}
        waiting = list(roots)
        extra_bytes = 0
        while waiting:
            one = waiting.pop()
            if id(one) in seen or isinstance(one, _PLAIN):
                continue
            seen[id(one)] = one
            if isinstance(one, Tensor):
                copied = self._keep(one)
                extra_bytes += copied if _address(one) not in registered else 0
            elif isinstance(one, np.ndarray):
                extra_bytes += one.nbytes
            waiting.extend(self._inside(one))
            if len(seen) > MAX_OBJECTS or extra_bytes > MAX_BYTES:
                raise InvalidParameterError(
                    "model and loss hold too much besides parameters and buffers, all of which is restored after every "
                    "pass. Keep data sets out of them"
                )

    def _keep(self, tensor: Tensor) -> int:
        """Keep a tensor, and return the bytes that were copied."""
        alias = tensor.data
        if tensor.layout is torch.strided:
            self._tensors.append((tensor, alias, tensor.requires_grad, tensor.grad if tensor.is_leaf else None))
        else:  # sparse, with memory of its own inside
            self._undo.append(partial(_refill_sparse, tensor, alias.clone()))
        address = _address(tensor)
        if address in self._memory or tensor.layout is not torch.strided:
            return 0
        storage = alias.untyped_storage()
        self._memory[address] = (storage, storage.clone())  # type: ignore[no-untyped-call]
        return int(storage.nbytes())

    def _inside(self, one: Any) -> Iterator[object]:
        """Yield the contents of an object, and note how to restore them."""
        if isinstance(one, dict):
            self._undo.append(partial(_refill_dict, one, list(one), list(one.values())))
            yield from one.values()
        elif isinstance(one, bytearray | array):
            self._undo.append(partial(_refill_whole, one, one[:]))
        elif isinstance(one, list | set | deque):
            self._undo.append(partial(_refill, one, list(one)))
            yield from list(one)
        elif isinstance(one, tuple | frozenset):
            yield from one
        elif isinstance(one, np.ndarray) and one.flags.writeable:
            self._undo.append(partial(np.copyto, one, one.copy()))
        elif isinstance(one, FunctionType):
            for cell in one.__closure__ or ():
                try:
                    held = cell.cell_contents
                except ValueError:  # a name that has no value yet
                    continue
                self._undo.append(partial(setattr, cell, "cell_contents", held))
                yield held
            yield from (one.__defaults__, one.__kwdefaults__, vars(one))
        elif isinstance(one, MethodType):
            yield from (one.__self__, one.__func__)
        elif isinstance(one, partial):
            yield from (one.func, one.args, one.keywords)
        elif isinstance(one, Tensor) and one.is_leaf:
            yield one.grad
        elif isinstance(one, Iterator):
            raise InvalidParameterError(
                f"model or loss hold an iterator, a {type(one).__name__}, which cannot be restored after a pass. "
                "Make a list of it, or leave it out"
            )
        if _has_state(one):
            yield vars(one)
        for name in _slots(type(one)):
            held = getattr(one, name, _EMPTY)
            self._undo.append(partial(_fill_slot, one, name, held))
            yield held

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self.restore()

    @torch.no_grad()
    def restore(self) -> None:
        """Restore all of it; whether anything had changed makes no difference."""
        for undo in self._undo:
            undo()
        for tensor, alias, learns, grad in self._tensors:
            tensor.data = alias
            if tensor.is_leaf:
                tensor.grad = grad
                tensor.requires_grad_(learns)
        for storage, copy in self._memory.values():
            storage.copy_(copy)


_EMPTY = type  # stands for a slot without a value; classes are not searched
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type, ModuleType, Dataset, DataLoader, torch.dtype)


def _named(module: nn.Module) -> Iterator[Tensor]:
    yield from module.parameters()
    yield from module.buffers()


def _address(tensor: Tensor) -> int:
    """Return the address of a tensor's memory, which views share."""
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else id(tensor)


def _refill_dict(container: dict[Any, Any], keys: list[Any], values: list[Any]) -> None:
    if list(container) != keys or any(map(is_not, container.values(), values)):
        container.clear()
        container.update(zip(keys, values, strict=True))


def _refill_whole(container: Any, content: Any) -> None:
    container[:] = content


def _refill_sparse(tensor: Tensor, content: Tensor) -> None:
    tensor.data = content.clone()


def _slots(kind: type) -> Iterator[str]:
    """Yield the names of the slots that code of a model may write."""
    for one in kind.__mro__ if _is_strange(kind) else ():
        for name, held in vars(one).items():
            if isinstance(held, MemberDescriptorType):
                yield name


def _fill_slot(one: object, name: str, held: object) -> None:
    if held is not _EMPTY:
        object.__setattr__(one, name, held)  # a frozen dataclass, too
    elif hasattr(one, name):
        object.__delattr__(one, name)


def _refill(container: Any, content: list[Any]) -> None:
    if len(container) != len(content) or any(map(is_not, container, content)):
        container.clear()
        (container.update if isinstance(container, set) else container.extend)(content)


def _has_state(one: object) -> bool:
    """Whether an object has attributes that code of a model may write."""
    if not hasattr(one, "__dict__") or isinstance(one, FunctionType):
        return False
    return isinstance(one, nn.Module | Tensor | SimpleNamespace | UserDict | UserList) or _is_strange(type(one))


def _is_strange(kind: type) -> bool:
    """Whether neither PyTorch nor the standard library made a class."""
    root = kind.__module__.partition(".")[0]
    return root not in ("builtins", "torch") and root not in sys.stdlib_module_names
