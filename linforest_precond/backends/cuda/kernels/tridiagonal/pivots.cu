#include "tridiagonal/pivots.cuh"

// The pivots of large systems, each step of a level in a launch of its own, and those of systems with few rows.

KERNEL __launch_bounds__(128) reduce_groups(const Block* lower, const Block* diagonal, const Block* upper, i64 count,
                                            int perturb, Reduced reduced) {
    const i64 group = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (group * GROUP < count) reduce_group({lower, diagonal, upper, count}, group, perturb, reduced);
}

KERNEL join_groups(const Block* upper, i64 count, Reduced reduced) {
    const i64 group = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (group < groups_of(count)) join_group(upper, count, group, reduced);
}

// The pivots of one level, one thread per group.
template <bool FINEST>
DEVICE void pivots_of_level(const Rows& rows, const Reduced& ends, int perturb, Block* __restrict__ inverses,
                            i64* report) {
    const i64 group = (i64)blockIdx.x * blockDim.x + threadIdx.x, first = group * GROUP;
    u32 indefinite = 0, perturbed = 0;
    Findings found = {};
    if (first < rows.count)
        pivots_of_group<FINEST>(rows, &ends, group, first, min(first + GROUP, rows.count) - 1, perturb, inverses,
                                indefinite, perturbed, found);
    add_findings<FINEST>(report, indefinite, perturbed, found);
}

KERNEL __launch_bounds__(128) pivots_of_groups(const Block* lower, const Block* diagonal, const Block* upper, i64 count,
                                               int perturb, Reduced ends, Block* inverses, i64* report) {
    pivots_of_level<false>({lower, diagonal, upper, count}, ends, perturb, inverses, report);
}

KERNEL __launch_bounds__(128) pivots_of_rows(const Block* lower, const Block* diagonal, const Block* upper, i64 count,
                                             int perturb, Reduced ends, Block* inverses, i64* report) {
    pivots_of_level<true>({lower, diagonal, upper, count}, ends, perturb, inverses, report);
}

struct BlockBarrier {
    DEVICE void operator()() { __syncthreads(); }
};

// All levels of a system with few rows, by one thread block.
KERNEL __launch_bounds__(FEW_THREADS)
    pivots_of_few(const Block* lower, const Block* diagonal, const Block* upper, i64 count, int perturb, int finest,
                  char* memory, Block* inverses, i64* report) {
    BlockBarrier wait;
    pivots_of_levels<FEW_LEVELS>({lower, diagonal, upper, count}, perturb, finest, memory, inverses, report,
                                 threadIdx.x, FEW_THREADS, wait);
}

// The lower Cholesky factor of a diagonal block; the off-diagonal entries of a block that is not positive definite are
// clipped first.
DEVICE Block definite_factor(Block& diagonal) {
    if (is_indefinite(diagonal, diagonal)) {
#pragma unroll
        for (int r = 0; r < BLOCK; ++r)
#pragma unroll
            for (int c = r + 1; c < BLOCK; ++c) {
                const WEIGHT bound = (WEIGHT)(0.999 / (BLOCK > 1 ? BLOCK - 1 : 1)) *
                                     (sqrt(real_part(diagonal(r, r))) * sqrt(real_part(diagonal(c, c))));
                const WEIGHT own = length_of(diagonal(r, c));
                if (own > bound) diagonal(r, c) = scaled(diagonal(r, c), bound / own);
                diagonal(c, r) = conjugate(diagonal(r, c));
            }
    }
    Block factor = zeros<Block>();
    EACH (c, BLOCK) {
        VALUE head = diagonal(c, c);
#pragma unroll
        for (int k = 0; k < c; ++k) head = head - factor(c, k) * conjugate(factor(c, k));
        const WEIGHT root = sqrt(real_part(head));
        factor(c, c) = from_real(root);
#pragma unroll
        for (int r = c + 1; r < BLOCK; ++r) {
            VALUE sum = diagonal(r, c);
#pragma unroll
            for (int k = 0; k < c; ++k) sum = sum - factor(r, k) * conjugate(factor(c, k));
            factor(r, c) = scaled(sum, 1 / root);
        }
    }
    return factor;
}

// factor^-1 * right, by forward substitution.
DEVICE Block substituted(const Block& factor, Block right) {
    EACH (c, BLOCK)
        EACH (r, BLOCK) {
            VALUE sum = right(r, c);
#pragma unroll
            for (int k = 0; k < r; ++k) sum = sum - factor(r, k) * right(k, c);
            right(r, c) = scaled(sum, 1 / real_part(factor(r, r)));
        }
    return right;
}

DEVICE Block adjoint(const Block& a) {
    Block flipped;
    EACH (r, BLOCK)
        EACH (c, BLOCK) flipped(r, c) = conjugate(a(c, r));
    return flipped;
}

// The largest norm of C^-1 E C'^-H for a coupling E of diagonal blocks with the Cholesky factors C and C': a row has two
// couplings, which stay below 1 together.
#define SHARE ((WEIGHT)0.4995)

// Scales couplings down until the matrix is a sum of positive definite pairs of (block) rows.
KERNEL clip_couplings(In<Block> diagonal, In<Block> upper, i64 count, Block* __restrict__ new_lower,
                      Block* __restrict__ new_diagonal, Block* __restrict__ new_upper) {
    GRID_STRIDE (i64, j, count) {
        Block own = diagonal[j], coupling = upper[j];
        const Block factor = definite_factor(own);
        new_diagonal[j] = own;
        if (j == 0) new_lower[0] = zeros<Block>();
        if (j + 1 == count) {
            new_upper[j] = zeros<Block>();
            continue;
        }
        Block next = diagonal[j + 1];
        const Block next_factor = definite_factor(next);
        if (BLOCK == 1) {
            const WEIGHT bound = SHARE * (real_part(factor(0, 0)) * real_part(next_factor(0, 0)));
            const WEIGHT size = length_of(coupling(0, 0));
            if (size > bound) coupling(0, 0) = scaled(coupling(0, 0), bound / size);
        } else {
            const Block share = adjoint(substituted(next_factor, adjoint(substituted(factor, coupling))));
            WEIGHT squares = 0;
            EACH (i, BLOCK * BLOCK) squares += real_part(share.at[i] * conjugate(share.at[i]));
            const WEIGHT norm = sqrt(squares);
            if (norm > SHARE)
                EACH (i, BLOCK * BLOCK) coupling.at[i] = scaled(coupling.at[i], SHARE / norm);
        }
        new_upper[j] = coupling;
        new_lower[j + 1] = adjoint(coupling);
    }
}
