"""What the room `runtime` of a backend offers."""

from __future__ import annotations

from typing import Any, Protocol


class Stopwatch(Protocol):
    """A running measurement of time; on the GPU, of the work on the current stream."""

    def stop(self) -> None: ...
    def milliseconds(self) -> float: ...


class PrefetchModule(Protocol):
    def prefetch(self, call: str, *facts: Any) -> None: ...


class StopwatchModule(Protocol):
    def Stopwatch(self) -> Stopwatch: ...  # noqa: N802


class StreamsModule(Protocol):
    def current(self) -> Any: ...
    def handle(self) -> object: ...
    def finish(self) -> None: ...
    def finish_all(self) -> None: ...


class RuntimeRoom(Protocol):
    prefetch: PrefetchModule
    stopwatch: StopwatchModule
    streams: StreamsModule
