// Lanes per row.
#define LANES_PER_ROW 8
#define EACH_SLOT(slot, row) \
    for (i64 slot = (i64)indptr[row] + threadIdx.x % LANES_PER_ROW; slot < indptr[row + 1]; slot += LANES_PER_ROW)

// max(|re|, |im|): for bounds that have the same bits as on the CPU.
DEVICE double size_of(double a) { return fabs(a); }
DEVICE double size_of(float a) { return fabs(widened(a)); }
template <typename Complex>
DEVICE double size_of(Complex a) {
    return fmax(size_of(a.re), size_of(a.im));
}

// |a - conj(b)| in the same norm.
DEVICE double difference(double a, double b) { return fabs(a - b); }
DEVICE double difference(float a, float b) { return fabs(widened(a) - widened(b)); }
template <typename Complex>
DEVICE double difference(Complex a, Complex b) {
    return fmax(difference(a.re, b.re), fabs(widened(a.im) + widened(b.im)));
}

// The square root of the diagonal entry of each row; where that is 0, minus the largest magnitude of the row.
KERNEL find_scales(In<INDEX> indptr, In<VALUE> data, In<VALUE> diagonal, i64 rows, double* __restrict__ scales) {
    // The teams of a warp are taken together, so that all lanes take part in shuffles.
    const i64 last = (rows + 32 / LANES_PER_ROW - 1) / (32 / LANES_PER_ROW) * (32 / LANES_PER_ROW);
    GROUP_STRIDE (i64, row, last, LANES_PER_ROW) {
        const double own = row < rows ? size_of(diagonal[row]) : 1;
        double largest = 0;
        if (own == 0) EACH_SLOT(slot, row) largest = fmax(largest, size_of(data[slot]));
        for (int half = LANES_PER_ROW / 2; half > 0; half /= 2)
            largest = fmax(largest, __shfl_xor_sync(FULL_WARP, largest, half));
        if (row < rows && threadIdx.x % LANES_PER_ROW == 0) scales[row] = own > 0 ? sqrt(own) : -largest;
    }
}

// The scale of a pair of entries, from those of their rows: s_ij of the rule.
DEVICE double pair_scale(double here, double there) {
    if (here > 0 && there > 0) return here * there;
    return here <= 0 && there <= 0 ? -fmax(here, there) : -fmin(here, there);
}

// The words of a report: whether some entry is not the mirror image of another one to rounding, whether some pair
// differs, and how many nonzero entries below the diagonal are not the mirror image of one above it.
enum Word { FAR, DIFFERENT, UNPAIRED };

// Compares the entries above the diagonal, and on it, with their mirror images; the first pair that differs by more
// than rounding ends the search. The indices may change meanwhile, so they are checked.
KERNEL compare_mirrors(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, In<double> scales, i64 rows,
                       double tolerance, u64* report) {
    bool far = false, different = false;
    u64 unpaired = 0;
    GROUP_STRIDE (i64, row, rows, LANES_PER_ROW) {
        if (far || *(volatile u64*)(report + FAR)) break;
        EACH_SLOT(slot, row) {
            const i64 column = indices[slot];
            const VALUE own = data[slot];
            if (column < row) {
                unpaired += !is_zero(own);
                continue;
            }
            if (column >= rows) {
                far = true;
                break;
            }
            const i64 mirror =
                column == row ? slot : find_column(indices, (i64)indptr[column], (i64)indptr[column + 1], (INDEX)row);
            const VALUE other = mirror < 0 ? VALUE{} : data[mirror];
            unpaired -= column > row && !is_zero(other);
            const double distance = difference(own, other);
            if (distance == 0) continue;
            different = true;
            const double scale = pair_scale(scales[row], scales[column]);
            if (mirror < 0 || !(distance <= tolerance * fmax(fmax(size_of(own), size_of(other)), scale))) {
                far = true;
                break;
            }
        }
    }
    if (far) report[FAR] = 1;
    if (different) report[DIFFERENT] = 1;
    __syncwarp();
    unpaired = warp_sum(unpaired);
    if (threadIdx.x % 32 == 0 && unpaired) atomicAdd(report + UNPAIRED, unpaired);
}

DEVICE float real_value(float a) { return a; }
DEVICE double real_value(double a) { return a; }
DEVICE Complex64 real_value(Complex64 a) { return {a.re, 0}; }
DEVICE Complex128 real_value(Complex128 a) { return {a.re, 0}; }

// Makes a nearly Hermitian matrix Hermitian: copies the conjugates of the entries above the diagonal below it, and
// makes the diagonal real; a team of lanes per row.
KERNEL copy_upper(In<INDEX> indptr, In<INDEX> indices, i64 rows, VALUE* data) {
    GROUP_STRIDE (i64, row, rows, LANES_PER_ROW) {
        for (i64 slot = (i64)indptr[row] + threadIdx.x % LANES_PER_ROW; slot < indptr[row + 1] && indices[slot] <= row;
             slot += LANES_PER_ROW) {
            const i64 column = indices[slot];
            if (column == row) {
                data[slot] = real_value(data[slot]);
                continue;
            }
            const i64 mirror = find_column(indices, indptr[column], indptr[column + 1], (INDEX)row);
            if (mirror >= 0) data[slot] = conjugate(data[mirror]);
        }
    }
}
