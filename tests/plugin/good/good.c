/* One row of most kinds, and an interface of its own. */
#include <string.h>

#include <baton/executor.h>
#include <baton/op.h>
#include <baton/pass.h>

/* ---- an operator ---- */

struct twice_attrs {
    int64_t axis;
    bt_ints sizes;
    const char *mode;
};
static const bt_attr twice_attrs[] = {
    BT_ATTR(struct twice_attrs, axis, INT, "-1", "axis"),
    BT_ATTR_RANGE(struct twice_attrs, sizes, INTS, "[1, 1]", 1, 9, "sizes"),
    BT_ATTR_CHOICE(struct twice_attrs, mode, "fast", "fast|exact", "mode"),
    { 0 },
};
static const bt_op_input twice_inputs[] = {
    { .name = "x", .type = "t[..]", .doc = "what is doubled" },
    { .name = "bias", .type = "t[..]", .is_optional = 1 },
    { 0 },
};
static bt_status relate(bt_solver *solver, const bt_relation_call *call)
{
    (void)solver, (void)call;
    return NULL;
}
static bt_status eval(bt_ctx *ctx, const bt_eval_call *call)
{
    (void)call;
    return bt_fail(ctx, BT_ERR_UNSUPPORTED, "eval of test.twice");
}
static const bt_op ops[] = {
    {
        .name = "test.twice",
        .revision = 2,
        .doc = "Double a tensor.\nMore text.",
        .effects = BT_EFFECT_FAILS,
        .inputs = twice_inputs,
        .attrs = twice_attrs,
        .attrs_nbytes = sizeof(struct twice_attrs),
        .relate = relate,
        .eval = eval,
        .facets = BT_FACET_ROWS(BT_CASES("float32[2]")),
    },
    {
        .name = "test.zero",
        .revision = 1,
        .doc = "Nothing at all.",
        .relation = "TestSame",
        .eval = eval,
        .facets = BT_FACET_ROWS(BT_CASES("float32[3]")),
    },
    { 0 },
};

static const bt_relation relations[] = {
    { .name = "TestSame", .doc = "All types are equal.", .relate = relate },
    { 0 },
};

/* ---- a pass ---- */

struct idle_options {
    int64_t max_rounds;
    const char *tag;
};
static const bt_attr idle_options[] = {
    BT_ATTR_RANGE(struct idle_options, max_rounds, INT, "3", 1, 100, "rounds at most"),
    BT_ATTR(struct idle_options, tag, STRING, "none", "any text"),
    { 0 },
};
static bt_status idle(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    (void)ctx;
    *out = bt_module_ref(call->module);
    return NULL;
}
/* Removes the last function but main; changes nothing where there is none. */
static bt_status drop(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const bt_module *m = call->module;
    bt_module_builder *builder;
    uint32_t i = m->nglobal;
    while (i > 0 && strcmp(m->globals[i - 1]->name, "main") == 0)
        i--;
    if (i == 0) {
        *out = bt_module_ref(m);
        return NULL;
    }
    BT_TRY(bt_module_builder_create(ctx, m->store, m, &builder));
    bt_module_builder_remove(builder, m->globals[i - 1]->name);
    return bt_module_builder_finish(builder, 1, out);
}

/* States a result type that the body does not have. */
static bt_status spoil(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const bt_module *m = call->module;
    const bt_global *main;
    const bt_func *func;
    bt_module_builder *builder;
    BT_TRY(bt_module_entry(ctx, m, "main", &main));
    bt_func fields = *main->func;
    fields.result = bt_type_scalar(m->store, BT_INT8);
    BT_TRY(bt_func_create(ctx, m->store, &fields, &func));
    BT_TRY(bt_module_builder_create(ctx, m->store, m, &builder));
    bt_global global = *main;
    global.func = func;
    bt_status status = bt_module_builder_set(builder, &global, 0);
    if (status) {
        bt_module_builder_destroy(builder);
        return status;
    }
    return bt_module_builder_finish(builder, 1, out);
}

/* In place of @one, a function of a vector: whole in itself. */
static bt_status build_vector(bt_builder *builder, const bt_func **out)
{
    bt_store *store = bt_builder_store(builder);
    const int64_t n = 2;
    const bt_param *x;
    const bt_block *block;
    const bt_type *type = bt_type_tensor_of(store, BT_FLOAT32, 1, &n);
    if (!type)
        return bt_no_memory();
    BT_TRY(bt_build_param(builder, "x", type, &x));
    BT_TRY(bt_block_begin(builder, 1, &x));
    BT_TRY(bt_block_end(builder, &x->base, &block));
    bt_func fields = { .name = "one", .result = type, .block = block };
    return bt_func_create(bt_builder_ctx(builder), store, &fields, out);
}

