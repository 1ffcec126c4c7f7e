"""Traffic matrices and their statistics: against a dictionary of links, and against SciPy."""

import contextlib
import dataclasses
import gzip
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import traffic_oracles as oracles
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.graph.traffic.packet_files import read_packets
from linforest_precond.graph.traffic.traffic_inputs import pieces_of

statistics = lf.graph.traffic_statistics
traffic_matrix = lf.graph.traffic_matrix
LARGEST = 2**63 - 1

RECORDS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 2, 77, 2**31, 2**32 - 1]),
        st.sampled_from([0, 1, 5, 2**31 - 1, 2**32 - 1]),
        st.one_of(st.integers(0, 5), st.integers(0, 2**57)),
    ),
    max_size=40,
)


def values(found):
    return dataclasses.astuple(found)


def columns(records):
    return [np.array([record[i] for record in records], np.int64) for i in range(3)]


def of_scipy(A):
    """The nine properties by SciPy's sums, of a matrix of small integers."""
    A = sp.csr_array(A).astype(np.int64)
    A.sum_duplicates()
    A.eliminate_zeros()
    sent, received = A.sum(axis=1), A.sum(axis=0)
    fan_out, fan_in = np.diff(A.indptr), np.bincount(A.indices, minlength=A.shape[1])
    ends = [
        (np.count_nonzero(fan), packets.max(initial=0), fan.max(initial=0))
        for packets, fan in ((sent, fan_out), (received, fan_in))
    ]
    return A.sum(), A.nnz, A.data.max(initial=0), *ends[0], *ends[1]


def random_matrix(rows, columns, density, seed=0):
    """Small integers, explicit zeros among them."""
    rng = np.random.default_rng(seed)
    A = sp.random_array((rows, columns), density=density, rng=rng, format="csr")
    A.data = np.floor(A.data * 7)
    return A


@given(records=RECORDS)
def test_packets_against_a_dictionary(backend, records):
    sources, destinations, packets = columns(records)
    given_arrays = [backend.array(each) for each in (sources, destinations, packets)]
    found = oracles.links(sources, destinations, packets)
    assert values(statistics(tuple(given_arrays))) == oracles.statistics(found)
    assert links_of(backend, traffic_matrix(*given_arrays)) == found
    pairs = tuple(given_arrays[:2])
    assert values(statistics(pairs)) == oracles.statistics(oracles.links(sources, destinations))


def links_of(backend, A):
    """{(source, destination): packets} of a traffic matrix, whose arrays are checked."""
    sources, destinations, indptr, indices, packets = (
        backend.host(getattr(A, name)) for name in ("sources", "destinations", "indptr", "indices", "packets")
    )
    assert (np.diff(sources.astype(np.int64)) > 0).all() and (
        np.diff(destinations.astype(np.int64)) > 0
    ).all()
    assert (np.diff(indptr) > 0).all() and np.unique(indices).size == destinations.size
    assert packets.dtype == np.int64 and (packets > 0).all()
    rows = np.repeat(sources, np.diff(indptr))
    found = dict(zip(zip(rows.tolist(), destinations[indices].tolist()), packets.tolist()))
    assert len(found) == A.nnz and list(found) == sorted(found)
    return found


@pytest.mark.parametrize(
    "shape", [(40, 30, 0.2), (1, 5000, 0.7), (5000, 1, 0.7), (3, 4000, 0.9), (900, 900, 0.001)]
)
def test_matrices_against_scipy(backend, shape):
    A = random_matrix(*shape)
    expected = of_scipy(A)
    device = backend.csr(A)
    for B in (device, device.tocsc(), device.tocoo(), backend.array(A.toarray())):
        assert values(statistics(B)) == expected
    for batches in (1, 3, 64):
        assert values(statistics(device, batches=batches)) == expected


