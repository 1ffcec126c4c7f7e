// Of this header, the arithmetic of numbers is used.
#define BLOCK 1
#include "runtime/arithmetic.cuh"

// The inverse of a Hermitian positive definite matrix by the symmetric sweep operator (J. H. Goodnight, The American
// Statistician 33, 1979, doi:10.1080/00031305.1979.10482685) in tiles: sweeping the diagonal tile A_KK = L L^H with
// V = L^-1 and Y_I = A_IK V^H replaces the tiles by
//     A_IJ - Y_I Y_J^H,    A_IK -> Y_I V,    A_KJ -> V^H Y_J^H,    A_KK -> -V^H V          (I, J other than K)
// and after the sweeps of all diagonal tiles, -A^-1 is left. The matrix stays Hermitian, so the lower triangle is
// enough. The Schur complements A_IJ - Y_I Y_J^H are as accurate as those of a Cholesky factorization; the same by
// the inverse of A_KK would lose as many digits as its condition number has.
#define TILE 32
#define ENTRIES (TILE * TILE)
#define HALF (TILE / 2)
#define THREADS (HALF * HALF)
// Rows in shared memory are padded: no bank conflicts, by rows or by columns.
#define PADDED (TILE + 1)

// The thread's four entries of a tile: its rows and columns are HALF apart.
struct Quad {
    VALUE at[2][2];
};

DEVICE int row_of(int p) { return threadIdx.x / HALF + p * HALF; }
DEVICE int column_of(int q) { return threadIdx.x % HALF + q * HALF; }

DEVICE Quad loaded(const VALUE* tile) {
    Quad quad;
    EACH (p, 2)
        EACH (q, 2) quad.at[p][q] = tile[row_of(p) * TILE + column_of(q)];
    return quad;
}
DEVICE void store(VALUE* tile, const Quad& quad) {
    EACH (p, 2)
        EACH (q, 2) tile[row_of(p) * TILE + column_of(q)] = quad.at[p][q];
}
DEVICE void store_adjoint(VALUE* tile, const Quad& quad) {
    EACH (p, 2)
        EACH (q, 2) tile[column_of(q) * TILE + row_of(p)] = conjugate(quad.at[p][q]);
}
DEVICE void share(VALUE* tile, const Quad& quad) {
    EACH (p, 2)
        EACH (q, 2) tile[row_of(p) * PADDED + column_of(q)] = quad.at[p][q];
}
DEVICE void share_adjoint(VALUE* tile, const Quad& quad) {
    EACH (p, 2)
        EACH (q, 2) tile[column_of(q) * PADDED + row_of(p)] = conjugate(quad.at[p][q]);
}
DEVICE Quad operator-(const Quad& a) {
    Quad negative;
    EACH (p, 2)
        EACH (q, 2) negative.at[p][q] = -a.at[p][q];
    return negative;
}
DEVICE Quad operator-(const Quad& a, const Quad& b) {
    Quad difference;
    EACH (p, 2)
        EACH (q, 2) difference.at[p][q] = a.at[p][q] - b.at[p][q];
    return difference;
}

// left * right, or left * right^H, of two tiles in shared memory.
template <bool ADJOINT>
DEVICE Quad product(const VALUE* left, const VALUE* right) {
    Quad sum = {};
#pragma unroll 8
    for (int k = 0; k < TILE; ++k)
        EACH (q, 2) {
            const VALUE other =
                ADJOINT ? conjugate(right[column_of(q) * PADDED + k]) : right[k * PADDED + column_of(q)];
            EACH (p, 2) sum.at[p][q] = sum.at[p][q] + left[row_of(p) * PADDED + k] * other;
        }
    return sum;
}

// The matrix, its inverse and the state between two sweeps. `tiles` is the lower triangle by rows of tiles. The column
// of tiles that is swept next is not stored there: `panel` has its tiles A_IK for all I, `factor` the inverse V of the
// Cholesky factor of its diagonal tile. Both alternate between two places, so that one barrier per sweep suffices.
struct Inversion {
    const VALUE* matrix;
    RESULT* inverse;
    VALUE *tiles, *panels, *factors;
    u32* failed;
    double small_pivot;
    i64 n;

    DEVICE int count() const { return (int)((n + TILE - 1) / TILE); }
    DEVICE VALUE* panel(int K, int I) const { return panels + ((i64)(K % 2) * count() + I) * ENTRIES; }
    DEVICE VALUE* factor(int K) const { return factors + K % 2 * ENTRIES; }
};

// A tile of the lower triangle.
struct Place {
    int number, I, J;

    DEVICE explicit Place(int number) : number(number), I(0), J(number) {
        while (J > I) J -= ++I;
    }
};

// A tile of the matrix, padded with the identity.
DEVICE Quad tile_of_matrix(const Inversion& v, Place at) {
    Quad quad;
    EACH (p, 2)
        EACH (q, 2) {
            const i64 row = at.I * TILE + row_of(p), column = at.J * TILE + column_of(q);
            quad.at[p][q] = row < v.n && column < v.n ? v.matrix[row * v.n + column] : from_real(row == column);
        }
    return quad;
}

// The product of two tiles, the second one or its adjoint. The whole block calls it; `left` and `right` are its tiles in
// shared memory.
template <bool ADJOINT>
DEVICE Quad product(const Quad& a, const Quad& b, VALUE* left, VALUE* right) {
    __syncthreads();
    share(left, a);
    share(right, b);
    __syncthreads();
    return product<ADJOINT>(left, right);
}

