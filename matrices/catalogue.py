"""The 22 test matrices of Klein & Strzodka (2022), with the values of the paper's tables 3, 4 and 5."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from typing import Any, NamedTuple

from linforest_precond.backends.user_warnings import named_arguments


class Configuration(NamedTuple):
    """One configuration of the parallel [0,2]-factor in table 4."""

    c5: float  # coverage after five iterations
    cmax: float  # coverage of the maximal factor
    M_max: int  # iterations until it is maximal


@dataclass(frozen=True)
class Coverages:
    """One row of table 5: shares of the off-diagonal weight."""

    c_id: float
    parallel: dict[int, float]  # n: c_pi(5) of the parallel [0,n]-factor, m = 5, k_m = 0
    sequential: dict[int, float]  # n: c_pi of the greedy [0,n]-factor
    block: dict[int, float]  # m: coverage of the 2x2 block tridiagonal


@dataclass(frozen=True)
class PaperMatrix:
    """A test matrix of Klein & Strzodka, "Highly Parallel Linear Forest Extraction from a Weighted Graph on
    GPUs" (2022), doi:10.1145/3545008.3545035, with the values published there.

    Attributes
    ----------
    name : str
        As the SuiteSparse Matrix Collection spells it, or "aniso1", "aniso2", "aniso3".
    group : str or None
        The collection's group; None for the generated ones.
    kind : str
        The kind of problem.
    rows, nnz : int
        Table 3; nnz counts every stored entry of the full matrix, explicit zeros too.
    symmetric : bool
    mean_degree : float
    table4 : dict
        (m, k_m) to `Configuration`: c5, cmax and M_max.
    table4_sequential : float
        c_pi of the greedy [0,2]-factor.
    table5 : Coverages
        c_id and the coverages ``parallel[n]``, ``sequential[n]`` and ``block[m]``.
    """

    name: str
    group: str | None
    kind: str
    rows: int
    nnz: int
    symmetric: bool
    mean_degree: float
    table4: dict[tuple[int, int], Configuration]
    table4_sequential: float
    table5: Coverages

    @property
    def full_name(self) -> str:
        """With the group, as the collection addresses it: "McRae/ecology1"."""
        return f"{self.group}/{self.name}" if self.group else self.name

    def __str__(self) -> str:
        table = self.table5
        configurations = [
            f"  m = {m}, k_m = {k_m}  c_pi(5) {row.c5:.2f}, c_pi(M_max) {row.cmax:.2f}, M_max {row.M_max:,}"
            for (m, k_m), row in self.table4.items()
        ]
        return "\n".join(
            [
                f"{self.full_name}: {self.kind}",
                f"  rows            {self.rows:,}",
                f"  entries         {self.nnz:,}",
                f"  symmetric       {'yes' if self.symmetric else 'no'}",
                f"  c_id            {table.c_id:.2f}",
                f"  parallel        {_listed(table.parallel)} for n = 1, 2, 3, 4",
                f"  sequential      {_listed(table.sequential)}",
                f"  2x2 blocks      {_listed(table.block)} for m = 1, 5",
                *configurations,
            ]
        )


@named_arguments
def catalogue() -> dict[str, PaperMatrix]:
    """The test matrices of Klein & Strzodka (2022), by name, in the paper's order.

    Returns
    -------
    dict of str to PaperMatrix

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> paper = matrices.catalogue()
    >>> len(paper)
    22
    >>> paper["ecology1"].full_name, paper["ecology1"].rows
    ('McRae/ecology1', 1000000)
    >>> paper["aniso2"].table4[1, 0].M_max
    1251
    >>> paper["atmosmodm"].table5.c_id, paper["atmosmodm"].table5.parallel[2]
    (0.03, 0.95)
    """
    return dict(_read())


def find(name: str) -> PaperMatrix:
    """A test matrix of the paper by its name in any case, with or without its group."""
    by_name = {matrix.name.lower(): matrix for matrix in _read().values()}
    known = by_name | {matrix.full_name.lower(): matrix for matrix in _read().values()}
    wanted = str(name).lower()
    if wanted in known:
        return known[wanted]
    near = get_close_matches(wanted, by_name) or by_name
    names = ", ".join(by_name[each].name for each in near)
    raise LookupError(f"name {name!r} is not in the catalogue; it has {names}")


@functools.cache
def _read() -> dict[str, PaperMatrix]:
    text = resources.files(__package__).joinpath("catalogue.toml").read_text(encoding="utf-8")
    return {name: _matrix(name, entry) for name, entry in tomllib.loads(text).items()}


def _matrix(name: str, entry: dict[str, Any]) -> PaperMatrix:
    table5 = entry.pop("table5")
    configurations = {(m, k_m): Configuration(*row) for m, k_m, *row in entry.pop("table4")}
    coverages = Coverages(
        c_id=table5["identity"],
        parallel=dict(zip((1, 2, 3, 4), table5["parallel"], strict=True)),
        sequential=dict(zip((1, 2, 3, 4), table5["sequential"], strict=True)),
        block=dict(zip((1, 5), table5["block"], strict=True)),
    )
    group = entry.pop("group", None)
    return PaperMatrix(name=name, group=group, table4=configurations, table5=coverages, **entry)


def _listed(values: dict[int, float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values.values())
