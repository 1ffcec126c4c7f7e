"""Downloads from a local server, with and without failures."""

import multiprocessing
import os
import sys
import textwrap
import time

import numpy as np
import pytest
import strategies as graphs
from collection_server import (  # noqa: F401 (fixtures)
    SMALL,
    SMALL_LINE,
    Answer,
    assert_is_small,
    cache_fixture,
    files_in,
    index_line,
    noise_fixture,
    pack,
    server_fixture,
)

from linforest_precond import matrices
from linforest_precond.matrices.download import collection, fetch, places
from linforest_precond.matrices.download.places import MatrixNotAvailable, MatrixOffline, UnknownMatrix


def test_a_matrix_is_downloaded_once(server, cache):
    assert_is_small(matrices.load("small"))
    assert_is_small(matrices.load("HB/small"))
    assert server.paths() == ["/files/ssstats.csv", "/MM/HB/small.tar.gz"]
    assert files_in(cache) == ["HB/small.mtx", "ssstats.csv"]


def test_a_download_names_author_licence_and_citation(server, cache, capsys):
    matrices.load("small")
    notice = capsys.readouterr().err
    for words in ("HB/small", "A. Nonymous", "1985", "CC-BY 4.0", "10.1145/2049662.2049663", str(cache)):
        assert words in notice
    matrices.load("small")
    assert capsys.readouterr().err == ""


def test_describe_before_and_after_the_download(server):
    before = matrices.describe("small")
    assert (before.group, before.nnz, before.symmetry, before.author) == ("HB", 4, "symmetric", None)
    assert server.paths() == ["/files/ssstats.csv"]
    matrices.load("small")
    after = matrices.describe("small")
    assert (after.author, after.title, after.editor) == ("A. Nonymous", "A small matrix", "N. Obody")
    assert (after.licence, after.stored, after.path.name) == ("CC-BY 4.0", 4, "small.mtx")


def test_the_cache_argument(server, tmp_path):
    assert_is_small(matrices.load("small", cache=tmp_path / "elsewhere"))
    assert files_in(tmp_path / "elsewhere") == ["HB/small.mtx", "ssstats.csv"]
    assert not (tmp_path / "cache").exists() and not (tmp_path / "home").exists()


def test_names_match_exactly(server):
    server.add_index(SMALL_LINE, index_line("HB/small2", 3, 3, 4), index_line("HB/Small", 3, 3, 4))
    assert_is_small(matrices.load("small"))
    with pytest.raises(UnknownMatrix, match="no matrix 'smal'; did you mean HB/Small, HB/small, HB/small2"):
        matrices.load("smal")


def test_a_name_in_two_groups_lists_them(server):
    server.add_index(SMALL_LINE, index_line("Other/small", 3, 3, 4))
    with pytest.raises(UnknownMatrix, match="ambiguous: give one of HB/small, Other/small"):
        matrices.load("small")
    assert_is_small(matrices.load("HB/small"))


def test_an_unknown_name_downloads_the_index_once_a_day(server, cache):
    collection.download_index()
    server.add_index(SMALL_LINE, index_line("HB/new", 3, 3, 4, symmetric=True, entries=6))
    server.add("HB/new", SMALL)
    with pytest.raises(UnknownMatrix):
        matrices.load("new")
    yesterday = time.time() - collection.FRESH_SECONDS - 1
    os.utime(cache / "ssstats.csv", (yesterday, yesterday))
    assert_is_small(matrices.load("new"))


def test_other_members_are_not_unpacked(server, cache, tmp_path):
    others = [("../evil", b"x"), ("small/small_b.mtx", b"b"), (f"{tmp_path}/evil", b"y")]
    server.serve("HB/small", pack([*others, ("small/small.mtx", SMALL)]))
    assert_is_small(matrices.load("small"))
    assert files_in(tmp_path) == ["cache/HB/small.mtx", "cache/ssstats.csv"]


def test_an_implausibly_large_response_is_rejected(server, cache, monkeypatch):
    monkeypatch.setattr("linforest_precond.matrices.readers.archive.REST_FACTOR", 0)
    monkeypatch.setattr("linforest_precond.matrices.readers.archive.REST_BYTES", 50)
    for length in (True, False):
        server.add("HB/small", SMALL, length=length)
        with pytest.raises(MatrixNotAvailable, match="over 50 bytes"):
            matrices.load("small")
        assert files_in(cache) == ["ssstats.csv"]


def test_a_broken_connection_is_resumed_at_once(server, cache, noise):
    values, answer = noise
    answer.cuts = (100_000, 150_000)
    A = matrices.load("noise")
    np.testing.assert_array_equal(A.diagonal(), values)
    assert [start for path, _, start in server.requests if "noise" in path] == [0, 100_000, 150_000]
    assert files_in(cache) == ["HB/noise.mtx", "ssstats.csv"]


