#include "common.cuh"

// From a [0,2]-factor to paths, in work linear in the vertices.
//
// Some vertices are stops: the path ends and a hashed sample of the rest. From each stop an arc leads
// either way to the next stop; walking the arcs visits every vertex and leaves with it the arc and the
// distance at which it lies. Pointer jumping over the few arcs then finds the path ends, and the
// positions of all vertices follow. Arcs that reach no end are on cycles, which are cut first.
//
// An arc is twice its stop's number plus the direction, the place in the stop's row of neighbours.
// Where it leads is one 64-bit word that is read and written whole: the arc that goes on from the next
// stop, or an END with its vertex, in the upper half; the number of edges to there in the lower half.

#define END 0x80000000u
// The record of a vertex that no arc has visited, and of one without neighbours.
#define UNVISITED (~0ull)
#define ALONE (~1ull)
// One in SAMPLE vertices is a stop.
#ifndef SAMPLE
#define SAMPLE 16u
#endif

enum Counter { STOPS, LEADERS, ENDS, LONE, CYCLIC_ARCS, LONGEST, CUT_ARCS, COUNTERS };

struct alignas(2 * sizeof(INDEX)) Row {
    INDEX first, second;
};

__device__ __forceinline__ u64 word(u32 upper, u32 lower) { return (u64)upper << 32 | lower; }
__device__ __forceinline__ u32 upper(u64 word) { return (u32)(word >> 32); }
__device__ __forceinline__ u32 lower(u64 word) { return (u32)word; }

// The answer does not depend on which vertices are stops, only the time it takes.
__device__ __forceinline__ bool is_sampled(INDEX v) { return mix32((u32)v) % SAMPLE == 0; }

__device__ __forceinline__ INDEX onward(const Row& row, INDEX from) {
    return row.first == from ? row.second : row.first;
}

struct Paths {
    Row* __restrict__ neighbors;
    u64* __restrict__ records;  // per vertex: arc and distance from its stop
    u32* __restrict__ stops;    // vertices
    u64* __restrict__ arcs;
    u64* __restrict__ counters;
    i64 vertices;
};

// An arc before it is walked: its stop and the first vertex behind it, which may be missing.
#define MISSING 0xffffffffu

__device__ __forceinline__ void add_stop(const Paths& paths, u32 place, INDEX v) {
    const Row row = paths.neighbors[v];
    paths.stops[place] = (u32)v;
    paths.records[v] = word(2 * place, 0);
    paths.arcs[2 * place] = word((u32)v, (u32)row.first);
    paths.arcs[2 * place + 1] = word((u32)v, row.second < 0 ? MISSING : (u32)row.second);
}

// Lists the stops: path ends and the sample.
extern "C" __global__ void __launch_bounds__(256) find_stops(Paths paths) {
    u64 ends = 0, lone = 0;
    for (i64 base = (i64)blockIdx.x * 256; base < paths.vertices; base += (i64)gridDim.x * 256) {
        const i64 v = base + threadIdx.x;
        bool stop = false;
        if (v < paths.vertices) {
            const Row row = paths.neighbors[v];
            const bool alone = row.first < 0, end = !alone && row.second < 0;
            stop = end || (!alone && is_sampled((INDEX)v));
            lone += alone;
            ends += end;
            if (!stop) paths.records[v] = alone ? ALONE : UNVISITED;
        }
        const u64 place = append_places(stop, paths.counters + STOPS);
        if (stop) add_stop(paths, (u32)place, (INDEX)v);
    }
    ends = warp_sum(ends);
    lone = warp_sum(lone);
    if (threadIdx.x % 32 == 0 && ends) atomicAdd(paths.counters + ENDS, ends);
    if (threadIdx.x % 32 == 0 && lone) atomicAdd(paths.counters + LONE, lone);
}

__device__ __forceinline__ bool is_stop(INDEX v, const Row& row, INDEX start) {
    return row.second < 0 || v == start || is_sampled(v);
}

// An arc just walked: the stop it arrived at, with END for a path end, the number of edges, and in the
// lowest bit whether it came over the stop's first neighbour.
__device__ __forceinline__ u64 arrival(INDEX v, const Row& row, INDEX previous, u32 length) {
    return word(row.second < 0 ? END | (u32)v : (u32)v, length << 1 | (row.first == previous));
}

// Where such an arc leads.
__device__ __forceinline__ u64 linked(const Paths& paths, u64 arrival) {
    const u32 length = lower(arrival) >> 1;
    if (upper(arrival) & END) return word(upper(arrival), length);
    return word(upper(paths.records[upper(arrival)]) + (lower(arrival) & 1), length);
}

