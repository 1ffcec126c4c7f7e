// The columns that may join the pattern of a row, their gains, and the choice of the best of them.

// Gives slots below `capacity` to the columns of a row of a matrix that have none; the row of S keeps its values.
// Where the row has a list, only the columns without a slot in it are met, and the list gets their slots.
DEVICE void meet(RowSystem& system, In<INDEX> indices, In<VALUE> start_data, In<double> diagonal, INDEX begin,
                 int length, short* list, int capacity, bool is_final, RowState& state) {
    const Team& team = system.team;
    ROLLED
    for (int base = 0; team.any(base < length); base += TEAM) {
        const int at = base + team.lane;
        const bool is_known = at >= length || (list && list[at] != NONE);
        const INDEX column = is_known ? (INDEX)NONE : indices[(i64)begin + at];
        const bool is_unknown = column >= 0 && column < state.most;
        if (!team.any(is_unknown)) continue;
        int slot = is_unknown ? system.find(column) : NONE;
        const bool is_new = is_unknown && slot == NONE && diagonal[column] > 0;
        const u32 news = team.vote(is_new);
        team.sync();  // all lanes have searched the table before it changes
        const int own = state.used + __popc(news & ((1u << team.lane) - 1));
        if (is_new && own < capacity) {
            slot = own;
            system.take_slot(own, column);
            if (start_data) system.starts[own] = start_data[(i64)begin + at];
        }
        if (list && slot != NONE) list[at] = (short)slot;
        state.used += __popc(news);
        state.is_abandoned |= state.used > capacity && !is_final;
        state.used = min(state.used, capacity);
        team.sync();
    }
}

// Meets the columns of the rows of N that the last round has added.
DEVICE void meet_columns(RowSystem& system, const Functional& f, bool is_final, bool is_open, RowState& state) {
    const int size = is_open ? state.size : state.met;
    ROLLED
    for (int place = state.met, last = system.team.largest(size - state.met) + place; place < last; ++place) {
        const bool is_on = place < size;
        const PatternRow row = is_on ? system.rows[place] : PatternRow{0, NONE, 0};
        short* const list = row.first == NONE ? (short*)0 : system.lists + row.first;
        meet(system, f.indices, (const VALUE*)0, f.diagonal, row.begin, row.length, list, system.capacity, is_final,
             state);
    }
    state.met = size;
}

// Goes through rows of N of a pattern, TEAM entries at a time: at least once for each row.
struct PatternRows {
    int place, last, offset;
    PatternRow row;

    DEVICE PatternRows(const RowSystem& system, int first, int last) : last(last) { open(system, first); }
    DEVICE void open(const RowSystem& system, int next) {
        place = next;
        offset = system.team.lane;
        row = is_over() ? PatternRow{0, NONE, 0} : system.rows[place];
    }
    DEVICE bool is_over() const { return place >= last; }
    DEVICE bool has_entry() const { return offset < row.length; }
    DEVICE i64 entry() const { return row.begin + offset; }
    DEVICE void advance(const RowSystem& system) {
        offset += TEAM;
        if (offset - system.team.lane >= row.length) open(system, place + 1);
    }
};

// gradient = s + x N, in the order of the pattern.
DEVICE void find_gradient(RowSystem& system, const Functional& functional, const RowState& state, int size) {
    const Team& team = system.team;
    ROLLED
    for (int slot = team.lane; slot < state.used; slot += TEAM)
        system.gradient[slot] = slot < state.starts ? system.starts[slot] : VALUE{};
    team.sync();
    ROLLED
    for (PatternRows rows(system, 0, size); team.any(!rows.is_over());) {
        int slots[CHUNKS];
        INDEX columns[CHUNKS];
        VALUE terms[CHUNKS];
        EACH (k, CHUNKS) {
            slots[k] = NONE;
            columns[k] = (INDEX)NONE;
            if (rows.has_entry()) {
                if (rows.row.first == NONE) columns[k] = functional.indices[rows.entry()];
                else slots[k] = system.lists[rows.row.first + rows.offset];
                terms[k] = system.solution[rows.place] * functional.data[rows.entry()];
            }
            rows.advance(system);
        }
        EACH (k, CHUNKS) {
            const int slot = columns[k] == (INDEX)NONE ? slots[k] : system.find(columns[k]);
            if (slot != NONE) system.gradient[slot] = system.gradient[slot] + terms[k];
            team.sync();
        }
    }
}

// Replaces gradients by gains: -1 in the pattern, and for columns that were rejected.
DEVICE void find_gains(RowSystem& system, const Functional& functional, int used) {
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

// The slot of the largest gain of those of a lane; of equal gains, of the lowest column.
DEVICE int best_slot(const RowSystem& system, int used, double& gain) {
    int best = NONE;
    gain = -1;
    ROLLED
    for (int slot = system.team.lane; slot < used; slot += TEAM) {
        const double own = real_part(system.gradient[slot]);
        if (own > gain || (own == gain && best != NONE && system.columns[slot] < system.columns[best])) {
            best = slot;
            gain = own;
        }
    }
    return best;
}

// Of the lanes of a mask, the one whose slot has the lowest column.
DEVICE u32 lowest_column(const RowSystem& system, u32 lanes, int slot) {
    const Team& team = system.team;
    const bool is_on = lanes >> team.lane & 1;
    i64 lowest = is_on ? (i64)system.columns[slot] : 0x7fffffffffffffffll;
    const i64 own = lowest;
    for (int half = TEAM / 2; half > 0; half /= 2) lowest = min(lowest, team.across(lowest, half));
    return team.vote(is_on && own == lowest);
}

// Lists the slots of the largest gains above a bound after those of the pattern, at most `most`: the lowest columns of
// equal gains first. Those below a share of the largest are left out. Returns how many there are, of which only those
// that have a place are listed.
DEVICE int choose(RowSystem& system, int used, int size, int places, int most, double bound) {
    const Team& team = system.team;
    int count = 0;
    double gain;
    int best = best_slot(system, used, gain);
    ROLLED
    for (int step = 0; step < STEP; ++step) {
        const double top = team.top(step < most && gain > bound ? gain : -1.0);
        const bool is_found = top >= 0;
        if (!team.any(is_found)) break;
        u32 winners = team.vote(is_found && gain == top);
        if (team.any(winners & (winners - 1))) winners = lowest_column(system, winners, best);
        if (winners >> team.lane & 1) {
            if (size + step < places) system.pattern[size + step] = (short)best;
            system.gradient[best] = from_real(-1.0);
            best = best_slot(system, used, gain);
        }
        if (step == 0) bound = fmax(bound, SHARE * top);
        count += is_found;
    }
    team.sync();
    return count;
}
