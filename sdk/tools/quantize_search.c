/* baton quantize --loss: programs with some layers in float, tried on the samples. */
#include <math.h>

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

/* A call that takes a weight's site: a layer of that name. */
static bt_status add_layer(struct quantize *q, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    struct float_layer layer = { .place = q->search.nlayer };
    int64_t nadd;
    int is_layer = 0;
    for (uint32_t i = 0; call && call->callee_kind == BT_CALLEE_OP && i < call->narg;
         i++) {
        const struct row *row = row_of(q, call->args[i]);
        if (!row)
            continue;
        is_layer |= row->constant != NULL;
        if (row->constant)
            layer.name = row->name;
        layer.noise += row->signal > 0 ? row->noise / row->signal : 0;
    }
    if (!is_layer)
        return NULL;
    BT_TRY(bt_call_cost(q->tool->ctx, call, &nadd));
    layer.nadd = nadd > 0 ? (double)nadd : 0;
    for (uint32_t i = 0; i < q->search.nlayer; i++) {
        struct float_layer *same = &q->search.layers[i];
        if (same->name != layer.name)
            continue;
        same->noise += layer.noise; // calls with one weight go together
        same->nadd += layer.nadd;
        return NULL;
    }
    q->search.layers[q->search.nlayer++] = layer;
    return NULL;
}

static int list_layers(struct quantize *q)
{
    const bt_global *entry;
    TRY_TOOL(q->tool, bt_module_entry(q->tool->ctx, q->annotated,
                                      option_value(q->tool, "entry"), &entry));
    const bt_block *block = entry->func->block;
    q->search.layers =
        BT_NEWS(bt_ctx_scratch(q->tool->ctx), struct float_layer, block->nbinding);
    if (!q->search.layers)
        return tool_fail(q->tool, bt_no_memory());
    for (uint32_t i = 0; i < block->nbinding; i++)
        TRY_TOOL(q->tool, add_layer(q, block->bindings[i]));
    return EXIT_OK;
}

/* The program with the layers in float that are so in the list, as it stands. */
static int realize_layers(struct quantize *q)
{
    bt_text text;
    const char *before = "";
    bt_text_init(&text, bt_ctx_scratch(q->tool->ctx));
    bt_text_addf(&text, "quant-skip{weights=[");
    for (uint32_t i = 0; i < q->search.nlayer; i++) {
        if (q->search.layers[i].is_float)
            bt_text_addf(&text, "%s\"%s\"", before, q->search.layers[i].name);
        before = q->search.layers[i].is_float ? ", " : before;
    }
    bt_text_addf(&text, "]}, ");
    const char *skip = bt_text_get(&text);
    return skip ? realize(q, skip) : tool_fail(q->tool, bt_no_memory());
}

static int measure(void *self, double *loss)
{
    struct quantize *q = self;
    uint32_t nfloat = 0;
    for (uint32_t i = 0; i < q->search.nlayer; i++)
        nfloat += q->search.layers[i].is_float != 0;
    q->what = tool_text(q->tool, "trial %lld of %lld, %u of %u layers in float",
                        (long long)q->search.ndone, (long long)q->search.ntrial, nfloat,
                        q->search.nlayer);
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
            bt_fail(q->tool->ctx, BT_ERR_ARGUMENT,
                    "%g %% are lost with all layers in float, more than --loss %g: sums "
                    "have codes, too (another --calibrate, or more bits, loses less)",
                    s->found, q->loss));
    // the last program that was tried need not be the one that was found
    for (uint32_t i = 0; i < s->nlayer; i++) {
        for (uint32_t k = 0; k < q->nrow; k++)
            q->rows[k].is_float |=
                s->layers[i].is_float && q->rows[k].name == s->layers[i].name;
    }
    q->what = NULL;
    return realize_layers(q);
}
