// Short rows of a sparse product: a group of lanes (a power of two, at most a warp) per row, with tables in shared
// memory. All groups of a warp do the same number of steps, so that the warp stays converged.

// The lanes of a row.
struct Group {
    int lanes, lane;
    int number;      // among the groups of the block
    int first_lane;  // in the warp

    __device__ __forceinline__ Group(int lanes)
        : lanes(lanes),
          lane(threadIdx.x & (lanes - 1)),
          number(threadIdx.x / lanes),
          first_lane(threadIdx.x % 32 & ~(lanes - 1)) {}

    template <typename T>
    __device__ __forceinline__ T sum(T value) const {
        for (int half = lanes / 2; half > 0; half /= 2) value += __shfl_xor_sync(FULL_WARP, value, half);
        return value;
    }

    // Calls visit(row) for all rows of the list, -1 for the last groups of a warp that find none.
    template <typename Visit>
    __device__ __forceinline__ void for_each_row(const RowList& list, Visit visit) const {
        const int groups = 32 / lanes;
        const i64 stride = (i64)gridDim.x * (blockDim.x / 32) * groups;
        const i64 warp = (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
        for (i64 first = warp * groups; first < list.count; first += stride) {
            const i64 i = first + first_lane / lanes;
            visit(i < list.count ? list.row(i) : -1);
            __syncwarp();
        }
    }
};

// The number of terms of a row, to every lane.
__device__ __forceinline__ i64 terms_of_row(const Factors& factors, i64 row, const Group& group) {
    i64 terms = 0;
    const i64 end = row < 0 ? 0 : factors.left_indptr[row + 1];
    for (i64 slot = row < 0 ? 0 : (i64)factors.left_indptr[row] + group.lane; slot < end; slot += group.lanes) {
        const INDEX middle = factors.left_indices[slot];
        terms += factors.right_indptr[middle + 1] - factors.right_indptr[middle];
    }
    return group.sum(terms);
}

// The number of columns of a row, to every lane. The order does not matter: a lane takes whole rows of the right
// matrix.
__device__ __forceinline__ int columns_of_row(const Factors& factors, i64 row, const Group& group, u32* keys,
                                              int slots) {
    clear_keys(keys, slots, group.lane, group.lanes);
    __syncwarp();
    int columns = 0;
    const i64 end = row < 0 ? 0 : factors.left_indptr[row + 1];
    for (i64 slot = row < 0 ? 0 : (i64)factors.left_indptr[row] + group.lane; slot < end; slot += group.lanes) {
        const INDEX middle = factors.left_indices[slot];
        const i64 stop = factors.right_indptr[middle + 1];
        for (i64 place = factors.right_indptr[middle]; place < stop; ++place) {
            bool is_new;
            find_or_insert(keys, slots, (u32)factors.right_indices[place], is_new);
            columns += is_new;
        }
    }
    __syncwarp();
    return group.sum(columns);
}

// The entries of a row in shared memory, in the order in which their columns are met, and a hash table that gives the
// place of each column. `capacity` is a power of two, from 16 to 256.
struct ShortRow {
    VALUE* values;
    u32 *columns, *keys, *count;
    u8* places;
    int capacity;

    static __device__ __forceinline__ int bytes(int capacity) { return capacity * ((int)sizeof(VALUE) + 14) + 16; }

    __device__ __forceinline__ ShortRow(char* memory, int capacity) : capacity(capacity) {
        values = (VALUE*)memory;
        columns = (u32*)(values + capacity);
        keys = columns + capacity;
        count = keys + 2 * capacity;
        places = (u8*)(count + 4);
    }
    __device__ __forceinline__ void clear(const Group& group) const {
        clear_keys(columns, capacity, group.lane, group.lanes);
        clear_keys(keys, 2 * capacity, group.lane, group.lanes);
        if (group.lane == 0) *count = 0;
        __syncwarp();
    }
    // Lanes that add at the same time have different columns.
    __device__ __forceinline__ void add(u32 column, VALUE term) const {
        bool is_new;
        const int slot = find_or_insert(keys, 2 * capacity, column, is_new);
        if (is_new) {
            const u32 place = atomicAdd(count, 1u);
            places[slot] = (u8)place;
            columns[place] = column;
            values[place] = term;
        } else {
            VALUE& sum = values[places[slot]];
            sum = plus(sum, term);
        }
    }
    // Sorts by rank: the place of an entry is the number of lower columns. Free places count as high ones.
    __device__ __forceinline__ void write(const Product& product, i64 begin, const Group& group) const {
        const int entries = (int)*count;
        for (int i = group.lane; i < entries; i += group.lanes) {
            const u32 column = columns[i];
            int lower = 0;
            for (int j = 0; j < entries; j += 4) {
                const uint4 others = *(const uint4*)(columns + j);
                lower += (others.x < column) + (others.y < column) + (others.z < column) + (others.w < column);
            }
            product.indices[begin + lower] = (INDEX)column;
            product.data[begin + lower] = values[i];
        }
    }
};

// The entries of a row of the right matrix that a lane takes, how many entries are left from the next one on, and this
// one, which is loaded ahead.
struct LanePart {
    INDEX place;
    int left;
    u32 column;
    VALUE value;

    __device__ __forceinline__ void load(const Factors& factors) {
        if (left <= 0) return;
        column = (u32)factors.right_indices[place];
        value = factors.right_data[place];
    }
};

// Adds up the terms of a row. The lanes load a left entry each; then they walk the rows of the right matrix in this
// order, each row by all lanes.
__device__ __forceinline__ void add_terms(const Factors& factors, i64 row, const Group& group, const ShortRow& sums) {
    const INDEX begin = row < 0 ? 0 : factors.left_indptr[row], end = row < 0 ? 0 : factors.left_indptr[row + 1];
    const INDEX steps = warp_max((INDEX)(end - begin));
    for (INDEX base = 0; base < steps; base += group.lanes) {
        INDEX from = 0;
        int length = 0;
        VALUE weight = {};
        if (base + group.lane < end - begin) {
            const INDEX slot = begin + base + group.lane, middle = factors.left_indices[slot];
            weight = factors.left_data[slot];
            from = factors.right_indptr[middle];
            length = (int)(factors.right_indptr[middle + 1] - from);
        }
        const auto part_of = [&](int j) {
            LanePart part;
            part.place = __shfl_sync(FULL_WARP, from, group.first_lane + j) + group.lane;
            part.left = __shfl_sync(FULL_WARP, length, group.first_lane + j) - group.lane;
            part.load(factors);
            return part;
        };
        const int loaded = (int)min(steps - base, (INDEX)group.lanes);
        LanePart next = part_of(0);
        for (int j = 0; j < loaded; ++j) {
            LanePart part = next;
            if (j + 1 < loaded) next = part_of(j + 1);
            const VALUE factor = from_lane(weight, group.first_lane + j);
            while (part.left > 0) {
                sums.add(part.column, times(factor, part.value));
                part.place += group.lanes;
                part.left -= group.lanes;
                part.load(factors);
            }
            __syncwarp();
        }
    }
}
