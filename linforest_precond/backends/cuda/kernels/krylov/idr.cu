#include "runtime/arithmetic.cuh"
#include "krylov/scalar_steps.cuh"
#include "krylov/basis_sums.cuh"

// IDR(s) with biorthogonal bases. A cycle has s steps that extend the bases, and one for omega; a step takes its number
// from the device (NUMBER_POSITION), so that one CUDA graph serves all steps.

struct Idr {
    VALUE* images;         // G = A U: `count` vectors
    VALUE* directions;     // U
    const VALUE* shadows;  // P
    Scalar* work;          // see below
    Scalar* partials;      // count + 2 sums of each column and block
    i64 count;             // s

    // The scalars of a column: the lower triangular matrix P* G, f = P* r, the coefficients c of the next step, the
    // projections alpha of the present one, and the sums of the present pass, count + 2 of them.
    DEVICE Scalar& at(i64 row, int c, const KrylovSpace& space) const { return work[row * space.columns + c]; }
    DEVICE Scalar& matrix(int i, int j, int c, const KrylovSpace& space) const { return at(i * count + j, c, space); }
    DEVICE Scalar& shadow_sum(int i, int c, const KrylovSpace& space) const { return at(count * count + i, c, space); }
    DEVICE Scalar& weight(int i, int c, const KrylovSpace& space) const {
        return at(count * (count + 1) + i, c, space);
    }
    DEVICE Scalar& projection(int i, int c, const KrylovSpace& space) const {
        return at(count * (count + 2) + i, c, space);
    }
    DEVICE Scalar* sums(const KrylovSpace& space) const { return work + count * (count + 3) * space.columns; }
};

// The least cosine of the angle between g and r in the step for omega (maintaining the convergence: Sleijpen & van der
// Vorst 1995).
#define LEAST_COSINE 0.7

// c solves (P* G) c = f for the rows and columns from the present one on.
DEVICE void solve_weights(const KrylovSpace& space, const Idr& idr, int c) {
    const int position = (int)space.number(NUMBER_POSITION, c);
    for (int i = position; i < idr.count; ++i) {
        Scalar rest = idr.shadow_sum(i, c, space);
        for (int j = position; j < i; ++j) rest = rest - idr.matrix(i, j, c, space) * idr.weight(j, c, space);
        idr.weight(i, c, space) = over(rest, idr.matrix(i, i, c, space));
    }
}

DEVICE void begin_column(const KrylovSpace& space, const Idr& idr, int c) {
    for (int i = 0; i < idr.count; ++i) {
        for (int j = 0; j < idr.count; ++j) idr.matrix(i, j, c, space) = scalar_of(i == j);
        idr.shadow_sum(i, c, space) = idr.sums(space)[i * space.columns + c];
    }
    space.scalar(SCALAR_OMEGA, c) = scalar_of(1);
    space.number(NUMBER_POSITION, c) = 0;
    solve_weights(space, idr, c);
}

// Sets the length of the step along u, and the status where it is undefined.
DEVICE void set_length(const KrylovSpace& space, int c, Scalar value, double breakdown) {
    space.scalar(SCALAR_ALPHA, c) = value;
    if (is_nonfinite(value)) space.status(c) = STATUS_NONFINITE;
    else if (length(value) == 0) space.status(c) = breakdown;
}

// From P* g, the coefficients that make g orthogonal to the shadow vectors before the present one.
__device__ void project_column(const KrylovSpace& space, const Idr& idr, int c) {
    const int position = (int)space.number(NUMBER_POSITION, c);
    const Scalar* sums = idr.sums(space) + c;
    bool finite = true;
    for (int i = 0; i < idr.count; ++i) {
        Scalar rest = sums[i * space.columns];
        finite &= is_finite(rest);
        for (int j = 0; j < min(i, position); ++j)
            rest = rest - idr.matrix(i, j, c, space) * idr.projection(j, c, space);
        if (i < position) idr.projection(i, c, space) = over(rest, idr.matrix(i, i, c, space));
        else idr.matrix(i, position, c, space) = rest;
    }
    const Scalar pivot = idr.matrix(position, position, c, space);
    if (!finite || is_nonfinite(pivot)) space.status(c) = STATUS_NONFINITE;
    else if (length(pivot) == 0) space.status(c) = STATUS_RHO;
    else set_length(space, c, over(idr.shadow_sum(position, c, space), pivot), STATUS_RHO);
}