// The same with the adjoint of the first tile.
template <bool ADJOINT>
DEVICE Quad product_of_adjoint(const Quad& a, const Quad& b, VALUE* left, VALUE* right) {
    __syncthreads();
    share_adjoint(left, a);
    share(right, b);
    __syncthreads();
    return product<ADJOINT>(left, right);
}

// A tile after the sweep of diagonal tile K. The whole block calls it.
DEVICE Quad swept(const Inversion& v, Place at, int K, VALUE* left, VALUE* right) {
    const Quad factor = loaded(v.factor(K));
    const bool in_row = at.I == K, in_column = at.J == K;
    if (in_row && in_column) return -product_of_adjoint<false>(factor, factor, left, right);
    Quad second = {}, old = {};
    if (!in_row && !in_column) {  // loaded early, to hide the latency
        second = loaded(v.panel(K, at.J));
        old = loaded(v.tiles + (i64)at.number * ENTRIES);
    }
    const Quad y = product<true>(loaded(v.panel(K, in_row ? at.J : at.I)), factor, left, right);
    if (in_column) return product<false>(y, factor, left, right);
    if (in_row) return product_of_adjoint<true>(factor, y, left, right);
    const Quad z = at.I == at.J ? y : product<true>(second, factor, left, right);
    return old - product<true>(y, z, left, right);
}

// The inverse of the Cholesky factor of diagonal tile K, of which the lower triangle is read: Gaussian elimination in
// place, row k of the inverse to the left of the diagonal, then the rows are scaled. Raises the flag where a pivot is
// small. The whole block calls it.
DEVICE Quad inverse_factor(const Inversion& v, int K, Quad quad, VALUE* shared) {
    __shared__ VALUE heads[2][TILE];
    __shared__ double pivots[TILE];
    __syncthreads();
    share(shared, quad);
    __syncthreads();
    EACH (p, 2)
        EACH (q, 2)
            if (row_of(p) < column_of(q)) quad.at[p][q] = conjugate(shared[column_of(q) * PADDED + row_of(p)]);
    for (int k = 0; k < TILE; ++k) {
        VALUE* head = heads[k % 2];
        EACH (p, 2)
            EACH (q, 2)
                if (row_of(p) == k) head[column_of(q)] = quad.at[p][q];
        __syncthreads();
        const double pivot = real_part(head[k]), reciprocal = 1 / pivot;
        if (threadIdx.x == k) pivots[k] = pivot;
        EACH (p, 2) {
            if (row_of(p) <= k) continue;
            const VALUE factor = scaled(conjugate(head[row_of(p)]), reciprocal);
            EACH (q, 2) {
                VALUE& entry = quad.at[p][q];
                entry = column_of(q) == k ? -factor : entry - factor * head[column_of(q)];
            }
        }
    }
    __syncthreads();
    const i64 row = (i64)K * TILE + threadIdx.x;
    if (threadIdx.x < TILE && row < v.n &&
        !(pivots[threadIdx.x] > v.small_pivot * real_part(v.matrix[row * v.n + row])))
        *v.failed = 1;
    EACH (p, 2) {
        const double scale = 1 / sqrt(pivots[row_of(p)]);
        EACH (q, 2) {
            VALUE& entry = quad.at[p][q];
            if (row_of(p) == column_of(q)) entry = from_real(scale);
            else entry = row_of(p) > column_of(q) ? scaled(entry, scale) : VALUE{};
        }
    }
    return quad;
}

// Stores a tile where the sweep of diagonal tile K reads it. The whole block calls it.
DEVICE void publish(const Inversion& v, Place at, int K, const Quad& quad, VALUE* shared) {
    if (at.I != K && at.J != K) store(v.tiles + (i64)at.number * ENTRIES, quad);
    else if (at.I != K) store(v.panel(K, at.I), quad);
    else if (at.J != K) store_adjoint(v.panel(K, at.J), quad);
    else store(v.factor(K), inverse_factor(v, K, quad, shared));
}

// Writes a tile of the inverse and its mirror image; of a diagonal tile the lower triangle counts. Raises the flag
// where the stored type overflows.
DEVICE void write_inverse(const Inversion& v, Place at, const Quad& quad) {
    EACH (p, 2)
        EACH (q, 2) {
            const i64 row = at.I * TILE + row_of(p), column = at.J * TILE + column_of(q);
            if (row >= v.n || column > row) continue;
            const VALUE entry = row == column ? from_real(real_part(quad.at[p][q])) : quad.at[p][q];
            RESULT rounded;
            convert(rounded, entry);
            if (!is_finite(rounded)) *v.failed = 1;
            v.inverse[row * v.n + column] = rounded;
            v.inverse[column * v.n + row] = conjugate(rounded);
        }
}

// One cooperative launch, a block per tile as far as they are resident; tile K is factorized while the others are swept
// with tile K - 1.
KERNEL __launch_bounds__(THREADS) invert_definite(Inversion v, u32* barrier) {
    __shared__ VALUE left[TILE * PADDED], right[TILE * PADDED];
    const int count = v.count();
    u32 generation = 0;
    for (int K = -1; K < count; ++K) {
        for (int number = blockIdx.x; number < count * (count + 1) / 2; number += gridDim.x) {
            const Place at(number);
            const Quad quad = K < 0 ? tile_of_matrix(v, at) : swept(v, at, K, left, right);
            if (K + 1 < count) publish(v, at, K + 1, quad, left);
            else write_inverse(v, at, -quad);
        }
        if (K + 1 < count) grid_barrier(barrier, generation);
    }
}
