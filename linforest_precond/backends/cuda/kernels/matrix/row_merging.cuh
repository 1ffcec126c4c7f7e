// Merging of rows: a coarse row gathers the entries of several fine rows (its terms), terms of one column are added
// up, and columns ascend. The Galerkin product of aggregates (matrix/row_merging.cu) and the graph of pairs
// (forest/pairs.cu) are computed so.
//
// Blocks take tiles of coarse rows in turn. Short rows are staged in shared memory: the shortest are sorted by a
// thread each, others by a warp each. Each long row is sorted by the whole block, then summed by segments. Decoupled
// look-back gives each tile its place in the output, so one pass over the terms does.
//
// What differs is a type `Terms`:
//   Term, Sum       a loaded entry; the sum of the terms of one column, which are added in the order of the terms
//   ROW_LANES       lanes that load and write a staged row where rows are short on average
//   Members         what a block keeps in shared memory to find the terms of a tile
//   row(r)          the terms of a coarse row: load(i) gives the i-th
//   load_tile       fills tile.terms
//   load_members    prepares a chunk, of which staged_row(r).load(i) gives the terms, i ascending
//   fits            whether Members has room for the rows [first, end)
//   key, value      of a term: column_of(key) is its column; terms whose key is DROPPED are left out
//   room_slot       where the i-th entry of a merged row is put that does not fit into shared memory
//   count_of_longest  the entries of a row of more than LONGEST_ROW terms, which was merged before
//   Reduction       what is reduced over the values of a merged row: insert(value) by each of some lanes, then
//   reduce          of a row, by all of them

// Threads of a block, and coarse rows of a tile at most.
#define THREADS 256
#define ROWS 128
// Terms that fit into shared memory.
#define CAPACITY (sizeof(VALUE) > 8 ? 1280 : 2560)
// Loads that each lane has in flight.
#define IN_FLIGHT 3
// Terms of a row that a thread merges at most (measured on an H200), that a warp merges (their numbers are bytes), and
// that a block sorts; the latter two are powers of two.
#define SERIAL_ROW (sizeof(VALUE) > 8 ? 18 : 32)
#define SHORT_ROW 256
#define LONGEST_ROW 4096
// The key of a term that is left out. No term has it otherwise.
#define DROPPED 0xffffffffu
// Lower columns fit into a word with the number of a term of a short row.
#define NO_COLUMN (~0u / SHORT_ROW)

// The coarse rows in CSR.
struct MergedRows {
    INDEX* __restrict__ indptr;
    INDEX* __restrict__ indices;
    VALUE* __restrict__ data;
};

// Merged rows of tiles that do not fit into shared memory, until their places are known; null where all fit.
struct MergeRoom {
    INDEX* indices;
    VALUE* data;
};

// What all tiles came to: tiles taken, entries, and entries of the longest row; zero at first.
enum MergeTotal { TAKEN, ENTRIES, LONGEST };

// The rows that a block takes at a time.
struct MergeTile {
    i64 number;
    i64 first_row, first_entry;  // in the coarse matrix
    i64 terms[ROWS + 1];         // terms before each row, from an offset that all rows of the tile share
    int counts[ROWS];            // entries of each merged row
    int before[ROWS + 1];        // and of the rows before it in the tile
    u32 heads[ROWS];             // of rows of up to SERIAL_ROW terms, which terms are the first of their columns
    int chunk_end;
};

// The consecutive rows of a tile that are in shared memory. After merging, the keys of rows of up to SERIAL_ROW terms
// are sorted, and `numbers` are those of the terms. In others, `numbers` are those of the first terms of the columns,
// by column, whose values are the sums.
struct MergeChunk {
    VALUE values[CAPACITY];
    u32 keys[CAPACITY];
    u8 numbers[CAPACITY];
};

// A chunk, or one long row: the key and the number of each of its terms.
union MergeStage {
    MergeChunk chunk;
    u64 row[LONGEST_ROW];
};

// Lanes that load and write each of the rows [first, end) of a tile: by their mean length.
template <typename Terms>
DEVICE int lanes_of(const MergeTile& tile, int first, int end) {
    return tile.terms[end] - tile.terms[first] <= (i64)SERIAL_ROW * (end - first) ? Terms::ROW_LANES : 32;
}

