// Rows of the smoothed prolongator: the filtered matrix F of its smoother I - W F, and the terms of each row.

#define DAMPING (4.0 / 3.0)
#define LEAST_SHARE 0.1
#define DOUBLE_TINY 2.2250738585072014e-308

// The couplings that the prolongator smoother keeps: those of at least `least` of each row, which is infinite for a row
// without strong couplings; where `least` is null, those that are `known`. (Arrays of the entries are null, too, where
// there are none.) `marks` takes 1 for the couplings that are kept, where it is not null.
struct Filter {
    Matrix matrix;
    In<double> least;
    In<u8> known;
    u8* __restrict__ marks;
    i64 is_signed;

    DEVICE double least_of(i64 row) const { return least ? least[row] : 0.0; }
};

// Whether an entry beside the diagonal is kept by the filter; `sign` and `least` are the row's.
DEVICE bool is_kept(const Filter& filter, i64 slot, VALUE value, double sign, double least) {
    if (!filter.least) return filter.known[slot];
    const double found = size_of_coupling(filter.is_signed, sign, value);
    return found > 0 && found >= least;
}

// A row of the prolongator smoother I - W F: the diagonal of F, and the weight, 0 where the row has no strong couplings.
struct FilteredRow {
    double real, imaginary, weight;
};

// A row of F: weak couplings are added to the diagonal, unless that would leave at most LEAST_SHARE of it.
DEVICE FilteredRow filtered_row(const Filter& filter, i64 row, const Team& team) {
    const Matrix& A = filter.matrix;
    const double least = filter.least_of(row);
    if (least == DOUBLE_INFINITY) return {};
    const VALUE diagonal = A.diagonal[row];
    const double own = wide_magnitude(diagonal), own_real = wide_real(diagonal),
                 own_imaginary = wide_imaginary(diagonal);
    double real = own_real, imaginary = own_imaginary, total = 0;
    u32 any_kept = 0;
    each_entry(A, row, team, NothingGathered(), [&](i64 slot, bool valid, i64 column, VALUE value, char) {
        const bool beside = valid && column != row, kept = beside && is_kept(filter, slot, value, own_real, least);
        const bool weak = beside && !kept;
        const u32 weak_lanes = team.vote(weak), kept_lanes = team.vote(kept);
        if (kept && filter.marks) filter.marks[slot] = 1;
        any_kept |= kept_lanes;
        total = team.add_in_order(total, wide_magnitude(value), kept_lanes);
        if (!weak_lanes) return;
        real = team.add_in_order(real, wide_real(value), weak_lanes);
        if (IS_COMPLEX) imaginary = team.add_in_order(imaginary, wide_imaginary(value), weak_lanes);
    });
    if (!any_kept) return {};
    double share = (real / own) * (own_real / own);
    if (IS_COMPLEX) share += (imaginary / own) * (own_imaginary / own);
    if (!(share > LEAST_SHARE)) {
        real = own_real;
        imaginary = own_imaginary;
    }
    total += IS_COMPLEX ? magnitude(Complex128{real, imaginary}) : fabs(real);
    return {real, imaginary, total >= DOUBLE_TINY ? DAMPING / total : 0.0};
}

// Calls take(place, slot, aggregate) for the terms of a row of the prolongator, by the lanes that have one: first the
// row's own, whose slot is -1, then those of strong couplings in column order. Terms without an aggregate are left out.
// Returns the number of terms to all lanes.
template <typename Take>
DEVICE int each_term(const Filter& filter, In<INDEX> numbers, i64 row, const Team& team, Take take) {
    const Matrix& A = filter.matrix;
    const double least = filter.least_of(row), sign = wide_real(A.diagonal[row]);
    int count = numbers[row] >= 0;
    if (count && team.lane == 0) take(0, (i64)-1, (int)numbers[row]);
    if (least == DOUBLE_INFINITY) return count;
    const auto number_at = [&](i64 column) { return (int)numbers[column]; };
    each_entry(A, row, team, number_at, [&](i64 slot, bool valid, i64 column, VALUE value, int number) {
        if (!valid || column == row || !is_kept(filter, slot, value, sign, least)) number = -1;
        const u32 found = team.vote(number >= 0);
        if (number >= 0) take(count + __popc(found & ((1u << team.lane) - 1)), slot, number);
        count += __popc(found);
    });
    return count;
}
