/* Finding, listing, explaining and opening plugins under failing memory. */
#include "fault.h"

#include <baton/compiler.h>
#include <baton/op.h>
#include <baton/plugin.h>

#include <stdlib.h>

static bt_status add_provided(struct fault_world *w)
{
    uint32_t n = bt_provided_len(w->ctx, NULL);
    for (uint32_t i = 0; i < n; i++) {
        bt_provided item;
        BT_TRY(bt_provided_at(w->ctx, NULL, i, &item));
        fault_result(w, item.name);
        fault_result(w, " ");
    }
    return NULL;
}

/* Messages may be poorer without memory: what is compared is the kind of error. */
static void add_plugin(struct fault_world *w, const bt_plugin_handle *plugin,
                       bt_status status)
{
    fault_result(w, bt_plugin_id(plugin));
    fault_result(w, " ");
    fault_result(w, bt_code_name(status ? status->code : BT_ERR_NONE));
    fault_result(w, "\n");
}

/* What is found, and whether it is refused. */
static bt_status run_scan(struct fault_world *w)
{
    BT_TRY(bt_plugins_scan(w->ctx));
    for (uint32_t i = 0; i < bt_plugins_len(w->ctx); i++) {
        const bt_plugin_handle *plugin = bt_plugins_at(w->ctx, i);
        add_plugin(w, plugin, bt_plugin_refusal(plugin));
    }
    return add_provided(w);
}

static bt_status begin_scanned(struct fault_world *w)
{
    return bt_plugins_scan(w->ctx);
}

static bt_status run_open(struct fault_world *w)
{
    BT_TRY(bt_plugin_open(w->ctx, w->scenario->input));
    fault_result(w, "open");
    return NULL;
}

/* Opens all, so that every row is compared with its manifest. */
static bt_status run_open_all(struct fault_world *w)
{
    for (uint32_t i = 0; i < bt_plugins_len(w->ctx); i++) {
        const bt_plugin_handle *plugin = bt_plugins_at(w->ctx, i);
        bt_status status = bt_plugin_open(w->ctx, bt_plugin_id(plugin));
        if (status && status->code == BT_ERR_MEMORY)
            return status;
        add_plugin(w, plugin, status);
    }
    return NULL;
}

static bt_status run_op(struct fault_world *w)
{
    const bt_op *op;
    BT_TRY(bt_op_get(w->ctx, w->scenario->input, &op));
    fault_result(w, op->doc);
    return NULL;
}

static bt_status write_why(struct fault_world *w, const void *name, bt_text *out)
{
    return bt_plugin_why(w->ctx, name, out);
}

static bt_status run_why(struct fault_world *w)
{
    return fault_result_of(w, write_why, w->scenario->input);
}

static bt_status write_description(struct fault_world *w, const void *path, bt_text *out)
{
    static const char seed[] = "{\"id\":\"test.good\",\"version\":\"0.1.0\","
                               "\"license\":\"Apache-2.0\",\"doc\":\"x\"}";
    return bt_plugin_describe(w->ctx, path, seed, "x.so", out);
}

static bt_status run_describe(struct fault_world *w)
{
    return fault_result_of(w, write_description, w->scenario->input);
}

static bt_status run_add(struct fault_world *w)
{
    return bt_plugins_add(w->ctx, w->scenario->input);
}

/* ---- C text ---- */

static bt_status begin_source(struct fault_world *w)
{
    BT_TRY(bt_plugins_add(w->ctx, FAULT_PROGRAMS "/source.baton.json"));
    return bt_plugins_add(w->ctx, FAULT_PROGRAMS "/typo.baton.json");
}

static bt_status open_source(struct fault_world *w, const char *id)
{
    BT_TRY(bt_plugin_open(w->ctx, id));
    fault_result(w, "open");
    return NULL;
}

static bt_status run_source(struct fault_world *w)
{
    return open_source(w, "test.source");
}

