#include "tridiagonal/pivots.cuh"

// The repairs of (block) tridiagonal systems; precond/tridiagonal/repair.py says which paths are repaired, and why.

// The largest product of the relative couplings between two (block) rows.
#define LARGEST_PRODUCT (0.4995 * 0.4995)
// A row's coverage is counted in these units, so that the sums over a path are exact.
#define UNITS 1048576
// A diagonal entry below this share of its row's off-diagonal weight is negligible.
#define NEGLIGIBLE (1.0 / 16)

// The sums over a path: how far coverages exceed 2/3, and whether it has weak pivots and negligible diagonal entries.
struct PathSums {
    i64 excess;
    u64 flags;
};
#define HAS_WEAK 1
#define HAS_NEGLIGIBLE 2

DEVICE bool is_zero(const Block& block) {
    bool zero = true;
    EACH (i, BLOCK * BLOCK) zero = zero && is_zero(block.at[i]);
    return zero;
}

// Whether a (block) row is the first one of its segment: not coupled to the row before, or not `both_ways`.
KERNEL mark_first_rows(In<Block> lower, In<Block> upper, i64 count, int both_ways, int* __restrict__ first) {
    GRID_STRIDE (i64, j, count) {
        const bool before = j > 0 && !is_zero(upper[j - 1]), after = j > 0 && !is_zero(lower[j]);
        first[j] = !(both_ways ? before && after : before || after);
    }
}

// The lanes of a warp that have consecutive rows of one segment: a run. `lanes` are those from this one to its end.
struct Run {
    bool is_head;
    int end;
    u32 lanes;
};

// All lanes of the warp must call it.
DEVICE Run run_of(int segment) {
    const int lane = threadIdx.x % 32, before = __shfl_up_sync(FULL_WARP, segment, 1);
    const bool is_head = lane == 0 || segment != before;
    const u32 later = __ballot_sync(FULL_WARP, is_head) & ~((2u << lane) - 1);
    const int end = later ? __ffs(later) - 1 : 32;
    return {is_head, end, (end == 32 ? FULL_WARP : (1u << end) - 1) & ~((1u << lane) - 1)};
}

// Segmented reduction: the sum from this lane to the end of its run.
DEVICE i64 sum_of_run(const Run& run, i64 sum) {
    const int lane = threadIdx.x % 32;
    for (int step = 1; step < 32; step *= 2) {
        const i64 other = __shfl_down_sync(FULL_WARP, sum, step);
        if (lane + step < run.end) sum += other;
    }
    return sum;
}

// The sum of the magnitudes of a row of a block, in double precision.
DEVICE double row_sum(const Block& block, int r) {
    double sum = 0;
    EACH (c, BLOCK) sum += widened(magnitude(block(r, c)));
    return sum;
}

// The sum of the magnitudes of the row of A that a row of the system is; 0 for a ghost row.
DEVICE double row_magnitude(In<double> magnitudes, const void* order, int wide, i64 row) {
    if (!order) return magnitudes[row];
    const i64 vertex = wide ? ((const i64*)order)[row] : ((const int*)order)[row];
    return vertex < 0 ? 0 : magnitudes[vertex];
}

// Adds up what decides whether a path is repaired. A row without off-diagonal entries counts as covered, and a ghost row
// does not count. The weight that a row neglects is rounding error where it is below one unit.
KERNEL count_rows(In<Block> lower, In<Block> diagonal, In<Block> upper, In<Block> inverse, In<double> magnitudes,
                  const void* order, int wide, i64 count, In<int> segments, PathSums* sums) {
    const int lane = threadIdx.x % 32;
    const i64 stride = (i64)gridDim.x * blockDim.x;
    // Whole warps take part in each step, for their collective operations.
    for (i64 j = (i64)blockIdx.x * blockDim.x + threadIdx.x; j - lane < count; j += stride) {
        i64 excess = 0;
        bool weak = false, negligible = false;
        if (j < count) {
            const Block own = diagonal[j], pivot = inverse[j];
            EACH (r, BLOCK) {
                const double kept = row_sum(lower[j], r) + row_sum(own, r) + row_sum(upper[j], r);
                const double size = row_magnitude(magnitudes, order, wide, j * BLOCK + r);
                const double diagonal_size = widened(magnitude(own(r, r)));
                const double total = fmax(size, kept) - diagonal_size;
                const double share = total > 0 ? (kept - diagonal_size) / total : 1;
                const double neglected = share < 1 - 1.0 / UNITS ? total - (kept - diagonal_size) : 0;
                const bool below = widened(magnitude(pivot(r, r))) * neglected > 1;
                weak |= below && has_weak_entry(pivot, own, r);
                if (size > 0) {
                    negligible |= diagonal_size < NEGLIGIBLE * total;
                    const i64 covered = share >= 0 ? (i64)rint(UNITS * share) : 0;  // not NaN
                    excess += 3 * covered - 2 * UNITS;
                }
            }
        }
        const int segment = j < count ? segments[j] - 1 : -1;
        const Run run = run_of(segment);
        excess = sum_of_run(run, excess);
        const u32 all_weak = __ballot_sync(FULL_WARP, weak), all_negligible = __ballot_sync(FULL_WARP, negligible);
        if (!run.is_head || segment < 0) continue;
        const u64 flags = (all_weak & run.lanes ? HAS_WEAK : 0) | (all_negligible & run.lanes ? HAS_NEGLIGIBLE : 0);
        if (excess) atomicAdd((u64*)&sums[segment].excess, (u64)excess);
        if (flags) atomicOr(&sums[segment].flags, flags);
    }
}