// Walks the arcs of the stops, or those of the leaders, and leaves arc and distance with every vertex on
// the way. Of the two walks that pass a vertex, the one that goes on to the larger neighbour writes. A lane
// that has finished an arc takes another at once, and every turn waits for one load only.
extern "C" __global__ void walk_arcs(Paths paths, int leaders) {
    const u32 begin = leaders ? 2 * (u32)paths.counters[STOPS] : 0;
    const u32 end = leaders ? begin + 2 * (u32)paths.counters[LEADERS] : 2 * (u32)paths.counters[STOPS];
    const u32 stride = gridDim.x * blockDim.x;
    u32 arc = begin + blockIdx.x * blockDim.x + threadIdx.x;
    u64 upcoming = arc < end ? paths.arcs[arc] : 0;
    bool walking = false;
    INDEX start, previous, current;
    u32 length;
    while (walking || arc < end) {
        if (!walking) {
            start = previous = (INDEX)upper(upcoming);
            current = (INDEX)lower(upcoming);
            const bool missing = lower(upcoming) == MISSING;
            length = 1;
            upcoming = arc + stride < end ? paths.arcs[arc + stride] : 0;
            if (missing) {
                paths.arcs[arc] = word(END | (u32)start, 0);
                arc += stride;
                continue;
            }
            walking = true;
        }
        const Row row = paths.neighbors[current];
        if (is_stop(current, row, start)) {
            paths.arcs[arc] = arrival(current, row, previous, length);
            arc += stride;
            walking = false;
            continue;
        }
        const INDEX next = onward(row, previous);
        if (previous < next) paths.records[current] = word(arc, length);
        previous = current;
        current = next;
        ++length;
    }
}

// On a cycle without a stop, which no walk has visited, the smallest vertex becomes one.
extern "C" __global__ void find_leaders(Paths paths) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < paths.vertices; v += (i64)gridDim.x * blockDim.x) {
        if (paths.records[v] != UNVISITED) continue;
        INDEX previous = (INDEX)v, current = paths.neighbors[v].first;
        while (current > (INDEX)v) {
            const INDEX next = onward(paths.neighbors[current], previous);
            previous = current;
            current = next;
        }
        if (current != (INDEX)v) continue;
        const u32 place = (u32)(paths.counters[STOPS] + atomicAdd(paths.counters + LEADERS, 1ull));
        add_stop(paths, place, (INDEX)v);
    }
}

__device__ __forceinline__ u32 arc_count(const Paths& paths) {
    return 2 * (u32)(paths.counters[STOPS] + paths.counters[LEADERS]);
}

// Jumps made before the blocks wait for each other.
#define JUMPS 3

// Pointer jumping: each arc takes over where the arc it leads to leads, until it holds an end. In every
// round the open arc nearest to an end reaches it, so a round in which none does proves that all that
// are left run in cycles. A cooperative launch; `barrier` is zero at first, `closed` counts per round.
// Arcs that were just walked are linked first.
extern "C" __global__ void rank_arcs(Paths paths, int just_walked, u32* barrier, u64* closed) {
    const u32 arcs = arc_count(paths), stride = gridDim.x * blockDim.x;
    const u32 own = blockIdx.x * blockDim.x + threadIdx.x;
    u32 generation = 0;
    if (just_walked) {
        for (u32 arc = own; arc < arcs; arc += stride) __stcg(paths.arcs + arc, linked(paths, paths.arcs[arc]));
        grid_barrier(barrier, generation);
    }
    for (;; ++closed) {
        u64 newly = 0;
        for (u32 arc = own; arc < arcs; arc += stride) {
            u64 leads = __ldcg(paths.arcs + arc);
            if (upper(leads) & END) continue;
            for (int jump = 0; jump < JUMPS && !(upper(leads) & END); ++jump) {
                const u64 next = __ldcg(paths.arcs + upper(leads));
                leads = word(upper(next), lower(leads) + lower(next));
            }
            newly += upper(leads) >> 31;
            __stcg(paths.arcs + arc, leads);
        }
        newly = warp_sum(newly);
        if (threadIdx.x % 32 == 0 && newly) atomicAdd(closed, newly);
        grid_barrier(barrier, generation);
        if (!__ldcg(closed)) break;
    }
    // What is left: the arcs on cycles, and the longest of the paths.
    u64 cyclic = 0, longest = 0;
    for (u32 stop = own; stop < arcs / 2; stop += stride) {
        const u64 one = __ldcg(paths.arcs + 2 * stop), other = __ldcg(paths.arcs + 2 * stop + 1);
        if (!(upper(one) & END)) {
            cyclic += 2;
            continue;
        }
        const u64 length = (u64)lower(one) + lower(other) + 1;
        if (length > longest) longest = length;
    }
    cyclic = warp_sum(cyclic);
    for (int half = 16; half > 0; half /= 2) {
        const u64 other = __shfl_xor_sync(FULL_WARP, longest, half);
        if (other > longest) longest = other;
    }
    if (threadIdx.x % 32 == 0 && cyclic) atomicAdd(paths.counters + CYCLIC_ARCS, cyclic);
    if (threadIdx.x % 32 == 0 && longest) atomicMax(paths.counters + LONGEST, longest);
}

