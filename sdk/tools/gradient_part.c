/*
 * A program may need the adjoint of one argument alone, use one of several results, or move one
 * argument: then a hook sees 0 among `wants` and NULL among `seeds`, which is zero. One that
 * thinks only of the case where all are there gives nothing, or fails, in a user's program.
 */
#include "gradient_part.h"

#include <math.h>
#include <stdarg.h>

const char *gradient_words(const struct gradient *g, const char *format, ...)
{
    bt_text text;
    bt_text_init(&text, g->w->arena);
    va_list args;
    va_start(args, format);
    bt_text_addv(&text, format, args);
    va_end(args);
    return bt_text_get(&text) ? bt_text_get(&text) : "no memory";
}

const char *gradient_input_words(const struct gradient *g, uint32_t leaf)
{
    const struct call_case *c = g->c;
    const bt_op_input *input = g->w->op->inputs;
    uint32_t arg = 0;
    while (leaf >= c->args[arg].first + c->args[arg].nleaf)
        arg++;
    for (uint32_t i = 0; i < arg && !input->is_rest; i++)
        input++;
    const uint32_t tensor = leaf - c->args[arg].first;
    return gradient_words(g, "input %u (%s%s%s)", arg, input->name,
                          c->args[arg].is_tuple ? "." : "",
                          c->args[arg].is_tuple ? gradient_words(g, "%u", tensor) : "");
}

/* What is asked for or given alone: the adjoint of an input, the seed of a result, or that of
 * an input, its tangent. */
enum part { WANTED, SEEDED, MOVED };

struct trial {
    struct gradient *g;
    enum part part;
    uint32_t leaf;
    double bound;
    const char *fault;
};

static const char *leaf_words(const struct trial *t, int is_result, uint32_t leaf)
{
    return is_result ? gradient_words(t->g, "result %u", leaf)
                     : gradient_input_words(t->g, leaf);
}

/* "vjp: with a seed of result 0 alone, NULL for result 1, which is zero". */
static const char *part_words(const struct trial *t)
{
    const int is_result = t->part == SEEDED;
    const uint8_t *flags = is_result ? t->g->is_real : t->g->wants;
    const uint32_t n = is_result ? t->g->nout : t->g->nin;
    const char *others = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (flags[i] && i != t->leaf)
            others = others ? "all others" : leaf_words(t, is_result, i);
    }
    const char *one = leaf_words(t, is_result, t->leaf);
    return t->part == WANTED
               ? gradient_words(
                     t->g, "vjp: where the adjoint of %s alone is wanted, not that of %s",
                     one, others)
               : gradient_words(
                     t->g,
                     "%s: with the seed of %s alone, and NULL, which is zero, for %s",
                     is_result ? "vjp" : "jvp", one, others);
}

static void compare_leaf(struct trial *t, uint32_t leaf, const bt_tensor *is,
                         const bt_tensor *want)
{
    const bt_tensor *some = want ? want : is;
    double largest = 1;
    for (int64_t k = 0; want && k < want->nelem; k++) {
        const double b = bt_tensor_get(want, k);
        largest = isfinite(b) ? fmax(largest, fabs(b)) : largest;
    }
    for (int64_t k = 0; some && k < some->nelem && !t->fault; k++) {
        const double a = is ? bt_tensor_get(is, k) : 0,
                     b = want ? bt_tensor_get(want, k) : 0;
        if (!isfinite(b) || fabs(a - b) <= t->bound * largest)
            continue;
        t->fault = gradient_words(
            t->g, "%s, the %s of %s, %selement %lld, is %.9g, expected %.9g, as %s",
            part_words(t), t->part == MOVED ? "tangent" : "adjoint",
            leaf_words(t, t->part == MOVED, leaf), is ? "" : "which is not given, ",
            (long long)k, a, b,
            t->part == WANTED ? "where all are wanted" : "with zeros for the others");
    }
}

/* The vectors with zeros but for one leaf. */
static bt_status zeros_but(struct trial *t, const gradient_vectors *like,
                           gradient_vectors *out)
{
    for (uint32_t i = 0; i < CASE_MAX_LEAF; i++) {
        const bt_tensor *from = like->at[i];
        if (!from || i == t->leaf) {
            out->at[i] = from ? bt_tensor_ref(from) : NULL;
            continue;
        }
        BT_TRY(bt_tensor_create(t->g->w->ctx, from->dtype, from->rank, from->dims,
                                &out->at[i]));
        for (int64_t k = 0; k < from->nelem; k++)
            bt_tensor_set(out->at[i], k, 0);
    }
    return NULL;
}

static bt_status run_both(struct trial *t, struct gradient *one,
                          const struct gradient_point *p, const gradient_vectors *bar)
{
    const uint32_t program = t->part == MOVED ? GRADIENT_JVP : GRADIENT_VJP;
    const uint32_t n = t->part == MOVED ? t->g->nout : t->g->nin;
    gradient_vectors zeros = { 0 }, is = { 0 }, want = { 0 };
    bt_tensor *const *v = p->v.at, *const *u = p->u.at;
    bt_status status = gradient_run(one, program, p->x.at, v, u, is.at);
    if (!status && t->part != WANTED)
        status = zeros_but(t, t->part == SEEDED ? &p->v : &p->u, &zeros);
    if (!status && t->part != WANTED)
        status = gradient_run(t->g, program, p->x.at, t->part == SEEDED ? zeros.at : v,
                              t->part == MOVED ? zeros.at : u, want.at);
    for (uint32_t i = 0; i < n && !status; i++) {
        if (t->part != WANTED)
            compare_leaf(t, i, is.at[i], want.at[i]);
        else if (i == t->leaf)
            compare_leaf(t, i, is.at[i], bar->at[i]);
    }
    gradient_drop(&zeros);
    gradient_drop(&is);
    gradient_drop(&want);
    return status;
}

static bt_status try_part(struct trial *t, const struct gradient_point *p,
                          const gradient_vectors *bar)
{
    struct gradient one;
    bt_status status =
        gradient_open_part(t->g, t->part == MOVED ? GRADIENT_JVP : GRADIENT_VJP,
                           t->part == SEEDED ? GRADIENT_ALL : t->leaf,
                           t->part == SEEDED ? t->leaf : GRADIENT_ALL, &one);
    if (!status) {
        status = run_both(t, &one, p, bar);
        gradient_close(&one);
    }
    if (!status || status->code == BT_ERR_MEMORY)
        return status;
    t->fault =
        gradient_words(t->g, "%s: %s", part_words(t), case_message(t->g->w, status));
    return NULL;
}

bt_status gradient_parts(struct gradient *g, const struct gradient_point *p,
                         const gradient_vectors *bar, double bound, const char **fault)
{
    struct trial t = { .g = g, .bound = bound };
    for (t.part = WANTED; t.part <= MOVED; t.part++) {
        const uint8_t *flags = t.part == SEEDED ? g->is_real : g->wants;
        const uint32_t n = t.part == SEEDED ? g->nout : g->nin;
        uint32_t nflag = 0;
        for (uint32_t i = 0; i < n; i++)
            nflag += flags[i];
        if (nflag < 2 || (t.part == MOVED && g->is_unknown[GRADIENT_JVP]))
            continue;
        for (t.leaf = 0; t.leaf < n && !t.fault; t.leaf++) {
            if (flags[t.leaf])
                BT_TRY(try_part(&t, p, bar));
        }
    }
    if (t.fault)
        *fault = t.fault;
    return NULL;
}
