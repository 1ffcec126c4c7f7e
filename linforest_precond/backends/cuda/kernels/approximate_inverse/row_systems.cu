#include "runtime/common.cuh"
#include "runtime/arithmetic.cuh"
#include "approximate_inverse/row_systems.cuh"

// Threads of a block at most.
#define THREADS 128

// Counts of rows that left out dependent columns, and of rows without entries.
enum Report { DEPENDENT_ROWS, EMPTY_ROWS };

#define EACH_ROW(row, rows)                                                                      \
    for (i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / TEAM, end = (rows); row < end; \
         row += (i64)gridDim.x * blockDim.x / TEAM)

// Adds the columns of the largest gains, a few in each round, until the pattern is full or no gain is left.
__device__ __forceinline__ int grow_row(RowSystem& system, const Functional& functional, int entries, double tolerance,
                                        i64 row, double& left, bool& is_dependent) {
    int used = 0, size = 0;
    left = constant_of(functional, row);
    is_dependent = false;
    const double least = LEAST_SHARE * left;
    const int most = functional.triangular ? entries - 1 : entries;
    for (bool is_grown = true; is_grown && size < most && left > least;) {
        used = find_gradient(system, functional, row, used, size);
        find_gains(system, functional, used);
        double bound = tolerance * left, best_gain;
        is_grown = false;
        for (int step = min(STEP, most - size); step > 0; --step) {
            const int slot = best_slot(system, used, bound, best_gain);
            if (slot == NONE) break;
            bound = fmax(bound, SHARE * best_gain);
            const double gain = append(system, functional, row, slot, size, most_gain(functional, left, least));
            is_dependent |= gain < 0;
            if (gain < 0) continue;
            ++size;
            left -= gain;
            is_grown = true;
        }
        solve(system, size);
    }
    return size;
}

// Grows the pattern of every row, and writes its columns, ascending, and values to row-major arrays of `entries` columns.
extern "C" __global__ void __launch_bounds__(THREADS)
    grow_rows(Functional functional, Sizes sizes, double tolerance, INDEX* __restrict__ columns,
              VALUE* __restrict__ values, INDEX* __restrict__ counts, u64* report) {
    extern __shared__ __align__(16) char memory[];
    RowSystem system(memory, sizes);
    const int lane = system.team.lane;
    if (blockIdx.x == 0 && threadIdx.x == 0) counts[0] = 0;
    EACH_ROW(row, functional.n) {
        system.clear();
        double left;
        bool is_dependent;
        const int size = grow_row(system, functional, (int)sizes.entries, tolerance, row, left, is_dependent);
        const double scale = functional.triangular ? 1 / sqrt(left) : 1.0;
        for (int place = lane; place < size; place += TEAM) {
            const INDEX column = system.columns[system.pattern[place]];
            int lower = 0;
            for (int other = 0; other < size; ++other) lower += system.columns[system.pattern[other]] < column;
            columns[row * sizes.entries + lower] = column;
            values[row * sizes.entries + lower] = scaled(system.solution[place], scale);
        }
        if (lane) continue;
        const bool is_empty = !functional.triangular && size == 0;
        const bool has_last = functional.triangular || is_empty;
        if (has_last) {
            columns[row * sizes.entries + size] = (INDEX)row;
            values[row * sizes.entries + size] = from_real(scale);
        }
        counts[row + 1] = (INDEX)(size + has_last);
        if (is_dependent) atomicAdd(report + DEPENDENT_ROWS, 1ull);
        if (is_empty) atomicAdd(report + EMPTY_ROWS, 1ull);
    }
}

// Packs the rows of row-major arrays of `entries` columns into CSR arrays.
extern "C" __global__ void pack_rows(i64 n, i64 entries, const INDEX* __restrict__ columns,
                                     const VALUE* __restrict__ values, const INDEX* __restrict__ indptr,
                                     INDEX* __restrict__ indices, VALUE* __restrict__ data) {
    for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < n * entries; at += (i64)gridDim.x * blockDim.x) {
        const i64 row = at / entries, place = indptr[row] + at % entries;
        if (place >= indptr[row + 1]) continue;
        indices[place] = columns[at];
        data[place] = values[at];
    }
}

// Computes the values of every row on its given pattern; dependent columns get 0.
extern "C" __global__ void __launch_bounds__(THREADS)
    refill_rows(Functional functional, Sizes sizes, const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                VALUE* __restrict__ data, u64* report) {
    extern __shared__ __align__(16) char memory[];
    RowSystem system(memory, sizes);
    const int lane = system.team.lane;
    EACH_ROW(row, functional.n) {
        const i64 begin = indptr[row], last = indptr[row + 1] - 1;
        const int used = (int)(last + 1 - begin - (functional.triangular ? 1 : 0));
        system.clear();
        for (int slot = lane; slot < used; slot += TEAM) system.take_slot(slot, indices[begin + slot]);
        system.team.sync();
        int size = 0;
        double left = constant_of(functional, row);
        const double least = LEAST_SHARE * left;
        for (int slot = 0; slot < used; ++slot) {
            const double gain = append(system, functional, row, slot, size, most_gain(functional, left, least));
            if (gain < 0) continue;
            ++size;
            left -= gain;
        }
        solve(system, size);
        const double scale = functional.triangular ? 1 / sqrt(left) : 1.0;
        for (int slot = lane; slot < used; slot += TEAM) {
            const int place = system.places[slot];
            VALUE value = from_real(size == 0 && system.columns[slot] == row);
            if (place >= 0) value = scaled(system.solution[place], scale);
            data[begin + slot] = value;
        }
        if (lane) continue;
        if (functional.triangular) data[last] = from_real(scale);
        if (size < used) atomicAdd(report + DEPENDENT_ROWS, 1ull);
        if (!functional.triangular && size == 0) atomicAdd(report + EMPTY_ROWS, 1ull);
    }
}

// The squared norm of each row, added up in the order of its entries.
extern "C" __global__ void row_squares(i64 n, const INDEX* __restrict__ indptr, const VALUE* __restrict__ data,
                                       double* __restrict__ squares) {
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n; row += (i64)gridDim.x * blockDim.x) {
        double sum = 0;
        for (i64 at = indptr[row]; at < indptr[row + 1]; ++at) sum += squared(data[at]);
        squares[row] = sum;
    }
}
