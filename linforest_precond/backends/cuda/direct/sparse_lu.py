"""Sparse LU and Cholesky factors by cuDSS."""

from ..runtime import cupy
from ..runtime.calibration import free_bytes
from . import cudss

NORMAL, TRANSPOSED = 0, 1
ON_HOST = False

# The library's own symmetric order, which needs none from elsewhere.
OWN_ORDER = "nested_dissection"


def unusable(order, pivoting):
    if pivoting == "partial":
        return cudss.unusable() or "cuDSS has no partial pivoting in a nested dissection order"
    return cudss.unusable() or ("COLAMD's order is SuperLU's" if order == "colamd" else "")


def factor(csr, ordering, pivoting, definite, flops):
    """MemoryError where the factors will not fit into the device's memory. `flops` are not used here.

    With "diagonal" pivoting, cuDSS interchanges rows within supernodes at most, and perturbs tiny pivots.
    Where `definite`, Cholesky factors are tried first.
    """
    order = None if ordering is None else cupy.asnumpy(ordering.order)  # stall: cuDSS reads it on the host
    if definite:
        factors = CudssFactors(csr, Analysis(csr, order, definite_type(csr)))
        if factors.made:
            return factors
    return CudssFactors(csr, Analysis(csr, order, cudss.GENERAL))


def definite_type(csr):
    return cudss.HPD if csr.data.dtype.kind == "c" else cudss.SPD


def memory(csr, count):
    """Bytes of the factors, and at the peak of their computation, as cuDSS expects; nothing is counted."""
    return Analysis(csr, None, definite_type(csr) if csr.definite else cudss.GENERAL).memory


class Analysis:
    """The symbolic factorization of a pattern, and the numeric one of the matrix that was factored last.

    Factors of several matrices share it after updates. cuDSS holds those of one matrix: those of another are
    made again when they are needed.
    """

    def __init__(self, csr, order, matrix_type):
        self.order, self.definite = order, matrix_type != cudss.GENERAL
        self.last = self._event = None
        self.memory = 0, 0  # bytes held, and at the peak
        if not csr.n:
            return
        self._system = cudss.System(csr, matrix_type)
        self.lock = self._system.session.lock
        with self.lock:
            if order is not None:
                self._system.set_order(order)
            self._system.run(cudss.ANALYSIS)
            cupy.cuda.get_current_stream().synchronize()  # stall: the estimates of memory
            self.memory = self._system.memory()

    def factor(self, factors):
        """Make the factors of a matrix the present ones; whether they exist. The lock is held."""
        self._wait()
        phase = cudss.REFACTORIZATION
        if self.last is None:
            phase, needed, free = cudss.FACTORIZATION, self.memory[1], free_bytes()
            if needed > free:
                raise MemoryError(
                    f"the factors of A need {needed:,} bytes on the GPU, and {free:,} are free; use an "
                    "iterative solver, or dtype=numpy.float32"
                )
        self.last = factors.key
        try:
            self._system.run(phase, factors.csr.data)
        except cudss.CudssError:
            return False
        self._record()
        cupy.cuda.get_current_stream().synchronize()  # stall: whether it failed
        return not self.definite or self._system.number(cudss.INFO) == 0

    def solve(self, b, x, transpose):
        """The lock is held."""
        self._wait()
        self._system.solve(b, x, TRANSPOSED if transpose else NORMAL)
        self._record()

    def told(self):
        """Entries of the factors, pivots perturbed, and operations."""
        return [self._system.number(each) for each in (cudss.LU_NNZ, cudss.NPIVOTS, cudss.FLOPS)]

    def _wait(self):
        """The work space of the factors is one: a stream waits for the one that used it last."""
        if self._event is not None:
            cupy.cuda.get_current_stream().wait_event(self._event)

    def _record(self):
        self._event = cupy.cuda.Event(disable_timing=True)
        self._event.record()


class CudssFactors:
    """The factors of a matrix; where they do not exist, `made` is False, and solutions are NaN.

    `entries` are stored, `perturbed` pivots were changed, and the factorization took `flops`.
    """

    interchanges = None  # cuDSS does not tell them

    def __init__(self, csr, analysis):
        self.csr, self._analysis, self.key = csr, analysis, object()
        self.definite, self.made = analysis.definite and csr.n > 0, True
        self.entries = self.perturbed = 0
        self.flops, self.nbytes = 0.0, analysis.memory[0]
        kind = "Cholesky factors" if self.definite else "LU factors"
        self.library = f"cuDSS {cudss.version()}, {kind}"
        if csr.n:
            with analysis.lock:
                self.made = analysis.factor(self)
                self.entries, self.perturbed, flops = analysis.told()
                self.flops = float(flops)

    def refactored(self, csr):
        """The factors of a matrix with the same pattern: by the same analysis, if the type stays."""
        if not self.definite or csr.definite:
            factors = CudssFactors(csr, self._analysis)
            if factors.made or not self.definite:
                return factors
        return CudssFactors(csr, Analysis(csr, self._analysis.order, cudss.GENERAL))

    def solve_into(self, b, x, transpose):
        """Solve for all columns; arrays of any strides and precision."""
        if not x.size:
            return
        if not self.made:
            x.fill(cupy.nan)
            return
        # The transpose of a Hermitian matrix is its conjugate.
        conjugate = transpose and self.definite and self.csr.data.dtype.kind == "c"
        right = b.astype(self.csr.data.dtype, copy=False)
        right = cupy.asfortranarray(right.conj() if conjugate else right)
        in_place = x.dtype == right.dtype and x.flags.f_contiguous and not conjugate
        found = x if in_place else cupy.empty(x.shape, right.dtype, order="F")
        with self._analysis.lock:
            if self._analysis.last is not self.key:
                self._analysis.factor(self)
            for c in range(x.shape[1]):  # cuDSS has no deterministic solve for several
                self._analysis.solve(
                    right[:, c : c + 1], found[:, c : c + 1], transpose and not self.definite
                )
        if not in_place:
            x[...] = found.conj() if conjugate else found
