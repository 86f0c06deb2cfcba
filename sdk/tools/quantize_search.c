/* baton quantize --loss: programs with some layers in float, tried on the samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <baton/compute.h>

#include "quantize.h"

static const struct row *row_of(const struct quantize *q, const bt_value *site)
{
    for (uint32_t i = 0; i < q->nrow; i++) {
        if (&q->rows[i].call->base == site)
            return &q->rows[i];
    }
    return NULL;
}

/* Of a layer, the constant that it takes by a site; NULL: the call is none. */
static const bt_tensor *weight_of(const bt_module *module, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    const bt_tensor *found = NULL;
    for (uint32_t i = 0; call && call->callee_kind == BT_CALLEE_OP && i < call->narg;
         i++) {
        const bt_call *site = bt_as_op_call(call->args[i], "quant.simulate");
        const bt_tensor *constant =
            site ? bt_const_tensor(bt_module_constant(module, site->args[0])) : NULL;
        found = constant ? constant : found;
    }
    return found;
}

/* Calls with one weight go together. */
static struct float_layer *layer_of(struct float_search *s, const bt_tensor *weight)
{
    uint32_t i = 0;
    while (i < s->nlayer && s->layers[i].id != weight)
        i++;
    if (i == s->nlayer)
        s->layers[s->nlayer++] = (struct float_layer){ .id = weight, .place = i };
    return &s->layers[i];
}

/* Of all layers that could have codes, those that the scheme gave none, too. */
static bt_status add_all(struct quantize *q, const bt_block *block, const bt_module *all)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        const bt_tensor *weight = weight_of(all, block->bindings[i]);
        int64_t nadd;
        if (!weight)
            continue;
        struct float_layer *layer = layer_of(&q->search, weight);
        BT_TRY(bt_call_cost(q->tool->ctx, call, &nadd));
        layer->nadd += nadd > 0 ? (double)nadd : 0;
        layer->is_float = 1;
        layer->name = tool_text(q->tool, "%s",
                                call->base.name && *call->base.name ? call->base.name
                                                                    : call->op->name);
        if (!layer->name)
            return bt_no_memory();
    }
    return NULL;
}

/* Those that have codes, and how much is lost by them. */
static void add_codes(struct quantize *q, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        const bt_tensor *weight = weight_of(q->annotated, block->bindings[i]);
        struct float_layer *layer = weight ? layer_of(&q->search, weight) : NULL;
        for (uint32_t k = 0; layer && k < call->narg; k++) {
            const struct row *row = row_of(q, call->args[k]);
            if (!row)
                continue;
            layer->noise += row->signal > 0 ? row->noise / row->signal : 0;
            if (row->constant) {
                layer->name = row->name;
                layer->is_float = row->is_stuck;
            }
        }
    }
}

static int fixed_last(const void *a, const void *b)
{
    const struct float_layer *x = a, *y = b;
    return x->is_float != y->is_float ? x->is_float - y->is_float
           : x->place < y->place      ? -1
                                      : x->place > y->place;
}

/* What layers there are, with what they add up. */
static int list_layers(struct quantize *q)
{
    struct float_search *s = &q->search;
    const char *name = option_value(q->tool, "entry");
    const bt_global *entry, *whole;
    bt_module *all;
    TRY_TOOL(q->tool, run_passes(q, q->model, "quant-annotate{scheme=\"int8\"}", &all));
    bt_status status = bt_module_entry(q->tool->ctx, q->annotated, name, &entry);
    if (!status)
        status = bt_module_entry(q->tool->ctx, all, name, &whole);
    if (!status) {
        s->layers = BT_NEWS(bt_ctx_scratch(q->tool->ctx), struct float_layer,
                            entry->func->block->nbinding + whole->func->block->nbinding);
        status = s->layers ? add_all(q, whole->func->block, all) : bt_no_memory();
    }
    if (!status) {
        add_codes(q, entry->func->block);
        qsort(s->layers, s->nlayer, sizeof(*s->layers), fixed_last);
        while (s->nlayer && s->layers[s->nlayer - 1].is_float) {
            s->nlayer--;
            s->nfixed++;
        }
    }
    bt_module_unref(all);
    return status ? tool_fail(q->tool, status) : EXIT_OK;
}

/* The program with the layers in float that are so in the list, as it stands. */
static int realize_layers(struct quantize *q)
{
    for (uint32_t i = 0; i < q->search.nlayer; i++) {
        for (uint32_t k = 0; k < q->nrow; k++) {
            if (strcmp(q->rows[k].name, q->search.layers[i].name) == 0)
                q->rows[k].is_skipped = q->search.layers[i].is_float;
        }
    }
    return realize(q);
}

static int measure(void *self, double *loss)
{
    struct quantize *q = self;
    uint32_t nfloat = q->search.nfixed;
    for (uint32_t i = 0; i < q->search.nlayer; i++)
        nfloat += q->search.layers[i].is_float != 0;
    q->what = tool_text(q->tool, "trial %lld of %lld, %u of %u layers in float",
                        (long long)q->search.ndone, (long long)q->search.ntrial, nfloat,
                        q->search.nlayer + q->search.nfixed);
    int code = q->what ? realize_layers(q) : tool_fail(q->tool, bt_no_memory());
    if (!code)
        code = compare_results(q);
    *loss = lost_percent(q);
    return code;
}

int search_layers(struct quantize *q)
{
    struct float_search *s = &q->search;
    int code = list_layers(q);
    s->loss = q->loss;
    s->measure = measure;
    s->self = q;
    if (!code)
        code = search_floats(s);
    if (code)
        return code;
    if (!s->is_met)
        return tool_fail(
            q->tool,
            bt_fail(
                q->tool->ctx, BT_ERR_ARGUMENT,
                "%g %% are lost with all layers in float, more than --loss %g: products "
                "of two tensors have codes, too (another --calibrate, or more bits, "
                "loses less)",
                s->found, q->loss));
    q->what = NULL; // the last program that was tried need not be the one that was found
    return realize_layers(q);
}
