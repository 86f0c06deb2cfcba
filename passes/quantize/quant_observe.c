/*
 * quant-observe: a function that gives what is seen of each site of another one.
 *     @observe takes what @main takes and gives, of each site that is no constant, of the
 *     numbers before they become codes, in order:
 *     phase range     its least and greatest number, how many are NaN or infinite, and how many
 *                     there are
 *     phase moments   of each weight the mean, and the mean of the squares, of what it is
 *                     multiplied with, along the axis of both that sums run along; a number where
 *                     there is no such axis
 *     phase bins      how many lie in each part of the range that the statistics tell
 *     phase error     the squares of the numbers, and of what codes make of them, summed: of
 *                     constants too; its scales are chosen
 * Nothing but these small tensors leaves the program, so samples are never kept.
 * keeps    no invariant
 * options  phase; name: of the function; statistics: the file of ranges; nbin
 */
#include <stdio.h>
#include <string.h>

#include "common/copy.h"
#include "common/version.h"
#include "quantize/quant_moments.h"
#include "quantize/quant_statistics.h"

struct options {
    const char *phase, *name, *statistics;
    int64_t nbin;
};
static const bt_attr options[] = {
    BT_ATTR_CHOICE(struct options, phase, "range", "range|moments|bins|error",
                   "what is seen"),
    BT_ATTR(struct options, name, STRING, "observe", "of the function"),
    BT_ATTR(struct options, statistics, STRING, "", "file of ranges, for phase bins"),
    BT_ATTR_RANGE(struct options, nbin, INT, "2048", 1, 1 << 20, "parts of each range"),
    { 0 },
};

struct observe {
    const bt_pass_call *pass;
    const struct options *options;
    const bt_global *entry;
    struct copy copy;
    struct statistics statistics;
    bt_map moments; /* phase moments: site of a weight -> struct moments * */
    bt_vec(const bt_value *) out;
};

static bt_status add(struct observe *o, const bt_value *value)
{
    return BT_PUSH(o->copy.arena, &o->out, value) ? NULL : bt_no_memory();
}

static bt_status add_range(struct observe *o, const bt_value *data)
{
    const bt_value *range, *field, *nelem;
    BT_TRY(bt_build(o->copy.b, "quant.range", NULL, &data, 1, &range));
    BT_TRY(bt_build(o->copy.b, "ndarray_size", "dtype=\"int64\"", &data, 1, &nelem));
    for (uint32_t i = 0; i < 3; i++) {
        BT_TRY(bt_build_proj(o->copy.b, range, i, &field));
        BT_TRY(add(o, field));
    }
    return add(o, nelem);
}

static bt_status add_bins(struct observe *o, const struct site *site,
                          const bt_value *data)
{
    char attrs[32];
    bt_statistic seen;
    const bt_value *args[3], *bins;
    BT_TRY(
        statistics_find(o->copy.ctx, o->copy.arena, &o->statistics, site->name, &seen));
    BT_TRY(bt_build(o->copy.b, "reshape", "newshape=[-1]", &data, 1, &args[0]));
    BT_TRY(bt_build_scalar(o->copy.b, BT_FLOAT32, seen.low, &args[1]));
    BT_TRY(bt_build_scalar(o->copy.b, BT_FLOAT32, seen.high, &args[2]));
    snprintf(attrs, sizeof(attrs), "nbin=%lld", (long long)o->options->nbin);
    BT_TRY(bt_build(o->copy.b, "quant.bins", attrs, args, 3, &bins));
    return add(o, bins);
}

static bt_status add_squares(struct observe *o, const bt_value *x)
{
    const bt_value *sum;
    BT_TRY(bt_build(o->copy.b, "multiply", NULL, (const bt_value *[]){ x, x }, 2, &sum));
    BT_TRY(bt_build(o->copy.b, "sum", NULL, &sum, 1, &sum));
    return add(o, sum);
}

static bt_status add_error(struct observe *o, const bt_value *site, const bt_value *data)
{
    const bt_value *error;
    BT_TRY(bt_build(o->copy.b, "subtract", NULL, (const bt_value *[]){ data, site }, 2,
                    &error));
    BT_TRY(add_squares(o, data));
    return add_squares(o, error);
}

/* Behind all that is copied: of each weight in order. */
static bt_status add_moments(struct observe *o, const bt_block *block)
{
    struct copy *c = &o->copy;
    struct site site;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const struct moments *f = bt_map_find(&o->moments, block->bindings[i]);
        const bt_value *data, *moments;
        char attrs[32];
        if (!site_read(o->pass->module, block->bindings[i], &site) || !site.constant)
            continue;
        if (!f || !f->data) {
            BT_TRY(bt_build_scalar(c->b, BT_FLOAT64, 0, &moments));
            BT_TRY(add(o, moments));
            continue;
        }
        BT_TRY(copy_operand(c, f->data, NULL, &data));
        snprintf(attrs, sizeof(attrs), "axis=%u", f->data_axis);
        BT_TRY(bt_build(c->b, "quant.moments", attrs, &data, 1, &moments));
        for (uint32_t k = 0; k < 2; k++) {
            const bt_value *field;
            BT_TRY(bt_build_proj(c->b, moments, k, &field));
            BT_TRY(add(o, field));
        }
    }
    return NULL;
}

