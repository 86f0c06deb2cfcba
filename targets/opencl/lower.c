/* Primitive functions as launches, stage by stage. */
#include "lower.h"

#include "contract.h"

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

/* Bytes of a temp, in the function's graph. */
static const bt_node *nbytes_of(struct ocl_maker *m, const bt_loops *loops,
                                uint32_t buffer)
{
    bt_graph *g = m->graph;
    const bt_array *array = loops->graph->arrays[buffer];
    const bt_node *n = bt_node_int(g, 1), *align = bt_node_int(g, ALIGN);
    if (array->extents[0]->kind == BT_NODE_CONST)
        n = bt_node_int(g, array->extents[0]->value.i);
    else // of a stage, as loops of open dims have no temps of their own
        for (uint32_t k = 0; k < g->arrays[buffer]->rank; k++)
            n = bt_node_scalar(g, BT_SCALAR_MUL, n, g->arrays[buffer]->extents[k]);
    n = bt_node_scalar(g, BT_SCALAR_MUL, n,
                       bt_node_int(g, (int64_t)bt_dtype_nbytes(array->dtype)));
    n = bt_node_scalar(g, BT_SCALAR_CEILDIV, n, align);
    return bt_node_scalar(g, BT_SCALAR_MUL, n, align);
}

bt_status ocl_place_temp(struct ocl_maker *m, const bt_loops *loops, uint32_t buffer,
                         const bt_node **out)
{
    const bt_loops *of = buffer < m->narray ? NULL : loops;
    for (uint32_t i = 0; i < m->temps.len; i++) {
        *out = m->temps.at[i].at;
        if (m->temps.at[i].loops == of && m->temps.at[i].buffer == buffer)
            return NULL;
    }
    const struct ocl_temp temp = { of, buffer, m->nbytes };
    *out = m->nbytes;
    m->nbytes =
        bt_node_scalar(m->graph, BT_SCALAR_ADD, m->nbytes, nbytes_of(m, loops, buffer));
    if (!m->nbytes)
        return m->graph->status ? m->graph->status : bt_no_memory();
    return BT_PUSH(m->arena, &m->temps, temp) ? NULL : bt_no_memory();
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

static bt_status lower_with(struct ocl_maker *m, bt_lower_options *options,
                            bt_loops **out)
{
    const char *name = m->primitive->name ? m->primitive->name : "primitive";
    BT_TRY(bt_loops_lower_with(m->ctx, m->arena, name, m->graph, options, out));
    return bt_loops_simplify(*out);
}

bt_status ocl_stage_loops(struct ocl_maker *m, uint32_t stage, bt_loops **out)
{
    bt_lower_options options = { .is_narrow = is_narrow, .order = &stage, .norder = 1 };
    int gathers;
    m->narray = m->graph->narray;
    BT_TRY(lower_with(m, &options, out));
    BT_TRY(ocl_nest_gathers(*out, &gathers));
    options.gathers = (uint32_t)gathers;
    return gathers ? lower_with(m, &options, out) : NULL;
}

static bt_status lower_stage(struct ocl_maker *m, uint32_t stage)
{
    ocl_contraction contraction;
    ocl_contract_fn *launch;
    bt_loops *loops;
    BT_TRY(ocl_contraction_of(m, stage, &contraction, &launch));
    if (launch)
        return launch(m, stage, &contraction);
    BT_TRY(ocl_stage_loops(m, stage, &loops));
    return ocl_nest_launch(m, loops);
}

/* ---- kernels ---- */

/* The buffers of a kernel's launches. */
struct buffers {
    const struct ocl_maker *maker;
    bt_kernel_buffer *all; /* inputs, packs, outputs */
    uint32_t *places; /* of each input and pack among them, from 1; 0: it has none yet */
    uint32_t n, nread, first_output;
};

/* Which input or pack an argument is; UINT32_MAX: neither. */
static uint32_t place_of(const struct buffers *b, const ocl_arg *arg)
{
    return arg->kind != OCL_ARG_BUFFER ? UINT32_MAX
           : arg->index < OCL_OUTPUT   ? arg->index
           : arg->index < OCL_PACK     ? UINT32_MAX
                                       : b->maker->graph->ninput + arg->index - OCL_PACK;
}

/* Inputs of launches, or packs. */
static void add_buffers(struct buffers *b, const ocl_launches *launches, int are_packs)
{
    const uint32_t ninput = b->maker->graph->ninput;
    for (uint32_t i = 0; i < launches->len; i++) {
        for (uint32_t k = 0; k < launches->at[i].narg; k++) {
            const uint32_t at = place_of(b, &launches->at[i].args[k]);
            if (at == UINT32_MAX || (at >= ninput) != are_packs || b->places[at])
                continue;
            b->all[b->n] = are_packs ? (bt_kernel_buffer){ BT_BUFFER_TEMP, at - ninput }
                                     : (bt_kernel_buffer){ BT_BUFFER_INPUT, at };
            b->places[at] = ++b->n;
        }
    }
}

/* Of launches that make a pack it is the output. */
static bt_status find_buffers(struct buffers *b, const ocl_launches *launches)
{
    const struct ocl_maker *m = b->maker;
    const int is_pack = launches != &m->launches;
    const uint32_t nout = bt_type_nleaf(m->primitive->result);
    const uint32_t nall = m->graph->ninput + m->packs.len + nout;
    b->all = BT_NEWS(m->arena, bt_kernel_buffer, nall);
    b->places = BT_NEWS(m->arena, uint32_t, nall);
    if (!b->all || !b->places)
        return bt_no_memory();
    add_buffers(b, launches, 0);
    b->nread = b->n;
    add_buffers(b, launches, 1);
    b->nread = is_pack ? b->nread : b->n;
    b->first_output = b->n;
    for (uint32_t i = 0; i < nout && !is_pack; i++)
        b->all[b->n++] = (bt_kernel_buffer){ BT_BUFFER_OUTPUT, i };
    return NULL;
}

/* Arguments by their places among the kernel's buffers. */
static bt_status place_args(const struct buffers *b, ocl_launch *launch)
{
    ocl_arg *args = BT_NEWS(b->maker->arena, ocl_arg, launch->narg);
    if (!args)
        return bt_no_memory();
    for (uint32_t k = 0; k < launch->narg; k++) {
        args[k] = launch->args[k];
        const uint32_t at = place_of(b, &args[k]);
        if (at != UINT32_MAX)
            args[k].index = b->places[at] - 1;
        else if (args[k].kind == OCL_ARG_BUFFER)
            args[k].index = b->first_output + args[k].index - OCL_OUTPUT;
    }
    launch->args = args;
    return NULL;
}

static bt_status make_kernel(struct ocl_maker *m, const ocl_launches *launches,
                             bt_kernel *kernel)
{
    struct buffers b = { .maker = m };
    ocl_program *program = BT_NEW(m->arena, ocl_program);
    if (!kernel || !program)
        return bt_no_memory();
    BT_TRY(find_buffers(&b, launches));
    kernel->nin = b.nread;
    kernel->nout = b.n - b.nread;
    kernel->in = b.all;
    kernel->out = b.all + b.nread;
    for (uint32_t i = 0; i < launches->len; i++)
        BT_TRY(place_args(&b, &launches->at[i]));
    const int is_pack = launches != &m->launches;
    *program = (ocl_program){ launches->len, launches->at, is_pack ? 0 : m->faults.len,
                              m->faults.at };
    kernel->content = program;
    return NULL;
}

static bt_status make_kernels(struct ocl_maker *m, bt_lowering *out)
{
    bt_store *store = m->primitive->result->store;
    const bt_type **temps = BT_NEWS(m->arena, const bt_type *, m->packs.len);
    if (!temps)
        return bt_no_memory();
    for (uint32_t i = 0; i < m->packs.len; i++) {
        temps[i] = bt_dim(store, m->packs.at[i].nbytes);
        if (!temps[i])
            return bt_store_why(m->ctx, store);
        BT_TRY(make_kernel(m, &m->packs.at[i].launches, bt_lowering_add(out, m->arena)));
    }
    bt_kernel *kernel = bt_lowering_add(out, m->arena);
    BT_TRY(make_kernel(m, &m->launches, kernel));
    out->ntemp = m->packs.len;
    out->temps = temps;
    out->has_no_text = 1;
    if (bt_node_number(m->nbytes) != 0)
        BT_TRY(bt_node_as_dim(m->ctx, m->primitive, m->nbytes, &kernel->workspace));
    return NULL;
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
    // stages may get arrays beside them, which stand for sums
    const uint32_t narray = m.graph->narray;
    m.is_constant = bt_primitive_constants(arena, primitive);
    m.nbytes = bt_node_int(m.graph, 0);
    if (!m.is_constant || !m.nbytes)
        return bt_no_memory();
    for (uint32_t i = m.graph->ninput; i < narray; i++)
        BT_TRY(lower_stage(&m, i));
    return make_kernels(&m, out);
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
