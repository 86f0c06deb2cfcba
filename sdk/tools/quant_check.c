/* Schemes and calibrations on small programs: their forms are possible and there are some,
 * what is computed on codes is a valid program, scales are scales, and all of it is the same
 * each time and leaves no memory behind. */
#include "quant_check.h"

#include <string.h>

#include <baton/ir.h>
#include <baton/pass.h>
#include <baton/quantize.h>

#include "quant_sites.h"
#include "watchdog.h"

/* Layers of each kind, one after the other, a residual, and a table of
 * products. */
static const char layers[] =
    "#[version = \"baton 0.1\"]\n"
    "def @main(%x: Tensor[(1, 2, 6, 6), float32]) {\n"
    "    %a = nn.relu(nn.conv2d(%x, const[(4, 2, 3, 3), float32]{0.5 ..}, "
    "padding=[1]));\n"
    "    %b = nn.conv2d(%a, const[(4, 1, 3, 3), float32]{0.25 ..}, "
    "padding=[1], groups=4);\n"
    "    %c = nn.max_pool2d(nn.relu(add(%a, nn.relu(%b))), pool_size=[2, 2], "
    "strides=[2, 2]);\n"
    "    %d = nn.dense(nn.batch_flatten(%c), const[(3, 36), float32]{-0.125 "
    "..});\n"
    "    nn.softmax(nn.bias_add(%d, const[(3), float32]{1, 2, 3}))\n"
    "}\n";

/* A kind of row, and what is tried of each: the first passes, then the others. */
struct kind {
    const char *name, *program, *first, *then;
};
static const struct kind kinds[] = {
    { "scheme", layers, "quant-annotate{scheme=\"@\"}",
      "quant-calibrate{by=\"global\"}, quant-realize, qdq-to-integer, dead-code, "
      "quant-accumulate{scheme=\"@\"}" },
    { "calibrate", NULL, "quant-calibrate{by=\"@\"}", "quant-realize" },
};

struct quant_check {
    struct tool *tool;
    struct guard *guard;
    const struct kind *kind;
    const char *name;
};

/* Text with the row's name in place of each @. */
static const char *with_name(const struct quant_check *c, const char *format)
{
    bt_text out;
    bt_text_init(&out, bt_ctx_scratch(c->tool->ctx));
    for (const char *at = format; *at; at++)
        bt_text_addf(&out, *at == '@' ? "%s" : "%.1s", *at == '@' ? c->name : at);
    return bt_text_get(&out);
}

static bt_status try_passes(const struct quant_check *c, const bt_module *from,
                            const char *format, bt_module **out)
{
    const bt_pipeline_options options = { .level = -1, .verify_each = 1 };
    const char *passes = with_name(c, format);
    bt_pipeline *pipeline;
    if (!passes)
        return bt_no_memory();
    BT_TRY(bt_pipeline_read(c->tool->ctx, passes, &pipeline));
    watchdog_begin("%s %s", c->kind->name, c->name);
    bt_status status = bt_pipeline_run(c->tool->ctx, pipeline, &options, from, out);
    watchdog_end();
    bt_pipeline_destroy(pipeline);
    return status;
}

static bt_status read_program(bt_ctx *ctx, const char *text, bt_module **out)
{
    bt_module *module;
    BT_TRY(bt_parse(ctx, "plugin check", NULL, text, strlen(text), &module));
    bt_status status = bt_infer(ctx, module, out);
    bt_module_unref(module);
    return status;
}

static bt_status check_sites(const struct quant_check *c, const bt_module *module)
{
    const bt_global *entry;
    BT_TRY(bt_module_entry(c->tool->ctx, module, NULL, &entry));
    for (uint32_t i = 0; i < entry->func->block->nbinding; i++) {
        if (bt_as_op_call(entry->func->block->bindings[i], "quant.simulate"))
            return NULL;
    }
    return bt_fail(c->tool->ctx, BT_ERR_PLUGIN,
                   "scheme %s gives no operand codes: not one of convolutions, a dense "
                   "layer and a residual",
                   c->name);
}