static bt_status observe_site(struct copy *c, const bt_value *old, int *done)
{
    struct observe *o = c->state;
    const char *phase = o->options->phase;
    const bt_value *data;
    struct site site;
    if (!site_read(o->pass->module, old, &site))
        return NULL;
    BT_TRY(copy_operand(c, site.call->args[0], NULL, &data));
    if (strcmp(phase, "error") == 0) {
        const bt_value *now;
        if (!site_is_known(&site))
            return bt_fail_at(
                c->ctx, BT_ERR_ARGUMENT, c->store, old->span,
                "quant-observe: site %s has no scale yet: run quant-calibrate "
                "before phase error",
                site.name);
        const bt_value *args[3] = { data, site.call->args[1], site.call->args[2] };
        BT_TRY(bt_build_op(c->b, site.call->op, site.call->attrs, 3, args, &now));
        BT_TRY(add_error(o, now, data));
    } else if (!site.constant && strcmp(phase, "moments") != 0) {
        BT_TRY(strcmp(phase, "bins") == 0 ? add_bins(o, &site, data)
                                          : add_range(o, data));
    }
    *done = 1;
    return copy_put(c, old, data);
}

static bt_status make_func(struct observe *o, const bt_func **out)
{
    struct copy *c = &o->copy;
    const bt_func *func = o->entry->func;
    bt_func now = *func;
    const bt_param **params;
    const bt_value *result;
    BT_TRY(copy_params(c, func->block->nparam, func->block->params, &params));
    BT_TRY(bt_block_begin(c->b, func->block->nparam, params));
    BT_TRY(copy_bindings(c, func->block, NULL, &result));
    if (strcmp(o->options->phase, "moments") == 0)
        BT_TRY(add_moments(o, func->block));
    BT_TRY(bt_build_tuple(c->b, o->out.len, o->out.at, &result));
    BT_TRY(bt_block_end(c->b, result, &now.block));
    now.name = bt_name_of(c->store, o->options->name);
    now.attrs = (bt_dict){ 0 };
    now.result = result->type;
    return bt_func_create(c->ctx, c->store, &now, out);
}

static bt_status fill(void *state, bt_module_builder *builder)
{
    struct observe *o = state;
    const bt_func *func;
    BT_TRY(make_func(o, &func));
    const bt_global global = { .name = bt_name_of(o->copy.store, o->options->name),
                               .kind = BT_GLOBAL_FUNC,
                               .func = func };
    return global.name ? bt_module_builder_set(builder, &global, 1) : bt_no_memory();
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct observe o = { .pass = call, .options = call->options };
    BT_TRY(bt_module_entry(ctx, call->module, call->entry, &o.entry));
    if (strcmp(o.options->phase, "bins") == 0)
        BT_TRY(statistics_read(ctx, o.options->statistics,
                               statistics_digest(o.entry->func), &o.statistics));
    bt_map_init(&o.moments, call->scratch, 0);
    if (strcmp(o.options->phase, "moments") == 0)
        BT_TRY(moments_find(ctx, call->scratch, call->module, o.entry->func->block,
                            &o.moments));
    bt_status status = copy_init(&o.copy, ctx, call->scratch, call->module);
    if (!status) {
        o.copy.state = &o;
        o.copy.binding = observe_site;
        status = version_next(ctx, call->module, fill, &o, out);
        copy_deinit(&o.copy);
    }
    statistics_close(ctx, &o.statistics);
    return status;
}

static const bt_pass passes[] = {
    {
        .name = "quant-observe",
        .doc = "A function that gives what is seen of each site of the program.\n"
               "before\n"
               "    def @main(%x: Tensor[(2), float32]) { quant.simulate(%x, 1f, 0, "
               "site=\"x\") }\n"
               "after\n"
               "    def @main(%x: Tensor[(2), float32]) { quant.simulate(%x, 1f, 0, "
               "site=\"x\") }\n"
               "    def @observe(%x: Tensor[(2), float32]) {\n"
               "        %0 = quant.range(%x);\n"
               "        %1 = ndarray_size(%x, dtype=\"int64\");\n"
               "        (%0.0, %0.1, %0.2, %1)\n"
               "    }",
        .level = 0,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};
const bt_table bt_passes_quantize_quant_observe[] = { BT_PASSES(passes), { 0 } };
