/*
 * The adjoint of nn.batch_norm_training. With m the mean and r = 1 / sqrt(variance + epsilon) of n
 * elements each, d what comes in for y, dm and dv for the new moments, and sums over all that is
 * one channel's:
 *     s1 = sum d, s2 = sum(d * (x - m))
 *     beta        s1
 *     gamma       r * s2
 *     data        k * (d - a) + (x - m) * b + p;  k = gamma * r, a = s1 / n, p = momentum * dm / n,
 *                 b = 2 * momentum * dv / n - k * r^2 * s2 / n, where unbiased dv by n - 1
 *     moments     (1 - momentum) * dm, (1 - momentum) * dv
 * By the formula data and d are gone through for four sums, here for two. What all d of a channel
 * have in common is taken off before k makes it large: of one element nothing is left, and what
 * has 16 bits is rounded once.
 */
#include <string.h>

#include "norm_training_adjoint.h"

struct adjoint {
    bt_builder *builder;
    const bt_adjoint_call *call;
    uint32_t rank, axis;
    const char *parts['Z' - 'A' + 1]; /* what `$X` stands for in texts, see name_parts */
    const bt_type *others;            /* dims of all axes but the channels' */
    const bt_value *m, *r;
};

static const char *part(struct adjoint *k, char letter, const bt_text *text)
{
    bt_text copy = *text;
    return k->parts[letter - 'A'] = bt_text_get(&copy);
}

/*
 * $D, $I, $A   "n0, n1", "i0, i1", "i0 in n0, i1 in n1"
 * $C, $L       the index and the dim of the channels: "i1", "n1"
 * $O, $R, $N   of all other axes: "i0 in n0", "n0", their elements "n0"
 * $K           $N, or one less where the new variance is unbiased
 * $T, $W       the type of data, what elements are computed in
 * $E, $M       epsilon, momentum
 */
static bt_status name_parts(struct adjoint *k, const struct norm_training_attrs *a)
{
    bt_arena *arena = bt_ctx_scratch(bt_builder_ctx(k->builder));
    const bt_dtype dtype = bt_tensor_dtype(k->call->in[0]->type);
    char name[BT_DTYPE_NAME_SIZE];
    bt_text t['Z' - 'A' + 1];
    for (uint32_t i = 0; i < BT_COUNT(t); i++)
        bt_text_init(&t[i], arena);
    bt_text_each(&t['D' - 'A'], k->rank, "n#", UINT32_MAX, NULL);
    bt_text_each(&t['I' - 'A'], k->rank, "i#", UINT32_MAX, NULL);
    bt_text_each(&t['A' - 'A'], k->rank, "i# in n#", UINT32_MAX, NULL);
    bt_text_addf(&t['C' - 'A'], "i%u", k->axis);
    bt_text_addf(&t['L' - 'A'], "n%u", k->axis);
    for (uint32_t i = 0, n = 0; i < k->rank; i++) {
        if (i == k->axis)
            continue;
        bt_text_addf(&t['O' - 'A'], "%si%u in n%u", n ? ", " : "", i, i);
        bt_text_addf(&t['R' - 'A'], "%sn%u", n ? ", " : "", i);
        bt_text_addf(&t['N' - 'A'], "%sn%u", n++ ? " * " : "", i);
    }
    if (!part(k, 'N', &t['N' - 'A']))
        return bt_no_memory();
    bt_text_addf(&t['K' - 'A'], a->unbiased ? "max(%s - 1, 1)" : "%s",
                 k->parts['N' - 'A']);
    bt_text_addf(&t['T' - 'A'], "%s", bt_dtype_name(dtype, name, sizeof(name)));
    bt_text_addf(&t['W' - 'A'], dtype == BT_FLOAT64 ? "float64" : "float32");
    bt_text_addf(&t['E' - 'A'], "%.17g", a->epsilon);
    bt_text_addf(&t['M' - 'A'], "%.17g", a->momentum);
    for (const char *letter = "DIACLORKTWEM"; *letter; letter++) {
        if (!part(k, *letter, &t[*letter - 'A']))
            return bt_no_memory();
    }
    return NULL;
}

static void add_pattern(const struct adjoint *k, const char *pattern, bt_text *out)
{
    for (; *pattern; pattern++) {
        if (*pattern == '$')
            bt_text_addf(out, "%s", k->parts[*++pattern - 'A']);
        else
            bt_text_add(out, pattern, 1);
    }
}

