// Scalars instead of blocks.
#define BLOCK 1
#include "runtime/arithmetic.cuh"
#include "runtime/grid_scan.cuh"
#include "multigrid/row_teams.cuh"
#include "multigrid/strong_couplings.cuh"
#include "multigrid/joined_neighbors.cuh"
#include "multigrid/prolongator_rows.cuh"
#include "multigrid/prolongator_adjoint.cuh"

// Smoothed aggregation: the strong couplings of a matrix, aggregates of unknowns, and the smoothed prolongator. Sums run
// in column order, as on the CPU.

// Terms of a row of the prolongator that a team merges in shared memory; padding keeps teams in different banks.
#define MOST_TERMS (16 * TEAM)
#define PADDED_TERMS (MOST_TERMS + TEAM)

// The words of a setup, zero at first: what the host reads, the grid barrier of each cooperative launch, and the totals
// of grid_scan. BALANCE is a hash sum that is 0 if the strong couplings are symmetric; MOST are the terms of a row of the
// prolongator at most, LONGEST the entries of its longest column.
enum Word { COUNT, BALANCE, MOST, ENTRIES, LONGEST, STRONG_BARRIER, JOIN_BARRIER, COUNT_BARRIER, FILL_BARRIER, TOTALS };

DEVICE u32* barrier_at(u64* words, Word word) { return (u32*)(words + word); }

// The strong couplings of all rows, in one cooperative launch.
KERNEL __launch_bounds__(THREADS)
    find_strong(Couplings couplings, int* columns, int* degrees, double* least, u64* words) {
    u32 generation = 0;
    u32* const barrier = barrier_at(words, STRONG_BARRIER);
    scale_rows(couplings);
    grid_barrier(barrier, generation);
    find_strongest(couplings);
    grid_barrier(barrier, generation);
    const u64 balance = warp_sum(copy_strong(couplings, columns, degrees, least));
    if (threadIdx.x % 32 == 0 && balance) atomicAdd(words + BALANCE, balance);
}

// The strong columns of a symmetrized matrix: those with a positive weight.
KERNEL __launch_bounds__(THREADS) mask_columns(In<INDEX> indptr, In<INDEX> indices, In<float> strong, i64 rows,
                                               int* __restrict__ columns, int* __restrict__ degrees) {
    const Team team;
    GROUP_STRIDE (i64, row, rows, TEAM) {
        int degree = 0;
        each_slot(indptr, row, team, [&](i64 slot, bool valid) {
            const bool wanted = valid && strong[slot] > 0;
            if (valid) columns[slot] = (int)(wanted ? (i64)indices[slot] : row);
            degree += __popc(team.vote(wanted));
        });
        if (team.lane == 0) degrees[row] = degree;
    }
}

// Numbers of the aggregates, in one cooperative launch: the neighbours of a root join it, others the first neighbour
// that did. Roots are the members of the independent set; of unknowns without strong couplings, which are all members,
// those that join none. `ranks` are the numbers of roots, -1 elsewhere, `near` those of roots and their neighbours.
KERNEL __launch_bounds__(THREADS) join_aggregates(Couplings couplings, StrongGraph graph, In<int> members, int* ranks,
                                                  int* near, INDEX* __restrict__ numbers, u64* words) {
    const Team team;
    const i64 n = couplings.matrix.n;
    u32* const barrier = barrier_at(words, JOIN_BARRIER);
    u32 generation = 0;
    GROUP_STRIDE (i64, row, n, TEAM) {
        bool root = members[row];
        if (graph.degrees[row] == 0)
            root = couplings.scales[row] != 0 && joined_column(couplings, graph.degrees, row, team) < 0;
        if (team.lane == 0) ranks[row] = root;
    }
    grid_barrier(barrier, generation);
    const auto is_root = [&](i64 v) { return (u64)ranks[v]; };
    grid_scan(n, words + TOTALS, barrier, generation, is_root, [&](i64 v, u64 before, u64 own) {
        ranks[v] = own ? (int)before : -1;
        if (v == n - 1) words[COUNT] = before + own;
    });
    grid_barrier(barrier, generation);
    GROUP_STRIDE (i64, row, n, TEAM) {
        int number = ranks[row];
        if (number < 0) number = first_number(graph, row, team, [&](i64 v) { return ranks[v]; });
        if (team.lane == 0) near[row] = number;
    }
    grid_barrier(barrier, generation);
    GROUP_STRIDE (i64, row, n, TEAM) {
        int number = near[row];
        if (number < 0) {
            const bool joins = graph.degrees[row] == 0 && couplings.scales[row] != 0;
            const i64 vertex = joins ? max(joined_column(couplings, graph.degrees, row, team), (i64)0) : row;
            number = near[vertex];
            if (number < 0) number = first_number(graph, vertex, team, [&](i64 v) { return near[v]; });
        }
        if (team.lane == 0) numbers[row] = number;
    }
}

