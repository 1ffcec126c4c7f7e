"""Preconditioner files and pickles with changed arrays, headers and bytes.

Compiled kernels follow the indices that a preconditioner stores, so nothing may come out of a file or a
pickle that was not checked. Whatever is changed: `PreconditionerFileError`, or an operator that can be
applied, transposed, printed and updated. A file whose digest was not recomputed gives the same numbers, or
the error.
"""

import copy
import functools
import io
import json
import warnings
import zipfile
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from harness import on_device, on_host
from storage_changes import (
    OBJECTS,
    WORDS,
    change_arrays,
    change_bytes,
    change_header,
    change_members,
    change_text,
    pick,
)

import linforest_precond as lf
from linforest_precond.precond.preconditioner import packed, restore
from linforest_precond.precond.storage import files as storage

ARRAYS = "preconditioner files: arrays changed"
BYTES = "preconditioner files: bytes changed"
HEADERS = "preconditioner files: headers changed"
PICKLES = "pickles changed"
# In a quick run, and in a full one.
CLASSES = {ARRAYS: (30, 5000), HEADERS: (30, 3000), PICKLES: (30, 2000), BYTES: (30, 5000)}
LIMIT_SECONDS = 120.0


# ---- the preconditioners that are changed


def grid(rows=6, columns=7):
    return sp.csr_array(lf.matrices.poisson((rows, columns)))


def nonsymmetric():
    A = grid()
    A.data = A.data * (1 + 0.3 * np.random.default_rng(1).random(A.nnz))
    return A


def neumann():
    """Rows that add up to 0."""
    A = grid()
    return sp.csr_array(A - sp.diags_array(A.sum(axis=1)))


def hierarchy(A, cycle="V", **options):
    return lf.multilevel(A, max_coarse=5, matchings=1, **options).aspreconditioner(cycle)


SEEDS = {
    "jacobi": (grid, lf.jacobi),
    "jacobi in single precision": (grid, lambda A: lf.jacobi(A, dtype=np.float32)),
    "block jacobi": (nonsymmetric, lambda A: lf.block_jacobi(A, 4)),
    "several forests": (nonsymmetric, lambda A: lf.tridiagonal(A, forests=2, polynomial=2)),
    "forest": (grid, lf.tridiagonal),
    "forest, nonsymmetric": (nonsymmetric, lf.tridiagonal),
    "forest, complex": (lambda: grid().astype(complex), lf.tridiagonal),
    "original order": (grid, lambda A: lf.tridiagonal(A, "original")),
    "given order": (nonsymmetric, lambda A: lf.tridiagonal(A, on_device(np.arange(A.shape[0])[::-1]))),
    "given forest": (grid, lambda A: lf.tridiagonal(A, lf.linear_forest(A, seed=3))),
    "blocks of 1": (grid, lambda A: lf.block_tridiagonal(A, 1)),
    "blocks of 2": (nonsymmetric, lambda A: lf.block_tridiagonal(A, 2)),
    "blocks of 4": (grid, lambda A: lf.block_tridiagonal(A, 4)),
    "matching": (nonsymmetric, lambda A: lf.tridiagonal(A, scaling="matching")),
    "symmetric matching": (grid, lambda A: lf.block_tridiagonal(A, scaling="matching")),
    "ilu": (nonsymmetric, lf.ilu),
    "incomplete Cholesky": (grid, lambda A: lf.ilu(A, ordering="colors")),
    "FSAI": (grid, lambda A: lf.approximate_inverse(A, 5)),
    "SPAI": (nonsymmetric, lambda A: lf.approximate_inverse(A, 5)),
    "V-cycle": (grid, hierarchy),
    "K-cycle": (grid, lambda A: hierarchy(A, "K", smoother="chebyshev")),
    "W-cycle": (neumann, lambda A: hierarchy(A, "W", presmooth=2, postsmooth=0)),
    "F-cycle": (nonsymmetric, lambda A: hierarchy(A, "F", smoother="l1_jacobi")),
    "smoothed prolongators": (grid, lambda A: hierarchy(A, "K", smooth_prolongation=True)),
    "coarsening along paths": (nonsymmetric, lambda A: hierarchy(A, coarsening="paths")),
    "candidates": (grid, lambda A: lf.multilevel(A, max_coarse=5, block_size=2).aspreconditioner()),
    "lines": (grid, lambda A: hierarchy(A, smoother="tridiagonal", coarsening="matching")),
    "lines of blocks": (grid, lambda A: hierarchy(A, smoother="block_tridiagonal")),
    "approximate inverses": (grid, lambda A: hierarchy(A, smoother="approximate_inverse")),
}


@dataclass
class Seed:
    """A matrix, the state of its preconditioner, and the bytes of its file."""

    A: object
    kind: str
    header: dict
    arrays: dict
    content: bytes
    product: np.ndarray


@functools.cache
def seed_of(name):
    matrix, make = SEEDS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        A = on_device(matrix())
        M = make(A)
    header, arrays = packed(M)
    return Seed(A, M.kind, header, arrays, file_of(M.kind, header, arrays), on_host(M @ right_side(M)))


def prepare(folder):
    seeds = {name: seed_of(name) for name in SEEDS}
    for seed in seeds.values():  # compiled before any case is timed
        assert outcome(lambda seed=seed: restore(seed.kind, (seed.header, seed.arrays)), seed.A) == "read"
    return seeds


