#include "target_run.h"

#include <string.h>

#include <baton/executor.h>
#include <baton/pass.h>
#include <baton/plugin.h>

#include "target_program.h"
#include "tool.h"
#include "watchdog.h"

enum { WANTED = 6, MORE = 3 };

/* One program, two ways. */
struct run {
    bt_ctx *ctx;
    bt_arena *arena; /* of one program */
    const bt_target_use *use;
    bt_targets *targets; /* it, and who takes the rest */
    const bt_executor *interp, *graph;
    struct rule_program program;
    const char *names[CASE_MAX_LEAF]; /* of its parameters */
    int64_t extent;                   /* that `n` stands for; 0: dims are numbers */
    const char *text;
    void *expecting, *running; /* sessions */
    struct target_run *out;
    bt_text fault;
};

/* ---- its text ---- */

static void add_params(const struct run *r, bt_text *out)
{
    char dtype[BT_DTYPE_NAME_SIZE];
    for (uint32_t i = 0; i < r->program.nparam; i++) {
        const struct case_leaf *p = &r->program.params[i];
        bt_text_addf(out, "%s%s: Tensor[(", i ? ", " : "", r->names[i]);
        for (uint32_t k = 0; k < p->rank; k++) {
            bt_text_addf(out, k ? ", " : "");
            if (p->dims[k] == r->extent)
                bt_text_addf(out, "n");
            else
                bt_text_addf(out, "%lld", (long long)p->dims[k]);
        }
        bt_text_addf(out, "), %s]", bt_dtype_name(p->dtype, dtype, sizeof(dtype)));
    }
}

/* "def @f(PARAMS) {BODY}", and @main, which calls it on its parameters, and on others. */
static const char *write_text(const struct run *r)
{
    const char *body = strstr(r->program.text, ") {\n"),
               *vars = r->extent ? "<n: Dim>" : "";
    bt_text out;
    bt_text_init(&out, r->arena);
    bt_text_addf(&out, "#[version = \"baton 0.1\"]\n\ndef @f%s(", vars);
    add_params(r, &out);
    bt_text_addf(&out, "%s\ndef @main%s(", body, vars);
    add_params(r, &out);
    bt_text_addf(&out, ") {\n    (@f(");
    for (int again = 0; again < 2; again++) {
        for (uint32_t i = 0; i < r->program.nparam; i++)
            bt_text_addf(&out, again && !i ? "%snegative(%s)" : "%s%s", i ? ", " : "",
                         r->names[i]);
        bt_text_addf(&out, again ? "))\n}\n" : "), @f(");
    }
    return bt_text_get(&out);
}

/* The names stand before ": Tensor" in the first line of the program. */
static int find_names(struct run *r)
{
    const char *at = strstr(r->program.text, "def @main(");
    for (uint32_t i = 0; at && i < r->program.nparam; i++) {
        at = strchr(at, '%');
        size_t n = at ? strcspn(at, ":") : 0;
        r->names[i] = at ? bt_arena_text(r->arena, at, n) : NULL;
        at = r->names[i] ? at + n : NULL;
    }
    return at != NULL && r->program.nparam > 0;
}

/* ---- compiling ---- */

static bt_status open_session(struct run *r, bt_compiled *c)
{
    watchdog_begin("target %s, the opening of a session", r->use->text);
    bt_status status = r->graph->load(r->ctx, c, "main", NULL, &r->running);
    watchdog_end();
    return status;
}

static void close_sessions(struct run *r)
{
    watchdog_begin("target %s, the closing of a session", r->use->text);
    if (r->running)
        r->graph->close(r->running);
    watchdog_end();
    if (r->expecting)
        r->interp->close(r->expecting);
    r->running = r->expecting = NULL;
}

/* What no program of this text can be is passed over: *session NULL. */
static bt_status open_both(struct run *r, int *is_several)
{
    const bt_compile_options options = { .opened = r->targets };
    bt_module *typed, *fused;
    bt_compiled *c;
    int is_taken = 0;
    if (rule_program_read(r->ctx, r->text, &typed))
        return NULL;
    watchdog_begin("target %s, a compilation of a program", r->use->text);
    bt_status status = bt_fuse(r->ctx, typed, &options, &fused);
    if (!status) {
        status = bt_compile(r->ctx, fused, &options, &c);
        bt_module_unref(fused);
    }
    watchdog_end();
    if (status) {
        bt_module_unref(typed);
        return status->code == BT_ERR_UNSUPPORTED ? NULL : status;
    }
    for (uint32_t i = 0; i < c->nfunc; i++)
        is_taken |= c->funcs[i]->target == 0;
    for (uint32_t i = 1; i < c->nkernel; i++)
        *is_several |= c->kernels[i]->target == 0 && c->kernels[i - 1]->target == 0 &&
                       c->kernels[i]->func == c->kernels[i - 1]->func;
    if (is_taken)
        status = r->interp->open(r->ctx, typed, NULL, &r->expecting);
    if (is_taken && !status)
        status = open_session(r, c);
    bt_compiled_unref(c);
    bt_module_unref(typed);
    return status;
}

/* ---- comparing ---- */

/* Recursion is bounded by the depth of types. */
static bt_status compare(struct run *r, const bt_object *a, const bt_object *b)
{
    const bt_tuple *x = bt_object_as_tuple(a), *y = bt_object_as_tuple(b);
    const bt_tensor *got = bt_object_as_tensor(a), *want = bt_object_as_tensor(b);
    bt_tensor_difference d = { .first = -1 };
    for (uint32_t i = 0; x && i < x->nfield; i++)
        BT_TRY(compare(r, x->fields[i], y->fields[i]));
    if (x)
        return NULL;
    const double rounding = !bt_dtype_is_float(want->dtype)   ? 0
                            : BT_DTYPE_BITS(want->dtype) < 32 ? 0.05
                                                              : 1e-4;
    BT_TRY(bt_tensor_compare(r->ctx, got, want, rounding,
                             rounding * bt_tensor_largest(want), &d));
    if (d.ndifferent && !r->fault.len)
        bt_text_addf(&r->fault, "element %lld is %.9g, interp gives %.9g",
                     (long long)d.first, bt_tensor_get(got, d.first),
                     bt_tensor_get(want, d.first));
    return NULL;
}

