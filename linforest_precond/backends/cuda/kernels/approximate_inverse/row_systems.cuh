// The system of one row of a sparse approximate inverse, in shared memory; see
// backends/cpu/approximate_inverse/row_systems.py, whose sums have the same order. A team of TEAM lanes takes a row.

#define NONE -1
#define REJECTED -2
// As in row_systems.py of the CPU backend.
#define STEP 5
#define SHARE 0.3
#define DEPENDENT 1e-13
#define LEAST_SHARE 1e-14

struct Functional {
    const INDEX* indptr;
    const INDEX* indices;
    const VALUE* data;
    const INDEX* start_indptr;
    const INDEX* start_indices;
    const VALUE* start_data;
    const double* diagonal;
    i64 n, triangular;
};

// The sizes of a system: entries of a pattern, slots, the binary logarithm of the cells of the hash table, and bytes.
struct Sizes {
    i64 entries, capacity, bits, bytes;
};

__device__ __forceinline__ double squared(double a) { return a * a; }
__device__ __forceinline__ double squared(Complex128 a) { return a.re * a.re + a.im * a.im; }

struct Team {
    int lane, shift;
    u32 mask;

    __device__ __forceinline__ Team()
        : lane(threadIdx.x % TEAM),
          shift(threadIdx.x % 32 / TEAM * TEAM),
          mask((TEAM == 32 ? FULL_WARP : (1u << TEAM % 32) - 1) << shift) {}
    // Makes writes to shared memory visible to the team.
    __device__ __forceinline__ void sync() const { __syncwarp(mask); }
    // The lanes for which `flag` holds, lane 0 in the lowest bit.
    __device__ __forceinline__ u32 vote(bool flag) const { return (__ballot_sync(mask, flag) & mask) >> shift; }
    template <typename T>
    __device__ __forceinline__ T across(T value, int distance) const {
        return __shfl_xor_sync(mask, value, distance);
    }
};

// Slots are numbered in the order in which columns are met. The hash table (open addressing, linear probing) has the
// slot of each column, counted from 1; 0 is an empty cell. Rows of the Cholesky factor are packed, without the diagonal.
struct RowSystem {
    VALUE *gradient, *factor, *right, *solution;
    double* inverse;
    INDEX* columns;
    short* places;
    short* pattern;
    u16* table;
    int capacity, bits;
    Team team;

    __device__ __forceinline__ RowSystem(char* memory, const Sizes& sizes) {
        const int entries = (int)sizes.entries;
        capacity = (int)sizes.capacity;
        bits = (int)sizes.bits;
        memory += threadIdx.x / TEAM * sizes.bytes;
        gradient = (VALUE*)memory;
        factor = gradient + capacity;
        right = factor + entries * (entries - 1) / 2;
        solution = right + entries;
        inverse = (double*)(solution + entries);
        table = (u16*)(inverse + entries);  // at least four cells, cleared as 64-bit words
        columns = (INDEX*)(table + (1 << bits));
        places = (short*)(columns + capacity);
        pattern = places + capacity;
    }
    __device__ __forceinline__ VALUE* row_of(int place) const { return factor + place * (place - 1) / 2; }

    __device__ __forceinline__ u32 first_cell(INDEX column) const { return (u32)column * 2654435769u >> (32 - bits); }
    __device__ __forceinline__ u32 next_cell(u32 cell) const { return (cell + 1) & ((1u << bits) - 1); }

    // The slot of a column, or NONE.
    __device__ __forceinline__ int find(INDEX column) const {
        for (u32 cell = first_cell(column);; cell = next_cell(cell)) {
            const int slot = (int)table[cell] - 1;
            if (slot < 0 || columns[slot] == column) return slot;
        }
    }
    // Gives a column that has none a slot. Lanes may do so at once, for different columns.
    __device__ __forceinline__ void take_slot(int slot, INDEX column) {
        columns[slot] = column;
        gradient[slot] = VALUE{};
        places[slot] = NONE;
        u32 cell = first_cell(column);
        while (atomicCAS(table + cell, (u16)0, (u16)(slot + 1)) != 0) cell = next_cell(cell);
    }
    __device__ __forceinline__ void clear() {
        team.sync();
        for (int i = team.lane; i < 1 << bits >> 2; i += TEAM) ((u64*)table)[i] = 0;
        team.sync();
    }
};

__device__ __forceinline__ double constant_of(const Functional& functional, i64 row) {
    return functional.triangular ? functional.diagonal[row] : 1.0;
}

// The functionals of a definite matrix stay positive; those of least squares may vanish.
__device__ __forceinline__ double most_gain(const Functional& functional, double left, double least) {
    return functional.triangular ? left - least : __longlong_as_double(0x7ff0000000000000);
}

// gradient += factor (row of a matrix), in columns below `most`; new columns get slots while there are any.
__device__ __forceinline__ int add_row(RowSystem& system, const INDEX* __restrict__ indptr,
                                       const INDEX* __restrict__ indices, const VALUE* __restrict__ data,
                                       const double* __restrict__ diagonal, i64 row, VALUE factor, i64 most, int used) {
    const Team& team = system.team;
    const i64 end = indptr[row + 1];
    for (i64 base = indptr[row]; base < end; base += TEAM) {
        const i64 at = base + team.lane;
        const INDEX column = at < end ? indices[at] : (INDEX)0;
        const bool is_valid = at < end && column < most;
        const VALUE value = is_valid ? data[at] : VALUE{};
        int slot = is_valid ? system.find(column) : NONE;
        const bool is_new = is_valid && slot == NONE && diagonal[column] > 0;
        const u32 news = team.vote(is_new);  // all lanes have searched the table before it changes
        const int own = used + __popc(news & ((1u << team.lane) - 1));
        if (is_new && own < system.capacity) {
            slot = own;
            system.take_slot(slot, column);
        }
        used = min(system.capacity, used + __popc(news));
        if (slot != NONE) system.gradient[slot] = system.gradient[slot] + factor * value;
        team.sync();
    }
    return used;
}

