#include "target_cases.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include <baton/pass.h>
#include <baton/plugin.h>

#include "case_vary.h"
#include "kernel_check.h"
#include "progress.h"
#include "target_beside.h"
#include "watchdog.h"

/* Operators whose calls are tried. */
struct trial {
    struct op_check w; /* of one operator */
    const bt_target_use *use;
    const bt_targets *targets; /* it, and who takes the rest */
    uint32_t every, nmet;      /* of all operators */
    uint32_t ncall, nwrong;    /* of the operator */
    uint32_t nlarger;          /* larger ones of a case that were computed */
    uint32_t is_base_taken;    /* of the case that those that follow are like */
    uint32_t ncase,
        is_taken;    /* ... and whether the target computes something of a case */
    const char *why; /* why one of its cases is not taken; NULL: all are */
    struct target_cases *out;
    bt_arena *arena; /* of *out */
};

/* ---- which are tried ---- */

static int has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        const int is_inside = at > text && (isalnum((unsigned char)at[-1]) ||
                                            at[-1] == '.' || at[-1] == '_');
        if (!is_inside && !isalnum((unsigned char)at[n]) && at[n] != '_' && at[n] != '.')
            return 1;
    }
    return 0;
}

/* A target with patterns is asked about what they name. */
static int is_named(const bt_target *target, const char *op)
{
    const char *const *patterns = target->patterns;
    int found = !patterns;
    for (uint32_t i = 0; patterns && patterns[i]; i++)
        found |= has_word(patterns[i], op);
    return found;
}

static void note_why(struct trial *t, const char *message)
{
    t->why = t->why ? t->why : bt_arena_text(t->arena, message, strlen(message));
}

static int takes(struct trial *t, const bt_func *func)
{
    uint32_t chosen;
    bt_status status = bt_targets_choose(t->w.ctx, t->targets, func, &chosen);
    if (!status)
        status = bt_target_supports(t->w.ctx, t->use, func);
    if (!status && chosen < t->targets->n && t->targets->at[chosen] == t->use)
        return 1;
    if (status)
        note_why(t, status->message);
    return 0;
}

static int takes_any(struct trial *t, const bt_module *fused)
{
    for (uint32_t i = 0; i < fused->nglobal; i++) {
        const bt_func *func = fused->globals[i]->func;
        if (func && bt_func_is_primitive(func) && takes(t, func))
            return 1;
    }
    return 0;
}

/* ---- one call ---- */

/* What pass place reckons with. */
static bt_status check_cost(struct trial *t, const struct call_case *c,
                            const bt_func *func)
{
    const bt_target *target = t->use->target;
    bt_cost cost = { 0 };
    if (!target->cost || t->nwrong || bt_target_supports(t->w.ctx, t->use, func))
        return NULL;
    bt_status status = target->cost(t->w.ctx, t->use->instance, func, &cost);
    if (status && status->code == BT_ERR_MEMORY)
        return status;
    const int is_time = isfinite(cost.ns) && cost.ns >= 0,
              is_share = cost.confidence >= 0 && cost.confidence <= 1;
    if (!status && is_time && is_share)
        return NULL;
    (void)json_array_clear(t->w.faults);
    if (status)
        case_fault(&t->w, c, "`cost` fails of what it supports: %s", status->message);
    else
        case_fault(
            &t->w, c,
            "`cost` is %g ns with confidence %g: a time is finite and not below 0, "
            "confidence between 0 and 1",
            cost.ns, cost.confidence);
    t->nwrong++;
    return NULL;
}

/* `supports` has taken something of it, and nobody has computed it, or another target. */
static void note_refused(struct trial *t, const struct kernel_check *found,
                         bt_status status)
{
    if (found->nopen || found->ndeclined)
        return;
    t->out->nrefused++;
    note_why(t, status ? status->message : "what `supports` takes and `lower` does not");
}

