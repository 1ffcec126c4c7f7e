"""Files and pickles with forged or damaged contents are refused, by one error that names file and field."""

import io
import json
import pickle
import re
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from operator_cases import KINDS, dominant, other_values, state

import linforest_precond as lf
from linforest_precond.precond.preconditioner import packed, restore
from linforest_precond.precond.storage import files as storage
from linforest_precond.precond.storage.schema import PreconditionerFileError


def hierarchy(A, **options):
    return lf.multilevel(A, max_coarse=25, matchings=1, **options).aspreconditioner("V")


FORESTS = {"several forests": lambda A: lf.tridiagonal(A, forests=2, polynomial=2)}
HIERARCHIES = {
    "aggregates": hierarchy,
    "smoothed": lambda A: hierarchy(A, smooth_prolongation=True),
    "lines": lambda A: hierarchy(A, smoother="tridiagonal"),
    "candidates": lambda A: lf.multilevel(A, max_coarse=25, block_size=2).aspreconditioner(),
}
KINDS = (
    {name: KINDS[name] for name in ("forest", "permutation", "blocks of 2", "block jacobi 3", "ilu")}
    | FORESTS
    | HIERARCHIES
)


@pytest.fixture(scope="module")
def made():
    """The state of an operator of each kind, packed once."""
    states = {}

    def state_of(kind):
        if kind not in states:
            M = KINDS[kind](lf.matrices.poisson((6, 7)))
            states[kind] = (M.kind, *packed(M))
        return states[kind]

    return state_of


def write(path, kind, header, arrays, *, digest=True, text=None):
    """As `save_preconditioner`, or without the digest as its first version did."""
    start = {"format": storage.FORMAT, "version": 1, "kind": kind}
    text = text or json.dumps({**start, **({"digest": "sha256"} if digest else {}), **header})
    members = {"header": np.array(text), **arrays}
    if digest:
        members["digest"] = np.array(storage._digest(text, arrays))
    with open(path, "wb") as file:
        np.savez(file, **members)


def refused(path, *words):
    with pytest.raises(PreconditionerFileError) as caught:
        lf.load_preconditioner(path)
    assert path.name in str(caught.value)
    for word in words:
        assert word in str(caught.value), caught.value
    return str(caught.value)


def wrong_numbers(array):
    """Numbers that no array of the kind may hold."""
    if array.dtype.kind in "iu":
        return [10**9, -7] if array.dtype.kind == "i" else []
    return [np.nan, np.inf]


@pytest.mark.parametrize("kind", [graphs.slow(kind) if kind == "candidates" else kind for kind in KINDS])
class TestEveryArray:
    def test_its_numbers(self, made, kind, tmp_path):
        name_of_kind, header, arrays = made(kind)
        path = tmp_path / "M.npz"
        for name, array in arrays.items():
            for wrong in wrong_numbers(array):
                if name.endswith((".slots", ".progress")) and wrong > 0:
                    continue  # not followed, and any count
                forged = array.copy()
                forged.flat[-1] = wrong
                write(path, name_of_kind, header, {**arrays, name: forged})
                assert "damaged" not in refused(path, name)

    def test_its_type_and_shape(self, made, kind, tmp_path):
        name_of_kind, header, arrays = made(kind)
        path = tmp_path / "M.npz"
        for name, array in arrays.items():
            longer = np.concatenate([array, array[-1:]])
            for forged in (array.astype(np.int16), array[..., None], array[:-1], longer, array[:0]):
                if name.endswith(".counts") and forged is longer:
                    continue  # one of the GPU has four numbers
                write(path, name_of_kind, header, {**arrays, name: forged})
                refused(path)

    def test_it_is_there(self, made, kind, tmp_path):
        name_of_kind, header, arrays = made(kind)
        path = tmp_path / "M.npz"
        for name in arrays:
            write(path, name_of_kind, header, {key: arrays[key] for key in arrays if key != name})
            refused(path, name)
        write(path, name_of_kind, header, {**arrays, "part.other": np.zeros(3)})
        refused(path, "part.other")

    def test_pickles(self, made, kind):
        name_of_kind, header, arrays = made(kind)
        for name, array in arrays.items():
            with pytest.raises(PreconditionerFileError, match=name):
                restore(name_of_kind, (header, {**arrays, name: array[:0].astype(np.int8)}))

    def test_in_another_byte_order_and_layout(self, made, kind, tmp_path):
        """As another machine may write them."""
        name_of_kind, header, arrays = made(kind)
        foreign = {
            name: np.asfortranarray(array.astype(array.dtype.newbyteorder(">")))
            for name, array in arrays.items()
        }
        write(tmp_path / "plain", name_of_kind, header, arrays)
        write(tmp_path / "foreign", name_of_kind, header, foreign)
        one, other = (lf.load_preconditioner(tmp_path / name) for name in ("plain", "foreign"))
        np.testing.assert_array_equal(one @ np.ones(42), other @ np.ones(42))