// Whether no earlier term has the key of term i.
DEVICE bool is_first(const int* keys, int i) {
    int j = 0;
    while (keys[j] != keys[i]) ++j;
    return j == i;
}

// The row pointers of the prolongator, in one cooperative launch: counts the columns of each row, or all its terms where
// `distinct` is 0 or they are more than MOST_TERMS. `columns` become the numbers of entries of all columns, of which
// there are at most `width`; they are of no use where a row has more than MOST_TERMS terms.
KERNEL __launch_bounds__(THREADS)
    count_columns(Filter filter, In<INDEX> numbers, i64 distinct, INDEX* indptr, u32* columns, i64 width, u64* words) {
    __shared__ int staged[TEAMS][PADDED_TERMS];
    const Team team;
    const i64 n = filter.matrix.n;
    int* const keys = staged[threadIdx.x / TEAM];
    u32* const barrier = barrier_at(words, COUNT_BARRIER);
    u32 generation = 0;
    u64 most = 0, entries = 0, longest = 0;
    GRID_STRIDE (i64, i, width) columns[i] = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) indptr[0] = 0;
    grid_barrier(barrier, generation);
    GROUP_STRIDE (i64, row, n, TEAM) {
        const int terms = each_term(filter, numbers, row, team, [&](int place, i64, int number) {
            if (place < MOST_TERMS) keys[place] = number;
        });
        team.sync();
        int count = terms;
        if (distinct && terms <= MOST_TERMS) {
            count = 0;
            for (int i = team.lane; i < terms; i += TEAM) {
                if (!is_first(keys, i)) continue;
                ++count;
                longest = max(longest, (u64)atomicAdd(columns + keys[i], 1u) + 1);
            }
            count = team.sum(count);
        }
        most = max(most, (u64)terms);
        if (team.lane == 0) {
            indptr[row + 1] = count;
            entries += count;
        }
        team.sync();
    }
    most = warp_max(most);
    longest = warp_max(longest);
    entries = warp_sum(entries);
    if (threadIdx.x % 32 == 0) {
        atomicMax(words + MOST, most);
        atomicMax(words + LONGEST, longest);
        atomicAdd(words + ENTRIES, entries);
    }
    grid_barrier(barrier, generation);
    const auto count_of = [&](i64 row) { return (u64)indptr[row + 1]; };
    grid_scan(n, words + TOTALS, barrier, generation, count_of,
              [&](i64 row, u64 before, u64 own) { indptr[row + 1] = (INDEX)(before + own); });
}

// The terms of a row in shared memory, of which little is used so that rows stay in L1: their aggregates, and the row's
// entries that they are of, counted from 1; 0 is the row's own term. A flag marks the first terms of aggregates.
struct Terms {
    int keys[PADDED_TERMS];
    u16 entries[PADDED_TERMS];
};
#define IS_FIRST 0x8000

// The value of an aggregate's column: its terms from the first one on, added up in order.
DEVICE VALUE column_value(const Terms& terms, int first, int count, In<VALUE> values, const FilteredRow& filtered) {
    const double weight = filtered.weight;
    double real = 0, imaginary = 0;
    for (int j = first; j < count; ++j) {
        if (terms.keys[j] != terms.keys[first]) continue;
        const int entry = terms.entries[j] & ~IS_FIRST;
        if (entry == 0) {
            real = 1.0 - weight * filtered.real;
            imaginary = 0.0 - weight * filtered.imaginary;
        } else {
            const VALUE value = values[entry - 1];
            real -= weight * wide_real(value);
            if (IS_COMPLEX) imaginary -= weight * wide_imaginary(value);
        }
    }
    VALUE sum;
    set_parts(sum, real, imaginary);
    return sum;
}

