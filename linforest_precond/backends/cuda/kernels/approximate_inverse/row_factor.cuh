// Rows of the Cholesky factor of the system of a row, as many as a round adds at once, and solutions with it.

// Finds the slots of the columns of the rows of N after those of the pattern, and puts their entries, conjugated, in the
// columns of the pattern and of the rows before into rows of the factor. The rows end from now on before columns that
// cannot be in patterns. With `is_kept` they get lists of their slots.
__device__ __forceinline__ void gather_couplings(RowSystem& system, const Functional& functional, RowState& state,
                                                 int count, bool is_kept) {
    const Team& team = system.team;
    const int last = state.size + count;
    ROLLED
    for (VALUE* at = system.row_of(state.size) + team.lane; at < system.row_of(last); at += TEAM) *at = VALUE{};
    team.sync();
    int row = NONE, first = 0, possible = 0;
    ROLLED
    for (PatternRows rows(system, state.size, last); team.any(!rows.is_over());) {
        int owners[CHUNKS];
        INDEX columns[CHUNKS];
        VALUE values[CHUNKS];
        EACH (k, CHUNKS) {
            owners[k] = rows.place;
            columns[k] = rows.has_entry() ? functional.indices[rows.entry()] : (INDEX)NONE;
            if (rows.has_entry()) values[k] = functional.data[rows.entry()];
            rows.advance(system);
        }
        team.sync();  // all lanes have read the rows before they change
        EACH (k, CHUNKS) {
            const bool is_valid = columns[k] >= 0 && columns[k] < state.most;
            const u32 valid = team.vote(is_valid);
            if (owners[k] != row) {
                row = owners[k];
                first = state.listed;
                possible = 0;
            }
            const int slot = is_valid ? system.find(columns[k]) : NONE;
            const int place = slot == NONE ? NONE : system.places[slot];
            if (place >= 0 && place < row) system.row_of(row)[place] = conjugate(values[k]);
            const int own = first + possible + team.lane;
            if (is_kept && is_valid && own < system.most_listed) system.lists[own] = (short)slot;
            possible += __popc(valid);
            if (row >= last) continue;
            if (is_kept) state.listed = min(first + possible, system.most_listed + 1);
            if (team.lane) continue;
            system.rows[row].length = possible;
            system.rows[row].first = is_kept && state.listed <= system.most_listed ? first : NONE;
        }
    }
    team.sync();
}

// Solves for the rows of the factor after those of the pattern, in the columns of the pattern. Blocks of TEAM columns:
// a lane has a column, and subtracts those before it from its entries, in their order.
__device__ __forceinline__ void substitute(RowSystem& system, int size, int count) {
    const Team& team = system.team;
    const int steps = team.largest(size);
    ROLLED
    for (int base = 0; base < steps; base += TEAM) {
        const int place = base + team.lane, last = min(steps, base + TEAM);
        const bool is_on = place < size;
        const VALUE* const couplings = system.row_of(is_on ? place : 0);
        VALUE entries[STEP];
        EACH (k, STEP) entries[k] = is_on && k < count ? system.row_of(size + k)[place] : VALUE{};
        ROLLED
        for (int before = 0; before < base; ++before) {
            if (!is_on) break;
            const VALUE coupling = conjugate(couplings[before]);
            EACH (k, STEP)
                if (k < count) entries[k] = entries[k] - system.row_of(size + k)[before] * coupling;
        }
        const double inverse = is_on ? system.inverse[place] : 0.0;
        ROLLED
        for (int before = base; before < last; ++before) {
            const bool is_after = is_on && place > before;
            const VALUE coupling = is_after ? conjugate(couplings[before]) : VALUE{};
            EACH (k, STEP) {
                const VALUE value = team.from(scaled(entries[k], inverse), before - base);
                if (is_after) entries[k] = entries[k] - value * coupling;
            }
        }
        EACH (k, STEP)
            if (is_on && k < count) system.row_of(size + k)[place] = scaled(entries[k], inverse);
        team.sync();
    }
}

// A sum of a round: of the inner products of its k-th and another of its rows, or of products with `right`.
struct Sum {
    int k, other;

    __device__ __forceinline__ explicit Sum(int at) {
        k = at >= PRODUCTS ? at - PRODUCTS : (at >= 1) + (at >= 3) + (at >= 6) + (at >= 10);
        other = at >= PRODUCTS ? NONE : at - k * (k + 1) / 2;
    }
    __device__ __forceinline__ static int of(int k, int other) { return k * (k + 1) / 2 + other; }
};

// The products of the new rows of the factor in the columns of the pattern, subtracted from what they start with:
// diagonals of N, which lane k has for the k-th row, couplings, and the row of -S.
__device__ __forceinline__ void find_sums(RowSystem& system, const RowState& state, int count, double own_diagonal) {
    const Team& team = system.team;
    const int size = state.size;
    ROLLED
    for (int base = 0; base < SUMS; base += TEAM) {
        const int at = base + team.lane;
        const Sum sum(min(at, SUMS - 1));
        const double diagonal = team.from(own_diagonal, sum.k);
        if (at >= SUMS || sum.k >= count) continue;
        const bool is_rest = sum.other == NONE;
        const VALUE* const row = system.row_of(size + sum.k);
        const VALUE* const other = is_rest ? system.right : system.row_of(size + sum.other);
        VALUE value = from_real(diagonal);
        if (is_rest) {
            const int slot = system.pattern[size + sum.k];
            value = slot < state.starts ? -system.starts[slot] : VALUE{};
        } else if (sum.other < sum.k) value = row[size + sum.other];
        _Pragma("unroll 2") for (int place = 0; place < size; ++place) value =
            value - row[place] * (is_rest ? other[place] : conjugate(other[place]));
        system.sums[at] = value;
    }
    team.sync();
}

