// Rows of the Cholesky factor of the system of a row, as many as a round adds at once, and solutions with it.

// The entries of the rows of N after those of the pattern, one row after the other.
struct NewRows {
    int ends[STEP];  // entries up to the end of each row

    // Lane k knows the length of the k-th row.
    DEVICE NewRows(const Team& team, int length) {
        EACH (k, STEP) ends[k] = (k ? ends[k - 1] : 0) + team.from(length, k);
    }
    DEVICE int total() const { return ends[STEP - 1]; }
    DEVICE int end_of(int row) const {
        int end = ends[0];
        EACH (k, STEP - 1)
            if (row > k) end = ends[k + 1];
        return end;
    }
    // The row of an entry, and where that begins and ends.
    DEVICE int owner(int entry, int& begin, int& end) const {
        int row = begin = 0;
        end = ends[0];
        EACH (k, STEP - 1)
            if (entry >= ends[k]) row = k + 1, begin = ends[k], end = ends[k + 1];
        return row;
    }
};

// Finds the slots of the columns of the rows of N after those of the pattern, and puts their entries, conjugated, in the
// columns of the pattern and of the rows before into rows of the factor. The rows end before columns that cannot be in
// patterns. With `is_kept` they get lists of their slots. Lane k knows where the k-th row begins, and its length.
DEVICE void gather_couplings(RowSystem& system, const Functional& functional, RowState& state, int count, INDEX begin,
                             int length, bool is_kept) {
    const Team& team = system.team;
    const NewRows rows(team, length);
    const int total = rows.total(), last = state.size + count;
    ROLLED
    for (VALUE* at = system.row_of(state.size) + team.lane; at < system.row_of(last); at += TEAM) *at = VALUE{};
    if (team.lane < count) {
        const int end = state.listed + rows.end_of(team.lane);
        const int list = is_kept && end <= system.most_listed ? end - length : NONE;
        system.rows[state.size + team.lane] = {begin, list, 0};
    }
    if (is_kept) state.listed = min(state.listed + total, system.most_listed + 1);
    team.sync();
    ROLLED
    for (int base = 0; team.any(base < total); base += CHUNKS * TEAM) {
        int owners[CHUNKS], offsets[CHUNKS], lists[CHUNKS];
        bool are_last[CHUNKS];
        INDEX columns[CHUNKS];
        VALUE values[CHUNKS];
        EACH (k, CHUNKS) {
            const int entry = base + k * TEAM + team.lane;
            int first, end;
            owners[k] = state.size + rows.owner(entry, first, end);
            offsets[k] = entry - first;
            are_last[k] = entry + 1 == end;
            columns[k] = (INDEX)NONE;
            if (entry >= total) continue;
            const PatternRow& row = system.rows[owners[k]];
            const i64 at = (i64)row.begin + offsets[k];
            lists[k] = row.first;
            columns[k] = functional.indices[at];
            values[k] = functional.data[at];
        }
        EACH (k, CHUNKS) {
            const bool is_valid = columns[k] >= 0 && columns[k] < state.most;
            const u32 valid = team.vote(is_valid);
            if (!is_valid) continue;
            const int slot = system.find(columns[k]), place = slot == NONE ? NONE : system.places[slot];
            if (place >= 0 && place < owners[k]) system.row_of(owners[k])[place] = conjugate(values[k]);
            if (lists[k] != NONE) system.lists[lists[k] + offsets[k]] = (short)slot;
            // The last valid entry of a row among those of the lanes.
            if (are_last[k] || !(valid >> team.lane >> 1 & 1))
                atomicMax(&system.rows[owners[k]].length, offsets[k] + 1);
        }
    }
    team.sync();
}

// Solves for the rows of the factor after those of the pattern, in the columns of the pattern. Blocks of TEAM columns:
// a lane has a column, and subtracts those before it from its entries, in their order.
DEVICE void substitute(RowSystem& system, int size, int count) {
    const Team& team = system.team;
    const int steps = team.largest(size), most = team.largest(count);
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
                if (k >= most) break;
                const VALUE value = team.from(scaled(entries[k], inverse), before - base);
                if (is_after) entries[k] = entries[k] - value * coupling;
            }
        }
        EACH (k, STEP)
            if (is_on && k < count) system.row_of(size + k)[place] = scaled(entries[k], inverse);
        team.sync();
    }
}