// Fills the rows of the prolongator, none of which has more than MOST_TERMS terms, and those of its adjoint, in one
// cooperative launch. The first term of each aggregate adds up the others; its place is the number of lower aggregates.
KERNEL __launch_bounds__(THREADS) fill_columns(Filter filter, In<INDEX> numbers, In<INDEX> indptr,
                                               INDEX* __restrict__ indices, VALUE* data, Adjoint adjoint, u64* words) {
    __shared__ Terms staged[TEAMS];
    const Team team;
    Terms& terms = staged[threadIdx.x / TEAM];
    const Matrix& A = filter.matrix;
    u32* const barrier = barrier_at(words, FILL_BARRIER);
    u32 generation = 0;
    if (adjoint.indptr) point_to_columns(adjoint, words + TOTALS, barrier, generation);
    GROUP_STRIDE (i64, row, A.n, TEAM) {
        const i64 begin = A.indptr[row];
        const FilteredRow filtered = filtered_row(filter, row, team);
        const int count = each_term(filter, numbers, row, team, [&](int place, i64 slot, int number) {
            terms.keys[place] = number;
            terms.entries[place] = (u16)(slot < 0 ? 0 : slot - begin + 1);
        });
        team.sync();
        for (int i = team.lane; i < count; i += TEAM)
            if (is_first(terms.keys, i)) terms.entries[i] |= IS_FIRST;
        team.sync();
        for (int i = team.lane; i < count; i += TEAM) {
            if (!(terms.entries[i] & IS_FIRST)) continue;
            const int key = terms.keys[i];
            int lower = 0;
            for (int j = 0; j < count; ++j) lower += terms.keys[j] < key && terms.entries[j] & IS_FIRST;
            const i64 slot = indptr[row] + lower;
            indices[slot] = key;
            data[slot] = column_value(terms, i, count, A.data + begin, filtered);
            if (adjoint.indptr) scatter(adjoint, key, slot, row);
        }
        team.sync();
    }
    if (!adjoint.indptr) return;
    grid_barrier(barrier, generation);
    sort_columns(adjoint, data, A.n);
}

// The values of the prolongator on its known pattern. No row of the matrix has more than MOST_TERMS entries: the
// aggregates of kept couplings are staged, -1 for others, and each lane adds up the terms of a column, in order.
KERNEL __launch_bounds__(THREADS)
    fill_values(Filter filter, In<INDEX> numbers, In<INDEX> indptr, In<INDEX> indices, VALUE* __restrict__ data) {
    __shared__ int staged[TEAMS][PADDED_TERMS];
    const Team team;
    int* const keys = staged[threadIdx.x / TEAM];
    const Matrix& A = filter.matrix;
    GROUP_STRIDE (i64, row, A.n, TEAM) {
        const i64 begin = A.indptr[row];
        const int length = (int)(A.indptr[row + 1] - begin);
        const FilteredRow filtered = filtered_row(filter, row, team);
        for (int i = team.lane; i < length; i += TEAM)
            keys[i] = filter.known[begin + i] ? (int)numbers[clamped(A.indices[begin + i], A.n)] : -1;
        team.sync();
        const int own = (int)numbers[row];
        for (i64 place = indptr[row] + team.lane; place < indptr[row + 1]; place += TEAM) {
            const int key = (int)indices[place];
            double real = 0, imaginary = 0;
            if (key == own) {
                real = 1.0 - filtered.weight * filtered.real;
                imaginary = 0.0 - filtered.weight * filtered.imaginary;
            }
            for (int i = 0; i < length; ++i) {
                if (keys[i] != key) continue;
                const VALUE value = A.data[begin + i];
                real -= filtered.weight * wide_real(value);
                if (IS_COMPLEX) imaginary -= filtered.weight * wide_imaginary(value);
            }
            set_parts(data[place], real, imaginary);
        }
        team.sync();
    }
}

// The terms of all rows as triplets, in order, for matrices with rows of more than MOST_TERMS terms. `begins` says where
// those of each row begin; values are in double precision, with their imaginary parts where there are any.
KERNEL __launch_bounds__(THREADS)
    write_terms(Filter filter, In<INDEX> numbers, In<INDEX> begins, INDEX* __restrict__ rows,
                INDEX* __restrict__ aggregates, double* __restrict__ values) {
    const Team team;
    const Matrix& A = filter.matrix;
    GROUP_STRIDE (i64, row, A.n, TEAM) {
        const FilteredRow filtered = filtered_row(filter, row, team);
        each_term(filter, numbers, row, team, [&](int place, i64 slot, int number) {
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

// The weights of l1-Jacobi: `factor` over the sum of each row's magnitudes, with the sign of the diagonal; of single
// precision where they are `narrow`.
KERNEL __launch_bounds__(THREADS)
    weigh_rows(Matrix A, double factor, double tiny, i64 narrow, void* __restrict__ weights) {
    const Team team;
    GROUP_STRIDE (i64, row, A.n, TEAM) {
        double total = 0;
        each_slot(A.indptr, row, team, [&](i64 slot, bool valid) {
            total = team.add_in_order(total, valid ? wide_magnitude(A.data[slot]) : 0.0, team.vote(valid));
        });
        total = total >= tiny ? total : 1.0;
        const double weight = factor / (wide_real(A.diagonal[row]) < 0 ? -total : total);
        if (team.lane) continue;
        if (narrow) set_parts(((Narrow<VALUE>::Type*)weights)[row], weight, 0);
        else set_parts(((VALUE*)weights)[row], weight, 0);
    }
}
