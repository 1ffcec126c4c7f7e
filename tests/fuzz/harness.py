"""Runs fuzzers in child processes, with limits of time and memory, and reports what did not hold.

A fuzzer is a module ``fuzz_NAME.py`` of this folder with

``CLASSES : dict[str, tuple[int, int]]``
    For each class of cases: the cases of a quick and of a full run.
``LIMIT_SECONDS : float``
    A case that takes longer has failed.
``prepare(folder)``
    Called once in each child; its result is passed to `run_case`.
``run_case(prepared, name, rng, folder)``
    Draws one case of class `name` from `rng`, runs it and returns its outcome in a word. It raises where a
    promise is broken.
``run_file(path)``
    Optional: the same for one file of ``corpus/NAME``, the cases that failed once.

A case is determined by its module, its class and its seed. A child announces every case before it runs it, so
the case that ends the process is known. The parent then records the signal and starts another child.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
CORPUS = FOLDER / "corpus"
# A child's address space. CUDA reserves more than any limit, so children on a GPU have none.
MOST_BYTES = 6 << 30
START_SECONDS = 600.0  # imports and `prepare`, which may compile
CASES_A_DAY = 100_000  # seeds of a class, more than a full run has


def fuzzers() -> list[str]:
    """The names of all fuzzers."""
    return sorted(path.stem.removeprefix("fuzz_") for path in FOLDER.glob("fuzz_*.py"))


def fuzzer(name: str):
    """The module of a fuzzer."""
    return importlib.import_module(f"fuzz_{name}")


def corpus_files(name: str) -> list[Path]:
    """The cases of a fuzzer that failed once."""
    return sorted(path for path in (CORPUS / name).glob("*") if path.is_file())


def first_seed() -> int:
    """The seed of the first case: LINFOREST_FUZZ_SEED, or one that is new every day."""
    given = os.environ.get("LINFOREST_FUZZ_SEED")
    return int(given) if given else CASES_A_DAY * datetime.date.today().toordinal()


def generator(name: str, of_class: str, seed: int) -> np.random.Generator:
    """The random numbers of one case."""
    return np.random.default_rng([zlib.crc32(f"{name}/{of_class}".encode()), seed])


@dataclass(frozen=True)
class Broken:
    """A case that did not hold."""

    fuzzer: str
    of_class: str
    case: int | str  # a seed, or a file of the corpus
    reason: str

    def __str__(self) -> str:
        how = f"--case {self.case}" if isinstance(self.case, int) else f"--file {self.case}"
        again = f"python tests/fuzz/run_fuzzers.py --only {self.fuzzer} --class {self.of_class!r} {how}"
        return f"{self.fuzzer}, {self.of_class}, {self.case}\n{self.reason.rstrip()}\nagain: {again}"


@dataclass
class Tally:
    """What came of the cases of one class."""

    fuzzer: str
    of_class: str
    outcomes: Counter[str] = field(default_factory=Counter)
    broken: list[Broken] = field(default_factory=list)

    @property
    def tried(self) -> int:
        return self.outcomes.total() + len(self.broken)

    @property
    def held(self) -> int:
        return self.outcomes.total()


def run_seeds(name: str, of_class: str, seeds: Sequence[int], keep: Path | None = None) -> Tally:
    """Run the cases of one class; the files of a case that did not hold are kept in `keep`."""
    with Child(name) as child:
        return run_cases(child, of_class, seeds, keep)


def run_corpus(child: Child) -> Tally:
    """Run the cases of a fuzzer that failed once."""
    return run_cases(child, "corpus", [str(path) for path in corpus_files(child.name)])


def run_cases(
    child: Child, of_class: str, cases: Sequence[int] | Sequence[str], keep: Path | None = None
) -> Tally:
    """Run cases of one class in a process that is started already, or will be for others, too."""
    tally = Tally(child.name, of_class)
    for case in cases:
        outcome, reason = child.run(of_class, case)
        if reason is None:
            tally.outcomes[outcome] += 1
        else:
            tally.broken.append(Broken(child.name, of_class, case, reason))
            child.keep_files(keep)
    return tally


class Child:
    """A child process that runs the cases of one fuzzer, and is replaced when one of them ends it."""

    def __init__(self, name: str):
        self.name, self.limit = name, fuzzer(name).LIMIT_SECONDS
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Child:
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        return self

    def __exit__(self, *_) -> None:
        self._stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, of_class: str, case: int | str) -> tuple[str, str | None]:
        """The outcome of a case, and the reason where it did not hold."""
        if self.process is None:
            started = self._start()
            if started is not None:
                return "not started", started
        assert self.process is not None and self.process.stdin is not None
        self.process.stdin.write(json.dumps([of_class, case]).encode() + b"\n")
        self.process.stdin.flush()
        return self._answer(self.limit)

    def keep_files(self, keep: Path | None) -> None:
        """Copy the files of the last case."""
        if keep is not None and any(self.folder.iterdir()):
            shutil.copytree(self.folder, keep / f"{self.name}-{time.time_ns()}", dirs_exist_ok=True)

    def _start(self) -> str | None:
        """Start the process; the reason where it cannot be."""
        reading, writing = os.pipe()
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", __file__, self.name, str(self.folder), str(writing)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self.errors, pass_fds=[writing],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
        os.close(writing)
        self.answers = os.fdopen(reading, "rb")
        return self._answer(START_SECONDS)[1]

    def _answer(self, seconds: float) -> tuple[str, str | None]:
        assert self.process is not None
        ready, _, _ = select.select([self.answers], [], [], seconds)
        line = self.answers.readline() if ready else b""
        if line:
            outcome, reason = json.loads(line)
            return outcome, reason
        if not ready:
            self.process.kill()
        code = self.process.wait()
        reason = f"the process ended with {code}" if ready else f"no answer within {seconds:g} s"
        self.errors.seek(0)
        reason += "\n" + self.errors.read()[-4000:].decode(errors="replace")
        self._stop()
        return "ended", reason

    def _stop(self) -> None:
        if self.process is None:
            return
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.answers.close()
        self.errors.close()
        self.process = None


def serve(name: str, folder: Path, answers: int) -> None:
    """The child's work: one answer for the start, and one for each case that is read from stdin."""
    with os.fdopen(answers, "wb", buffering=0) as stream:

        def answer(outcome: str, reason: str | None = None) -> None:
            stream.write(json.dumps([outcome, reason]).encode() + b"\n")

        try:
            limit_memory()
            module = fuzzer(name)
            prepared = module.prepare(folder)
        except BaseException:
            answer("not started", traceback.format_exc())
            return
        answer("ready")
        for line in sys.stdin:
            of_class, case = json.loads(line)
            try:
                answer(run_one(module, prepared, name, of_class, case, folder))
            except BaseException:
                answer("broken", traceback.format_exc())