// Puts into each arc what the vertices along it need: the path id, the stop's position, and in the top
// bit whether positions fall along the arc. The path's length goes to its id.
extern "C" __global__ void settle_arcs(Paths paths, INDEX* __restrict__ lengths) {
    const u32 arcs = arc_count(paths);
    for (u32 stop = blockIdx.x * blockDim.x + threadIdx.x; stop < arcs / 2; stop += gridDim.x * blockDim.x) {
        const u64 one = paths.arcs[2 * stop], other = paths.arcs[2 * stop + 1];
        const bool falls = upper(one) < upper(other);  // the first arc leads to the path's first vertex
        const u32 path_id = (falls ? upper(one) : upper(other)) & ~END;
        const u32 position = 1 + (falls ? lower(one) : lower(other));
        lengths[path_id] = (INDEX)(lower(one) + lower(other) + 1);
        paths.arcs[2 * stop] = word(falls ? END | path_id : path_id, position);
        paths.arcs[2 * stop + 1] = word(falls ? path_id : END | path_id, position);
    }
}

// Path id and position of every vertex, from the arc it lies on.
extern "C" __global__ void assign_positions(Paths paths, INDEX* __restrict__ path_id, INDEX* __restrict__ position,
                                            INDEX* __restrict__ lengths) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < paths.vertices; v += (i64)gridDim.x * blockDim.x) {
        const u64 record = paths.records[v];
        if (record == ALONE) {
            path_id[v] = (INDEX)v;
            position[v] = lengths[v] = 1;
            continue;
        }
        const u64 arc = paths.arcs[upper(record)];
        path_id[v] = (INDEX)(upper(arc) & ~END);
        position[v] = (INDEX)(upper(arc) & END ? lower(arc) - lower(record) : lower(arc) + lower(record));
    }
}

// An edge of a cycle as a candidate for the cut: the least by (weight, smaller end, larger end) goes.
struct Edge {
    WEIGHT weight;
    u32 low, high;
};

__device__ __forceinline__ bool is_weaker(const Edge& a, const Edge& b) {
    if (a.weight != b.weight) return a.weight < b.weight;
    return a.low != b.low ? a.low < b.low : a.high < b.high;
}

// Arcs on cycles: their own stretch, walked anew because jumping has lost it, and the search for the cut.
struct Cycles {
    const WEIGHT* __restrict__ values;   // of the rows of neighbours; their magnitudes are the weights
    Edge* __restrict__ weakest;          // on each arc's stretch
    u64* __restrict__ stretches;         // the arc that goes on, and the stretch's length
    u64* __restrict__ search;            // the arc up to which was searched, and the arc of the weakest so far
};

__device__ __forceinline__ bool on_cycle(const Paths& paths, u32 arc) { return !(upper(paths.arcs[arc]) & END); }

// Walks the arcs of cycles again for their weakest edges. A lane that has finished an arc takes another at
// once; the first turn of an arc looks at its stop.
extern "C" __global__ void walk_cycles(Paths paths, Cycles cycles) {
    const u32 arcs = arc_count(paths), stride = gridDim.x * blockDim.x;
    u32 arc = blockIdx.x * blockDim.x + threadIdx.x;
    bool walking = false;
    INDEX start, previous, current;
    u32 length;
    Edge weakest;
    i64 edge_place;
    while (arc < arcs) {
        if (!walking) {
            if (!on_cycle(paths, arc)) {
                arc += stride;
                continue;
            }
            start = current = (INDEX)paths.stops[arc / 2];
            length = 0;
            walking = true;
        }
        const Row row = paths.neighbors[current];
        if (length) {
            const bool forward = previous < current;
            const Edge edge = {magnitude(cycles.values[edge_place]), (u32)(forward ? previous : current),
                               (u32)(forward ? current : previous)};
            if (length == 1 || is_weaker(edge, weakest)) weakest = edge;
            if (is_stop(current, row, start)) {
                cycles.weakest[arc] = weakest;
                cycles.stretches[arc] = linked(paths, arrival(current, row, previous, length));
                cycles.search[arc] = word(upper(cycles.stretches[arc]), arc);
                arc += stride;
                walking = false;
                continue;
            }
        }
        const bool second = length ? row.first == previous : arc % 2;
        edge_place = 2 * (i64)current + second;
        previous = current;
        current = second ? row.second : row.first;
        ++length;
    }
}

