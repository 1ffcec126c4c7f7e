"""A local HTTP server in place of the SuiteSparse collection, with configurable failures."""

import contextlib
import http.server
import io
import re
import tarfile
import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pytest

from linforest_precond.matrices.download import fetch

CHUNK = 1 << 16

# Three rows, a symmetric file with an explicit zero.
SMALL = b"""%%MatrixMarket matrix coordinate real symmetric
%-------------------------------------------------------------------------------
% UF Sparse Matrix Collection, Tim Davis
% name: HB/small
% [A small matrix]
% id: 7
% date: 1985
% author: A. Nonymous
% ed: N. Obody
% kind: test problem
%-------------------------------------------------------------------------------
3 3 4
1 1 2.0
2 1 -1.0
2 2 2.0
3 2 0.0
"""
SMALL_DENSE = [[2, -1, 0], [-1, 2, 0], [0, 0, 0]]


@dataclass
class Answer:
    """What the server sends for one path.

    ``cuts`` holds, for each request in turn, after how many bytes the connection breaks (None: not at all);
    ``stall`` makes it pause instead of breaking. ``drip`` is (bytes, seconds): the body is sent in pieces of
    that size, with pauses; ``drip_headers`` is the pause after each byte of the status line. ``headers`` are
    sent in addition to the usual ones, or in their place.
    """

    body: bytes = b""
    status: int = 200
    reason: str | None = None
    etag: str | None = '"v1"'
    ranges: bool = True
    cuts: tuple = ()
    stall: float = 0.0
    location: str | None = None
    length: bool = True
    drip: tuple | None = None
    drip_headers: float = 0.0
    headers: dict = field(default_factory=dict)


class CollectionServer:
    """A context manager; ``requests`` lists (path, requested range, offset of the response)."""

    def __init__(self):
        self.answers, self.requests = {}, []
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_for(self))
        self.http.daemon_threads = True
        self.thread = threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def address(self):
        return f"http://127.0.0.1:{self.http.server_port}"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def paths(self):
        return [path for path, _, _ in self.requests]

    def add(self, full_name, text, **options):
        """Serve a matrix as the collection does, and return its response."""
        name = full_name.split("/")[1]
        return self.serve(full_name, pack([(f"{name}/{name}.mtx", text)]), **options)

    def serve(self, full_name, archive, **options):
        answer = Answer(archive, **options)
        self.answers[f"/MM/{full_name}.tar.gz"] = answer
        return answer

    def add_index(self, *lines, **options):
        self.answers["/files/ssstats.csv"] = Answer(index_text(*lines), **options)


def handler_for(server):
    """The request handler of one server."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answer = server.answers.get(self.path, Answer(b"no such file", 404))
            with server.lock:
                start = self._start(answer)
                server.requests.append((self.path, self.headers.get("Range"), start))
                cut, answer.cuts = (answer.cuts[0], answer.cuts[1:]) if answer.cuts else (None, ())
            if start > len(answer.body):
                self.send_error(416)
                return
            with contextlib.suppress(OSError):  # the client has closed the connection
                if answer.drip_headers:
                    self._drip(b"HTTP/1.0 200 OK OK OK OK OK OK OK OK OK", 1, answer.drip_headers)
                self._send_headers(answer, start)
                self._send_body(answer, start, cut)

        def _start(self, answer):
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            same = self.headers.get("If-Range") == answer.etag
            return int(asked[1]) if asked and same and answer.ranges else 0

        def _send_headers(self, answer, start):
            headers = {"ETag": answer.etag, "Location": answer.location}
            if start:
                headers["Content-Range"] = f"bytes {start}-{len(answer.body) - 1}/{len(answer.body)}"
            if answer.length:
                headers["Content-Length"] = str(len(answer.body) - start)
            self.send_response(206 if start else answer.status, answer.reason)
            for name, value in {**headers, **answer.headers}.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()

        def _send_body(self, answer, start, cut):
            end = len(answer.body) if cut is None else cut
            size, pause = answer.drip or (CHUNK, 0.0)
            self._drip(answer.body[start:end], size, pause)
            if cut is not None and answer.stall:
                server.closing.wait(answer.stall)

        def _drip(self, data, size, pause):
            """Send bytes in pieces with pauses."""
            for begin in range(0, len(data), size):
                self.wfile.write(data[begin : begin + size])
                self.wfile.flush()
                if pause and server.closing.wait(pause):
                    return

        def log_message(self, *_):
            pass

    return Handler


def index_text(*lines):
    return "\n".join([str(len(lines)), "08-Oct-2020 17:09:58", *lines, ""]).encode()


def index_line(full_name, rows, columns, nnz, *, symmetric=False, entries=None, kind="test problem"):
    group, name = full_name.split("/")
    fields = [group, name, rows, columns, nnz, 1, 0, 0, 0, 1, int(symmetric), kind, entries or nnz]
    return ",".join(map(str, fields))


SMALL_LINE = index_line("HB/small", 3, 3, 4, symmetric=True, entries=6)


def pack(members):
    """A .tar.gz of (name, bytes) pairs and TarInfos."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size, info.mtime = len(member[1]), int(time.time())
            archive.addfile(info, io.BytesIO(member[1]))
    return buffer.getvalue()


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def noise_matrix(entries=20_000):
    """A matrix whose archive is large enough to break in the middle."""
    values = np.random.default_rng(0).standard_normal(entries)
    rows = "".join(f"{i} {i} {value!r}\n" for i, value in enumerate(values.tolist(), start=1))
    text = f"%%MatrixMarket matrix coordinate real general\n{entries} {entries} {entries}\n{rows}"
    return values, text.encode(), index_line("HB/noise", entries, entries, entries)


def assert_is_small(A):
    np.testing.assert_array_equal(A.toarray(), SMALL_DENSE)
    assert A.nnz == 6


@pytest.fixture(name="server")
def server_fixture(tmp_path, monkeypatch):
    """A server with one matrix, and an environment without any other network or folder."""
    with CollectionServer() as server:
        monkeypatch.setenv("LINFOREST_SUITESPARSE", server.address)
        monkeypatch.setenv("LINFOREST_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.delenv("LINFOREST_MATRICES", raising=False)
        monkeypatch.delenv("LINFOREST_OFFLINE", raising=False)
        monkeypatch.setattr(fetch, "TIMEOUT_SECONDS", 0.5)
        server.add_index(SMALL_LINE)
        server.add("HB/small", SMALL)
        yield server


@pytest.fixture(name="cache")
def cache_fixture(server, tmp_path):
    return tmp_path / "cache"


@pytest.fixture(name="noise")
def noise_fixture(server):
    """(the values, the response with them): tests set how it breaks."""
    values, text, line = noise_matrix()
    server.add_index(SMALL_LINE, line)
    return values, server.add("HB/noise", text)