/* The form of one site: a pass asks for two of each layer, so that who counts how often it is asked
 * would be at the same number each time. */
static bt_status ask_once(const struct quant_check *c, const bt_module *module)
{
    const bt_global *entry;
    const bt_quant_scheme *scheme;
    const void *options;
    bt_number_form form = { .axis = -1 };
    BT_TRY(bt_module_entry(c->tool->ctx, module, NULL, &entry));
    BT_TRY(bt_registry_row(c->tool->ctx, "quant.scheme/1", c->name, sizeof(*scheme),
                           (const void **)&scheme));
    BT_TRY(bt_options_parse(c->tool->ctx, module->store, c->name, scheme->options,
                            scheme->options_nbytes, "", &options));
    const bt_call *call = bt_as_call(entry->func->block->bindings[0]);
    const bt_quant_site site = {
        .call = call, .name = "asked", .rank = 4, .channel = -1
    };
    watchdog_begin("scheme %s", c->name);
    bt_status status = scheme->form(c->tool->ctx, options, &site, &form);
    watchdog_end();
    return status;
}

/* The same passes on the same program. */
static bt_status try_again(const struct quant_check *c, const bt_module *from,
                           const bt_module *first)
{
    bt_module *second;
    if (c->kind == kinds)
        BT_TRY(ask_once(c, from));
    BT_TRY(try_passes(c, from, c->kind->first, &second));
    const int same = bt_module_equal(first, second);
    bt_module_unref(second);
    return same ? NULL
                : bt_fail(c->tool->ctx, BT_ERR_PLUGIN,
                          "%s %s gives another result for the same program when it is "
                          "asked again",
                          c->kind->name, c->name);
}

/* The sites of these numbers, in a program of their own. */
static bt_status try_part(const struct quant_check *c, uint32_t n, const uint32_t *order,
                          const bt_module *all, const char *how)
{
    bt_module *from = NULL, *part = NULL;
    const char *text = quant_sites_text(bt_ctx_scratch(c->tool->ctx), n, order);
    bt_status status = text ? read_program(c->tool->ctx, text, &from) : bt_no_memory();
    if (!status)
        status = try_passes(c, from, c->kind->first, &part);
    if (!status)
        status = quant_sites_compare(c->tool->ctx, c->name, all, part, how);
    bt_module_unref(from);
    bt_module_unref(part);
    return status;
}

/* Scales of a site do not depend on which others there are. */
static bt_status try_parts(const struct quant_check *c, const bt_module *all)
{
    uint32_t order[QUANT_NSITE];
    for (uint32_t i = 0; i < QUANT_NSITE; i++)
        order[i] = QUANT_NSITE - 1 - i;
    BT_TRY(try_part(c, QUANT_NSITE, order, all, "where others come before it"));
    for (uint32_t i = 0; i < QUANT_NSITE; i++)
        BT_TRY(try_part(c, 1, &i, all, "where it stands alone"));
    return NULL;
}

/* What is in the program of sites, with what is chosen. */
static bt_status check_first(const struct quant_check *c, const bt_module *first)
{
    if (c->kind == kinds) {
        BT_TRY(check_sites(c, first));
        BT_TRY(quant_sites_check_axes(c->tool->ctx, c->name, first));
        return quant_sites_check_signs(c->tool->ctx, c->name, first);
    }
    BT_TRY(try_parts(c, first));
    return quant_sites_check(c->tool->ctx, c->name, first);
}

static const char *program_of(const struct quant_check *c)
{
    static const uint32_t order[QUANT_NSITE] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    return c->kind->program
               ? c->kind->program
               : quant_sites_text(bt_ctx_scratch(c->tool->ctx), QUANT_NSITE, order);
}

