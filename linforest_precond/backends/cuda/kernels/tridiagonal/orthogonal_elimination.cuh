// Elimination of an unknown from a few equations by Givens rotations and Householder reflections.

// SINGULAR is 0 for systems that are not known to be singular, otherwise the bytes of a real number of the solutions'
// type. An unknown has vanished from equations where its entries are smaller than LEAST_ENTRY; it gets the entry of a
// perturbed pivot in a row of norm PERTURBED_SIZE, so that the entry is sqrt(eps) of that type.
#define LEAST_ENTRY (SINGULAR == 4 ? (WEIGHT)0x1p-30 : SINGULAR ? (WEIGHT)0x1p-48 : LEAST_PIVOT)
#define LEAST_SQUARE (SINGULAR ? LEAST_ENTRY * LEAST_ENTRY : LEAST_PIVOT)
#define PERTURBED_SIZE (SINGULAR == 4 ? (WEIGHT)23170.475 : (WEIGHT)1)

// The binary exponent of a size, clamped so that 2^-exponent is a normal number.
DEVICE int exponent_of(WEIGHT size) {
    constexpr int largest = sizeof(WEIGHT) == 4 ? 120 : 1000;
    int exponent;
    frexp(size, &exponent);
    return min(max(exponent, -largest), largest);
}
// 2^-exponent for an exponent in that range.
DEVICE WEIGHT power_below(int exponent) {
    return sizeof(WEIGHT) == 4 ? (WEIGHT)__int_as_float((127 - exponent) << 23)
                               : (WEIGHT)__hiloint2double((1023 - exponent) << 20, 0);
}
DEVICE VALUE shifted_down(VALUE a, int exponent) { return scaled(a, power_below(exponent)); }

// One equation in UNKNOWNS unknowns.
template <int UNKNOWNS>
struct Equation {
    VALUE at[UNKNOWNS];
    VALUE right;

    DEVICE WEIGHT size() const {
        WEIGHT largest = size_of(at[0]);
#pragma unroll
        for (int i = 1; i < UNKNOWNS; ++i) largest = fmax(largest, size_of(at[i]));
        return largest;
    }
    // Scales the equation by a power of two, exactly, to a size between one half and one. Returns that power.
    DEVICE WEIGHT normalize() {
        const WEIGHT factor = power_below(exponent_of(size()));
        EACH (i, UNKNOWNS) at[i] = scaled(at[i], factor);
        right = scaled(right, factor);
        return factor;
    }
};

DEVICE float square_of(float a) { return a * a; }
DEVICE double square_of(double a) { return a * a; }
template <typename Complex>
DEVICE auto square_of(Complex a) {
    return a.re * a.re + a.im * a.im;
}

DEVICE void split(float a, WEIGHT& length, float& phase) { length = fabsf(a), phase = a < 0 ? -1 : 1; }
DEVICE void split(double a, WEIGHT& length, double& phase) { length = fabs(a), phase = a < 0 ? -1 : 1; }
// The polar form: a = length * phase.
template <typename Complex>
DEVICE void split(Complex a, WEIGHT& length, Complex& phase) {
    length = sqrt(square_of(a));
    phase = {1, 0};
    if (length != 0) phase = {a.re / length, a.im / length};
}

// Givens rotation of two equations that eliminates an unknown from `losing`.
template <int UNKNOWNS>
DEVICE void rotate(Equation<UNKNOWNS>& keeping, Equation<UNKNOWNS>& losing, int unknown) {
    const WEIGHT length = sqrt(square_of(keeping.at[unknown]) + square_of(losing.at[unknown]));
    if (length == 0) return;
    const VALUE kept = scaled(keeping.at[unknown], 1 / length), lost = scaled(losing.at[unknown], 1 / length);
#pragma unroll 1
    for (int i = 0; i <= UNKNOWNS; ++i) {
        VALUE& a = i < UNKNOWNS ? keeping.at[i] : keeping.right;
        VALUE& b = i < UNKNOWNS ? losing.at[i] : losing.right;
        const VALUE old = a;
        a = conjugate(kept) * a + conjugate(lost) * b;
        b = kept * b - lost * old;
    }
    losing.at[unknown] = VALUE{};
}