def run_one(module, prepared, name: str, of_class: str, case: int | str, folder: Path) -> str:
    """Run one case in this process."""
    if isinstance(case, str):
        return module.run_file(Path(case))
    empty(folder)
    return module.run_case(prepared, of_class, generator(name, of_class, case), folder)


def empty(folder: Path) -> None:
    """Remove what the last case left."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def limit_memory() -> None:
    """Limit the address space, so that a case that needs too much raises MemoryError."""
    if os.name == "posix" and not on_gpu():
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def on_gpu() -> bool:
    """Whether the fuzzers run on the GPU: LINFOREST_FUZZ_DEVICE=cuda."""
    return os.environ.get("LINFOREST_FUZZ_DEVICE") == "cuda"


def on_device(thing):
    """A SciPy matrix or a NumPy array as the fuzzers use it: copied to the GPU where they run there."""
    if not on_gpu():
        return thing
    import cupy
    import cupyx.scipy.sparse

    return cupy.asarray(thing) if isinstance(thing, np.ndarray) else cupyx.scipy.sparse.csr_matrix(thing)


@contextlib.contextmanager
def own_stream():
    """On the GPU, a stream of its own for a thread; what was enqueued before is complete."""
    if not on_gpu():
        yield
        return
    import cupy

    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        yield
        stream.synchronize()


def on_host(array):
    """An array of NumPy or CuPy as one of NumPy."""
    return array.get() if hasattr(array, "get") else np.asarray(array)


def pieces(count: int, first: int, size: int) -> Iterator[range]:
    """Seeds from `first` on, in ranges of at most `size`."""
    for begin in range(first, first + count, size):
        yield range(begin, min(begin + size, first + count))


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
