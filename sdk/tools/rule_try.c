#include "rule_try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <baton/executor.h>

#include "rule_ends.h"
#include "rule_program.h"
#include "tool.h"

/* Programs that a rule is tried in, and draws of values for each: first random ones, then
 * special ones, as many as to have SPECIAL elements of an operand. rules.md says which wrong
 * rules pass. */
enum { WANTED = 32, MAX_TRIES = 1000, NRANDOM = 2, LEAST_DRAWS = 4, SPECIAL = 64 };

struct trial {
    bt_ctx *ctx;
    bt_arena *arena; /* of one program */
    const bt_rule *rule;
    const bt_executor *interp;
    bt_pipeline *pass;
    void *before, *after; /* sessions; NULL: none */
    uint64_t seed;
    struct rule_program program;
    bt_text fault;
};

static int has_range(const struct trial *t)
{
    return t->rule->from < t->rule->to;
}

static uint32_t kind_of_values(uint32_t which)
{
    return which < NRANDOM ? CASE_RANDOM : CASE_SPECIAL;
}

/* Random values of what has a range are within it, others at its nearest end. */
static bt_status draw_values(struct trial *t, const struct case_leaf *param,
                             uint32_t kind, bt_tensor **out)
{
    const double from = t->rule->from, to = t->rule->to;
    const int is_bound = has_range(t) && bt_dtype_is_float(param->dtype);
    struct case_leaf leaf = *param;
    if (is_bound && kind == CASE_RANDOM) {
        leaf.low = fmin(fmax(-2, from), to);
        leaf.high = fmax(fmin(2, to), from);
        leaf.has_range = 1;
    }
    BT_TRY(case_values(t->ctx, &leaf, case_draw(&t->seed), kind, out));
    for (int64_t i = 0; is_bound && kind != CASE_RANDOM && i < (*out)->nelem; i++)
        bt_tensor_set(*out, i, fmin(fmax(bt_tensor_get(*out, i), from), to));
    return NULL;
}

static const char *words_of(const struct trial *t, uint32_t which)
{
    int has_float = 0;
    for (uint32_t i = 0; i < t->program.nparam; i++)
        has_float |= bt_dtype_is_float(t->program.params[i].dtype);
    return kind_of_values(which) == CASE_RANDOM ? "random values"
           : !has_float                         ? "ends of ranges and the like"
           : has_range(t)                       ? "zeros, ends of the range and the like"
                                                : "infinities, NaN and the like";
}

static uint32_t count_draws(const struct rule_program *p)
{
    int64_t largest = 1;
    for (uint32_t i = 0; i < p->nparam; i++) {
        int64_t n = case_nelem(&p->params[i]);
        largest = n > largest ? n : largest;
    }
    int64_t n = SPECIAL / largest;
    return !p->nparam ? 1 : NRANDOM + (uint32_t)(n < LEAST_DRAWS ? LEAST_DRAWS : n);
}

/* ---- one program ---- */

/* A lack of memory ends the trial; what else fails is told by *result NULL. */
static bt_status run(struct trial *t, void *session, bt_object *const *args,
                     bt_object **result)
{
    *result = NULL;
    bt_status status = session ? t->interp->call(t->ctx, session, "main",
                                                 t->program.nparam, args, NULL, result)
                               : NULL;
    return status && status->code == BT_ERR_MEMORY ? status : NULL;
}

static bt_status open_session(struct trial *t, const bt_module *module, void **out)
{
    *out = NULL;
    bt_status status = t->interp->open(t->ctx, module, NULL, out);
    return status && status->code == BT_ERR_MEMORY ? status : NULL;
}

static void close_sessions(struct trial *t)
{
    if (t->before)
        t->interp->close(t->before);
    if (t->after)
        t->interp->close(t->after);
    t->before = t->after = NULL;
}

static bt_status tell_program(struct trial *t, const bt_module *after)
{
    bt_text text;
    bt_text_init(&text, t->arena);
    BT_TRY(bt_print(t->ctx, after, NULL, &text));
    const char *body = bt_text_get(&text) ? strstr(text.at, "def @main") : NULL;
    bt_text_addf(&t->fault, "%sis not\n%s", strstr(t->program.text, "def @main"),
                 body ? body : "");
    return NULL;
}

