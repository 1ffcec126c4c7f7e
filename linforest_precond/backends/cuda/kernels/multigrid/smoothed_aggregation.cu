#include "runtime/common.cuh"
// Scalars instead of blocks.
#define BLOCK 1
#include "runtime/arithmetic.cuh"
#include "multigrid/row_teams.cuh"

// Smoothed aggregation: the strong couplings of a matrix, aggregates of unknowns, and the smoothed prolongator. Sums run
// in column order, as on the CPU.

// Terms of a row of the prolongator that a team merges in shared memory.
#define MOST_TERMS 128

#define DOMINANCE 5.0
#define DAMPING (4.0 / 3.0)
#define LEAST_SHARE 0.1
#define DOUBLE_TINY 2.2250738585072014e-308

// The couplings of a matrix: the scale of each row, 0 where it has none, and its strongest one. With signs, only
// entries of the opposite sign of the diagonal couple.
struct Couplings {
    Matrix matrix;
    double* scales;
    double* strongest;
    double threshold;
    i64 is_signed;
};

// A pattern whose diagonal entries are no edges.
struct StrongGraph {
    const INDEX* __restrict__ indptr;
    const int* __restrict__ columns;
    const int* __restrict__ degrees;
};

// What the host reads: the count of aggregates, and a hash sum that is 0 if the strong couplings are symmetric; zero at
// first, as is the grid barrier.
enum Word { COUNT, BALANCE, BARRIER };

// The magnitude of the diagonal, with its sign, by which a row's couplings are divided. It is 0 for a dominant row, and
// with signs for one whose diagonal has none; without signs, the row's sum replaces a zero.
__device__ __forceinline__ double scale_of(const Couplings& c, i64 row, double others) {
    const VALUE diagonal = c.matrix.diagonal[row];
    const double own = wide_magnitude(diagonal), sign = wide_real(diagonal);
    if (own >= DOMINANCE * others) return 0;
    if (!c.is_signed) return own > 0 ? own : others;
    return sign > 0 ? own : sign < 0 ? -own : 0.0;
}

__device__ void scale_rows(const Couplings& c) {
    const Team team;
    const Matrix& A = c.matrix;
    EACH_ROW(row, A.n) {
        double others = 0;
        each_slot(A.indptr, row, team, [&](i64 slot, bool valid) {
            const bool wanted = valid && A.indices[slot] != row;
            others = team.add_in_order(others, wanted ? wide_magnitude(A.data[slot]) : 0.0, team.vote(wanted));
        });
        if (team.lane == 0) c.scales[row] = scale_of(c, row, others);
    }
}

// The strength of a coupling; by two divisions, because a square may overflow.
__device__ __forceinline__ double coupling_at(const Couplings& c, i64 row, double scale, i64 slot) {
    const i64 column = clamped(c.matrix.indices[slot], c.matrix.n);
    if (column == row || scale == 0) return 0;
    const VALUE value = c.matrix.data[slot];
    const double real = wide_real(value), other = __ldcg(c.scales + column);
    if (other == 0 || (c.is_signed && !(scale > 0 ? real < 0 : real > 0))) return 0;
    const double size = wide_magnitude(value), found = (size / fabs(scale)) * (size / fabs(other));
    return found > 0 ? found : 0.0;
}

__device__ void find_strongest(const Couplings& c) {
    const Team team;
    EACH_ROW(row, c.matrix.n) {
        const double scale = __ldcg(c.scales + row);
        double best = 0;
        each_slot(c.matrix.indptr, row, team, [&](i64 slot, bool valid) {
            if (valid) best = fmax(best, coupling_at(c, row, scale, slot));
        });
        for (int half = TEAM / 2; half > 0; half /= 2) best = fmax(best, __shfl_xor_sync(team.mask, best, half));
        if (team.lane == 0) c.strongest[row] = best;
    }
}

// The summand of a coupling in the symmetry check: mirror images cancel.
__device__ __forceinline__ u64 balance_of(i64 row, i64 column) {
    const u64 word = mix64((u64)min(row, column) << 32 | (u64)max(row, column));
    return column > row ? word : 0 - word;
}

// Copies the columns of strong couplings; in place of others, the row's own number is stored.
__device__ u64 copy_strong(const Couplings& c, int* columns, int* degrees) {
    const Team team;
    u64 balance = 0;
    EACH_ROW(row, c.matrix.n) {
        const double scale = __ldcg(c.scales + row), own_best = __ldcg(c.strongest + row);
        int degree = 0;
        each_slot(c.matrix.indptr, row, team, [&](i64 slot, bool valid) {
            bool strong = false;
            if (valid) {
                const i64 column = clamped(c.matrix.indices[slot], c.matrix.n);
                const double found = coupling_at(c, row, scale, slot);
                strong = found > 0 && found >= c.threshold * fmax(own_best, __ldcg(c.strongest + column));
                columns[slot] = (int)(strong ? column : row);
                if (strong) balance += balance_of(row, column);
            }
            degree += __popc(team.vote(strong));
        });
        if (team.lane == 0) degrees[row] = degree;
    }
    return balance;
}