// Stages the terms of the rows [first, end) of a tile.
template <typename Terms>
DEVICE void stage_chunk(const Terms& terms, const MergeTile& tile, typename Terms::Members& members, MergeChunk& chunk,
                        int first, int end) {
    const int lanes = lanes_of<Terms>(tile, first, end), lane = threadIdx.x % lanes;
    terms.load_members(tile, members, first, end);
    for (int r = first + threadIdx.x / lanes; r < end; r += THREADS / lanes) {
        const int begin = (int)(tile.terms[r] - tile.terms[first]), count = (int)(tile.terms[r + 1] - tile.terms[r]);
        auto row = terms.staged_row(tile, members, first, r);
        for (int i = lane; i < count; i += lanes * IN_FLIGHT) {
            typename Terms::Term loaded[IN_FLIGHT];
#pragma unroll
            for (int j = 0; j < IN_FLIGHT; ++j) {
                if (i + j * lanes >= count) break;
                loaded[j] = row.load(i + j * lanes);
            }
#pragma unroll
            for (int j = 0; j < IN_FLIGHT; ++j) {
                if (i + j * lanes >= count) break;
                chunk.keys[begin + i + j * lanes] = terms.key(loaded[j], tile.first_row + r);
                chunk.values[begin + i + j * lanes] = Terms::value(loaded[j]);
            }
        }
    }
}

template <typename Word>
DEVICE void compare_exchange(Word& low, Word& high) {
    const Word smaller = min(low, high);
    high = max(low, high);
    low = smaller;
}

// Batcher's odd-even merge sort of words in registers; SPAN and STRIDE are those of the comparators from here on.
template <int SIZE, int SPAN = 1, int STRIDE = 1, typename Word>
DEVICE void sort_in_registers(Word (&words)[SIZE]) {
#pragma unroll
    for (int i = 0; i < SIZE - STRIDE; ++i)
        if (i >= STRIDE % SPAN && (i - STRIDE % SPAN) / STRIDE % 2 == 0 && i / (2 * SPAN) == (i + STRIDE) / (2 * SPAN))
            compare_exchange(words[i], words[i + STRIDE]);
    if constexpr (STRIDE > 1) sort_in_registers<SIZE, SPAN, STRIDE / 2>(words);
    else if constexpr (2 * SPAN < SIZE) sort_in_registers<SIZE, 2 * SPAN, 2 * SPAN>(words);
}

// Sorts `count` terms by key and number, at most SIZE. Returns a mask of the first terms of the columns.
template <typename Terms, int SIZE>
DEVICE u32 sort_few(u32* keys, u8* numbers, int count) {
    u64 words[SIZE];
    u32 heads = 0;
#pragma unroll
    for (int i = 0; i < SIZE; ++i) words[i] = i < count ? (u64)keys[i] << 32 | numbers[i] : ~0ull;
    sort_in_registers(words);
#pragma unroll
    for (int i = 0; i < SIZE; ++i) {
        const u32 key = (u32)(words[i] >> 32);
        if (i >= count) break;
        keys[i] = key;
        numbers[i] = (u8)words[i];
        if (i == 0 || Terms::column_of(key) != Terms::column_of((u32)(words[i - (i > 0)] >> 32))) heads |= 1u << i;
    }
    return heads;
}

// The same by insertion, which is stable, for up to 32 terms.
template <typename Terms>
DEVICE u32 sort_by_insertion(u32* keys, u8* numbers, int count) {
    for (int i = 1; i < count; ++i) {
        const u32 key = keys[i];
        const u8 number = numbers[i];
        int place = i;
        for (; place > 0 && keys[place - 1] > key; --place) {
            keys[place] = keys[place - 1];
            numbers[place] = numbers[place - 1];
        }
        keys[place] = key;
        numbers[place] = number;
    }
    u32 heads = 0;
    for (int i = 0; i < count; ++i)
        heads |= (u32)(i == 0 || Terms::column_of(keys[i]) != Terms::column_of(keys[i - 1])) << i;
    return heads;
}

// Sorts the staged terms [begin, begin + length) by one thread: the keys of those that are not dropped come first, and
// `numbers` are those of the terms. Returns a mask of the first terms of the columns.
template <typename Terms>
DEVICE u32 sort_serially(MergeChunk& chunk, int begin, int length) {
    u32* const keys = chunk.keys + begin;
    u8* const numbers = chunk.numbers + begin;
    int count = 0;
    for (int i = 0; i < length; ++i) {
        const u32 key = keys[i];
        if (key == DROPPED) continue;
        keys[count] = key;
        numbers[count++] = (u8)i;
    }
    if (count < length) keys[count] = DROPPED;
    if (count <= 8) return sort_few<Terms, 8>(keys, numbers, count);
    if (count <= 16) return sort_few<Terms, 16>(keys, numbers, count);
    return sort_by_insertion<Terms>(keys, numbers, count);
}

