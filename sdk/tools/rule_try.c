#include "rule_try.h"

#include <stdlib.h>
#include <string.h>

#include <baton/executor.h>

#include "rule_program.h"

enum { WANTED = 8, MOST_TRIES = 1000, NVALUES = 3 };

struct trial {
    bt_ctx *ctx;
    bt_arena *arena; /* of one program */
    const bt_rule *rule;
    const bt_executor *interp;
    bt_pipeline *pass;
    struct rule_program program;
    bt_text fault;
};

static const char *const value_words[NVALUES] = { "random values", "other random values",
                                                  "infinities, NaN and the like" };

/* ---- one program ---- */

static bt_status read_program(struct trial *t, bt_module **out)
{
    bt_module *parsed;
    BT_TRY(bt_parse(t->ctx, "rule", NULL, t->program.text, strlen(t->program.text),
                    &parsed));
    bt_status status = bt_infer(t->ctx, parsed, out);
    bt_module_unref(parsed);
    return status;
}

/* A lack of memory ends the trial; what else fails is told by *result NULL. */
static bt_status run(struct trial *t, const bt_module *module, bt_object *const *args,
                     bt_object **result)
{
    void *session;
    *result = NULL;
    bt_status status = t->interp->open(t->ctx, module, NULL, &session);
    if (!status) {
        status = t->interp->call(t->ctx, session, "main", t->program.nparam, args, NULL,
                                 result);
        t->interp->close(session);
    }
    return status && status->code == BT_ERR_MEMORY ? status : NULL;
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
                         int64_t at, int which)
{
    int digits = a->dtype == BT_FLOAT32 ? 9 : 17;
    bt_text_addf(&t->fault,
                 "on %s element %lld is %.*g, what is put in place gives %.*g\n",
                 value_words[which], (long long)at, digits, bt_tensor_get(a, at), digits,
                 bt_tensor_get(b, at));
}

static bt_status compare_tensors(struct trial *t, const bt_tensor *a, const bt_tensor *b,
                                 int which, int *differ)
{
    bt_tensor_difference d;
    uint32_t class_ = BT_DTYPE_CLASS(a->dtype);
    int is_float = class_ == BT_CLASS_FLOAT || class_ == BT_CLASS_BFLOAT;
    double ulp = a->dtype == BT_FLOAT64   ? 0x1p-52
                 : a->dtype == BT_FLOAT32 ? 0x1p-23
                                          : 0x1p-7,
           tolerance = is_float ? t->rule->ulp * ulp : 0;
    BT_TRY(bt_tensor_compare(t->ctx, b, a, tolerance, tolerance, &d));
    *differ = d.ndifferent > 0;
    if (*differ)
        tell_element(t, a, b, d.first, which);
    return NULL;
}

static bt_status compare(struct trial *t, const bt_object *a, const bt_object *b,
                         int which, int *differ)
{
    const bt_tuple *x = bt_object_as_tuple(a), *y = b ? bt_object_as_tuple(b) : NULL;
    *differ = 0;
    if (!b) {
        *differ = 1;
        bt_text_addf(&t->fault, "on %s what is put in place fails\n", value_words[which]);
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

static bt_status run_both(struct trial *t, const bt_module *before,
                          const bt_module *after, int which, int *differ)
{
    bt_object *args[CASE_MAX_LEAF] = { NULL }, *a = NULL, *b = NULL;
    bt_status status = NULL;
    *differ = 0;
    for (uint32_t i = 0; !status && i < t->program.nparam; i++) {
        bt_tensor *tensor;
        status = case_values(t->ctx, &t->program.params[i], (uint64_t)which * 64 + i,
                             which == NVALUES - 1, &tensor);
        args[i] = status ? NULL : &tensor->base;
    }
    if (!status)
        status = run(t, before, args, &a);
    if (!status && a)
        status = run(t, after, args, &b);
    if (!status && a)
        status = compare(t, a, b, which, differ);
    for (uint32_t i = 0; i < t->program.nparam; i++)
        bt_object_unref(args[i]);
    bt_object_unref(a);
    bt_object_unref(b);
    return status;
}

static bt_status try_modules(struct trial *t, const bt_module *before,
                             struct rule_trial *out)
{
    bt_module *after;
    int differ = 0;
    BT_TRY(bt_pipeline_run(t->ctx, t->pass, NULL, before, &after));
    bt_status status = NULL;
    int is_applied = bt_ctx_nremark(t->ctx, BT_REMARK_DETAIL) > 0;
    for (int which = 0; is_applied && !status && !differ && which < NVALUES; which++)
        status = run_both(t, before, after, which, &differ);
    if (differ && !status)
        status = tell_program(t, after);
    bt_module_unref(after);
    out->napplied += (uint32_t)is_applied;
    return status;
}

static bt_status try_program(struct trial *t, uint64_t seed, struct rule_trial *out)
{
    bt_module *before;
    BT_TRY(rule_program_make(t->ctx, t->arena, t->rule->text, seed, &t->program));
    if (!t->program.text)
        return NULL;
    bt_status status = read_program(t, &before);
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
    uint64_t seed = seed_of(t->rule->name);
    for (uint32_t i = 0; i < MOST_TRIES && out->napplied < WANTED; i++) {
        const void *mark = bt_arena_mark(t->arena);
        bt_status status = try_program(t, case_draw(&seed), out);
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