// Unknown U has vanished from all equations: the last equation gets a small entry for it. In a singular system the other
// equations are first brought to triangular form, and the equations that are then empty (free of all other unknowns)
// are the ones to use: an equation that another unknown needs would leave that unknown without, and solutions would grow
// from row to row. The right-hand sides of several empty equations are added: on the way back some hold known numbers
// only, and are zero. If no equation is empty, that of the unknown next to U is used.
template <int U, int UNKNOWNS, int EQUATIONS>
DEVICE void perturb(Equation<UNKNOWNS> (&equations)[EQUATIONS]) {
    constexpr int last = EQUATIONS - 1;
    if (!SINGULAR) {
        equations[last].at[U] = lifted(equations[last].at[U], PERTURBED_SIZE);
        return;
    }
    Equation<UNKNOWNS> copies[EQUATIONS];  // in local memory: the equations themselves stay in registers
    EACH (e, EQUATIONS) copies[e] = equations[e], copies[e].at[U] = VALUE{};
    int left = last;
#pragma unroll 1
    for (int i = 0; i < UNKNOWNS && left > 0; ++i) {
        const int unknown = (UNKNOWNS - 1 + i) % UNKNOWNS;
        for (int e = 0; e < left; ++e) rotate(copies[left], copies[e], unknown);
        if (!(square_of(copies[left].at[unknown]) < LEAST_SQUARE)) --left;
    }
    VALUE right = copies[0].right;
    for (int e = 1; e <= left; ++e) right = right + copies[e].right;
    EACH (e, last) equations[e] = copies[e + 1];
    equations[last] = {};
    equations[last].at[U] = lifted(VALUE{}, PERTURBED_SIZE);
    equations[last].right = right;
}

// The Householder reflection I - t v v^H with t = 2 / v^H v, and v = (at, 1): the entries are at most 1.
template <int EQUATIONS>
struct Reflection {
    VALUE at[EQUATIONS - 1];

    // Reflects a column, or the right-hand sides, of as many equations.
    DEVICE void apply(VALUE (&rights)[EQUATIONS]) const {
        constexpr int last = EQUATIONS - 1;
        WEIGHT squares = 1;
        VALUE sum = rights[last];
        EACH (e, last) squares += square_of(at[e]);
        EACH (e, last) sum = sum + conjugate(at[e]) * rights[e];
        sum = scaled(sum, 2 / squares);
        EACH (e, last) rights[e] = rights[e] - at[e] * sum;
        rights[last] = rights[last] - sum;
    }
};

// Householder reflection that eliminates unknown U from all equations but the last. Returns whether U had vanished from
// all of them, so that its pivot was perturbed; `reflection` is defined otherwise.
template <int U, int UNKNOWNS, int EQUATIONS>
DEVICE bool eliminate(Equation<UNKNOWNS> (&equations)[EQUATIONS], Reflection<EQUATIONS>& reflection) {
    constexpr int last = EQUATIONS - 1;
    VALUE column[EQUATIONS];
    EACH (e, EQUATIONS) column[e] = equations[e].at[U];
    WEIGHT squares = square_of(column[0]);
#pragma unroll
    for (int e = 1; e < EQUATIONS; ++e) squares += square_of(column[e]);
    const WEIGHT length = sqrt(squares);
    EACH (e, last) equations[e].at[U] = VALUE{};
    if (squares < LEAST_SQUARE) {
        perturb<U>(equations);
        return true;
    }
    WEIGHT own;
    VALUE phase;
    split(column[last], own, phase);
    const WEIGHT total = length + own;
    EACH (e, last) reflection.at[e] = scaled(column[e] * conjugate(phase), 1 / total);
    equations[last].at[U] = -scaled(phase, length);
    // As solves apply it: their rounding errors would differ from those of another form.
#pragma unroll
    for (int i = 0; i <= UNKNOWNS; ++i) {
        if (i == U) continue;
        EACH (e, EQUATIONS) column[e] = i < UNKNOWNS ? equations[e].at[i] : equations[e].right;
        reflection.apply(column);
        EACH (e, EQUATIONS) (i < UNKNOWNS ? equations[e].at[i] : equations[e].right) = column[e];
    }
    return false;
}

template <int U, int UNKNOWNS, int EQUATIONS>
DEVICE bool eliminate(Equation<UNKNOWNS> (&equations)[EQUATIONS]) {
    Reflection<EQUATIONS> unused;
    return eliminate<U>(equations, unused);
}
