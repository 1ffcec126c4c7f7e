"""Changes of the arrays, headers and bytes of preconditioner files."""

import copy
import warnings

import numpy as np
import scipy.sparse as sp


def pick(rng, items):
    items = list(items)
    return items[int(rng.integers(len(items)))]


INTEGERS = -1, -2, 0, 1, 2, 41, 42, 43, 10**6, 2**31 - 1, -(2**31)
REALS = np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-320, 1e308, -1e300, 1e16
DTYPES = "int32", "int64", "uint64", "uint8", "float32", "float64", "complex128", "bool", ">i4", ">f8", "U3"


def with_item(array, rng):
    array = array.copy()
    if array.size:
        choices = INTEGERS if array.dtype.kind in "iu" else REALS
        with np.errstate(all="ignore"):
            array.flat[int(rng.integers(array.size))] = np.array(pick(rng, choices)).astype(array.dtype)
    return array


def with_swap(array, rng):
    array = array.copy()
    if array.size:
        i, j = rng.integers(array.size, size=2)
        array.flat[[i, j]] = array.flat[[j, i]]
    return array


def with_shift(array, rng):
    return array + array.dtype.type(pick(rng, (1, 1, 2, 3)))


def with_permutation(array, rng):
    return rng.permutation(array.ravel().copy()).reshape(array.shape)


def with_dtype(array, rng):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return array.astype(pick(rng, DTYPES))


def with_shape(array, rng):
    changes = (
        lambda a: a.ravel(), lambda a: a[..., None], lambda a: a[:-1], lambda a: a[1:], lambda a: a[:0],
        lambda a: np.concatenate([a, a]), lambda a: np.concatenate([a, a[-1:]]), lambda a: a.T,
        lambda a: np.asfortranarray(a), lambda a: a.ravel()[:1].squeeze(), lambda a: a[None],
        lambda a: a[::2],
    )  # fmt: skip
    return pick(rng, changes)(np.atleast_1d(array))


CHANGES = (
    with_item, with_item, with_item, with_swap, with_swap, with_shift, with_permutation, with_dtype,
    with_shape,
)  # fmt: skip


def change_arrays(arrays, rng):
    """Consistent contents of another kind, or between one and three changes."""
    if rng.random() < 0.3:
        pick(rng, CONSISTENT)(arrays, rng)
        return
    for _ in range(int(rng.integers(1, 4))):
        name = pick(rng, arrays)
        what = rng.random()
        if what < 0.04:
            del arrays[name]
        elif what < 0.08:
            arrays[pick(rng, arrays)] = arrays[name]
        elif what < 0.1:
            arrays[f"{name}.more"] = arrays[name]
        else:
            arrays[name] = pick(rng, CHANGES)(arrays[name], rng)
        if not arrays:
            return


def names_ending(arrays, ending):
    return [name.removesuffix(ending) for name in arrays if name.endswith(ending)]


def new_order(arrays, rng):
    """Another permutation and its inverse."""
    for prefix in names_ending(arrays, ".order"):
        order = with_swap(arrays[f"{prefix}.order"], rng)
        arrays[f"{prefix}.order"], arrays[f"{prefix}.rank"] = order, np.argsort(order).astype(order.dtype)


def new_forest(arrays, rng):
    """A path through all vertices, from vertex 0 on."""
    for prefix in names_ending(arrays, ".path_id"):
        n, index = arrays[f"{prefix}.path_id"].size, arrays[f"{prefix}.path_id"].dtype
        order = np.append(0, 1 + rng.permutation(n - 1)).astype(index)
        rank = np.argsort(order).astype(index)
        neighbors = np.full((n, 2), -1, index)
        neighbors[order[1:], 0], neighbors[order[:-1], 1] = order[:-1], order[1:]
        changed = {"path_id": np.zeros(n, index), "position": rank + index.type(1), "neighbors": neighbors}
        changed |= {"ordering.order": order, "ordering.rank": rank, "counts": np.array([1, n, 0])}
        arrays.update({f"{prefix}.{name}": array for name, array in changed.items()})


def new_members(arrays, rng):
    """The vertices of blocks in another order, ghosts where they were."""
    for name in [name for name in arrays if name.endswith(".members")]:
        members = arrays[name].copy()
        members[members >= 0] = rng.permutation(members[members >= 0])
        arrays[name] = members


def new_matrices(arrays, rng):
    """Other columns and values in the rows of a matrix, with its own diagonal."""
    prefix = pick(rng, names_ending(arrays, ".csr.indptr") or [None])
    if prefix is None:
        return
    names = [f"{prefix}.csr.{name}" for name in ("indptr", "indices", "data", "diagonal")]
    indptr, indices, data = (arrays[name].copy() for name in names[:3])
    for first, end in zip(indptr, indptr[1:]):
        indices[first:end] = np.sort(rng.choice(indptr.size - 1, end - first, replace=False))
    data = data * rng.choice([-1.0, 1.0, 1e-3, 0.0], data.size)
    diagonal = sp.csr_array((data, indices, indptr), shape=(indptr.size - 1,) * 2).diagonal()
    arrays.update(zip(names, (indptr, indices, data, diagonal)))


def new_aggregates(arrays, rng):
    """Every aggregate keeps a member."""
    for name in [name for name in arrays if name.endswith(".numbers")]:
        numbers = arrays[name]
        others = rng.integers(numbers.max() + 1, size=numbers.size - numbers.max() - 1)
        arrays[name] = rng.permutation(np.append(np.arange(numbers.max() + 1), others)).astype(numbers.dtype)


