/*
 * npu: a simulated accelerator of int8 as a target (README.md). It claims layers by patterns of
 * calls, and looks at what they compute before it takes them (recognise.h).
 */
#include <string.h>

#include <baton/op.h>
#include <baton/target.h>

#include "launch.h"
#include "lower.h"

struct options {
    const char *config, *run;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, config, STRING, "single",
            "what the machine is: single, multi, or a JSON file"),
    BT_ATTR_CHOICE(
        struct options, run, "order", "order|cycles",
        "instructions are done in the order of the stream, or in that of their "
        "begin, with cycles counted; results are the same"),
    { 0 },
};
static const char *const compile_options[] = { "config", NULL };

static bt_status open(bt_ctx *ctx, const void *values, void **self)
{
    const struct options *o = values;
    struct npu_device *device;
    BT_TRY(npu_device_create(ctx, o->config, strcmp(o->run, "cycles") == 0, &device));
    *self = device;
    return NULL;
}

static void close(void *self)
{
    npu_device_destroy(self);
}

/* What a layer may be written as; `supports` looks at what it computes. The larger of two that
 * match is asked about first. */
#define SUM   "nn.conv2d|nn.dense(*, *)"
#define CODES "qnn.conv2d|qnn.dense(*, *, const, const)" /* zero points, ... */
#define SCALED_CODES \
    "qnn.conv2d|qnn.dense(*, *, const, const, const, const)" /* ... scales */
#define BIASED(x) "add?(" x ", *)"
#define FIXED     "fixed_point_multiply(" BIASED(SUM) ")"
#define SHIFTED   "right_shift(add?(" BIASED(SUM) ", const), const)"
#define FLOAT \
    "add?(cast(clip?(round_even(multiply(cast(" BIASED(SUM) "), const)))), const)"
#define REQUANTIZED(x) "qnn.requantize(" x ", const, const, const, const)"
#define ADDED(x, y)    "qnn.add(" x ", " y ", const, const, const, const, const, const)"
#define ELEMENT        "left_shift?(subtract?(cast(*), const), const)"
#define CLAMPED(x)     "cast(clip?(nn.relu?(clip?(add?(" x ", const)))))"
#define LIMITED(x)     "nn.relu|clip(" x ")"
static const char *const patterns[] = {
    // a sum, scaled, then added to what is there
    CLAMPED("add(" FIXED ", " ELEMENT ")"),
    CLAMPED("add(" ELEMENT ", " FIXED ")"),
    CLAMPED("add(" SHIFTED ", " ELEMENT ")"),
    CLAMPED("add(" ELEMENT ", " SHIFTED ")"),
    CLAMPED(FIXED),
    CLAMPED(SHIFTED),
    "cast(clip?(" FLOAT "))",
    LIMITED(ADDED(REQUANTIZED(BIASED(SCALED_CODES)), "*")),
    LIMITED(ADDED("*", REQUANTIZED(BIASED(SCALED_CODES)))),
    ADDED(REQUANTIZED(BIASED(SCALED_CODES)), "*"),
    ADDED("*", REQUANTIZED(BIASED(SCALED_CODES))),
    LIMITED(REQUANTIZED(BIASED(SUM))),
    LIMITED(REQUANTIZED(BIASED(CODES))),
    LIMITED(REQUANTIZED(BIASED(SCALED_CODES))),
    REQUANTIZED(BIASED(SUM)),
    REQUANTIZED(BIASED(CODES)),
    REQUANTIZED(BIASED(SCALED_CODES)),
    // elements, totals, windows
    CLAMPED("fixed_point_multiply?(add(" ELEMENT ", " ELEMENT "))"),
    CLAMPED("right_shift(add?(add(" ELEMENT ", " ELEMENT "), const), const)"),
    CLAMPED("fixed_point_multiply(sum(cast(*)))"),
    REQUANTIZED("sum(subtract?(cast(*), const))"),
    LIMITED(ADDED("*", "*")),
    ADDED("*", "*"),
    "nn.max_pool2d(*)",
    // sums as they are
    "add(" SUM ", *)",
    "add(" CODES ", *)",
    "add(" SCALED_CODES ", *)",
    SUM,
    CODES,
    SCALED_CODES,
    NULL,
};

static bt_status compatibility(bt_ctx *ctx, void *self, bt_text *out)
{
    const struct npu_device *d = self;
    (void)ctx;
    npu_config_print(&d->config, out);
    return NULL;
}

static const bt_target targets[] = {
    {
        .name = "npu",
        .doc = "A simulated accelerator: convolutions, dense layers, pools and sums of "
               "int8.",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .open = open,
        .close = close,
        .supports = npu_supports,
        .lower = npu_lower,
        .compile = npu_compile,
        .load = npu_load,
        .unload = npu_unload,
        .patterns = patterns,
        .cost = npu_cost,
        .describe = npu_describe,
        .compatibility = compatibility,
        .reads_layouts = 1,
        .layouts = npu_layouts,
        .alloc = npu_alloc,
        .free = npu_free,
        .space = npu_space,
        .open_queue = npu_open_queue,
        .close_queue = npu_close_queue,
        .enqueue = npu_enqueue,
        .enqueue_copy = npu_enqueue_copy,
        .wait = npu_wait,
        .tells_times = 1,
        .explain = npu_explain,
        .compile_options = compile_options,
    },
    { 0 },
};

const bt_table bt_targets_npu_npu[] = { BT_TARGETS(targets), { 0 } };
