#include "runtime/common.cuh"

// Weights are multiples of 1 / PARTS: exact in single precision, and so is their sum.
#define PARTS 256

// Each vertex's two neighbours on its path, NO_VERTEX where there is none, its position, and the magnitudes of the
// couplings to both neighbours.
struct Paths {
    const INDEX* neighbors;
    const INDEX* positions;
    const WEIGHT* sizes;
};

__device__ __forceinline__ bool is_on_path(const Paths& paths, i64 v) { return paths.neighbors[2 * v] != NO_VERTEX; }

// A row of the prolongator: at most two kept vertices and their weights.
struct Row {
    INDEX vertices[2];
    double shares[2];
    int count;
};

// A kept vertex has a one; others are interpolated from their neighbours, with weights proportional to the couplings.
__device__ __forceinline__ Row row_of(const Paths& paths, i64 v, bool stays) {
    if (stays) return {{(INDEX)v, NO_VERTEX}, {1.0, 0.0}, 1};
    Row row = {{NO_VERTEX, NO_VERTEX}, {0.0, 0.0}, 0};
    double sizes[2], shares[2];
    for (int i = 0; i < 2; ++i) sizes[i] = paths.neighbors[2 * v + i] < 0 ? 0.0 : widened(paths.sizes[2 * v + i]);
    const double total = sizes[0] + sizes[1];
    shares[0] = rint(PARTS * (sizes[0] / (total > 0.0 ? total : 1.0))) / PARTS;
    shares[1] = 1.0 - shares[0];
    for (int i = 0; i < 2; ++i) {
        const INDEX neighbour = paths.neighbors[2 * v + i];
        if (neighbour < 0 || shares[i] <= 0.0) continue;
        row.vertices[row.count] = neighbour;
        row.shares[row.count++] = shares[i];
    }
    return row;
}

// Finds the host of each group, whose row all members have: the vertex on a path, or the only one. Vertices on paths
// write in a second launch, over the others.
extern "C" __global__ void find_hosts(Paths paths, const INDEX* __restrict__ groups, i64 n, int on_path, INDEX* hosts) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < n; v += (i64)gridDim.x * blockDim.x)
        if (is_on_path(paths, v) == (bool)on_path) hosts[groups[v]] = (INDEX)v;
}

// Flags the vertices that are kept: every second one of a path, and groups of one.
extern "C" __global__ void mark_staying(Paths paths, const INDEX* __restrict__ groups, const INDEX* __restrict__ hosts,
                                        i64 n, INDEX* __restrict__ stays) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < n; v += (i64)gridDim.x * blockDim.x)
        stays[v] = hosts[groups[v]] == v && (paths.positions[v] % 2 == 0 || !is_on_path(paths, v));
}

// The number of entries of each row of the prolongator.
extern "C" __global__ void count_shares(Paths paths, const INDEX* __restrict__ groups, const INDEX* __restrict__ hosts,
                                        i64 n, const INDEX* __restrict__ stays, INDEX* __restrict__ counts) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < n; v += (i64)gridDim.x * blockDim.x) {
        const INDEX host = hosts[groups[v]];
        counts[v] = row_of(paths, host, stays[host]).count;
    }
}

// Fills the rows, which end at `ends`; `numbers` is the inclusive prefix sum of the kept vertices.
extern "C" __global__ void fill_shares(Paths paths, const INDEX* __restrict__ groups, const INDEX* __restrict__ hosts,
                                       i64 n, const INDEX* __restrict__ stays, const INDEX* __restrict__ numbers,
                                       const INDEX* __restrict__ ends, INDEX* __restrict__ columns,
                                       double* __restrict__ shares) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < n; v += (i64)gridDim.x * blockDim.x) {
        const INDEX host = hosts[groups[v]];
        const Row row = row_of(paths, host, stays[host]);
        const i64 begin = (i64)ends[v] - row.count;
        // Columns ascend with the vertices.
        const bool descends = row.count == 2 && row.vertices[0] > row.vertices[1];
        for (int i = 0; i < row.count; ++i) {
            const i64 place = begin + (descends ? 1 - i : i);
            columns[place] = numbers[row.vertices[i]] - 1;
            shares[place] = row.shares[i];
        }
    }
}
