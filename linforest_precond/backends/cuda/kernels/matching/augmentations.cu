#include "runtime/edge_order.cuh"

// A gain counts if it exceeds this multiple of the weight that is added (2^-49), as in the CPU backend.
#define TOLERANCE 1.7763568394002505e-15

// The graph, and the matching: weights are float64, times a power of two.
struct Matched {
    In<INDEX> indptr, indices;
    In<WEIGHT> values;
    INDEX* mate;
    double* mate_weights;
    double scale;

    DEVICE double weight(i64 slot) const { return fabs(widened(values[slot])) * scale; }
};

// The augmentations of the centres, and the marks of vertices. The arms of v are arms[v] and arms[vertices + v].
struct Augmentations {
    double* gains;
    INDEX* arms;
    u64 *claims, *ties;
    u8 *dirty, *changed;
    i64 vertices;
};

// An edge from an end of the centre to another vertex, whose own edge is removed.
struct Arm {
    double gain;
    u32 tie;
    INDEX vertex;
};

DEVICE bool is_before(const Arm& a, const Arm& b) {
    if (a.gain != b.gain) return a.gain > b.gain;
    if (a.tie != b.tie) return a.tie < b.tie;
    return a.vertex < b.vertex;
}

DEVICE Arm shuffled(const Arm& arm, int distance) {
    return {__shfl_xor_sync(FULL_WARP, arm.gain, distance), __shfl_xor_sync(FULL_WARP, arm.tie, distance),
            __shfl_xor_sync(FULL_WARP, arm.vertex, distance)};
}

// The best arm of a vertex, the best one that ends at another matched edge or single vertex than the first, and the
// weight of the vertex's heaviest edge.
struct Arms {
    Arm best, second;
    double heaviest;

    DEVICE void add(const Arm& arm, const INDEX* mate) {
        if (arm.vertex < 0) return;
        const bool same = best.vertex >= 0 && (best.vertex == arm.vertex || mate[best.vertex] == arm.vertex);
        if (same) {
            if (is_before(arm, best)) best = arm;
        } else if (best.vertex < 0 || is_before(arm, best)) {
            second = best;
            best = arm;
        } else if (second.vertex < 0 || is_before(arm, second)) {
            second = arm;
        }
    }
};

// The arms of v, whose mate is m, by all lanes of a warp.
DEVICE Arms arms_of(const Matched& graph, i64 v, i64 m, u32 tie_key) {
    const Arm none = {0.0, 0, NO_VERTEX};
    Arms arms = {none, none, 0.0};
    for (i64 slot = (i64)graph.indptr[v] + threadIdx.x % 32; slot < (i64)graph.indptr[v + 1]; slot += 32) {
        const INDEX a = graph.indices[slot];
        if (a == v || a == m) continue;
        const double weight = graph.weight(slot), gain = weight - graph.mate_weights[a];
        arms.heaviest = fmax(arms.heaviest, weight);
        if (gain > 0 && gain >= arms.second.gain) arms.add({gain, edge_hash((INDEX)v, a, tie_key), a}, graph.mate);
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        const Arm best = shuffled(arms.best, distance), second = shuffled(arms.second, distance);
        arms.heaviest = fmax(arms.heaviest, __shfl_xor_sync(FULL_WARP, arms.heaviest, distance));
        arms.add(best, graph.mate);
        arms.add(second, graph.mate);
    }
    return arms;
}

struct Augmentation {
    double gain;
    INDEX a, b;
};

