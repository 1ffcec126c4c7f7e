"""Download one file over HTTPS: streamed, bounded, counted, resumed after a break.

Bytes arrive in a file whose name no other process uses. After a break they stay behind as a ``.part`` file
that carries the server's validator (ETag or date) in its name; whoever renames it first goes on from there,
and the server sends the rest only if its file is still the same.
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
from pathlib import Path

from .errors import MatrixNotAvailable, MatrixOffline
from .places import remove_abandoned, temporary_beside

COLLECTION = "https://sparse.tamu.edu"
TIMEOUT_SECONDS = 10
ATTEMPTS = 3
CHUNK = 1 << 18
LONGEST_VALIDATOR = 80
HEADERS = {"User-Agent": "linforest_precond", "Accept-Encoding": "identity"}
NETWORK_ERRORS = (OSError, http.client.HTTPException)


def server() -> str:
    """The collection's address, or the mirror that ``LINFOREST_SUITESPARSE`` names."""
    address = os.environ.get("LINFOREST_SUITESPARSE") or COLLECTION
    _check_address(address)
    return address.rstrip("/")


def fetch(address, target, *, most_bytes, label=None) -> Path:
    """
    Download a file to a temporary one beside ``target``.

    Parameters
    ----------
    address : str
        Begins with https://, or http:// on this machine.
    target : Path
        Names the temporary file; it is not written itself.
    most_bytes : int
        Larger answers are refused.
    label : str, optional
        What the progress bar says; None shows none.

    Returns
    -------
    Path
        The whole file, the caller's to check, rename or delete.

    Raises
    ------
    MatrixOffline
        Where no connection comes about.
    MatrixNotAvailable
        Where the server refuses, or the connection breaks for good.
    """
    _check_address(address)
    remove_abandoned(target)
    transfer = _Transfer(address, target, most_bytes, label)
    try:
        transfer.run()
    except BaseException:
        transfer.put_back()
        raise
    return transfer.path


class _Broken(Exception):  # noqa: N818
    """The connection ended before the file did."""


class _Transfer:
    """One file on its way; ``validator`` says which version of it the bytes so far belong to."""

    def __init__(self, address, target, most_bytes, label):
        self.address, self.target, self.most_bytes, self.label = address, target, most_bytes, label
        self.path = temporary_beside(target)
        self.validator = _claim_part(target, self.path)
        if self.validator is None:
            self.path.touch(exist_ok=False)

    @property
    def size(self):
        return self.path.stat().st_size

    def run(self):
        """Try again while that brings the file further."""
        for _attempt in range(ATTEMPTS):
            before = self.size
            try:
                return self._receive()
            except _Broken as error:
                reason = error
                if self.size <= before:
                    break
        raise MatrixNotAvailable(
            f"the download of {self.address} broke after {self.size} bytes ({reason}); "
            "the next call tries again"
        ) from reason

    def put_back(self):
        """Keep what can be continued, remove the rest."""
        if self.validator is not None and self.path.exists() and self.size:
            os.replace(self.path, _part_name(self.target, self.validator))
        else:
            self.path.unlink(missing_ok=True)

    def _receive(self):
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

    def _open(self):
        """Ask for the file, or the rest of it; a rest that no longer exists means the whole."""
        start = self.size if self.validator else 0
        headers = {"Range": f"bytes={start}-", "If-Range": self.validator} if start else {}
        try:
            return _opener().open(
                urllib.request.Request(self.address, headers={**HEADERS, **headers}), timeout=TIMEOUT_SECONDS
            )
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
                self.validator = None
                return self._open()
            answer = f"{error.code} {error.reason}"
            raise MatrixNotAvailable(f"{self.address}: the server answered {answer}") from error
        except NETWORK_ERRORS as error:
            reason = getattr(error, "reason", None) or error
            raise MatrixOffline(f"{self.address} cannot be reached ({reason})") from error

    def _start(self, response):
        """Where the answer's bytes belong: at the end of ours, or None where the server sent another part."""
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            return 0
        if self.validator is None:
            raise MatrixNotAvailable(f"{self.address}: the server sent a part where the whole was asked for")
        answered = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
        same = _validator(response) in (None, self.validator)
        return self.size if same and answered and int(answered[1]) == self.size else None

    def _total(self, response, start):
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdigit() else None
        if total is not None:
            self._check_size(total)
        return total

    def _check_size(self, size):
        if size > self.most_bytes:
            self.validator = None
            raise MatrixNotAvailable(f"{self.address} has over {self.most_bytes} bytes: not plausible")

    def _copy(self, response, file, start, total):
        size = start
        with _progress(self.label, start, total) as advance:
            while chunk := _read(response):
                file.write(chunk)
                size += len(chunk)
                self._check_size(size)
                advance(len(chunk))
        file.flush()
        if total is not None and size != total:
            raise _Broken(f"{size} of {total} bytes arrived")


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Redirections never leave HTTPS."""

    def redirect_request(self, request, response, code, message, headers, address):
        try:
            _check_address(address)
        except ValueError as error:
            raise MatrixNotAvailable(f"{request.full_url} leads elsewhere: {error}") from error
        return super().redirect_request(request, response, code, message, headers, address)


def _opener():
    return urllib.request.build_opener(_SafeRedirects)


def _check_address(address):
    parts = urllib.parse.urlsplit(address)
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and _is_this_machine(parts.hostname):
        return
    raise ValueError(f"an address must begin with https:// (http:// on this machine alone), got {address!r}")


def _is_this_machine(host):
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _read(response):
    try:
        # read() would lose the bytes before a timeout, read1() gives what has arrived.
        return response.read1(CHUNK)
    except NETWORK_ERRORS as error:
        raise _Broken(f"{error or type(error).__name__}") from error


def _validator(response):
    """What tells this version of the file from others; a weak ETag or a long one does not serve."""
    tag = response.headers.get("ETag", "")
    mark = tag if tag.startswith('"') else response.headers.get("Last-Modified", "")
    return mark if 0 < len(mark) <= LONGEST_VALIDATOR else None


def _part_name(target, validator):
    # Hexadecimal digits survive every file system.
    return target.with_name(f"{target.name}.{validator.encode().hex()}.part")


def _claim_part(target, own_path):
    """Rename a part that someone left to a name of our own: of several processes one succeeds."""
    for part in target.parent.glob(f"{target.name}.*.part"):
        with contextlib.suppress(OSError, ValueError):
            validator = bytes.fromhex(part.name[len(target.name) + 1 : -len(".part")]).decode()
            os.rename(part, own_path)
            return validator
    return None


@contextlib.contextmanager
def _progress(label, start, total):
    """A function to report bytes to: a bar in a terminal where tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        tqdm = None
    if tqdm is None or label is None or not sys.stderr.isatty():
        yield lambda count: None
        return
    with tqdm(desc=label, initial=start, total=total, unit="B", unit_scale=True, unit_divisor=1024) as bar:
        yield bar.update
