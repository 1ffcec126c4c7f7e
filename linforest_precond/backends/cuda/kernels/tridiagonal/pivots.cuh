#include "runtime/arithmetic.cuh"
#include "tridiagonal/findings.cuh"
#include "tridiagonal/pivot_sizes.cuh"

// LU factorization of a (block) tridiagonal matrix without pivoting: the pivots of the Thomas algorithm, computed in
// parallel by the partition method (Wang, "A Parallel Method for Tridiagonal Equations", ACM TOMS 7, 1981), applied
// recursively. Groups of GROUP rows are reduced to their last rows, which form a smaller tridiagonal system. From the
// pivots of that system, each group computes those of its own rows.
//
// PIVOT_GROUP rows are a group, one thread computes the pivots of TOP_ROWS rows. One launch computes those of all levels
// of at most FEW_LEVELS reductions by one block, of at most LEVELS_AT_ONCE by several (pivots.py).
#define GROUP PIVOT_GROUP

// An inverse pivot above this size, relative to its row, counts as grown.
#define LARGEST_GROWTH 8
// A pivot is weak where its inverse is above this, relative to its diagonal entry.
#define LARGEST_RATIO 4
// The rounding errors, relative to the row, by which two computations of one pivot may differ.
#define LARGEST_MISMATCH 16
// A pivot is tiny below this multiple of its row's norm.
#define VANISHING (64 * EPSILON)

struct Rows {
    In<Block> lower, diagonal, upper;
    i64 count;
};

struct Row {
    Block lower, diagonal, upper;

    DEVICE WEIGHT size() const { return fmax(fmax(size_of(lower), size_of(diagonal)), size_of(upper)); }
};

// A thread loads its rows in chunks of 32 bytes, one memory sector, so that each sector is fetched once.
constexpr int chunk_rows = BLOCK_BYTES < 32 ? 32 / BLOCK_BYTES : 1;

struct Chunk {
    Block at[chunk_rows];
};

DEVICE Chunk load_chunk(In<Block> from, i64 first, i64 count) {
    Chunk chunk;
    if (chunk_rows > 1 && first + chunk_rows <= count) {
        const uint4* const source = (const uint4*)(from + first);
        const uint4 halves[2] = {source[0], source[1]};
        memcpy(&chunk, halves, 32);
    } else {
        EACH (i, chunk_rows) chunk.at[i] = first + i < count ? from[first + i] : zeros<Block>();
    }
    return chunk;
}

DEVICE void store_chunk(const Chunk& chunk, Block* __restrict__ to, i64 first, i64 count) {
    if (chunk_rows > 1 && first + chunk_rows <= count) {
        uint4 halves[2];
        memcpy(halves, &chunk, 32);
        ((uint4*)(to + first))[0] = halves[0];
        ((uint4*)(to + first))[1] = halves[1];
    } else {
        EACH (i, chunk_rows)
            if (first + i < count) to[first + i] = chunk.at[i];
    }
}

struct RowChunk {
    Chunk lower, diagonal, upper;

    DEVICE Row row(int i) const { return {lower.at[i], diagonal.at[i], upper.at[i]}; }
};

DEVICE RowChunk load_rows(const Rows& rows, i64 first) {
    return {load_chunk(rows.lower, first, rows.count), load_chunk(rows.diagonal, first, rows.count),
            load_chunk(rows.upper, first, rows.count)};
}

// The inverse of a pivot block by Gauss-Jordan elimination with partial pivoting. A tiny pivot is perturbed to
// +-sqrt(eps) times its row's norm, and counted; without `perturb`, only one that vanishes.
DEVICE Block perturbed_inverse(Block pivot, WEIGHT row_size, int perturb, u32& perturbed) {
    const WEIGHT least = perturb ? VANISHING * row_size : 0;
    Block other = identity();
#pragma unroll
    for (int k = 0; k < BLOCK; ++k) {
        int best = k;
#pragma unroll
        for (int r = k + 1; r < BLOCK; ++r)
            if (size_of(pivot(r, k)) > size_of(pivot(best, k))) best = r;
#pragma unroll
        for (int r = k + 1; r < BLOCK; ++r) {
            if (r != best) continue;
            EACH (c, BLOCK) {
                const VALUE a = pivot(k, c), b = other(k, c);
                pivot(k, c) = pivot(r, c), pivot(r, c) = a;
                other(k, c) = other(r, c), other(r, c) = b;
            }
        }
        VALUE head = pivot(k, k);
        if (size_of(head) <= least || size_of(head) < LEAST_PIVOT) {
            head = lifted(head, row_size);
            ++perturbed;
        }
        const VALUE factor = inverse(head);
#pragma unroll
        for (int c = k + 1; c < BLOCK; ++c) pivot(k, c) = pivot(k, c) * factor;
        EACH (c, BLOCK) other(k, c) = other(k, c) * factor;
        EACH (r, BLOCK) {
            if (r == k) continue;
            const VALUE part = pivot(r, k);
#pragma unroll
            for (int c = k + 1; c < BLOCK; ++c) pivot(r, c) = pivot(r, c) - part * pivot(k, c);
            EACH (c, BLOCK) other(r, c) = other(r, c) - part * other(k, c);
        }
    }
    return other;
}

