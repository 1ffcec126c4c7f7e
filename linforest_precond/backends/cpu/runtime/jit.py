"""The Numba decorators of the CPU backend: `helper` and `kernel`.

Every compiled function of the backend is made by one of the two. They differ from `numba.njit(cache=True)`:

- A cached function is stamped with a hash of its source file and of all files that this one imports, directly
  or through others, from the folder `backends`. Numba's own stamp covers one file, so it would keep loading a
  kernel whose helper changed in another file. An edit compiles again only what imports the edited file.
- The cache lies in the first of these folders that can be written: `NUMBA_CACHE_DIR`; the `__pycache__`
  beside the sources; `linforest_precond/numba` in `XDG_CACHE_HOME` or `~/.cache`. Where none can, functions
  are compiled anew in every process (`backends.compilation` warns).
- A cache file that is damaged, in whatever way, costs a compilation only: nothing is unpickled and no machine
  code is loaded before a checksum has been verified.
- A child forked after its parent ran a parallel function under GNU OpenMP gets a `RuntimeError`. Numba would
  terminate the process.
- Parallel functions run one at a time. Numba's workqueue layer terminates the process when two Python threads
  are inside parallel functions at once, and holding the GIL does not prevent it: parallel loops release it.
- A parallel function is called through its `ParallelKernel` alone. For small inputs, and as long as threads
  would gain less than their compilation takes, that calls the same function compiled without threads, which
  gives the same bits, compiles in half the time and needs no guards; `serial_version` gives it for other
  inputs that one thread is faster on.
- Entry points that only Python calls, and helpers that it never calls, are compiled without the wrappers of
  the other kind.

Fast math is off, because sums have a specified order.

Compiled code may depend on the files of `backends` only, and imports them by plain statements: the stamp does
not cover other sources, nor modules that are imported by name at run time.
"""

import contextlib
import functools
import hashlib
import inspect
import os
import pickle
import re
import sys
import tempfile
import threading
from pathlib import Path

import numba
from numba.core import caching, types
from numba.core.registry import CPUDispatcher
from numpy import ndarray

# The folder of the backend.
SOURCES = Path(__file__).resolve().parents[1]
# The sources below this folder are hashed into the stamps of the cache; absolute imports begin at the second.
_STAMPED = str(Path(__file__).parents[2])
_IMPORTS = str(Path(__file__).parents[__name__.count(".")])

# Arrays with at most this number of elements together are small: threads cost more than they gain. Measured
# with two threads in setups of tridiagonal and multilevel preconditioners: starting the threads takes 10
# microseconds; kernels on 2**15 to 2**16 elements are as fast with one thread, on twice as many 1.3 times as
# slow.
FEW_ELEMENTS = 2**16
# Elements that a kernel processes on one thread, in about a fifth of a second, before it is compiled for
# several, which takes a second: the first solve of a process that finds no cache compiles half as long.
ONE_THREAD = 2**27

# Division by zero gives inf or nan as in NumPy, without a branch, which would prevent vectorization.
_OPTIONS = {"error_model": "numpy", "fastmath": False, "nogil": False}