static bt_status check(struct trial *t, const struct call_case *c,
                       const struct call_result *r, const bt_module *fused)
{
    bt_object *args[CASE_MAX_LEAF] = { 0 };
    bt_status status = NULL;
    struct kernel_check found = { 0 };
    uint32_t n = 0;
    for (uint32_t i = 0; !status && i < c->narg; i++) {
        if (!call_is_const(&t->w, c, i))
            status = call_arg(&t->w, &c->args[i], r, &args[n++]);
    }
    watchdog_begin("target %s, a call of %s", t->use->text, t->w.op->name);
    if (!status)
        status = check_module_kernels(t->w.ctx, t->w.arena, fused, "main", t->targets,
                                      args, &found);
    watchdog_end();
    const int is_wrong = status && status->code == BT_ERR_PLUGIN;
    if (is_wrong &&
        !t->nwrong) { // call_run may have said something of the operator itself
        (void)json_array_clear(t->w.faults);
        case_fault(&t->w, c, "%s", status->message);
    }
    t->nwrong += (uint32_t)is_wrong;
    t->ncall += found.nfirst > 0;
    t->is_taken |= found.nfirst > 0;
    if (!found.nfirst && (status ? status->code == BT_ERR_UNSUPPORTED : found.ncall > 0))
        note_refused(t, &found, status);
    for (uint32_t i = 0; i < n; i++)
        bt_object_unref(args[i]);
    return status && status->code == BT_ERR_MEMORY ? status : NULL;
}

/* `around`: as call_module has it; only the first `nfree` arguments are parameters. */
static bt_status try_call(struct trial *t, const struct call_case *c,
                          const struct call_result *r, const bt_op *around,
                          uint32_t nfree)
{
    const bt_compile_options options = { .opened = t->targets };
    bt_module *module, *fused;
    t->w.nfree = nfree;
    BT_TRY(call_module(&t->w, c, r, around, &module));
    watchdog_begin("target %s, which takes calls of %s", t->use->text, t->w.op->name);
    bt_status status = bt_fuse(t->w.ctx, module, &options, &fused);
    watchdog_end();
    bt_module_unref(module);
    if (!status) {
        if (takes_any(t, fused))
            status = check(t, c, r, fused);
        for (uint32_t i = 0; !status && i < fused->nglobal; i++) {
            const bt_func *func = fused->globals[i]->func;
            if (func && bt_func_is_primitive(func))
                status = check_cost(t, c, func);
        }
        bt_module_unref(fused);
    }
    bt_ctx_clear_diags(t->w.ctx);
    return status && status->code == BT_ERR_MEMORY ? status : NULL;
}

static bt_status try_ways(struct trial *t, const struct call_case *c,
                          const struct call_result *r)
{
    // exact ones: what follows may be a step from code to code
    static const char *const unary[] = { "negative", "nn.relu", "abs" };
    const bt_op *around;
    uint64_t seed = t->nmet;
    BT_TRY(bt_op_get(t->w.ctx, unary[case_draw(&seed) % BT_COUNT(unary)], &around));
    BT_TRY(try_call(t, c, r, NULL, 0));
    BT_TRY(try_call(t, c, r, around, 0));
    return t->use->target->patterns && c->narg > 1 ? try_call(t, c, r, NULL, 1) : NULL;
}

/* The row of an element type. */
static struct target_type *row_of(struct trial *t, bt_dtype dtype)
{
    struct target_cases *out = t->out;
    uint32_t i = 0;
    while (i < out->types.len && out->types.at[i].dtype < dtype)
        i++;
    if (i < out->types.len && out->types.at[i].dtype == dtype)
        return &out->types.at[i];
    if (!BT_PUSH(t->arena, &out->types, (struct target_type){ 0 }))
        return NULL;
    for (uint32_t k = out->types.len - 1; k > i; k--)
        out->types.at[k] = out->types.at[k - 1];
    out->types.at[i] = (struct target_type){ .dtype = dtype };
    return &out->types.at[i];
}

/* All ways of a case, or the first alone, in the row of its type. */
static bt_status try_case(struct trial *t, const struct call_case *c,
                          const struct call_result *r, int only)
{
    const uint32_t nwrong = t->nwrong;
    struct target_type *row = row_of(t, c->nleaf ? c->leaves[0].dtype : 0);
    if (!row)
        return bt_no_memory();
    BT_TRY(only ? try_call(t, c, r, NULL, 0) : try_ways(t, c, r));
    t->ncase++;
    row->ncase++;
    row->ntaken += t->is_taken;
    row->nwrong += t->nwrong > nwrong;
    if (t->is_taken && row->last_op != t->w.op) {
        row->last_op = t->w.op;
        row->nop++;
    }
    return NULL;
}

/* `only`: in one way; else in all. */
static bt_status compute_case(struct trial *t, const struct call_case *c, uint32_t kind,
                              int only)
{
    struct call_result r;
    t->is_taken = 0;
    bt_status status = call_run(&t->w, c, t->nmet, kind, &r);
    if (!status && r.call && !r.why)
        status = try_case(t, c, &r, only);
    call_result_free(&r);
    bt_ctx_clear_diags(t->w.ctx);
    return status;
}

/* Of operators that a target names by patterns all are tried; where it takes any, the first and one
 * more that it computes, another one of each case. */