def test_index_and_value_types(backend):
    A = random_matrix(60, 50, 0.3)
    expected = of_scipy(A)
    for index in (np.int32, np.int64):
        for dtype in (np.float32, np.float64):
            B = sp.csr_array(A.astype(dtype))
            B.indices, B.indptr = A.indices.astype(index), A.indptr.astype(index)
            assert values(statistics(backend.csr(B))) == expected
    for dtype in (np.uint8, np.int16, np.int32, np.int64, np.uint64):
        assert values(statistics(sp.csr_array(A.astype(dtype)))) == expected
        assert values(statistics(A.astype(dtype).toarray())) == expected


def test_unsorted_rows_and_duplicates(backend):
    A = random_matrix(30, 40, 0.3)
    rows, cols = np.repeat(np.arange(30), np.diff(A.indptr)), A.indices
    order = np.lexsort((-cols, rows))
    unsorted = sp.csr_array((A.data[order], cols[order], A.indptr), shape=A.shape)
    assert values(statistics(backend.csr(unsorted))) == of_scipy(A)
    # Every entry twice, next to each other.
    twice = sp.csr_array((np.repeat(A.data, 2), np.repeat(cols, 2), 2 * A.indptr), shape=A.shape)
    assert values(statistics(backend.csr(twice))) == of_scipy(2 * A)
    assert twice.nnz == 2 * A.nnz  # the input is not changed


def test_power_laws_in_pieces(backend):
    """More links than a tile, busy destinations in most tiles: pieces, windows and matrices agree."""
    sources, destinations = (backend.array(each) for each in lf.matrices.packets(15, exponent=1.5))
    A = traffic_matrix(sources, destinations)
    expected = of_scipy(sp.csr_array(backend.host(A.tocsr().toarray())))
    half = sources.size // 2
    windows = [(sources[:half], destinations[:half]), (sources[half:], destinations[half:])]
    assert expected[0] == 2**15 and expected[1] > 2**13
    for each in (A, A.tocsr(), (sources, destinations), windows, iter(windows)):
        assert values(statistics(each)) == expected
    assert values(statistics((sources, destinations), batches=7)) == expected
    assert values(statistics([A, A, []])) == (2 * expected[0], expected[1], 2 * expected[2], expected[3],
        2 * expected[4], *expected[5:7], 2 * expected[7], expected[8])  # fmt: skip


def test_no_traffic(backend):
    zeros = (0,) * 9
    none = backend.array(np.zeros(0, np.int64))
    for each in (
        np.zeros((0, 0)),
        np.zeros((3, 4)),
        sp.csr_array((0, 7)),
        sp.csr_array((7, 0)),
        [],
        ([], []),
    ):
        assert values(statistics(each)) == zeros
    assert values(statistics((none, none))) == values(statistics((none, none, none))) == zeros
    one = backend.array(np.array([5]))
    assert values(statistics((one, one, backend.array(np.array([0]))))) == zeros
    assert traffic_matrix(none, none).shape == (0, 0)


def test_exact_beyond_the_integers_of_float64(backend):
    """Sums next to the largest int64 are exact; one more packet is refused."""
    ends = backend.array(np.array([1, 2], np.uint32))
    packets = backend.array(np.array([LARGEST - 2**53 - 1, 2**53 + 1]))
    found = statistics((ends, backend.array(np.array([7, 7], np.uint32)), packets))
    assert found.valid_packets == found.largest_destination == LARGEST
    assert found.largest_link == LARGEST - 2**53 - 1
    for each in (packets + backend.array(np.array([0, 1])), backend.xp.full(2, LARGEST)):
        with pytest.raises(ValueError, match=r"sum of at most 2\*\*63 - 1"):
            statistics((ends, ends, each))
    matrix = sp.csr_array(np.array([[LARGEST, 1]]))
    with pytest.raises(ValueError, match=f"got {2**63}"):
        statistics(matrix)
    assert statistics(matrix[:, :1]).valid_packets == LARGEST


@pytest.mark.parametrize("bad, message", [(-1.0, "got -1.0 at"), (0.5, "got 0.5 at"), (np.nan, "got nan at"),
                                          (np.inf, "got inf at"), (2.0**63, "got 9.22")])  # fmt: skip