// Whether a pivot block is not positive definite, relative to the diagonal block it came from.
DEVICE bool is_indefinite(Block pivot, const Block& diagonal) {
#pragma unroll
    for (int k = 0; k < BLOCK; ++k) {
        const WEIGHT head = real_part(pivot(k, k));
        if (head <= VANISHING * real_part(diagonal(k, k))) return true;
        const VALUE factor = from_real(1 / head);
#pragma unroll
        for (int r = k + 1; r < BLOCK; ++r)
#pragma unroll
            for (int c = k + 1; c < BLOCK; ++c) pivot(r, c) = pivot(r, c) - (pivot(r, k) * factor) * pivot(k, c);
    }
    return false;
}

DEVICE void add_finding(i64* report, PivotFinding kind, u32 count) {
    const u32 sum = (u32)warp_sum(count);
    if (threadIdx.x % 32 == 0 && sum) atomicAdd((u64*)report + kind, (u64)sum);
}

// What the elimination of a level's groups writes for each group: its reduced last row (pivot, and coupling to the last
// row of the group before), its update of that previous row's diagonal and coupling, and its row of the reduced system.
struct Reduced {
    Block *pivots, *before;
    Block *change, *after;
    Block *diagonal, *upper, *inverses;
};

// Eliminates all rows of a group but the last.
DEVICE void reduce_group(const Rows& rows, i64 group, int perturb, const Reduced& reduced) {
    const i64 first = group * GROUP, last = min(first + GROUP, rows.count) - 1;
    u32 perturbed = 0;
    Row row;
    Block pivot, p, q = identity(), c = zeros<Block>();
    for (i64 begin = first; begin <= last; begin += chunk_rows) {
        const RowChunk chunk = load_rows(rows, begin);
        EACH (i, chunk_rows) {
            if (begin + i > last) break;
            const Row next = chunk.row(i);
            if (begin + i == first) {
                pivot = next.diagonal;
                p = next.lower;
            } else {
                const Block w = perturbed_inverse(pivot, row.size(), perturb, perturbed), qw = q * w;
                c = c + qw * p;
                const Block m = next.lower * w;
                q = -(qw * row.upper);
                p = -(m * p);
                pivot = next.diagonal - m * row.upper;
            }
            row = next;
        }
    }
    reduced.pivots[group] = pivot;
    reduced.before[group] = p;
    reduced.change[group] = c;
    reduced.after[group] = q;
}

__host__ DEVICE i64 groups_of(i64 count) { return (count + GROUP - 1) / GROUP; }

// A row of the reduced system: a group's last row, updated by the elimination of the next group.
DEVICE void join_group(const Block* upper, i64 count, i64 group, const Reduced& reduced) {
    Block diagonal = reduced.pivots[group], coupling = zeros<Block>();
    if (group + 1 < groups_of(count)) {
        const Block up = upper[group * GROUP + GROUP - 1];
        diagonal = diagonal - up * reduced.change[group + 1];
        coupling = up * reduced.after[group + 1];
    }
    reduced.diagonal[group] = diagonal;
    reduced.upper[group] = coupling;
}

// Counters of one thread; see `PivotFinding` in returns.py.
struct Findings {
    u32 not_row_dominant, not_column_dominant, not_symmetric, not_hermitian, not_positive, grown, inconsistent, weak;
};

