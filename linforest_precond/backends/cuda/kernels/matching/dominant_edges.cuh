// Vertices point along their first edge to a free vertex; an edge is matched when both of its ends point along it.

struct Pointing {
    const INDEX* mates;
    INDEX* pointers;
    bool fresh;     // in the very first round all are free
    bool selected;  // only those are asked whose targets are taken

    __device__ __forceinline__ bool begin(i64 v) const {
        if (fresh || selected) return true;
        const INDEX target = mates[v] < 0 ? pointers[v] : NO_VERTEX;
        return target >= 0 && mates[target] >= 0;
    }
    __device__ __forceinline__ WEIGHT weigh(WEIGHT value) const { return value; }
    __device__ __forceinline__ Verdict judge(i64, const Edge& edge, bool) const {
        return fresh || mates[edge.column] < 0 ? TAKE : SHUT;
    }
    __device__ __forceinline__ bool found(i64 v, const Edge& best, bool) const {
        pointers[v] = best.column;
        return false;
    }
    __device__ __forceinline__ void put_off(i64) const {}
    __device__ __forceinline__ void settle() const {}
};
