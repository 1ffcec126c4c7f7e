"""cuDSS, NVIDIA's sparse direct solver, bound by ctypes.

Version 1 is bound, `libcudss.so.1`: its enumerations differ from those of 0.x, and a soname keeps them.
nvmath-python, which has bindings, depends on 0.8 and on a second set of CUDA libraries. Names and numbers are
those of `cudss.h` and `cudss_data_types.h`.
"""

import ctypes
import functools
import importlib.util
import sys
import threading
import weakref
from pathlib import Path

import numpy as np

from ..runtime import cupy

SUCCESS, ALLOC_FAILED = 0, 2
STATUSES = (
    "SUCCESS", "NOT_INITIALIZED", "ALLOC_FAILED", "INVALID_VALUE", "NOT_SUPPORTED", "EXECUTION_FAILED",
    "INTERNAL_ERROR", "IR_FAILED",
)  # fmt: skip
# cudssConfigParam_t
SOLVE_MODE, DETERMINISTIC_MODE = 4, 24
# cudssDataParam_t
INFO, LU_NNZ, NPIVOTS, USER_PERM, MEMORY_ESTIMATES, FLOPS = 0, 1, 2, 9, 13, 26
# cudssPhase_t
ANALYSIS, FACTORIZATION, REFACTORIZATION, SOLVE = 3, 4, 8, 0x3F0
# cudssMatrixType_t
GENERAL, SPD, HPD = 0, 3, 4
FULL_VIEW = BASE_ZERO = COLUMN_MAJOR = 0
# cudaDataType_t
DATA_TYPES = {"float32": 0, "float64": 1, "complex64": 4, "complex128": 5, "int32": 10, "int64": 24}

_int, _int64, _size, _pointer = ctypes.c_int, ctypes.c_int64, ctypes.c_size_t, ctypes.c_void_p
_Allocate = ctypes.CFUNCTYPE(_int, _pointer, ctypes.POINTER(_pointer), _size, _pointer)
_Free = ctypes.CFUNCTYPE(_int, _pointer, _pointer, _size, _pointer)
SIGNATURES = {
    "Create": [_pointer],
    "SetStream": [_pointer, _pointer],
    "SetDeviceMemHandler": [_pointer, _pointer],
    "GetProperty": [_int, _pointer],
    "ConfigCreate": [_pointer],
    "ConfigDestroy": [_pointer],
    "ConfigSet": [_pointer, _int, _pointer, _size],
    "DataCreate": [_pointer, _pointer],
    "DataDestroy": [_pointer, _pointer],
    "DataSet": [_pointer, _pointer, _int, _pointer, _size],
    "DataGet": [_pointer, _pointer, _int, _pointer, _size, _pointer],
    "Execute": [_pointer, _int, *[_pointer] * 5],
    "MatrixCreateDn": [_pointer, *[_int64] * 3, _pointer, _int, _int],
    "MatrixCreateCsr": [_pointer, *[_int64] * 3, *[_pointer] * 4, *[_int] * 6],
    "MatrixSetValues": [_pointer, _pointer],
    "MatrixDestroy": [_pointer],
}


class CudssError(RuntimeError):
    """A call of cuDSS failed."""


class _MemoryHandler(ctypes.Structure):
    """cudssDeviceMemHandler_t"""

    _fields_ = [  # noqa: RUF012
        ("ctx", _pointer),
        ("device_alloc", _Allocate),
        ("device_free", _Free),
        ("name", ctypes.c_char * 64),
    ]


@functools.cache
def library():
    """The library, with the signatures of its functions; OSError where it is not installed."""
    cupy.cuda.device.get_cublas_handle()  # loads CuPy's cuBLAS, which libcudss needs as well
    names = ("cudss64_1.dll",) if sys.platform == "win32" else ("libcudss.so.1",)
    errors = []
    for path in (*_in_wheels(*names), *names):
        try:
            found = ctypes.CDLL(str(path))
        except OSError as error:
            errors.append(error)
            continue
        for name, arguments in SIGNATURES.items():
            getattr(found, f"cudss{name}").argtypes = arguments
        return found
    raise errors[0]


def _in_wheels(*names):
    """Paths in the wheels nvidia-cudss-cu13 and -cu12: the one for the CUDA that CuPy runs with."""
    spec = importlib.util.find_spec("nvidia")
    major = cupy.cuda.runtime.runtimeGetVersion() // 1000
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for inside in (f"cu{major}/lib", f"cu{major}/bin", "cudss/lib", "cudss/bin"):
            yield from (path for name in names if (path := Path(folder, inside, name)).is_file())


@functools.cache
def unusable():
    """Why cuDSS cannot be used, in words; empty where it can."""
    try:
        library()
    except OSError as error:
        reason = str(error).splitlines()[0]
        return f"cuDSS is not installed, pip install linforest-precond[cudss] ({reason})"
    return ""


@functools.cache
def version():
    numbers = []
    for kind in range(3):  # major, minor and patch of libraryPropertyType
        value = _int()
        call("GetProperty", kind, ctypes.byref(value))
        numbers.append(str(value.value))
    return ".".join(numbers)


def call(name, *arguments):
    """Call a function by its name without the prefix, and raise an exception where it fails."""
    status = getattr(library(), f"cudss{name}")(*arguments)
    if status == ALLOC_FAILED:
        raise MemoryError(f"cuDSS could not allocate memory in cudss{name}")
    if status != SUCCESS:
        word = STATUSES[status] if status < len(STATUSES) else status
        raise CudssError(f"cudss{name} returned {word}")


