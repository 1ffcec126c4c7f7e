"""LogGP model of the time of distributed setups and products, from counted messages and bytes.

Messages are counted on simulated ranks (`counted`), extrapolated by power laws in the number of ranks
(`Fit`), and converted to seconds by the parameters of a machine (`Machine`). LogGP: Alexandrov et al.,
"LogGP: incorporating long messages into the LogP model", 1995, doi:10.1145/215399.215427. Collectives use
recursive doubling.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.simulated import simulate

NUMBER = 8  # bytes of a double


@dataclass(frozen=True)
class Machine:
    """Parameters of a machine.

    Attributes
    ----------
    latency : float
        Seconds that a message takes at least.
    overhead : float
        Seconds that a rank needs to send or receive one more message.
    bandwidth : float
        Bytes per second of a rank's connection to others.
    unknown : float
        Seconds for an unknown of the reduced system.
    """

    latency: float = 1.5e-6
    overhead: float = 0.3e-6
    bandwidth: float = 10e9
    unknown: float = 15e-9

    def exchange(self, rounds: float, messages: float, sent: float) -> float:
        """Seconds of rounds of messages between pairs of ranks, of the rank that sends most."""
        return rounds * self.latency + messages * self.overhead + sent / self.bandwidth

    def allgather(self, ranks: int, sent: float, calls: float = 1) -> float:
        """Seconds in which each rank gets what all others send; `sent` are the bytes of one in all calls."""
        return calls * self.latency * steps_of(ranks) + sent * (ranks - 1) / self.bandwidth

    def allreduce(self, ranks: int, sent: float, calls: float = 1) -> float:
        """Seconds of reductions of arrays."""
        return steps_of(ranks) * (calls * self.latency + sent / self.bandwidth)

    def alltoall(self, ranks: int, calls: float = 1) -> float:
        """Seconds in which each rank tells each other a length (Bruck's algorithm)."""
        return calls * steps_of(ranks) * (self.latency + NUMBER * ranks / 2 / self.bandwidth)


def steps_of(ranks: int) -> int:
    """Rounds of recursive doubling."""
    return math.ceil(math.log2(ranks)) if ranks > 1 else 0


@dataclass(frozen=True)
class Counts:
    """Communication of a rank: the maximum over all ranks."""

    rounds: float = 0  # of messages between pairs of ranks
    messages: float = 0
    message_bytes: float = 0
    allgathers: float = 0
    allgather_bytes: float = 0
    allreduces: float = 0
    allreduce_bytes: float = 0
    alltoalls: float = 0

    def seconds(self, ranks: int, machine: Machine) -> float:
        """The time of the messages."""
        return (
            machine.exchange(self.rounds, self.messages, self.message_bytes)
            + machine.allgather(ranks, self.allgather_bytes, self.allgathers)
            + machine.allreduce(ranks, self.allreduce_bytes, self.allreduces)
            + machine.alltoall(ranks, self.alltoalls)
        )


def counted(size: int, function: Callable[[Communicator, Callable[..., Any]], Any]) -> dict[str, Counts]:
    """The counts of parts of what simulated ranks do.

    Parameters
    ----------
    size : int
        Number of ranks.
    function : callable
        Called on every rank with the communicator and `part`: what is done inside ``with part(name):`` is
        counted under this name.

    Returns
    -------
    dict
        For each name the largest counts of all ranks.
    """

    def work(comm: Communicator) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {}

        @contextlib.contextmanager
        def part(name: str) -> Iterator[None]:
            with _recorded(comm) as counts:
                yield
            found[name] = counts

        function(comm, part)
        return found

    ranks = simulate(size, work)
    return {name: Counts(**{f: max(r[name][f] for r in ranks) for f in ranks[0][name]}) for name in ranks[0]}


@contextlib.contextmanager
def _recorded(comm: Communicator) -> Iterator[dict[str, float]]:
    """Count the calls of one rank by their kinds, until the context ends."""
    counts: dict[str, float] = asdict(Counts())
    allgather, allreduce, alltoall = comm._allgather, comm._allreduce, comm._alltoall
    exchange = comm._exchange

    def counting_allgather(value: Any) -> Any:
        counts["allgathers"] += 1
        counts["allgather_bytes"] += getattr(value, "nbytes", NUMBER)
        return allgather(value)

    def counting_allreduce(array: Any, operation: Any) -> Any:
        counts["allreduces"] += 1
        counts["allreduce_bytes"] += array.nbytes
        return allreduce(array, operation)

    def counting_alltoall(values: Any) -> Any:
        counts["alltoalls"] += 1
        return alltoall(values)

    def counting_exchange(parts: Any, expected: Any, like: Any) -> Any:
        sent = [part.nbytes for r, part in parts.items() if r != comm.rank]
        received = sum(r != comm.rank for r in expected)
        counts["rounds"] += bool(sent or received)
        counts["messages"] += max(len(sent), received)
        counts["message_bytes"] += sum(sent)
        return exchange(parts, expected, like)

    own: Any = comm
    own._allgather, own._allreduce = counting_allgather, counting_allreduce
    own._alltoall, own._exchange = counting_alltoall, counting_exchange
    try:
        yield counts
    finally:
        del own._allgather, own._allreduce, own._alltoall, own._exchange


class Fit:
    """Counts for any number of ranks: power laws, fitted to the counts of the three largest numbers.

    Parameters
    ----------
    found : dict
        Counts for some numbers of ranks, of the same problem with as many rows for each rank.
    """

    def __init__(self, found: dict[int, Counts]) -> None:
        self.found = found
        sizes = sorted(found)[-3:]
        logs = np.log2(sizes)
        self.powers: dict[str, tuple[float, float]] = {}
        for field in fields(Counts):
            values = np.array([getattr(found[size], field.name) for size in sizes], float)
            slope = np.polyfit(logs, np.log2(np.maximum(values, 0.5)), 1)[0] if len(sizes) > 1 else 0.0
            self.powers[field.name] = float(values[-1]), float(np.clip(slope, 0, 1))
        self.last = sizes[-1]

    def __call__(self, ranks: int) -> Counts:
        """What was counted, or the fit; no rank has more partners than there are."""
        if ranks in self.found:
            return self.found[ranks]
        grown = {name: last * (ranks / self.last) ** slope for name, (last, slope) in self.powers.items()}
        grown["messages"] = min(grown["messages"], max(1.0, grown["rounds"]) * (ranks - 1))
        return Counts(**grown)


def coupling_seconds(ranks: int, machine: Machine, numbers: int = 2, way: str = "allgather") -> float:
    """The time of the values at the cuts and of the reduced system, for each product.

    Parameters
    ----------
    ranks : int
        Number of ranks; a path crosses every cut between them.
    machine : Machine
        Its parameters.
    numbers : int
        Unknowns for each cut: 2, or 4 for blocks of two rows.
    way : {"allgather", "two levels", "neighbours"}
        Every rank solves the whole reduced system after an allgather; or groups of about sqrt(p) ranks
        eliminate the cuts inside of them, and then the groups those between them; or no path spans a whole
        stretch, so that each cut has a system of its own.

    Returns
    -------
    float
        Seconds.
    """
    if way == "neighbours":
        return machine.exchange(1, 2, 2 * NUMBER * numbers) + 2 * numbers * machine.unknown
    if way == "two levels":
        group = math.isqrt(max(0, ranks - 1)) + 1
        return 2 * coupling_seconds(group, machine, numbers)
    sent = machine.allgather(ranks, NUMBER * numbers)
    return sent + numbers * (ranks - 1) * machine.unknown


def splitting_point(machine: Machine, work: float, numbers: int = 2, share: float = 0.1) -> int:
    """The least number of ranks, a power of two, for which the reduced system must be split.

    Parameters
    ----------
    machine : Machine
        Its parameters.
    work : float
        Seconds of a rank's own work in a product.
    numbers : int
        Unknowns for each cut.
    share : float
        A single reduced system may take this share of `work`.

    Returns
    -------
    int
        Ranks; fewer need no split.
    """
    ranks = 2
    while coupling_seconds(ranks, machine, numbers) <= share * work:
        ranks *= 2
    return ranks