// Subtracts the products with the k-th row, which has become that of `place`, from the sums of the later ones.
__device__ __forceinline__ void eliminate(RowSystem& system, int k, int first, int place, int count, double scale,
                                          VALUE right) {
    ROLLED
    for (int at = system.team.lane; at < SUMS; at += TEAM) {
        const Sum sum(at);
        if (sum.k <= k || sum.k >= count || (sum.other != NONE && sum.other <= k)) continue;
        const VALUE value = scaled(system.sums[Sum::of(sum.k, k)], scale);
        VALUE factor = right;
        if (sum.other == NONE) system.row_of(first + sum.k)[place] = value;
        else factor = conjugate(scaled(system.sums[Sum::of(sum.other, k)], scale));
        system.sums[at] = system.sums[at] - value * factor;
    }
}

// Makes the row of `from`, with its number of the pivot and of `right`, that of a place at most as high.
__device__ __forceinline__ void place_row(RowSystem& system, int from, int place, double scale, VALUE right) {
    const Team& team = system.team;
    if (from != place) {
        ROLLED
        for (int at = team.lane; at < place; at += TEAM) system.row_of(place)[at] = system.row_of(from)[at];
    }
    if (team.lane) return;
    system.pattern[place] = system.pattern[from];
    system.rows[place] = system.rows[from];
    system.inverse[place] = scale;
    system.right[place] = right;
}

// Takes the new rows of the factor one after the other. Rejects a column where it depends on those before it, or where
// the functional would fall too much, as the matrix is not definite.
__device__ __forceinline__ void take_rows(RowSystem& system, const Functional& functional, RowState& state, int count,
                                          double own_diagonal) {
    const Team& team = system.team;
    const int first = state.size;
    ROLLED
    for (int k = 0; team.any(k < count); ++k) {
        const bool is_on = k < count;
        const int slot = is_on ? system.pattern[first + k] : 0, place = state.size;
        const double pivot = real_part(system.sums[Sum::of(k, k)]), diagonal = team.from(own_diagonal, k);
        const bool is_independent = is_on && pivot > DEPENDENT * diagonal;
        const double scale = is_independent ? 1 / sqrt(pivot) : 0.0;
        const VALUE right = scaled(system.sums[PRODUCTS + k], scale);
        const double gain = squared(right);
        const bool is_taken = is_independent && gain < most_gain(functional, state);
        team.sync();  // all lanes have read the sums and the pattern before they change
        if (is_taken) {
            eliminate(system, k, first, place, count, scale, right);
            place_row(system, first + k, place, scale, right);
            ++state.size;
            state.left -= gain;
        }
        if (is_on && team.lane == 0) system.places[slot] = is_taken ? place : REJECTED;
        state.is_dependent |= is_on && !is_taken;
        team.sync();
    }
}

// Adds the columns that are listed after those of the pattern, where they are independent. A team without any is idle.
__device__ __forceinline__ void append(RowSystem& system, const Functional& functional, RowState& state, int count,
                                       bool is_kept) {
    const Team& team = system.team;
    const int place = state.size + team.lane;
    double own_diagonal = 0;
    if (team.lane < count) {
        const int slot = system.pattern[place];
        const INDEX column = system.columns[slot];
        system.places[slot] = (short)place;
        const INDEX begin = functional.indptr[column];
        system.rows[place] = {begin, (int)(functional.indptr[column + 1] - begin), NONE};
        own_diagonal = functional.diagonal[column];
    }
    team.sync();
    gather_couplings(system, functional, state, count, is_kept);
    substitute(system, state.size, count);
    find_sums(system, state, count, own_diagonal);
    take_rows(system, functional, state, count, own_diagonal);
}

// x = L^-H right, by columns of L^H from the last one on, in blocks of TEAM places.
__device__ __forceinline__ void solve(RowSystem& system, int size) {
    const Team& team = system.team;
    const int steps = team.largest(size);
    ROLLED
    for (int base = (steps - 1) / TEAM * TEAM; steps > 0 && base >= 0; base -= TEAM) {
        const int place = base + team.lane;
        const bool is_on = place < size;
        VALUE entry = is_on ? system.right[place] : VALUE{};
        const double inverse = is_on ? system.inverse[place] : 0.0;
        ROLLED
        for (int after = size - 1; is_on && after >= base + TEAM; --after)
            entry = entry - conjugate(system.row_of(after)[place]) * system.solution[after];
        ROLLED
        for (int after = min(steps, base + TEAM) - 1; after >= base; --after) {
            const VALUE value = team.from(scaled(entry, inverse), after - base);
            if (after < size && place < after) entry = entry - conjugate(system.row_of(after)[place]) * value;
        }
        if (is_on) system.solution[place] = scaled(entry, inverse);
        team.sync();
    }
}