/* A `compute`. Inputs end with NULL. */
static bt_status build(const struct adjoint *k, const bt_type *dims,
                       const bt_value *const *args, const char *pattern,
                       const bt_value **out)
{
    bt_text text;
    uint32_t n = 0;
    while (args[n])
        n++;
    bt_text_init(&text, bt_ctx_scratch(bt_builder_ctx(k->builder)));
    add_pattern(k, pattern, &text);
    return bt_text_get(&text) ? bt_build_formula(k->builder, dims, n, args, text.at, out)
                              : bt_no_memory();
}
#define INPUTS(...)           \
    (const bt_value *const[]) \
    {                         \
        __VA_ARGS__, NULL     \
    }

static bt_status build_moments(struct adjoint *k)
{
    const bt_value *x = k->call->in[0];
    BT_TRY(
        build(k, NULL, INPUTS(x),
              "x: $T[$D] => g: $W[$C in $L] = $W(sum($O: float64(x[$I])) / float64($N))",
              &k->m));
    return build(
        k, NULL, INPUTS(x, k->m),
        "x: $T[$D], m: $W[$L] => g: $W[$C in $L] = $W(1 / sqrt(sum($O: "
        "float64(($W(x[$I]) - m[$C]) * ($W(x[$I]) - m[$C]))) / float64($N) + $E))",
        &k->r);
}

/* gamma and beta may have a dim of their own, which only the run knows to be that of the axis. */
static bt_status build_vector(const struct adjoint *k, const bt_value *like,
                              const bt_value *const *args, const char *taken,
                              const char *body, const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_shape(like->type);
    const int has_own =
        shape->dims[0] != bt_tensor_shape(k->call->in[0]->type)->dims[k->axis];
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(bt_builder_ctx(k->builder)));
    bt_text_addf(&text, "%s%s => g: $T[$C in %s] = $T(%s)", taken, has_own ? ", own" : "",
                 has_own ? "own" : "$L", body);
    return bt_text_get(&text)
               ? build(k, has_own ? &shape->base : NULL, args, text.at, out)
               : bt_no_memory();
}

/* a, and the part of b that is of y. */
static bt_status build_of_y(const struct adjoint *k, const bt_value *scale,
                            const bt_value *s1, const bt_value *s2, const bt_value **a,
                            const bt_value **b)
{
    BT_TRY(build(k, k->others, INPUTS(s1),
                 "s: $W[$L], $R => g: $W[$C in $L] = $W(float64(s[$C]) / float64($N))",
                 a));
    return build(
        k, k->others, INPUTS(s2, k->r, scale),
        "s: $W[$L], r: $W[$L], k: $W[$L], $R => g: $W[$C in $L] = "
        "$W(-(float64(k[$C]) * float64(r[$C]) * float64(r[$C]) * float64(s[$C])) / "
        "float64($N))",
        b);
}

/* scale: k. */
static bt_status build_data(const struct adjoint *k, const bt_value *scale,
                            const bt_value *s1, const bt_value *s2, const bt_value **out)
{
    const bt_value *const *seeds = k->call->seeds, *x = k->call->in[0];
    const bt_value *args[8] = { x, k->m }, *a, *b = NULL, *p, *of_variance;
    uint32_t n = 2;
    bt_text taken, terms;
    bt_text_init(&taken, bt_ctx_scratch(bt_builder_ctx(k->builder)));
    bt_text_init(&terms, bt_ctx_scratch(bt_builder_ctx(k->builder)));
    if (seeds[0]) {
        BT_TRY(build_of_y(k, scale, s1, s2, &a, &b));
        args[n++] = seeds[0];
        args[n++] = scale;
        args[n++] = a;
        bt_text_addf(&taken, ", d: $T[$D], k: $W[$L], a: $W[$L]");
        bt_text_addf(&terms, " + k[$C] * ($W(d[$I]) - a[$C])");
    }
    if (seeds[2]) {
        BT_TRY(build(k, k->others, INPUTS(seeds[2]),
                     "e: $T[$L], $R => g: $W[$C in $L] = $W(2 * $M * float64(e[$C]) / "
                     "float64($K))",
                     &of_variance));
        if (b)
            BT_TRY(bt_build(k->builder, "add", NULL,
                            (const bt_value *const[]){ b, of_variance }, 2, &b));
        else
            b = of_variance;
    }
    if (b) {
        args[n++] = b;
        bt_text_addf(&taken, ", b: $W[$L]");
        bt_text_addf(&terms, " + ($W(x[$I]) - m[$C]) * b[$C]");
    }
    if (seeds[1]) {
        BT_TRY(build(k, k->others, INPUTS(seeds[1]),
                     "e: $T[$L], $R => g: $W[$C in $L] = $W($M * float64(e[$C]) / "
                     "float64($N))",
                     &p));
        args[n++] = p;
        bt_text_addf(&taken, ", p: $W[$L]");
        bt_text_addf(&terms, " + p[$C]");
    }
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(bt_builder_ctx(k->builder)));
    if (!bt_text_get(&taken) || !bt_text_get(&terms))
        return bt_no_memory();
    bt_text_addf(&text, "x: $T[$D], m: $W[$L]%s => g: $T[$A] = $T(%s)", taken.at,
                 terms.at + strlen(" + "));
    return bt_text_get(&text) ? build(k, NULL, args, text.at, out) : bt_no_memory();
}

