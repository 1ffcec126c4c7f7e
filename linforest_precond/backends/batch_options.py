"""How the batch method of the Cuthill-McKee order forms, signals and switches batches."""

from __future__ import annotations

from dataclasses import dataclass, fields

from linforest_precond.backends.arguments import as_integer

# A thread block of the GPU holds the rows of a batch, one per thread; the sums of degrees are 63-bit.
LARGEST_SIZE, LARGEST_CAPACITY, MOST_CONCURRENT, MOST_WORKERS = 256, 2**30, 8, 2**16


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """The parts of the batch method of Mlakar et al., each of which can be switched off.

    The order is the same for all of them; only the time differs. The defaults are the published algorithm for
    multicore processors; that for the GPU has ``overestimate=True``.

    Parameters
    ----------
    early : bool
        Signal as early as possible (Algorithm 5). A batch whose predecessors have all marked their neighbours
        before it starts is never checked again; the signals "discovered" and "counted" are passed on before
        the children are sorted. Otherwise each batch sorts, waits, checks and signals, in this order
        (Algorithm 4).
    balanced : bool
        Limit the sum of the degrees in a batch to `capacity`, too, and spread a surplus evenly. Fewer than
        half a batch of new vertices are left to the next batch to fill up. Otherwise batches have `size`
        vertices, whatever their degrees.
    overestimate : bool
        Reserve as many batches as first-come packing in the sorted order could need, and leave the
        rest of them empty. Otherwise the number is that of an ideal packing, and batches may exceed
        `capacity`. For balanced batches only.
    concurrent : int
        The batches in progress in one worker: while one waits for a signal, the worker turns to the next.
    size : int
        The most vertices of a batch, up to 256.
    capacity : int
        The sum of degrees that fills a balanced batch. A vertex of higher degree has a batch to itself.
    workers : int, optional
        Threads on the CPU (by default Numba's number), thread blocks on the GPU (by default one for each
        multiprocessor, and never more than are resident at once).

    References
    ----------
    D. Mlakar, M. Winter, M. Parger, M. Steinberger, "Speculative Parallel Reverse Cuthill-McKee Reordering on
    Multi- and Many-core Architectures", IPDPS 2021

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((30, 30))
    >>> basic = lf.graph.BatchOptions(early=False, balanced=False, concurrent=1)
    >>> order = lf.graph.reverse_cuthill_mckee(A, method="batch", batch=basic)
    >>> bool((order == lf.graph.reverse_cuthill_mckee(A)).all())
    True
    """

    early: bool = True
    balanced: bool = True
    overestimate: bool = False
    concurrent: int = 2
    size: int = 64
    capacity: int = 1024
    workers: int | None = None

    def __post_init__(self) -> None:
        for name in ("early", "balanced", "overestimate"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if self.overestimate and not self.balanced:
            raise ValueError("overestimate=True needs balanced=True: other batches have a known number")
        limits = {
            "concurrent": MOST_CONCURRENT,
            "size": LARGEST_SIZE,
            "capacity": LARGEST_CAPACITY,
            "workers": MOST_WORKERS,
        }
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in limits and value is not None:
                as_integer(field.name, value, 1, limits[field.name])