// Each arc of a cycle learns where the cycle's weakest edge lies, by jumping. In every round the nearest
// arc behind that edge which does not know it learns it, so a round without news is the last. A
// cooperative launch; `barrier` is zero at first, `news` counts per round.
extern "C" __global__ void find_weakest(Paths paths, Cycles cycles, u32* barrier, u64* news) {
    const u32 arcs = arc_count(paths), stride = gridDim.x * blockDim.x;
    u32 generation = 0;
    for (;; ++news) {
        bool learned = false;
        for (u32 arc = blockIdx.x * blockDim.x + threadIdx.x; arc < arcs; arc += stride) {
            if (!on_cycle(paths, arc)) continue;
            const u64 mine = __ldcg(cycles.search + arc), next = __ldcg(cycles.search + upper(mine));
            const bool better = is_weaker(cycles.weakest[lower(next)], cycles.weakest[lower(mine)]);
            learned |= better;
            __stcg(cycles.search + arc, word(upper(next), better ? lower(next) : lower(mine)));
        }
        if (__syncthreads_or(learned) && threadIdx.x == 0) atomicAdd(news, 1ull);
        grid_barrier(barrier, generation);
        if (!__ldcg(news)) break;
    }
}

// Opens each cycle at its weakest edge: the two arcs over it now end there, and take the vertices on
// their side; all other arcs lead to the next stop again. The factor itself is still whole.
extern "C" __global__ void cut_arcs(Paths paths, Cycles cycles) {
    const u32 arcs = arc_count(paths);
    u64 cut = 0;
    for (u32 arc = blockIdx.x * blockDim.x + threadIdx.x; arc < arcs; arc += gridDim.x * blockDim.x) {
        if (!on_cycle(paths, arc)) continue;
        if (lower(cycles.search[arc]) != arc) {
            paths.arcs[arc] = cycles.stretches[arc];
            continue;
        }
        ++cut;
        const Edge edge = cycles.weakest[arc];
        INDEX previous = (INDEX)paths.stops[arc / 2];
        const Row first = paths.neighbors[previous];
        INDEX current = arc % 2 ? first.second : first.first;
        u32 length = 1;
        while ((u32)min(previous, current) != edge.low || (u32)max(previous, current) != edge.high) {
            paths.records[current] = word(arc, length++);
            const INDEX next = onward(paths.neighbors[current], previous);
            previous = current;
            current = next;
        }
        paths.arcs[arc] = word(END | (u32)previous, length - 1);
    }
    cut = warp_sum(cut);
    if (threadIdx.x % 32 == 0 && cut) atomicAdd(paths.counters + CUT_ARCS, cut);
}

// Removes the cut edges from the rows of their ends; `slots` may be null.
extern "C" __global__ void remove_cut_edges(Paths paths, Cycles cycles, WEIGHT* __restrict__ values,
                                            INDEX* __restrict__ slots) {
    const u32 arcs = arc_count(paths);
    for (u32 arc = blockIdx.x * blockDim.x + threadIdx.x; arc < arcs; arc += gridDim.x * blockDim.x) {
        if (cycles.search[arc] == UNVISITED || lower(cycles.search[arc]) != arc) continue;
        const Edge edge = cycles.weakest[arc];
        const INDEX v = (INDEX)(upper(paths.arcs[arc]) & ~END);
        const INDEX gone = (u32)v == edge.low ? (INDEX)edge.high : (INDEX)edge.low;
        const Row row = paths.neighbors[v];
        const i64 place = 2 * (i64)v;
        if (row.first == gone) {
            values[place] = values[place + 1];
            if (slots) slots[place] = slots[place + 1];
        }
        paths.neighbors[v] = {onward(row, gone), NO_VERTEX};
        values[place + 1] = 0;
        if (slots) slots[place + 1] = NO_VERTEX;
    }
}