def test_a_stalled_connection_counts_as_broken(server, noise):
    values, answer = noise
    answer.cuts, answer.stall = (100_000,), 5.0
    begin = time.perf_counter()
    np.testing.assert_array_equal(matrices.load("noise").diagonal(), values)
    assert time.perf_counter() - begin < 4


def break_for_good(noise, at=100_000):
    """Break a download and all attempts to resume it."""
    noise[1].cuts = (at, at)
    with pytest.raises(MatrixNotAvailable, match=f"HB/noise.tar.gz broke after {at} bytes"):
        matrices.load("noise")


def test_the_next_call_resumes(server, cache, noise):
    values, _ = noise
    break_for_good(noise)
    part = [name for name in files_in(cache) if name.endswith(".part")]
    assert len(part) == 1 and (cache / part[0]).stat().st_size == 100_000
    server.requests.clear()
    np.testing.assert_array_equal(matrices.load("noise").diagonal(), values)
    assert server.requests == [("/MM/HB/noise.tar.gz", "bytes=100000-", 100_000)]
    assert files_in(cache) == ["HB/noise.mtx", "ssstats.csv"]


@pytest.mark.parametrize("change", [{"etag": '"v2"'}, {"ranges": False}, {"etag": None}])
def test_changed_or_not_resumable_files_start_again(server, noise, change):
    values, answer = noise
    break_for_good(noise)
    for name, value in change.items():
        setattr(answer, name, value)
    server.requests.clear()
    np.testing.assert_array_equal(matrices.load("noise").diagonal(), values)
    assert server.requests == [("/MM/HB/noise.tar.gz", "bytes=100000-", 0)]


@pytest.mark.parametrize("etag", [None, 'W/"weak"', '"' + "x" * 200 + '"'])
def test_without_a_validator_no_part_is_kept(server, cache, noise, etag):
    noise[1].etag = etag
    break_for_good(noise)
    assert files_in(cache) == ["ssstats.csv"]


def test_a_part_longer_than_the_file_starts_again(server, cache, noise):
    values, answer = noise
    break_for_good(noise)
    part = next(cache.rglob("*.part"))
    part.write_bytes(b"x" * (len(answer.body) + 10))
    np.testing.assert_array_equal(matrices.load("noise").diagonal(), values)


def test_a_damaged_part_is_discarded(server, cache, noise):
    values, _ = noise
    break_for_good(noise)
    next(cache.rglob("*.part")).write_bytes(b"x" * 100_000)
    with pytest.raises(MatrixNotAvailable, match="is not a usable archive"):
        matrices.load("noise")
    np.testing.assert_array_equal(matrices.load("noise").diagonal(), values)


def test_an_interrupt_leaves_a_part_to_resume(server, cache, noise, monkeypatch):
    values, _ = noise
    collection.download_index()
    received = []

    def interrupted(response):
        if received:
            raise KeyboardInterrupt
        received.append(response.read1(1000))
        return received[0]

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(fetch, "_read", interrupted)
        matrices.load("noise")
    assert [path.stat().st_size for path in cache.rglob("*.part")] == [1000]
    np.testing.assert_array_equal(matrices.load("noise").diagonal(), values)


def test_leftovers_of_a_killed_process_are_removed(server, cache):
    (cache / "HB").mkdir(parents=True)
    left = [cache / "HB" / f"small.{form}.0123.tmp" for form in ("tar.gz", "mtx")]
    fresh = cache / "HB" / "small.tar.gz.4567.tmp"
    for path in (*left, fresh):
        path.write_bytes(SMALL)
    old = time.time() - places.ABANDONED_SECONDS - 1
    for path in left:
        os.utime(path, (old, old))
    assert_is_small(matrices.load("small"))
    assert files_in(cache) == ["HB/small.mtx", "HB/small.tar.gz.4567.tmp", "ssstats.csv"]


def test_a_missing_archive(server, cache):
    del server.answers["/MM/HB/small.tar.gz"]
    with pytest.raises(MatrixNotAvailable, match="small.tar.gz: the server answered 404"):
        matrices.load("small")
    assert files_in(cache) == ["ssstats.csv"]


def test_safe_redirects_are_followed(server, cache):
    archive = server.answers.pop("/MM/HB/small.tar.gz")
    server.answers["/mirror"] = archive
    server.answers["/MM/HB/small.tar.gz"] = Answer(status=302, location=f"{server.address}/mirror")
    assert_is_small(matrices.load("small"))