/* The element of `b` that differs, beside that of `a`. */
static void tell_element(struct trial *t, const bt_tensor *a, const bt_tensor *b,
                         int64_t at, uint32_t which)
{
    int digits = a->dtype == BT_FLOAT32 ? 9 : 17;
    bt_text_addf(&t->fault,
                 "on %s element %lld is %.*g, what is put in place gives %.*g\n",
                 words_of(t, which), (long long)at, digits, bt_tensor_get(a, at), digits,
                 bt_tensor_get(b, at));
}

/* The first element that differs; -1: none. NaN stays NaN, and an infinity the same one; what
 * has a range may be infinite elsewhere, as by a divisor that is 0, and is passed over there.
 */
static int64_t find_rounded(const struct trial *t, const bt_tensor *a, const bt_tensor *b,
                            double tolerance)
{
    for (int64_t i = 0; i < a->nelem; i++) {
        double x = bt_tensor_get(a, i), y = bt_tensor_get(b, i);
        int is_equal = isnan(x)   ? isnan(y)
                       : isinf(x) ? x == y || has_range(t)
                                  : fabs(x - y) <= tolerance * (1 + fabs(x));
        if (!is_equal)
            return i;
    }
    return -1;
}

static bt_status compare_tensors(struct trial *t, const bt_tensor *a, const bt_tensor *b,
                                 uint32_t which, int *differ)
{
    bt_tensor_difference d;
    double ulp = a->dtype == BT_FLOAT64   ? 0x1p-52
                 : a->dtype == BT_FLOAT32 ? 0x1p-23
                                          : 0x1p-7;
    BT_TRY(bt_tensor_compare(t->ctx, b, a, 0, 0, &d));
    if (d.ndifferent && bt_dtype_is_float(a->dtype) && t->rule->ulp)
        d.first = find_rounded(t, a, b, t->rule->ulp * ulp);
    *differ = d.first >= 0;
    if (*differ)
        tell_element(t, a, b, d.first, which);
    return NULL;
}

static bt_status compare(struct trial *t, const bt_object *a, const bt_object *b,
                         uint32_t which, int *differ)
{
    const bt_tuple *x = bt_object_as_tuple(a), *y = b ? bt_object_as_tuple(b) : NULL;
    *differ = 0;
    if (!b) {
        *differ = 1;
        bt_text_addf(&t->fault, "on %s what is put in place fails\n", words_of(t, which));
        return NULL;
    }
    if (!x && bt_object_as_tensor(a))
        return compare_tensors(t, bt_object_as_tensor(a), bt_object_as_tensor(b), which,
                               differ);
    for (uint32_t i = 0; x && i < x->nfield && !*differ; i++) {
        if (bt_object_as_tensor(x->fields[i]))
            BT_TRY(compare_tensors(t, bt_object_as_tensor(x->fields[i]),
                                   bt_object_as_tensor(y->fields[i]), which, differ));
    }
    return NULL;
}

static bt_status run_both(struct trial *t, uint32_t which, int *differ)
{
    bt_object *args[CASE_MAX_LEAF] = { NULL }, *a = NULL, *b = NULL;
    bt_status status = NULL;
    *differ = 0;
    for (uint32_t i = 0; !status && i < t->program.nparam; i++) {
        bt_tensor *tensor;
        status = draw_values(t, &t->program.params[i], kind_of_values(which), &tensor);
        args[i] = status ? NULL : &tensor->base;
    }
    if (!status)
        status = run(t, t->before, args, &a);
    if (!status && a)
        status = run(t, t->after, args, &b);
    if (!status && a)
        status = compare(t, a, b, which, differ);
    for (uint32_t i = 0; i < t->program.nparam; i++)
        bt_object_unref(args[i]);
    bt_object_unref(a);
    bt_object_unref(b);
    return status;
}

