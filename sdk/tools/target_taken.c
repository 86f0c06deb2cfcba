#include "target_taken.h"

#include <string.h>

#include <baton/pass.h>

#include "target_codes.h"
#include "target_program.h"
#include "watchdog.h"

enum { NETWORKS = 8 };

static int is_taken(const bt_compiled *c)
{
    for (uint32_t i = 0; i < c->nfunc; i++) {
        if (c->funcs[i]->target == 0)
            return 1;
    }
    return 0;
}

bt_status target_taken_compile(const struct target_taken *t, bt_module **fused,
                               bt_compiled **out)
{
    const bt_compile_options options = { .opened = t->targets };
    const char *text = t->program.text;
    bt_module *typed;
    BT_TRY(t->is_codes ? target_codes_read(t->ctx, text, t->targets, &typed)
                       : rule_program_read(t->ctx, text, &typed));
    bt_status status = bt_fuse(t->ctx, typed, &options, fused);
    bt_module_unref(typed);
    BT_TRY(status);
    status = bt_compile(t->ctx, *fused, &options, out);
    if (status)
        bt_module_unref(*fused);
    return status;
}

/* t->compiled NULL: the target takes nothing of it. */
static bt_status try_text(struct target_taken *t, int is_codes)
{
    t->is_codes = is_codes;
    watchdog_begin("target %s, a compilation of a program", t->use->text);
    bt_status status = target_taken_compile(t, &t->fused, &t->compiled);
    watchdog_end();
    if (!status && is_taken(t->compiled) && t->program.nparam)
        return NULL;
    if (!status) {
        bt_compiled_unref(t->compiled);
        bt_module_unref(t->fused);
    }
    t->compiled = NULL;
    t->fused = NULL;
    if (status && status->code == BT_ERR_MEMORY)
        return status;
    bt_ctx_clear_diags(t->ctx);
    return NULL;
}

static bt_status find_program(bt_arena *arena, int64_t extent, struct target_taken *t)
{
    const int64_t extents[RULE_NEXTENT] = { extent, extent, extent };
    struct target_draw draw = { .target = t->use->target, .seed = 1, .extents = extents };
    t->program.text = "";
    while (!t->compiled && t->program.text) {
        BT_TRY(target_program_draw(t->ctx, arena, &draw, &t->program));
        if (t->program.text)
            BT_TRY(try_text(t, 0));
    }
    for (uint64_t i = 0; !t->compiled && i < NETWORKS; i++) {
        BT_TRY(target_codes_draw(arena, i, &t->program));
        BT_TRY(try_text(t, 1));
    }
    return NULL;
}

static bt_status call(const struct target_taken *t, const struct target_values *values,
                      bt_ctx *ctx, void *session, bt_object **out)
{
    return t->graph->call(ctx, session, "main", t->program.nparam, values->args, NULL,
                          out);
}

bt_status target_values_make(const struct target_taken *t, uint64_t seed,
                             struct target_values *out)
{
    void *session;
    *out = (struct target_values){ 0 };
    for (uint32_t i = 0; i < t->program.nparam; i++) {
        bt_tensor *tensor;
        BT_TRY(
            case_values(t->ctx, &t->program.params[i], seed + i, CASE_RANDOM, &tensor));
        out->args[i] = &tensor->base;
    }
    watchdog_begin("target %s, a run of a program", t->use->text);
    BT_TRY(target_taken_open(t, t->ctx, t->compiled, &session));
    bt_status status = call(t, out, t->ctx, session, &out->want);
    t->graph->close(session);
    watchdog_end();
    return status;
}

void target_values_free(struct target_values *values)
{
    for (uint32_t i = 0; i < CASE_MAX_LEAF; i++)
        bt_object_unref(values->args[i]);
    bt_object_unref(values->want);
}

bt_status target_taken_find(bt_ctx *ctx, bt_arena *arena, const bt_targets *targets,
                            int64_t extent, struct target_taken *out)
{
    const void *row;
    *out = (struct target_taken){ .ctx = ctx, .use = targets->at[0], .targets = targets };
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "graph", sizeof(bt_executor), &row));
    out->graph = row;
    BT_TRY(find_program(arena, extent, out));
    return out->compiled ? target_values_make(out, 7, &out->values) : NULL;
}

void target_taken_free(struct target_taken *t)
{
    target_values_free(&t->values);
    bt_compiled_unref(t->compiled);
    bt_module_unref(t->fused);
}

/* ---- sessions ---- */

bt_status target_taken_open(const struct target_taken *t, bt_ctx *ctx, bt_compiled *c,
                            void **out)
{
    return t->graph->load(ctx, c, "main", NULL, out);
}

bt_status target_taken_call(const struct target_taken *t, bt_ctx *ctx, void *session,
                            bt_object **out)
{
    return call(t, &t->values, ctx, session, out);
}

/* Recursion is bounded by the depth of types. */
static int is_same(const bt_object *a, const bt_object *b)
{
    const bt_tuple *x = bt_object_as_tuple(a), *y = bt_object_as_tuple(b);
    const bt_tensor *p = bt_object_as_tensor(a), *q = bt_object_as_tensor(b);
    for (uint32_t i = 0; x && i < x->nfield; i++) {
        if (!is_same(x->fields[i], y->fields[i]))
            return 0;
    }
    return x || (bt_tensor_nbytes(p) == bt_tensor_nbytes(q) &&
                 memcmp(p->data, q->data, bt_tensor_nbytes(p)) == 0);
}

int target_taken_is_same(const struct target_taken *t, const bt_object *got)
{
    return is_same(got, t->values.want);
}

int target_values_are_right(const struct target_taken *t, const struct target_values *v,
                            bt_ctx *ctx, void *session, bt_status *status)
{
    bt_object *got = NULL;
    *status = call(t, v, ctx, session, &got);
    const int right = !*status && is_same(got, v->want);
    bt_object_unref(got);
    return right;
}

int target_taken_is_right(const struct target_taken *t, bt_ctx *ctx, void *session,
                          bt_status *status)
{
    return target_values_are_right(t, &t->values, ctx, session, status);
}