// gradient = s + x N, in the order of the pattern.
__device__ __forceinline__ int find_gradient(RowSystem& system, const Functional& f, i64 row, int used, int size) {
    const Team& team = system.team;
    for (int slot = team.lane; slot < used; slot += TEAM) system.gradient[slot] = VALUE{};
    team.sync();
    const i64 most = f.triangular ? row : f.n;
    used = add_row(system, f.start_indptr, f.start_indices, f.start_data, f.diagonal, row, from_real(1), most, used);
    for (int place = 0; place < size; ++place) {
        const INDEX column = system.columns[system.pattern[place]];
        used = add_row(system, f.indptr, f.indices, f.data, f.diagonal, column, system.solution[place], most, used);
    }
    return used;
}

// Replaces gradients by gains.
__device__ __forceinline__ void find_gains(RowSystem& system, const Functional& functional, int used) {
    for (int slot = system.team.lane; slot < used; slot += TEAM)
        system.gradient[slot] = from_real(squared(system.gradient[slot]) / functional.diagonal[system.columns[slot]]);
    system.team.sync();
}

// The slot of the largest gain above a bound that is not in the pattern; of equal gains, of the lowest column.
__device__ __forceinline__ int best_slot(const RowSystem& system, int used, double bound, double& gain) {
    int best = NONE;
    gain = 0;
    const auto compare = [&](int slot, double own) {
        if (slot == NONE || !(own > bound)) return;
        if (best == NONE || own > gain || (own == gain && system.columns[slot] < system.columns[best])) {
            best = slot;
            gain = own;
        }
    };
    for (int slot = system.team.lane; slot < used; slot += TEAM)
        if (system.places[slot] == NONE) compare(slot, real_part(system.gradient[slot]));
    for (int half = TEAM / 2; half > 0; half /= 2) {
        const double other_gain = system.team.across(gain, half);
        const int other = system.team.across(best, half);
        compare(other, other_gain);
    }
    return best;
}

// The entries of a row of N in the columns of the pattern, conjugated.
__device__ __forceinline__ void gather_couplings(const RowSystem& system, const Functional& functional, INDEX column,
                                                 VALUE* next, int size) {
    const Team& team = system.team;
    for (int place = team.lane; place < size; place += TEAM) next[place] = VALUE{};
    team.sync();
    const i64 end = functional.indptr[column + 1];
    for (i64 at = functional.indptr[column] + team.lane; at < end; at += TEAM) {
        const int slot = system.find(functional.indices[at]);
        if (slot != NONE && system.places[slot] >= 0) next[system.places[slot]] = conjugate(functional.data[at]);
    }
    team.sync();
}

// The next row of the Cholesky factor. Returns by how much the functional falls, or -1 where the column depends on those
// of the pattern, or where the functional would fall by `most`, as the matrix is not definite.
__device__ __forceinline__ double append(RowSystem& system, const Functional& functional, i64 row, int slot, int size,
                                         double most) {
    const Team& team = system.team;
    const INDEX column = system.columns[slot];
    VALUE* const next = system.row_of(size);
    gather_couplings(system, functional, column, next, size);
    VALUE rest =
        -stored_value(functional.start_indptr, functional.start_indices, functional.start_data, (INDEX)row, column);
    const double diagonal = functional.diagonal[column];
    double pivot = diagonal;
    for (int place = 0; place < size; ++place) {
        const VALUE value = scaled(next[place], system.inverse[place]);
        for (int after = place + 1 + team.lane; after < size; after += TEAM)
            next[after] = next[after] - value * conjugate(system.row_of(after)[place]);
        pivot -= squared(value);
        rest = rest - value * system.right[place];
        team.sync();
    }
    for (int place = team.lane; place < size; place += TEAM) next[place] = scaled(next[place], system.inverse[place]);
    const bool is_independent = pivot > DEPENDENT * diagonal;
    const double scale = is_independent ? 1 / sqrt(pivot) : 0.0;
    const VALUE value = scaled(rest, scale);
    const double gain = squared(value);
    const bool is_taken = is_independent && gain < most;
    if (team.lane == 0) {
        system.places[slot] = is_taken ? size : REJECTED;
        if (is_taken) {
            system.pattern[size] = (short)slot;
            system.inverse[size] = scale;
            system.right[size] = value;
        }
    }
    team.sync();
    return is_taken ? gain : -1.0;
}

// x = L^-H right, by columns of L^H from the last one on.
__device__ __forceinline__ void solve(RowSystem& system, int size) {
    const Team& team = system.team;
    for (int place = team.lane; place < size; place += TEAM) system.solution[place] = system.right[place];
    team.sync();
    for (int place = size - 1; place >= 0; --place) {
        const VALUE value = scaled(system.solution[place], system.inverse[place]);
        const VALUE* const below = system.row_of(place);
        for (int before = team.lane; before < place; before += TEAM)
            system.solution[before] = system.solution[before] - conjugate(below[before]) * value;
        team.sync();
    }
    for (int place = team.lane; place < size; place += TEAM)
        system.solution[place] = scaled(system.solution[place], system.inverse[place]);
    team.sync();
}