def test_an_index_just_beyond_the_rows(made, tmp_path):
    kind, header, arrays = made("ilu")
    forged = arrays["part.upper.indices"].copy()
    forged[-1] = 42
    write(tmp_path / "M.npz", kind, header, {**arrays, "part.upper.indices": forged})
    refused(tmp_path / "M.npz", "part.upper.indices", "from 0 to 41")


def test_a_rank_that_is_another_permutation(made, tmp_path):
    name_of_kind, header, arrays = made("forest")
    name = "part.forest.ordering.rank"
    write(tmp_path / "M.npz", name_of_kind, header, {**arrays, name: np.roll(arrays[name], 1)})
    refused(tmp_path / "M.npz", "rank", "be the inverse of the permutation in order")


def test_a_shift_without_a_breakdown(made, tmp_path):
    kind, header, arrays = made("ilu")
    forged = json.loads(json.dumps(header))
    forged["part"]["findings"][1] = 0.5
    write(tmp_path / "M.npz", kind, forged, arrays)
    refused(tmp_path / "M.npz", "findings", "breakdowns")


# Keys of a header and a value that must not be there, for a hierarchy.
HEADERS = [
    ([], []),
    (["kind"], "jacobi"),
    (["kind"], ["multilevel"]),
    (["kind"], None),
    (["version"], True),
    (["backend"], "banana"),
    (["dtype"], "float16"),
    (["dtype"], "complex128"),
    (["setup"], [1.0]),
    (["setup", 0], float("nan")),
    (["systems"], [42]),
    (["systems"], [6, 8]),
    (["systems"], [-6, -7]),
    (["pattern"], None),
    (["pattern", "record"], "Forest"),
    (["pattern", "fields", "shape"], [42, 41]),
    (["pattern", "fields", "dtype"], "complex128"),
    (["pattern", "fields", "digest"], {"array": "part.levels.0.csr.data"}),
    (["part", "n"], 43),
    (["part", "n"], 42.0),
    (["part", "cycle"], "Z"),
    (["part", "hermitian"], 1),
    (["part", "levels"], []),
    (["part", "levels", 0], None),
    (["part", "levels", 0, "transfer"], None),
    (["part", "levels", 0, "transfer", "count"], 10**30),
    (["part", "levels", 0, "smoother"], None),
    (["part", "levels", 0, "smoother", "steps"], []),
    (["part", "levels", 0, "smoother", "steps"], [[0.0, 1e999]]),
    (["part", "levels", 0, "smoother", "kind"], "tridiagonal"),
    (["part", "levels", 0, "csr", "fields", "longest_row"], 2),
    (["part", "levels", 0, "csr", "fields", "total_weight"], "much"),
    (["part", "coarsest"], None),
    (["part", "coarsest", "fields", "rank"], -1),
    (["part", "options", "presmooth"], 10**9),
    (["part", "options", "smoother"], "sandpaper"),
    (["part", "options", "seed"], -1),
    (["part", "options", "other"], 1),
]  # fmt: skip


