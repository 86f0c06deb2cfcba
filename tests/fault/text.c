/* Programs as text, under failing memory: reading, checking, printing, comparing. */
#include "fault.h"

#include <stdlib.h>

struct source {
    char *bytes;
    size_t nbytes;
};

static const char *file(const struct fault_world *w)
{
    return w->scenario->input;
}

static bt_status read_source(struct fault_world *w)
{
    struct source *s = malloc(sizeof(*s));
    if (!s)
        return bt_no_memory();
    s->bytes = fault_read(file(w), &s->nbytes);
    w->state = s;
    return NULL;
}

static void free_source(struct fault_world *w)
{
    struct source *s = w->state;
    free(s->bytes);
    free(s);
}

static bt_status parse(struct fault_world *w, bt_module **out)
{
    const struct source *s = w->state;
    return bt_parse(w->ctx, file(w), FAULT_PROGRAMS, s->bytes, s->nbytes, out);
}

static bt_status read_untyped(struct fault_world *w)
{
    BT_TRY(read_source(w));
    return parse(w, &w->module);
}

static bt_status read_typed(struct fault_world *w)
{
    bt_module *module;
    BT_TRY(read_source(w));
    BT_TRY(parse(w, &module));
    bt_status status = bt_infer(w->ctx, module, &w->module);
    bt_module_unref(module);
    return status;
}

/* ---- the work ---- */

static bt_status run_parse(struct fault_world *w)
{
    bt_module *module;
    BT_TRY(parse(w, &module));
    fault_result(w, "parsed");
    bt_module_unref(module);
    return NULL;
}

struct printing {
    const bt_module *module;
    const bt_print_options *options;
};

static bt_status write_text(struct fault_world *w, const void *what, bt_text *out)
{
    const struct printing *p = what;
    return bt_print(w->ctx, p->module, p->options, out);
}

static bt_status run_print(struct fault_world *w)
{
    return fault_result_of(w, write_text, &(struct printing){ w->module, NULL });
}

static bt_status run_print_spans(struct fault_world *w)
{
    bt_npz *npz = NULL;
    bt_print_options options = { .spans = 1, .weights = "x.npz", .npz = &npz };
    bt_status status =
        fault_result_of(w, write_text, &(struct printing){ w->module, &options });
    if (npz)
        bt_npz_destroy(w->ctx, npz);
    return status;
}

static bt_status run_infer(struct fault_world *w)
{
    bt_module *typed;
    BT_TRY(bt_infer(w->ctx, w->module, &typed));
    bt_status status = fault_result_of(w, write_text, &(struct printing){ typed, NULL });
    bt_module_unref(typed);
    return status;
}

static bt_status run_verify(struct fault_world *w)
{
    BT_TRY(bt_verify(w->ctx, w->module));
    fault_result(w, "verified");
    return NULL;
}

/* Prints, reads what was printed, and compares. */
static bt_status run_round_trip(struct fault_world *w)
{
    bt_text text;
    bt_module *again;
    bt_arena *scratch = bt_ctx_scratch(w->ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text_init(&text, scratch);
    bt_status status = bt_print(w->ctx, w->module, NULL, &text);
    if (!status && text.failed)
        status = bt_no_memory();
    if (!status)
        status = bt_parse(w->ctx, "printed", NULL, text.at, text.len, &again);
    bt_arena_release(scratch, mark);
    if (status)
        return status;
    // No memory to compare with is taken for a difference.
    int equal = bt_module_equal(w->module, again);
    fault_result(w, "equal");
    bt_module_unref(again);
    return equal ? NULL : bt_no_memory();
}

/* All that was reported, as people and as programs see it. */
static bt_status render(struct fault_world *w, bt_status status)
{
    bt_text text;
    bt_arena *scratch = bt_ctx_scratch(w->ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text_init(&text, scratch);
    for (uint32_t i = 0; i < bt_ctx_nreport(w->ctx); i++) {
        if (!bt_ctx_report(w->ctx, i)) // there was no memory to list it
            status = bt_no_memory();
        else
            bt_diag_render(bt_ctx_report(w->ctx, i), 0, &text);
    }
    bt_diag_render_json(status, &text);
    bt_arena_release(scratch, mark);
    return status;
}

static bt_status run_wrong(struct fault_world *w)
{
    bt_module *module = NULL, *typed = NULL;
    bt_status status = parse(w, &module);
    if (!status) {
        status = bt_infer(w->ctx, module, &typed);
        bt_module_unref(module);
    }
    if (!status)
        bt_module_unref(typed);
    return status ? render(w, status) : NULL;
}

static bt_status run_effects(struct fault_world *w)
{
    bt_arena *arena = bt_arena_create(w->registry);
    bt_effects *effects;
    if (!arena)
        return bt_no_memory();
    bt_status status = bt_effects_create(w->ctx, w->module, arena, &effects);
    bt_arena_destroy(arena);
    return status;
}

#define PROGRAM(name) FAULT_PROGRAMS "/" name

const struct fault_scenario fault_text[] = {
    { .name = "parse",
      .begin = read_source,
      .run = run_parse,
      .end = free_source,
      .input = PROGRAM("language.baton") },
    { .name = "parse-relay",
      .begin = read_source,
      .run = run_parse,
      .end = free_source,
      .input = PROGRAM("relay.txt") },
    { .name = "parse-imports",
      .begin = read_source,
      .run = run_parse,
      .end = free_source,
      .input = PROGRAM("imports.baton") },
    { .name = "parse-imports-wrong",
      .begin = read_source,
      .run = run_wrong,
      .end = free_source,
      .input = PROGRAM("wrong_imports.txt"),
      .code = BT_ERR_NAME },
    { .name = "parse-wrong",
      .begin = read_source,
      .run = run_wrong,
      .end = free_source,
      .input = PROGRAM("wrong_names.txt"),
      .code = BT_ERR_NAME },
    { .name = "infer-wrong",
      .begin = read_source,
      .run = run_wrong,
      .end = free_source,
      .input = PROGRAM("wrong_types.txt"),
      .code = BT_ERR_SHAPE },
    { .name = "infer",
      .begin = read_untyped,
      .run = run_infer,
      .end = free_source,
      .input = PROGRAM("language.baton") },
    { .name = "infer-net",
      .begin = read_untyped,
      .run = run_infer,
      .end = free_source,
      .input = PROGRAM("net.baton") },
    { .name = "verify",
      .begin = read_typed,
      .run = run_verify,
      .end = free_source,
      .input = PROGRAM("language.baton") },
    { .name = "print-untyped",
      .begin = read_untyped,
      .run = run_print,
      .end = free_source,
      .input = PROGRAM("language.baton") },
    { .name = "print",
      .begin = read_typed,
      .run = run_print,
      .end = free_source,
      .input = PROGRAM("language.baton") },
    { .name = "print-spans",
      .begin = read_typed,
      .run = run_print_spans,
      .end = free_source,
      .input = PROGRAM("net.baton") },
    { .name = "round-trip",
      .begin = read_typed,
      .run = run_round_trip,
      .end = free_source,
      .input = PROGRAM("language.baton") },
    { .name = "effects",
      .begin = read_typed,
      .run = run_effects,
      .end = free_source,
      .input = PROGRAM("language.baton") },
    { 0 },
};