// The best augmentation of a matched edge (v, m), by all lanes of a warp.
DEVICE Augmentation augmentation_of_edge(const Matched& graph, i64 v, i64 m, u32 tie_key) {
    const double removed = graph.mate_weights[v];
    const Arms of_v = arms_of(graph, v, m, tie_key), of_m = arms_of(graph, m, v, tie_key);
    Arm a = of_v.best, b = of_m.best;
    // Arms to one matched edge, or to one single vertex, do not go together.
    if (a.vertex >= 0 && b.vertex >= 0 && (a.vertex == b.vertex || graph.mate[a.vertex] == b.vertex)) {
        if (a.gain + of_m.second.gain >= of_v.second.gain + b.gain) b = of_m.second;
        else a = of_v.second;
    }
    const double weight_a = a.vertex < 0 ? 0.0 : graph.mate_weights[a.vertex];
    const double weight_b = b.vertex < 0 ? 0.0 : graph.mate_weights[b.vertex];
    const double gain = (a.gain + b.gain) - removed, added = (a.gain + b.gain) + (weight_a + weight_b);
    // Cycles: from the shorter row, the other edge by binary search. A bound on its weight saves most searches.
    const double least = fmax(gain, 0.0);
    double cycle = 0.0;
    INDEX cycle_a = NO_VERTEX;
    const bool turned = graph.indptr[v + 1] - graph.indptr[v] > graph.indptr[m + 1] - graph.indptr[m];
    const i64 near = turned ? m : v, far = turned ? v : m;
    const double bound = turned ? of_v.heaviest : of_m.heaviest;
    for (i64 slot = (i64)graph.indptr[near] + threadIdx.x % 32; slot < (i64)graph.indptr[near + 1]; slot += 32) {
        const INDEX x = graph.indices[slot];
        const double weight = graph.weight(slot), out = graph.mate_weights[x] + removed, most = (weight + bound) - out;
        if (most <= least || most < cycle || weight == 0 || x == near || x == far) continue;
        const INDEX y = graph.mate[x];
        if (y < 0) continue;
        const i64 other = find_column(graph.indices, (i64)graph.indptr[far], (i64)graph.indptr[far + 1], y);
        if (other < 0 || rank_of(graph.values[other]) == 0) continue;
        const double total = weight + graph.weight(other), found = total - out;
        const INDEX found_a = turned ? y : x;
        if (found > least && found > TOLERANCE * total && (found > cycle || (found == cycle && found_a < cycle_a))) {
            cycle = found;
            cycle_a = found_a;
        }
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        const double other = __shfl_xor_sync(FULL_WARP, cycle, distance);
        const INDEX other_a = __shfl_xor_sync(FULL_WARP, cycle_a, distance);
        if (other > cycle || (other == cycle && other_a < cycle_a)) {
            cycle = other;
            cycle_a = other_a;
        }
    }
    if (cycle > 0) return {cycle, cycle_a, graph.mate[cycle_a]};
    if (gain > 0 && gain > TOLERANCE * added) return {gain, a.vertex, b.vertex};
    return {0.0, NO_VERTEX, NO_VERTEX};
}

// The best augmentation of a single vertex.
DEVICE Augmentation augmentation_of_vertex(const Matched& graph, i64 v, u32 tie_key) {
    const Arm a = arms_of(graph, v, -1, tie_key).best;
    if (a.vertex < 0 || a.gain <= TOLERANCE * (a.gain + graph.mate_weights[a.vertex]))
        return {0.0, NO_VERTEX, NO_VERTEX};
    return {a.gain, a.vertex, NO_VERTEX};
}

// The weight of each vertex's matched edge.
KERNEL weigh_mates(Matched graph, i64 vertices) {
    GRID_STRIDE (i64, v, vertices) {
        const WEIGHT value = stored_value(graph.indptr, graph.indices, graph.values, (INDEX)v, graph.mate[v]);
        graph.mate_weights[v] = fabs(widened(value)) * graph.scale;
    }
}

// The best augmentation of each centre that is dirty: a single vertex, or the lower end of a matched edge of which one
// end is dirty. A warp per centre.
KERNEL find_augmentations(Matched graph, Augmentations found, u32 tie_key) {
    const int lane = threadIdx.x % 32;
    WARP_STRIDE (i64, base, found.vertices) {
        const i64 own = base + lane;
        bool searches = false;
        if (own < found.vertices) {
            const INDEX mate = graph.mate[own];
            searches = mate < 0 ? found.dirty[own] : own < mate && (found.dirty[own] || found.dirty[mate]);
        }
        for (u32 left = __ballot_sync(FULL_WARP, searches); left; left &= left - 1) {
            const i64 v = base + __ffs(left) - 1, m = (i64)graph.mate[v];
            const Augmentation best =
                m < 0 ? augmentation_of_vertex(graph, v, tie_key) : augmentation_of_edge(graph, v, m, tie_key);
            if (lane == 0) {
                found.gains[v] = best.gain;
                found.arms[v] = best.a;
                found.arms[found.vertices + v] = best.b;
            }
        }
    }
}

// Calls visit(x) for every vertex that the augmentation of v touches: with a vertex, its mate.
template <typename Visit>
DEVICE void for_each_touched(const INDEX* mate, const Augmentations& found, i64 v, Visit visit) {
    const INDEX firsts[3] = {(INDEX)v, found.arms[v], found.arms[found.vertices + v]};
    for (int i = 0; i < 3; ++i) {
        if (firsts[i] < 0) continue;
        const INDEX other = mate[firsts[i]];
        visit(firsts[i]);
        if (other >= 0) visit(other);
    }
}

// The word by which equal gains are ordered; the largest wins.
DEVICE u64 tie_word(const INDEX* mate, i64 v, u32 tie_key) {
    const u32 tie = edge_hash((INDEX)v, mate[v] < 0 ? (INDEX)v : mate[v], tie_key);
    return (u64)(~tie) << 32 | (u32)(~(u32)v);
}

