#include "plain.h"

#include <string.h>

_Static_assert((int)BT_PLAIN_RANK == BT_MAX_RANK, "plain C takes every tensor");

enum { MAX_IN = 5, MAX_OUT = 5 };

bt_plain_tensor plain_tensor_of(const bt_tensor *t, int64_t *dims)
{
    if (t->rank)
        memcpy(dims, t->dims, t->rank * sizeof(*dims));
    return (bt_plain_tensor){ t->data, dims, t->rank, (uint32_t)bt_dtype_nbytes(t->dtype),
                              (uint32_t)bt_plain_kind(t->dtype) };
}

/* A result, of which only the type is known. */
static bt_plain_tensor result_of(const bt_type *type, int64_t *dims)
{
    const bt_dtype dtype = bt_tensor_dtype(type);
    return (bt_plain_tensor){ NULL, dims, bt_tensor_shape(type)->n,
                              (uint32_t)bt_dtype_nbytes(dtype),
                              (uint32_t)bt_plain_kind(dtype) };
}

/* "k is 9", "data is float32[2, 5]": scalars and short lists of integers as they are. */
static void add_input(bt_text *out, const bt_op_input *input, const bt_tensor *t)
{
    enum { FEW = 8 };
    char name[BT_DTYPE_NAME_SIZE];
    const int is_short =
        t->rank == 0 || (t->rank == 1 && t->nelem <= FEW && !bt_dtype_is_float(t->dtype));
    bt_text_addf(out, "%s is %s", input->name,
                 is_short ? "" : bt_dtype_name(t->dtype, name, sizeof(name)));
    const int64_t n = is_short ? t->nelem : t->rank;
    bt_text_addf(out, "%s", t->rank ? "[" : "");
    for (int64_t i = 0; i < n; i++) {
        bt_text_addf(out, "%s", i ? ", " : "");
        if (!is_short)
            bt_text_addf(out, "%lld", (long long)t->dims[i]);
        else if (bt_dtype_is_float(t->dtype))
            bt_text_addf(out, "%g", bt_tensor_get(t, i));
        else if (t->dtype == BT_UINT64)
            bt_text_addf(out, "%llu", (unsigned long long)bt_tensor_get_int(t, i));
        else
            bt_text_addf(out, "%lld", (long long)bt_tensor_get_int(t, i));
    }
    bt_text_addf(out, "%s", t->rank ? "]" : "");
}

static bt_status fail(bt_ctx *ctx, const bt_eval_call *call, const char *fault)
{
    bt_text inputs;
    bt_text_init(&inputs, bt_ctx_scratch(ctx));
    for (uint32_t i = 0; i < call->nin; i++) {
        bt_text_addf(&inputs, "%s", i ? ", " : "");
        add_input(&inputs, &call->op->inputs[i], call->in[i]);
    }
    return bt_text_get(&inputs) ? bt_eval_fail(ctx, call, "%s; %s", fault, inputs.at)
                                : bt_no_memory();
}

static const bt_plain_facet *facet_of(const bt_op *op)
{
    const bt_facet *row = op->facets;
    while (strcmp(row->facet, "plain") != 0)
        row++;
    return row->table;
}

/* Asks for the dims, makes the results, asks for their elements. */
static bt_status run(bt_ctx *ctx, const bt_eval_call *call, const bt_plain_facet *facet,
                     bt_plain_call *c)
{
    int32_t fault = facet->run(c);
    for (uint32_t i = 0; i < call->nout && !fault; i++) {
        const bt_list_type *tuple = bt_as_tuple_type(call->result);
        const bt_type *type = tuple ? tuple->at[i] : call->result;
        BT_TRY(bt_tensor_create(ctx, bt_tensor_dtype(type), c->out[i].rank,
                                c->out[i].dims, &call->out[i]));
        c->out[i].data = call->out[i]->data;
    }
    c->is_sizing = 0;
    c->is_sized = 1;
    fault = fault ? fault : facet->run(c);
    return fault ? fail(ctx, call, facet->faults[fault - 1]) : NULL;
}

bt_status plain_eval(bt_ctx *ctx, const bt_eval_call *call)
{
    const bt_plain_facet *facet = facet_of(call->op);
    const bt_formula_call formula = { call->op, call->attrs, call->narg, call->args,
                                      call->result };
    const bt_list_type *tuple = bt_as_tuple_type(call->result);
    int64_t attrs[BT_PLAIN_ATTRS] = { 0 }, dims[MAX_IN + MAX_OUT][BT_MAX_RANK];
    bt_plain_tensor in[MAX_IN], out[MAX_OUT];
    bt_plain_call c = { call->nin, call->nout, in, out, attrs, NULL, 1, 0 };
    bt_registry *registry = bt_ctx_registry(ctx);
    size_t nbytes = 0;
    if (facet->attrs)
        BT_TRY(facet->attrs(ctx, &formula, attrs));
    for (uint32_t i = 0; i < call->nin; i++)
        in[i] = plain_tensor_of(call->in[i], dims[i]);
    for (uint32_t i = 0; i < call->nout; i++)
        out[i] = result_of(tuple ? tuple->at[i] : call->result, dims[MAX_IN + i]);
    // most of it may never be touched, so an arena, which clears it, is no place for it
    if (facet->workspace && call->in[0]->nelem &&
        (!bt_mul_size((size_t)in[0].dims[attrs[0]], facet->workspace, &nbytes) ||
         !(c.workspace = bt_realloc(registry, NULL, 0, nbytes))))
        return bt_no_memory();
    bt_status status = run(ctx, call, facet, &c);
    bt_free(registry, c.workspace, nbytes);
    return status;
}
