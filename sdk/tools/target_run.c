#include "target_run.h"

#include <string.h>

#include <baton/executor.h>
#include <baton/pass.h>
#include <baton/plugin.h>

#include "kernel_check.h"
#include "target_beside.h"
#include "target_codes.h"
#include "target_program.h"
#include "watchdog.h"

/* Programs of each row of extents, with known and with open dims; elements of a parameter, as
 * interp is slow; networks of codes. */
enum { WANTED = 3, WANTED_OPEN = 6, MAX_ELEMENTS = 5000, NETWORKS = 8 };

/* What dims are: all equal, as most patterns with two operands need, up to some tiles and a rest;
 * all different, some beyond a vector or a tile, and 0. */
static const int64_t rows[][RULE_NEXTENT] = {
    { 3, 3, 3 },    { 3, 4, 5 },    { 6, 5, 4 },    { 17, 2, 3 },
    { 2, 33, 3 },   { 5, 3, 17 },   { 0, 3, 2 },    { 9, 9, 9 },
    { 17, 17, 17 }, { 33, 33, 33 }, { 70, 70, 70 },
};
static const char *const dim_names[RULE_NEXTENT] = { "n", "m", "k" };

/* One program, two ways. */
struct run {
    bt_ctx *ctx;
    bt_arena *arena; /* of one program */
    const bt_target_use *use;
    bt_targets *targets; /* it, and who takes the rest */
    const bt_executor *interp, *graph;
    struct rule_program program;
    const char *names[CASE_MAX_LEAF]; /* of its parameters */
    const int64_t *extents;           /* of its dims */
    int is_open;                      /* names stand for them */
    int is_codes;                     /* the text is a network of codes */
    int is_alone; /* its kernels are launched, each alone, and no session is opened */
    const char *text;
    void *expecting, *running; /* sessions */
    bt_module *fused;
    struct target_run *out;
    bt_text fault;
};

/* ---- its text ---- */

/* Which of the extents; RULE_NEXTENT: none, or dims have no names. */
static uint32_t name_of(const struct run *r, int64_t dim)
{
    uint32_t i = r->is_open ? 0 : RULE_NEXTENT;
    while (i < RULE_NEXTENT && r->extents[i] != dim)
        i++;
    return i;
}

static int has_name(const struct run *r, uint32_t name)
{
    for (uint32_t i = 0; i < r->program.nparam; i++) {
        for (uint32_t k = 0; k < r->program.params[i].rank; k++) {
            if (name_of(r, r->program.params[i].dims[k]) == name)
                return 1;
        }
    }
    return 0;
}

static int has_names(const struct run *r)
{
    return has_name(r, 0) || has_name(r, 1) || has_name(r, 2);
}

static void add_params(const struct run *r, bt_text *out)
{
    char dtype[BT_DTYPE_NAME_SIZE];
    for (uint32_t i = 0; i < r->program.nparam; i++) {
        const struct case_leaf *p = &r->program.params[i];
        bt_text_addf(out, "%s%s: Tensor[(", i ? ", " : "", r->names[i]);
        for (uint32_t k = 0; k < p->rank; k++) {
            bt_text_addf(out, k ? ", " : "");
            const uint32_t name = name_of(r, p->dims[k]);
            if (name < RULE_NEXTENT)
                bt_text_addf(out, "%s", dim_names[name]);
            else
                bt_text_addf(out, "%lld", (long long)p->dims[k]);
        }
        bt_text_addf(out, "), %s]", bt_dtype_name(p->dtype, dtype, sizeof(dtype)));
    }
}

/* "def @NAME<n: Dim>(PARAMS" */
static void add_head(const struct run *r, const char *name, bt_text *out)
{
    const char *before = "<";
    bt_text_addf(out, "def @%s", name);
    for (uint32_t i = 0; i < RULE_NEXTENT; i++) {
        if (!has_name(r, i))
            continue;
        bt_text_addf(out, "%s%s: Dim", before, dim_names[i]);
        before = ", ";
    }
    bt_text_addf(out, *before == ',' ? ">(" : "(");
    add_params(r, out);
}

