// The columns that may join the pattern of a row, their gains, and the choice of the best of them.

// Gives slots below `capacity` to the columns of TEAM entries that have none, in their order; a lane without an entry has
// the column NONE. Returns the slot of the column, or NONE.
__device__ __forceinline__ int meet(RowSystem& system, INDEX column, double diagonal, int capacity, bool is_final,
                                    RowState& state) {
    const Team& team = system.team;
    int slot = column == (INDEX)NONE ? NONE : system.find(column);
    const bool is_new = column != (INDEX)NONE && slot == NONE && diagonal > 0;
    const u32 news = team.vote(is_new);
    team.sync();  // all lanes have searched the table before it changes
    const int own = state.used + __popc(news & ((1u << team.lane) - 1));
    if (is_new && own < capacity) system.take_slot(slot = own, column);
    state.used += __popc(news);
    state.is_abandoned |= state.used > capacity && !is_final;
    state.used = min(state.used, capacity);
    team.sync();
    return slot;
}

// The column of an entry where that may be in patterns, or NONE.
__device__ __forceinline__ INDEX possible(INDEX column, const RowState& state) {
    return column >= 0 && column < state.most ? column : (INDEX)NONE;
}

// Meets the columns of the row of S, and keeps its values.
__device__ __forceinline__ void meet_start(RowSystem& system, const Functional& f, INDEX begin, int length,
                                           int capacity, bool is_final, RowState& state) {
    const Team& team = system.team;
    ROLLED
    for (int base = 0; team.any(base < length); base += TEAM) {
        const i64 at = (i64)begin + base + team.lane;
        const INDEX column = base + team.lane < length ? possible(f.start_indices[at], state) : (INDEX)NONE;
        const double diagonal = column == (INDEX)NONE ? 0.0 : f.diagonal[column];
        const int before = state.used, slot = meet(system, column, diagonal, capacity, is_final, state);
        if (slot >= before) system.starts[slot] = f.start_data[at];
    }
    team.sync();
    state.starts = state.used;
}

// Goes through rows of N of a pattern, TEAM entries at a time: at least once for each row.
struct PatternRows {
    int place, last, offset;
    PatternRow row;

    __device__ __forceinline__ PatternRows(const RowSystem& system, int first, int last) : last(last) {
        open(system, first);
    }
    __device__ __forceinline__ void open(const RowSystem& system, int next) {
        place = next;
        offset = system.team.lane;
        row = is_over() ? PatternRow{0, NONE, 0} : system.rows[place];
    }
    __device__ __forceinline__ bool is_over() const { return place >= last; }
    __device__ __forceinline__ bool has_entry() const { return offset < row.length; }
    __device__ __forceinline__ i64 entry() const { return row.begin + offset; }
    __device__ __forceinline__ void advance(const RowSystem& system) {
        offset += TEAM;
        if (offset - system.team.lane >= row.length) open(system, place + 1);
    }
};

// Meets the columns of the rows of N that the last round has added. Those with a slot in the list of their row are known;
// the list gets the slots of the others.
__device__ __forceinline__ void meet_columns(RowSystem& system, const Functional& f, bool is_final, bool is_open,
                                             RowState& state) {
    const Team& team = system.team;
    const int size = is_open ? state.size : state.met;
    ROLLED
    for (PatternRows rows(system, state.met, size); team.any(!rows.is_over());) {
        short* lists[CHUNKS];
        INDEX columns[CHUNKS];
        double diagonals[CHUNKS];
        EACH (k, CHUNKS) {
            lists[k] = rows.row.first == NONE ? (short*)0 : system.lists + rows.row.first + rows.offset;
            const bool is_unknown = rows.has_entry() && !(lists[k] && *lists[k] != NONE);
            columns[k] = is_unknown ? f.indices[rows.entry()] : (INDEX)NONE;
            rows.advance(system);
        }
        EACH (k, CHUNKS) {
            columns[k] = possible(columns[k], state);
            diagonals[k] = columns[k] == (INDEX)NONE ? 0.0 : f.diagonal[columns[k]];
        }
        EACH (k, CHUNKS) {
            if (!team.any(columns[k] != (INDEX)NONE)) continue;
            const int slot = meet(system, columns[k], diagonals[k], system.capacity, is_final, state);
            if (lists[k] && slot != NONE) *lists[k] = (short)slot;
        }
    }
    team.sync();
    state.met = size;
}

