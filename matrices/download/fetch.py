"""Download one file over HTTPS: streamed, with a size limit, resumed after a broken connection.

Bytes are written to a file with a unique name. After a broken connection they are kept as a ``.part`` file
with the server's validator (ETag or Last-Modified) in its name. The process that first renames it continues
the download; by ``If-Range`` the server sends the rest only if its file has not changed.

Every byte of a response, headers included, passes a `Pace`: a server that sends too slowly counts as a broken
connection, and all attempts together have a limit of time.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from linforest_precond.records.printing import one_line

from .pace import Pace, paced_handlers
from .places import MatrixNotAvailable, MatrixOffline, naming, remove_abandoned, temporary_beside

COLLECTION = "https://sparse.tamu.edu"
TIMEOUT_SECONDS = 10
ATTEMPTS = 3
CHUNK = 1 << 18
LONGEST_VALIDATOR = 80
HEADERS = {"User-Agent": "linforest_precond", "Accept-Encoding": "identity"}
NETWORK_ERRORS = (OSError, http.client.HTTPException)


def server() -> str:
    """The collection's URL, or the mirror in ``LINFOREST_SUITESPARSE``."""
    address = os.environ.get("LINFOREST_SUITESPARSE") or COLLECTION
    _check_address(address)
    return address.rstrip("/")


def fetch(address: str, target: Path, *, most_bytes: int, label: str | None = None) -> Path:
    """Download a file of an https:// URL, or http:// on localhost, to a temporary file beside ``target``.

    The caller verifies, renames or deletes the complete file. Responses of more than `most_bytes` are
    rejected. MatrixOffline means that there is no connection, MatrixNotAvailable that the server responds
    with an error, or that the connection breaks repeatedly or is too slow. `label` is that of a progress bar.
    """
    _check_address(address)
    remove_abandoned(target)
    transfer = _Transfer(address, target, most_bytes, label)
    try:
        with naming(target):
            transfer.run()
    except BaseException:
        transfer.put_back()
        raise
    return transfer.path


class _Broken(Exception):  # noqa: N818
    """The connection closed before the end of the file."""