// Whether a diagonal entry of P^-1 D, for the inverse of the pivot P of a diagonal block D, is large or negative.
DEVICE bool has_weak_entry(const Block& inverse_pivot, const Block& diagonal, int r) {
    VALUE ratio = inverse_pivot(r, 0) * diagonal(0, r);
#pragma unroll
    for (int k = 1; k < BLOCK; ++k) ratio = ratio + inverse_pivot(r, k) * diagonal(k, r);
    return !(size_of(ratio) <= (WEIGHT)LARGEST_RATIO && real_part(ratio) >= 0);
}

// Whether any diagonal entry is.
DEVICE bool is_weak(const Block& inverse_pivot, const Block& diagonal) {
    bool weak = false;
    EACH (r, BLOCK) weak |= has_weak_entry(inverse_pivot, diagonal, r);
    return weak;
}

// Counts the properties of one row: growth, diagonal dominance, symmetry.
DEVICE void examine(Findings& found, const Row& row, const Block& upper_before, const Block& lower_after, bool is_last,
                    const Block& inverse_pivot) {
    found.grown += !(size_of(inverse_pivot) * row.size() <= (WEIGHT)LARGEST_GROWTH);
    found.weak += is_weak(inverse_pivot, row.diagonal);
    EACH (r, BLOCK) {
        WEIGHT in_row = 0, in_column = 0;
        EACH (c, BLOCK) in_row += size_of(row.lower(r, c));
        EACH (c, BLOCK)
            if (c != r) in_row += size_of(row.diagonal(r, c));
        EACH (c, BLOCK) in_row += size_of(row.upper(r, c));
        EACH (c, BLOCK) in_column += size_of(upper_before(c, r));
        EACH (c, BLOCK)
            if (c != r) in_column += size_of(row.diagonal(c, r));
        EACH (c, BLOCK) in_column += size_of(lower_after(c, r));
        const WEIGHT own = size_of(row.diagonal(r, r));
        found.not_row_dominant += own < in_row;
        found.not_column_dominant += own < in_column;
        found.not_positive += !(real_part(row.diagonal(r, r)) > 0);
    }
    bool symmetric = true, hermitian = true;
    EACH (r, BLOCK)
        EACH (c, BLOCK) {
            symmetric &= row.diagonal(r, c) == row.diagonal(c, r);
            hermitian &= row.diagonal(r, c) == conjugate(row.diagonal(c, r));
            if (is_last) continue;
            symmetric &= lower_after(r, c) == row.upper(c, r);
            hermitian &= lower_after(r, c) == conjugate(row.upper(c, r));
        }
    found.not_symmetric += !symmetric;
    found.not_hermitian += !hermitian;
}

// The pivot of a group's last row in the original order. In the reduced system the next group is eliminated too, so that
// its pivots are others.
DEVICE Block last_pivot(const Reduced& ends, i64 group) {
    if (group == 0) return ends.pivots[0];
    return ends.pivots[group] - (ends.before[group] * ends.inverses[group - 1]) * ends.upper[group - 1];
}

// Whether two computations of a pivot differ by more than a few rounding errors of its row.
DEVICE bool is_inconsistent(const Block& a, const Block& b, WEIGHT row_size) {
    const WEIGHT allowed = LARGEST_MISMATCH * EPSILON * row_size;
    bool differs = false;
    EACH (i, BLOCK * BLOCK) differs |= !(size_of(a.at[i] - b.at[i]) <= allowed);
    return differs;
}

// The inverse pivots of the rows of a group, from the pivot of the row before it; on the finest level the rows are
// examined too. `ends` is null where the rows are not reduced further.
template <bool FINEST>
DEVICE void pivots_of_group(const Rows& rows, const Reduced* ends, i64 group, i64 first, i64 last, int perturb,
                            Block* __restrict__ inverses, u32& indefinite, u32& perturbed, Findings& found) {
    Block w = zeros<Block>(), up_before = zeros<Block>(), up_before_that = zeros<Block>();
    if (first) {
        const Row before = {rows.lower[first - 1], rows.diagonal[first - 1], rows.upper[first - 1]};
        u32 uncounted = 0;
        w = perturbed_inverse(last_pivot(*ends, group - 1), before.size(), perturb, uncounted);
        up_before = before.upper;
    }
    Row row;
    for (i64 begin = first; begin <= last; begin += chunk_rows) {
        const RowChunk chunk = load_rows(rows, begin);
        Chunk solved;
        EACH (i, chunk_rows) {
            const i64 j = begin + i;
            if (j > last) break;
            const Row next = chunk.row(i);
            // A row is examined once the next one is loaded.
            if (FINEST && j > first) examine(found, row, up_before_that, next.lower, false, w);
            Block pivot = next.diagonal;
            if (j > 0) pivot = pivot - (next.lower * w) * up_before;
            if (j == last && ends) {
                const Block other = last_pivot(*ends, group);
                if (FINEST) found.inconsistent += is_inconsistent(other, pivot, next.size());
                pivot = other;
            }
            if (FINEST) indefinite += is_indefinite(pivot, next.diagonal);
            solved.at[i] = w = perturbed_inverse(pivot, next.size(), perturb, perturbed);
            up_before_that = up_before;
            up_before = next.upper;
            row = next;
        }
        store_chunk(solved, inverses, begin, rows.count);
    }
    if (!FINEST) return;
    const bool is_last = last + 1 == rows.count;
    examine(found, row, up_before_that, is_last ? zeros<Block>() : rows.lower[last + 1], is_last, w);
}

