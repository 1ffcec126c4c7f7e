"""Matrices of the folder LINFOREST_MATRICES, which has a MANIFEST.tsv; graphs as their Laplacians."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.systems.cases import laplacian
from linforest_precond.matrices.readers.matrix_market import read_entries


def folder() -> Path:
    return Path(os.environ["LINFOREST_MATRICES"])


def manifest() -> dict[str, dict[str, str]]:
    """The lines of MANIFEST.tsv by name, the most rows first."""
    with open(folder() / "MANIFEST.tsv", newline="", encoding="utf-8") as lines:
        return {line["name"]: line for line in csv.DictReader(lines, delimiter="\t")}


def load(name: str) -> Any:
    """The matrix as it is stored, in double precision."""
    A = sp.csr_array(read_entries(folder() / f"{name}.mtx.gz"))
    return sp.csr_array(A, dtype=np.result_type(A.dtype, np.float64))


def is_directed(line: dict[str, str]) -> bool:
    """Whether it is a directed graph, which is no linear system."""
    return line["numerically_symmetric"] == "False" and line["all_ones"] == "True"


def system(line: dict[str, str]) -> Any:
    """The matrix without explicit zeros; of a graph (all entries are 1) its Laplacian, which is singular."""
    A = load(line["name"])
    A.eliminate_zeros()
    if line["all_ones"] == "False":
        return A
    return laplacian(sp.triu(A, 1), np.zeros(A.shape[0]), "cpu")