static bt_status run_typo(struct fault_world *w)
{
    return open_source(w, "test.typo");
}

static int64_t twice(int64_t x)
{
    return 2 * x;
}

/* The object is in the scratch arena, as the caller's may be. */
static bt_status load_and_run(struct fault_world *w, const bt_text *object)
{
    static const bt_symbol symbols[] = { { "twice", (bt_function)twice, NULL }, { 0 } };
    const bt_code_object part = { "text.o", object->at, object->len };
    bt_code *code;
    BT_TRY(bt_code_load(w->ctx, 1, &part, symbols, &code));
    bt_function f = bt_code_find(code, "f");
    fault_result(w, f && ((int64_t(*)(int64_t))f)(4) == 9 ? "right" : "wrong");
    bt_code_unload(code);
    return NULL;
}

static bt_status run_compile(struct fault_world *w)
{
    static const char text[] = "long twice(long); static const long one = 1;\n"
                               "long f(long x) { return twice(x) + one; }\n";
    const bt_c_source source = { .name = "text",
                                 .text = text,
                                 .nbytes = sizeof(text) - 1 };
    bt_text object;
    bt_arena *scratch = bt_ctx_scratch(w->ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text_init(&object, scratch);
    bt_status status = bt_c_compile(w->ctx, "tcc", "memory_mb=512", &source, &object);
    if (!status)
        status = load_and_run(w, &object);
    bt_arena_release(scratch, mark);
    return status;
}

const struct fault_scenario fault_plugins[] = {
    { .name = "scan", .run = run_scan, .plugins = TEST_GOOD, .is_fresh = 1 },
    { .name = "scan-bad", .run = run_scan, .plugins = TEST_BAD, .is_fresh = 1 },
    { .name = "scan-build", .run = run_scan, .is_fresh = 1 },
    { .name = "plugin-open",
      .begin = begin_scanned,
      .run = run_open,
      .input = "test.good",
      .plugins = TEST_GOOD,
      .is_fresh = 1 },
    { .name = "plugin-open-unknown",
      .begin = begin_scanned,
      .run = run_open,
      .input = "test.goof",
      .plugins = TEST_GOOD,
      .code = BT_ERR_NAME },
    { .name = "plugin-open-bad",
      .begin = begin_scanned,
      .run = run_open_all,
      .plugins = TEST_BAD,
      .is_fresh = 1 },
    { .name = "plugin-open-build",
      .begin = begin_scanned,
      .run = run_open_all,
      .is_fresh = 1 },
    { .name = "op-get",
      .begin = begin_scanned,
      .run = run_op,
      .input = "nn.conv2d",
      .is_fresh = 1 },
    { .name = "op-get-unknown",
      .begin = begin_scanned,
      .run = run_op,
      .input = "nn.conf2d",
      .code = BT_ERR_NAME },
    { .name = "plugin-why",
      .begin = begin_scanned,
      .run = run_why,
      .input = "nn.conv2d" },
    { .name = "plugin-describe",
      .begin = begin_scanned,
      .run = run_describe,
      .input = TEST_GOOD "/tests.plugin.good.so" },
    { .name = "plugin-add-broken",
      .begin = begin_scanned,
      .run = run_add,
      .input = FAULT_PROGRAMS "/broken.baton.json",
      .is_fresh = 1,
      .code = BT_ERR_MANIFEST },
    { .name = "source-open",
      .begin = begin_source,
      .run = run_source,
      .input = TEST_TCC,
      .needs_file = 1,
      .is_fresh = 1 },
    { .name = "source-typo",
      .begin = begin_source,
      .run = run_typo,
      .input = TEST_TCC,
      .needs_file = 1,
      .is_fresh = 1,
      .code = BT_ERR_PLUGIN },
    { .name = "compile",
      .begin = begin_scanned,
      .run = run_compile,
      .input = TEST_TCC,
      .needs_file = 1,
      .is_fresh = 1 },
    { 0 },
};
