// The system of one row of a sparse approximate inverse, in shared memory; see
// backends/cpu/approximate_inverse/row_systems.py, whose sums have the same order. A team of TEAM lanes takes a row. The
// teams of a warp take the same steps, some of them idle: apart, they would run one after the other.

#define NONE -1
#define REJECTED -2
// As in row_systems.py of the CPU backend.
#define STEP 5
#define SHARE 0.3
#define DEPENDENT 1e-13
#define LEAST_SHARE 1e-14
// Chunks of TEAM entries that are loaded before any is used: of several rows, and of one.
#define CHUNKS 4
#define ROW_CHUNKS (TEAM / 8)

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

// The sizes of a system: entries of a row in the result, places of a pattern, slots, slots of the row of S, the binary
// logarithm of the cells of the hash table, and bytes. `is_final`: nothing larger will be tried.
struct Sizes {
    i64 entries, places, capacity, starts, bits, bytes, is_final;
};

__device__ __forceinline__ double squared(double a) { return a * a; }
__device__ __forceinline__ double squared(Complex128 a) { return a.re * a.re + a.im * a.im; }

struct Team {
    int lane, shift;

    __device__ __forceinline__ Team() : lane(threadIdx.x % TEAM), shift(threadIdx.x % 32 / TEAM * TEAM) {}
    // Makes writes to shared memory visible to the team.
    __device__ __forceinline__ void sync() const { __syncwarp(); }
    // The lanes for which `flag` holds, lane 0 in the lowest bit.
    __device__ __forceinline__ u32 vote(bool flag) const {
        return __ballot_sync(FULL_WARP, flag) >> shift & FULL_WARP >> (32 - TEAM);
    }
    // Whether `flag` holds for any team of the warp.
    __device__ __forceinline__ bool any(bool flag) const { return __any_sync(FULL_WARP, flag); }
    // The largest number of the warp's teams.
    __device__ __forceinline__ int largest(int number) const {
        for (int distance = TEAM; distance < 32; distance *= 2) number = max(number, across(number, distance));
        return number;
    }
    template <typename T>
    __device__ __forceinline__ T across(T value, int distance) const {
        return __shfl_xor_sync(FULL_WARP, value, distance);
    }
};

// Slots are numbered in the order in which columns are met, those of the row of S first. The hash table (open
// addressing, linear probing) has the slot of each column, counted from 1; 0 is an empty cell. Rows of the Cholesky
// factor are packed, without the diagonal. `begins` and `ends` are those of the rows of N of the pattern.
struct RowSystem {
    VALUE *gradient, *factor, *right, *solution, *starts;
    double* inverse;
    INDEX *columns, *begins, *ends;
    short* places;
    short* pattern;
    u16* table;
    int capacity, bits;
    Team team;