class TestHeaders:
    @pytest.mark.parametrize(("keys", "value"), HEADERS)
    def test_a_wrong_value(self, made, keys, value, tmp_path):
        kind, header, arrays = made("aggregates")
        whole = json.loads(json.dumps({"format": storage.FORMAT, "version": 1, "kind": kind, **header}))
        holder = whole
        for key in keys[:-1]:
            holder = holder[key]
        if keys:
            holder[keys[-1]] = value
        write(tmp_path / "M.npz", None, None, arrays, text=json.dumps(whole if keys else value))
        refused(tmp_path / "M.npz")

    def test_missing_fields(self, made, tmp_path):
        kind, header, arrays = made("aggregates")
        for name in header.keys() - {"exponent", "scaling", "systems"}:  # which older files lack
            write(tmp_path / "M.npz", kind, {key: header[key] for key in header if key != name}, arrays)
            refused(tmp_path / "M.npz", name)

    @pytest.mark.parametrize(
        "text", ["[" * 100_000, '{"part":' * 100_000, "1" * 10_000, "\ud800", "{", "null"]
    )
    def test_what_is_no_header(self, made, text, tmp_path):
        _, _, arrays = made("aggregates")
        write(tmp_path / "M.npz", None, None, arrays, text=text)
        refused(tmp_path / "M.npz")

    def test_levels_that_do_not_shrink(self, made, tmp_path):
        """A W-cycle on many equal levels would hardly end."""
        kind, header, arrays = made("aggregates")
        header = json.loads(json.dumps(header))
        first, arrays = header["part"]["levels"][0], dict(arrays)
        again = json.loads(json.dumps(first).replace("part.levels.0", "part.levels.1"))
        header["part"]["levels"][1:] = [again, *header["part"]["levels"][1:]]
        write(tmp_path / "M.npz", kind, header, arrays)
        refused(tmp_path / "M.npz", "part.levels")


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in members.items():
            target.writestr(f"{name}.npy", content)


def npy_header(text):
    body = text.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body


class TestArchives:
    @pytest.mark.parametrize(
        "text",
        [
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1250000000000,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999999999, 9999999999999999999), }",
            "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
            "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }",
            "(" * 110,
        ],
    )
    def test_a_header_that_promises_too_much(self, tmp_path, text):
        archive(tmp_path / "M.npz", header=npy_header(text) + bytes(24))
        refused(tmp_path / "M.npz", "header")

    def test_a_zip_bomb(self, tmp_path):
        text = "{'descr': '<f8', 'fortran_order': False, 'shape': (2000000,), }"
        archive(tmp_path / "M.npz", header=npy_header(text) + bytes(16_000_000))
        assert (tmp_path / "M.npz").stat().st_size < 100_000
        refused(tmp_path / "M.npz", "promises 16,000,128 bytes")

    def test_compressed_files(self, made, tmp_path):
        """Not written here, but as good."""
        kind, header, arrays = made("forest")
        write(tmp_path / "plain", kind, header, arrays)
        with np.load(tmp_path / "plain") as file, open(tmp_path / "small", "wb") as target:
            np.savez_compressed(target, **file)
        assert (tmp_path / "small").stat().st_size < (tmp_path / "plain").stat().st_size
        M = lf.load_preconditioner(tmp_path / "small")
        np.testing.assert_array_equal(M @ np.ones(42), restore(kind, (header, arrays)) @ np.ones(42))

    def test_arrays_of_one_name(self, made, tmp_path):
        kind, header, arrays = made("forest")
        write(tmp_path / "M.npz", kind, header, arrays)
        content = io.BytesIO()
        np.save(content, arrays["part.bands.lower"])
        with zipfile.ZipFile(tmp_path / "M.npz", "a") as target, pytest.warns(UserWarning, match="Duplicate"):
            target.writestr("part.bands.lower.npy", content.getvalue())
        refused(tmp_path / "M.npz", "same name")


