// List ranking of the paths of a [0,2]-factor, in work linear in the vertices: data and packed words.
//
// By splitters, after Helman & JaJa, "Designing practical efficient algorithms for symmetric multiprocessors"
// (ALENEX 1999), here repeated in STAGES stages:
// 1. Contraction (list_contraction.cuh). The splitters of a list are the local minima of a hash, about one node in
//    three. A thread walks from a splitter to the next one and sums up the distance. Splitters and distances are the
//    nodes and links of the next stage, a list a third as long.
// 2. Pointer jumping (Wyllie 1979) over the last stage finds the ends of the paths and the cycles.
// 3. Expansion (list_expansion.cuh), back through the stages: the position of a node is that of its splitter, plus
//    or minus the distance between them.
// Between local minima only a few nodes lie, so the walks of a warp have similar lengths, and neighbouring threads
// read neighbouring memory where the vertices of a path are numbered close together.
// Paths have no direction: each splitter is left on both sides.
//
// Vertices are those of the factor, nodes those of a stage. Half-edge 2 * node + i leaves the node on its side i, 0 or
// 1. The link of a half-edge is one 64-bit word, read and written as a whole. Upper half: the half-edge on which the
// next node is left again, or END and the vertex where the path ends. Lower half: the distance to that node or end.
#define END 0x80000000u

// The record of a vertex or node is a 64-bit word, too.
// Unranked. Upper half: the half-edge of its splitter, in the next stage, along which it lies. Lower half: twice its
// distance from the splitter, plus its own side that leads back to the splitter.
// Ranked. Upper half: the path id, and FORWARD if its side 1 leads away from the first vertex of the path. Lower half:
// RANKED, and its position in the path, or 0 on a cycle; the id then is the label of the cycle.
#define FORWARD 0x80000000u
#define RANKED 0x80000000u

#define STAGES 4

// The neighbours of a vertex in the factor.
struct alignas(2 * sizeof(INDEX)) Row {
    INDEX first, second;
};

struct alignas(16) Links {
    u64 link[2];
};

// The nodes of a contracted list: the splitters of the stage before, of the vertices for stage 0.
struct RankingStage {
    u32* previous;  // the number of each node in the stage before
    u32* origin;    // its vertex
    Links* links;
    u64* records;
};

// PATHS: paths. LONGEST: vertices of the longest one. CYCLES: cycles. CYCLIC: vertices on cycles. NODES and the
// STAGES - 1 counters after it: nodes of each stage.
enum Counter { PATHS, LONGEST, CYCLES, CYCLIC, NODES };

struct Paths {
    Row* rows;
    u64* records;  // of the vertices
    INDEX *path_id, *position;
    INDEX* lengths;  // of each path, at its id
    u64* counters;
    i64 vertices;
    RankingStage stages[STAGES];
    u64* jumped;  // the links of the last stage, for pointer jumping
    u32* cyclic;  // the vertices on cycles
};

DEVICE u64 word(u32 upper, u32 lower) { return (u64)upper << 32 | lower; }
DEVICE u32 upper(u64 word) { return (u32)(word >> 32); }
DEVICE u32 lower(u64 word) { return (u32)word; }

// The hash whose local minima are the splitters, another one in every stage. A bijection of 32-bit words, so that
// no two nodes of a stage have the same hash.
DEVICE u32 node_hash(u32 node, int stage) {
    u32 z = (node ^ stage * 0x7FEB352Du) * 0x9E3779B1u;
    z ^= z >> 15;
    return z * 0x85EBCA6Bu;
}

// The hash of a missing neighbour, above all others. (The one node that has this hash, too, is no splitter then,
// which costs only time.)
#define NO_HASH 0xffffffffu

DEVICE u32 vertex_hash(INDEX v) { return v < 0 ? NO_HASH : node_hash((u32)v, 0); }

DEVICE bool is_end(u64 link) { return upper(link) & END; }

// The hash of the node that a link leads to.
DEVICE u32 link_hash(u64 link, int stage) { return is_end(link) ? NO_HASH : node_hash(upper(link) / 2, stage); }

// The record of a splitter: at distance 0 along its own half-edge 0, with side 1 leading back.
DEVICE u64 splitter_record(u32 node) { return word(2 * node, 1); }

DEVICE u64 ranked_on_cycle(u32 label) { return word(label, RANKED); }

// The ranked record of a node whose two links lead to the ends of its path. Also stores the length of the path.
DEVICE u64 ranked_on_path(const Paths& paths, u64 link_0, u64 link_1, u64& longest) {
    const bool forward = upper(link_0) < upper(link_1);  // side 0 leads to the first vertex, the smaller end
    const u64 to_first = forward ? link_0 : link_1;
    const u32 path_id = upper(to_first) & ~END;
    const u64 length = (u64)lower(link_0) + lower(link_1) + 1;
    paths.lengths[path_id] = (INDEX)length;
    if (length > longest) longest = length;
    return word(path_id | (forward ? FORWARD : 0), RANKED | (lower(to_first) + 1));
}

// The ranked record of a node from its unranked one and the ranked record of its splitter.
DEVICE u64 ranked_by_splitter(u64 record, u64 splitter) {
    const u32 position = lower(splitter) & ~RANKED;
    if (position == 0) return splitter;
    const u32 distance = lower(record) >> 1, back = lower(record) & 1;
    // Whether the node lies behind its splitter, seen from the first vertex of the path.
    const bool behind = ((upper(record) & 1) != 0) == ((upper(splitter) & FORWARD) != 0);
    const bool forward = behind == (back == 0);
    return word((upper(splitter) & ~FORWARD) | (forward ? FORWARD : 0),
                RANKED | (behind ? position + distance : position - distance));
}
