// Short rows of a sparse product: a group of lanes (a power of two, at most a warp) per row, with tables in shared
// memory. All groups of a warp do the same number of steps, so that the warp stays converged.

// The lanes of a row.
struct Group {
    int lanes, lane;
    int number;      // among the groups of the block
    int first_lane;  // in the warp

    DEVICE Group(int lanes)
        : lanes(lanes),
          lane(threadIdx.x & (lanes - 1)),
          number(threadIdx.x / lanes),
          first_lane(threadIdx.x % 32 & ~(lanes - 1)) {}

    template <typename T>
    DEVICE T sum(T value) const {
        for (int half = lanes / 2; half > 0; half /= 2) value += __shfl_xor_sync(FULL_WARP, value, half);
        return value;
    }

    // The lanes of the group for which `flag` holds, the first one in the lowest bit; called by all lanes of the warp.
    DEVICE u32 vote(bool flag) const {
        return __ballot_sync(FULL_WARP, flag) >> first_lane & 0xffffffffu >> (32 - lanes);
    }

    // Calls visit(row) for all rows of the list, -1 for the last groups of a warp that find none.
    template <typename Visit>
    DEVICE void for_each_row(const RowList& list, Visit visit) const {
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
DEVICE i64 terms_of_row(const Factors& factors, i64 row, const Group& group) {
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
DEVICE int columns_of_row(const Factors& factors, i64 row, const Group& group, u32* keys, int slots) {
    clear_keys(keys, slots, group.lane, group.lanes);
    __syncwarp();
    int columns = 0;
    const i64 end = row < 0 ? 0 : factors.left_indptr[row + 1];
    for (i64 slot = row < 0 ? 0 : (i64)factors.left_indptr[row] + group.lane; slot < end; slot += group.lanes) {
        const INDEX middle = factors.left_indices[slot];
        const INDEX begin = factors.right_indptr[middle];
        each_column(factors, begin, (int)(factors.right_indptr[middle + 1] - begin), [&](u32 column) {
            bool is_new;
            find_or_insert(keys, slots, column, is_new);
            columns += is_new;
        });
    }
    __syncwarp();
    return group.sum(columns);
}

// The entries of a row in shared memory: a hash table of twice as many slots, with a sum each. `capacity` is a power of
// two from 32 on.
struct ShortRow {
    VALUE* values;
    u32* keys;
    int slots;

    static DEVICE int bytes(int capacity) { return 2 * capacity * ((int)sizeof(VALUE) + 4); }

    DEVICE ShortRow(char* memory, int capacity) : slots(2 * capacity) {
        values = (VALUE*)memory;
        keys = (u32*)(values + slots);
    }
    DEVICE void clear(const Group& group) const {
        clear_keys(keys, slots, group.lane, group.lanes);
        __syncwarp();
    }
    // Lanes that add at the same time have different columns.
    DEVICE void add(u32 column, VALUE term) const {
        bool is_new;
        VALUE& sum = values[find_or_insert(keys, slots, column, is_new)];
        sum = is_new ? term : plus(sum, term);
    }
    // Moves the entries to the first slots, and returns how many there are. EMPTY keys follow them.
    DEVICE int compact(const Group& group) const {
        int entries = 0;
        for (int base = 0; base < slots; base += group.lanes) {
            const u32 key = keys[base + group.lane];
            const bool used = key != EMPTY;
            const u32 found = group.vote(used);
            const int place = entries + __popc(found & ((1u << group.lane) - 1));
            VALUE value;
            if (used) value = values[base + group.lane];
            __syncwarp();
            if (used) {
                keys[place] = key;
                values[place] = value;
            }
            entries += __popc(found);
        }
        __syncwarp();
        if (group.lane < 4) keys[entries + group.lane] = EMPTY;
        __syncwarp();
        return entries;
    }
    // Sorts by rank: the place of an entry is the number of lower columns. Called by all lanes of a warp; nothing has been
    // added where there is no row.
    DEVICE void write(const Product& product, i64 row, const Group& group) const {
        const int entries = compact(group);
        const i64 begin = row < 0 ? 0 : (i64)product.indptr[row];
        for (int i = group.lane; i < entries; i += group.lanes) {
            const u32 column = keys[i];
            int lower = 0;
            for (int j = 0; j < entries; j += 4) {
                const uint4 others = *(const uint4*)(keys + j);
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

    DEVICE void load(const Factors& factors) {
        if (left <= 0) return;
        column = (u32)factors.right_indices[place];
        value = factors.right_data[place];
    }
};

// Adds up the terms of a row. The lanes load a left entry each; then they walk the rows of the right matrix in this
// order, each row by all lanes.
DEVICE void add_terms(const Factors& factors, i64 row, const Group& group, const ShortRow& sums) {
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
