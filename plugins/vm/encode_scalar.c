/*
 * Calls that compute scalars of scalars: their compute graph (<baton/graph.h>), in which
 * every operator's formula has become scalar operators, node by node.
 */

#include "encode.h"
#include "expand.h"

/* The graph, and registers of its arrays and nodes. */
struct expansion {
    struct vm_encoder *e;
    const bt_graph *graph;
    uint32_t *arrays;
    bt_map nodes; /* -> register + 1 */
    vm_numbers made;
};

static bt_status scalar_type(struct expansion *x, bt_dtype dtype, uint32_t *out)
{
    const struct vm_type type = { .kind = VM_TYPE_SCALAR, .dtype = dtype };
    return vm_type_intern(x->e->ctx, &x->e->program->types, &type, out);
}

static bt_status make(struct expansion *x, bt_dtype dtype, uint32_t *out)
{
    uint32_t type;
    BT_TRY(scalar_type(x, dtype, &type));
    BT_TRY(vm_register_new(x->e, type, out));
    return BT_PUSH(x->e->scratch, &x->made, *out) ? NULL : bt_no_memory();
}

static bt_status make_cell(struct expansion *x, bt_dtype dtype, bt_cell cell,
                           uint32_t *out)
{
    uint32_t type;
    BT_TRY(scalar_type(x, dtype, &type));
    BT_TRY(vm_cell(x->e, type, cell, out));
    return BT_PUSH(x->e->scratch, &x->made, *out) ? NULL : bt_no_memory();
}

static uint32_t reg_of(const struct expansion *x, const bt_node *node)
{
    return (uint32_t)(uintptr_t)bt_map_find(&x->nodes, node) - 1;
}

static bt_status add_row(struct vm_encoder *e, struct vm_scalar row, uint32_t *out)
{
    for (*out = 0; *out < e->scalars.len; ++*out) {
        if (e->scalars.at[*out].which == row.which &&
            e->scalars.at[*out].dtype == row.dtype)
            return NULL;
    }
    return BT_PUSH(e->tables, &e->scalars, row) ? NULL : bt_no_memory();
}

static bt_status write_scalar(struct expansion *x, uint32_t which, bt_dtype of,
                              bt_dtype dtype, uint32_t n, const uint32_t *args,
                              uint32_t *out)
{
    uint32_t row;
    BT_TRY(add_row(x->e, (struct vm_scalar){ which, of }, &row));
    BT_TRY(make(x, dtype, out));
    BT_TRY(vm_begin(x->e, n == 1 ? VM_SCALAR1 : VM_SCALAR2, *out));
    BT_TRY(vm_word(x->e, row));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(vm_word(x->e, args[i]));
    return NULL;
}

static bt_status write_cast(struct expansion *x, bt_dtype dtype, uint32_t arg,
                            uint32_t *out)
{
    BT_TRY(make(x, dtype, out));
    BT_TRY(vm_begin(x->e, VM_CAST, *out));
    return vm_word(x->e, arg);
}

/* constant + sum of coefs * args, which wraps: a - b without a product. */
static bt_status write_linear(struct expansion *x, const bt_node *node, uint32_t *out)
{
    bt_linear l;
    int is_empty = 1;
    bt_node_as_linear(node, &l);
    for (uint32_t pass = 0; pass < 2; pass++) { // what is added comes first
        for (uint32_t i = 0; i < l.n; i++) {
            const int is_taken = l.coefs[i] == -1;
            uint32_t args[2] = { *out, reg_of(x, l.atoms[i]) }, factor;
            if (is_taken != (int)pass)
                continue;
            if (!is_taken && l.coefs[i] != 1) {
                BT_TRY(make_cell(x, BT_INT64, (bt_cell){ .i = l.coefs[i] }, &factor));
                BT_TRY(write_scalar(x, BT_SCALAR_MUL, BT_INT64, BT_INT64, 2,
                                    (uint32_t[]){ factor, args[1] }, &args[1]));
            }
            if (is_empty && is_taken) {
                BT_TRY(make_cell(x, BT_INT64, (bt_cell){ .i = l.constant }, &args[0]));
                l.constant = 0;
                is_empty = 0;
            }
            if (is_empty)
                *out = args[1];
            else
                BT_TRY(write_scalar(x, is_taken ? BT_SCALAR_SUB : BT_SCALAR_ADD, BT_INT64,
                                    BT_INT64, 2, args, out));
            is_empty = 0;
        }
    }
    if (is_empty)
        return make_cell(x, BT_INT64, (bt_cell){ .i = l.constant }, out);
    if (l.constant == 0)
        return NULL;
    uint32_t args[2] = { *out, 0 };
    BT_TRY(make_cell(x, BT_INT64, (bt_cell){ .i = l.constant }, &args[1]));
    return write_scalar(x, BT_SCALAR_ADD, BT_INT64, BT_INT64, 2, args, out);
}

static bt_status write_select(struct expansion *x, const bt_node *node, uint32_t *out)
{
    BT_TRY(make(x, node->dtype, out));
    BT_TRY(vm_begin(x->e, VM_SELECT, *out));
    for (uint32_t i = 0; i < 3; i++)
        BT_TRY(vm_word(x->e, reg_of(x, node->args[i])));
    return NULL;
}