static bt_status run_larger(void *self, const char *kind, const struct call_case *c)
{
    enum { MOST = 2 };
    struct trial *t = self;
    (void)kind;
    if (!t->use->target->patterns && t->nlarger >= MOST)
        return NULL;
    BT_TRY(compute_case(t, c, CASE_WIDE, 1));
    t->nlarger += t->is_taken;
    return NULL;
}

/* NaN and larger sizes are of an operator's own cases, and of other types where a target takes these
 * alone. */
static bt_status run_case(void *self, const char *kind, const struct call_case *c)
{
    struct trial *t = self;
    const int is_case = strcmp(kind, "case") == 0, is_dtype = strcmp(kind, "dtype") == 0;
    if (is_case)
        t->is_base_taken = 0;
    if (t->nmet++ % t->every)
        return NULL;
    BT_TRY(compute_case(t, c, CASE_WIDE, 0));
    if (!t->is_taken || !(is_case || (is_dtype && !t->is_base_taken)))
        return NULL;
    t->is_base_taken = 1;
    BT_TRY(compute_case(t, c, CASE_MODERATE, 1));
    t->nlarger = 0;
    return vary_larger(c, t->nmet, run_larger, t);
}

/* ---- all ---- */

/* Nothing of the operator is taken: its name goes to the others that are refused so. */
static bt_status note_refusal(struct trial *t, const char *name)
{
    struct target_cases *out = t->out;
    struct target_refusal *row = NULL;
    for (uint32_t i = 0; i < out->refusals.len; i++) {
        if (strcmp(out->refusals.at[i]->why, t->why) == 0)
            row = out->refusals.at[i];
    }
    if (!row) {
        row = BT_NEW(t->arena, struct target_refusal);
        if (!row || !BT_PUSH(t->arena, &out->refusals, row))
            return bt_no_memory();
        row->why = t->why;
        bt_text_init(&row->names, t->arena);
    }
    bt_text_addf(&row->names, "%s%s", row->nop++ ? ", " : "", name);
    return row->names.failed ? bt_no_memory() : NULL;
}

static bt_status try_op(bt_ctx *ctx, struct trial *t, const char *name, bt_text *faults)
{
    struct target_cases *out = t->out;
    t->w = (struct op_check){ .ctx = ctx, .faults = json_array() };
    t->w.store = bt_store_create(bt_ctx_registry(ctx));
    t->w.arena = bt_arena_create(bt_ctx_registry(ctx));
    t->ncall = t->nwrong = t->ncase = 0;
    t->why = NULL;
    say_progress("%s of %s", name, t->use->text);
    bt_status status = !t->w.faults || !t->w.store || !t->w.arena
                           ? bt_no_memory()
                           : bt_op_get(ctx, name, &t->w.op);
    if (!status && !op_is_random(t->w.op))
        status = vary_all(&t->w, run_case, t);
    out->nop += t->ncall > 0;
    out->ncall += t->ncall;
    out->nwrong += t->nwrong;
    if (t->nwrong)
        bt_text_addf(faults, "%s%s", faults->len ? "\n" : "",
                     json_string_value(json_array_get(t->w.faults, 0)));
    const bt_status noted = !t->ncall && t->why ? note_refusal(t, name) : NULL;
    json_decref(t->w.faults);
    bt_store_unref(t->w.store);
    bt_arena_destroy(t->w.arena);
    bt_ctx_clear_diags(ctx);
    BT_TRY(noted);
    // an operator that is wrong is not the target's fault
    return status && status->code == BT_ERR_MEMORY ? status : NULL;
}

bt_status target_cases(bt_ctx *ctx, bt_arena *arena, const bt_target_use *use,
                       uint32_t every, struct target_cases *out)
{
    struct target_beside beside;
    struct trial t = { .use = use, .every = every, .out = out, .arena = arena };
    bt_text faults;
    *out = (struct target_cases){ 0 };
    BT_TRY(target_beside_open(ctx, use, &beside));
    t.targets = &beside.both;
    bt_text_init(&faults, arena);
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < bt_provided_len(ctx, "op"); i++) {
        bt_provided item;
        status = bt_provided_at(ctx, "op", i, &item);
        const int is_tried = !status && is_named(use->target, item.name);
        out->nunnamed += !status && !is_tried;
        if (is_tried)
            status = try_op(ctx, &t, item.name, &faults);
    }
    clear_progress();
    target_beside_close(&beside);
    out->fault = faults.len ? bt_text_get(&faults) : NULL;
    return faults.failed ? bt_no_memory() : status;
}
