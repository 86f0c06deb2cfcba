#include "target_leaks.h"

#include "target_beside.h"
#include "target_fault.h"
#include "target_taken.h"
#include "watchdog.h"

/* Rounds in which whatever is made once, at the first use, comes to be, and those that count. */
enum { FIRST = 2, COUNTED = 4 };

struct leaks {
    struct target_taken taken;
    bt_arena *arena;
    const bt_target_use *use;
    void *session; /* for calls */
};

/* One round. */
typedef bt_status round_fn(struct leaks *);

static bt_status call(struct leaks *l)
{
    bt_object *got = NULL;
    const bt_status status = target_taken_call(&l->taken, l->taken.ctx, l->session, &got);
    bt_object_unref(got);
    return status;
}

static bt_status open_session(struct leaks *l)
{
    BT_TRY(target_taken_open(&l->taken, l->taken.ctx, l->taken.compiled, &l->session));
    const bt_status status = call(l);
    l->taken.graph->close(l->session);
    return status;
}

/* Code is loaded with what is compiled. */
static bt_status compile(struct leaks *l)
{
    bt_compiled *compiled, *kept = l->taken.compiled;
    bt_module *fused; // keeps constants as the target has them
    BT_TRY(target_taken_compile(&l->taken, &fused, &compiled));
    l->taken.compiled = compiled;
    const bt_status status = open_session(l);
    l->taken.compiled = kept;
    bt_compiled_unref(compiled);
    bt_module_unref(fused);
    return status;
}

static bt_status open_instance(struct leaks *l)
{
    bt_targets *opened;
    BT_TRY(bt_targets_open(l->taken.ctx, l->use->text, &opened));
    bt_targets_unref(opened);
    return NULL;
}

/* Whether rounds keep memory, a block or more each. */
static bt_status count(struct leaks *l, struct guard *guard, const char *what,
                       round_fn *round, const char **fault)
{
    uint32_t before = 0;
    bt_status status = NULL;
    if (*fault)
        return NULL;
    guard_set(guard, 1);
    for (uint32_t i = 0; !status && i < FIRST + COUNTED; i++) {
        if (i == FIRST)
            before = guard_nblock(guard);
        status = round(l);
        bt_ctx_clear_diags(l->taken.ctx);
    }
    guard_set(guard, 0);
    const uint32_t after = guard_nblock(guard);
    size_t given, asked;
    if (!status && guard_misfit(guard, &given, &asked))
        target_fault(
            l->arena, fault,
            "in a %s a block of %zu bytes is given back by bt_free as one of %zu", what,
            asked, given);
    if (!status && after >= before + COUNTED)
        target_fault(l->arena, fault,
                     "each %s keeps %u block%s of memory: bt_alloc without bt_free", what,
                     (after - before) / COUNTED,
                     (after - before) / COUNTED == 1 ? "" : "s");
    return status;
}

static bt_status count_all(struct leaks *l, struct guard *guard, const char **fault)
{
    BT_TRY(target_taken_open(&l->taken, l->taken.ctx, l->taken.compiled, &l->session));
    bt_status status = count(l, guard, "call", call, fault);
    l->taken.graph->close(l->session);
    BT_TRY(status);
    BT_TRY(count(l, guard, "session, with its queues and blocks,", open_session, fault));
    BT_TRY(count(l, guard, "compilation, from lower to unload,", compile, fault));
    // a device may admit only one
    bt_status refused =
        count(l, guard, "instance, from open to close,", open_instance, fault);
    return refused && refused->code == BT_ERR_MEMORY ? refused : NULL;
}

bt_status target_leaks(bt_ctx *ctx, bt_arena *arena, const bt_target_use *use,
                       struct guard *guard, struct target_leaks *out)
{
    struct target_beside beside;
    struct leaks l = { .arena = arena, .use = use };
    *out = (struct target_leaks){ 0 };
    BT_TRY(target_beside_open(ctx, use, &beside));
    bt_status status =
        target_taken_find(ctx, arena, &beside.both, TARGET_SMALL, &l.taken);
    if (!status && !l.taken.compiled)
        out->why = "no program was found of which it takes a function";
    watchdog_begin("target %s, calls, sessions and instances one after the other",
                   use->text);
    if (!status && l.taken.compiled)
        status = count_all(&l, guard, &out->fault);
    watchdog_end();
    target_taken_free(&l.taken);
    target_beside_close(&beside);
    if (status && status->code != BT_ERR_MEMORY) {
        target_fault(arena, &out->fault, "it fails: %s", status->message);
        status = NULL;
    }
    return status;
}