/* The program and all that is made of it share a store, and go together. */
static bt_status try_row(const struct quant_check *c)
{
    bt_module *from = NULL, *first = NULL, *last = NULL;
    const char *text = program_of(c);
    bt_status status = text ? read_program(c->tool->ctx, text, &from) : bt_no_memory();
    if (!status)
        status = try_passes(c, from, c->kind->first, &first);
    if (!status)
        status = try_again(c, from, first);
    if (!status)
        status = check_first(c, first);
    if (!status)
        status = try_passes(c, first, c->kind->then, &last);
    if (!status && c->kind == kinds)
        status = quant_sites_check_products(c->tool->ctx, c->name, last);
    bt_module_unref(from);
    bt_module_unref(first);
    bt_module_unref(last);
    return status;
}

/* What each of some runs leaves allocated, once what is kept on purpose is there. */
static bt_status look_for_leaks(const struct quant_check *c)
{
    enum { WARM = 2, RUNS = 5 };
    bt_ctx *ctx = c->tool->ctx;
    uint32_t before = 0, least = UINT32_MAX;
    for (int i = 0; i < RUNS; i++) {
        const void *mark = bt_arena_mark(bt_ctx_scratch(ctx));
        guard_set(c->guard, 1);
        bt_status status = try_row(c);
        if (!status)
            bt_ctx_clear_diags(ctx);
        bt_arena_release(bt_ctx_scratch(ctx), mark);
        guard_set(c->guard, 0);
        BT_TRY(status);
        const uint32_t now = guard_nblock(c->guard),
                       grown = now > before ? now - before : 0;
        least = i >= WARM && grown < least ? grown : least;
        before = now;
    }
    return !least ? NULL
                  : bt_fail(ctx, BT_ERR_PLUGIN,
                            "%s %s keeps %u block%s of memory of each program: bt_alloc "
                            "without bt_free",
                            c->kind->name, c->name, least, PLURAL(least));
}

static bt_status check_needs(const struct quant_check *c)
{
    enum { ALL = BT_STAT_RANGE | BT_STAT_BINS | BT_STAT_MOMENTS };
    const bt_quant_calibrate *by;
    BT_TRY(bt_registry_row(c->tool->ctx, "quant.calibrate/1", c->name, sizeof(*by),
                           (const void **)&by));
    return by->needs & ~(uint32_t)ALL
               ? bt_fail(
                     c->tool->ctx, BT_ERR_PLUGIN,
                     "calibration %s needs 0x%x, of which 0x%x is none of BT_STAT_...",
                     c->name, by->needs, by->needs & ~(uint32_t)ALL)
               : NULL;
}

static bt_status check_row(const struct quant_check *c)
{
    if (c->kind != kinds)
        BT_TRY(check_needs(c));
    BT_TRY(try_row(c));
    return look_for_leaks(c);
}

static int check_kind(struct quant_check *c, const char *plugin, uint32_t *nbroken)
{
    bt_ctx *ctx = c->tool->ctx;
    for (uint32_t i = 0; i < bt_provided_len(ctx, c->kind->name); i++) {
        bt_provided item;
        TRY_TOOL(c->tool, bt_provided_at(ctx, c->kind->name, i, &item));
        if (strcmp(bt_plugin_id(item.plugin), plugin) != 0)
            continue;
        c->name = item.name;
        bt_status status = check_row(c);
        printf("  %s  %s %s\n", status ? "FAILED" : "ok    ", c->kind->name, c->name);
        if (status) {
            fflush(stdout);
            (void)tool_fail(c->tool, status);
            ++*nbroken;
        }
        bt_ctx_clear_diags(ctx);
    }
    return EXIT_OK;
}

int check_quant(struct tool *tool, const char *plugin, struct guard *guard,
                uint32_t *nbroken)
{
    int code = EXIT_OK;
    for (uint32_t i = 0; !code && i < BT_COUNT(kinds); i++) {
        struct quant_check c = { .tool = tool, .guard = guard, .kind = &kinds[i] };
        code = check_kind(&c, plugin, nbroken);
    }
    return code;
}