// gradient = s + x N, in the order of the pattern.
__device__ __forceinline__ void find_gradient(RowSystem& system, const Functional& functional, const RowState& state,
                                              int size) {
    const Team& team = system.team;
    ROLLED
    for (int slot = team.lane; slot < state.used; slot += TEAM)
        system.gradient[slot] = slot < state.starts ? system.starts[slot] : VALUE{};
    team.sync();
    ROLLED
    for (PatternRows rows(system, 0, size); team.any(!rows.is_over());) {
        INDEX keys[CHUNKS];  // a column, or -2 - slot where the row has a list: NONE for no slot
        int places[CHUNKS];
        VALUE values[CHUNKS];  // multiplied below: here a product would wait for each load
        EACH (k, CHUNKS) {
            keys[k] = (INDEX)NONE;
            places[k] = rows.place;
            if (rows.has_entry()) {
                if (rows.row.first == NONE) keys[k] = max(functional.indices[rows.entry()], (INDEX)NONE);
                else keys[k] = (INDEX)(-2 - system.lists[rows.row.first + rows.offset]);
                values[k] = functional.data[rows.entry()];
            }
            rows.advance(system);
        }
        EACH (k, CHUNKS) {
            const int slot = keys[k] >= 0 ? system.find(keys[k]) : -2 - (int)keys[k];
            if (slot != NONE) system.gradient[slot] = system.gradient[slot] + system.solution[places[k]] * values[k];
            team.sync();
        }
    }
}

// Replaces gradients by gains: -1 in the pattern, and for columns that were rejected.
__device__ __forceinline__ void find_gains(RowSystem& system, const Functional& functional, int used) {
    ROLLED
    for (int first = system.team.lane; first < used; first += CHUNKS * TEAM) {
        double diagonal[CHUNKS];
        EACH (k, CHUNKS) {
            const int slot = min(first + k * TEAM, used - 1);
            diagonal[k] = functional.diagonal[system.columns[slot]];
        }
        EACH (k, CHUNKS) {
            const int slot = first + k * TEAM;
            if (slot >= used) break;
            const double gain = squared(system.gradient[slot]) / diagonal[k];
            system.gradient[slot] = from_real(system.places[slot] == NONE ? gain : -1.0);
        }
    }
}

// A slot that is not in the pattern, and its gain.
struct Candidate {
    int slot;
    double gain;

    // Whether a slot has a larger gain, or an equal one and a lower column.
    __device__ __forceinline__ bool is_below(const RowSystem& system, int other, double other_gain) const {
        return other_gain > gain ||
               (other_gain == gain && slot != NONE && system.columns[other] < system.columns[slot]);
    }
};

// The best two candidates of a lane: most rounds choose no more than two of them, so that few lanes search again.
struct Candidates {
    Candidate first, second;

    __device__ __forceinline__ void search(const RowSystem& system, int used) {
        first = second = {NONE, -1.0};
        ROLLED
        for (int slot = system.team.lane; slot < used; slot += TEAM) {
            const double gain = real_part(system.gradient[slot]);
            if (!second.is_below(system, slot, gain)) continue;
            second = {slot, gain};
            if (!first.is_below(system, slot, gain)) continue;
            second = first;
            first = {slot, gain};
        }
    }
    // The first one is chosen.
    __device__ __forceinline__ void pop(const RowSystem& system, int used) {
        system.gradient[first.slot] = from_real(-1.0);
        first = second;
        second = {NONE, -1.0};
        if (first.slot == NONE) search(system, used);
    }
};

// Of the lanes of a mask, the one whose slot has the lowest column.
__device__ __forceinline__ u32 lowest_column(const RowSystem& system, u32 lanes, int slot) {
    const Team& team = system.team;
    const bool is_on = lanes >> team.lane & 1;
    const INDEX own = is_on ? system.columns[slot] : (INDEX)((1ull << (8 * sizeof(INDEX) - 1)) - 1);
    INDEX lowest = own;
    for (int half = TEAM / 2; half > 0; half /= 2) lowest = min(lowest, team.across(lowest, half));
    return team.vote(is_on && own == lowest);
}

// Lists the slots of the largest gains above a bound after those of the pattern, at most `most`: the lowest columns of
// equal gains first. Those below a share of the largest are left out. Returns how many there are, of which only those
// that have a place are listed.
__device__ __forceinline__ int choose(RowSystem& system, int used, int size, int places, int most, double bound) {
    const Team& team = system.team;
    int count = 0;
    Candidates own;
    own.search(system, used);
    const Candidate& best = own.first;
    ROLLED
    for (int step = 0; step < STEP; ++step) {
        const double top = team.top(step < most && best.gain > bound ? best.gain : -1.0);
        const bool is_found = top >= 0;
        if (!team.any(is_found)) break;
        u32 winners = team.vote(is_found && best.gain == top);
        if (team.any(winners & (winners - 1))) winners = lowest_column(system, winners, best.slot);
        if (winners >> team.lane & 1) {
            if (size + step < places) system.pattern[size + step] = (short)best.slot;
            own.pop(system, used);
        }
        if (step == 0) bound = fmax(bound, SHARE * top);
        count += is_found;
    }
    team.sync();
    return count;
}