// Bitonic sort of 32 * SIZE words by a warp (Batcher 1968): lane l has the words [SIZE * l, SIZE * (l + 1)). Each merge
// of two runs compares mirrored words first, so all comparators have the same direction.
template <int SIZE>
DEVICE void sort_by_warp(u32 (&words)[SIZE]) {
    const int lane = threadIdx.x % 32;
    sort_in_registers(words);
#pragma unroll
    for (int lanes = 2; lanes <= 32; lanes *= 2) {
        u32 others[SIZE];
#pragma unroll
        for (int i = 0; i < SIZE; ++i) others[i] = __shfl_xor_sync(FULL_WARP, words[SIZE - 1 - i], lanes - 1);
#pragma unroll
        for (int i = 0; i < SIZE; ++i)
            words[i] = lane & lanes / 2 ? max(words[i], others[i]) : min(words[i], others[i]);
#pragma unroll
        for (int distance = lanes / 4; distance > 0; distance /= 2)
#pragma unroll
            for (int i = 0; i < SIZE; ++i) {
                const u32 other = __shfl_xor_sync(FULL_WARP, words[i], distance);
                words[i] = lane & distance ? max(words[i], other) : min(words[i], other);
            }
#pragma unroll
        for (int stride = SIZE / 2; stride > 0; stride /= 2)
#pragma unroll
            for (int i = 0; i < SIZE; ++i)
                if (!(i & stride)) compare_exchange(words[i], words[i + stride]);
    }
}

// Sorts the numbers of the staged terms by column, at most 32 * SIZE; a word is a column and a number.
template <typename Terms, int SIZE>
DEVICE void order_by_words(const u32* keys, u8* numbers, int length) {
    const int lane = threadIdx.x % 32;
    u32 words[SIZE];
#pragma unroll
    for (int i = 0; i < SIZE; ++i) {
        const int number = 32 * i + lane;
        words[i] = min(number < length ? Terms::column_of(keys[number]) : DROPPED, NO_COLUMN) * SHORT_ROW + number;
    }
    sort_by_warp(words);
#pragma unroll
    for (int i = 0; i < SIZE; ++i)
        if (SIZE * lane + i < length) numbers[SIZE * lane + i] = (u8)words[i];
}

// The same for any columns: each term counts those before it.
template <typename Terms>
DEVICE void order_by_counting(const u32* keys, u8* numbers, int length) {
    for (int i = threadIdx.x % 32; i < length; i += 32) {
        const u32 column = Terms::column_of(keys[i]);
        int place = 0;
        for (int j = 0; j < length; ++j)
            place += Terms::column_of(keys[j]) < column || (j < i && Terms::column_of(keys[j]) == column);
        numbers[place] = (u8)i;
    }
}

// Merges the staged terms [begin, begin + length) by a warp. Returns the number of columns to every lane.
template <typename Terms>
DEVICE int merge_by_warp(MergeChunk& chunk, int begin, int length) {
    const int lane = threadIdx.x % 32;
    const u32* const keys = chunk.keys + begin;
    VALUE* const values = chunk.values + begin;
    u8* const numbers = chunk.numbers + begin;
    bool wide = false;
    for (int i = lane; i < length; i += 32) wide |= keys[i] != DROPPED && Terms::column_of(keys[i]) >= NO_COLUMN;
    if (__any_sync(FULL_WARP, wide)) order_by_counting<Terms>(keys, numbers, length);
    else if (length <= 64) order_by_words<Terms, 2>(keys, numbers, length);
    else if (length <= 128) order_by_words<Terms, 4>(keys, numbers, length);
    else order_by_words<Terms, SHORT_ROW / 32>(keys, numbers, length);
    __syncwarp();
    int count = 0;
    for (int base = 0; base < length; base += 32) {
        const int i = base + lane, number = i < length ? numbers[i] : 0;
        const u32 key = i < length ? keys[number] : DROPPED, column = Terms::column_of(key);
        const bool head = key != DROPPED && (i == 0 || Terms::column_of(keys[numbers[i - 1]]) != column);
        if (head) {
            typename Terms::Sum sum(key, values[number]);
            for (int j = i + 1; j < length && Terms::column_of(keys[numbers[j]]) == column; ++j)
                sum.add(keys[numbers[j]], values[numbers[j]]);
            values[number] = sum.total();  // no other lane reads it
        }
        const u32 heads = __ballot_sync(FULL_WARP, head);
        __syncwarp();
        // At most place i: the numbers that are read in later rounds stay.
        if (head) numbers[count + __popc(heads & ((1u << lane) - 1))] = (u8)number;
        count += __popc(heads);
    }
    return count;
}