class _Transfer:
    """One download; ``validator`` identifies the version of the bytes received so far."""

    def __init__(self, address: str, target: Path, most_bytes: int, label: str | None):
        self.address, self.target, self.most_bytes, self.label = address, target, most_bytes, label
        self.path, self.pace = temporary_beside(target), Pace()
        self.validator = _claim_part(target, self.path)
        if self.validator is None:
            self.path.touch(exist_ok=False)

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def run(self) -> None:
        """Receive the file; after a broken connection, retry as long as there is progress and time."""
        for _attempt in range(ATTEMPTS):
            before = self.size
            try:
                self._receive()
                return
            except _Broken as error:
                reason = error
                if self.size <= before or self.pace.is_over():
                    break
        raise MatrixNotAvailable(
            f"the download of {self.address} broke after {self.size} bytes ({one_line(str(reason))}); "
            "the next call tries again"
        ) from reason

    def put_back(self) -> None:
        """Keep the received bytes if the download can be resumed, else remove them."""
        if self.validator is not None and self.path.exists() and self.size:
            os.replace(self.path, _part_name(self.target, self.validator))
        else:
            self.path.unlink(missing_ok=True)

    def _receive(self) -> None:
        with self._open() as response, open(self.path, "r+b") as file:
            start = self._start(response)
            if start is None:
                self.validator = None
                return self._receive()
            total = self._total(response, start)
            self.validator = _validator(response)
            file.seek(start)
            file.truncate()
            self._copy(response, file, start, total)

    def _open(self) -> Any:
        """Request the file or its rest; if the range is not satisfiable, the whole file."""
        start = self.size if self.validator else 0
        headers = {"Range": f"bytes={start}-", "If-Range": str(self.validator)} if start else {}
        request = urllib.request.Request(self.address, headers={**HEADERS, **headers})
        opener = urllib.request.build_opener(_SafeRedirects, *paced_handlers(self.pace))
        try:
            return opener.open(request, timeout=TIMEOUT_SECONDS)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
                self.validator = None
                return self._open()
            answer = one_line(f"{error.code} {error.reason}")
            raise MatrixNotAvailable(f"{self.address}: the server answered {answer}") from error
        except NETWORK_ERRORS as error:
            reason = one_line(str(getattr(error, "reason", None) or error))
            raise MatrixOffline(f"{self.address} cannot be reached ({reason})") from error

    def _start(self, response: http.client.HTTPResponse) -> int | None:
        """The offset of the response's bytes in the file; None if it is not the requested range."""
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            return 0
        if self.validator is None:
            raise MatrixNotAvailable(f"{self.address}: the server sent a part, but the whole was requested")
        answered = re.match(r"bytes ([0-9]{1,18})-", response.headers.get("Content-Range", ""))
        same = _validator(response) in (None, self.validator)
        return self.size if same and answered and int(answered[1]) == self.size else None

    def _total(self, response: http.client.HTTPResponse, start: int) -> int | None:
        length = re.fullmatch(r"[0-9]{1,18}", response.headers.get("Content-Length", ""))
        total = start + int(length[0]) if length else None
        if total is not None:
            self._check_size(total)
        return total

    def _check_size(self, size: int) -> None:
        if size > self.most_bytes:
            self.validator = None
            raise MatrixNotAvailable(f"{self.address} has over {self.most_bytes} bytes: not plausible")

    def _copy(
        self, response: http.client.HTTPResponse, file: IO[bytes], start: int, total: int | None
    ) -> None:
        size = start
        with _progress(self.label, start, total) as advance:
            while chunk := _read(response):
                file.write(chunk)
                size += len(chunk)
                self._check_size(size)
                advance(len(chunk))
        file.flush()
        if total is not None and size != total:
            raise _Broken(f"received {size} of {total} bytes")


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Rejects redirects to addresses without HTTPS."""

    def redirect_request(
        self, request: Any, response: Any, code: int, message: str, headers: Any, address: str
    ) -> urllib.request.Request | None:
        try:
            _check_address(address)
        except ValueError as error:
            raise MatrixNotAvailable(
                f"{request.full_url} redirects to an invalid address: {error}"
            ) from error
        return super().redirect_request(request, response, code, message, headers, address)


def _check_address(address: str) -> None:
    parts = urllib.parse.urlsplit(address)
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and _is_this_machine(parts.hostname):
        return
    raise ValueError(f"an address must start with https:// (http:// only on localhost), got {address!r}")


def _is_this_machine(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        # read() would lose the bytes received before a timeout, read1() returns them.
        return response.read1(CHUNK)
    except NETWORK_ERRORS as error:
        raise _Broken(str(error) or type(error).__name__) from error


def _validator(response: http.client.HTTPResponse) -> str | None:
    """The strong ETag or the date of the file, None if there is none or it does not fit into a file name."""
    tag = response.headers.get("ETag", "")
    validator = tag if tag.startswith('"') else response.headers.get("Last-Modified", "")
    plain = validator.isascii() and validator.isprintable()
    return validator if plain and 0 < len(validator) <= LONGEST_VALIDATOR else None


def _part_name(target: Path, validator: str) -> Path:
    # Hexadecimal digits are valid in file names everywhere.
    return target.with_name(f"{target.name}.{validator.encode().hex()}.part")


def _claim_part(target: Path, own_path: Path) -> str | None:
    """Rename an existing .part file to our own name and return its validator; one process succeeds."""
    for part in target.parent.glob(f"{target.name}.*.part"):
        with contextlib.suppress(OSError, ValueError):
            validator = bytes.fromhex(part.name[len(target.name) + 1 : -len(".part")]).decode()
            os.rename(part, own_path)
            return validator
    return None


@contextlib.contextmanager
def _progress(label: str | None, start: int, total: int | None) -> Iterator[Callable[[int], Any]]:
    """A function that reports received bytes: a bar in a terminal where tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        tqdm = None
    if tqdm is None or label is None or not sys.stderr.isatty():
        yield lambda count: None
        return
    with tqdm(desc=label, initial=start, total=total, unit="B", unit_scale=True, unit_divisor=1024) as bar:
        yield bar.update