# ---- the promise


def right_side(M, columns=1):
    b = np.cos(np.arange(M.shape[0] * columns, dtype=float)).reshape(M.shape[0], columns)
    return on_device(b[:, 0] if columns == 1 else b)


def use(M, A):
    """All that a preconditioner can do; other numbers, and a refused update, are no fault."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for columns in (1, 2):
            b = right_side(M, columns)
            assert (M @ b).shape == (M.T @ b).shape == b.shape
        assert len(str(M)) < 10_000
        try:
            M.update(A)
        except (ValueError, TypeError) as error:
            assert str(error).startswith(("A must", "A's entries differ too much in size")), error
        else:
            assert (M @ right_side(M)).shape == (M.shape[0],)
        if M.shape == A.shape:
            lf.solvers.fcg(A, right_side(M), M=M, maxiter=3)


def outcome(load, A):
    try:
        M = load()
    except lf.PreconditionerFileError:
        return "refused"
    use(M, A)
    return "read"


# ---- files and pickles of a changed state


def npy(array):
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    return content.getvalue()


def archive(members):
    """The bytes of an archive; `members` are (name, bytes)."""
    content = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(content, "w") as target:
        warnings.simplefilter("ignore", UserWarning)  # duplicate names
        for name, member in members:
            target.writestr(f"{name}.npy", member)
    return content.getvalue()


def file_of(kind, header, arrays, text=None, change=None):
    """As `save_preconditioner` writes it, digest included; `change` is for the list of members."""
    if text is None:
        start = {"format": storage.FORMAT, "version": storage.VERSION, "kind": kind}
        text = json.dumps({**start, "digest": storage.ALGORITHM, **header})
    digest = storage._digest(text, arrays)
    named = {storage.HEADER: np.array(text), **arrays, storage.DIGEST: np.array(digest)}
    members = [(name, npy(array)) for name, array in named.items()]
    return archive(members if change is None else change(members))


def load(folder, content):
    path = folder / "M.npz"
    path.write_bytes(content)
    return lf.load_preconditioner(path)


# ---- cases


def changed_file(seed, name, rng):
    """The bytes of a file with changed arrays or a changed header, and a digest that fits."""
    header, arrays = copy.deepcopy(seed.header), dict(seed.arrays)
    if name == ARRAYS:
        change_arrays(arrays, rng)
        return file_of(seed.kind, header, arrays)
    what = rng.random()
    if what < 0.7:
        start = {"format": storage.FORMAT, "version": storage.VERSION, "kind": seed.kind}
        whole = {**start, "digest": storage.ALGORITHM, **header}
        change_header(whole, rng)
        return file_of(None, None, arrays, json.dumps(whole))
    if what < 0.8:
        text = change_text(json.dumps({"format": storage.FORMAT, "kind": seed.kind, **header}), rng)
        return file_of(None, None, arrays, text)
    return file_of(seed.kind, header, arrays, change=lambda members: change_members(members, rng))


def changed_pickle(seed, rng):
    """The arguments of `restore`."""
    kind, header, arrays = seed.kind, copy.deepcopy(seed.header), dict(seed.arrays)
    what = rng.random()
    if what < 0.05:
        return pick(rng, (*WORDS, None, [], 3)), (header, arrays)
    if what < 0.1:
        return kind, pick(rng, (None, (), (header,), [header, arrays], (arrays, header), (header, None)))
    if what < 0.2:
        arrays[pick(rng, arrays)] = pick(rng, OBJECTS)
    elif what < 0.6:
        change_arrays(arrays, rng)
    else:
        change_header(header, rng)
    return kind, (header, arrays)


def run_case(prepared, name, rng, folder):
    seed = prepared[pick(rng, prepared)]
    if name == PICKLES:
        arguments = changed_pickle(seed, rng)
        return outcome(lambda: restore(*arguments), seed.A)
    if name != BYTES:
        content = changed_file(seed, name, rng)
        return outcome(lambda: load(folder, content), seed.A)
    content = change_bytes(seed.content, rng)
    try:
        M = load(folder, content)
    except lf.PreconditionerFileError:
        return "refused"
    assert np.array_equal(on_host(M @ right_side(M)), seed.product), "other numbers from a damaged file"
    return "read"


def run_file(path):
    """Replay a case: the name of a seed, and edits of its arrays and header.

    An edit is [array, place in the raveled array, number], [array, dtype], [array, null] to remove it, or
    [[keys of the header], value].
    """
    case = json.loads(path.read_text(encoding="utf-8"))
    seed = seed_of(case["preconditioner"])
    header, arrays = copy.deepcopy(seed.header), dict(seed.arrays)
    for name, *edit in case["edits"]:
        if isinstance(name, list):
            *keys, last = name
            functools.reduce(lambda holder, key: holder[key], keys, header)[last] = edit[0]
        elif edit == [None]:
            del arrays[name]
        elif len(edit) == 1:
            arrays[name] = arrays[name].astype(edit[0])
        else:
            arrays[name] = arrays[name].copy()
            arrays[name].flat[edit[0]] = edit[1]
    return outcome(lambda: restore(seed.kind, (header, arrays)), seed.A)