/* Both sessions, with this number for the open dim. */
static bt_status call_both(struct run *r, int64_t n, uint64_t seed)
{
    bt_object *args[CASE_MAX_LEAF] = { NULL }, *got = NULL, *want = NULL;
    bt_status status = NULL;
    const uint32_t narg = r->program.nparam;
    for (uint32_t i = 0; !status && i < narg; i++) {
        struct case_leaf leaf = r->program.params[i];
        bt_tensor *tensor;
        for (uint32_t k = 0; k < leaf.rank; k++)
            leaf.dims[k] = r->extent && leaf.dims[k] == r->extent ? n : leaf.dims[k];
        status = case_values(r->ctx, &leaf, seed + i, CASE_RANDOM, &tensor);
        args[i] = status ? NULL : &tensor->base;
    }
    if (!status)
        status = r->interp->call(r->ctx, r->expecting, "main", narg, args, NULL, &want);
    if (!status) {
        watchdog_begin("target %s, a run of a program by executor graph", r->use->text);
        status = r->graph->call(r->ctx, r->running, "main", narg, args, NULL, &got);
        watchdog_end();
        if (status && status->code != BT_ERR_MEMORY) {
            bt_text_addf(&r->fault, "it fails: %s", status->message);
            status = NULL;
        }
    }
    if (!status && got)
        status = compare(r, got, want);
    if (r->fault.len && r->extent)
        bt_text_addf(&r->fault, ", with n = %lld", (long long)n);
    if (r->fault.len)
        bt_text_addf(&r->fault, ", in\n%s", strstr(r->text, "def @f"));
    for (uint32_t i = 0; i < narg; i++)
        bt_object_unref(args[i]);
    bt_object_unref(got);
    bt_object_unref(want);
    return status;
}

static bt_status run_text(struct run *r)
{
    int is_several = 0;
    bt_status status = open_both(r, &is_several);
    if (!status && r->running) {
        const int64_t numbers[] = { r->extent, r->extent + MORE, r->extent };
        for (uint32_t i = 0; !status && !r->fault.len && i < BT_COUNT(numbers); i++)
            status = call_both(r, numbers[i], 100 * i);
        r->out->nrun++;
        r->out->nopen += r->extent != 0;
        r->out->nseveral += (uint32_t)is_several;
    }
    close_sessions(r);
    return status;
}

/* ---- programs ---- */

static bt_status try_program(struct run *r, int is_open)
{
    r->extent = 0;
    if (!find_names(r))
        return NULL;
    for (uint32_t i = 0; is_open && i < r->program.nparam; i++) {
        for (uint32_t k = 0; k < r->program.params[i].rank; k++) {
            if (r->program.params[i].dims[k] > r->extent)
                r->extent = r->program.params[i].dims[k];
        }
    }
    r->text = write_text(r);
    if (!r->text)
        return bt_no_memory();
    return is_open && r->extent < 2 ? NULL : run_text(r);
}

static bt_status try_programs(struct run *r, int is_open)
{
    struct target_draw draw = { .target = r->use->target, .seed = 1 };
    const uint32_t before = r->out->nrun;
    while (r->out->nrun < before + WANTED && !r->fault.len) {
        const void *mark = bt_arena_mark(r->arena);
        BT_TRY(target_program_draw(r->ctx, r->arena, &draw, &r->program));
        if (!r->program.text)
            return NULL;
        bt_status status = try_program(r, is_open);
        if (status && status->code == BT_ERR_MEMORY)
            return status;
        if (status)
            bt_text_addf(&r->fault, "%s, in\n%s", status->message,
                         strstr(r->text, "def @f"));
        bt_ctx_clear_diags(r->ctx);
        bt_arena_release(r->arena, mark);
    }
    return NULL;
}

static bt_status run_all(struct run *r)
{
    BT_TRY(try_programs(r, 0));
    return !r->fault.len && r->use->target->takes_dims ? try_programs(r, 1) : NULL;
}

bt_status target_run(bt_ctx *ctx, bt_arena *arena, const bt_target_use *use,
                     struct target_run *out)
{
    // the target as it is open: a device may admit one
    const bt_target_use *at[2] = { use };
    bt_targets both = { .nref = 1, .n = 1, .at = at }, *reference = NULL;
    struct run r = { .ctx = ctx, .use = use, .targets = &both, .out = out };
    const void *row;
    bt_provided item;
    *out = (struct target_run){ 0 };
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "interp", sizeof(bt_executor), &row));
    r.interp = row;
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "graph", sizeof(bt_executor), &row));
    r.graph = row;
    if (strcmp(use->target->name, "reference") != 0 &&
        find_provided(ctx, "target", "reference", &item)) {
        BT_TRY(bt_targets_open(ctx, "reference", &reference));
        at[both.n++] = reference->at[0];
    }
    bt_text_init(&r.fault, arena);
    r.arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status = r.arena ? run_all(&r) : bt_no_memory();
    bt_arena_destroy(r.arena);
    bt_targets_unref(reference);
    out->fault = r.fault.len ? bt_text_get(&r.fault) : NULL;
    return r.fault.failed ? bt_no_memory() : status;
}
