/*
 * What may be computed when a program is compiled. A few words of a program may ask for any amount
 * of work, sum(zeros(shape=[100000, 100000])), where it may never come to it. So a run is bounded before
 * it begins: by its steps, and by the bytes of all that it makes. What reads more may take more, as a
 * weight becomes another one of its size, however large it is.
 */
#include <baton/compute.h>

#include "compute/evaluate/compute.h"
#include "compute/graph/cost.h"

enum {
    FREE_STEPS = 1 << 28, /* about three seconds of the evaluator */
    STEPS_OF_BYTE = 16,   /* of what is read */
    FREE_NBYTES = 1 << 28,
    MAX_GROWTH = 8 /* bytes for one that is read */
};

void bt__folding_add(int64_t *sum, int64_t part)
{
    if (part < 0 || !bt_add_int64(*sum, part, sum))
        *sum = INT64_MAX;
}

static int is_within(int64_t value, int64_t read, int64_t each, int64_t some)
{
    int64_t most;
    return !bt_mul_int64(read, each, &most) || !bt_add_int64(most, some, &most) ||
           value <= most;
}

int bt__may_fold(const struct bt__folding *f)
{
    return f->steps != INT64_MAX && f->made != INT64_MAX &&
           is_within(f->steps, f->read, STEPS_OF_BYTE, FREE_STEPS) &&
           is_within(f->made, f->read, MAX_GROWTH, FREE_NBYTES);
}

static void add_made(struct bt__folding *f, bt_dtype dtype, int64_t nelem)
{
    int64_t nbytes;
    bt__folding_add(&f->steps, nelem);
    bt__folding_add(
        &f->made,
        dtype && nelem >= 0 && bt_elements_nbytes(dtype, nelem, &nbytes) ? nbytes : -1);
}

/* Every stage is an array of its own in memory. */
static bt_status add_graph(bt_graph *g, struct bt__folding *f)
{
    int64_t multiply_adds;
    BT_TRY(bt__graph_cost(g, &multiply_adds));
    bt__folding_add(&f->steps, multiply_adds);
    for (uint32_t i = g->ninput; i < g->narray; i++) {
        const bt_array *array = g->arrays[i];
        int64_t nelem = 1;
        for (uint32_t a = 0; a < array->rank; a++) {
            if (!bt_mul_int64(nelem, bt__node_guess(array->extents[a]), &nelem))
                nelem = INT64_MAX;
        }
        add_made(f, array->dtype, nelem);
    }
    return NULL;
}

/* Plain C takes steps for what it reads and makes; dims that it alone finds are not known. */
static void add_results(const bt_compute *compute, struct bt__folding *f)
{
    for (uint32_t i = 0; i < compute->call.nresult; i++) {
        const struct bt__leaf *leaf = &compute->call.results[i];
        int64_t nelem = leaf->has_rank ? 1 : -1;
        for (uint32_t a = 0; a < leaf->rank && nelem >= 0; a++) {
            if (leaf->dims[a] < 0 || !bt_mul_int64(nelem, leaf->dims[a], &nelem))
                nelem = -1;
        }
        add_made(f, leaf->dtype, nelem);
    }
}

bt_status bt__folding_add_run(struct bt__folding *f, const bt_compute *compute,
                              uint32_t nin, const bt_tensor *const *in)
{
    for (uint32_t i = 0; i < nin; i++) {
        bt__folding_add(&f->steps, in[i]->nelem);
        bt__folding_add(&f->read, (int64_t)bt_tensor_nbytes(in[i]));
    }
    if (compute->graph)
        return add_graph(compute->graph, f);
    add_results(compute, f);
    return NULL;
}