// The strong couplings of all rows, in one cooperative launch.
extern "C" __global__ void __launch_bounds__(THREADS)
    find_strong(Couplings couplings, int* columns, int* degrees, u64* words) {
    u32 generation = 0;
    u32* const barrier = (u32*)(words + BARRIER);
    scale_rows(couplings);
    grid_barrier(barrier, generation);
    find_strongest(couplings);
    grid_barrier(barrier, generation);
    const u64 balance = warp_sum(copy_strong(couplings, columns, degrees));
    if (threadIdx.x % 32 == 0 && balance) atomicAdd(words + BALANCE, balance);
}

// The strong columns of a symmetrized matrix: those with a positive weight.
extern "C" __global__ void __launch_bounds__(THREADS)
    mask_columns(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices, const float* __restrict__ strong,
                 i64 rows, int* __restrict__ columns, int* __restrict__ degrees) {
    const Team team;
    EACH_ROW(row, rows) {
        int degree = 0;
        each_slot(indptr, row, team, [&](i64 slot, bool valid) {
            const bool wanted = valid && strong[slot] > 0;
            if (valid) columns[slot] = (int)(wanted ? (i64)indices[slot] : row);
            degree += __popc(team.vote(wanted));
        });
        if (team.lane == 0) degrees[row] = degree;
    }
}

// The first number among a vertex's neighbours, or -1; `number(v)` is that of vertex v.
template <typename Number>
__device__ __forceinline__ int first_number(const StrongGraph& graph, i64 vertex, const Team& team, Number number) {
    const i64 end = graph.indptr[vertex + 1];
    for (i64 base = graph.indptr[vertex]; base < end; base += TEAM) {
        const int own = base + team.lane < end ? number(graph.columns[base + team.lane]) : -1;
        const u32 found = team.vote(own >= 0);
        if (found) return team.from(own, __ffs(found) - 1);
    }
    return -1;
}

// The column of a row's strongest coupling, the first of equal ones.
__device__ __forceinline__ i64 strongest_neighbor(const Couplings& c, i64 row, double best, const Team& team) {
    const double scale = c.scales[row];
    const i64 end = c.matrix.indptr[row + 1];
    for (i64 base = c.matrix.indptr[row]; base < end; base += TEAM) {
        const i64 slot = base + team.lane;
        const u32 found = team.vote(slot < end && coupling_at(c, row, scale, slot) == best);
        if (found) return clamped(c.matrix.indices[base + __ffs(found) - 1], c.matrix.n);
    }
    return row;
}

// Numbers of the aggregates, in one cooperative launch: the neighbours of a root join it, others the first neighbour
// that did; a vertex without strong couplings joins its strongest neighbour. `ranks` is the inclusive prefix sum of
// `roots`; `near` are the numbers of roots and their neighbours.
extern "C" __global__ void __launch_bounds__(THREADS)
    join_aggregates(Couplings couplings, StrongGraph graph, const int* __restrict__ roots,
                    const int* __restrict__ ranks, int* near, INDEX* __restrict__ numbers, u64* words, u32* barrier) {
    const Team team;
    const i64 n = couplings.matrix.n;
    u32 generation = 0;
    EACH_ROW(row, n) {
        const auto number_of_root = [&](i64 v) { return roots[v] ? ranks[v] - 1 : -1; };
        int number = number_of_root(row);
        if (number < 0) number = first_number(graph, row, team, number_of_root);
        if (team.lane == 0) near[row] = number;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) words[COUNT] = ranks[n - 1];
    grid_barrier(barrier, generation);
    EACH_ROW(row, n) {
        const double best = couplings.strongest[row];
        const i64 vertex = graph.degrees[row] == 0 && best > 0 ? strongest_neighbor(couplings, row, best, team) : row;
        int number = __ldcg(near + vertex);
        if (number < 0) number = first_number(graph, vertex, team, [&](i64 v) { return __ldcg(near + v); });
        if (team.lane == 0) numbers[row] = number;
    }
}

// A row of the prolongator smoother I - W F: the diagonal of F, and the weight, 0 where the row has no strong couplings.
struct FilteredRow {
    double real, imaginary, weight;
};

