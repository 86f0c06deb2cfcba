#include "gradient_point.h"

#include <math.h>
#include <string.h>

/* ---- vectors ---- */

void gradient_drop(gradient_vectors *v)
{
    for (uint32_t i = 0; i < CASE_MAX_LEAF; i++)
        bt_tensor_unref(v->at[i]);
    *v = (gradient_vectors){ 0 };
}

static double draw(uint64_t *seed)
{
    return (double)(case_draw(seed) >> 11) * 0x1p-52 - 1;
}

bt_status gradient_random_like(bt_ctx *ctx, uint32_t n, const uint8_t *flags,
                               const gradient_vectors *like, uint64_t seed,
                               gradient_vectors *out)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!flags[i])
            continue;
        const bt_tensor *t = like->at[i];
        BT_TRY(bt_tensor_create(ctx, t->dtype, t->rank, t->dims, &out->at[i]));
        for (int64_t k = 0; k < t->nelem; k++)
            bt_tensor_set(out->at[i], k, draw(&seed));
    }
    return NULL;
}

/* ---- points ---- */

/* Values that a case states are left a little, so that they are no points of a kink, and by the
 * second point altogether; ranges, which may be all beyond a limit, by the fourth. */
static void shake(uint64_t number, const struct case_leaf *leaf, uint64_t *seed,
                  bt_tensor *t)
{
    for (int64_t i = 0; i < t->nelem; i++) {
        const double x = bt_tensor_get(t, i);
        if (leaf->values || number > 2)
            bt_tensor_set(t, i,
                          number || !isfinite(x) ? draw(seed) : x + 0.05 * draw(seed));
    }
}

bt_status gradient_draw(struct gradient *g, uint64_t number, struct gradient_point *out)
{
    const uint64_t seed = 1000 * number + 17;
    bt_ctx *ctx = g->w->ctx;
    uint64_t shaken = seed;
    int64_t nelem = 0;
    int is_finite = 1;
    out->why = NULL;
    for (uint32_t i = 0; i < g->nin; i++) {
        BT_TRY(case_values(ctx, &g->c->leaves[i], seed + i, CASE_RANDOM, &out->x.at[i]));
        if (g->wants[i])
            shake(number, &g->c->leaves[i], &shaken, out->x.at[i]);
        nelem += g->wants[i] ? out->x.at[i]->nelem : 0;
    }
    out->why = bt_compute_run(ctx, g->primal, g->nin, (const bt_tensor *const *)out->x.at,
                              out->y.at);
    if (out->why)
        return out->why->code == BT_ERR_RUNTIME ? NULL : out->why;
    for (uint32_t i = 0; i < g->nout; i++) {
        for (int64_t k = 0; g->is_real[i] && k < out->y.at[i]->nelem; k++)
            is_finite &= isfinite(bt_tensor_get(out->y.at[i], k)) != 0;
    }
    out->is_finite = is_finite || !nelem;
    BT_TRY(gradient_random_like(ctx, g->nout, g->is_real, &out->y, seed + 100, &out->v));
    return gradient_random_like(ctx, g->nin, g->wants, &out->x, seed + 200, &out->u);
}

void gradient_leave(struct gradient_point *p)
{
    gradient_drop(&p->x);
    gradient_drop(&p->y);
    gradient_drop(&p->v);
    gradient_drop(&p->u);
}

/* ---- cases ---- */

bt_status gradient_with_dtype(struct op_check *w, const struct call_case *c,
                              bt_dtype dtype, struct call_case *out)
{
    static const char *const names[] = { "\"float16\"", "\"bfloat16\"", "\"float32\"",
                                         "\"float64\"" };
    char name[BT_DTYPE_NAME_SIZE];
    bt_text text;
    *out = *c;
    for (uint32_t i = 0; i < c->nleaf; i++) {
        if (bt_dtype_is_float(c->leaves[i].dtype))
            out->leaves[i].dtype = dtype;
    }
    bt_text_init(&text, w->arena);
    bt_dtype_name(dtype, name, sizeof(name));
    for (const char *at = c->attrs; *at;) {
        size_t length = 0;
        for (uint32_t i = 0; i < BT_COUNT(names); i++) {
            if (strncmp(at, names[i], strlen(names[i])) == 0)
                length = strlen(names[i]);
        }
        if (length)
            bt_text_addf(&text, "\"%s\"", name);
        else
            bt_text_addf(&text, "%c", *at);
        at += length ? length : 1;
    }
    out->attrs = bt_text_get(&text);
    return out->attrs ? NULL : bt_no_memory();
}