// omega from g* r and g* g.
DEVICE void set_omega(const KrylovSpace& space, const Idr& idr, int c) {
    const Scalar product = idr.sums(space)[c];
    const double square = real_part(idr.sums(space)[space.columns + c]);
    const double norm = sqrt(space.number(NUMBER_NORM2, c)), size = length(product), image_norm = sqrt(square);
    Scalar omega = over(product, scalar_of(square));
    if (is_nonfinite(product) || !isfinite(square)) {
        space.status(c) = STATUS_NONFINITE;
        return;
    }
    if (square == 0) {
        space.status(c) = STATUS_OMEGA;
        return;
    }
    if (size < LEAST_COSINE * image_norm * norm) {
        const Scalar phase = size > 0 ? over(product, scalar_of(size)) : scalar_of(1);
        omega = phase * scalar_of(LEAST_COSINE * norm / image_norm);
    }
    space.scalar(SCALAR_OMEGA, c) = omega;
    set_length(space, c, omega, STATUS_OMEGA);
}

// The step has been made: norm(r), f, and the coefficients of the next one.
__device__ void end_idr_step(const KrylovSpace& space, const Idr& idr, int c) {
    const int position = (int)space.number(NUMBER_POSITION, c);
    const Scalar* sums = idr.sums(space) + c;
    const double norm2 = real_part(sums[0]);
    space.number(NUMBER_NORM2, c) = norm2;
    write_norm(space, c, sqrt(norm2));
    space.iteration(c) += 1;
    if (stops_by_norm(space, c)) return;
    if (space.iteration(c) >= space.most_iterations) {
        space.status(c) = STATUS_LIMIT;
        return;
    }
    if (position == idr.count) {
        for (int i = 0; i < idr.count; ++i) idr.shadow_sum(i, c, space) = sums[(i + 1) * space.columns];
        space.number(NUMBER_POSITION, c) = 0;
    } else {
        const Scalar step = space.scalar(SCALAR_ALPHA, c);
        for (int i = position + 1; i < idr.count; ++i) {
            Scalar& f = idr.shadow_sum(i, c, space);
            f = f - step * idr.matrix(i, position, c, space);
        }
        space.number(NUMBER_POSITION, c) = position + 1;
    }
    solve_weights(space, idr, c);
}

// The scalar step of all columns, by one block, from the sums in `work`.
DEVICE void idr_steps(const KrylovSpace& space, const Idr& idr, int step) {
    const int c = threadIdx.x;
    if (c < space.columns) {
        const bool runs = space.status(c) == STATUS_RUNNING;
        if (step == CYCLE_IDR_STEP) write_norm(space, c, not_a_number());
        if (runs && step == CYCLE_IDR_BEGIN) begin_column(space, idr, c);
        if (runs && step == CYCLE_IDR_STEP) end_idr_step(space, idr, c);
        if (runs && step == CYCLE_IDR_PROJECT) {
            if (space.number(NUMBER_POSITION, c) < idr.count) project_column(space, idr, c);
            else set_omega(space, idr, c);
        }
    }
    end_step(space, step == CYCLE_IDR_STEP);
}

// Pseudorandom numbers in [-1, 1), the same as on the CPU: `count` rows of `n`.
KERNEL shadow_values(i64 n, i64 count, u64 seed, double* __restrict__ values) {
    GRID_STRIDE (i64, e, n * count) {
        const u64 key = iteration_key(seed, e / n + 1);
        values[e] = (double)(mix64(key + (u64)(e % n) * 0xD1342543DE82EF95ull) >> 11) * 0x1p-52 - 1.0;
    }
}

// Empty bases for columns that (re)start, and f = P* r unless `summed` is 0.
KERNEL __launch_bounds__(THREADS) begin_idr(KrylovSpace space, int summed, Idr idr, In<VALUE> r) {
    const Walk walk(space);
    const bool takes_part = space.status(walk.column) == STATUS_RUNNING;
    const i64 entries = space.rows * space.columns;
    if (takes_part)
        for (int i = 0; i < idr.count; ++i)
            EACH_ENTRY (e, walk) idr.images[i * entries + e] = idr.directions[i * entries + e] = VALUE{};
    if (!summed) return;
    const auto add = [&](Scalar& sum, int i, i64 e) { add_product(sum, idr.shadows[i * entries + e], r[e]); };
    if (add_up_basis(space, walk, takes_part, (int)idr.count, idr.partials, idr.sums(space), add))
        idr_steps(space, idr, CYCLE_IDR_BEGIN);
}

