"""The interface of communicators, implemented by MPI (mpi4py) and by simulated ranks, which are threads.

A `Communicator` passes arrays of NumPy, and of CuPy as `device_messages` says. Collective calls (all but
`rank`, `size` and `counters`) are made by all ranks in the same order. Counters record what a rank has sent,
for cost models.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np

from linforest_precond.backends.array_libraries import is_cupy, xp_of
from linforest_precond.distributed.partition.deadlocks import RankError
from linforest_precond.distributed.partition.device_messages import Messages, Operation, device_messages

Options = TypeVar("Options")
COMBINE: dict[str, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


@dataclass
class Counters:
    """Counters of one rank: point-to-point messages and collective calls, and the bytes sent by them."""

    messages: int = 0
    message_bytes: int = 0
    collectives: int = 0
    collective_bytes: int = 0

    def reset(self) -> None:
        """Set all counters to zero."""
        self.__init__()  # type: ignore[misc]


@dataclass
class Communicator(Messages):
    """The ranks that work together.

    Attributes
    ----------
    timeout
        Seconds after which a rank that waits in a collective call for others ends the job, with the calls of
        all; None to wait for ever.
    """

    rank: int
    size: int
    counters: Counters = field(default_factory=Counters)
    # Subcommunicators, kept for reuse: MPI libraries limit the number of communicators.
    groups: dict[Any, tuple[Communicator, ...]] = field(default_factory=dict, repr=False)
    timeout: float | None = field(default=None, kw_only=True)
    # Whether ranks are processes: NCCL is between processes.
    are_processes: ClassVar[bool] = False
    # Whether messages may be in the memory of a GPU.
    takes_gpu_arrays: ClassVar[bool] = False

    def allgather(self, value: Any) -> list[Any]:
        """One value (a number, a tuple, a small array) of every rank, in the order of the ranks."""
        self._count(int(getattr(value, "nbytes", 8)))
        return self._allgather(value)

    def _messages(self, array: Any) -> Messages:
        """What passes an array between the ranks."""
        return device_messages(self) if is_cupy(type(array)) else self

    def allreduce(self, array: Any, operation: Operation = "sum") -> np.ndarray:
        """The elementwise sum, minimum or maximum over all ranks, in the order of the ranks."""
        array = array if is_cupy(type(array)) else np.asarray(array)
        self._count(array.nbytes)
        return self._messages(array)._allreduce(array, operation)

    def total(self, count: Any) -> int:
        """The sum of an integer over all ranks."""
        return int(self.allreduce(count))

    def totals(self, *counts: Any) -> list[int]:
        """The sums of several integers over all ranks."""
        return [int(count) for count in self.allreduce(counts)]

    def largest(self, number: Any) -> Any:
        """The maximum of a number over all ranks."""
        return self.allreduce(number, "max").item()

    def all(self, flag: Any) -> bool:
        """Whether a flag is set on all ranks."""
        return bool(self.allreduce(int(flag), "min"))

    def allgather_arrays(self, array: np.ndarray) -> np.ndarray:
        """Concatenate the arrays of all ranks; their lengths may differ, dtype and width may not.

        Counted with the length of the result: a ring passes all of it through every rank.
        """
        return self.allgather_known(array, self.allgather(len(array)))

    def allgather_known(self, array: np.ndarray, lengths: Sequence[int] | np.ndarray) -> np.ndarray:
        """`allgather_arrays` where the lengths of all ranks' arrays are known (MPI_Allgatherv)."""
        array = xp_of(array).ascontiguousarray(array)
        result = self._messages(array)._allgather_arrays(array, lengths)
        self._count(result.nbytes)
        return result

    def broadcast(self, array: np.ndarray, root: int) -> np.ndarray:
        """The array of rank `root`, on all; the others give one of the same shape and dtype."""
        self._count(array.nbytes)
        return self._messages(array)._broadcast(xp_of(array).array(array), root)

    def exchange(self, parts: Mapping[int, np.ndarray], like: np.ndarray) -> dict[int, np.ndarray]:
        """Sparse all-to-all: send `parts[r]` to rank r, and receive from others; empty parts are not sent.

        All arrays have the dtype and the trailing shape of `like`. Receivers need not know their senders:
        the lengths are exchanged first. Where they are known, `exchange_known` saves that.
        """
        lengths = np.zeros(self.size, np.int64)
        for other, part in parts.items():
            lengths[other] = len(part)
        self._count(lengths.nbytes)
        expected = {int(r): int(n) for r, n in enumerate(self._alltoall(lengths)) if n}
        return self.exchange_known({r: part for r, part in parts.items() if len(part)}, expected, like)

    def exchange_known(
        self, parts: Mapping[int, np.ndarray], expected: Mapping[int, int], like: np.ndarray
    ) -> dict[int, np.ndarray]:
        """`exchange` where the senders and the lengths of their parts, which are not 0, are known."""
        for other, part in parts.items():
            if other != self.rank:
                self.counters.messages += 1
                self.counters.message_bytes += part.nbytes
        return self._messages(like)._exchange(parts, expected, like)

    def _count(self, nbytes: int) -> None:
        """Count a collective call."""
        self.counters.collectives += 1
        self.counters.collective_bytes += nbytes

    def offsets(self, count: int) -> np.ndarray:
        """The exclusive scan of the counts of all ranks, and their sum: (size + 1,) of int64."""
        return np.concatenate([[0], np.cumsum(self.allgather(int(count)))]).astype(np.int64)

    def numbered(self, flags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Number the flagged items of all ranks consecutively: the offsets of the ranks, own numbers."""
        numbers = xp_of(flags).cumsum(flags, dtype=np.int64) if flags.size else flags.astype(np.int64)
        offsets = self.offsets(int(numbers[-1]) if flags.size else 0)
        return offsets, numbers + (int(offsets[self.rank]) - 1)

    @abc.abstractmethod
    def split(self, color: int) -> Communicator:
        """The ranks that give the same colour, in the order of their ranks; counters are shared."""

    @abc.abstractmethod
    def barrier(self) -> None:
        """Wait for all ranks."""

    @abc.abstractmethod
    def abort(self, error: BaseException) -> None:
        """End all ranks after an error that only this one may have."""

    @abc.abstractmethod
    def _allgather(self, value: Any) -> list[Any]: ...

    @abc.abstractmethod
    def _alltoall(self, values: np.ndarray) -> np.ndarray: ...

    @contextlib.contextmanager
    def checking(self) -> Iterator[None]:
        """An error raised inside on any rank is raised on all: the same type and message, with its rank.

        For checks of arguments, without collective calls inside.
        """
        error: Exception | None = None
        try:
            yield
        except Exception as found:  # any error of a check
            error = found
        raised = self._allgather(None if error is None else (type(error), str(error)))
        first = next((r for r, found in enumerate(raised) if found), None)
        if first is None:
            return
        kind, message = raised[first]
        where = "" if all(found == raised[first] for found in raised) else f"rank {first}: "
        raise on_all_ranks(kind(where + message)) from error

    def same(self, name: str, value: Any) -> None:
        """Refuse, on all ranks with the same message, a value that differs between ranks.

        Of mappings and records, the message has the first item that differs.
        """
        found = self._allgather(_items_of(value, name))
        for other, items in enumerate(found):
            for item in [*found[0], *items]:
                first, seen = (each.get(item, _NOT_GIVEN) for each in (found[0], items))
                # By repr as well: NaN is not equal to NaN.
                if seen != first and repr(seen) != repr(first):
                    among = f"{name} must be the same on all ranks, but "
                    among += "is" if item == name else f"{item} is"
                    message = f"{among} {first!r} on rank 0 and {seen!r} on rank {other}"
                    raise on_all_ranks(ValueError(message))

    def agreed(self, name: str, check: Callable[[], Options]) -> Options:
        """The options that `check` returns, which must be valid and the same on all ranks."""
        with self.checking():
            options = check()
        self.same(name, options)
        return options

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """An unexpected error inside ends all ranks, which would deadlock otherwise.

        Errors of `checking` and `same`, which all ranks have, only pass through.
        """
        try:
            yield
        except RankError:
            raise
        except BaseException as error:
            if not getattr(error, "is_on_all_ranks", False):
                self.abort(error)
            raise


class _NotGiven:
    def __repr__(self) -> str:
        return "not given"


_NOT_GIVEN = _NotGiven()


def _items_of(value: Any, name: str) -> dict[str, Any]:
    """The items of mappings and records by their names, those of records inside included."""
    if dataclasses.is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        parts = [_items_of(part, str(key)) for key, part in value.items()]
        return {item: found for part in parts for item, found in part.items()}
    if isinstance(value, list | tuple):
        parts = [_items_of(part, name) for part in value]
        if any(part.keys() != {name} for part in parts):  # of records
            names = dict.fromkeys(item for part in parts for item in part)
            return {item: [part[item] for part in parts if item in part] for item in names}
    return {name: value}


def on_all_ranks(error: Exception) -> Exception:
    """Mark an error that every rank raises: no rank is left waiting."""
    error.is_on_all_ranks = True  # type: ignore[attr-defined]
    return error


def parts_by_rank(owners: np.ndarray, arrays: Sequence[np.ndarray]) -> list[dict[int, np.ndarray]]:
    """Split arrays by the rank that each entry goes to; the order of entries is kept."""
    xp = xp_of(owners)
    if owners.size and owners.min() == owners.max():  # stall: where messages go
        return [{int(owners[0]): array} for array in arrays]
    if (owners[1:] < owners[:-1]).any():
        order = xp.argsort(owners, kind="stable")
        owners, arrays = owners[order], [array[order] for array in arrays]
    starts = xp.flatnonzero(xp.diff(owners, prepend=-1))
    cuts = starts.tolist()
    parts = [(r, slice(a, b)) for r, a, b in zip(owners[starts].tolist(), cuts, [*cuts[1:], owners.size])]
    return [{r: array[part] for r, part in parts} for array in arrays]