// Merges the staged rows [first, end) of a tile: the shortest by a thread each, then others by a warp each.
template <typename Terms>
DEVICE void merge_chunk(MergeTile& tile, MergeChunk& chunk, int first, int end) {
    const int t = threadIdx.x;
    const auto begin_of = [&](int r) { return (int)(tile.terms[r] - tile.terms[first]); };
    const int length = t >= first && t < end ? begin_of(t + 1) - begin_of(t) : 0;
    if (t >= first && t < end && length <= SERIAL_ROW)
        tile.counts[t] = __popc(tile.heads[t] = sort_serially<Terms>(chunk, begin_of(t), length));
    if (!__syncthreads_or(length > SERIAL_ROW)) return;
    for (int r = first + t / 32; r < end; r += THREADS / 32) {
        const int row_length = begin_of(r + 1) - begin_of(r);
        if (row_length <= SERIAL_ROW) continue;
        const int count = merge_by_warp<Terms>(chunk, begin_of(r), row_length);
        if (t % 32 == 0) tile.counts[r] = count;
    }
}

// The sum of the sorted terms of one column, from the `first` of them on.
template <typename Terms>
DEVICE VALUE sum_of_column(const MergeChunk& chunk, int begin, int first, int length) {
    const u32* const keys = chunk.keys + begin;
    const u8* const numbers = chunk.numbers + begin;
    const VALUE* const values = chunk.values + begin;
    typename Terms::Sum sum(keys[first], values[numbers[first]]);
    for (int i = first + 1; i < length && Terms::column_of(keys[i]) == Terms::column_of(keys[first]); ++i)
        sum.add(keys[i], values[numbers[i]]);
    return sum.total();
}

// Writes the merged rows of a chunk; `slot(r, i)` is where the i-th entry of row r goes.
template <typename Terms, typename Slot>
DEVICE void write_chunk(const Terms& terms, const MergeTile& tile, const MergeChunk& chunk, int first, int end,
                        Slot slot, INDEX* indices, VALUE* data) {
    const int lanes = lanes_of<Terms>(tile, first, end), lane = threadIdx.x % lanes;
    for (int r = first + threadIdx.x / lanes; r < end; r += THREADS / lanes) {
        const int begin = (int)(tile.terms[r] - tile.terms[first]), length = (int)(tile.terms[r + 1] - tile.terms[r]);
        const bool sorted = length <= SERIAL_ROW;
        const u32 heads = sorted ? tile.heads[r] : 0;
        typename Terms::Reduction reduction;
        for (int i = lane; i < (sorted ? length : tile.counts[r]); i += lanes) {
            if (sorted && !(heads >> i & 1)) continue;
            const i64 out = slot(r, sorted ? __popc(heads & ((1u << i) - 1)) : i);
            const int term = begin + (sorted ? i : chunk.numbers[begin + i]);
            indices[out] = (INDEX)Terms::column_of(chunk.keys[term]);
            const VALUE value = sorted ? sum_of_column<Terms>(chunk, begin, i, length) : chunk.values[term];
            data[out] = value;
            reduction.insert(value);
        }
        terms.reduce(reduction, tile.first_row + r, lanes);
    }
}

// Merges a long row by the whole block: its terms are sorted by key and number, and each column's first one adds up
// those after it. Leaves the row in the room and returns its number of entries.
template <typename Terms, typename Slot>
DEVICE int merge_long_row(const Terms& terms, i64 row, int length, u64* words, Slot slot, const MergeRoom& room) {
    __shared__ int heads;
    const auto source = terms.row(row);
    const int t = threadIdx.x;
    int padded = 1;
    while (padded < length) padded *= 2;
    for (int i = t; i < padded; i += THREADS)
        words[i] = (u64)(i < length ? terms.key(source.load(i), row) : DROPPED) << 32 | i;
    __syncthreads();
    bitonic_sort(words, padded);
    int merged = 0;
    for (int base = 0; base < length; base += THREADS) {
        const int i = base + t;
        const u32 key = i < length ? words[i] >> 32 : DROPPED, column = Terms::column_of(key);
        const bool head = key != DROPPED && (i == 0 || Terms::column_of(words[i - 1] >> 32) != column);
        const int place = merged + block_exclusive_sum(head, &heads);
        if (head) {
            typename Terms::Sum sum(key, Terms::value(source.load((u32)words[i])));
            for (int j = i + 1; j < length && Terms::column_of(words[j] >> 32) == column; ++j)
                sum.add(words[j] >> 32, Terms::value(source.load((u32)words[j])));
            room.indices[slot(place)] = (INDEX)column;
            room.data[slot(place)] = sum.total();
        }
        __syncthreads();
        merged += heads;
        __syncthreads();
    }
    return merged;
}

