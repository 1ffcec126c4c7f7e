"""Minimum transfer rate and time limit of a download.

The timeout of a socket limits each wait for data, not their sum: a server that sends a byte every few seconds
would keep a download alive for ever. `Pace` counts the bytes below the HTTP client, so that slow headers and
endless interim responses are limited too.
"""

from __future__ import annotations

import http.client
import io
import time
import urllib.request
from typing import Any

# A window of slow transfer breaks the connection; a download may continue from there.
WINDOW_SECONDS = 30.0
LEAST_BYTES_PER_SECOND = 1000
# The time limit of all attempts of one call.
MOST_SECONDS = 6 * 3600.0


class Pace:
    """Raises TimeoutError below the minimum transfer rate or after the time limit."""

    def __init__(self) -> None:
        self.end = time.monotonic() + MOST_SECONDS
        self.restart()

    def restart(self) -> None:
        """Begin a window, with a connection or after the window before."""
        self.window_end, self.bytes = time.monotonic() + WINDOW_SECONDS, 0

    def is_over(self) -> bool:
        return time.monotonic() > self.end

    def received(self, count: int) -> None:
        """Account for bytes that have arrived."""
        self.bytes += count
        if self.is_over():
            raise TimeoutError(f"it took longer than {MOST_SECONDS:g} s")
        if time.monotonic() > self.window_end:
            if self.bytes < LEAST_BYTES_PER_SECOND * WINDOW_SECONDS:
                raise TimeoutError(f"only {self.bytes} bytes arrived in {WINDOW_SECONDS:g} s")
            self.restart()


def paced_handlers(pace: Pace) -> list[urllib.request.BaseHandler]:
    """Handlers of http and https whose responses are read at this pace."""

    class Response(http.client.HTTPResponse):
        def __init__(self, *arguments: Any, **options: Any):
            super().__init__(*arguments, **options)
            self.fp = io.BufferedReader(_PacedReader(self.fp.detach(), pace))

    class Paced(urllib.request.AbstractHTTPHandler):
        def do_open(self, http_class: Any, req: Any, **http_conn_args: Any) -> Any:
            def connect(*arguments: Any, **more: Any) -> Any:
                connection = http_class(*arguments, **more)
                connection.response_class = Response
                pace.restart()
                return connection

            return super().do_open(connect, req, **http_conn_args)

    class Http(Paced, urllib.request.HTTPHandler):
        pass

    class Https(Paced, urllib.request.HTTPSHandler):
        pass

    return [Http(), Https()]


class _PacedReader(io.RawIOBase):
    """The raw stream of a socket."""

    def __init__(self, raw: Any, pace: Pace):
        self.raw, self.pace = raw, pace

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        count: int | None = self.raw.readinto(buffer)
        self.pace.received(count or 0)
        return count

    def close(self) -> None:
        self.raw.close()
        super().close()
