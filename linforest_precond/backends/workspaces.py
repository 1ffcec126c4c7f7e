"""Work space for objects that several threads and streams apply at the same time.

An operator keeps no work vectors of its own. Every application takes a work space from the operator's pool,
and gives it back when its last kernel has been enqueued. On the GPU, kernels may still run then: a work space
belongs to a stream, and is only taken by applications on the same stream, which run after those before.

A pool keeps at most `MOST_IDLE` work spaces that nobody uses; of more, the one that has been idle longest is
freed. So the memory of a pool is bounded by the applications that ran at the same time, and does not grow
with the number of threads, streams or columns over time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeAlias

MOST_IDLE = 8

# What a work space fits (numbers of columns ...), and the stream that it belongs to; None on the CPU.
Key: TypeAlias = tuple[int, Any]


class Loan:
    """A work space, and its key: that of the application it was made for. Compared by identity."""

    def __init__(self, key: Key, workspace: Any):
        self.key, self.workspace = key, workspace


class Workspaces:
    """The pool of one object; a work space of an application that raised is not given back."""

    def __init__(self) -> None:
        # The last one was given back last. Single operations on a list are atomic, so there is no lock, which
        # a fork could leave locked for ever.
        self._idle: list[Loan] = []

    def take(self, key: Key, make: Callable[[], Any]) -> Loan:
        """An idle work space of this key, or a new one."""
        lease = _active.lease
        found = self.take_idle(key) if lease is None else lease.take(self, key)
        return Loan(key, make()) if found is None else found

    def give_back(self, loan: Loan) -> None:
        """Let others use a work space."""
        if _active.lease is None:
            self.keep_idle(loan)
        else:
            _active.lease.keep(self, loan)

    def prepare(self, key: Key, make: Callable[[], Any]) -> Any:
        """Make a first work space, for others to use."""
        loan = Loan(key, make())
        self.keep_idle(loan)
        return loan.workspace

    def take_idle(self, key: Key) -> Loan | None:
        for loan in reversed(self._idle.copy()):
            if loan.key == key:
                try:
                    self._idle.remove(loan)
                except ValueError:  # another thread has taken it
                    continue
                return loan
        return None

    def keep_idle(self, loan: Loan) -> None:
        self._idle.append(loan)
        if len(self._idle) > MOST_IDLE:
            del self._idle[:1]


class Lease:
    """The work spaces of one owner, reserved until they are released.

    A CUDA graph contains the addresses of the work vectors that were used while it was captured. Its owner
    applies operators inside ``with lease:`` before and during the capture, on whichever stream, and releases
    the lease when the graph is not launched any more.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[Workspaces, Loan]] = []

    def __enter__(self) -> Lease:
        self._outer, _active.lease = _active.lease, self
        return self

    def __exit__(self, *error: object) -> None:
        _active.lease = self._outer

    def take(self, pool: Workspaces, key: Key) -> Loan | None:
        """A work space of this lease that fits, whatever its stream; else an idle one of the pool."""
        for place, (owner, loan) in enumerate(self._kept):
            if owner is pool and loan.key[0] == key[0]:
                del self._kept[place]
                return loan
        return pool.take_idle(key)

    def keep(self, pool: Workspaces, loan: Loan) -> None:
        self._kept.append((pool, loan))

    def release(self) -> None:
        """Give the work spaces back to their pools; their streams wait for all work with them."""
        while self._kept:
            pool, loan = self._kept.pop()
            pool.keep_idle(loan)


class _Active(threading.local):
    lease: Lease | None = None


_active = _Active()