// Merges the rows of a tile: as many short ones at a time as fit into shared memory, long ones each by the whole block.
// Returns whether all are in shared memory now; otherwise they are in the room.
template <typename Terms>
DEVICE bool merge_tile(const Terms& terms, const MergeRoom& room, MergeTile& tile, typename Terms::Members& members,
                       MergeStage& stage, int rows) {
    const int t = threadIdx.x;
    const auto room_slot = [&](int r, int i) { return terms.room_slot(tile, members, r, i); };
    for (int first = 0; first < rows;) {
        if (t == 0) tile.chunk_end = rows;
        __syncthreads();
        if (t >= first && t < rows &&
            (tile.terms[t + 1] - tile.terms[t] > SHORT_ROW || tile.terms[t + 1] - tile.terms[first] > CAPACITY ||
             !terms.fits(members, first, t + 1)))
            atomicMin(&tile.chunk_end, t);
        __syncthreads();
        const int end = tile.chunk_end;
        if (end > first) {
            stage_chunk(terms, tile, members, stage.chunk, first, end);
            __syncthreads();
            merge_chunk<Terms>(tile, stage.chunk, first, end);
            __syncthreads();
            if (first == 0 && end == rows) return true;
            write_chunk(terms, tile, stage.chunk, first, end, room_slot, room.indices, room.data);
            first = end;
        } else {
            const i64 row = tile.first_row + first, length = tile.terms[first + 1] - tile.terms[first];
            const auto slot = [&](int i) { return room_slot(first, i); };
            const int count = length > LONGEST_ROW ? terms.count_of_longest(row)
                                                   : merge_long_row(terms, row, (int)length, stage.row, slot, room);
            if (t == 0) tile.counts[first] = count;
            if (t < 32) {
                typename Terms::Reduction reduction;
                for (int i = t; i < count; i += 32) reduction.insert(room.data[slot(i)]);
                terms.reduce(reduction, row, 32);
            }
            ++first;
        }
        __syncthreads();
    }
    return false;
}

// Merges all `count` coarse rows, in tiles of `rows_at_once`; `states` and `totals` are zero at first.
template <typename Terms>
DEVICE void merge_all_rows(const Terms& terms, i64 count, const MergedRows& merged, const MergeRoom& room,
                           int rows_at_once, u64* states, u64* totals) {
    __shared__ MergeTile tile;
    __shared__ typename Terms::Members members;
    __shared__ MergeStage stage;
    const int t = threadIdx.x;
    const i64 tiles = (count + rows_at_once - 1) / rows_at_once;
    int longest = 0;
    while (true) {
        __syncthreads();
        if (t == 0) {
            tile.number = atomicAdd(totals + TAKEN, 1ull);
            tile.first_row = tile.number * rows_at_once;
        }
        __syncthreads();
        const i64 number = tile.number;
        if (number >= tiles) break;
        const int rows = (int)min(count - tile.first_row, (i64)rows_at_once);
        terms.load_tile(tile, members, rows);
        __syncthreads();
        const bool staged = merge_tile(terms, room, tile, members, stage, rows);
        const int entries = t < rows ? tile.counts[t] : 0;
        longest = max(longest, entries);
        const int before = block_exclusive_sum(entries, tile.before + rows);
        if (t < rows) tile.before[t] = before;
        __syncthreads();
        if (t < 32) {
            const u64 own = tile.before[rows], first_entry = look_back(states, number, own);
            if (t == 0) tile.first_entry = first_entry;
            if (t == 0 && number == tiles - 1) merged.indptr[count] = totals[ENTRIES] = first_entry + own;
        }
        __syncthreads();
        if (t < rows) merged.indptr[tile.first_row + t] = tile.first_entry + tile.before[t];
        const auto slot = [&](int r, int i) { return tile.first_entry + tile.before[r] + i; };
        if (staged) {
            write_chunk(terms, tile, stage.chunk, 0, rows, slot, merged.indices, merged.data);
            continue;
        }
        for (int r = 0; r < rows; ++r)
            for (int i = t; i < tile.counts[r]; i += THREADS) {
                const i64 source = terms.room_slot(tile, members, r, i);
                merged.indices[slot(r, i)] = room.indices[source];
                merged.data[slot(r, i)] = room.data[source];
            }
    }
    for (int half = 16; half > 0; half /= 2) longest = max(longest, __shfl_xor_sync(FULL_WARP, longest, half));
    if (t % 32 == 0) atomicMax(totals + LONGEST, (u64)longest);
}