static bt_status compare_modules(struct trial *t, const bt_module *before,
                                 const bt_module *after)
{
    const uint32_t n = count_draws(&t->program);
    int differ = 0;
    bt_status status = open_session(t, before, &t->before);
    if (!status)
        status = open_session(t, after, &t->after);
    for (uint32_t which = 0; !status && !differ && which < n; which++) {
        status = run_both(t, which, &differ);
        if (!differ)
            bt_ctx_clear_diags(t->ctx);
    }
    close_sessions(t);
    return differ && !status ? tell_program(t, after) : status;
}

static bt_status check_end(struct trial *t, const bt_module *before)
{
    BT_TRY(rule_ends(t->ctx, t->arena, t->rule, before, &t->fault));
    if (t->fault.len)
        bt_text_addf(&t->fault, "%s", strstr(t->program.text, "def @main"));
    return NULL;
}

static bt_status try_modules(struct trial *t, const bt_module *before,
                             struct rule_trial *out)
{
    bt_module *after;
    BT_TRY(bt_pipeline_run(t->ctx, t->pass, NULL, before, &after));
    bt_status status = NULL;
    int is_applied = count_details(t->ctx, BT_ERR_PIPELINE) > 0;
    if (is_applied && bt_module_equal(before, after))
        bt_text_addf(&t->fault, "%s changes nothing: it puts in place what is there\n%s",
                     t->rule->name, strstr(t->program.text, "def @main"));
    else if (is_applied)
        status = compare_modules(t, before, after);
    if (is_applied && !status && !t->fault.len)
        status = check_end(t, before);
    bt_module_unref(after);
    out->napplied += (uint32_t)is_applied;
    return status;
}

static bt_status try_program(struct trial *t, uint32_t number, struct rule_trial *out)
{
    bt_module *before;
    BT_TRY(rule_program_make(t->ctx, t->arena, t->rule->text, number, case_draw(&t->seed),
                             NULL, &t->program));
    if (!t->program.text)
        return NULL;
    bt_status status = rule_program_read(t->ctx, t->program.text, &before);
    if (status)
        return status->code == BT_ERR_MEMORY ? status : NULL;
    out->nmade++;
    status = try_modules(t, before, out);
    bt_module_unref(before);
    return status;
}

/* ---- a rule ---- */

/* The same draws on every run. */
static uint64_t seed_of(const char *name)
{
    uint64_t seed = 0;
    for (; *name; name++)
        seed = seed * 31 + (unsigned char)*name;
    return seed;
}

static bt_status try_programs(struct trial *t, struct rule_trial *out)
{
    t->seed = seed_of(t->rule->name);
    for (uint32_t i = 0; i < MAX_TRIES && out->napplied < WANTED; i++) {
        const void *mark = bt_arena_mark(t->arena);
        bt_status status = try_program(t, i, out);
        if (status)
            return status;
        bt_ctx_clear_diags(t->ctx);
        bt_arena_release(t->arena, mark);
        if (t->fault.len)
            break;
    }
    return NULL;
}

bt_status rule_try(bt_ctx *ctx, bt_arena *arena, const bt_rule *rule,
                   struct rule_trial *out)
{
    const void *row;
    struct trial t = { .ctx = ctx, .rule = rule };
    bt_text line;
    *out = (struct rule_trial){ 0 };
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "interp", sizeof(bt_executor), &row));
    t.interp = row;
    bt_text_init(&t.fault, arena);
    bt_text_init(&line, arena);
    bt_text_addf(&line, "%s{rule=\"%s\"}, dead-code", rule->pass, rule->name);
    if (!bt_text_get(&line))
        return bt_no_memory();
    BT_TRY(bt_pipeline_read(ctx, line.at, &t.pass));
    t.arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status = t.arena ? try_programs(&t, out) : bt_no_memory();
    bt_arena_destroy(t.arena);
    bt_pipeline_destroy(t.pass);
    out->fault = t.fault.len ? bt_text_get(&t.fault) : NULL;
    return status ? status : t.fault.failed ? bt_no_memory() : NULL;
}