// Adds the counters of a warp to the report.
template <bool FINEST>
DEVICE void add_findings(i64* report, u32 indefinite, u32 perturbed, const Findings& found) {
    if (!FINEST) return;
    add_finding(report, FOUND_INDEFINITE, indefinite);
    add_finding(report, FOUND_PERTURBED, perturbed);
    add_finding(report, FOUND_GROWN, found.grown);
    add_finding(report, FOUND_NOT_ROW_DOMINANT, found.not_row_dominant);
    add_finding(report, FOUND_NOT_COLUMN_DOMINANT, found.not_column_dominant);
    add_finding(report, FOUND_NOT_SYMMETRIC, found.not_symmetric);
    add_finding(report, FOUND_NOT_HERMITIAN, found.not_hermitian);
    add_finding(report, FOUND_NOT_POSITIVE, found.not_positive);
    add_finding(report, FOUND_INCONSISTENT, found.inconsistent);
    add_finding(report, FOUND_WEAK, found.weak);
}

// Splits memory into the arrays of a level's reduction.
DEVICE Reduced reduced_in(char*& memory, i64 groups) {
    const i64 size = (groups * (i64)sizeof(Block) + PIVOT_ALIGNMENT - 1) / PIVOT_ALIGNMENT * PIVOT_ALIGNMENT;
    Block* arrays[7];
    for (int i = 0; i < 7; ++i) arrays[i] = (Block*)(memory + i * size);
    memory += 7 * size;
    return {arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], arrays[5], arrays[6]};
}

// All levels of a system that at most LEVELS reductions bring to the top, by `threads` threads, which `wait` for each
// other. The counters are reported where the first level is the `finest`.
template <int LEVELS, typename Barrier>
DEVICE void pivots_of_levels(const Rows& system, int perturb, bool finest, char* memory, Block* inverses, i64* report,
                             i64 thread, i64 threads, Barrier& wait) {
    Rows rows[LEVELS + 1];
    Reduced reduced[LEVELS];
    rows[0] = system;
    int top = 0;
#pragma unroll 1
    for (; rows[top].count > TOP_ROWS; ++top) {
        const i64 groups = groups_of(rows[top].count);
        const Reduced here = reduced[top] = reduced_in(memory, groups);
        for (i64 group = thread; group < groups; group += threads) reduce_group(rows[top], group, perturb, here);
        wait();
        for (i64 group = thread; group < groups; group += threads)
            join_group(rows[top].upper, rows[top].count, group, here);
        wait();
        rows[top + 1] = {here.before, here.diagonal, here.upper, groups};
    }
    u32 indefinite = 0, perturbed = 0;
    Findings found = {};
#pragma unroll 1
    for (int level = top; level >= 0; --level) {
        indefinite = perturbed = 0;
        found = {};
        const bool is_top = level == top;
        Block* const into = level ? reduced[level - 1].inverses : inverses;
        const i64 size = is_top ? TOP_ROWS : GROUP;  // the top is one group
        for (i64 first = thread * size; first < rows[level].count; first += threads * size)
            pivots_of_group<true>(rows[level], is_top ? nullptr : &reduced[level], first / size, first,
                                  min(first + size, rows[level].count) - 1, perturb, into, indefinite, perturbed,
                                  found);
        if (level) wait();
    }
    if (finest) add_findings<true>(report, indefinite, perturbed, found);
}