static bt_status retype(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const bt_module *m = call->module;
    bt_module_builder *next;
    bt_builder *builder;
    bt_global global = { .name = "one", .kind = BT_GLOBAL_FUNC };
    BT_TRY(bt_builder_create(ctx, m->store, m, &builder));
    bt_status status = build_vector(builder, &global.func);
    bt_builder_destroy(builder);
    BT_TRY(status);
    if (!(global.type = bt_func_type_of(m->store, global.func)))
        return bt_no_memory();
    BT_TRY(bt_module_builder_create(ctx, m->store, m, &next));
    status = bt_module_builder_set(next, &global, 0);
    if (!status)
        return bt_module_builder_finish(next, 1, out);
    bt_module_builder_destroy(next);
    return status;
}

static bt_status fail(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    (void)call, (void)out;
    return bt_fail(ctx, BT_ERR_UNSUPPORTED, "nothing will do");
}

static bt_status forget(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    (void)ctx, (void)call, (void)out;
    return NULL;
}

/* How many globals the module had that the analysis saw. */
static bt_status count(bt_ctx *ctx, const bt_module *m, bt_arena *arena, const void **out)
{
    uint32_t *n = BT_NEW(arena, uint32_t);
    (void)ctx;
    if (!n)
        return bt_no_memory();
    *n = m->nglobal;
    *out = n;
    return NULL;
}
static const bt_analysis analyses[] = {
    { .name = "test-count", .doc = "Number of globals.", .compute = count },
    { 0 },
};

struct watch_options {
    int64_t expect;
};
static const bt_attr watch_options[] = {
    BT_ATTR(struct watch_options, expect, INT, NULL, "what test-count is to say"),
    { 0 },
};
static bt_status watch(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const struct watch_options *o = call->options;
    const void *n;
    BT_TRY(bt_pass_analysis(ctx, call, "test-count", &n));
    if (*(const uint32_t *)n != o->expect)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "expected %lld globals, found %u",
                       (long long)o->expect, *(const uint32_t *)n);
    *out = bt_module_ref(call->module);
    return NULL;
}

static const bt_pass passes[] = {
    { .name = "test-drop", .doc = "Drop a function.", .run = drop },
    { .name = "test-drop-quietly",
      .doc = "Drop a function, and say that the count stays.",
      .keeps = "test-count",
      .run = drop },
    { .name = "test-spoil", .doc = "Give a wrong module.", .run = spoil },
    { .name = "test-retype", .doc = "Change a function's type.", .run = retype },
    { .name = "test-give-up", .doc = "Fail.", .run = fail },
    { .name = "test-forget", .doc = "Give no module.", .run = forget },
    { .name = "test-watch",
      .doc = "Compare an analysis with an option.",
      .needs = "test-count",
      .keeps = "*",
      .options = watch_options,
      .options_nbytes = sizeof(struct watch_options),
      .run = watch },
    { .name = "test-watch-unstated",
      .doc = "Ask for an analysis that is not among the needs.",
      .options = watch_options,
      .options_nbytes = sizeof(struct watch_options),
      .run = watch },
    { .name = "test-idle",
      .doc = "Change nothing.",
      .level = 1,
      .needs = "types",
      .keeps = "*",
      .options = idle_options,
      .options_nbytes = sizeof(struct idle_options),
      .run = idle },
    { .name = "test-flat",
      .doc = "Give the invariant flat.",
      .keeps = "*",
      .gives = "flat",
      .run = idle },
    { .name = "test-breaks", .doc = "Keep nothing.", .run = idle },
    { .name = "test-wants-flat",
      .doc = "Need the invariant flat and the analysis effects.",
      .level = 3,
      .needs = "flat test-count",
      .keeps = "flat",
      .run = idle },
    { .name = "test-wants-wings",
      .doc = "Need what nobody gives.",
      .needs = "wings",
      .run = idle },
    { 0 },
};

/* ---- an interface of the plugin's own ---- */

struct greeting {
    const char *name;
    const char *text;
};
static const struct greeting greetings[] = { { "hello", "good day" }, { 0 } };

extern const bt_table bt_tests_plugin_good_good[];
const bt_table bt_tests_plugin_good_good[] = {
    BT_OPS(ops),
    BT_RELATIONS(relations),
    BT_PASSES(passes),
    BT_ANALYSES(analyses),
    { "test.greeting/1", sizeof(struct greeting), greetings },
    { 0 },
};
