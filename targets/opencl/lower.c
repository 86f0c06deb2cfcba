/* Primitive functions as launches, stage by stage. */
#include "lower.h"

#include "nest.h"

#include <string.h>

/* Floats are summed in float, as devices are fast in. */
static int is_narrow(void *self, const bt_node *reduce)
{
    (void)self;
    (void)reduce;
    return 1;
}

/* ---- memory between the stages ---- */

enum { ALIGN = 128 };

/* The temps of loops that have no place yet, one behind the other. */
static bt_status place_temps(struct ocl_maker *m, const bt_loops *loops)
{
    bt_graph *g = m->graph;
    const bt_node **places = BT_NEWS(m->arena, const bt_node *, loops->roles.len);
    if (!places)
        return bt_no_memory();
    for (uint32_t i = 0; i < loops->roles.len; i++) {
        const bt_array *array = loops->graph->arrays[i];
        if (loops->roles.at[i] != BT_BUFFER_TEMP)
            continue;
        places[i] = i < g->narray && m->temps ? m->temps[i] : m->nbytes;
        if (i < g->narray && m->temps)
            continue;
        const bt_node *n = array->extents[0];
        if (n->kind != BT_NODE_CONST) { // of the loops' graph: the same dims
            n = bt_node_int(g, 1);
            for (uint32_t k = 0; k < g->arrays[i]->rank; k++)
                n = bt_node_scalar(g, BT_SCALAR_MUL, n, g->arrays[i]->extents[k]);
        } else {
            n = bt_node_int(g, n->value.i);
        }
        const bt_node *nbytes = bt_node_scalar(
            g, BT_SCALAR_MUL, n,
            bt_node_int(g, (int64_t)bt_dtype_nbytes(array->dtype)));
        nbytes = bt_node_scalar(g, BT_SCALAR_CEILDIV, nbytes, bt_node_int(g, ALIGN));
        nbytes = bt_node_scalar(g, BT_SCALAR_MUL, nbytes, bt_node_int(g, ALIGN));
        m->nbytes = bt_node_scalar(g, BT_SCALAR_ADD, m->nbytes, nbytes);
        if (!m->nbytes)
            return g->status ? g->status : bt_no_memory();
    }
    m->temps = places;
    return NULL;
}

/* ---- stages ---- */

static int is_double(bt_dtype dtype)
{
    return dtype == BT_FLOAT64;
}

/* Whether something in an expression is a double. `seen` by id. */
static int has_double(const bt_node *node, uint8_t *seen)
{
    if (seen[node->id])
        return 0;
    seen[node->id] = 1;
    if (is_double(node->dtype))
        return 1;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (has_double(node->args[i], seen))
            return 1;
    }
    return 0;
}

static bt_status check_types(const struct ocl_maker *m)
{
    uint8_t *seen = BT_NEWS(m->arena, uint8_t, m->graph->nnode);
    if (!seen)
        return bt_no_memory();
    for (uint32_t i = 0; i < m->graph->narray; i++) {
        const bt_array *array = m->graph->arrays[i];
        if (!m->device->has_double &&
            (is_double(array->dtype) || (array->body && has_double(array->body, seen))))
            return bt_fail(m->ctx, BT_ERR_UNSUPPORTED,
                           "the device has no float64 (cl_khr_fp64)");
    }
    return NULL;
}

static bt_status lower_stage(struct ocl_maker *m, uint32_t stage)
{
    const bt_lower_options options = { .is_narrow = is_narrow,
                                       .order = &stage,
                                       .norder = 1 };
    bt_loops *loops;
    const char *name = m->primitive->name ? m->primitive->name : "primitive";
    BT_TRY(bt_loops_lower_with(m->ctx, m->arena, name, m->graph, &options, &loops));
    BT_TRY(bt_loops_simplify(loops));
    BT_TRY(place_temps(m, loops));
    return ocl_nest_launch(m, loops);
}

bt_status ocl_lower(bt_ctx *ctx, bt_arena *arena, const ocl_device *device,
                    const bt_func *primitive, bt_lowering *out)
{
    struct ocl_maker m = {
        .ctx = ctx, .arena = arena, .device = device, .primitive = primitive
    };
    const char *name = primitive->name ? primitive->name : "primitive";
    BT_TRY(bt_graph_compose(ctx, arena, primitive, &m.graph));
    if (m.graph->ndim > primitive->nvar)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "%s: dim %s is no parameter of the function", name,
                       m.graph->dims[primitive->nvar]->name);
    BT_TRY(check_types(&m));
    m.nbytes = bt_node_int(m.graph, 0);
    for (uint32_t i = m.graph->ninput; i < m.graph->narray; i++)
        BT_TRY(lower_stage(&m, i));
    ocl_program *program = BT_NEW(arena, ocl_program);
    bt_kernel *kernel = bt_lowering_whole(out, arena, primitive);
    if (!program || !kernel || !m.nbytes)
        return bt_no_memory();
    *program = (ocl_program){ m.launches.len, m.launches.at, m.faults.len, m.faults.at };
    kernel->content = program;
    kernel->nalias = 0;
    out->has_no_text = 1;
    if (bt_node_number(m.nbytes) != 0)
        BT_TRY(bt_node_as_dim(ctx, primitive, m.nbytes, &kernel->workspace));
    return NULL;
}

/* ---- text ---- */

extern const char *const ocl_function_blocks[];

int ocl_text_head(bt_text *out)
{
    bt_text_addf(out, "#pragma OPENCL FP_CONTRACT OFF\n"
                      "#ifdef cl_khr_fp64\n"
                      "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                      "#endif\n");
    for (uint32_t i = 0; ocl_function_blocks[i]; i++)
        bt_text_addf(out, "\n%s", ocl_function_blocks[i]);
    return !out->failed;
}
