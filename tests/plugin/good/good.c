/* One row of most kinds, and an interface of its own. */
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
static const bt_pass passes[] = {
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
      .needs = "flat effects",
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
    { "test.greeting/1", sizeof(struct greeting), greetings },
    { 0 },
};
