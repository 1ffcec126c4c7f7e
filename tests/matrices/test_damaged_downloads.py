"""Hostile and damaged downloads are refused in time, with an error that names them; nothing is left."""

import gzip
import tarfile
import time

import numpy as np
import pytest
from collection_server import (  # noqa: F401 (fixtures)
    SMALL,
    SMALL_LINE,
    Answer,
    assert_is_small,
    cache_fixture,
    files_in,
    noise_fixture,
    pack,
    server_fixture,
)

from linforest_precond import matrices
from linforest_precond.matrices.download import collection, pace
from linforest_precond.matrices.download.places import MatrixNotAvailable, MatrixOffline

BROKEN_INDEXES = {
    "truncated": b"3\ndate\n" + SMALL_LINE.encode(),
    "cut within a line": b"1\ndate\nHB,small,3,3",
    "a web page": b"<html>sorry</html>",
    "empty": b"",
}


@pytest.mark.parametrize("body", BROKEN_INDEXES.values(), ids=BROKEN_INDEXES)
def test_a_broken_index_is_not_kept(server, cache, body, monkeypatch):
    monkeypatch.setattr(collection.ssgetpy_index, "search", lambda name: [])
    server.answers["/files/ssstats.csv"] = Answer(body)
    with pytest.raises(MatrixNotAvailable, match="is not the collection's index"):
        matrices.load("small")
    assert files_in(cache) == []


def with_sizes(sizes):
    return pack([("small/small.mtx", SMALL.replace(b"3 3 4", sizes))])


def with_entry(line):
    return pack([("small/small.mtx", SMALL.replace(b"3 2 0.0", line))])


# The last entry is 0.125: all but its first digit is lost.
CUT = SMALL.replace(b"3 2 0.0", b"3 2 0.125")[:-4]


def broken_archives():
    good = pack([("small/small.mtx", SMALL)])
    link = tarfile.TarInfo("small/small.mtx")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    hard = tarfile.TarInfo("small/small.mtx")
    hard.type, hard.linkname = tarfile.LNKTYPE, "../../secret"
    folder = tarfile.TarInfo("small/small.mtx")
    folder.type = tarfile.DIRTYPE
    flipped = bytearray(good)
    flipped[-6] ^= 1
    return {
        "a web page": (b"<html>sorry</html>", "is not a usable archive"),
        "empty": (b"", "is not a usable archive"),
        "truncated": (good[:-40], "is not a usable archive"),
        "wrong checksum": (bytes(flipped), "CRC"),
        "gzip of something else": (gzip.compress(b"hello" * 1000), "is not a usable archive"),
        "no matrix": (pack([("small/README", b"hello")]), "has no member small/small.mtx"),
        "outside": (pack([("../small/small.mtx", SMALL)]), "has no member small/small.mtx"),
        "absolute": (pack([("/small/small.mtx", SMALL)]), "has no member small/small.mtx"),
        "a symbolic link": (pack([link]), "is not a regular file"),
        "a hard link": (pack([hard]), "is not a regular file"),
        "a folder": (pack([folder]), "is not a regular file"),
        "another banner": (pack([("small/small.mtx", b"hello\n" * 9)]), "not a Matrix Market file"),
        "another shape": (with_sizes(b"4 4 4"), r"shape \(4, 4\)"),
        "too few entries": (with_sizes(b"3 3 1"), "stores 1 entries"),
        "too many entries": (with_sizes(b"3 3 5"), "stores 5 entries"),
        "cut before packing": (pack([("small/small.mtx", SMALL[:-9])]), "2 of 4 entries"),
        "its last number cut": (pack([("small/small.mtx", CUT)]), "3 of 4 entries are on complete lines"),
        "its last number and more cut": (pack([("small/small.mtx", b"\n" + CUT)]), "not a Matrix Market"),
        "a row out of range": (with_entry(b"9 2 0.0"), "small.tar.gz"),
        "a row 0": (with_entry(b"0 2 0.0"), "small.tar.gz"),
        "a word": (with_entry(b"3 2 zero"), "small.tar.gz"),
        "a missing number": (with_entry(b"3 2"), "small.tar.gz"),
        "an entry too many": (pack([("small/small.mtx", SMALL + b"3 3 1.0\n")]), "small.tar.gz"),
        "a bomb": (pack([("small/small.mtx", SMALL + b" " * (4 << 20))]), "bytes, at most"),
    }