def helper(function):
    """Compile a function that is called by kernels, never from Python."""
    return _compile(function, kind=_Helper, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def kernel(function=None, *, parallel=False, nogil=False):
    """Compile an entry point, called from Python; with `parallel=True` its `prange` loops use all threads.

    With `nogil=True` several Python threads can run it at once.
    """
    if function is None:
        return functools.partial(kernel, parallel=parallel, nogil=nogil)
    compiled = _compile(function, parallel=parallel, nogil=nogil, no_cfunc_wrapper=True)
    return ParallelKernel(compiled) if parallel and compiled is not function else compiled


def serial_version(function):
    """A parallel kernel compiled without threads, on first use; its loops give the same bits."""
    return getattr(function, "serial", function)


def _compile(function, variant="", kind=None, **options):
    if numba.config.DISABLE_JIT:  # NUMBA_DISABLE_JIT=1 is for debugging the Python code
        return function
    compiled = _cached(numba.njit(function, **{**_OPTIONS, **options}), variant)
    compiled.__class__ = kind or _Dispatcher
    return compiled


class _Dispatcher(CPUDispatcher):
    """A compiled function. Numba would compile it again for each constant that compiled code passes to it."""

    def get_call_template(self, args, kws):
        kws = {name: types.unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)


class _Helper(_Dispatcher):
    """A function that compiled code calls. Without a wrapper for Python, a call from there would crash."""

    def __call__(self, *arguments):
        raise TypeError(f"{self.py_func.__name__} is a helper: call it from a kernel, or its py_func")


class ParallelKernel:
    """A compiled parallel function: one runs at a time, and none in a child whose threads a fork has lost."""

    def __init__(self, dispatcher):
        functools.update_wrapper(self, dispatcher.py_func)
        self._dispatcher = dispatcher
        self.py_func = dispatcher.py_func
        self._elements = 0

    @property
    def signatures(self):
        return self._dispatcher.signatures

    @property
    def stats(self):
        return self._dispatcher.stats

    @functools.cached_property
    def serial(self):
        """The same function compiled without threads: it needs no guards."""
        return _compile(self.py_func, variant="serial", no_cfunc_wrapper=True)

    def __call__(self, *arguments):
        elements = 0
        for argument in arguments:
            if isinstance(argument, ndarray):
                elements += argument.size
        if elements <= FEW_ELEMENTS or not self._threads_pay(elements):
            return self.serial(*arguments)
        if _threads_lost:
            raise RuntimeError(_FORK_ADVICE)
        with _one_at_a_time:
            return self._dispatcher(*arguments)

    def _threads_pay(self, elements):
        """Whether the function is compiled for threads, here or in the cache, or has worked long without."""
        if self._elements < ONE_THREAD and FEW_ELEMENTS > 0:
            is_known = self._elements == 0 and (self.signatures or _is_stored(self._dispatcher))
            self._elements += ONE_THREAD if is_known else elements
        return self._elements >= ONE_THREAD or FEW_ELEMENTS == 0


def _is_stored(dispatcher):
    """Whether the cache has code of a function."""
    files = getattr(dispatcher._cache, "_cache_file", None)
    return files is not None and bool(files._load_index())


@contextlib.contextmanager
def threads_for_small_arrays():
    """Inside, small arrays are processed by threads, too, whose code is compiled where it is missing."""
    global FEW_ELEMENTS
    few, FEW_ELEMENTS = FEW_ELEMENTS, 0
    try:
        yield
    finally:
        FEW_ELEMENTS = few


_FORK_ADVICE = (
    "this process was forked after its parent ran parallel Numba code on GNU OpenMP, whose threads do not "
    "survive a fork; start workers with multiprocessing.get_context('spawn') or 'forkserver', or install the "
    "package tbb, whose threads do"
)
_threads_lost = False
_one_at_a_time = threading.RLock()


def _note_fork():
    """In a forked child: record whether the parent ran GNU OpenMP."""
    global _threads_lost, _one_at_a_time
    _threads_lost = _threads_lost or _uses_gnu_openmp()
    _one_at_a_time = threading.RLock()  # another thread of the parent may hold the old one


def _uses_gnu_openmp():
    try:
        if numba.threading_layer() != "omp":
            return False
    except ValueError:  # Numba raises it before any parallel code ran
        return False
    from numba.np.ufunc import omppool

    return getattr(omppool, "openmp_vendor", "GNU") == "GNU"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def cache_folder(source_folder=None):
    """The cache folder of the compiled functions of `source_folder` (by default this one), or None."""
    source_folder = str(source_folder or Path(__file__).parent)
    return _writable_cache_folder(source_folder, numba.config.CACHE_DIR)


@functools.cache
def _writable_cache_folder(source_folder, configured):
    return next(filter(_writable, _cache_candidates(source_folder, configured)), None)


def _cache_candidates(source_folder, configured):
    # Installations that share a cache are separated by the hash of their path.
    apart = hashlib.sha256(os.path.abspath(source_folder).encode()).hexdigest()[:16]
    if configured:
        yield os.path.join(configured, f"linforest_precond_{apart}")
    yield os.path.join(source_folder, "__pycache__")
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser(os.path.join("~", ".cache"))
    if os.path.isabs(user):
        yield os.path.join(user, "linforest_precond", "numba", apart)


def _writable(folder):
    try:
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@functools.cache
def _source_stamp(source):
    """The hash of a source file and of all that it imports from the backends, directly or through others."""
    described = [f"{path.removeprefix(_STAMPED)} {_read_source(path)[0]}" for path in _closure(source)]
    return hashlib.sha256("\n".join(sorted(described)).encode()).hexdigest()


def _closure(source):
    """The paths of a source file and of the files that it imports, directly or through others."""
    closure, waiting = set(), {source}
    while waiting:
        closure |= waiting
        waiting = {imported for path in waiting for imported in _read_source(path)[1]} - closure
    return closure


@functools.cache
def _read_source(path):
    """The hash of one source file, and the paths of the files that it imports from the backends."""
    source = Path(path).read_bytes()
    return hashlib.sha256(source).hexdigest(), frozenset(_imported_files(path, source.decode()))


# "from ..matrix.entries import scan" and "import numpy, scipy", also inside of functions.
_IMPORT = re.compile(r"\n[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+(.*))")
_COMMENT_OR_ALIAS = re.compile(r"#.*|\bas\s+\w+")
_NAME = re.compile(r"[\w.]+")


def _imported_files(path, source):
    for dots, module, names, modules in _IMPORT.findall("\n" + source):
        place = path.rsplit(os.sep, len(dots))[0] if dots else _IMPORTS
        if module:
            place += os.sep + module.replace(".", os.sep)
        for name in _NAME.findall(_COMMENT_OR_ALIAS.sub("", names or modules)):
            if found := _file_of(place + os.sep + name.replace(".", os.sep)):
                yield found


_is_file = functools.cache(os.path.isfile)


def _file_of(place):
    """The file of an imported name: that of its module, or its own where it is a module or a package."""
    if not place.startswith(_STAMPED):
        return None
    module, package = os.path.dirname(place), f"{os.sep}__init__"
    stems = module, place, place + package, module + package
    return next((stem + ".py" for stem in stems if _is_file(stem + ".py")), None)


def _cached(dispatcher, variant):
    source = inspect.getfile(dispatcher.py_func)
    folder = os.path.dirname(source)
    if os.path.isfile(source) and cache_folder(folder):
        dispatcher._cache = _StampedCache(dispatcher.py_func, variant)
    return dispatcher


class _StampedCache(caching.FunctionCache):
    """Numba's cache of one function and `variant`: stamped by several sources, safe under races."""

    def __init__(self, function, variant):
        source_folder = os.path.dirname(inspect.getfile(function))
        self._name = repr(function)
        self._py_func = function
        self._cache_path = cache_folder(source_folder)
        self._impl = _StampedCacheImpl(function, variant, self._cache_path)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _CacheFiles(self._cache_path, self._impl.filename_base, stamp)
        self.enable()

    def _load_overload(self, sig, target_context):
        try:
            return super()._load_overload(sig, target_context)
        except Exception:  # what linking raises
            return None

    @contextlib.contextmanager
    def _guard_against_spurious_io_errors(self):
        # A full disk or an unreadable file costs a compilation only.
        with contextlib.suppress(OSError):
            yield


class _StampedCacheImpl(caching.CompileResultCacheImpl):
    """Serialization and file names of one function."""

    def __init__(self, function, variant, cache_path):
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(inspect.getfile(function), self._lineno, cache_path)
        names = Path(self._locator._py_file).stem, function.__qualname__, variant
        self._filename_base = self.get_filename_base(
            ".".join(filter(None, names)), getattr(sys, "abiflags", "")
        )


class _Locator(caching._CacheLocator):
    """The place of one function in the cache, which `cache_folder` chose."""

    def __init__(self, source, line, cache_path):
        self._py_file = source
        self._line = line
        self._cache_path = cache_path

    def get_cache_path(self):
        return self._cache_path

    def get_source_stamp(self):
        return _source_stamp(self._py_file)

    def get_disambiguator(self):
        return str(self._line)


CHECKSUM_BYTES = hashlib.sha256().digest_size  # at the beginning of a cache file


class _CacheFiles(caching.IndexDataCacheFile):
    """An index and one data file per signature, safe when several processes compile at once.

    Numba numbers the data files, so two processes can give one number to two signatures, and a later process
    loads the wrong code. Here a file is named by the hash of its signature and is complete before the index
    refers to it.

    Each file is a checksum and a pickle. The checksum covers the file's name and the version of Numba and of
    the sources too, so that a file that is old, renamed or damaged counts as missing; saving replaces it.
    """

    def save(self, key, data):
        name = self._data_name_pattern.format(number=_number_of(key))
        self._write(name, data)
        self._write(self._index_name, {**self._load_index(), key: name})

    def load(self, key):
        name = self._load_index().get(key)
        return None if name is None else self._read(name)

    def flush(self):
        self._write(self._index_name, {})

    def _load_index(self):
        return self._read(self._index_name) or {}

    def _write(self, name, content):
        pickled = self._dump(content)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(self._checksum(name, pickled) + pickled)

    def _read(self, name):
        """The content of a file; None if it is missing or not what was written."""
        try:
            found = Path(self._data_path(name)).read_bytes()
            checksum, pickled = found[:CHECKSUM_BYTES], found[CHECKSUM_BYTES:]
            return pickle.loads(pickled) if checksum == self._checksum(name, pickled) else None
        except Exception:  # also what unpickling raises, where it needs a module that was removed
            return None

    def _checksum(self, name, pickled):
        described = f"{name}\n{self._version}\n{self._source_stamp}\n".encode()
        return hashlib.sha256(described + pickled).digest()


def _number_of(key):
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "little")