// A row of F: weak couplings are added to the diagonal, unless that would leave at most LEAST_SHARE of it.
__device__ __forceinline__ FilteredRow filtered_row(const Matrix& A, const int* __restrict__ columns, i64 row,
                                                    const Team& team) {
    const VALUE diagonal = A.diagonal[row];
    const double own = wide_magnitude(diagonal), own_real = wide_real(diagonal),
                 own_imaginary = wide_imaginary(diagonal);
    double real = own_real, imaginary = own_imaginary, total = 0;
    each_slot(A.indptr, row, team, [&](i64 slot, bool valid) {
        const bool strong = valid && columns[slot] != row, weak = valid && !strong && A.indices[slot] != row;
        const VALUE value = strong || weak ? A.data[slot] : VALUE{};
        const u32 weak_lanes = team.vote(weak);
        total = team.add_in_order(total, wide_magnitude(value), team.vote(strong));
        if (!weak_lanes) return;
        real = team.add_in_order(real, wide_real(value), weak_lanes);
        if (IS_COMPLEX) imaginary = team.add_in_order(imaginary, wide_imaginary(value), weak_lanes);
    });
    double share = (real / own) * (own_real / own);
    if (IS_COMPLEX) share += (imaginary / own) * (own_imaginary / own);
    if (!(share > LEAST_SHARE)) {
        real = own_real;
        imaginary = own_imaginary;
    }
    total += IS_COMPLEX ? magnitude(Complex128{real, imaginary}) : fabs(real);
    return {real, imaginary, total >= DOUBLE_TINY ? DAMPING / total : 0.0};
}

// Calls take(place, slot, aggregate) for the terms of a row of the prolongator, by the lanes that have one: first the
// row's own, whose slot is -1, then those of strong couplings in column order. Terms without an aggregate are left out.
// Returns the number of terms to all lanes.
template <typename Take>
__device__ __forceinline__ int each_term(const Matrix& A, const int* __restrict__ columns,
                                         const INDEX* __restrict__ numbers, i64 row, const Team& team, Take take) {
    int count = numbers[row] >= 0;
    if (count && team.lane == 0) take(0, (i64)-1, (int)numbers[row]);
    each_slot(A.indptr, row, team, [&](i64 slot, bool valid) {
        const int column = valid ? columns[slot] : (int)row;
        const int number = column != row ? (int)numbers[column] : -1;
        const u32 found = team.vote(number >= 0);
        if (number >= 0) take(count + __popc(found & ((1u << team.lane) - 1)), slot, number);
        count += __popc(found);
    });
    return count;
}

// Whether no earlier term has the key of term i.
__device__ __forceinline__ bool is_first(const int* keys, int i) {
    int j = 0;
    while (keys[j] != keys[i]) ++j;
    return j == i;
}

// What all rows of the prolongator came to: the most terms of one, and all entries; zero at first.
enum Size { MOST, ENTRIES };

// Counts the columns of each row of the prolongator at place row + 1, or all its terms where `distinct` is 0 or they are
// more than MOST_TERMS.
extern "C" __global__ void __launch_bounds__(THREADS)
    count_columns(Matrix A, const int* __restrict__ columns, const INDEX* __restrict__ numbers, i64 distinct,
                  INDEX* __restrict__ counts, u64* sizes) {
    __shared__ int staged[TEAMS][MOST_TERMS];
    const Team team;
    int* const keys = staged[threadIdx.x / TEAM];
    u64 most = 0, entries = 0;
    EACH_ROW(row, A.n) {
        const int terms = each_term(A, columns, numbers, row, team, [&](int place, i64, int number) {
            if (place < MOST_TERMS) keys[place] = number;
        });
        __syncwarp(team.mask);
        int count = terms;
        if (distinct && terms <= MOST_TERMS) {
            count = 0;
            for (int i = team.lane; i < terms; i += TEAM) count += is_first(keys, i);
            for (int half = TEAM / 2; half > 0; half /= 2) count += __shfl_xor_sync(team.mask, count, half);
        }
        most = max(most, (u64)terms);
        if (team.lane == 0) {
            counts[row + 1] = count;
            entries += count;
        }
        __syncwarp(team.mask);
    }
    most = warp_max(most);
    entries = warp_sum(entries);
    if (threadIdx.x % 32) return;
    atomicMax(sizes + MOST, most);
    atomicAdd(sizes + ENTRIES, entries);
}

#define NO_HEAD 0x7fffffff

// The terms of a row in shared memory: their aggregates, and the row's entries that they are of.
struct Terms {
    int keys[MOST_TERMS];
    int slots[MOST_TERMS];  // from the row's first entry; -1 for the row's own term
    int heads[MOST_TERMS];  // the keys of first terms of aggregates, NO_HEAD for the others
};

