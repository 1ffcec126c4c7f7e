#include "runtime/arithmetic.cuh"
#include "krylov/scalar_steps.cuh"
#include "krylov/basis_sums.cuh"

// The Arnoldi process of GMRES: classical Gram-Schmidt twice, and the least squares problem of each column. A step takes
// its number in the cycle from the device (NUMBER_POSITION), so that one CUDA graph serves all steps.
//
// A column whose cycle ends becomes HALF; `restart_cycle` gives it the status NUMBER_OUTCOME, RUNNING after a full cycle.

struct Arnoldi {
    VALUE* basis;           // V: length + 1 vectors
    VALUE* preconditioned;  // Z: length vectors, or null where M does not change
    Scalar* work;           // see below
    Scalar* partials;       // length + 2 sums of each column and block
    i64 length;             // steps of a cycle

    // The scalars of a column: the triangular factor R, the rotated right-hand side g, the rotations, the inner products
    // of the first pass h, those that are subtracted next, and the solution y of the least squares problem.
    DEVICE Scalar* rows(i64 row, const KrylovSpace& space) const { return work + row * space.columns; }
    DEVICE Scalar& triangle(int i, int j, int c, const KrylovSpace& space) const {
        return rows(j * length + i, space)[c];
    }
    DEVICE Scalar& right(int i, int c, const KrylovSpace& space) const { return rows(length * length + i, space)[c]; }
    DEVICE Scalar& cosine(int i, int c, const KrylovSpace& space) const {
        return rows(length * (length + 1) + 1 + i, space)[c];
    }
    DEVICE Scalar& sine(int i, int c, const KrylovSpace& space) const {
        return rows(length * (length + 2) + 1 + i, space)[c];
    }
    DEVICE Scalar& solution(int i, int c, const KrylovSpace& space) const {
        return rows(length * (length + 3) + 1 + i, space)[c];
    }
    DEVICE Scalar& first(int i, int c, const KrylovSpace& space) const { return rows(first_row() + i, space)[c]; }
    DEVICE i64 first_row() const { return length * (length + 4) + 1; }
    // The results of the present pass, length + 2 of them: the last one is norm(w)^2.
    DEVICE Scalar* sums(const KrylovSpace& space) const { return rows(length * (length + 5) + 1, space); }
};

DEVICE double square_of(Scalar a) { return real_part(a * conjugate(a)); }

// Ends the cycle of a column.
DEVICE void end_cycle(const KrylovSpace& space, int c, double outcome) {
    space.number(NUMBER_OUTCOME, c) = outcome;
    space.status(c) = STATUS_HALF;
}

// h = V* w has been summed; norm(w)^2 is kept.
DEVICE void take_projections(const KrylovSpace& space, const Arnoldi& arnoldi, int c) {
    const int position = (int)space.number(NUMBER_POSITION, c);
    const Scalar* sums = arnoldi.sums(space) + c;
    bool finite = true;
#pragma unroll 4
    for (int i = 0; i <= position + 1; ++i) finite &= is_finite(sums[i * space.columns]);
    space.number(NUMBER_PRODUCT2, c) = real_part(sums[(position + 1) * space.columns]);
    if (!finite) end_cycle(space, c, STATUS_NONFINITE);
}

// Applies the earlier rotations to the new column of the Hessenberg matrix, the sum of both passes. Returns its last
// entry on the diagonal, and subtracts the squares of the second pass from *square. Loads are batched for memory-level
// parallelism.
DEVICE Scalar rotated_pivot(const KrylovSpace& space, const Arnoldi& arnoldi, int c, int position, double* square) {
    const Scalar* sums = arnoldi.sums(space) + c;
    Scalar upper = {};
    for (int start = 0; start <= position; start += GROUP) {
        Scalar second[GROUP] = {}, first[GROUP] = {}, cosines[GROUP] = {}, sines[GROUP] = {};
        EACH (k, GROUP)
            if (start + k <= position) {
                second[k] = sums[(start + k) * space.columns];
                first[k] = arnoldi.first(start + k, c, space);
                if (start + k) {
                    cosines[k] = arnoldi.cosine(start + k - 1, c, space);
                    sines[k] = arnoldi.sine(start + k - 1, c, space);
                }
            }
        EACH (k, GROUP)
            if (start + k <= position) {
                const Scalar lower = first[k] + second[k];
                *square -= square_of(second[k]);
                if (start + k) {
                    arnoldi.triangle(start + k - 1, position, c, space) = cosines[k] * upper + sines[k] * lower;
                    upper = cosines[k] * lower - conjugate(sines[k]) * upper;
                } else upper = lower;
            }
    }
    return upper;
}

