#define BLOCK 1
#include "runtime/arithmetic.cuh"
#include "ilu/tickets.cuh"

// ILU(0) by rows in the IKJ order. Every entry gets its updates in ascending order of the pivots, as on the CPU.
struct Elimination {
    const INDEX *indptr, *indices;
    const INDEX* diagonals;  // slots of the diagonal entries
    VALUE* data;             // the matrix, then L and the undivided U
    VALUE* inverse;          // of the pivots
    const double* weights;   // of rows and columns, for the fill-in that is dropped
    double* dropped;
    u32* ready;  // rows that are eliminated
    u32* ticket;
    u64* report;
    i64 n, hermitian;
    double shift;
};

// The counters of the report, as in FactorFinding.
#define PERTURBED 0
#define NEGATIVE 1
#define NOT_FINITE 2
// A pivot of at most this many machine epsilons times the norm of its row is tiny.
#define VANISHING 64

// Loads that bypass L1, of what other multiprocessors have written.
DEVICE float fresh(const float* at) { return __ldcg(at); }
DEVICE double fresh(const double* at) { return __ldcg(at); }
template <typename Complex>
DEVICE Complex fresh(const Complex* at) {
    return {__ldcg(&at->re), __ldcg(&at->im)};
}

// The slot of each diagonal entry, and the numbers of entries before and after it, one place later for prefix sums.
KERNEL find_diagonals(In<INDEX> indptr, In<INDEX> indices, i64 n, INDEX* __restrict__ diagonals,
                      INDEX* __restrict__ lower, INDEX* __restrict__ upper) {
    GRID_STRIDE (i64, row, n) {
        const i64 begin = indptr[row], end = indptr[row + 1];
        const i64 slot = lower_bound(indices, begin, end, (INDEX)row);
        diagonals[row] = (INDEX)slot;
        lower[row + 1] = (INDEX)(slot - begin);
        upper[row + 1] = (INDEX)(end - slot - 1);
    }
}

// The largest entry of a row; the diagonal entry of a Hermitian matrix.
DEVICE WEIGHT norm_of_row(const Elimination& e, i64 begin, i64 end, i64 diagonal, int lane) {
    WEIGHT norm = size_of(e.data[diagonal]);
    if (e.hermitian) return norm;
    for (i64 slot = begin + lane; slot < end; slot += 32) norm = fmax(norm, size_of(e.data[slot]));
    return warp_max(norm);
}

// Eliminates one lower entry of a row, by the whole warp: a lane for each entry of the pivot row after its diagonal.
// Returns the lane's share of the fill-in that is dropped.
DEVICE double eliminate_entry(const Elimination& e, i64 slot, i64 end, int lane) {
    const i64 pivot_row = e.indices[slot];
    while (!*(const volatile u32*)(e.ready + pivot_row)) __nanosleep(PAUSE);
    __threadfence();
    const VALUE factor = e.data[slot] * fresh(e.inverse + pivot_row);
    __syncwarp();  // all lanes have read the entry
    if (lane == 0) e.data[slot] = factor;
    const i64 last = e.indptr[pivot_row + 1];
    double dropped = 0;
    for (i64 other = (i64)e.diagonals[pivot_row] + 1 + lane; other < last; other += 32) {
        const INDEX column = e.indices[other];
        const VALUE product = factor * fresh(e.data + other);
        const i64 place = find_column(e.indices, slot + 1, end, column);
        if (place >= 0) {
            e.data[place] = e.data[place] - product;
        } else {
            const double lost = (double)size_of(product);
            dropped += lost * lost * e.weights[column];
        }
    }
    __syncwarp();
    return dropped;
}

// The pivot of a row with this norm. A tiny one is perturbed to +-sqrt(eps) times the norm (1 in an empty row).
DEVICE VALUE usable_pivot(const Elimination& e, VALUE pivot, WEIGHT norm) {
    const WEIGHT vanishing = VANISHING * EPSILON;
    if (e.hermitian) {
        pivot = from_real(real_part(pivot));
        if (real_part(pivot) < -vanishing * norm) atomicAdd(e.report + NEGATIVE, 1ull);
    }
    const WEIGHT own = size_of(pivot);
    if (!is_finite(own)) {
        atomicAdd(e.report + NOT_FINITE, 1ull);
        return from_real(1);
    }
    if (own > vanishing * norm && own >= LEAST_PIVOT) return pivot;
    atomicAdd(e.report + PERTURBED, 1ull);
    return lifted(e.hermitian ? from_real(1) : pivot, norm);
}

// A warp per row. Rows are sorted by level, so that most rows find the rows before them ready.
KERNEL eliminate(Elimination e) {
    const int lane = threadIdx.x % 32;
    for (;;) {
        const i64 row = next_ticket(e.ticket);
        if (row >= e.n) return;
        const i64 begin = e.indptr[row], end = e.indptr[row + 1], diagonal = e.diagonals[row];
        const WEIGHT norm = norm_of_row(e, begin, end, diagonal, lane);
        __syncwarp();  // all lanes have read the diagonal entry
        if (lane == 0 && e.shift != 0) {
            const WEIGHT shift = (WEIGHT)e.shift * norm;
            e.data[diagonal] = e.data[diagonal] + from_real(real_part(e.data[diagonal]) < 0 ? -shift : shift);
        }
        __syncwarp();
        double dropped = 0;
        for (i64 slot = begin; slot < diagonal; ++slot) dropped += eliminate_entry(e, slot, end, lane);
        for (int half = 16; half > 0; half /= 2) dropped += __shfl_xor_sync(FULL_WARP, dropped, half);
        if (lane == 0) {
            e.dropped[row] = dropped * e.weights[row];
            e.inverse[row] = inverse(usable_pivot(e, e.data[diagonal], norm));
        }
        __threadfence();
        __syncwarp();
        if (lane == 0) *(volatile u32*)(e.ready + row) = 1;
    }
}

struct TriangleArrays {
    const INDEX* indptr;
    INDEX* indices;
    VALUE* data;
};

// Lanes per row.
#define TEAM 8

// Copies the strictly lower triangle, and the strictly upper one divided by the pivots.
KERNEL copy_triangles(Elimination e, TriangleArrays lower, TriangleArrays upper) {
    GROUP_STRIDE (i64, row, e.n, TEAM) {
        const i64 begin = e.indptr[row], end = e.indptr[row + 1], diagonal = e.diagonals[row];
        const i64 to_lower = (i64)lower.indptr[row] - begin, to_upper = (i64)upper.indptr[row] - (diagonal + 1);
        for (i64 slot = begin + threadIdx.x % TEAM; slot < end; slot += TEAM) {
            if (slot < diagonal) {
                lower.indices[to_lower + slot] = e.indices[slot];
                lower.data[to_lower + slot] = e.data[slot];
            } else if (slot > diagonal) {
                upper.indices[to_upper + slot] = e.indices[slot];
                upper.data[to_upper + slot] = e.inverse[row] * e.data[slot];
            }
        }
    }
}
