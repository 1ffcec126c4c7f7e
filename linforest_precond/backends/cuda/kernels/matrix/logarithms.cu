// Weights: log2 of magnitudes in units of 2^-20, the same bits as in the CPU backend (matrix/log_scaling.py).
#define UNIT_BITS 20
#define NO_WEIGHT (-2147483647 - 1)
#define LARGEST_POWER 1000

// log2 by the series of the inverse hyperbolic tangent around sqrt(1/2); its error, 1e-10, is far below a unit.
DEVICE int fixed_logarithm(double magnitude) {
    int exponent;
    const double fraction = frexp(magnitude, &exponent);
    const double s = (fraction - 0.7071067811865476) / (fraction + 0.7071067811865476), z = s * s;
    double series = 1.0 / 11.0;
    series = series * z + 1.0 / 9.0;
    series = series * z + 1.0 / 7.0;
    series = series * z + 1.0 / 5.0;
    series = series * z + 1.0 / 3.0;
    series = series * z + 1.0;
    const double logarithm = (exponent - 0.5) + 2.8853900817779268 * (s * series);
    return (int)rint(logarithm * (1 << UNIT_BITS));
}

// The weight of every magnitude.
KERNEL take_logarithms(In<WEIGHT> magnitudes, i64 count, int* __restrict__ weights) {
    GRID_STRIDE (i64, i, count) {
        const double magnitude = widened(magnitudes[i]);
        weights[i] = magnitude > 0.0 ? fixed_logarithm(magnitude) : NO_WEIGHT;
    }
}

// 2^(exponent / UNIT): the fraction by the Taylor series of the exponential, which is 1 for whole exponents.
KERNEL raise_to_powers(In<i64> exponents, i64 count, double* __restrict__ factors) {
    const i64 most = (i64)LARGEST_POWER << UNIT_BITS;
    GRID_STRIDE (i64, i, count) {
        const i64 exponent = max(min(exponents[i], most), -most), whole = exponent >> UNIT_BITS;
        const double x = (double)(exponent - (whole << UNIT_BITS)) * (0.6931471805599453 / (1 << UNIT_BITS));
        double series = 1.0;
        for (int k = 14; k > 0; --k) series = 1.0 + series * x / k;
        factors[i] = ldexp(series, (int)whole);
    }
}