static bt_status write_node(struct expansion *x, const bt_node *node)
{
    uint32_t reg = 0, args[2] = { 0, 0 };
    bt_status status = NULL;
    for (uint32_t i = 0; i < node->narg && i < 2; i++)
        args[i] = reg_of(x, node->args[i]);
    switch (node->kind) {
    case BT_NODE_CONST: status = make_cell(x, node->dtype, node->value, &reg); break;
    case BT_NODE_LINEAR: status = write_linear(x, node, &reg); break;
    case BT_NODE_SCALAR:
        status = write_scalar(x, node->which, node->args[0]->dtype, node->dtype,
                              node->narg, args, &reg);
        break;
    case BT_NODE_CAST: status = write_cast(x, node->dtype, args[0], &reg); break;
    case BT_NODE_SELECT: status = write_select(x, node, &reg); break;
    default: reg = x->arrays[node->which]; break; // BT_NODE_READ
    }
    if (!status && !bt_map_put(&x->nodes, node, (void *)(uintptr_t)(reg + 1)))
        status = bt_no_memory();
    return status;
}

/* ---- graphs ---- */

/* A float that is computed in more bits is rounded when it is stored. */
static bt_status write_stage(struct expansion *x, const bt_array *array, uint32_t *out)
{
    bt_nodes nodes = { 0 };
    BT_TRY(vm_nodes_order(x->e->scratch, array->body, &nodes));
    bt_map_init(&x->nodes, x->e->scratch, 0);
    for (uint32_t i = 0; i < nodes.len; i++)
        BT_TRY(write_node(x, nodes.at[i]));
    *out = reg_of(x, array->body);
    return array->body->dtype != array->dtype ||
                   (bt_dtype_is_float(array->dtype) && array->dtype != BT_FLOAT64)
               ? write_cast(x, array->dtype, *out, out)
               : NULL;
}

static bt_status write_graph(struct expansion *x, uint32_t *n, uint32_t **out)
{
    const bt_graph *g = x->graph;
    uint32_t *results = BT_NEWS(x->e->scratch, uint32_t, g->nresult);
    if (!results)
        return bt_no_memory();
    for (uint32_t i = g->ninput; i < g->narray; i++)
        BT_TRY(write_stage(x, g->arrays[i], &x->arrays[i]));
    for (uint32_t i = 0; i < g->nresult; i++)
        results[i] = x->arrays[g->results[i]];
    *n = g->nresult;
    *out = results;
    return NULL;
}

/* ---- calls ---- */

static int is_scalar_call(const bt_call *call)
{
    const bt_list_type *tuple = bt_as_tuple_type(call->base.type);
    int is = call->narg && !call->ncheck;
    for (uint32_t i = 0; is && i < call->narg; i++)
        is = bt_type_is_scalar(call->args[i]->type);
    for (uint32_t i = 0; is && tuple && i < tuple->n; i++)
        is = bt_type_is_scalar(tuple->at[i]);
    return is && (tuple || bt_type_is_scalar(call->base.type));
}

bt_status vm_scalar_call(struct vm_encoder *e, const bt_call *call, const bt_func *callee,
                         uint32_t *n, uint32_t **out)
{
    bt_block block = { 0 };
    bt_func wrapped;
    bt_graph *graph;
    uint32_t first = callee ? 1 : 0, input = 0;
    int is_scalar;
    *n = 0;
    if (!is_scalar_call(call))
        return NULL;
    if (!callee)
        BT_TRY(vm_call_wrap(e->scratch, call, &wrapped, &block));
    bt_status status =
        bt_graph_compose(e->ctx, e->scratch, callee ? callee : &wrapped, &graph);
    if (status) // an operator in plain C, for one
        return status->code == BT_ERR_UNSUPPORTED ? NULL : status;
    BT_TRY(bt_graph_is_scalar(e->scratch, graph, &is_scalar));
    if (!is_scalar)
        return NULL;
    struct expansion x = { .e = e, .graph = graph };
    x.arrays = BT_NEWS(e->scratch, uint32_t, graph->narray);
    uint32_t *regs = BT_NEWS(e->scratch, uint32_t, vm_noperand(&call->base));
    if (!x.arrays || !regs)
        return bt_no_memory();
    const uint32_t start = e->words.len;
    for (uint32_t i = first; i < vm_noperand(&call->base); i++) {
        const bt_value *arg = vm_operand(&call->base, i);
        if (callee || arg->kind != BT_VALUE_CONST) {
            BT_TRY(vm_read(e, arg, 0, &regs[input]));
            if (regs[input] & VM_LAST && !BT_PUSH(e->scratch, &x.made, regs[input]))
                return bt_no_memory();
            x.arrays[input] = regs[input] & VM_REGISTER;
            input++;
        }
    }
    if (input == graph->ninput)
        BT_TRY(write_graph(&x, n, out));
    if (!*n)
        e->words.len = start;
    for (uint32_t i = 0; i < x.made.len; i++) {
        int is_result = 0;
        for (uint32_t k = 0; k < *n; k++)
            is_result |= (*out)[k] == (x.made.at[i] & VM_REGISTER);
        if (!is_result)
            vm_register_free(e, x.made.at[i]);
    }
    return NULL;
}
