"""A local HTTP server in place of the SuiteSparse collection, with configurable failures."""

import http.server
import io
import re
import tarfile
import threading
import time
from dataclasses import dataclass


@dataclass
class Answer:
    """What the server sends for one path.

    ``cuts`` holds, for each request in turn, after how many bytes the connection breaks (None: not at all);
    ``stall`` makes it pause instead of breaking.
    """

    body: bytes = b""
    status: int = 200
    etag: str | None = '"v1"'
    ranges: bool = True
    cuts: tuple = ()
    stall: float = 0.0
    location: str | None = None
    length: bool = True


class CollectionServer:
    """A context manager; ``requests`` lists (path, requested range, offset of the response)."""

    def __init__(self):
        self.answers, self.requests = {}, []
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_for(self))
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02})

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
            self._send_headers(answer, start)
            self._send_body(answer, start, cut)

        def _start(self, answer):
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            same = self.headers.get("If-Range") == answer.etag
            return int(asked[1]) if asked and same and answer.ranges else 0

        def _send_headers(self, answer, start):
            self.send_response(206 if start else answer.status)
            if answer.etag:
                self.send_header("ETag", answer.etag)
            if answer.location:
                self.send_header("Location", answer.location)
            if start:
                end = len(answer.body) - 1
                self.send_header("Content-Range", f"bytes {start}-{end}/{len(answer.body)}")
            if answer.length:
                self.send_header("Content-Length", str(len(answer.body) - start))
            self.end_headers()

        def _send_body(self, answer, start, cut):
            end = len(answer.body) if cut is None else cut
            try:
                self.wfile.write(answer.body[start:end])
                self.wfile.flush()
            except OSError:
                return
            if cut is not None and answer.stall:
                server.closing.wait(answer.stall)

        def log_message(self, *_):
            pass

    return Handler


def index_text(*lines):
    return "\n".join([str(len(lines)), "08-Oct-2020 17:09:58", *lines, ""]).encode()


def index_line(full_name, rows, columns, nnz, *, symmetric=False, entries=None, kind="test problem"):
    group, name = full_name.split("/")
    fields = [group, name, rows, columns, nnz, 1, 0, 0, 0, 1, int(symmetric), kind, entries or nnz]
    return ",".join(map(str, fields))


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