// The second pass has been summed: the new column of the triangular factor, its rotation, and the residual's norm. The
// norm of the new basis vector follows from its inner products by Pythagoras.
__device__ void rotate_column(const KrylovSpace& space, const Arnoldi& arnoldi, int c) {
    const int position = (int)space.number(NUMBER_POSITION, c);
    const double least = space.epsilon * sqrt(space.number(NUMBER_PRODUCT2, c));
    double square = real_part(arnoldi.sums(space)[(position + 1) * space.columns + c]);
    const Scalar upper = rotated_pivot(space, arnoldi, c, position, &square);
    if (!isfinite(square) || !is_finite(upper)) {
        end_cycle(space, c, STATUS_NONFINITE);
        return;
    }
    double below = square > 0 ? sqrt(square) : 0;
    if (below <= least) below = 0;
    const double pivot = length(upper), radius = hypot(pivot, below);
    if (radius <= least) {
        end_cycle(space, c, STATUS_SINGULAR);
        return;
    }
    const Scalar phase = pivot > 0 ? over(upper, scalar_of(pivot)) : scalar_of(1);
    const Scalar cosine = scalar_of(pivot / radius), sine = phase * scalar_of(below / radius);
    const Scalar right = arnoldi.right(position, c, space), next = -(conjugate(sine) * right);
    arnoldi.triangle(position, position, c, space) = phase * scalar_of(radius);
    arnoldi.cosine(position, c, space) = cosine;
    arnoldi.sine(position, c, space) = sine;
    arnoldi.right(position, c, space) = cosine * right;
    arnoldi.right(position + 1, c, space) = next;
    const double norm = length(next);
    write_norm(space, c, norm);
    space.number(NUMBER_NORM2, c) = norm * norm;
    space.number(NUMBER_POSITION, c) = position + 1;
    space.iteration(c) += 1;
    space.scalar(SCALAR_ALPHA, c) = scalar_of(below > 0 ? 1 / below : 0);
    if (norm <= space.number(NUMBER_TARGET, c)) end_cycle(space, c, STATUS_CONVERGED);
    else if (space.iteration(c) >= space.most_iterations) end_cycle(space, c, STATUS_LIMIT);
    else if (position + 1 == arnoldi.length) end_cycle(space, c, STATUS_RUNNING);
}

// r = b - A x has been summed after a cycle: the norm of the true residual.
DEVICE void restart_column(const KrylovSpace& space, int c, double norm2) {
    double& status = space.status(c);
    const double start = space.number(NUMBER_CYCLE_NORM, c), recursive = sqrt(space.number(NUMBER_NORM2, c));
    status = space.number(NUMBER_OUTCOME, c);
    space.number(NUMBER_POSITION, c) = 0;
    space.number(NUMBER_NORM2, c) = norm2;
    if (status != STATUS_RUNNING || stops_by_norm(space, c)) return;
    // Rounding errors limit a residual that has drifted: the driver verifies it as a converged one.
    if (recursive < 0.25 * start && sqrt(norm2) > 0.5 * start) status = STATUS_CONVERGED;
}

// The scalar step of all columns, by one block, from the sums in `work`.
DEVICE void cycle_steps(const KrylovSpace& space, const Arnoldi& arnoldi, int step) {
    const int c = threadIdx.x;
    if (step == CYCLE_ARNOLDI_PROJECT)
        for (i64 i = threadIdx.x; i < arnoldi.length * space.columns; i += THREADS)
            arnoldi.rows(arnoldi.first_row(), space)[i] = arnoldi.sums(space)[i];
    if (c < space.columns) {
        const double status = space.status(c);
        if (step == CYCLE_ARNOLDI_ROTATE) write_norm(space, c, not_a_number());
        if (step == CYCLE_ARNOLDI_RESTART && status == STATUS_HALF)
            restart_column(space, c, real_part(arnoldi.sums(space)[c]));
        if (step == CYCLE_ARNOLDI_PROJECT && status == STATUS_RUNNING) take_projections(space, arnoldi, c);
        if (step == CYCLE_ARNOLDI_ROTATE && status == STATUS_RUNNING) rotate_column(space, arnoldi, c);
    }
    end_step(space, step == CYCLE_ARNOLDI_ROTATE);
}