def new_prolongators(arrays, rng):
    """Other columns and weights, and the restriction that belongs to them."""
    for prefix in names_ending(arrays, ".prolongator.indptr"):
        P, R = (
            [f"{prefix}.{name}.{part}" for part in ("indptr", "indices", "data")]
            for name in ("prolongator", "restrictor")
        )
        indptr, rows = arrays[P[0]], arrays[R[0]].size - 1
        columns = [rng.choice(rows, end - first, replace=False) for first, end in zip(indptr, indptr[1:])]
        indices = np.concatenate([np.sort(each) for each in columns]).astype(arrays[P[1]].dtype)
        data = rng.standard_normal(indices.size).astype(arrays[P[2]].dtype)
        transposed = sp.csr_array((data, indices, indptr), shape=(indptr.size - 1, rows)).T.tocsr()
        transposed.sort_indices()
        arrays.update(zip(P, (indptr, indices, data)))
        arrays.update(zip(R, (transposed.indptr, transposed.indices, transposed.data)))


def new_bands(arrays, rng):
    """Other numbers inside the matrix."""
    for name in [name for name in arrays if ".bands." in name]:
        factors = 10.0 ** rng.integers(-3, 4, arrays[name].shape) * rng.choice([-1, 0, 1], arrays[name].shape)
        arrays[name] = (arrays[name] * factors).astype(arrays[name].dtype)


# Changes after which the arrays are consistent again: they are read, and must be safe to use.
CONSISTENT = new_order, new_forest, new_members, new_matrices, new_aggregates, new_prolongators, new_bands


WORDS = (
    "ilu", "jacobi", "block_jacobi", "tridiagonal", "block_tridiagonal", "several_forests", "multilevel",
    "chebyshev", "V", "W", "K", "F", "approximate_inverse", "fsai", "spai",
    "Forest", "Ordering", "CSR", "Bands", "cpu", "float32", "float64", "complex128", "int8", "",
    "x" * 100_000,
)  # fmt: skip
JUNK = (
    None, True, False, -1, 0, 1, 2, 3, 999, 10**30, 0.5, -1.0, 1e308, float("nan"), float("inf"), [], {},
    [[]], [1, 2], [True], {"array": "part.n"}, {"record": "Forest", "fields": {}}, {"record": []}, {"a": 1},
)  # fmt: skip


def change_header(header, rng):
    """Replace, remove, rename, copy or move a node of the header, once or twice."""
    for _ in range(int(rng.integers(1, 3))):
        holder, key = pick(rng, nodes(header))
        what = rng.random()
        if what < 0.45:
            holder[key] = pick(rng, JUNK)
        elif what < 0.6:
            holder[key] = pick(rng, WORDS)
        elif what < 0.7:
            del holder[key]
        elif what < 0.8 and isinstance(holder, dict):
            holder[pick(rng, WORDS)] = holder.pop(key)
        elif what < 0.9:
            other, place = pick(rng, nodes(header))
            holder[key] = copy.deepcopy(other[place])
        elif isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            holder[key] += pick(rng, (-1, 1))
        if not header:
            return


def nodes(value):
    """(holder, key) of every value in a header."""
    found, pending = [], [value]
    while pending:
        holder = pending.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                pending.append(holder[key])
    return found


def change_text(text, rng):
    """The header's text, by characters."""
    place = int(rng.integers(len(text)))
    what = int(rng.integers(4))
    if what == 0:
        return text[:place]
    if what == 1:
        return (
            text[:place]
            + pick(rng, ("[" * 20_000, '{"a":' * 20_000, "1" * 5000, "\ud800", "\0", '"'))
            + text[place:]
        )
    if what == 2:
        return text[:place] + text[place + 1 :]
    return text[:place] + chr(int(rng.integers(32, 127))) + text[place + 1 :]


# Bytes of the header of an array, and others.
OF_ARRAY_HEADERS = (
    (b"(4", b"(9999999999999"), (b"<", b">"), (b"False", b"True"), (b"'<f8'", b"'|O'"), (b"f8", b"c16"),
    (b"shape", b"sha\x01e"), (b"(", b"((" * 2000), (b"NUMPY\x01", b"NUMPY\x07"),
)  # fmt: skip


def change_members(members, rng):
    """The header of an array, or the list of members."""
    place = int(rng.integers(len(members)))
    name, content = members[place]
    what = int(rng.integers(5))
    if what == 0:
        return [*members, members[place]]
    if what == 1:
        return members[:place] + members[place + 1 :]
    old, new = pick(rng, OF_ARRAY_HEADERS)
    if what == 2:
        content = content.replace(old, new, 1)
    elif what == 3:
        content = content[: int(rng.integers(len(content)))]
    else:
        content = bytearray(content)
        content[int(rng.integers(min(len(content), 128)))] = int(rng.integers(256))
    return [*members[:place], (name, bytes(content)), *members[place + 1 :]]


def change_bytes(content, rng):
    content = bytearray(content)
    start = int(rng.integers(len(content)))
    length = int(rng.integers(1, 40))
    what = int(rng.integers(6))
    if what == 0:
        del content[start:]
    elif what == 1:
        del content[start : start + length]
    elif what == 2:
        content[start:start] = rng.bytes(length)
    elif what == 3:
        content[start : start + length] = bytes(len(content[start : start + length]))
    else:
        for place in rng.integers(len(content), size=int(rng.integers(1, 9))):
            content[place] ^= 1 << int(rng.integers(8))
    return bytes(content)


OBJECTS = (
    None, [1.0, 2.0], 3, "text", np.array(None), np.array([[1, 2]], dtype=object),
    np.ma.masked_array([1.0, 2.0]), np.zeros(3, "datetime64[s]"), np.zeros(2, [("a", "f8")]),
)  # fmt: skip
