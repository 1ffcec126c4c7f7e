#include "similarity/set_pairs.cuh"

// A pointer that has to be searched again.
#define STALE (-2)

struct MatchingArrays {
    int *mates, *owners;
    int *pointers, *back_pointers;
    double *row_duals, *column_duals;
};

DEVICE bool has_lost_pointer(int mate, int pointer, const int* other_mates) {
    return mate == NO_VERTEX && (pointer == STALE || (pointer >= 0 && other_mates[pointer] != NO_VERTEX));
}

// The warp searches the first free column of a row: the heaviest, among equals the lowest.
DEVICE int first_column(In<double> weights, int width, const int* owners) {
    const int lane = threadIdx.x % 32;
    double best = 0.0;
    int at = NO_VERTEX;
    for (int column = lane; column < width; column += 32) {
        if (weights[column] > best && owners[column] == NO_VERTEX) best = weights[column], at = column;
    }
    const double most = warp_max(best);
    const int key = at != NO_VERTEX && best == most ? -at : -width;
    const int found = -warp_max(key);
    return found < width ? found : NO_VERTEX;
}

// A lane searches the first free row of a column.
DEVICE int first_row(In<double> weights, int height, int width, const int* mates) {
    double best = 0.0;
    int at = NO_VERTEX;
    for (int row = 0; row < height; ++row) {
        const double weight = weights[(i64)row * width];
        if (weight > best && mates[row] == NO_VERTEX) best = weight, at = row;
    }
    return at;
}

// Warp per pair. Rounds: free vertices whose pointer was lost point at their first free neighbour, and mutual pointers
// become edges. The matching is greedy's, since both follow the total order (-weight, row, column).
KERNEL match_pointers(PairArrays at, MatchingArrays out, In<double> weights) {
    const int lane = threadIdx.x % 32;
    GROUP_STRIDE (i64, pair, at.pairs, 32) {
        const double* block = weights + at.starts[pair];
        const int height = (int)at.rows[pair], width = (int)at.columns[pair];
        int *mates = out.mates + at.row_starts[pair], *pointers = out.pointers + at.row_starts[pair];
        int *owners = out.owners + at.column_starts[pair], *back = out.back_pointers + at.column_starts[pair];
        bool found = true;
        while (found) {
            for (int row = 0; row < height; ++row) {
                if (!has_lost_pointer(mates[row], pointers[row], owners)) continue;
                const int column = first_column(block + (i64)row * width, width, owners);
                if (lane == 0) pointers[row] = column;
            }
            for (int column = lane; column < width; column += 32) {
                if (has_lost_pointer(owners[column], back[column], mates))
                    back[column] = first_row(block + column, height, width, mates);
            }
            __syncwarp();
            bool own = false;
            for (int row = lane; row < height; row += 32) {
                const int column = pointers[row];
                if (mates[row] != NO_VERTEX || column < 0 || back[column] != row) continue;
                own = true;
                mates[row] = column;
                owners[column] = row;
                const double weight = block[(i64)row * width + column];
                out.row_duals[at.row_starts[pair] + row] = weight;
                out.column_duals[at.column_starts[pair] + column] = weight;
            }
            __syncwarp();
            found = __any_sync(FULL_WARP, own);
        }
    }
}

// The edges of a row in the order of their columns: those heavier than `factor` times the duals of their ends are
// pushed, and both duals gain what is left of the weight. A vote finds the next one among 32 columns.
DEVICE i64 push_row(In<double> weights, i64 row, int width, double factor, double& row_dual, double* column_duals,
                    int* stack, i64 top) {
    const int lane = threadIdx.x % 32;
    for (int first = 0; first < width; first += 32) {
        const int column = first + lane;
        const double weight = column < width ? weights[column] : 0.0;
        double column_dual = column < width ? column_duals[column] : 0.0;
        u32 open = FULL_WARP;
        while (true) {
            const double held = row_dual + column_dual;
            const u32 heavy = __ballot_sync(FULL_WARP, weight > factor * held) & open;
            if (!heavy) break;
            const int next = __ffs(heavy) - 1;
            const double gain = from_lane(weight - held, next);
            row_dual += gain;
            if (lane == next) {
                column_dual += gain;
                stack[top] = (int)(row * width + column);
            }
            ++top;
            open = next == 31 ? 0 : FULL_WARP << (next + 1);
        }
        if (column < width) column_duals[column] = column_dual;
    }
    return top;
}

// Warp per pair: Paz and Schwartzman's stack by local ratios, unwound by one lane. Then, row by row, the first edge
// between vertices that are still free is added.
KERNEL match_stream(PairArrays at, MatchingArrays out, In<double> weights, double factor, int* __restrict__ stacks) {
    const int lane = threadIdx.x % 32;
    GROUP_STRIDE (i64, pair, at.pairs, 32) {
        const double* block = weights + at.starts[pair];
        const int height = (int)at.rows[pair], width = (int)at.columns[pair];
        int *mates = out.mates + at.row_starts[pair], *owners = out.owners + at.column_starts[pair];
        int* stack = stacks + at.starts[pair];
        double *row_duals = out.row_duals + at.row_starts[pair], *duals = out.column_duals + at.column_starts[pair];
        i64 top = 0;
        for (int row = 0; row < height; ++row) {
            double row_dual = 0.0;
            top = push_row(block + (i64)row * width, row, width, factor, row_dual, duals, stack, top);
            if (lane == 0) row_duals[row] = row_dual * factor;
        }
        __syncwarp();
        for (int column = lane; column < width; column += 32) duals[column] *= factor;
        for (; lane == 0 && top > 0; --top) {
            const int row = stack[top - 1] / width, column = stack[top - 1] % width;
            if (mates[row] == NO_VERTEX && owners[column] == NO_VERTEX) mates[row] = column, owners[column] = row;
        }
        __syncwarp();
        for (int row = 0; row < height; ++row) {
            if (mates[row] != NO_VERTEX) continue;
            const int column = first_column(block + (i64)row * width, width, owners);
            if (lane == 0 && column != NO_VERTEX) mates[row] = column, owners[column] = row;
            __syncwarp();
        }
    }
}