// The value of an aggregate's column: its terms from the first one on, added up in order.
__device__ __forceinline__ VALUE column_value(const Terms& terms, int first, int count,
                                              const VALUE* __restrict__ values, const FilteredRow& filtered) {
    const double weight = filtered.weight;
    double real = 0, imaginary = 0;
    for (int j = first; j < count; ++j) {
        if (terms.keys[j] != terms.keys[first]) continue;
        if (terms.slots[j] < 0) {
            real = 1.0 - weight * filtered.real;
            imaginary = 0.0 - weight * filtered.imaginary;
        } else {
            const VALUE value = values[terms.slots[j]];
            real -= weight * wide_real(value);
            if (IS_COMPLEX) imaginary -= weight * wide_imaginary(value);
        }
    }
    VALUE sum;
    set_parts(sum, real, imaginary);
    return sum;
}

// Fills the rows of the prolongator, none of which has more than MOST_TERMS terms. The first term of each aggregate adds
// up the others; its place is the number of lower aggregates.
extern "C" __global__ void __launch_bounds__(THREADS)
    fill_columns(Matrix A, const int* __restrict__ columns, const int* __restrict__ degrees,
                 const INDEX* __restrict__ numbers, const INDEX* __restrict__ indptr, INDEX* __restrict__ indices,
                 VALUE* __restrict__ data) {
    __shared__ Terms staged[TEAMS];
    const Team team;
    Terms& terms = staged[threadIdx.x / TEAM];
    EACH_ROW(row, A.n) {
        const i64 begin = A.indptr[row];
        FilteredRow filtered = {};
        if (degrees[row]) filtered = filtered_row(A, columns, row, team);
        const int count = each_term(A, columns, numbers, row, team, [&](int place, i64 slot, int number) {
            terms.keys[place] = number;
            terms.slots[place] = slot < 0 ? -1 : (int)(slot - begin);
        });
        __syncwarp(team.mask);
        for (int i = team.lane; i < count; i += TEAM)
            terms.heads[i] = is_first(terms.keys, i) ? terms.keys[i] : NO_HEAD;
        __syncwarp(team.mask);
        for (int i = team.lane; i < count; i += TEAM) {
            const int key = terms.heads[i];
            if (key == NO_HEAD) continue;
            int lower = 0;
            for (int j = 0; j < count; ++j) lower += terms.heads[j] < key;
            indices[indptr[row] + lower] = key;
            data[indptr[row] + lower] = column_value(terms, i, count, A.data + begin, filtered);
        }
        __syncwarp(team.mask);
    }
}

// The terms of all rows as triplets, in order, for matrices with rows of more than MOST_TERMS terms. `begins` says where
// those of each row begin; values are in double precision, with their imaginary parts where there are any.
extern "C" __global__ void __launch_bounds__(THREADS)
    write_terms(Matrix A, const int* __restrict__ columns, const int* __restrict__ degrees,
                const INDEX* __restrict__ numbers, const INDEX* __restrict__ begins, INDEX* __restrict__ rows,
                INDEX* __restrict__ aggregates, double* __restrict__ values) {
    const Team team;
    EACH_ROW(row, A.n) {
        FilteredRow filtered = {};
        if (degrees[row]) filtered = filtered_row(A, columns, row, team);
        each_term(A, columns, numbers, row, team, [&](int place, i64 slot, int number) {
            const i64 at = begins[row] + place;
            double real = 1.0 - filtered.weight * filtered.real, imaginary = 0.0 - filtered.weight * filtered.imaginary;
            if (slot >= 0) {
                real = 0.0 - filtered.weight * wide_real(A.data[slot]);
                imaginary = 0.0 - filtered.weight * wide_imaginary(A.data[slot]);
            }
            rows[at] = (INDEX)row;
            aggregates[at] = number;
            values[at * (IS_COMPLEX ? 2 : 1)] = real;
            if (IS_COMPLEX) values[2 * at + 1] = imaginary;
        });
    }
}

// The weights of l1-Jacobi: `factor` over the sum of each row's magnitudes, with the sign of the diagonal.
extern "C" __global__ void __launch_bounds__(THREADS)
    weigh_rows(Matrix A, double factor, double tiny, VALUE* __restrict__ weights) {
    const Team team;
    EACH_ROW(row, A.n) {
        double total = 0;
        each_slot(A.indptr, row, team, [&](i64 slot, bool valid) {
            total = team.add_in_order(total, valid ? wide_magnitude(A.data[slot]) : 0.0, team.vote(valid));
        });
        total = total >= tiny ? total : 1.0;
        if (team.lane == 0) set_parts(weights[row], factor / (wide_real(A.diagonal[row]) < 0 ? -total : total), 0);
    }
}
