// The factor under construction, and the edges that a vertex may propose: the best candidates among a row's entries.

// The state of a vertex between iterations is one byte. CONFIRMED: bit i says whether the i-th place of its row of
// neighbours is confirmed. POSITIVE: its charge in the coming iteration. CLOSED: it takes no more edges, because it has
// DEGREE of them or no free neighbour is left.
#define CONFIRMED 0x0f
#define POSITIVE 0x10
#define CLOSED 0x20

// In the last place of a row: the vertex has fewer than DEGREE edges, and no free neighbour is left.
#define EXHAUSTED ((INDEX) - 2)

// The options of one launch.
struct Options {
    u64 seed, threshold;
    i64 first, last;   // iterations [first, last)
    i64 long_row;      // longer rows are split into pieces
    i64 fewest_dense;  // with at least this many active vertices all rows are read in order
    int m, k_m;
    int automatic;  // whether to stop when an iteration confirms few edges
    int capacity;   // entries that fit into shared memory
    int width;      // lanes per row where they are not staged
    int md5;        // whether charges are drawn by MD5 instead of splitmix64
    int ties;       // enum Ties
    // The report of a scan of the graph that the host has not read, or null, and the most entries of a row that the
    // host expects.
    const u64* report;
    i64 longest;
};

// The order among equal weights: by hash in charged iterations and by column in others, by column always, or by one
// hash in all iterations. Programs compiled with SWITCHES = 0 know TIES_AUTO and splitmix64 alone.
enum Ties { TIES_AUTO, TIES_BY_INDEX, TIES_AT_RANDOM };

struct TieRule {
    u32 key;      // of the hash that orders equal weights
    bool hashed;  // whether it is used in this iteration
};

struct Iteration {
    i64 number;
    i64 active;    // vertices that propose
    bool charged;  // whether only edges between opposite charges may be proposed
    TieRule ties;
    u64 next_charge_key;
};

DEVICE u64 charge_key(const Options& options, i64 k) { return iteration_key(options.seed, 2 * k + 1); }

// Whether the charge of a vertex is positive in iteration k, which has this key.
DEVICE bool draws_positive(const Options& options, i64 k, u64 key, i64 vertex) {
#if SWITCHES
    if (options.md5) return (md5_of(vertex, k, options.seed) >> 11) < options.threshold;
#endif
    return is_positive(key, options.threshold, vertex);
}

DEVICE TieRule tie_rule(const Options& options, i64 k, bool charged) {
#if SWITCHES
    if (options.ties == TIES_AT_RANDOM) return {(u32)iteration_key(options.seed, 0), true};
    if (options.ties == TIES_BY_INDEX) return {0, false};
#endif
    return {(u32)iteration_key(options.seed, 2 * k + 2), charged};
}

struct Candidate {
    WEIGHT value;  // as stored in the graph; its magnitude is the weight
    u32 hash;      // orders equal weights, 0 where the tie rule has none
    INDEX column, slot;
};

// The best DEGREE candidates so far, sorted, the best first; an empty place has weight 0.
struct Best {
    Candidate items[DEGREE];

    DEVICE void clear() {
#pragma unroll
        for (int i = 0; i < DEGREE; ++i) items[i] = {(WEIGHT)0, ~0u, NO_VERTEX, NO_VERTEX};
    }
    DEVICE void insert(Candidate candidate) {
#pragma unroll
        for (int i = 0; i < DEGREE; ++i) {
            if (!is_better(candidate, items[i])) continue;
            const Candidate displaced = items[i];
            items[i] = candidate;
            candidate = displaced;
        }
    }
    DEVICE void insert_all(const Best& other) {
#pragma unroll
        for (int i = 0; i < DEGREE; ++i)
            if (rank_of(other.items[i].value) != 0) insert(other.items[i]);
    }
    // The list of the lane at this XOR distance.
    DEVICE Best from_lane(int distance) const {
        Best other;
#pragma unroll
        for (int i = 0; i < DEGREE; ++i) {
            other.items[i].value = __shfl_xor_sync(FULL_WARP, items[i].value, distance);
            other.items[i].hash = __shfl_xor_sync(FULL_WARP, items[i].hash, distance);
            other.items[i].column = __shfl_xor_sync(FULL_WARP, items[i].column, distance);
            other.items[i].slot = __shfl_xor_sync(FULL_WARP, items[i].slot, distance);
        }
        return other;
    }
};

// The graph and the factor under construction.
struct Problem {
    In<INDEX> indptr, indices;
    In<WEIGHT> values;  // their magnitudes are the weights
    INDEX* neighbors;   // rows of DEGREE vertices, ascending, empty places last
    WEIGHT* edge_values;
    INDEX* slots;
    u8* state;
    i64 rows;
};

// A vertex that searches its row for edges to propose.
struct Seeker {
    i64 vertex;
    u8 state;
    INDEX held[DEGREE];  // confirmed neighbours, NO_VERTEX elsewhere

    DEVICE void load(const Problem& problem, i64 v, bool fresh) {
        vertex = v;
        state = fresh ? 0 : problem.state[v];
#pragma unroll
        for (int i = 0; i < DEGREE; ++i) held[i] = state >> i & 1 ? problem.neighbors[v * DEGREE + i] : NO_VERTEX;
    }
    DEVICE bool holds(INDEX column) const {
        bool found = false;
#pragma unroll
        for (int i = 0; i < DEGREE; ++i) found |= held[i] == column;
        return found;
    }
};

// FRESH: the first iteration, uncharged, in which no states are stored yet.
enum Mode { FRESH, UNCHARGED, CHARGED };

DEVICE Mode mode_of(const Iteration& it) { return it.charged ? CHARGED : it.number ? UNCHARGED : FRESH; }