@pytest.mark.parametrize(("body", "reason"), broken_archives().values(), ids=broken_archives())
def test_a_broken_archive_leaves_nothing(server, cache, tmp_path, body, reason):
    server.serve("HB/small", body)
    with pytest.raises(MatrixNotAvailable, match=reason) as caught:
        matrices.load("small")
    assert f"{server.address}/MM/HB/small.tar.gz" in str(caught.value)
    assert files_in(cache) == ["ssstats.csv"]
    assert files_in(tmp_path) == ["cache/ssstats.csv"]


def test_a_decompression_bomb_is_rejected(server, cache, monkeypatch):
    monkeypatch.setattr("linforest_precond.matrices.readers.archive.REST_BYTES", 0)
    server.serve("HB/small", pack([("small/zeros", bytes(40 << 20)), ("small/small.mtx", SMALL)]))
    with pytest.raises(MatrixNotAvailable, match="contains more than"):
        matrices.load("small")
    assert files_in(cache) == ["ssstats.csv"]


@pytest.mark.parametrize("drip", [{"drip": (2, 0.02)}, {"drip_headers": 0.05}], ids=["body", "headers"])
def test_a_slow_download_ends(server, cache, monkeypatch, drip):
    """Every wait is shorter than the timeout, so only the rate tells that it would take for ever."""
    monkeypatch.setattr(pace, "WINDOW_SECONDS", 0.2)
    collection.download_index()
    answer = server.add("HB/small", SMALL * 50, **drip)
    begin = time.perf_counter()
    with pytest.raises(MatrixNotAvailable, match="HB/small.tar.gz.*bytes arrived in 0.2 s"):
        matrices.load("small")
    assert time.perf_counter() - begin < 4
    assert all(name.endswith((".part", "ssstats.csv")) for name in files_in(cache))
    server.add("HB/small", SMALL, etag='"v2"')
    assert_is_small(matrices.load("small"))
    assert answer.drip or answer.drip_headers


def test_a_download_has_an_overall_time(server, cache, noise, monkeypatch):
    values, answer = noise
    collection.download_index()
    monkeypatch.setattr(pace, "MOST_SECONDS", 0.3)
    answer.drip = (5000, 0.05)
    with pytest.raises(MatrixNotAvailable, match="HB/noise.tar.gz broke.*longer than 0.3 s"):
        matrices.load("noise")
    assert len([path for path in server.paths() if "noise" in path]) == 1
    monkeypatch.setattr(pace, "MOST_SECONDS", 60)
    answer.drip = None
    np.testing.assert_array_equal(matrices.load("noise").diagonal(), values)
    assert server.requests[-1][2] > 0  # it was resumed


HOSTILE_HEADERS = {
    "a length that is no number": {"Content-Length": "\u00b2"},
    "a length of many digits": {"Content-Length": "9" * 5000},
    "a negative length": {"Content-Length": "-5"},
    "a validator that is not ASCII": {"ETag": '"' + "\u00ff" * 70 + '"'},
    "a validator with controls": {"ETag": '"\x1b\x01"'},
}


@pytest.mark.parametrize("headers", HOSTILE_HEADERS.values(), ids=HOSTILE_HEADERS)
@pytest.mark.parametrize("cut", [None, 100])
def test_hostile_headers(server, cache, headers, cut):
    server.add("HB/small", SMALL, headers=headers, cuts=(cut,) * 5)
    try:
        assert_is_small(matrices.load("small"))
    except MatrixNotAvailable as error:
        assert "HB/small.tar.gz" in str(error)
    server.add("HB/small", SMALL, etag='"v2"')
    assert_is_small(matrices.load("small"))