// What lane k knows of the k-th new row: its product with `right`, and the diagonal of N. `products` has its inner
// products with the new rows up to itself.
struct NewRow {
    VALUE rest;
    double diagonal;
};

// The products of the new rows of the factor in the columns of the pattern, subtracted from what they start with:
// diagonals of N, couplings, and the row of -S.
DEVICE void find_products(RowSystem& system, const RowState& state, int count, NewRow& own) {
    const int size = state.size, k = system.team.lane, most = system.team.largest(count);
    if (k >= count) return;
    const VALUE* const row = system.row_of(size + k);
    const int slot = system.pattern[size + k];
    own.rest = slot < state.starts ? -system.starts[slot] : VALUE{};
    const VALUE* others[STEP];
    VALUE products[STEP];
    EACH (other, STEP) {
        others[other] = system.row_of(size + min(other, k));
        products[other] = other < k ? row[size + other] : from_real(own.diagonal);
    }
    ROLLED
    for (int place = 0; place < size; ++place) {
        const VALUE entry = row[place];
        EACH (other, STEP) {
            if (other >= most) break;
            products[other] = products[other] - entry * conjugate(others[other][place]);
        }
        own.rest = own.rest - entry * system.right[place];
    }
    EACH (other, STEP) system.products[other * STEP + k] = products[other];
}

// Subtracts the products with the k-th row, where that is taken for `place`, from those of the later ones.
DEVICE void eliminate(RowSystem& system, int k, int first, int place, int count, int most, double scale, VALUE right,
                      bool is_taken, NewRow& own) {
    const Team& team = system.team;
    const bool is_later = is_taken && team.lane > k && team.lane < count;
    const VALUE value = is_later ? scaled(system.products[k * STEP + team.lane], scale) : VALUE{};
    ROLLED
    for (int other = k + 1; other < most; ++other) {
        const VALUE factor = conjugate(team.from(value, other));
        VALUE* const product = system.products + other * STEP + team.lane;
        if (is_later && team.lane >= other) *product = *product - value * factor;
    }
    if (!is_later) return;
    own.rest = own.rest - value * right;
    system.row_of(first + team.lane)[place] = value;
}

// Makes the row of `from`, with its number of the pivot and of `right`, that of a place at most as high.
DEVICE void place_row(RowSystem& system, int from, int place, double scale, VALUE right) {
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
DEVICE void take_rows(RowSystem& system, const Functional& functional, RowState& state, int count, NewRow& own) {
    const Team& team = system.team;
    const int first = state.size, most = team.largest(count);
    ROLLED
    for (int k = 0; k < most; ++k) {
        const bool is_on = k < count;
        const int slot = is_on ? system.pattern[first + k] : 0, place = state.size;
        const double pivot = real_part(system.products[k * STEP + k]), diagonal = team.from(own.diagonal, k);
        const bool is_independent = is_on && pivot > DEPENDENT * diagonal;
        const double scale = is_independent ? 1 / sqrt(pivot) : 0.0;
        const VALUE right = scaled(team.from(own.rest, k), scale);
        const double gain = squared(right);
        const bool is_taken = is_independent && gain < most_gain(functional, state);
        team.sync();  // all lanes have read the products and the pattern before they change
        eliminate(system, k, first, place, count, most, scale, right, is_taken, own);
        if (is_taken) {
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
DEVICE void append(RowSystem& system, const Functional& functional, RowState& state, int count, bool is_kept) {
    const Team& team = system.team;
    if (!team.any(count > 0)) return;
    NewRow own = {};
    INDEX begin = 0;
    int length = 0;
    if (team.lane < count) {
        const int place = state.size + team.lane, slot = system.pattern[place];
        const INDEX column = system.columns[slot];
        system.places[slot] = (short)place;
        begin = functional.indptr[column];
        length = (int)(functional.indptr[column + 1] - begin);
        own.diagonal = functional.diagonal[column];
    }
    gather_couplings(system, functional, state, count, begin, length, is_kept);
    substitute(system, state.size, count);
    find_products(system, state, count, own);
    team.sync();
    take_rows(system, functional, state, count, own);
}

// x = L^-H right, by columns of L^H from the last one on, in blocks of TEAM places.
DEVICE void solve(RowSystem& system, int size) {
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
