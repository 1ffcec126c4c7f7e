#include "runtime/edge_order.cuh"
#include "matrix/row_lanes.cuh"

// Auction algorithm (Bertsekas 1988), with the rules, limits and constants of the CPU backend (matching/auction.py).

#define NO_WEIGHT (-2147483647 - 1)
#define NO_PROFIT (-(1ll << 62))
#define LOW_HALF 0xffffffffull
// Limits of a launch: rounds, bids per row.
#define MOST_ROUNDS 100000
#define BIDS_PER_ROW 64
#define LARGEST_INCREMENT (1ll << 22)
// Items (lanes of rows) that one block processes faster alone than all blocks with grid barriers.
#define ONE_BLOCK_ITEMS 1024

struct Entries {
    const INDEX *indptr, *indices;
    const int* weights;
    i64 n;
};

// The best and second best profit of a row. Equal profits: the larger hash, then the lower column.
struct Offer {
    i64 first, second;
    u32 tie;
    i64 column;

    DEVICE bool precedes(const Offer& other) const {
        if (first != other.first) return first > other.first;
        if (tie != other.tie) return tie > other.tie;
        return column < other.column;
    }
    DEVICE void merge(const Offer& other) {
        const i64 beaten = min(first, other.first);
        second = max(max(second, other.second), beaten);
        if (other.precedes(*this)) first = other.first, tie = other.tie, column = other.column;
    }
    DEVICE Offer from_lane(int half) const {
        return {__shfl_xor_sync(FULL_WARP, first, half), __shfl_xor_sync(FULL_WARP, second, half),
                __shfl_xor_sync(FULL_WARP, tie, half), __shfl_xor_sync(FULL_WARP, column, half)};
    }
};

// The offer of a row, on all lanes of its group; all lanes of the warp must call it. A row of -1 has none. *own is the
// profit with the column `matched`.
DEVICE Offer best_offer(const Entries& A, RowLanes lanes, i64 row, const i64* prices, i64 matched, i64* own) {
    // The column of no offer is above all others, so that the order is total.
    Offer best = {NO_PROFIT, NO_PROFIT, 0, 1ll << 62};
    i64 found = NO_PROFIT;
    if (row >= 0) {
        const i64 end = A.indptr[row + 1];
        for (i64 slot = A.indptr[row] + lanes.place(); slot < end; slot += lanes.width) {
            const int weight = A.weights[slot];
            if (weight == NO_WEIGHT) continue;
            const i64 column = A.indices[slot], profit = weight - __ldcg(prices + column);
            if (column == matched) found = profit;
            best.merge({profit, NO_PROFIT, edge_hash((INDEX)row, (INDEX)column, 0), column});
        }
    }
    for (int half = lanes.width / 2; half > 0; half /= 2) best.merge(best.from_lane(half));
    *own = lanes.group_max(found);
    return best;
}

// Stream compaction, warp-aggregated: appends the item of each lane that has one, which is not negative.
DEVICE void append(i64 item, INDEX* list, u64* length) {
    const u32 wanted = __ballot_sync(FULL_WARP, item >= 0);
    const int lane = threadIdx.x % 32;
    u64 first = 0;
    if (lane == 0 && wanted) first = atomicAdd(length, (u64)__popc(wanted));
    first = __shfl_sync(FULL_WARP, first, 0);
    if (item >= 0) list[first + __popc(wanted & ((1u << lane) - 1))] = (INDEX)item;
}

// Unmatches rows that are further than `step` from their best profit, and lists all unmatched rows that have entries.
DEVICE void list_unmatched(const Entries& A, RowLanes lanes, const i64* prices, INDEX* columns, INDEX* rows, i64 step,
                           INDEX* list, u64* length) {
    for (i64 base = lanes.first(); base < A.n; base += lanes.step(gridDim.x)) {
        const i64 row = base + lanes.group();
        i64 own;
        const i64 matched = row < A.n ? columns[row] : -1;
        const Offer best = best_offer(A, lanes, row < A.n ? row : -1, prices, matched, &own);
        const bool leads = row < A.n && lanes.place() == 0, dropped = matched >= 0 && own < best.first - step;
        if (leads && dropped) rows[matched] = columns[row] = NO_VERTEX;
        append(leads && best.first != NO_PROFIT && (matched < 0 || dropped) ? row : -1, list, length);
    }
}

