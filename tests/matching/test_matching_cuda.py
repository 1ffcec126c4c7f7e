"""Matchings on the GPU: rows of all lengths, out-of-core matching, reproducible results."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs

import linforest_precond as lf
from linforest_precond.backends import cpu
from linforest_precond.backends.cuda.matching import best_edges, locally_dominant, out_of_core_matching
from linforest_precond.backends.cuda.runtime import uploads
from linforest_precond.graph.matching.matching import tie_key_of
from linforest_precond.matrix.checked import checked

pytestmark = pytest.mark.gpu

KEY = tie_key_of(0)
METHODS = ("locally_dominant", "suitor", "weighted", "random", "augmented")


def assert_as_on_the_cpu(cuda, A, methods=METHODS):
    """Mates, rounds and whether they are maximal are the CPU's, which are tested against the reference."""
    B = cuda.csr(A)
    for method in methods:
        wanted, found = lf.graph.matching(A, method), lf.graph.matching(B, method)
        np.testing.assert_array_equal(cuda.host(found.mate), wanted.mate, err_msg=method)
        assert (found.iterations, found.maximal) == (wanted.iterations, wanted.maximal)


def hubs(lengths, kind="ties", seed=0):
    """Vertices with the given numbers of neighbours, drawn from a thousand others."""
    rng = np.random.default_rng(seed)
    size = len(lengths) + 1000 + max(lengths)
    lo = np.repeat(np.arange(len(lengths)), lengths)
    others = [rng.choice(size - len(lengths), length, replace=False) for length in lengths]
    hi = len(lengths) + np.concatenate(others)
    return graphs.from_edges(size, lo, hi, graphs.weights_of(kind, lo.size, rng))


class TestRows:
    @pytest.mark.parametrize("kind", ["unit", "ties", "unique"])
    def test_on_both_sides_of_every_limit(self, cuda, kind):
        limits = [best_edges.LONG_ROW, best_edges.PIECE, 2 * best_edges.PIECE, 33 * best_edges.PIECE]
        A = hubs([length + more for length in limits for more in (-1, 0, 1)], kind)
        assert_as_on_the_cpu(cuda, A)

    def test_many_long_ones(self, cuda):
        A = hubs(np.random.default_rng(0).integers(1, 1500, 300))
        graph = checked(cuda.csr(A)).graph
        assert best_edges.Search(graph).arrays["pieces"] is not None
        assert_as_on_the_cpu(cuda, A)

    @pytest.mark.parametrize("degree", [100, 40])
    def test_that_do_not_fit_into_shared_memory(self, cuda, degree):
        """A few rows have nearly all entries: the mean row is short, but a block's rows are not."""
        crowd = graphs.random_graph(700, "ties", 3, mean_degree=degree)
        A = sp.csr_array(sp.block_diag([crowd, graphs.path_graph(20_000)]))
        search = best_edges.Search(checked(cuda.csr(A)).graph)
        assert search.numbers["short_rows"] and np.diff(A.indptr)[:256].sum() > search.numbers["capacity"]
        assert_as_on_the_cpu(cuda, A)

    @pytest.mark.parametrize("mean_degree", [3, 12, 20, 45, 90])
    def test_of_every_width(self, cuda, mean_degree):
        assert_as_on_the_cpu(cuda, graphs.random_graph(1500, "ties", 1, mean_degree=mean_degree))

    @pytest.mark.parametrize("rising", [1.0, -1.0])
    def test_of_a_path_that_one_block_ends_alone(self, cuda, rising):
        size = 5000
        weights = 1e4 + rising * np.arange(1.0, size)
        assert_as_on_the_cpu(cuda, graphs.shuffled(graphs.path_graph(size, weights), 2))


