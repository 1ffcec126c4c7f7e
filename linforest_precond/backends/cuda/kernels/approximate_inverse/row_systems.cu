#include "runtime/arithmetic.cuh"
#include "approximate_inverse/row_systems.cuh"
#include "approximate_inverse/candidates.cuh"
#include "approximate_inverse/row_factor.cuh"

// Threads of a block at most.
#define THREADS 128
// Blocks of a multiprocessor at least: the compiler has registers for as many.
#define BLOCKS 6

// Counts of rows that left out dependent columns, of rows without entries, and of rows whose system was too small; the
// most places, slots, slots of the row of S and slots in lists that a row of a sample used.
enum Report { DEPENDENT_ROWS, EMPTY_ROWS, ABANDONED_ROWS, MOST_PLACES, MOST_SLOTS, MOST_STARTS, MOST_LISTED };

// The rows to take: those of a list whose length is on the device, or one of each `stride`, as a hash says.
struct Rows {
    const INDEX* list;
    const u64* length;
    i64 stride;
};

#define TEAMS (32 / TEAM)
// A row for each team of a warp; `at` may be past the end for some of them.
#define EACH_ROW(at, rows)                                                                                            \
    for (i64 first = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32 * TEAMS, at = first + threadIdx.x % 32 / TEAM, \
             step = (i64)gridDim.x * blockDim.x / TEAM;                                                               \
         first < (rows); first += step, at += step)

// Adds the columns of the largest gains, a few in each round, until the pattern is full or no gain is left. A row for
// which the system is too small is abandoned, unless nothing larger will be tried.
DEVICE void grow_row(RowSystem& system, const Functional& f, const Sizes& sizes, double tolerance, bool is_active,
                     RowState& state) {
    const Team& team = system.team;
    const INDEX begin = is_active ? f.start_indptr[state.row] : 0, end = is_active ? f.start_indptr[state.row + 1] : 0;
    const int most = sizes.entries - (f.triangular ? 1 : 0);
    bool is_open = is_active && most > 0 && state.left > state.least;
    meet(system, f.start_indices, f.start_data, f.diagonal, begin, (int)(end - begin), (short*)0, sizes.starts,
         sizes.is_final, state);
    state.starts = state.used;
    while (team.any(is_open)) {
        meet_columns(system, f, sizes.is_final, is_open, state);
        is_open = is_open && !state.is_abandoned;
        const int before = state.size, used = is_open ? state.used : 0, places = sizes.places;
        find_gradient(system, f, state, is_open ? before : 0);
        find_gains(system, f, used);
        int count = choose(system, used, before, places, min(STEP, most - before), tolerance * state.left);
        if (before + count > places) {
            state.is_abandoned = true;
            count = 0;
        }
        append(system, f, state, count, before + count < most);
        if (team.any(state.size > before)) solve(system, used ? state.size : 0);
        is_open = is_open && state.size > before && state.size < most && state.left > state.least;
    }
}

// Writes the columns, ascending, and values of a row to row-major arrays of `entries` columns.
DEVICE void write_row(const RowSystem& system, const Functional& functional, const RowState& state, i64 entries,
                      INDEX* __restrict__ columns, VALUE* __restrict__ values, INDEX* __restrict__ counts,
                      u64* report) {
    const i64 row = state.row;
    const int size = state.size;
    const double scale = functional.triangular ? 1 / sqrt(state.left) : 1.0;
    ROLLED
    for (int place = system.team.lane; place < size; place += TEAM) {
        const INDEX column = system.columns[system.pattern[place]];
        int lower = 0;
        ROLLED
        for (int other = 0; other < size; ++other) lower += system.columns[system.pattern[other]] < column;
        columns[row * entries + lower] = column;
        values[row * entries + lower] = scaled(system.solution[place], scale);
    }
    if (system.team.lane) return;
    const bool is_empty = !functional.triangular && size == 0;
    const bool has_last = functional.triangular || is_empty;
    if (has_last) {
        columns[row * entries + size] = (INDEX)row;
        values[row * entries + size] = from_real(scale);
    }
    counts[row + 1] = (INDEX)(size + has_last);
    if (state.is_dependent) atomicAdd(report + DEPENDENT_ROWS, 1ull);
    if (is_empty) atomicAdd(report + EMPTY_ROWS, 1ull);
}