def created(name, *arguments):
    """The object that a function creates: it writes its address to its last or first argument."""
    found = _pointer()
    places = (*arguments, ctypes.byref(found)) if name == "DataCreate" else (ctypes.byref(found), *arguments)
    call(name, *places)
    return found


class Session:
    """A handle of cuDSS on one device, with memory from CuPy's pool; used by one thread at a time."""

    def __init__(self):
        self.lock = threading.Lock()
        self.handle = created("Create")
        self._retired = []  # data objects whose owners are gone
        self._held = {}  # memory of CuPy by address
        self._callbacks = _Allocate(self._allocate), _Free(self._free)
        self._handler = _MemoryHandler(None, *self._callbacks, b"CuPy")
        call("SetDeviceMemHandler", self.handle, ctypes.byref(self._handler))

    def _allocate(self, context, address, size, stream):
        """In the order of the current stream, which is the handle's."""
        try:
            memory = cupy.cuda.alloc(size)
        except Exception:  # cuDSS reports the status
            return 1
        self._held[memory.ptr] = memory
        address[0] = memory.ptr
        return 0

    def _free(self, context, address, size, stream):
        self._held.pop(address, None)
        return 0

    def retire(self, data):
        """Destroy a data object, now or with the next one: this may run within a call of cuDSS."""
        self._retired.append(data)
        if self.lock.acquire(blocking=False):
            try:
                self._destroy_retired()
            finally:
                self.lock.release()

    def _destroy_retired(self):
        while self._retired:
            library().cudssDataDestroy(self.handle, self._retired.pop())

    def execute(self, phase, config, data, matrix, x, b):
        """Enqueue a phase on the current stream; the lock is held."""
        self._destroy_retired()
        call("SetStream", self.handle, cupy.cuda.get_current_stream().ptr)
        call("Execute", self.handle, phase, config, data, matrix, x, b)


@functools.cache
def _session_of(device):
    with cupy.cuda.Device(device):
        return Session()


def session():
    """That of the current device."""
    return _session_of(cupy.cuda.runtime.getDevice())


class System:
    """The analysis of a pattern and the factors of one matrix with it: `cudssData_t` and `cudssConfig_t`.

    The matrix's pattern and type stay; `factor` and `refactor` set its values. The caller holds the lock of
    `session`.
    """

    def __init__(self, csr, matrix_type):
        self.session, self.dtype = session(), csr.data.dtype
        self._csr = csr  # its index arrays are read by every factorization
        types = [DATA_TYPES[array.dtype.name] for array in (csr.indptr, csr.indices, csr.data)]
        arrays = csr.indptr.data.ptr, None, csr.indices.data.ptr, csr.data.data.ptr
        self._matrix = created(
            "MatrixCreateCsr", csr.n, csr.n, csr.nnz, *arrays, *types, matrix_type, FULL_VIEW, BASE_ZERO
        )
        self._config = created("ConfigCreate")
        self._data = created("DataCreate", self.session.handle)
        for destroy in (
            weakref.finalize(self, library().cudssMatrixDestroy, self._matrix),
            weakref.finalize(self, library().cudssConfigDestroy, self._config),
            weakref.finalize(self, self.session.retire, self._data),
        ):
            destroy.atexit = False
        self.configure(DETERMINISTIC_MODE, 1)

    def configure(self, parameter, number):
        value = _int(number)
        call("ConfigSet", self._config, parameter, ctypes.byref(value), ctypes.sizeof(value))

    def set_order(self, order):
        """Analyze in an order of the rows, a host array."""
        order = np.ascontiguousarray(order, self._csr.indices.dtype)
        address = order.ctypes.data_as(_pointer)
        call("DataSet", self.session.handle, self._data, USER_PERM, address, order.nbytes)

    def run(self, phase, values=None):
        """A phase that needs no vectors, with other values of the matrix where they are given."""
        if values is not None:
            call("MatrixSetValues", self._matrix, values.data.ptr)
        self.session.execute(phase, self._config, self._data, self._matrix, None, None)

    def solve(self, b, x, mode):
        """Solve for columns in column-major order, of the matrix's type."""
        self.configure(SOLVE_MODE, mode)
        kind = DATA_TYPES[self.dtype.name]
        vectors = [
            created("MatrixCreateDn", *each.shape, each.shape[0], each.data.ptr, kind, COLUMN_MAJOR)
            for each in (x, b)
        ]
        try:
            self.session.execute(SOLVE, self._config, self._data, self._matrix, *vectors)
        finally:
            for vector in vectors:
                library().cudssMatrixDestroy(vector)

    def number(self, parameter):
        """What cuDSS tells of the factors: an integer of 32 or 64 bits; 0 where it does not."""
        for size in (8, 4):
            buffer, written = ctypes.create_string_buffer(8), _size()
            arguments = self.session.handle, self._data, parameter, buffer, size, ctypes.byref(written)
            if library().cudssDataGet(*arguments) == SUCCESS:
                return int.from_bytes(buffer.raw[: written.value or size], sys.byteorder)
        return 0

    def memory(self):
        """Bytes of the device that the factors hold, and at the peak."""
        estimates, written = (_int64 * 16)(), _size()
        arguments = MEMORY_ESTIMATES, estimates, ctypes.sizeof(estimates), ctypes.byref(written)
        call("DataGet", self.session.handle, self._data, *arguments)
        return estimates[0], estimates[1]