def test_values_that_are_no_packets(backend, bad, message):
    A = random_matrix(20, 30, 0.3)
    A.data[77] = bad
    row = np.searchsorted(A.indptr, 77, side="right") - 1
    for B in (backend.csr(A), backend.csr(A).tocsc()):
        with pytest.raises(ValueError, match=message) as raised:
            statistics(B)
        assert f"({row}, {A.indices[77]})" in str(raised.value)
    with pytest.raises(ValueError, match="packets must hold integers"):
        statistics(backend.array(A.toarray()))


@pytest.mark.parametrize("sources, destinations, packets, message", [
    ([1, 2], [3], None, "one length, got 2 sources, 1 destinations"),
    ([1, 2], [3, 4], [1], "1 packets"),
    ([1, -2], [3, 4], None, r"sources must hold integers in \[0, 4294967295\], got -2 at position 1"),
    ([1, 2], [2**32, 4], None, "destinations .* got 4294967296 at position 0"),
    ([1, 2.5], [3, 4], None, "sources .* got 2.5 at position 1"),
    ([1, 2], [3, 4], [1, -1], "packets must hold integers .* got -1 at position 1"),
    ([1, 2], [3, 4], [1.0, np.nan], "packets .* got nan"),
    ([[1], [2]], [3, 4], None, "one-dimensional"),
])  # fmt: skip
def test_packets_that_are_refused(backend, sources, destinations, packets, message):
    arrays = [
        each if each is None else backend.array(np.array(each)) for each in (sources, destinations, packets)
    ]
    with pytest.raises(ValueError, match=message):
        traffic_matrix(*arrays)
    with pytest.raises(ValueError, match=message):
        statistics(tuple(arrays))


def test_addresses_as_text():
    A = traffic_matrix(["10.0.0.1", "255.255.255.255", "10.0.0.1"], np.array(["0.0.0.0"] * 3, dtype=object))
    assert A.sources.tolist() == [10 * 2**24 + 1, 2**32 - 1] and A.tocsr().toarray().tolist() == [[2], [1]]
    for text in ("10.0.0", "10.0.0.256", "host", ""):
        with pytest.raises(ValueError, match="IPv4"):
            traffic_matrix([text], [0])


def test_unsigned_addresses(backend):
    """Integers of all widths, and whole floats."""
    for dtype in (np.uint8, np.int32, np.uint32, np.uint64, np.float64):
        ends = backend.array(np.array([9, 3], dtype))
        assert backend.host(traffic_matrix(ends, ends).sources).tolist() == [3, 9]
    with pytest.raises(ValueError, match="got 18446744073709551615"):
        traffic_matrix(backend.array(np.array([2**64 - 1], np.uint64)), backend.array(np.array([0])))


def test_wrong_arguments():
    with pytest.raises(ValueError, match="batches"):
        statistics(np.eye(2), batches=0)
    with pytest.raises(TypeError, match="batches"):
        statistics(np.eye(2), batches=1.5)
    with pytest.raises(ValueError, match="device"):
        statistics(np.eye(2), device="tpu")
    with pytest.raises(TypeError, match="A must be a matrix"):
        statistics(3)
    with pytest.raises(ValueError, match="tuple of 4"):
        statistics(([1], [1], [1], [1]))
    with pytest.raises(ValueError, match="two dimensions"):
        statistics(np.ones(3))
    for complex_matrix in (sp.csr_array(np.eye(2) * 1j), np.eye(2) * 1j):
        with pytest.raises(TypeError, match="complex128"):
            statistics(complex_matrix)
    broken = sp.csr_array(np.eye(3))
    broken.indices[1] = 9
    with pytest.raises(ValueError, match="indices of A must lie"):
        statistics(broken)
    broken.indptr[1] = 7
    with pytest.raises(ValueError, match="indptr"):
        statistics(broken)