DEVICE INDEX column_at(const Problem& problem, i64 slot) { return clamped(problem.indices[slot], problem.rows); }

// The state of a column, 0 in a FRESH iteration.
template <Mode MODE>
DEVICE u8 column_state(const Problem& problem, INDEX column) {
    return MODE == FRESH ? 0 : problem.state[column];
}

// Adds one entry of the seeker's row to the candidates if it can be proposed now. Returns whether its edge is free:
// whether it can be proposed now or in a later iteration.
template <Mode MODE>
DEVICE bool consider(Best& best, const Seeker& seeker, const TieRule& ties, INDEX column, WEIGHT value, u8 state,
                     i64 slot) {
    const auto weight = rank_of(value), least = rank_of(best.items[DEGREE - 1].value);
    if (weight == 0 || column == (INDEX)seeker.vertex || (MODE != FRESH && (state & CLOSED))) return false;
    if (MODE != FRESH && seeker.holds(column)) return false;
    if (MODE == CHARGED && !((state ^ seeker.state) & POSITIVE)) return true;
    if (weight < least) return true;
    const bool hashed = SWITCHES ? ties.hashed : MODE == CHARGED;
    const u32 hash = hashed ? edge_hash((INDEX)seeker.vertex, column, ties.key) : 0;
    best.insert({value, hash, column, (INDEX)slot});
    return true;
}

// Whether a seeker's proposals of an uncharged iteration are those of the next one, too: their other ends take edges
// still. The free edges only become fewer, and without charges their order stays.
DEVICE bool keeps_proposals(const Problem& problem, const Seeker& seeker) {
    bool any = false;
#pragma unroll
    for (int i = 0; i < DEGREE; ++i) {
        const INDEX other = problem.neighbors[seeker.vertex * DEGREE + i];
        if (seeker.held[i] >= 0 || other < 0) continue;
        if (problem.state[other] & CLOSED) return false;
        any = true;
    }
    return any;
}

// Writes a seeker's row, sorted by column: its confirmed neighbours, and the best candidates as proposals. `alive`: it
// has a free edge. Returns the number of proposals.
DEVICE int write_row(const Problem& problem, const Seeker& seeker, const Best& best, bool alive) {
    Candidate row[DEGREE];
    int proposed = 0;
#pragma unroll
    for (int i = 0; i < DEGREE; ++i) {
        row[i] = {(WEIGHT)0, 0, NO_VERTEX, NO_VERTEX};
        if (seeker.held[i] < 0) continue;
        const i64 place = seeker.vertex * DEGREE + i;
        row[i] = {problem.edge_values[place], 0, seeker.held[i], problem.slots[place]};
    }
    // The i-th free place takes the i-th best candidate; constant indices keep both lists in registers.
#pragma unroll
    for (int i = 0; i < DEGREE; ++i) {
        if (seeker.held[i] >= 0) continue;
#pragma unroll
        for (int j = 0; j < DEGREE; ++j)
            if (j == proposed && rank_of(best.items[j].value) != 0) row[i] = best.items[j];
        if (row[i].column >= 0) ++proposed;
    }
#pragma unroll
    for (int i = 1; i < DEGREE; ++i)
#pragma unroll
        for (int j = i; j > 0; --j)
            if ((u64)row[j].column < (u64)row[j - 1].column) {  // NO_VERTEX is the largest unsigned number
                const Candidate other = row[j];
                row[j] = row[j - 1];
                row[j - 1] = other;
            }
    if (!alive && row[DEGREE - 1].column < 0) row[DEGREE - 1].column = EXHAUSTED;
#pragma unroll
    for (int i = 0; i < DEGREE; ++i) {
        const i64 place = seeker.vertex * DEGREE + i;
        problem.neighbors[place] = row[i].column;
        problem.edge_values[place] = row[i].value;
        problem.slots[place] = row[i].slot;
    }
    return proposed;
}

// Entries that a lane loads at a time where rows are not staged: loads are batched for memory-level parallelism.
#define LOADED_AT_ONCE (STAGED ? 1 : 4)

// Considers every `stride`-th entry in [begin, end).
template <Mode MODE>
DEVICE bool consider_entries(Best& best, const Problem& problem, const Seeker& seeker, const TieRule& ties, i64 begin,
                             i64 end, int stride) {
    bool alive = false;
    for (i64 first = begin; first < end; first += LOADED_AT_ONCE * stride) {
        INDEX columns[LOADED_AT_ONCE];
        WEIGHT values[LOADED_AT_ONCE];
        u8 states[LOADED_AT_ONCE];
#pragma unroll
        for (int i = 0; i < LOADED_AT_ONCE; ++i) {
            const i64 slot = first + i * stride;
            columns[i] = slot < end ? column_at(problem, slot) : (INDEX)seeker.vertex;
            values[i] = slot < end ? problem.values[slot] : (WEIGHT)0;  // a weight of 0 is no edge
        }
#pragma unroll
        for (int i = 0; i < LOADED_AT_ONCE; ++i) states[i] = column_state<MODE>(problem, columns[i]);
#pragma unroll
        for (int i = 0; i < LOADED_AT_ONCE; ++i)
            alive |= consider<MODE>(best, seeker, ties, columns[i], values[i], states[i], first + i * stride);
    }
    return alive;
}

DEVICE bool consider_entries(Best& best, const Problem& problem, const Seeker& seeker, const Iteration& it, i64 begin,
                             i64 end, int stride) {
    switch (mode_of(it)) {
    case FRESH: return consider_entries<FRESH>(best, problem, seeker, it.ties, begin, end, stride);
    case UNCHARGED: return consider_entries<UNCHARGED>(best, problem, seeker, it.ties, begin, end, stride);
    default: return consider_entries<CHARGED>(best, problem, seeker, it.ties, begin, end, stride);
    }
}