// A bid: the increment of the price, then the complement of the row, so that the largest bid of the lowest row wins.
DEVICE u64 packed_bid(const Offer& best, i64 row, i64 step) {
    const i64 lead = min(best.first - best.second + step, LARGEST_INCREMENT);
    return (u64)lead << 32 | (LOW_HALF - (u64)row);
}

// Each active row bids for its best column.
DEVICE void place_bids(const Entries& A, RowLanes lanes, const i64* prices, i64 step, const INDEX* list, i64 count,
                       u32 blocks, INDEX* wanted, u64* bids) {
    for (i64 base = lanes.first(); base < count; base += lanes.step(blocks)) {
        const i64 place = base + lanes.group();
        const i64 row = place < count ? (i64)__ldcg(list + place) : -1;
        i64 own;
        const Offer best = best_offer(A, lanes, row, prices, -1, &own);
        if (row < 0 || lanes.place() != 0) continue;
        wanted[row] = (INDEX)best.column;
        atomicMax(bids + best.column, packed_bid(best, row, step));
    }
}

// The winner of each column takes it from the row before; losers and those rows are active in the next round. A loser
// may read a bid that the winner has reset, which belongs to no row.
DEVICE void settle_bids(const INDEX* list, i64 count, u32 blocks, const INDEX* wanted, i64* prices, INDEX* columns,
                        INDEX* rows, u64* bids, INDEX* next, u64* length) {
    for (i64 base = (i64)blockIdx.x * blockDim.x + threadIdx.x / 32 * 32; base < count;
         base += (i64)blocks * blockDim.x) {
        const i64 place = base + threadIdx.x % 32;
        i64 following = -1;
        if (place < count) {
            const i64 row = __ldcg(list + place), column = __ldcg(wanted + row);
            const u64 bid = __ldcg(bids + column);
            following = row;
            if (LOW_HALF - (bid & LOW_HALF) == (u64)row) {
                following = __ldcg(rows + column);
                if (following >= 0) columns[following] = NO_VERTEX;
                rows[column] = (INDEX)row;
                columns[row] = (INDEX)column;
                prices[column] = __ldcg(prices + column) + (i64)(bid >> 32);
                bids[column] = 0;
            }
        }
        append(following, next, length);
    }
}

// Rounds of an auction, in one cooperative launch: active rows bid, grid barrier, bids are settled, grid barrier. One
// block goes on alone when few rows are active. `lists` has room for all rows three times; `bids`, the `counts` of three
// rounds, and `barrier` are zero at first.
KERNEL __launch_bounds__(256, 4)
    run_auction(In<INDEX> indptr, In<INDEX> indices, In<int> weights, i64 n, i64 width, i64 step, i64 stop, i64* prices,
                INDEX* columns, INDEX* rows, INDEX* lists, u64* bids, i64* progress, u64* counts, u32* barrier) {
    const Entries A = {indptr, indices, weights, n};
    const RowLanes lanes = {(int)width};
    INDEX* const wanted = lists + 2 * n;
    u32 blocks = gridDim.x, generation = 0;
    list_unmatched(A, lanes, prices, columns, rows, step, lists, counts);
    grid_barrier(barrier, generation);
    i64 round = 0, total = 0, count = (i64)__ldcg(counts);
    while (count > stop && round < MOST_ROUNDS && total < BIDS_PER_ROW * n) {
        if (count * width <= ONE_BLOCK_ITEMS) blocks = 1;
        if (blockIdx.x >= blocks) return;
        INDEX *const list = lists + round % 2 * n, *const next = lists + (round + 1) % 2 * n;
        u64* const length = counts + (round + 1) % 3;
        // The count of the round before is not read any more; the round after the next uses its place.
        if (blockIdx.x == 0 && threadIdx.x == 0) counts[(round + 2) % 3] = 0;
        place_bids(A, lanes, prices, step, list, count, blocks, wanted, bids);
        if (blocks > 1) grid_barrier(barrier, generation);
        else __syncthreads();
        settle_bids(list, count, blocks, wanted, prices, columns, rows, bids, next, length);
        if (blocks > 1) grid_barrier(barrier, generation);
        else __syncthreads();
        ++round;
        total += count;
        count = (i64)__ldcg(length);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        progress[0] = round;
        progress[1] = total;
        progress[2] = count;
    }
}