def test_files(tmp_path):
    sources, destinations = lf.matrices.packets(9, address_bits=8)
    packets = np.arange(sources.size)
    expected = statistics((sources, destinations, packets))
    table = np.stack([sources, destinations, packets]).T.astype(np.int64)
    np.save(tmp_path / "a.npy", table)
    np.savez(tmp_path / "a.npz", sources=sources, destinations=destinations, packets=packets)
    np.savetxt(
        tmp_path / "a.csv", table, fmt="%d", delimiter=",", header="source,destination,packets", comments=""
    )
    np.savetxt(tmp_path / "a.txt", table, fmt="%d")
    A = traffic_matrix(sources, destinations, packets).tocsr()
    sp.save_npz(tmp_path / "b.npz", A)
    for name in ("a.npy", "a.npz", "a.csv", "a.txt", "b.npz"):
        assert statistics(tmp_path / name) == statistics(str(tmp_path / name), batches=5) == expected, name
    files = [tmp_path / "a.npy", str(tmp_path / "a.csv")]
    assert statistics(files).valid_packets == 2 * expected.valid_packets
    (tmp_path / "A.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n2 3 2\n1 1 4\n2 3 5\n")
    assert values(statistics(tmp_path / "A.mtx")) == (9, 2, 5, 2, 5, 1, 2, 5, 1)
    (tmp_path / "ip.tsv").write_text("10.0.0.1\t10.0.0.2\n10.0.0.1\t10.0.0.3\n\n")
    assert values(statistics(tmp_path / "ip.tsv")) == (2, 2, 1, 1, 2, 2, 2, 1, 1)


