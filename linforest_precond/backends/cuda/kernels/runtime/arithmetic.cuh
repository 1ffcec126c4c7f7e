// Arithmetic of the four value types, and of small dense matrices of them: BLOCK x BLOCK, row-major.

DEVICE Complex64 operator+(Complex64 a, Complex64 b) { return {a.re + b.re, a.im + b.im}; }
DEVICE Complex128 operator+(Complex128 a, Complex128 b) { return {a.re + b.re, a.im + b.im}; }
DEVICE Complex64 operator-(Complex64 a, Complex64 b) { return {a.re - b.re, a.im - b.im}; }
DEVICE Complex128 operator-(Complex128 a, Complex128 b) { return {a.re - b.re, a.im - b.im}; }
DEVICE Complex64 operator-(Complex64 a) { return {-a.re, -a.im}; }
DEVICE Complex128 operator-(Complex128 a) { return {-a.re, -a.im}; }
DEVICE Complex64 operator*(Complex64 a, Complex64 b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
DEVICE Complex128 operator*(Complex128 a, Complex128 b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
DEVICE bool operator==(Complex64 a, Complex64 b) { return a.re == b.re && a.im == b.im; }
DEVICE bool operator==(Complex128 a, Complex128 b) { return a.re == b.re && a.im == b.im; }

DEVICE float real_part(float a) { return a; }
DEVICE double real_part(double a) { return a; }
DEVICE float real_part(Complex64 a) { return a.re; }
DEVICE double real_part(Complex128 a) { return a.re; }

// The 1-norm |re| + |im|, which needs no square root: for comparisons of size.
DEVICE float size_of(float a) { return fabsf(a); }
DEVICE double size_of(double a) { return fabs(a); }
DEVICE float size_of(Complex64 a) { return fabsf(a.re) + fabsf(a.im); }
DEVICE double size_of(Complex128 a) { return fabs(a.re) + fabs(a.im); }

// The modulus |a|, of numbers whose squares do not overflow.
DEVICE WEIGHT length_of(VALUE a) {
    const VALUE square = a * conjugate(a);
    return sqrt(real_part(square));
}

DEVICE float inverse(float a) { return 1.0f / a; }
DEVICE double inverse(double a) { return 1.0 / a; }

// Reciprocal by Smith's formula (1962), which avoids the overflow of squares.
template <typename Complex>
DEVICE Complex smith_inverse(Complex a) {
    if (size_of(a.re) >= size_of(a.im)) {
        const auto ratio = a.im / a.re, total = a.re + a.im * ratio;
        return {1 / total, -ratio / total};
    }
    const auto ratio = a.re / a.im, total = a.re * ratio + a.im;
    return {ratio / total, -1 / total};
}
DEVICE Complex64 inverse(Complex64 a) { return smith_inverse(a); }
DEVICE Complex128 inverse(Complex128 a) { return smith_inverse(a); }

DEVICE void set_real(float& a, WEIGHT re) { a = (float)re; }
DEVICE void set_real(double& a, WEIGHT re) { a = (double)re; }
template <typename Complex>
DEVICE void set_real(Complex& a, WEIGHT re) {
    a = {re, 0};
}

DEVICE VALUE from_real(WEIGHT re) {
    VALUE a;
    set_real(a, re);
    return a;
}

DEVICE float scaled(float a, float factor) { return a * factor; }
DEVICE double scaled(double a, double factor) { return a * factor; }
DEVICE Complex64 scaled(Complex64 a, float factor) { return {a.re * factor, a.im * factor}; }
DEVICE Complex128 scaled(Complex128 a, double factor) { return {a.re * factor, a.im * factor}; }

// Conversions between the type of a right-hand side and the stored precision.
DEVICE void convert(float& to, float from) { to = from; }
DEVICE void convert(float& to, double from) { to = (float)from; }
DEVICE void convert(double& to, float from) { to = from; }
DEVICE void convert(double& to, double from) { to = from; }
template <typename To, typename From>
DEVICE void convert(To& to, From from) {
    convert(to.re, from.re);
    convert(to.im, from.im);
}

// Machine epsilon.
#define EPSILON (sizeof(WEIGHT) == 4 ? (WEIGHT)1.1920928955078125e-7 : (WEIGHT)2.220446049250313e-16)
// Its square root: 2^-26 exactly, and the float next to 2^-11.5.
#define ROOT_EPSILON (sizeof(WEIGHT) == 4 ? (WEIGHT)3.4526698e-4f : (WEIGHT)1.4901161193847656e-8)

// The smallest number that is inverted: the smallest normal number.
#define LEAST_PIVOT (sizeof(WEIGHT) == 4 ? (WEIGHT)1.17549435e-38f : (WEIGHT)2.2250738585072014e-308)

// The perturbation of a tiny pivot: +-sqrt(eps) times the norm of its row, with the sign of its real part; 1 where the
// row is (almost) zero.
DEVICE VALUE lifted(VALUE pivot, WEIGHT row_size) {
    const WEIGHT least = ROOT_EPSILON * row_size;
    if (least < LEAST_PIVOT) return from_real(1);
    return from_real(real_part(pivot) < 0 ? -least : least);
}

// Atomic maximum, warp-aggregated: raises *largest, which is not negative, to the maximum of the warp's sizes. NaN and
// infinity count as 1e30.
DEVICE void raise_over_warp(WEIGHT* largest, WEIGHT size) {
    if (!(size < (WEIGHT)1e30)) size = (WEIGHT)1e30;
    for (int half = 16; half > 0; half /= 2) size = fmax(size, __shfl_xor_sync(FULL_WARP, size, half));
    if (threadIdx.x % 32) return;
    // The bits of nonnegative floating-point numbers have the same order as the numbers.
    if (sizeof(WEIGHT) == 4) atomicMax((u32*)largest, (u32)bits(size));
    else atomicMax((u64*)largest, bits(size));
}

// A dense matrix of BLOCK rows and COLUMNS columns, row-major: BLOCK rows of several right-hand sides.
template <int COLUMNS>
struct Panel {
    VALUE at[BLOCK * COLUMNS];
};
typedef Panel<1> Column;

#define BLOCK_BYTES (BLOCK * BLOCK * (int)sizeof(VALUE))

struct __align__(BLOCK_BYTES < 16 ? BLOCK_BYTES : 16) Block {
    VALUE at[BLOCK * BLOCK];

    DEVICE VALUE& operator()(int r, int c) { return at[r * BLOCK + c]; }
    DEVICE const VALUE& operator()(int r, int c) const { return at[r * BLOCK + c]; }
};

#define EACH(i, count) _Pragma("unroll") for (int i = 0; i < (count); ++i)

DEVICE Block operator*(const Block& a, const Block& b) {
    Block product;
    EACH (r, BLOCK)
        EACH (c, BLOCK) {
            VALUE sum = a(r, 0) * b(0, c);
#pragma unroll
            for (int k = 1; k < BLOCK; ++k) sum = sum + a(r, k) * b(k, c);
            product(r, c) = sum;
        }
    return product;
}
template <int COLUMNS>
DEVICE Panel<COLUMNS> operator*(const Block& a, const Panel<COLUMNS>& b) {
    Panel<COLUMNS> product;
    EACH (r, BLOCK)
        EACH (c, COLUMNS) {
            VALUE sum = a(r, 0) * b.at[c];
#pragma unroll
            for (int k = 1; k < BLOCK; ++k) sum = sum + a(r, k) * b.at[k * COLUMNS + c];
            product.at[r * COLUMNS + c] = sum;
        }
    return product;
}
DEVICE Block operator+(const Block& a, const Block& b) {
    Block sum;
    EACH (i, BLOCK * BLOCK) sum.at[i] = a.at[i] + b.at[i];
    return sum;
}
DEVICE Block operator-(const Block& a, const Block& b) {
    Block difference;
    EACH (i, BLOCK * BLOCK) difference.at[i] = a.at[i] - b.at[i];
    return difference;
}
DEVICE Block operator-(const Block& a) {
    Block negative;
    EACH (i, BLOCK * BLOCK) negative.at[i] = -a.at[i];
    return negative;
}
template <int COLUMNS>
DEVICE Panel<COLUMNS> operator+(const Panel<COLUMNS>& a, const Panel<COLUMNS>& b) {
    Panel<COLUMNS> sum;
    EACH (i, BLOCK * COLUMNS) sum.at[i] = a.at[i] + b.at[i];
    return sum;
}
template <int COLUMNS>
DEVICE Panel<COLUMNS> operator-(const Panel<COLUMNS>& a, const Panel<COLUMNS>& b) {
    Panel<COLUMNS> difference;
    EACH (i, BLOCK * COLUMNS) difference.at[i] = a.at[i] - b.at[i];
    return difference;
}
DEVICE Block identity() {
    Block one;
    EACH (r, BLOCK)
        EACH (c, BLOCK) one(r, c) = from_real(r == c);
    return one;
}
template <typename Vector>
DEVICE Vector zeros() {
    Vector zero;
    EACH (i, (int)(sizeof(Vector) / sizeof(VALUE))) zero.at[i] = VALUE{};
    return zero;
}
DEVICE Block transposed(const Block& a) {
    Block flipped;
    EACH (r, BLOCK)
        EACH (c, BLOCK) flipped(r, c) = a(c, r);
    return flipped;
}
DEVICE WEIGHT size_of(const Block& a) {
    WEIGHT largest = 0;
    EACH (i, BLOCK * BLOCK) largest = fmax(largest, size_of(a.at[i]));
    return largest;
}
DEVICE WEIGHT length_of(const Block& a) {
    WEIGHT largest = 0;
    EACH (i, BLOCK * BLOCK) largest = fmax(largest, length_of(a.at[i]));
    return largest;
}
