// Natural logarithms of integers in units of 2^-32, the same bits as in the CPU backend (reordering/gap_metrics.py): by
// the series of the inverse hyperbolic tangent around sqrt(1/2), with an error of 1e-12.
DEVICE i64 fixed_logarithm(int number) {
    int exponent;
    const double fraction = frexp((double)number, &exponent);
    const double s = (fraction - 0.7071067811865476) / (fraction + 0.7071067811865476), z = s * s;
    double series = 1.0 / 15.0;
    series = series * z + 1.0 / 13.0;
    series = series * z + 1.0 / 11.0;
    series = series * z + 1.0 / 9.0;
    series = series * z + 1.0 / 7.0;
    series = series * z + 1.0 / 5.0;
    series = series * z + 1.0 / 3.0;
    series = series * z + 1.0;
    return (i64)rint(((exponent - 0.5) * 0.6931471805599453 + 2.0 * (s * series)) * 4294967296.0);
}