class TestDigest:
    def test_damage_is_told_from_forgery(self, made, tmp_path):
        """The archive's own checksums fit: only the digest shows the change."""
        kind, header, arrays = made("forest")
        path = tmp_path / "M.npz"
        write(path, kind, header, arrays)
        with np.load(path) as file:
            members = dict(file)
        for name in (*arrays, "header", "digest"):
            changed = members[name].copy()
            if changed.dtype.kind == "U":
                changed = np.array(re.sub(r"\d", lambda found: str(9 - int(found[0])), str(changed), count=1))
            else:
                changed.flat[0] += changed.dtype.type(1)
            with open(path, "wb") as target:
                np.savez(target, **{**members, name: changed})
            refused(path, "damaged" if name != "header" else "M.npz")
        with open(path, "wb") as target:
            np.savez(target, **{name: members[name] for name in members if name != "digest"})
        refused(path, "damaged")

    @pytest.mark.parametrize("kind", KINDS)
    def test_older_files_have_none(self, made, kind, tmp_path):
        name_of_kind, header, arrays = made(kind)
        write(tmp_path / "M.npz", name_of_kind, header, arrays, digest=False)
        M = lf.load_preconditioner(tmp_path / "M.npz")
        again = restore(name_of_kind, (header, arrays))
        np.testing.assert_array_equal(M @ np.ones(42), again @ np.ones(42))

    def test_older_versions_read_newer_files(self, tmp_path):
        """They take the header and look up arrays by name."""
        lf.save_preconditioner(lf.jacobi(dominant()), tmp_path / "M.npz")
        with np.load(tmp_path / "M.npz", allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            assert header["version"] == 1
            assert set(file.files) == {"header", "digest", "pattern.digest", "part.inverse"}


class TestPickles:
    @pytest.mark.parametrize("wrong", [None, (), ({},), [{}, {}], ({}, {}), ({}, None), "text"])
    def test_what_is_no_state(self, wrong):
        with pytest.raises(PreconditionerFileError, match="a pickled preconditioner"):
            restore("jacobi", wrong)

    @pytest.mark.parametrize("kind", ["other", None, [], "multilevel"])
    def test_another_kind(self, made, kind):
        with pytest.raises(PreconditionerFileError, match="a pickled preconditioner"):
            restore(kind, made("forest")[1:])

    @pytest.mark.parametrize("wrong", [None, [1.0], np.array([None]), np.zeros(3, "datetime64[s]"), "text"])
    def test_what_is_no_array(self, made, wrong):
        kind, header, arrays = made("forest")
        with pytest.raises(PreconditionerFileError, match=r"part\.bands\.lower"):
            restore(kind, (header, {**arrays, "part.bands.lower": wrong}))

    def test_the_error_is_pickled(self):
        error = pickle.loads(pickle.dumps(PreconditionerFileError("M.npz: n must be 3")))
        assert isinstance(error, ValueError) and str(error) == "M.npz: n must be 3"


class TestUpdateAfterLoading:
    def test_slots_are_not_followed(self, backend, tmp_path):
        """They cannot be checked without A, so its entries are found by a search."""
        A = dominant()
        M = lf.tridiagonal(backend.csr(A))
        header, arrays = packed(M)
        for wrong in (10**9, 0, -1):
            slots = np.full_like(arrays["part.forest.slots"], wrong)
            write(tmp_path / "M.npz", M.kind, header, {**arrays, "part.forest.slots": slots})
            forged = lf.load_preconditioner(tmp_path / "M.npz")
            for operator in (M, forged):
                operator.update(backend.csr(other_values(A)))
            assert state(backend, forged) == state(backend, M)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", HIERARCHIES)
    def test_with_another_index_type(self, backend, kind, tmp_path):
        """The digest of a pattern is the same for 32- and 64-bit indices."""
        A = sp.csr_array(lf.matrices.poisson((6, 7)))
        wide = sp.csr_array(A)
        wide.indices, wide.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
        M = HIERARCHIES[kind](backend.csr(A))
        x = backend.array(np.cos(np.arange(42.0)))
        wanted = backend.host(M @ x)
        lf.save_preconditioner(M, tmp_path / "M.npz")
        again = lf.load_preconditioner(tmp_path / "M.npz")
        again.update(backend.csr(wide))
        np.testing.assert_array_equal(backend.host(again @ x), wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("numbers", graphs.quick([[41, 2**31 - 1], [0, 1]]), ids=["large", "small"])
def test_forged_numbers_on_each_backend(backend, kind, numbers, tmp_path):
    """Checked before anything is uploaded, or consistent and harmless: no kernel reads outside its arrays."""
    A = sp.csr_array(lf.matrices.poisson((6, 7)))
    M = KINDS[kind](backend.csr(A))
    header, arrays = packed(M)
    path, x = tmp_path / "M.npz", backend.array(np.ones((42, 2)))
    for name, array in arrays.items():
        for wrong in numbers:
            forged = array.copy()
            forged.flat[array.size // 2] = wrong
            write(path, M.kind, header, {**arrays, name: forged})
            try:
                again = lf.load_preconditioner(path)
            except PreconditionerFileError:
                continue
            assert (again @ x).shape == (again.T @ x).shape == (42, 2)
            assert str(again)


def test_too_many_sweeps():
    with pytest.raises(ValueError, match="presmooth must lie in .0, 1000., got 1000000"):
        lf.multilevel(dominant(), presmooth=10**6)