static bt_status build_kept(const struct adjoint *k, const bt_value *seed,
                            const bt_value **out)
{
    return build(k, NULL, INPUTS(seed),
                 "e: $T[$L] => g: $T[$C in $L] = $T((1 - $M) * float64(e[$C]))", out);
}

static bt_status find_others(struct adjoint *k)
{
    const bt_shape_type *shape = bt_tensor_shape(k->call->in[0]->type);
    const bt_type *dims[BT_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->rank; i++) {
        if (i != k->axis)
            dims[n++] = shape->dims[i];
    }
    k->others = bt_type_shape(bt_builder_store(k->builder), n, dims);
    return k->others ? NULL : bt_no_memory();
}

static bt_status vjp(bt_builder *b, const bt_adjoint_call *call, const bt_value **to)
{
    const struct norm_training_attrs *a = call->call->attrs;
    const bt_value *const *seeds = call->seeds, *s1 = NULL, *s2 = NULL, *scale;
    struct adjoint k = { .builder = b,
                         .call = call,
                         .rank = bt_tensor_shape(call->in[0]->type)->n };
    k.axis = bt_axis_front(a->axis, k.rank);
    BT_TRY(name_parts(&k, a));
    BT_TRY(find_others(&k));
    for (uint32_t i = 0; i < 2; i++) {
        if (call->wants[3 + i] && seeds[1 + i])
            BT_TRY(build_kept(&k, seeds[1 + i], &to[3 + i]));
    }
    if (!call->wants[0] &&
        !(seeds[0] && ((call->wants[1] && a->scale) || (call->wants[2] && a->center))))
        return NULL;
    BT_TRY(build_moments(&k));
    if (seeds[0]) {
        BT_TRY(build(&k, NULL, INPUTS(seeds[0]),
                     "d: $T[$D] => g: $W[$C in $L] = sum($O: $W(d[$I]))", &s1));
        BT_TRY(build(
            &k, NULL, INPUTS(seeds[0], call->in[0], k.m),
            "d: $T[$D], x: $T[$D], m: $W[$L] => g: $W[$C in $L] = sum($O: $W(d[$I]) "
            "* ($W(x[$I]) - m[$C]))",
            &s2));
    }
    if (s1 && call->wants[1] && a->scale)
        BT_TRY(build_vector(&k, call->in[1], INPUTS(s2, k.r), "s: $W[$L], r: $W[$L]",
                            "s[$C] * r[$C]", &to[1]));
    if (s1 && call->wants[2] && a->center)
        BT_TRY(build_vector(&k, call->in[2], INPUTS(s1), "s: $W[$L]", "s[$C]", &to[2]));
    if (!call->wants[0])
        return NULL;
    scale = k.r;
    if (a->scale)
        BT_TRY(build(&k, NULL, INPUTS(k.r, call->in[1]),
                     "r: $W[$L], w: $T[$L] => g: $W[$C in $L] = $W(w[$C]) * r[$C]",
                     &scale));
    return build_data(&k, scale, s1, s2, &to[0]);
}

const bt_gradient_facet norm_training_gradient = { .vjp = vjp };