def test_half_precision(tmp_path):
    """Whole numbers in the range are taken without a warning of NumPy; others are named."""
    path, table = tmp_path / "a.npy", np.array([[1, 2, 3], [4, 5, 2048]], np.float16)
    np.save(path, table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert statistics(path) == statistics(tuple(table.T.astype(np.int64)))
        for wrong in (np.inf, np.nan, 0.5, -1):
            table[1, 1] = wrong
            np.save(path, table)
            with pytest.raises(ValueError, match=r"^destinations must hold integers in \[0, 4294967295\]"):
                statistics(path)


def test_batches_of_files(tmp_path):
    """As many pieces as were asked for, of which only one is read at a time."""
    np.save(tmp_path / "a.npy", np.arange(202).reshape(101, 2))
    pieces = list(pieces_of(tmp_path / "a.npy", 5))
    assert [piece[0].size for piece in pieces] == [21, 21, 21, 21, 17]
    assert all(isinstance(array, np.memmap) for piece in pieces for array in piece)


def test_hypersparse_matrices():
    """No array of 2**32 sums."""
    ends = np.array([0, 2**32 - 1])
    expected = (3, 2, 2, 2, 2, 1, 2, 2, 1)
    square = sp.coo_array((np.array([1, 2]), (ends, ends)), shape=(2**32, 2**32))
    wide = sp.csr_array((np.array([1, 2]), ends, np.array([0, 1, 2])), shape=(2, 2**32))
    for A in (square, wide, wide.T):
        assert values(statistics(A)) == expected


def test_files_that_cannot_be_read(tmp_path):
    contents = {
        "a.csv": "1,2\n3\n",
        "b.csv": "1,2,x\n",
        "c.txt": "1 2 3 4\n",
        "d.npz": "PK",
        "e.npy": "no",
        "f.mtx": "x",
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(ValueError, match=name):
            statistics(tmp_path / name)
    numbers = "matrix coordinate {} general\n1 1 1\n1 1 " + f"{2**53 + 1}\n"
    (tmp_path / "i.mtx").write_text("%%MatrixMarket " + numbers.format("integer"))
    assert statistics(tmp_path / "i.mtx").valid_packets == 2**53 + 1
    (tmp_path / "h.mtx").write_text("%%MatrixMarket " + numbers.format("real"))
    with pytest.raises(ValueError, match=r"h.mtx holds numbers of 2\*\*53"):
        statistics(tmp_path / "h.mtx")
    np.save(tmp_path / "g.npy", np.zeros((3, 4)))
    with pytest.raises(ValueError, match=r"g.npy must hold .* got shape \(3, 4\)"):
        statistics(tmp_path / "g.npy")
    with pytest.raises(FileNotFoundError, match="nothing.csv"):
        statistics(tmp_path / "nothing.csv")


@given(records=RECORDS)
def test_matrix_market_files_keep_addresses_and_packets(backend, tmp_path_factory, records):
    sources, destinations, packets = columns(records)
    A = traffic_matrix(*(backend.array(each) for each in (sources, destinations, packets)))
    path = lf.graph.write_traffic(tmp_path_factory.mktemp("mtx") / "window.mtx", A)
    banner, comment, sizes, *entries = path.read_text(encoding="utf-8").splitlines()
    kind = "integer" if A.nnz else "real"  # SciPy's word for a file without entries
    assert banner == f"%%MatrixMarket matrix coordinate {kind} general"
    assert (comment, sizes, len(entries)) == ("%%GraphBLAS type int64_t", f"{2**32} {2**32} {A.nnz}", A.nnz)
    found = lf.graph.read_traffic(path)
    for name in ("sources", "destinations", "indptr", "indices", "packets"):
        assert np.array_equal(getattr(found, name), backend.host(getattr(A, name))), name
    assert statistics(path) == statistics(A)


def test_compressed_and_symmetric_matrix_market_files(tmp_path):
    text = b"%%MatrixMarket matrix coordinate pattern symmetric\n4294967296 4294967296 2\n2 1\n4294967296 7\n"
    (tmp_path / "a.mtx.gz").write_bytes(gzip.compress(text))
    A = lf.graph.read_traffic(tmp_path / "a.mtx.gz")
    assert A.sources.tolist() == A.destinations.tolist() == [0, 1, 6, 2**32 - 1]
    assert values(statistics(tmp_path / "a.mtx.gz")) == (4, 4, 1, 4, 1, 1, 4, 1, 1)


def test_files_of_traffic_are_refused_by_name(tmp_path):
    A = traffic_matrix([1], [2])
    with pytest.raises(ValueError, match=r"path must end with .mtx, got 'a.csv'"):
        lf.graph.write_traffic(tmp_path / "a.csv", A)
    with pytest.raises(TypeError, match="A must be a TrafficMatrix"):
        lf.graph.write_traffic(tmp_path / "a.mtx", A.tocsr())
    assert not list(tmp_path.iterdir())


class TestTextFiles:
    """Numbers are read as written, or refused with the file and the line."""

    def links(self, tmp_path, content):
        path = tmp_path / "a.csv"
        path.write_bytes(content)
        found = [[], []]
        for piece in read_packets(path):
            found = [[*old, *new.tolist()] for old, new in zip(found, piece)]
        return list(zip(*found))

    @pytest.mark.parametrize(
        "field", ["1\0", "1_000", "\uff11\uff12", "\u0663", "0x1", "1e3", "1.5", "-1", ""]
    )
    @pytest.mark.parametrize("column", [0, 1, 2])
    def test_numbers_of_other_programs(self, tmp_path, field, column):
        fields = ["1", "2", "3"]
        fields[column] = field
        with pytest.raises(ValueError, match=r"a.csv, line 3: (sources|destinations|packets) must hold"):
            self.links(tmp_path, f"4,5,6\n\n{','.join(fields)}\n".encode())

    @pytest.mark.parametrize(
        "start", ["abc,2", "a.b.c.d,10.0.0.1", "e1,7", "3,destination", "\uff11,a", ",", "# a,b"]
    )
    def test_first_lines_that_are_no_headers(self, tmp_path, start):
        with pytest.raises(ValueError, match="a.csv, line 1: "):
            self.links(tmp_path, f"{start}\n1,2\n".encode())

    @pytest.mark.parametrize(
        "start", ["source,destination\n", '"src ip","dst ip"\n', "\ufeff", "\ufeffa,b\r\n"]
    )
    def test_headers_and_byte_order_marks(self, tmp_path, start):
        assert self.links(tmp_path, f"{start}1, 2\r\n\n+3,4".encode()) == [(1, 2), (3, 4)]

    def test_a_header_of_another_width(self, tmp_path):
        with pytest.raises(ValueError, match="got lines of 1, 3 columns"):
            self.links(tmp_path, b"packets of today\n1,2\n")

    def test_long_fields(self, tmp_path):
        """The text of all rows would be as wide as the longest field."""
        rows = "".join(f"{row},{row}\n" for row in range(1000))
        for content in (f"{rows}{'1' * 200_000},2\n", f"{rows}{' ' * 900}1,2\n"):
            tracemalloc.start()
            try:
                with contextlib.suppress(ValueError):
                    self.links(tmp_path, content.encode())
                assert tracemalloc.get_traced_memory()[1] < 2**21
            finally:
                tracemalloc.stop()
        quoted = '"' + ("x" * 1000 + "\n") * 200 + '",2\n'
        with pytest.raises(ValueError, match=r"a.csv, line .* cannot be read: field larger than field limit"):
            self.links(tmp_path, quoted.encode())

    @pytest.mark.parametrize("text", ["4294967296,1", "256.0.0.1,1.2.3.4", "1,2,9999999999999999999"])
    def test_numbers_out_of_range(self, tmp_path, text):
        with pytest.raises(ValueError, match="a.csv: (sources|packets) must hold"):
            self.links(tmp_path, text.encode())

    def test_an_archive_is_no_array(self, tmp_path):
        np.savez(tmp_path / "a.npz", sources=np.arange(3), destinations=np.arange(3))
        (tmp_path / "a.npz").rename(tmp_path / "a.npy")
        with pytest.raises(ValueError, match="a.npy must be an .npy file of numbers"):
            statistics(tmp_path / "a.npy")


def test_records_print_themselves():
    A = traffic_matrix([1, 1, 4], [2, 3, 2])
    assert "links         3" in str(A) and not A.packets.flags.writeable
    found = statistics(A)
    assert list(found.as_dict()) == [field.name for field in dataclasses.fields(found)]
    assert all(type(value) is int for value in values(found))
    lines = str(found).splitlines()
    assert len(lines) == 10 and lines[6].split() == ["largest", "fan", "out", "2"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.valid_packets = 3


@pytest.mark.gpu
def test_streams_from_the_host(cuda):
    """Data of the host through the GPU, in pieces: the same integers as on the CPU."""
    packets = lf.matrices.packets(16)
    A = traffic_matrix(*packets)
    expected = statistics(A)
    for each in (A, A.tocsr(), packets, [A]):
        for batches in (None, 1, 5):
            assert statistics(each, device="cuda", batches=batches) == expected


@pytest.mark.slow
def test_more_entries_than_a_grid(backend):
    """Millions of packets, on both devices the same as SciPy's sums."""
    sources, destinations = (backend.array(each) for each in lf.matrices.packets(23, address_bits=20))
    A = traffic_matrix(sources, destinations)
    host = sp.csr_array(tuple(backend.host(x) for x in (A.packets, A.indices, A.indptr)), shape=A.shape)
    assert values(statistics((sources, destinations))) == values(statistics(A)) == of_scipy(host)
    weighted = statistics((sources, destinations, backend.xp.full(sources.size, 3)))
    assert (weighted.valid_packets, weighted.largest_link) == (3 * 2**23, 3 * statistics(A).largest_link)


@pytest.mark.parametrize(
    "text", ['"a","b,\n1,2\n3,4\n', '"a","b""\n1,2\n', '1,2\n3,"4\n', '1,2\n3,"\n4"\n'], ids=range(4)
)
def test_quotes_that_are_not_closed_are_refused(tmp_path, text):
    """The rest of the file would be read as a header, or as one field."""
    path = tmp_path / "packets.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"packets.csv, line \d+(: quotes must be| cannot be read)"):
        list(read_packets(path))
    path.write_text('"source","destination"\n"1","2"\n')
    assert [[column.tolist() for column in piece[:2]] for piece in read_packets(path)] == [[[1], [2]]]
