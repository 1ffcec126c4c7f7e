// From a [0,2]-factor to numbered paths, in work linear in the vertices.
//
// The vertices of a path whose hash is lower than their neighbours' are its anchors, about one in three. They
// are the nodes of a path three times shorter, whose links carry the distances; that path is shortened in the
// same way, and again. Pointer jumping over the few nodes at the top finds the ends, and what is found goes
// down again: each node below lies at a known distance along a link of its anchor. Neighbouring threads walk
// from neighbouring anchors and only a few steps far, so that they read neighbouring memory.
//
// A half-edge is twice its node plus its place in the node's row, 0 or 1. A link, the way from a half-edge to
// the next node, is one 64-bit word that is read and written whole: in the upper half the half-edge on which
// the next node is left again, or END and the vertex where the path ends; in the lower half the distance.
#define END 0x80000000u

// A node's record is a word too. As long as its path is unknown: the half-edge above along which it lies, and
// twice its distance, plus the place of its own half-edge that leads back. When it is settled: the path id, with
// RISES when its half-edge 1 leads away from the path's first vertex; SETTLED and the position.
// Position 0 is a cycle, and its path id names the cycle.
#define RISES 0x80000000u
#define SETTLED 0x80000000u

#define LEVELS 4

struct alignas(2 * sizeof(INDEX)) Row {
    INDEX first, second;
};

struct alignas(16) Links {
    u64 link[2];
};

// The nodes of a shortened path.
struct Level {
    u32* below;   // each node's number one level below
    u32* origin;  // and the vertex it goes back to
    Links* links;
    u64* records;
};

enum Counter { PATHS, LONGEST, CYCLES, CYCLIC, NODES };  // NODES: one counter for each level

struct Paths {
    Row* rows;
    u64* records;
    INDEX* path_id;
    INDEX* position;
    INDEX* lengths;  // of each path at its id
    u64* counters;
    i64 vertices;
    Level levels[LEVELS];
    u64* jumped;  // the links at the top, for pointer jumping
    u32* cyclic;  // the vertices on cycles
};

__device__ __forceinline__ u64 word(u32 upper, u32 lower) { return (u64)upper << 32 | lower; }
__device__ __forceinline__ u32 upper(u64 word) { return (u32)(word >> 32); }
__device__ __forceinline__ u32 lower(u64 word) { return (u32)word; }

// A different order of the nodes at every level; no two nodes of one level have the same hash.
__device__ __forceinline__ u32 node_hash(u32 node, int level) {
    u32 z = (node ^ level * 0x7FEB352Du) * 0x9E3779B1u;
    z ^= z >> 15;
    return z * 0x85EBCA6Bu;
}

// Where there is no neighbour, every hash is lower. (A node may have this hash too; that costs nothing but time.)
#define NO_HASH 0xffffffffu

__device__ __forceinline__ u32 vertex_hash(INDEX v) { return v < 0 ? NO_HASH : node_hash((u32)v, 0); }

__device__ __forceinline__ bool is_end(u64 link) { return upper(link) & END; }

// The hash of the node that a link leads to.
__device__ __forceinline__ u32 link_hash(u64 link, int level) {
    return is_end(link) ? NO_HASH : node_hash(upper(link) / 2, level);
}

// The record of an anchor: no distance along its own half-edge 0, as if it had been reached over 1.
__device__ __forceinline__ u64 anchor_record(u32 node_above) { return word(2 * node_above, 1); }

__device__ __forceinline__ u64 cycle_state(u32 name) { return word(name, SETTLED); }

// The state of a node from which one link and the other lead to ends; notes the path's length.
__device__ __forceinline__ u64 path_state(const Paths& paths, u64 one, u64 other, u64& longest) {
    const bool rises = upper(one) < upper(other);  // half-edge 0 leads to the first vertex
    const u64 to_first = rises ? one : other;
    const u32 path_id = upper(to_first) & ~END;
    const u64 length = (u64)lower(one) + lower(other) + 1;
    paths.lengths[path_id] = (INDEX)length;
    if (length > longest) longest = length;
    return word(path_id | (rises ? RISES : 0), SETTLED | (lower(to_first) + 1));
}

// The state of a node from its record and its anchor's state.
__device__ __forceinline__ u64 state_below(u64 record, u64 anchor) {
    const u32 position = lower(anchor) & ~SETTLED;
    if (position == 0) return anchor;
    const u32 distance = lower(record) >> 1, back = lower(record) & 1;
    // Does the anchor's half-edge lead away from the path's first vertex?
    const bool away = ((upper(record) & 1) != 0) == ((upper(anchor) & RISES) != 0);
    const bool rises = away == (back == 0);
    return word((upper(anchor) & ~RISES) | (rises ? RISES : 0),
                SETTLED | (away ? position + distance : position - distance));
}