// v = V_0 = r / norm(r), for columns that run and are at the beginning of a cycle.
KERNEL __launch_bounds__(THREADS) begin_cycle(KrylovSpace space, Arnoldi arnoldi, In<VALUE> r, VALUE* __restrict__ v) {
    const Walk walk(space);
    const int c = walk.column;
    if (space.status(c) != STATUS_RUNNING || space.number(NUMBER_POSITION, c) > 0) return;
    const double norm = sqrt(space.number(NUMBER_NORM2, c));
    const Scalar inverse = scalar_of(1 / norm);
    EACH_ENTRY (e, walk) arnoldi.basis[e] = v[e] = narrow(inverse * widen(r[e]));
    if (blockIdx.x == 0 && threadIdx.x < space.columns) {
        arnoldi.right(0, c, space) = scalar_of(norm);
        space.number(NUMBER_CYCLE_NORM, c) = norm;
    }
}

// The inner products of the basis with w, and norm(w)^2, then their scalar step.
DEVICE void sum_basis(const KrylovSpace& space, const Arnoldi& arnoldi, const Walk& walk, int count, const VALUE* w,
                      int step) {
    const i64 entries = space.rows * space.columns;
    const bool takes_part = space.status(walk.column) == STATUS_RUNNING;
    const auto add = [&](Scalar& sum, int i, i64 e) {
        const VALUE* const u = i < count ? arnoldi.basis + i * entries : w;
        add_product(sum, u[e], w[e]);
    };
    if (add_up_basis(space, walk, takes_part, count + 1, arnoldi.partials, arnoldi.sums(space), add))
        cycle_steps(space, arnoldi, step);
}

// w - V h for the inner products h that were summed last; of one entry.
DEVICE VALUE orthogonalized(const KrylovSpace& space, const Arnoldi& arnoldi, int c, int count, VALUE w, i64 e) {
    const i64 entries = space.rows * space.columns;
    const Scalar* sums = arnoldi.sums(space) + c;
    VALUE result = w;
#pragma unroll 8
    for (int i = 0; i < count; ++i) result = result - narrow(sums[i * space.columns]) * arnoldi.basis[i * entries + e];
    return result;
}

// h = V* w, unless `summed` is 0; z is kept in Z for flexible GMRES.
KERNEL __launch_bounds__(THREADS)
    project_on_basis(KrylovSpace space, int summed, Arnoldi arnoldi, In<VALUE> w, In<VALUE> z) {
    const int position = most_steps(space, STATUS_RUNNING);
    if (position < 0) return;
    const Walk walk(space);
    if (arnoldi.preconditioned && space.status(walk.column) == STATUS_RUNNING) {
        VALUE* const kept = arnoldi.preconditioned + position * (space.rows * space.columns);
        EACH_ENTRY (e, walk) kept[e] = z[e];
    }
    if (summed) sum_basis(space, arnoldi, walk, position + 1, w, CYCLE_ARNOLDI_PROJECT);
}

// w -= V h, and V* w of the result unless `summed` is 0. A thread sums the entries that it has written.
KERNEL __launch_bounds__(THREADS) orthogonalize(KrylovSpace space, int summed, Arnoldi arnoldi, VALUE* w) {
    const int position = most_steps(space, STATUS_RUNNING);
    if (position < 0) return;
    const Walk walk(space);
    if (space.status(walk.column) == STATUS_RUNNING)
        for (i64 e = walk.at; e < walk.end; e += walk.step)
            w[e] = orthogonalized(space, arnoldi, walk.column, position + 1, w[e], e);
    if (summed) sum_basis(space, arnoldi, walk, position + 1, w, CYCLE_ARNOLDI_ROTATE);
}