@pytest.mark.parametrize("location", ["http://192.0.2.1/x", "file:///etc/passwd", "ftp://192.0.2.1/x"])
def test_unsafe_redirects_are_rejected(server, location):
    server.answers["/MM/HB/small.tar.gz"] = Answer(status=302, location=location)
    with pytest.raises(MatrixNotAvailable, match="redirects to an invalid address|302"):
        matrices.load("small")


@pytest.mark.parametrize(
    "address", ["http://192.0.2.1", "ftp://127.0.0.1", "file:///tmp", "127.0.0.1", "https://"]
)
def test_insecure_addresses_are_rejected(server, monkeypatch, address):
    monkeypatch.setenv("LINFOREST_SUITESPARSE", address)
    with pytest.raises(ValueError, match="must start with https://"):
        matrices.load("small")


def test_without_network_the_error_says_what_to_do(server, cache, monkeypatch):
    collection.download_index()
    monkeypatch.setenv("LINFOREST_SUITESPARSE", "http://127.0.0.1:9")
    with pytest.raises(MatrixOffline, match="cannot be reached") as caught:
        matrices.load("small")
    assert "http://127.0.0.1:9/MM/HB/small.tar.gz" in str(caught.value)
    assert str(cache / "HB") in str(caught.value) and "LINFOREST_MATRICES" in str(caught.value)
    assert files_in(cache) == ["ssstats.csv"]


def test_without_a_network_and_an_index(server, monkeypatch):
    monkeypatch.setattr(collection.ssgetpy_index, "search", lambda name: [])
    monkeypatch.setenv("LINFOREST_SUITESPARSE", "http://127.0.0.1:9")
    with pytest.raises(MatrixOffline, match="Download http://127.0.0.1:9/MM/<group>/small.tar.gz"):
        matrices.load("small")


@pytest.mark.parametrize("switch", ["argument", "environment"])
def test_offline_makes_no_request(server, monkeypatch, switch):
    monkeypatch.setenv("LINFOREST_OFFLINE", "1" if switch == "environment" else "0")
    with pytest.raises(MatrixOffline, match="no local index"):
        matrices.load("small", offline=True if switch == "argument" else None)
    assert server.requests == []


def test_offline_uses_the_cache(server):
    matrices.load("small")
    assert_is_small(matrices.load("small", offline=True))
    with pytest.raises(UnknownMatrix, match="did you mean HB/small"):
        matrices.load("smal", offline=True)


FAKE_SSGETPY = """
import os, sys
from types import SimpleNamespace

os.makedirs(os.path.join(os.environ["HOME"], ".ssgetpy"), exist_ok=True)

def search(name, limit):
    fields = {"group": "HB", "rows": 3, "cols": 3, "nnz": 4, "nsym": 1.0, "kind": "test problem"}
    names = ["small", "smallX", "not_small"]
    return [SimpleNamespace(name=found, **fields) for found in names if name in found]
"""


def test_ssgetpy_is_used_without_an_index(server, cache, tmp_path, monkeypatch):
    """In a separate process with its own home; its substring search is filtered for the exact name."""
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "ssgetpy.py").write_text(textwrap.dedent(FAKE_SSGETPY))
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    del server.answers["/files/ssstats.csv"]
    assert_is_small(matrices.load("small"))
    assert "ssgetpy" not in sys.modules
    assert files_in(cache) == ["HB/small.mtx"] and not (tmp_path / "home").exists()


def load_in_a_process(address, cache, queue):
    """The work of each of several concurrent processes."""
    os.environ.update(LINFOREST_SUITESPARSE=address, LINFOREST_CACHE=cache, no_proxy="127.0.0.1")
    try:
        queue.put(float(matrices.load("noise").diagonal().sum()))
    except Exception as error:
        queue.put(repr(error))


@pytest.mark.parametrize("count", graphs.quick([2, 4]))
def test_concurrent_downloads(server, cache, noise, count):
    """Processes download the same matrix; the first response breaks, so that a part is handed over."""
    values, answer = noise
    answer.cuts = (100_000,)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    arguments = (server.address, str(cache), queue)
    processes = [context.Process(target=load_in_a_process, args=arguments) for _ in range(count)]
    for process in processes:
        process.start()
    sums = [queue.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    assert sums == [float(values.sum())] * count
    assert files_in(cache) == ["HB/noise.mtx", "ssstats.csv"]


def test_progress_is_shown_in_a_terminal_only(server, cache, capsys, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    matrices.load("small")
    assert "HB/small: 100%" in capsys.readouterr().err
    (cache / "HB" / "small.mtx").unlink()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    matrices.load("small")
    assert "100%" not in capsys.readouterr().err