// target = factor source + sign c_i basis_i over the basis vectors from the present one on; only the source in the step
// for omega.
DEVICE void combine_weights(const KrylovSpace& space, const Idr& idr, const VALUE* basis, const VALUE* source,
                            Scalar factor, double sign, VALUE* target) {
    const Walk walk(space);
    const int c = walk.column;
    if (space.status(c) != STATUS_RUNNING) return;
    const int position = (int)space.number(NUMBER_POSITION, c);
    const i64 entries = space.rows * space.columns;
    const VALUE own = narrow(position == idr.count ? scalar_of(1) : factor);
    EACH_ENTRY (e, walk) {
        VALUE result = own * source[e];
        for (int i = position; i < idr.count; ++i)
            result = result + narrow(scalar_of(sign) * idr.weight(i, c, space)) * basis[i * entries + e];
        target[e] = result;
    }
}

// v = r - G c.
KERNEL __launch_bounds__(THREADS) idr_direction(KrylovSpace space, Idr idr, In<VALUE> r, VALUE* __restrict__ v) {
    combine_weights(space, idr, idr.images, r, scalar_of(1), -1, v);
}

// u = omega vhat + U c.
KERNEL __launch_bounds__(THREADS) idr_extend(KrylovSpace space, Idr idr, In<VALUE> vhat, VALUE* __restrict__ u) {
    const int c = threadIdx.x % (int)space.columns;
    combine_weights(space, idr, idr.directions, vhat, space.scalar(SCALAR_OMEGA, c), 1, u);
}

// P* g, or g* r and g* g in the step for omega, unless `summed` is 0.
KERNEL __launch_bounds__(THREADS) idr_project(KrylovSpace space, int summed, Idr idr, In<VALUE> g, In<VALUE> r) {
    if (!summed || !space.is_active()) return;
    const Walk walk(space);
    const bool takes_part = space.status(walk.column) == STATUS_RUNNING;
    const bool omega = space.number(NUMBER_POSITION, walk.column) == idr.count;
    const i64 entries = space.rows * space.columns;
    const auto add = [&](Scalar& sum, int i, i64 e) {
        if (!omega && i < idr.count) add_product(sum, idr.shadows[i * entries + e], g[e]);
        if (omega && i < 2) add_product(sum, g[e], i ? g[e] : r[e]);
    };
    const int count = idr.count < 2 ? 2 : (int)idr.count;
    if (add_up_basis(space, walk, takes_part, count, idr.partials, idr.sums(space), add))
        idr_steps(space, idr, CYCLE_IDR_PROJECT);
}

// Makes g and u biorthogonal, and keeps them in the bases; x += alpha u, r -= alpha g; norm(r)^2, and P* r where the
// cycle ends, unless `summed` is 0. A thread sums the entries that it has written.
KERNEL __launch_bounds__(THREADS) idr_step(KrylovSpace space, int summed, Idr idr, VALUE* __restrict__ g,
                                           VALUE* __restrict__ u, VALUE* __restrict__ x, VALUE* r) {
    if (!space.is_active()) return;
    const Walk walk(space);
    const int c = walk.column;
    const bool takes_part = space.status(c) == STATUS_RUNNING;
    const int position = (int)space.number(NUMBER_POSITION, c);
    const bool omega = position == idr.count;
    const i64 entries = space.rows * space.columns;
    if (takes_part) {
        const VALUE alpha = narrow(space.scalar(SCALAR_ALPHA, c));
        EACH_ENTRY (e, walk) {
            VALUE image = g[e], direction = u[e];
            if (!omega) {
                for (int i = 0; i < position; ++i) {
                    const VALUE projection = narrow(idr.projection(i, c, space));
                    image = image - projection * idr.images[i * entries + e];
                    direction = direction - projection * idr.directions[i * entries + e];
                }
                idr.images[position * entries + e] = image;
                idr.directions[position * entries + e] = direction;
            }
            x[e] = x[e] + alpha * direction;
            r[e] = r[e] - alpha * image;
        }
    }
    if (!summed) return;
    const auto add = [&](Scalar& sum, int i, i64 e) {
        if (i == 0) add_product(sum, r[e], r[e]);
        else if (omega) add_product(sum, idr.shadows[(i - 1) * entries + e], r[e]);
    };
    if (add_up_basis(space, walk, takes_part, (int)idr.count + 1, idr.partials, idr.sums(space), add))
        idr_steps(space, idr, CYCLE_IDR_STEP);
}

// The scalar step from inner products that the user's function computed.
KERNEL __launch_bounds__(THREADS) take_idr_sums(KrylovSpace space, int step, Idr idr) { idr_steps(space, idr, step); }