    __device__ __forceinline__ RowSystem(char* memory, const Sizes& sizes) {
        const int most = (int)sizes.places;
        capacity = (int)sizes.capacity;
        bits = (int)sizes.bits;
        memory += threadIdx.x / TEAM * sizes.bytes;
        gradient = (VALUE*)memory;
        factor = gradient + capacity;
        right = factor + most * (most - 1) / 2;
        solution = right + most;
        starts = solution + most;
        inverse = (double*)(starts + sizes.starts);
        table = (u16*)(inverse + most);  // at least four cells, cleared as 64-bit words
        columns = (INDEX*)(table + (1 << bits));
        begins = columns + capacity;
        ends = begins + most;
        places = (short*)(ends + most);
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

// What a team knows of its row: slots and places in use, slots of the row of S, places whose rows of N have been met,
// and columns of patterns; the value of the functional, and the least one.
struct RowState {
    i64 row, most;
    int used, size, starts, met;
    double left, least;
    bool is_dependent, is_abandoned;

    __device__ __forceinline__ RowState(const Functional& functional, i64 row, bool is_active)
        : row(row), most(functional.triangular ? row : functional.n), used(0), size(0), starts(0), met(0), left(0) {
        if (is_active) left = functional.triangular ? functional.diagonal[row] : 1.0;
        least = LEAST_SHARE * left;
        is_dependent = is_abandoned = false;
    }
};

// The functionals of a definite matrix stay positive; those of least squares may vanish.
__device__ __forceinline__ double most_gain(const Functional& functional, const RowState& state) {
    return functional.triangular ? state.left - state.least : __longlong_as_double(0x7ff0000000000000);
}

// Gives slots to the columns of a row of a matrix that have none, while there are any; the row of S keeps its values.
// Returns how many columns may be in patterns: the first ones.
__device__ __forceinline__ int meet(RowSystem& system, const INDEX* __restrict__ indices,
                                    const VALUE* __restrict__ start_data, const double* __restrict__ diagonal,
                                    i64 begin, i64 end, bool is_final, RowState& state) {
    const Team& team = system.team;
    int possible = 0;
    for (i64 base = begin; team.any(base < end); base += ROW_CHUNKS * TEAM) {
        INDEX columns[ROW_CHUNKS];
        EACH (k, ROW_CHUNKS) {
            const i64 at = base + k * TEAM + team.lane;
            columns[k] = at < end ? indices[at] : (INDEX)NONE;
        }
        EACH (k, ROW_CHUNKS) {
            const INDEX column = columns[k];
            const bool is_valid = column >= 0 && column < state.most;
            const bool is_new = is_valid && system.find(column) == NONE && diagonal[column] > 0;
            possible += __popc(team.vote(is_valid));
            const u32 news = team.vote(is_new);  // all lanes have searched the table before it changes
            const int own = state.used + __popc(news & ((1u << team.lane) - 1));
            if (is_new && own < system.capacity) {
                system.take_slot(own, column);
                if (start_data) system.starts[own] = start_data[base + k * TEAM + team.lane];
            }
            state.used += __popc(news);
            state.is_abandoned |= state.used > system.capacity && !is_final;
            state.used = min(state.used, system.capacity);
            team.sync();
        }
    }
    return possible;
}

// The entries of the rows of N of a pattern, TEAM at a time.
struct PatternRows {
    int place, size;
    i64 base, end;

    __device__ __forceinline__ PatternRows(const RowSystem& system, int size) : size(size) { open(system, 0); }
    __device__ __forceinline__ void open(const RowSystem& system, int next) {
        place = next;
        base = is_over() ? 0 : (i64)system.begins[place];
        end = is_over() ? 0 : (i64)system.ends[place];
    }
    __device__ __forceinline__ bool is_over() const { return place >= size; }
    // A column, NONE past the end of a row, and its term of x N.
    __device__ __forceinline__ void next(const RowSystem& system, const Functional& functional, INDEX& column,
                                         VALUE& term) {
        const i64 at = base + system.team.lane;
        column = (INDEX)NONE;
        if (at < end) {
            column = functional.indices[at];
            term = system.solution[place] * functional.data[at];
        }
        base += TEAM;
        if (base >= end) open(system, place + 1);
    }
};

// gradient = s + x N, in the order of the pattern.
__device__ __forceinline__ void find_gradient(RowSystem& system, const Functional& functional, const RowState& state,
                                              int size) {
    const Team& team = system.team;
    for (int slot = team.lane; slot < state.used; slot += TEAM)
        system.gradient[slot] = slot < state.starts ? system.starts[slot] : VALUE{};
    team.sync();
    for (PatternRows rows(system, size); team.any(!rows.is_over());) {
        INDEX columns[CHUNKS];
        VALUE terms[CHUNKS];
        EACH (k, CHUNKS) rows.next(system, functional, columns[k], terms[k]);
        EACH (k, CHUNKS) {
            const bool is_valid = columns[k] >= 0 && columns[k] < state.most;
            const int slot = is_valid ? system.find(columns[k]) : NONE;
            if (slot != NONE) system.gradient[slot] = system.gradient[slot] + terms[k];
            team.sync();
        }
    }
}

// Replaces gradients by gains.
__device__ __forceinline__ void find_gains(RowSystem& system, const Functional& functional, int used) {
    for (int first = system.team.lane; first < used; first += CHUNKS * TEAM) {
        double diagonal[CHUNKS];
        EACH (k, CHUNKS) {
            const int slot = min(first + k * TEAM, used - 1);
            diagonal[k] = functional.diagonal[system.columns[slot]];
        }
        EACH (k, CHUNKS) {
            const int slot = first + k * TEAM;
            if (slot < used) system.gradient[slot] = from_real(squared(system.gradient[slot]) / diagonal[k]);
        }
    }
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
__device__ __forceinline__ void gather_couplings(const RowSystem& system, const Functional& functional, i64 begin,
                                                 i64 end, i64 most, VALUE* next, int size) {
    const Team& team = system.team;
    for (int place = team.lane; place < size; place += TEAM) next[place] = VALUE{};
    team.sync();
    for (i64 base = begin + team.lane; base < end; base += ROW_CHUNKS * TEAM) {
        INDEX columns[ROW_CHUNKS];
        VALUE values[ROW_CHUNKS];
        EACH (k, ROW_CHUNKS) {
            const i64 at = base + k * TEAM;
            columns[k] = at < end ? functional.indices[at] : (INDEX)NONE;
            if (at < end) values[k] = functional.data[at];
        }
        EACH (k, ROW_CHUNKS) {
            const int slot = columns[k] >= 0 && columns[k] < most ? system.find(columns[k]) : NONE;
            const int place = slot == NONE ? NONE : system.places[slot];
            if (place >= 0) next[place] = conjugate(values[k]);
        }
    }
    team.sync();
}

// The next row of the Cholesky factor, unless `slot` is NONE: then a team is idle. Rejects the column where it depends on
// those of the pattern, or where the functional would fall too much, as the matrix is not definite. Whether it was taken.
__device__ __forceinline__ bool append(RowSystem& system, const Functional& functional, RowState& state, int slot) {
    const Team& team = system.team;
    const bool is_on = slot != NONE;
    const int size = is_on ? state.size : 0;
    const INDEX column = is_on ? system.columns[slot] : (INDEX)0;
    const i64 begin = is_on ? functional.indptr[column] : 0, end = is_on ? functional.indptr[column + 1] : 0;
    VALUE* const next = system.row_of(size);
    gather_couplings(system, functional, begin, end, state.most, next, size);
    VALUE rest = is_on && slot < state.starts ? -system.starts[slot] : VALUE{};
    const double diagonal = functional.diagonal[column];
    double pivot = diagonal;
    for (int place = 0, steps = team.largest(size); place < steps; ++place) {
        if (place < size) {
            const VALUE value = scaled(next[place], system.inverse[place]);
            for (int after = place + 1 + team.lane; after < size; after += TEAM)
                next[after] = next[after] - value * conjugate(system.row_of(after)[place]);
            pivot -= squared(value);
            rest = rest - value * system.right[place];
        }
        team.sync();
    }
    for (int place = team.lane; place < size; place += TEAM) next[place] = scaled(next[place], system.inverse[place]);
    const bool is_independent = is_on && pivot > DEPENDENT * diagonal;
    const double scale = is_independent ? 1 / sqrt(pivot) : 0.0;
    const VALUE value = scaled(rest, scale);
    const double gain = squared(value);
    const bool is_taken = is_independent && gain < most_gain(functional, state);
    if (is_on && team.lane == 0) system.places[slot] = is_taken ? size : REJECTED;
    if (is_taken && team.lane == 0) {
        system.pattern[size] = (short)slot;
        system.inverse[size] = scale;
        system.right[size] = value;
        system.begins[size] = (INDEX)begin;
        system.ends[size] = (INDEX)end;
    }
    team.sync();
    state.is_dependent |= is_on && !is_taken;
    if (!is_taken) return false;
    ++state.size;
    state.left -= gain;
    return true;
}

// x = L^-H right, by columns of L^H from the last one on.
__device__ __forceinline__ void solve(RowSystem& system, int size) {
    const Team& team = system.team;
    for (int place = team.lane; place < size; place += TEAM) system.solution[place] = system.right[place];
    team.sync();
    for (int place = team.largest(size) - 1; place >= 0; --place) {
        if (place < size) {
            const VALUE value = scaled(system.solution[place], system.inverse[place]);
            const VALUE* const below = system.row_of(place);
            for (int before = team.lane; before < place; before += TEAM)
                system.solution[before] = system.solution[before] - conjugate(below[before]) * value;
        }
        team.sync();
    }
    for (int place = team.lane; place < size; place += TEAM)
        system.solution[place] = scaled(system.solution[place], system.inverse[place]);
    team.sync();
}