// V_{j+1} = v = (w - V h) / norm, for columns that go on; their position is j + 1 already.
KERNEL __launch_bounds__(THREADS) extend_basis(KrylovSpace space, Arnoldi arnoldi, In<VALUE> w, VALUE* __restrict__ v) {
    const Walk walk(space);
    const int c = walk.column;
    if (space.status(c) != STATUS_RUNNING) return;
    const int position = (int)space.number(NUMBER_POSITION, c);
    VALUE* const next = arnoldi.basis + position * (space.rows * space.columns);
    const Scalar inverse = space.scalar(SCALAR_ALPHA, c);
    for (i64 e = walk.at; e < walk.end; e += walk.step)
        next[e] = v[e] = narrow(inverse * widen(orthogonalized(space, arnoldi, c, position, w[e], e)));
}

// y = R^-1 g by back substitution: a thread per column.
KERNEL __launch_bounds__(THREADS) solve_triangle(KrylovSpace space, Arnoldi arnoldi) {
    const int c = threadIdx.x;
    if (c >= space.columns) return;
    const int position = (int)space.number(NUMBER_POSITION, c);
    for (int i = position - 1; i >= 0; --i) {
        Scalar rest = arnoldi.right(i, c, space);
#pragma unroll 4
        for (int j = i + 1; j < position; ++j)
            rest = rest - arnoldi.triangle(i, j, c, space) * arnoldi.solution(j, c, space);
        arnoldi.solution(i, c, space) = over(rest, arnoldi.triangle(i, i, c, space));
    }
}

// target = base + Z y, or V y where Z is not kept; a null base is 0.
KERNEL __launch_bounds__(THREADS)
    combine_basis(KrylovSpace space, Arnoldi arnoldi, In<VALUE> base, VALUE* __restrict__ target) {
    const Walk walk(space);
    const int c = walk.column, position = (int)space.number(NUMBER_POSITION, c);
    const i64 entries = space.rows * space.columns;
    const VALUE* const vectors = arnoldi.preconditioned ? arnoldi.preconditioned : arnoldi.basis;
    for (i64 e = walk.at; e < walk.end; e += walk.step) {
        VALUE result = base ? base[e] : VALUE{};
#pragma unroll 8
        for (int i = 0; i < position; ++i)
            result = result + narrow(arnoldi.solution(i, c, space)) * vectors[i * entries + e];
        target[e] = result;
    }
}

// target += x.
KERNEL __launch_bounds__(THREADS) add_solution(KrylovSpace space, In<VALUE> x, VALUE* __restrict__ target) {
    const Walk walk(space);
    EACH_ENTRY (e, walk) target[e] = x[e] + target[e];
}

// x becomes `completed` where a cycle has ended.
KERNEL __launch_bounds__(THREADS) accept_solution(KrylovSpace space, In<VALUE> completed, VALUE* __restrict__ x) {
    const Walk walk(space);
    if (space.status(walk.column) != STATUS_HALF) return;
    EACH_ENTRY (e, walk) x[e] = completed[e];
}

// r = b - A x after a cycle, and norm(r)^2 unless `summed` is 0.
KERNEL __launch_bounds__(THREADS)
    restart_cycle(KrylovSpace space, int summed, Arnoldi arnoldi, In<VALUE> b, In<VALUE> product, VALUE* r) {
    if (most_steps(space, STATUS_HALF) < 0) return;
    const Walk walk(space);
    const bool takes_part = space.status(walk.column) == STATUS_HALF;
    if (takes_part)
        EACH_ENTRY (e, walk) r[e] = b[e] - product[e];
    if (!summed) return;
    const auto add = [&](Scalar& sum, int, i64 e) { add_product(sum, r[e], r[e]); };
    if (add_up_basis(space, walk, takes_part, 1, arnoldi.partials, arnoldi.sums(space), add))
        cycle_steps(space, arnoldi, CYCLE_ARNOLDI_RESTART);
}

// The scalar step from inner products that the user's function computed.
KERNEL __launch_bounds__(THREADS) take_arnoldi_sums(KrylovSpace space, int step, Arnoldi arnoldi) {
    cycle_steps(space, arnoldi, step);
}
