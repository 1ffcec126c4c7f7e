// The steps of the [0,n]-factor over ranks, with the arrays and the rules of the CPU backend: a thread per vertex.
//
// Vertices have the numbers of columns: own vertices come first, then the ghosts of other ranks. Hashes are those of
// their global ids. The entries of a row ascend with the ids, so that the first of equal ones is the lowest.
#include "runtime/md5.cuh"

// The state of a vertex: its charge in this iteration, 0 or 1, or that it has DEGREE edges.
#define SATURATED 2
// The first proposal of a vertex that has no free edge left.
#define EXHAUSTED ((INDEX) - 2)

DEVICE u64 charge_key(u64 seed, i64 k) { return iteration_key(seed, 2 * k + 1); }

// Draws the charges of vertices in iteration k.
KERNEL draw_charges(In<INDEX> vertices, i64 count, In<i64> ids, u64 threshold, u64 seed, i64 k, int md5, u8* states) {
    const u64 key = charge_key(seed, k);
    GRID_STRIDE (i64, i, count) {
        const i64 id = ids[vertices[i]];
        states[vertices[i]] = md5 ? (md5_of(id, k, seed) >> 11) < threshold : is_positive(key, threshold, id);
    }
}

// Breaks ties between equal weights: `edge_hash` of global ids.
DEVICE u32 hash_of_ids(i64 u, i64 v, u32 tie_key) {
    const u32 low = (u32)(u < v ? u : v), high = (u32)(u < v ? v : u);
    return mix32(tie_key + low * 0x9E3779B1u + high * 0x85EBCA77u);
}

DEVICE bool holds(const INDEX* row, INDEX vertex) {
    bool found = false;
#pragma unroll
    for (int i = 0; i < DEGREE; ++i) found |= row[i] == vertex;
    return found;
}

// How many proposals of the iteration before stay, as their other ends are free; 0 if one of them is not.
DEVICE int kept_proposals(const INDEX* proposed, const INDEX* held, const u8* states) {
    int count = 0;
    for (; count < DEGREE && proposed[count] >= 0; ++count)
        if (states[proposed[count]] == SATURATED || holds(held, proposed[count])) return 0;
    return count;
}

// The best edges of a vertex so far, the best first.
struct BestEdges {
    decltype(rank_of((WEIGHT)0)) weights[DEGREE];
    u32 ties[DEGREE];
    INDEX columns[DEGREE], slots[DEGREE];
    int count, room;

    DEVICE bool is_before(int place, decltype(rank_of((WEIGHT)0)) weight, u32 tie) const {
        return weight > weights[place] || (weight == weights[place] && tie < ties[place]);
    }
    DEVICE void insert(decltype(rank_of((WEIGHT)0)) weight, u32 tie, INDEX column, INDEX slot) {
        if (count == room && !is_before(room - 1, weight, tie)) return;
        int place = count < room ? count++ : room - 1;
        for (; place > 0 && is_before(place - 1, weight, tie); --place) {
            weights[place] = weights[place - 1];
            ties[place] = ties[place - 1];
            columns[place] = columns[place - 1];
            slots[place] = slots[place - 1];
        }
        weights[place] = weight;
        ties[place] = tie;
        columns[place] = column;
        slots[place] = slot;
    }
};

// Each active vertex proposes along its heaviest free edges, as many as it lacks to DEGREE; counts the proposals.
KERNEL propose(In<INDEX> indptr, In<INDEX> columns, In<WEIGHT> values, In<INDEX> neighbors, In<u8> degrees,
               In<u8> states, In<INDEX> active, i64 count, In<i64> ids, int charged, int hashed, u32 tie_key,
               int same_rules, INDEX* proposed, INDEX* slots, u64* made) {
    u64 total = 0;
    GRID_STRIDE (i64, i, count) {
        const i64 v = active[i];
        const INDEX* const held = neighbors + v * DEGREE;
        INDEX* const own = proposed + v * DEGREE;
        const int kept = same_rules ? kept_proposals(own, held, states) : 0;
        total += kept;
        if (kept) continue;
        BestEdges best;
        best.count = 0, best.room = DEGREE - degrees[v];
        bool available = false;
        for (i64 slot = indptr[v]; slot < indptr[v + 1]; ++slot) {
            const INDEX w = columns[slot];
            const auto weight = rank_of(values[slot]);
            if (weight == 0 || w == v || states[w] == SATURATED || holds(held, w)) continue;
            available = true;
            if (charged && states[w] == states[v]) continue;
            best.insert(weight, hashed ? hash_of_ids(ids[v], ids[w], tie_key) : 0, w, (INDEX)slot);
        }
        for (int j = 0; j < DEGREE; ++j) {
            own[j] = j < best.count ? best.columns[j] : NO_VERTEX;
            if (j < best.count) slots[v * DEGREE + j] = best.slots[j];
        }
        if (!available) own[0] = EXHAUSTED;
        total += best.count;
    }
    total = warp_sum(total);
    if (threadIdx.x % 32 == 0 && total) atomicAdd(made, total);
}

// Adds an edge to a vertex that has `degree` edges; neighbours stay ascending.
DEVICE void insert_edge(INDEX* neighbors, INDEX* slots, int degree, INDEX column, INDEX slot) {
    int place = degree;
    for (; place > 0 && neighbors[place - 1] > column; --place) {
        neighbors[place] = neighbors[place - 1];
        slots[place] = slots[place - 1];
    }
    neighbors[place] = column;
    slots[place] = slot;
}

// Confirms the edges that both ends proposed, and counts their ends among the active vertices; marks the vertices that
// stay active.
KERNEL confirm(In<INDEX> proposed, In<INDEX> proposed_slots, INDEX* neighbors, INDEX* slots, u8* degrees, u8* states,
               In<INDEX> active, i64 count, bool* stays, u64* confirmed) {
    u64 total = 0;
    GRID_STRIDE (i64, i, count) {
        const i64 v = active[i];
        const int before = degrees[v];
        int degree = before;
        for (int j = 0; j < DEGREE && proposed[v * DEGREE + j] >= 0; ++j) {
            const i64 w = proposed[v * DEGREE + j];
            if (!holds(proposed + w * DEGREE, (INDEX)v)) continue;
            const i64 row = v * DEGREE;
            insert_edge(neighbors + row, slots + row, degree++, (INDEX)w, proposed_slots[row + j]);
        }
        degrees[v] = degree;
        if (degree == DEGREE) states[v] = SATURATED;
        stays[i] = degree < DEGREE && proposed[v * DEGREE] != EXHAUSTED;
        total += degree - before;
    }
    total = warp_sum(total);
    if (threadIdx.x % 32 == 0 && total) atomicAdd(confirmed, total);
}
