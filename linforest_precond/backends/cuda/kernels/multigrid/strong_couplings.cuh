// The strong couplings of a matrix, in three passes over its rows: their scales, their strongest couplings, and the
// couplings that are strong.

#define DOMINANCE 5.0
// Couplings of a row that are less than `strength` of the largest by rounding errors only are strong in the row.
#define ROUNDING (1.0 - 1.0 / 4096)
#define DOUBLE_INFINITY __longlong_as_double(0x7ff0000000000000)

// The couplings of a matrix: the scale of each row, 0 where it is dominant, and its strongest one. With signs, only
// entries of the opposite sign of the diagonal couple.
struct Couplings {
    Matrix matrix;
    double *scales, *strongest;
    double strength;
    i64 is_signed;
};

// The magnitude of the diagonal, with its sign, by which a row's couplings are divided. It is 0 for a dominant row. For a
// diagonal without a sign it is infinite, so that nothing is coupled; without signs, the row's sum replaces a zero.
DEVICE double scale_of(const Couplings& c, i64 row, double others) {
    const VALUE diagonal = c.matrix.diagonal[row];
    const double own = wide_magnitude(diagonal), sign = wide_real(diagonal);
    if (own >= DOMINANCE * others) return 0;
    if (!c.is_signed) return own > 0 ? own : others;
    return sign > 0 ? own : sign < 0 ? -own : DOUBLE_INFINITY;
}

__device__ void scale_rows(const Couplings& c) {
    const Team team;
    GROUP_STRIDE (i64, row, c.matrix.n, TEAM) {
        double others = 0;
        each_entry(c.matrix, row, team, NothingGathered(), [&](i64, bool valid, i64 column, VALUE value, char) {
            const bool wanted = valid && column != row;
            others = team.add_in_order(others, wanted ? wide_magnitude(value) : 0.0, team.vote(wanted));
        });
        if (team.lane == 0) c.scales[row] = scale_of(c, row, others);
    }
}

DEVICE bool is_opposite(double real, double sign) { return sign > 0 ? real < 0 : sign < 0 && real > 0; }

// The strength of a coupling of rows with these scales; by two divisions, because a square may overflow.
DEVICE double strength_of(const Couplings& c, VALUE value, double scale, double other) {
    if (scale == 0 || other == 0 || (c.is_signed && !is_opposite(wide_real(value), scale))) return 0;
    const double size = wide_magnitude(value), found = (size / fabs(scale)) * (size / fabs(other));
    return found > 0 ? found : 0.0;
}

// The magnitude of an entry beside the diagonal, 0 where it couples nothing: the measure of strength within a row. `sign`
// is the diagonal's.
DEVICE double size_of_coupling(i64 is_signed, double sign, VALUE value) {
    return is_signed && !is_opposite(wide_real(value), sign) ? 0.0 : wide_magnitude(value);
}
DEVICE double row_coupling(const Matrix& A, i64 is_signed, i64 row, double sign, i64 slot) {
    return A.indices[slot] == row ? 0.0 : size_of_coupling(is_signed, sign, A.data[slot]);
}

// After a grid barrier, scales and strongest couplings may be read through L1.
__device__ void find_strongest(const Couplings& c) {
    const Team team;
    const auto scale_at = [&](i64 column) { return c.scales[column]; };
    GROUP_STRIDE (i64, row, c.matrix.n, TEAM) {
        const double scale = c.scales[row];
        double best = 0;
        each_entry(c.matrix, row, team, scale_at, [&](i64, bool valid, i64 column, VALUE value, double other) {
            if (valid && column != row) best = fmax(best, strength_of(c, value, scale, other));
        });
        best = team.largest(best);
        if (team.lane == 0) c.strongest[row] = best;
    }
}

// The summand of a coupling in the symmetry check: mirror images cancel.
DEVICE u64 balance_of(i64 row, i64 column) {
    const u64 word = mix64((u64)min(row, column) << 32 | (u64)max(row, column));
    return column > row ? word : 0 - word;
}

// Copies the columns of strong couplings; in place of others, the row's own number is stored.
__device__ u64 copy_strong(const Couplings& c, int* __restrict__ columns, int* __restrict__ degrees,
                           double* __restrict__ least) {
    const Team team;
    const double threshold = c.strength * c.strength;
    const auto row_at = [&](i64 column) { return make_double2(c.scales[column], c.strongest[column]); };
    u64 balance = 0;
    GROUP_STRIDE (i64, row, c.matrix.n, TEAM) {
        const double scale = c.scales[row], own_best = c.strongest[row];
        double largest = 0;
        int degree = 0;
        each_entry(c.matrix, row, team, row_at, [&](i64 slot, bool valid, i64 column, VALUE value, double2 other) {
            bool strong = false;
            if (valid && column != row) {
                const double found = strength_of(c, value, scale, other.x);
                strong = found > 0 && found >= threshold * fmax(own_best, other.y);
                largest = fmax(largest, size_of_coupling(c.is_signed, scale, value));
                if (strong) balance += balance_of(row, column);
            }
            if (valid) columns[slot] = (int)(strong ? column : row);
            degree += __popc(team.vote(strong));
        });
        largest = team.largest(largest);
        if (team.lane == 0) {
            degrees[row] = degree;
            least[row] = degree ? c.strength * ROUNDING * largest : DOUBLE_INFINITY;
        }
    }
    return balance;
}