// Grows the pattern of each of the rows, and lists those whose system was too small.
KERNEL __launch_bounds__(THREADS, BLOCKS)
    grow_rows(Functional functional, Sizes sizes, Rows rows, double tolerance, INDEX* __restrict__ columns,
              VALUE* __restrict__ values, INDEX* __restrict__ counts, INDEX* __restrict__ abandoned, u64* report) {
    extern __shared__ __align__(16) char memory[];
    RowSystem system(memory, sizes);
    const i64 length = rows.list ? (i64)*rows.length : functional.n / rows.stride;
    EACH_ROW(at, length) {
        const bool is_active = at < length;
        const i64 row = !is_active  ? 0
                        : rows.list ? (i64)rows.list[at]
                                    : at * rows.stride + (u32)at * 2654435769u % rows.stride;
        system.clear();
        RowState state(functional, row, is_active);
        grow_row(system, functional, sizes, tolerance, is_active, state);
        if (!is_active) continue;
        if (!state.is_abandoned) write_row(system, functional, state, sizes.entries, columns, values, counts, report);
        else if (system.team.lane == 0) abandoned[atomicAdd(report + ABANDONED_ROWS, 1ull)] = (INDEX)row;
        if (rows.stride > 1 && system.team.lane == 0) {
            atomicMax(report + MOST_PLACES, (u64)state.size);
            atomicMax(report + MOST_SLOTS, (u64)state.used);
            atomicMax(report + MOST_STARTS, (u64)state.starts);
            atomicMax(report + MOST_LISTED, (u64)state.listed);
        }
    }
}

// Packs the rows of row-major arrays of `entries` columns into CSR arrays.
KERNEL pack_rows(i64 n, i64 entries, In<INDEX> columns, In<VALUE> values, In<INDEX> indptr, INDEX* __restrict__ indices,
                 VALUE* __restrict__ data) {
    GRID_STRIDE (i64, at, n * entries) {
        const i64 row = at / entries, place = indptr[row] + at % entries;
        if (place >= indptr[row + 1]) continue;
        indices[place] = columns[at];
        data[place] = values[at];
    }
}

// Computes the values of every row on its given pattern; dependent columns get 0.
KERNEL __launch_bounds__(THREADS, BLOCKS) refill_rows(Functional functional, Sizes sizes, In<INDEX> indptr,
                                                      In<INDEX> indices, VALUE* __restrict__ data, u64* report) {
    extern __shared__ __align__(16) char memory[];
    RowSystem system(memory, sizes);
    const Team& team = system.team;
    EACH_ROW(row, functional.n) {
        const bool is_active = row < functional.n;
        const i64 begin = is_active ? indptr[row] : 0, end = is_active ? indptr[row + 1] : 0;
        const int used = max(0, (int)(end - begin - (functional.triangular ? 1 : 0)));
        RowState state(functional, is_active ? row : 0, is_active);
        state.used = state.starts = used;
        system.clear();
        for (int slot = team.lane; slot < used; slot += TEAM) {
            const INDEX column = indices[begin + slot];
            system.take_slot(slot, column);
            system.starts[slot] = stored_value(functional.start_indptr, functional.start_indices, functional.start_data,
                                               (INDEX)row, column);
        }
        team.sync();
        for (int slot = 0; team.any(slot < used); slot += STEP) {
            const int count = max(0, min(STEP, used - slot));
            if (team.lane < count) system.pattern[state.size + team.lane] = (short)(slot + team.lane);
            team.sync();
            append(system, functional, state, count, false);
        }
        solve(system, state.size);
        const double scale = functional.triangular ? 1 / sqrt(state.left) : 1.0;
        for (int slot = team.lane; slot < used; slot += TEAM) {
            const int place = system.places[slot];
            VALUE value = from_real(state.size == 0 && system.columns[slot] == row);
            if (place >= 0) value = scaled(system.solution[place], scale);
            data[begin + slot] = value;
        }
        if (!is_active || team.lane) continue;
        if (functional.triangular) data[end - 1] = from_real(scale);
        if (state.size < used) atomicAdd(report + DEPENDENT_ROWS, 1ull);
        if (!functional.triangular && state.size == 0) atomicAdd(report + EMPTY_ROWS, 1ull);
    }
}

// The squared norm of each row, added up in the order of its entries.
KERNEL row_squares(i64 n, In<INDEX> indptr, In<VALUE> data, double* __restrict__ squares) {
    GRID_STRIDE (i64, row, n) {
        double sum = 0;
        for (i64 at = indptr[row]; at < indptr[row + 1]; ++at) sum += squared(data[at]);
        squares[row] = sum;
    }
}