// Marks the rows of all paths that are to be repaired.
KERNEL mark_paths(In<int> segments, In<PathSums> sums, i64 count, bool* __restrict__ repaired) {
    GRID_STRIDE (i64, j, count) {
        const PathSums path = sums[segments[j] - 1];
        repaired[j] = path.flags == HAS_WEAK && path.excess < 0;
    }
}

// The Frobenius norm of a product of blocks, in double precision.
DEVICE double norm_of(const Block& product) {
    double squares = 0;
    EACH (i, BLOCK * BLOCK) squares += wide_square(product.at[i]);
    return sqrt(squares);
}

// Clips the couplings of the marked paths, one thread for a (block) row and the next; counts these paths, and the clipped
// couplings.
KERNEL clip_paths(In<Block> lower, In<Block> upper, In<Block> inverse, In<bool> rows, i64 count,
                  Block* __restrict__ new_lower, Block* __restrict__ new_upper, u64* report) {
    u64 paths = 0, couplings = 0;
    GRID_STRIDE (i64, j, count) {
        if (j == 0) new_lower[0] = lower[0];
        paths += rows[j] && (j == 0 || (is_zero(lower[j]) && is_zero(upper[j - 1])));
        Block after = upper[j];
        if (j + 1 < count) {
            Block before = lower[j + 1];
            if (rows[j] && rows[j + 1]) {
                const double product = norm_of(inverse[j] * after) * norm_of(inverse[j + 1] * before);
                if (product > LARGEST_PRODUCT) {
                    const WEIGHT factor = (WEIGHT)sqrt(LARGEST_PRODUCT / product);
                    EACH (i, BLOCK * BLOCK) {
                        after.at[i] = scaled(after.at[i], factor);
                        before.at[i] = scaled(before.at[i], factor);
                    }
                    ++couplings;
                }
            }
            new_lower[j + 1] = before;
        }
        new_upper[j] = after;
    }
    paths = warp_sum(paths);
    couplings = warp_sum(couplings);
    if (threadIdx.x % 32) return;
    if (paths) atomicAdd(report, paths);
    if (couplings) atomicAdd(report + 1, couplings);
}

#if BLOCK == 1
// The flags of a segment: bits 0 and 1 tell whether one of its even or odd rows, as numbered in the system, has a diagonal
// entry, bits 2 and 3 which of both its first row is.
KERNEL flag_segments(In<VALUE> diagonal, i64 count, In<int> segments, u32* flags) {
    const int lane = threadIdx.x % 32;
    const i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 j = (i64)blockIdx.x * blockDim.x + threadIdx.x; j - lane < count; j += stride) {
        const int segment = j < count ? segments[j] - 1 : -1;
        const bool has_diagonal = j < count && !is_zero(diagonal[j]);
        const Run run = run_of(segment);
        const u32 even = __ballot_sync(FULL_WARP, has_diagonal && j % 2 == 0) & run.lanes;
        const u32 odd = __ballot_sync(FULL_WARP, has_diagonal && j % 2 == 1) & run.lanes;
        if (!run.is_head || segment < 0) continue;
        const bool is_first = j == 0 || segments[j - 1] - 1 != segment;
        const u32 own = (even ? 1 : 0) | (odd ? 2 : 0) | (is_first ? 4u << j % 2 : 0);
        if (own) atomicOr(flags + segment, own);
    }
}

// Perturbs the last diagonal entries of singular segments, and counts them in the word after the flags; there are as many
// flags as rows. Rows inside a chain of rows that have only a lower entry are not perturbed.
KERNEL perturb_segments(In<VALUE> lower, In<VALUE> diagonal, In<VALUE> upper, In<VALUE> inverse, i64 count,
                        In<int> segments, u32* flags, VALUE* __restrict__ perturbed) {
    const auto has_only_lower = [=](i64 j) { return !is_zero(lower[j]) && is_zero(diagonal[j]) && is_zero(upper[j]); };
    u64 found = 0;
    GRID_STRIDE (i64, j, count) {
        const VALUE own = diagonal[j];
        VALUE pivot = own;
        if (j > 0) pivot = pivot - lower[j] * inverse[j - 1] * upper[j - 1];
        const WEIGHT row_size = fmax(fmax(size_of(lower[j]), size_of(own)), size_of(upper[j]));
        bool singular = is_zero(upper[j]) && size_of(pivot) <= EPSILON * row_size;
        if (j + 1 == count || segments[j + 1] != segments[j]) {
            const u32 segment = flags[segments[j] - 1] >> j % 2;
            singular |= (segment & 4) && !(segment & 1);  // an odd number of rows
        }
        if (singular && j > 0 && j + 1 < count)
            singular = !(has_only_lower(j - 1) && has_only_lower(j) && has_only_lower(j + 1));
        if (singular) {
            const WEIGHT least = row_size > 0 ? ROOT_EPSILON * row_size : 1;
            perturbed[j] = own + from_real(real_part(own) < 0 ? -least : least);
            ++found;
        } else {
            perturbed[j] = own;
        }
    }
    found = warp_sum(found);
    if (threadIdx.x % 32 == 0 && found) atomicAdd(flags + count, (u32)found);
}
#endif