/* "def @f(PARAMS) {BODY}", and @main, which calls it on its parameters, and on others. */
static const char *write_text(const struct run *r)
{
    const char *body = strstr(r->program.text, ") {\n");
    bt_text out;
    bt_text_init(&out, r->arena);
    bt_text_addf(&out, "#[version = \"baton 0.1\"]\n\n");
    add_head(r, "f", &out);
    bt_text_addf(&out, "%s\n", body);
    add_head(r, "main", &out);
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
    bt_module_unref(r->fused);
    r->fused = NULL;
}

/* A session of it, and one of interp, where the target takes something. */
static bt_status open_compiled(struct run *r, const bt_module *typed, bt_compiled *c,
                               int *is_several)
{
    int is_taken = 0;
    for (uint32_t i = 0; i < c->nfunc; i++)
        is_taken |= c->funcs[i]->target == 0;
    for (uint32_t i = 1; i < c->nkernel; i++)
        *is_several |= c->kernels[i]->target == 0 && c->kernels[i - 1]->target == 0 &&
                       c->kernels[i]->func == c->kernels[i - 1]->func;
    if (!is_taken)
        return NULL;
    BT_TRY(r->interp->open(r->ctx, typed, NULL, &r->expecting));
    return open_session(r, c);
}

/* What no program of this text can be is passed over: r->fused, or r->running, is NULL. */
static bt_status open_both(struct run *r, int *is_several)
{
    const bt_compile_options options = { .opened = r->targets };
    bt_module *typed;
    bt_compiled *c = NULL;
    bt_status status = r->is_codes
                           ? target_codes_read(r->ctx, r->text, r->targets, &typed)
                           : rule_program_read(r->ctx, r->text, &typed);
    if (status) // of a text that is drawn: no program
        return r->is_codes || status->code == BT_ERR_MEMORY ? status : NULL;
    watchdog_begin("target %s, a compilation of a program", r->use->text);
    status = bt_fuse(r->ctx, typed, &options, &r->fused);
    if (!status && !r->is_alone)
        status = bt_compile(r->ctx, r->fused, &options, &c);
    watchdog_end();
    const int is_refused = status && status->code == BT_ERR_UNSUPPORTED;
    if (!status && c)
        status = open_compiled(r, typed, c, is_several);
    bt_compiled_unref(c);
    bt_module_unref(typed);
    return is_refused ? NULL : status;
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

static void tell_where(struct run *r, const int64_t *numbers)
{
    for (uint32_t i = 0; i < RULE_NEXTENT; i++) {
        if (has_name(r, i))
            bt_text_addf(&r->fault, ", with %s = %lld", dim_names[i],
                         (long long)numbers[i]);
    }
    bt_text_addf(&r->fault, ", in\n%s", strstr(r->text, "def @"));
}

/* Tensors for its parameters, with these numbers for the open dims. *can_run 0: they are too
 * large for interp. */
static bt_status make_args(struct run *r, const int64_t *numbers, uint64_t seed,
                           uint32_t kind, bt_object **args, int *can_run)
{
    *can_run = 1;
    for (uint32_t i = 0; i < r->program.nparam; i++) {
        struct case_leaf leaf = r->program.params[i];
        bt_tensor *tensor;
        for (uint32_t k = 0; k < leaf.rank; k++) {
            const uint32_t name = name_of(r, leaf.dims[k]);
            leaf.dims[k] = name < RULE_NEXTENT ? numbers[name] : leaf.dims[k];
        }
        *can_run &= case_nelem(&leaf) <= MAX_ELEMENTS;
        BT_TRY(case_values(r->ctx, &leaf, seed + i, kind, &tensor));
        args[i] = &tensor->base;
    }
    return NULL;
}

static int takes_some(const struct run *r)
{
    for (uint32_t i = 0; i < r->fused->nglobal; i++) {
        const bt_func *func = r->fused->globals[i]->func;
        if (func && bt_func_is_primitive(func) &&
            !bt_target_supports(r->ctx, r->use, func))
            return 1;
    }
    return 0;
}

/* Each kernel alone, on memory with known bytes around it: what it writes there is seen. */
static bt_status call_alone(struct run *r, const int64_t *numbers, uint32_t kind,
                            uint32_t *ncall)
{
    bt_object *args[CASE_MAX_LEAF] = { NULL };
    struct kernel_check found = { 0 };
    int can_run;
    bt_status status = make_args(r, numbers, 0, kind, args, &can_run);
    watchdog_begin("target %s, a launch of a kernel alone", r->use->text);
    if (!status && can_run)
        status = check_module_kernels(r->ctx, r->arena, r->fused, "main", r->targets,
                                      args, &found);
    watchdog_end();
    if (status && status->code == BT_ERR_PLUGIN) {
        bt_text_addf(&r->fault, "%s", status->message);
        tell_where(r, numbers);
    }
    *ncall = found.nfirst;
    for (uint32_t i = 0; i < r->program.nparam; i++)
        bt_object_unref(args[i]);
    return status && status->code == BT_ERR_MEMORY ? status : NULL;
}

/* On numbers of all sizes, and with NaN, zeros and ends of integers among them. */
static bt_status call_twice(struct run *r)
{
    uint32_t ncall;
    BT_TRY(call_alone(r, r->extents, CASE_WIDE, &ncall));
    r->out->nrun += ncall > 0;
    return ncall && !r->fault.len ? call_alone(r, r->extents, CASE_MODERATE, &ncall)
                                  : NULL;
}

/* Both sessions, with these numbers for the open dims. Numbers that the program cannot have,
 * as interp fails on them, are passed over. */
static bt_status call_both(struct run *r, const int64_t *numbers, uint64_t seed,
                           int *is_run)
{
    bt_object *args[CASE_MAX_LEAF] = { NULL }, *got = NULL, *want = NULL;
    bt_status status;
    const uint32_t narg = r->program.nparam;
    int can_run;
    status = make_args(r, numbers, seed, CASE_WIDE, args, &can_run);
    if (!status && can_run)
        status = r->interp->call(r->ctx, r->expecting, "main", narg, args, NULL, &want);
    if (status && status->code != BT_ERR_MEMORY) {
        bt_ctx_clear_diags(r->ctx);
        status = NULL;
    }
    if (!status && want) {
        *is_run = 1;
        watchdog_begin("target %s, a run of a program by executor graph", r->use->text);
        status = r->graph->call(r->ctx, r->running, "main", narg, args, NULL, &got);
        watchdog_end();
        if (status && status->code != BT_ERR_MEMORY) {
            bt_text_addf(&r->fault, "it fails: %s", status->message);
            status = NULL;
        }
    }
    if (!status && got && !r->fault.len)
        status = compare(r, got, want);
    if (r->fault.len)
        tell_where(r, numbers);
    for (uint32_t i = 0; i < narg; i++)
        bt_object_unref(args[i]);
    bt_object_unref(got);
    bt_object_unref(want);
    return status;
}

static bt_status run_text(struct run *r)
{
    int is_several = 0, is_run = 0;
    bt_status status = open_both(r, &is_several);
    if (!status && r->is_alone && r->fused) {
        status = takes_some(r) ? call_twice(r) : NULL;
    } else if (!status && r->running) {
        const uint32_t n = r->is_open ? BT_COUNT(rows) : 2; // the first once more at last
        for (uint32_t i = 0; !status && !r->fault.len && i <= n; i++)
            status = call_both(r, rows[i % n], 100 * (i % n), &is_run);
        r->out->nrun += (uint32_t)is_run;
        r->out->ncodes += (uint32_t)(is_run && r->is_codes);
        r->out->nopen += (uint32_t)(is_run && r->is_open);
        r->out->nseveral += (uint32_t)(is_run && is_several);
    }
    close_sessions(r);
    return status;
}

/* ---- programs ---- */

static bt_status try_program(struct run *r)
{
    if (!find_names(r) || (r->is_open && !has_names(r)))
        return NULL;
    r->text = write_text(r);
    return r->text ? run_text(r) : bt_no_memory();
}

static bt_status try_programs(struct run *r, const int64_t *extents, uint32_t wanted)
{
    struct target_draw draw = { .target = r->use->target, .seed = 1, .extents = extents };
    const uint32_t before = r->out->nrun;
    r->extents = extents;
    while (r->out->nrun < before + wanted && !r->fault.len) {
        const void *mark = bt_arena_mark(r->arena);
        BT_TRY(target_program_draw(r->ctx, r->arena, &draw, &r->program));
        if (!r->program.text)
            return NULL;
        bt_status status = try_program(r);
        if (status && status->code == BT_ERR_MEMORY)
            return status;
        if (status)
            bt_text_addf(&r->fault, "%s, in\n%s", status->message,
                         strstr(r->text, "def @"));
        bt_ctx_clear_diags(r->ctx);
        bt_arena_release(r->arena, mark);
    }
    return NULL;
}

/* Networks of codes, whose numbers are known. */
static bt_status try_networks(struct run *r)
{
    r->is_codes = 1;
    r->is_open = 0;
    for (uint64_t i = 0; i < NETWORKS && !r->fault.len; i++) {
        const void *mark = bt_arena_mark(r->arena);
        BT_TRY(target_codes_draw(r->arena, i, &r->program));
        r->text = r->program.text;
        bt_status status = run_text(r);
        if (status && status->code == BT_ERR_MEMORY)
            return status;
        if (status)
            bt_text_addf(&r->fault, "%s, in\n%s", status->message,
                         strstr(r->text, "def @"));
        bt_ctx_clear_diags(r->ctx);
        bt_arena_release(r->arena, mark);
    }
    return NULL;
}

static bt_status run_all(struct run *r)
{
    for (uint32_t i = 0; i < BT_COUNT(rows); i++)
        BT_TRY(try_programs(r, rows[i], WANTED));
    r->is_open = !r->is_alone;
    for (uint32_t i = 0; r->is_open && r->use->target->takes_dims && i < 2; i++)
        BT_TRY(try_programs(r, rows[i], WANTED_OPEN)); // one name, then several
    return try_networks(r);
}

static bt_status run(bt_ctx *ctx, bt_arena *arena, const bt_target_use *use, int is_alone,
                     struct target_run *out)
{
    struct target_beside beside;
    struct run r = {
        .ctx = ctx, .use = use, .targets = &beside.both, .is_alone = is_alone, .out = out
    };
    const void *row;
    *out = (struct target_run){ 0 };
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "interp", sizeof(bt_executor), &row));
    r.interp = row;
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "graph", sizeof(bt_executor), &row));
    r.graph = row;
    BT_TRY(target_beside_open(ctx, use, &beside));
    bt_text_init(&r.fault, arena);
    r.arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status = r.arena ? run_all(&r) : bt_no_memory();
    bt_arena_destroy(r.arena);
    target_beside_close(&beside);
    out->fault = r.fault.len ? bt_text_get(&r.fault) : NULL;
    return r.fault.failed ? bt_no_memory() : status;
}

bt_status target_run(bt_ctx *ctx, bt_arena *arena, const bt_target_use *use,
                     struct target_run *out)
{
    return run(ctx, arena, use, 0, out);
}

bt_status target_run_kernels(bt_ctx *ctx, bt_arena *arena, const bt_target_use *use,
                             struct target_run *out)
{
    return run(ctx, arena, use, 1, out);
}
