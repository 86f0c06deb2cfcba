/* Programs of the reference evaluator: one piece of code for each stage. */
#include "compute/evaluate/bytecode.h"

#include "compute/evaluate/code.h"

/* The axes as loops, the strip innermost; axes with one element need none. */
static void order_axes(const struct bt__coder *c, const bt_array *array,
                       struct bt__nest *nest)
{
    nest->strip = bt__strip_of_stage(&c->strips, array);
    for (uint32_t i = 0; i < array->rank; i++) {
        if ((int)i == nest->strip || c->code->dims[i] == 1)
            continue;
        nest->extents[nest->n] = c->code->dims[i];
        nest->indices[nest->n++] = i;
    }
    if (nest->strip < 0)
        return;
    nest->extents[nest->n] = c->code->dims[nest->strip];
    nest->indices[nest->n++] = (uint32_t)nest->strip;
}

static bt_status emit_store(struct bt__coder *c, struct bt__block *b,
                            const bt_array *array)
{
    const bt_node *indices[BT_MAX_RANK], *address;
    bt_linear l;
    bt__instr in = { .run = bt__run_store(array->dtype), .array = c->code->array };
    for (uint32_t i = 0; i < array->rank; i++)
        indices[i] = bt_node_index(c->graph, i, bt_node_int(c->graph, c->code->dims[i]));
    address = bt_node_linear(c->graph, 0, array->rank, indices,
                             c->strips.strides[c->code->array]);
    if (!address)
        return bt__code_why(c);
    bt_node_as_linear(address, &l);
    BT_TRY(bt__emit(c, b, array->body, &in.a));
    BT_TRY(bt__cursor_new(c, b, &l, &in.cursor, &in.lane));
    in.out.step = b->strip >= 0;
    return bt__block_push(c, b, in);
}

static bt_status code_stage(struct bt__coder *c, const bt_array *array)
{
    struct bt__block root;
    struct bt__nest nest = { .strip = -1 };
    bt__block_open(c, &root, NULL, &c->code->body);
    BT_TRY(bt__scatter_all(c, &root, array));
    order_axes(c, array, &nest);
    BT_TRY(bt__nest_open(c, &root, &nest));
    BT_TRY(emit_store(c, nest.innermost, array));
    return bt__nest_close(c, &nest);
}

/* Dims of a stage and its dense strides; nelem and nbytes are checked. */
static bt_status measure(bt_ctx *ctx, const char *op, const bt_array *array,
                         struct bt__code *code, int64_t *strides)
{
    int64_t nelem = 1;
    code->dtype = array->dtype;
    code->rank = array->rank;
    for (uint32_t i = array->rank; i-- > 0;) {
        if (!bt_node_is_const(array->extents[i], &code->dims[i]))
            return bt_fail(ctx, BT_ERR_INTERNAL, "%s: extent %u of %s is not known", op,
                           i, array->name);
        strides[i] = nelem;
        if (!bt_mul_int64(nelem, code->dims[i] ? code->dims[i] : 1, &nelem))
            return bt_fail(ctx, BT_ERR_LIMIT, "%s: %s has too many elements", op,
                           array->name);
    }
    code->nelem = nelem;
    for (uint32_t i = 0; i < array->rank; i++)
        code->nelem = code->dims[i] ? code->nelem : 0;
    return NULL;
}

bt_status bt__bytecode_create(bt_ctx *ctx, bt_arena *arena, const char *op, bt_graph *g,
                              const int64_t *const *strides, struct bt__bytecode **out)
{
    struct bt__bytecode *p = BT_NEW(arena, struct bt__bytecode);
    const int64_t **all = BT_NEWS(arena, const int64_t *, g->narray);
    uint32_t nstage = g->narray - g->ninput;
    if (!p || !all)
        return bt_no_memory();
    p->op = op;
    p->graph = g;
    p->nstage = nstage;
    p->stages = BT_NEWS(arena, struct bt__code, nstage);
    if (!p->stages)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->ninput; i++)
        all[i] = strides[i];
    for (uint32_t i = 0; i < nstage; i++) {
        struct bt__code *code = &p->stages[i];
        int64_t *dense = BT_NEWS(arena, int64_t, BT_MAX_RANK);
        struct bt__coder c = { .ctx = ctx, .arena = arena, .graph = g, .code = code };
        if (!dense)
            return bt_no_memory();
        code->array = g->ninput + i;
        all[code->array] = dense;
        c.strips = (struct bt__strips){ g, all };
        bt_map_init(&c.scattered, arena, 0);
        BT_TRY(measure(ctx, op, g->arrays[code->array], code, dense));
        if (code->nelem)
            BT_TRY(code_stage(&c, g->arrays[code->array]));
        code->ncursor = c.starts.len;
        code->starts = c.starts.at;
        p->max_cursor = c.starts.len > p->max_cursor ? c.starts.len : p->max_cursor;
        p->max_buffer =
            code->buffers.len > p->max_buffer ? code->buffers.len : p->max_buffer;
    }
    // a proof may have failed for lack of memory, and its read be checked instead
    if (g->status)
        return g->status;
    *out = p;
    return NULL;
}
