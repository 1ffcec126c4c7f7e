"""Simulated ranks: threads of one process, for tests, message counts and debugging."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_integer
from linforest_precond.distributed.partition.communicator import COMBINE, Communicator, on_all_ranks
from linforest_precond.distributed.partition.deadlocks import (
    NO_CALL,
    RankError,
    absence,
    described_call,
    mismatch,
)
from linforest_precond.distributed.partition.device_messages import Lengths, Operation, Parts


class Posted(NamedTuple):
    """A rank's contribution to a collective call: the call's number and description, and the value."""

    number: int
    call: str
    value: Any


@dataclass
class Board:
    """Shared slots, one for each rank; a barrier before reading, and one before the next write."""

    size: int
    barrier: threading.Barrier = field(init=False)
    posted: list[Posted] = field(init=False)

    def __post_init__(self) -> None:
        self.barrier = threading.Barrier(self.size)
        self.posted = [Posted(0, NO_CALL, None)] * self.size


@dataclass
class SimulatedCommunicator(Communicator):
    """One of several threads that pass arrays as ranks do. Made by `simulate`."""

    board: Board = field(default_factory=lambda: Board(1))
    boards: list[Board] = field(default_factory=list)

    def split(self, color: int) -> Communicator:
        colors = self._allgather(color)
        members = [r for r, other in enumerate(colors) if other == color]
        made = {c: Board(colors.count(c)) for c in sorted(set(colors))} if self.rank == 0 else None
        board = self._allgather(made)[0][color]
        self.boards.append(board)
        return SimulatedCommunicator(
            members.index(self.rank), len(members), self.counters, board=board, boards=self.boards,
            timeout=self.timeout,
        )  # fmt: skip

    def barrier(self) -> None:
        self._read("barrier", None, len)

    def abort(self, error: BaseException) -> None:
        for board in [self.board, *self.boards]:
            board.barrier.abort()

    def _allgather(self, value: Any) -> list[Any]:
        return self._read("allgather", value, list)

    def _allreduce(self, array: np.ndarray, operation: Operation, empty: Any = None) -> np.ndarray:
        def combined(posted: list[Any]) -> np.ndarray:
            out = np.array(posted[0])
            for other in posted[1:]:
                out = COMBINE[operation](out, other)
            return np.asarray(out)

        return self._read(f"allreduce of {array.nbytes} bytes", array.copy(), combined)

    def _allgather_arrays(self, array: Array, lengths: Lengths, empty: Any = None) -> Array:
        return self._read("allgather of arrays", array, np.concatenate)

    def _broadcast(self, array: np.ndarray, root: int) -> np.ndarray:
        return self._read(f"broadcast of {array.nbytes} bytes", array, lambda posted: np.array(posted[root]))

    def _alltoall(self, values: np.ndarray) -> np.ndarray:
        return self._read("alltoall", values, lambda posted: np.array([row[self.rank] for row in posted]))

    def _exchange(
        self, parts: Parts, expected: Mapping[int, int], like: Array, empty: Any = None
    ) -> dict[int, Array]:
        def received(posted: list[Any]) -> dict[int, np.ndarray]:
            return {r: np.array(posted[r][self.rank], dtype=like.dtype) for r in expected}

        found = self._read("exchange", parts, received)
        assert all(len(found[r]) == length for r, length in expected.items()), "lengths differ from expected"
        return found

    def _read(self, operation: str, value: Any, use: Callable[[list[Any]], Any]) -> Any:
        posted = self.board.posted
        posted[self.rank] = Posted(posted[self.rank].number + 1, described_call(operation), value)
        self._wait()
        differs = mismatch([each.call for each in posted])
        found = None if differs else use([each.value for each in posted])
        self._wait()
        if differs:
            raise on_all_ranks(RankError(differs))
        return found

    def _wait(self) -> None:
        try:
            self.board.barrier.wait(self.timeout)
        except threading.BrokenBarrierError:
            posted = self.board.posted
            own = posted[self.rank]
            absent = {r: each.call for r, each in enumerate(posted) if each.number < own.number}
            raise RankError(f"another rank has failed: {absence(self.rank, own.call, absent)}") from None


def simulate(
    size: int, function: Callable[..., Any], *arguments: Any, timeout: float | None = 300.0
) -> list[Any]:
    """Call ``function(communicator, *arguments)`` on `size` ranks, threads of this process.

    Parameters
    ----------
    size : int
        Number of ranks.
    function : callable
        What every rank does; its first argument is the communicator.
    *arguments
        Further arguments, the same objects for every rank.
    timeout : float, optional
        Seconds that a rank waits for others in a collective call, after which an error names the calls; None
        to wait for ever.

    Returns
    -------
    list
        What the ranks return, in their order. The error of the lowest rank that failed is raised.

    Examples
    --------
    >>> from linforest_precond.distributed import simulate
    >>> simulate(3, lambda comm: comm.allgather(comm.rank ** 2))
    [[0, 1, 4], [0, 1, 4], [0, 1, 4]]
    """
    board = Board(as_integer("size", size, 1))
    results: list[Any] = [None] * size
    errors: list[BaseException | None] = [None] * size

    def work(rank: int) -> None:
        comm = SimulatedCommunicator(rank, size, board=board, timeout=timeout)
        try:
            results[rank] = function(comm, *arguments)
        except BaseException as error:  # raised below
            errors[rank] = error
            if not getattr(error, "is_on_all_ranks", False):
                comm.abort(error)

    threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    own = [error for error in errors if error is not None and not isinstance(error, RankError)]
    for error in own or [error for error in errors if error is not None]:
        raise error
    return results