// The largest gain at each vertex, as the bits of a positive number; `open` becomes 1 where there is any.
KERNEL claim_by_gain(In<INDEX> mate, Augmentations found, u32* open) {
    GRID_STRIDE (i64, v, found.vertices) {
        found.dirty[v] = 0;
        const double gain = found.gains[v];
        if (!(gain > 0)) continue;
        *open = 1;
        for_each_touched(mate, found, v, [&](INDEX x) { atomicMax(found.claims + x, bits(gain)); });
    }
}

// Among the augmentations of largest gain at all of their vertices, the largest word at each vertex.
KERNEL claim_by_tie(In<INDEX> mate, Augmentations found, u32 tie_key) {
    GRID_STRIDE (i64, v, found.vertices) {
        const double gain = found.gains[v];
        if (!(gain > 0)) continue;
        bool best = true;
        for_each_touched(mate, found, v, [&](INDEX x) { best &= found.claims[x] == bits(gain); });
        if (!best) continue;
        const u64 word = tie_word(mate, v, tie_key);
        for_each_touched(mate, found, v, [&](INDEX x) { atomicMax(found.ties + x, word); });
    }
}

DEVICE void unmatch(const Matched& graph, INDEX v) {
    graph.mate[v] = NO_VERTEX;
    graph.mate_weights[v] = 0.0;
}

DEVICE void join(const Matched& graph, INDEX v, INDEX w) {
    if (w < 0) return;
    graph.mate[v] = w;
    graph.mate[w] = v;
    const WEIGHT value = stored_value(graph.indptr, graph.indices, graph.values, v, w);
    graph.mate_weights[v] = graph.mate_weights[w] = fabs(widened(value)) * graph.scale;
}

// Applies the best augmentations. Augmentations that share a vertex share its mate, too: it is enough to compare claims
// at the centre and at the outer vertices, and no mate that another thread may change is followed before.
KERNEL apply_best(Matched graph, Augmentations found, u32 tie_key) {
    GRID_STRIDE (i64, v, found.vertices) {
        const double gain = found.gains[v];
        if (!(gain > 0)) continue;
        const INDEX a = found.arms[v], b = found.arms[found.vertices + v];
        // Of an augmentation that loses v, another thread may change the mate of v. Its word then is another one than
        // that of the winner still, since it ends with v.
        const u64 word = tie_word(graph.mate, v, tie_key);
        const auto wins = [&](INDEX x) { return found.claims[x] == bits(gain) && found.ties[x] == word; };
        if (!wins((INDEX)v) || (a >= 0 && !wins(a)) || (b >= 0 && !wins(b))) continue;
        for_each_touched(graph.mate, found, v, [&](INDEX x) {
            found.changed[x] = 1;
            found.gains[x] = 0.0;
        });
        const INDEX m = graph.mate[v];
        const INDEX mate_a = a < 0 ? NO_VERTEX : graph.mate[a], mate_b = b < 0 ? NO_VERTEX : graph.mate[b];
        if (mate_a >= 0) unmatch(graph, mate_a);
        if (mate_b >= 0) unmatch(graph, mate_b);
        if (a < 0) unmatch(graph, (INDEX)v);
        if (m >= 0 && b < 0) unmatch(graph, m);
        join(graph, (INDEX)v, a);
        if (m >= 0) join(graph, m, b);
    }
}

// Changed vertices become dirty, and their neighbours that have an arm to them, or had one in their augmentation; claims,
// ties and changes are 0 again. A warp per changed vertex.
KERNEL mark_dirty(Matched graph, Augmentations found) {
    const int lane = threadIdx.x % 32;
    WARP_STRIDE (i64, base, found.vertices) {
        const i64 own = base + lane;
        const bool changed = own < found.vertices && found.changed[own];
        if (own < found.vertices) {
            found.claims[own] = found.ties[own] = 0;
            found.changed[own] = 0;
        }
        if (changed) found.dirty[own] = 1;
        for (u32 left = __ballot_sync(FULL_WARP, changed); left; left &= left - 1) {
            const INDEX x = (INDEX)(base + __ffs(left) - 1);
            const double own_weight = graph.mate_weights[x];
            for (i64 slot = (i64)graph.indptr[x] + lane; slot < (i64)graph.indptr[x + 1]; slot += 32) {
                const INDEX u = graph.indices[slot], m = graph.mate[u], v = m < 0 ? u : min(u, m);
                const bool had_arm = found.gains[v] > 0 && (found.arms[v] == x || found.arms[found.vertices + v] == x);
                if (had_arm || graph.weight(slot) > own_weight) found.dirty[u] = 1;
            }
        }
    }
}