class TestTypes:
    @pytest.mark.parametrize("index", graphs.INDEX_DTYPES)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_run_with_kernels_of_their_own(self, cuda, monkeypatch, dtype, index):
        asked, program = [], locally_dominant.PROGRAM

        def kernels(**macros):
            asked.append((macros["WEIGHT"], macros["INDEX"]))
            return program(**macros)

        monkeypatch.setattr(locally_dominant, "PROGRAM", kernels)
        A = graphs.random_graph(300, "ties", 5, dtype=dtype, index_dtype=index)
        r = lf.graph.matching(cuda.csr(A))
        assert asked == [(dtype, index)] and r.mate.dtype == index and r.values.dtype == dtype

    def test_subnormal_weights_count(self, cuda):
        weights = np.array([1, 3, 2, 5, 4], np.float32) * np.float32(1e-45)
        A = graphs.with_types(graphs.path_graph(6, weights.astype(float)), dtype=np.float32)
        assert_as_on_the_cpu(cuda, A)


def test_repeats_give_the_same_answer(cuda):
    """Many vertices propose to the same few."""
    A = hubs([2000] * 20, "unit")
    B = cuda.csr(A)
    for method in METHODS:
        found = [cuda.host(lf.graph.matching(B, method).mate) for _ in range(5)]
        assert all((each == found[0]).all() for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_more_vertices_than_a_device_holds_threads(cuda, method):
    A = graphs.rmat_graph(19, kind="ties")
    assert_as_on_the_cpu(cuda, A, [method])


HOST_GRAPHS = {
    "grid": graphs.grid_graph(40, 40),
    "skewed": graphs.rmat_graph(11),
    "crowded": graphs.random_graph(600, "ties", 2, mean_degree=50),
    "path": graphs.path_graph(300, np.arange(1.0, 300.0)),
    "hubs": hubs([3000, 2000, 700, 3]),
    "64 bits": graphs.random_graph(500, "ties", 3, dtype=np.float32, index_dtype=np.int64),
}


class TestOutOfCore:
    @pytest.mark.parametrize("name", HOST_GRAPHS)
    @pytest.mark.parametrize("room", [None, 0, 9000])
    @pytest.mark.parametrize("batches", [None, 1, 2, 3, 8, 40])
    def test_matches_as_in_memory(self, cuda, name, batches, room):
        graph = checked(HOST_GRAPHS[name]).graph
        wanted, progress = cpu.matching.locally_dominant.match(graph, KEY)
        mate, found = out_of_core_matching.match(graph, KEY, batches, room)
        assert isinstance(mate, np.ndarray)
        np.testing.assert_array_equal(mate, wanted)
        np.testing.assert_array_equal(found, progress)

    @pytest.mark.parametrize("index", graphs.INDEX_DTYPES)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
    def test_types(self, cuda, dtype, index):
        A = graphs.random_graph(900, "ties", 4, symmetric=False, dtype=dtype, index_dtype=index)
        wanted = lf.graph.matching(A)
        found = lf.graph.matching(A, device="cuda", batches=3)
        assert isinstance(found.mate, np.ndarray) and found.mate.dtype == index
        np.testing.assert_array_equal(found.mate, wanted.mate)
        assert (found.iterations, found.weight) == (wanted.iterations, wanted.weight)

    @pytest.mark.parametrize("A", [sp.csr_array((0, 0)), sp.csr_array((5, 5)), sp.eye_array(7).tocsr()])
    def test_without_edges(self, cuda, A):
        found = lf.graph.matching(A, device="cuda")
        assert found.mate.tolist() == [-1] * A.shape[0] and found.maximal and found.iterations == 0

    @pytest.mark.parametrize("room", [None, 0])
    @pytest.mark.parametrize("slot", [64, 1000])
    @pytest.mark.parametrize("small", [0, 2**16])
    def test_parts_of_batches(self, cuda, monkeypatch, slot, small, room):
        """Rows end anywhere in a slot, and are longer than one; sent by threads, or without."""
        monkeypatch.setattr(uploads, "SLOT_BYTES", slot)
        monkeypatch.setattr(uploads, "SMALL_BYTES", small)
        for A in HOST_GRAPHS.values():
            graph = checked(A).graph
            mate, _ = out_of_core_matching.match(graph, KEY, 3, room)
            np.testing.assert_array_equal(mate, cpu.matching.locally_dominant.match(graph, KEY)[0])

    @pytest.mark.parametrize("room", [None, 0])
    def test_pinned_memory(self, cuda, room):
        A = graphs.random_graph(2000, "ties", 6)
        B = graphs.with_types(A)
        for name in ("indices", "data"):
            array = getattr(A, name)
            pinned = uploads.pinned_empty(array.size, array.dtype)
            pinned[:] = array
            setattr(B, name, pinned)
        assert uploads.is_pinned(B.data) and not uploads.is_pinned(A.data)
        mate, _ = out_of_core_matching.match(checked(B).graph, KEY, 4, room)
        np.testing.assert_array_equal(mate, lf.graph.matching(A).mate)

    def test_only_open_batches_are_copied(self, cuda, monkeypatch):
        """On a path of rising weights each round matches one pair, from the heavy end on."""
        copied = []
        load = out_of_core_matching.Lane.load
        monkeypatch.setattr(
            out_of_core_matching.Lane,
            "load",
            lambda self, streamed, batch, rounds: (
                copied.append((self, batch)) or load(self, streamed, batch, rounds)
            ),
        )
        graph = checked(HOST_GRAPHS["path"]).graph
        _, _, sent = out_of_core_matching.match_counted(graph, KEY, batches=4, room=0)
        first, rest = copied[:4], copied[4:]
        assert [batch for _, batch in first] == [0, 1, 2, 3]
        assert first[0][0] is first[2][0] and first[1][0] is first[3][0] and first[0][0] is not first[1][0]
        assert 149 <= len(rest) <= 160
        batches = [batch for _, batch in rest]
        assert batches == sorted(batches, reverse=True)
        entries = (sent - graph.indptr.nbytes) / (graph.indices.itemsize + graph.values.itemsize)
        assert graph.indices.size < entries <= graph.indices.size + 3 * 150  # a row a round

    def test_what_is_left_is_copied_once(self, cuda, monkeypatch):
        rests = []
        match_rest = out_of_core_matching.match_rest

        def recorded(rest, *more):
            rests.append(rest)
            return match_rest(rest, *more)

        monkeypatch.setattr(out_of_core_matching, "match_rest", recorded)
        graph = checked(HOST_GRAPHS["grid"]).graph
        out_of_core_matching.match(graph, KEY, batches=4, room=9000)
        assert len(rests) == 1 and 0 < rests[0].indices.size < graph.indices.size

    @pytest.mark.parametrize("batches", [None, 1, 8])
    def test_a_graph_that_fits_is_copied_once(self, cuda, batches):
        graph = checked(HOST_GRAPHS["skewed"]).graph
        size = sum(array.nbytes for array in (graph.indptr, graph.indices, graph.values))
        assert out_of_core_matching.match_counted(graph, KEY, batches)[2] == size

    def test_an_error_ends_the_threads(self, cuda, monkeypatch):
        def failing(*arguments):
            raise MemoryError("told to")

        before = threading.active_count()
        monkeypatch.setattr(uploads, "SMALL_BYTES", 0)
        monkeypatch.setattr(cpu.matching.out_of_core_matching, "gather_entries", failing)
        with pytest.raises(MemoryError, match="told to"):
            out_of_core_matching.match(checked(HOST_GRAPHS["grid"]).graph, KEY, batches=4, room=0)
        assert threading.active_count() == before

    @pytest.mark.parametrize("batches", [1, 2, 7, 5000])
    def test_batches_share_the_entries(self, batches):
        for A in HOST_GRAPHS.values():
            ends = out_of_core_matching.batch_ends(A.indptr, batches)
            assert ends[-1] == A.shape[0] and (np.diff(ends, prepend=0) > 0).all() and ends.size <= batches
            entries = np.diff(A.indptr[ends], prepend=0)
            assert entries.max() <= A.indices.size / batches + np.diff(A.indptr).max()
