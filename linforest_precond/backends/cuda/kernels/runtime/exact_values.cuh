// Arithmetic on the four value types that gives the same bits as the CPU backend.
//
// CuPy compiles with --ftz=true: plain float32 arithmetic, comparisons and conversions flush subnormal numbers to zero.
// Values that decide anything or are returned go through the functions below, which do not.

DEVICE double widened(double a) { return a; }
DEVICE double widened(float a) {
    double wide;
    asm("cvt.f64.f32 %0, %1;" : "=d"(wide) : "f"(a));
    return wide;
}
DEVICE float narrowed(double a) {
    float narrow;
    asm("cvt.rn.f32.f64 %0, %1;" : "=f"(narrow) : "d"(a));
    return narrow;
}
DEVICE double plus(double a, double b) { return a + b; }
DEVICE float plus(float a, float b) {
    float sum;
    asm("add.rn.f32 %0, %1, %2;" : "=f"(sum) : "f"(a), "f"(b));
    return sum;
}
DEVICE Complex64 plus(Complex64 a, Complex64 b) { return {plus(a.re, b.re), plus(a.im, b.im)}; }
DEVICE Complex128 plus(Complex128 a, Complex128 b) { return {plus(a.re, b.re), plus(a.im, b.im)}; }

DEVICE float conjugate(float a) { return a; }
DEVICE double conjugate(double a) { return a; }
DEVICE Complex64 conjugate(Complex64 a) { return {a.re, -a.im}; }
DEVICE Complex128 conjugate(Complex128 a) { return {a.re, -a.im}; }

// A key that orders values by magnitude: for float32 the bits without the sign, compared as integers, which keeps
// subnormal numbers. Inline PTX, because the compiler turns the plain C expression back into a float32 comparison.
DEVICE double rank_of(double a) { return fabs(a); }
DEVICE u32 rank_of(float a) {
    u32 rank;
    asm("and.b32 %0, %1, 0x7fffffff;" : "=r"(rank) : "r"(__float_as_uint(a)));
    return rank;
}

DEVICE bool is_zero(float a) { return rank_of(a) == 0; }
DEVICE bool is_zero(double a) { return a == 0; }
DEVICE bool is_zero(Complex64 a) { return is_zero(a.re) && is_zero(a.im); }
DEVICE bool is_zero(Complex128 a) { return is_zero(a.re) && is_zero(a.im); }

DEVICE double magnitude(double a) { return fabs(a); }
DEVICE float magnitude(float a) { return __uint_as_float(rank_of(a)); }

// Squares of float32 values are exact in float64. A result above the largest float32 is clamped to it.
DEVICE float magnitude(Complex64 a) {
    const double re = widened(a.re), im = widened(a.im);
    return narrowed(fmin(sqrt(re * re + im * im), 3.4028234663852886e38));
}

// Both parts are scaled by a power of two, which is exact, so that no square overflows or underflows.
DEVICE double magnitude(Complex128 a) {
    const double largest = fmax(fabs(a.re), fabs(a.im));
    if (largest == 0.0) return 0.0;
    int exponent;
    frexp(largest, &exponent);
    const double re = ldexp(a.re, -exponent), im = ldexp(a.im, -exponent);
    return fmin(ldexp(sqrt(re * re + im * im), exponent), 1.7976931348623157e308);
}

// The squared modulus in double precision.
DEVICE double wide_square(float a) { return widened(a) * widened(a); }
DEVICE double wide_square(double a) { return a * a; }
DEVICE double wide_square(Complex64 a) { return wide_square(a.re) + wide_square(a.im); }
DEVICE double wide_square(Complex128 a) { return wide_square(a.re) + wide_square(a.im); }

DEVICE bool is_finite(float a) { return isfinite(a); }
DEVICE bool is_finite(double a) { return isfinite(a); }
DEVICE bool is_finite(Complex64 a) { return isfinite(a.re) && isfinite(a.im); }
DEVICE bool is_finite(Complex128 a) { return isfinite(a.re) && isfinite(a.im); }

DEVICE u64 bits(float a) { return __float_as_uint(a); }
DEVICE u64 bits(double a) { return (u64)__double_as_longlong(a); }

// The leading bits of a magnitude, which contain its exponent.
DEVICE u32 leading_bits(double a) { return __double2hiint(a); }
DEVICE u32 leading_bits(float a) { return __float_as_uint(a); }