def test_a_message_of_the_server_is_escaped(server):
    server.answers["/MM/HB/small.tar.gz"] = Answer(status=404, reason="\x1b[31mred")
    with pytest.raises(MatrixNotAvailable, match="404") as caught:
        matrices.load("small")
    assert "\x1b" not in str(caught.value) and r"\x1b[31mred" in str(caught.value)


def test_an_author_cannot_control_the_terminal(server, capsys):
    server.add("HB/small", SMALL.replace(b"A. Nonymous", b"\x1b]0;owned\x07\xc2\x9b2J\xe2\x80\xae evil \xff"))
    matrices.load("small")
    for text in (capsys.readouterr().err, str(matrices.describe("small"))):
        assert r"\x1b]0;owned\x07\x9b2J\u202e evil" in text
        assert all(char.isprintable() or char == "\n" for char in text)


DAMAGED = {
    "a row out of range": SMALL.replace(b"3 2 0.0", b"9 2 0.0"),
    "cut within the last number": CUT,
    "cut after a line": SMALL[:-8],
    "empty": b"",
    "another banner": b"hello\n" * 9,
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_in_the_cache_is_downloaded_again(server, cache, text):
    """As an earlier version may have left it."""
    (cache / "HB").mkdir(parents=True)
    (cache / "HB" / "small.mtx").write_bytes(text)
    assert_is_small(matrices.load("HB/small"))
    assert (cache / "HB" / "small.mtx").read_bytes() == SMALL


def test_a_damaged_file_is_reported_once_when_offline(server, cache):
    matrices.load("small")
    path = cache / "HB" / "small.mtx"
    path.write_bytes(CUT)
    with pytest.raises(MatrixOffline, match="small.mtx was damaged .*line break.*and is removed.*Download"):
        matrices.load("small", offline=True)
    assert not path.exists()
    assert_is_small(matrices.load("small"))


@pytest.mark.parametrize("place", ["matrices/HB", "matrices", "cache"])
def test_files_of_the_user_are_never_removed(server, tmp_path, monkeypatch, place):
    monkeypatch.setenv("LINFOREST_MATRICES", str(tmp_path / "matrices"))
    path = tmp_path / place / "small.mtx"
    path.parent.mkdir(parents=True)
    path.write_bytes(DAMAGED["a row out of range"])
    with pytest.raises(ValueError, match="small.mtx cannot be read"):
        matrices.load("HB/small")
    with pytest.raises(ValueError, match="small.mtx cannot be read"):
        matrices.load(str(path))
    assert path.exists() and server.requests == []


def test_a_damaged_index_in_the_cache_is_downloaded_again(server, cache):
    cache.mkdir()
    (cache / "ssstats.csv").write_bytes(BROKEN_INDEXES["truncated"])
    assert_is_small(matrices.load("small"))
    assert files_in(cache) == ["HB/small.mtx", "ssstats.csv"]


def test_a_full_disk_is_named(server, cache, noise, small_files):
    collection.download_index()
    with small_files(50_000), pytest.raises(OSError, match="noise.tar.gz"):
        matrices.load("noise")
    np.testing.assert_array_equal(matrices.load("noise").diagonal(), noise[0])
    assert files_in(cache) == ["HB/noise.mtx", "ssstats.csv"]


def test_an_unexpected_answer_of_ssgetpy_is_ignored(monkeypatch):
    monkeypatch.setattr(collection.ssgetpy_index.importlib.util, "find_spec", lambda name: True)
    for answer in ({"a": 1}, [[1, 2]], [["HB", "small", "x", 3, 4, 1.0, "kind"]], 7):
        monkeypatch.setattr(collection.ssgetpy_index, "_ask", lambda name, answer=answer: answer)
        assert collection.ssgetpy_index.search("small") == []
