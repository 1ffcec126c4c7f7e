"""Every reader takes regular files alone, and lines of bounded length: devices and pipes may be endless."""

import gzip
import os
import tracemalloc

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.app.commands.vectors import read_vector
from linforest_precond.matrices.readers.bounded_streams import open_bounded, open_regular, text_lines
from linforest_precond.matrices.readers.files import header_of_file, read_matrix

READERS = {
    "A.npz": read_matrix,
    "A.mtx": read_matrix,
    "A.mtx.gz": read_matrix,
    "A.mat": read_matrix,
    "A.rb": read_matrix,
    "A.tar.gz": read_matrix,
    "B.mtx": header_of_file,
    "B.npz": lf.matrices.load,
    "C.npz": lf.matrices.describe,
    "M.npz": lf.load_preconditioner,
    "sets.txt": lf.similarity.read_sets,
    "packets.csv": lf.graph.traffic_statistics,
    "packets.npy": lf.graph.traffic_statistics,
    "packets.npz": lf.graph.traffic_statistics,
    "b.txt": lambda path: read_vector(str(path), "--rhs", 10**6),
    "b.txt.gz": lambda path: read_vector(str(path), "--rhs", 10**6),
    "b.npy": lambda path: read_vector(str(path), "--rhs", 10**6),
    "b.mtx": lambda path: read_vector(str(path), "--rhs", 10**6),
}
PLACES = {
    "device": lambda path: path.symlink_to("/dev/zero"),
    "pipe": os.mkfifo,
    "folder": lambda path: path.mkdir(),
    "missing": lambda path: None,
    "below a file": lambda path: None,
}


@pytest.mark.skipif(os.name != "posix", reason="no devices or pipes in the file system")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", READERS)
def test_only_regular_files(tmp_path, name, place):
    path = tmp_path / name
    if place == "below a file":
        path.write_text("")
        path = path / name
    PLACES[place](path)
    expected = "is not a regular file" if place in ("device", "pipe", "folder") else "does not exist"
    tracemalloc.start()
    try:
        with pytest.raises(FileNotFoundError, match=expected) as error:
            READERS[name](path)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()
    assert str(path) in str(error.value)


def test_a_path_that_no_file_can_have():
    with pytest.raises(FileNotFoundError, match="does not exist"):
        open_regular("a\0b")


def test_compressed_files_are_closed(tmp_path, recwarn):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"text"))
    with open_bounded(path) as stream:
        file = stream.stream.fileobj
        assert stream.read() == b"text"
    assert file.closed


class TestTextLines:
    def lines(self, tmp_path, content, name="a.txt"):
        path = tmp_path / name
        path.write_bytes(content)
        return list(text_lines(path, 10))

    def test_line_ends_and_byte_order_marks(self, tmp_path):
        assert self.lines(tmp_path, b"") == []
        assert self.lines(tmp_path, b"\xef\xbb\xbfa\r\n\nb") == ["a\r\n", "\n", "b"]
        assert self.lines(tmp_path, b"a\n\xef\xbb\xbfb\n") == ["a\n", "\ufeffb\n"]
        assert self.lines(tmp_path, gzip.compress("é\n".encode()), "a.txt.gz") == ["é\n"]

    @pytest.mark.parametrize("chunk", [1, 2, 3, 7])
    def test_chunks_do_not_matter(self, tmp_path, monkeypatch, chunk):
        content = "\ufeffé\r\n\n\u2028b\x0bc\n\nend\r".encode()
        expected = self.lines(tmp_path, content)
        monkeypatch.setattr("linforest_precond.matrices.readers.bounded_streams.CHUNK", chunk)
        assert self.lines(tmp_path, content) == expected == ["é\r\n", "\n", "\u2028b\x0bc\n", "\n", "end\r"]

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"a\n0123456789a\n", "line 2 must have at most 10 bytes"),
            ("a\n123456789é".encode() + b"\n", "line 2 must have at most 10 bytes"),
            (b"a\nb\xe9\n", "must be a text file in UTF-8: byte 1 of line 2 is not"),
            (b"a\nb\rc\n", "line 2 must end with a line feed, got a carriage return"),
        ],
    )
    def test_other_lines_are_refused_by_number(self, tmp_path, content, words):
        with pytest.raises(ValueError, match=words) as error:
            self.lines(tmp_path, content)
        assert str(tmp_path / "a.txt") in str(error.value)


class TestVectors:
    def test_text_that_expands_too_far(self, tmp_path, monkeypatch):
        """The limit of Matrix Market files holds."""
        monkeypatch.setattr("linforest_precond.matrices.readers.bounded_streams.LEAST_BOUND", 1 << 16)
        path = tmp_path / "b.txt.gz"
        path.write_bytes(gzip.compress(b"1\n" * 2**17))
        with pytest.raises(
            ValueError, match="--x0: .*b.txt.gz .* more than .* bytes, which is not plausible"
        ):
            read_vector(str(path), "--x0", 10**6)

    def test_more_rows_than_wanted(self, tmp_path):
        path = tmp_path / "b.txt"
        path.write_text("1\n" * 12)
        assert read_vector(str(path), "--rhs", 12).size == 12
        with pytest.raises(ValueError, match="b.txt is not a vector .* it must have 11 rows, and has more"):
            read_vector(str(path), "--rhs", 11)

    def test_compressed_text(self, tmp_path):
        path = tmp_path / "b.txt.gz"
        path.write_bytes(gzip.compress(b"# b\n1 2\n3 4.5\n"))
        assert read_vector(str(path), "--rhs", 2).tolist() == [[1, 2], [3, 4.5]]

    @pytest.mark.parametrize("text", ["1e400", "-1e999", "inf", "nan"])
    def test_numbers_that_are_not_finite(self, tmp_path, text):
        path = tmp_path / "b.txt"
        path.write_text(f"1\n{text}\n")
        with pytest.raises(ValueError, match="b.txt must hold finite numbers .*float64, got .* in row 2"):
            read_vector(str(path), "--rhs", 2)

    def test_an_archive_is_no_array(self, tmp_path):
        np.savez(tmp_path / "b.npz", b=np.ones(3))
        (tmp_path / "b.npz").rename(tmp_path / "b.npy")
        with pytest.raises(ValueError, match="b.npy is not a vector in .npy format"):
            read_vector(str(tmp_path / "b.npy"), "--rhs", 10**6)

    def test_a_sparse_vector_with_too_many_rows_and_columns(self, tmp_path):
        path = tmp_path / "b.mtx"
        path.write_text("%%MatrixMarket matrix coordinate real general\n60000000 60000000 1\n1 1 1\n")
        with pytest.raises(ValueError, match="it has the shape .60000000, 60000000., and stores 1 entries"):
            read_vector(str(path), "--rhs", 10**6)
