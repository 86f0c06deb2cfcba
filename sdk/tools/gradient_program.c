/* Derivatives of a call as programs. */
#include "gradient.h"

#include <string.h>

/* ---- values under construction ---- */

enum { MAX_VALUE = 512 };

/* Tangents of the leaves of a value. */
struct known {
    const bt_value *value;
    const bt_value *leaves[CASE_MAX_LEAF]; /* NULL: zero */
};

struct making {
    struct gradient *g;
    bt_builder *b;
    uint32_t nvar;
    const bt_type *vars[GRADIENT_MAX_DIM + CALL_MAX_OUT * BT_MAX_RANK];
    uint32_t nparam;
    const bt_param *params[3 * CASE_MAX_LEAF + CALL_MAX_OUT];
    const bt_value *in[CASE_MAX_LEAF], *out[CALL_MAX_OUT];
    const bt_value *seeds[CALL_MAX_OUT], *tangents[CASE_MAX_LEAF];
    uint32_t nknown;
    struct known *known; /* MAX_VALUE */
};

static bt_status add_leaves(bt_builder *b, const bt_value *value, const bt_value **out,
                            uint32_t most, uint32_t *n)
{
    const bt_list_type *tuple = bt_as_tuple_type(value->type);
    if (!tuple && *n == most)
        return bt_fail(bt_builder_ctx(b), BT_ERR_LIMIT, "more than %u tensors", most);
    if (!tuple)
        out[(*n)++] = value;
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        const bt_value *field;
        BT_TRY(bt_build_proj(b, value, i, &field));
        BT_TRY(add_leaves(b, field, out, most, n));
    }
    return NULL;
}

static bt_status add_param(struct making *m, const bt_type *type, const bt_value **out)
{
    char name[16];
    const bt_param *param;
    snprintf(name, sizeof(name), "x%u", m->nparam);
    if (!type)
        return bt_no_memory();
    BT_TRY(bt_build_param(m->b, name, type, &param));
    m->params[m->nparam++] = param;
    *out = &param->base;
    return NULL;
}

/* ---- tangents of all that was built ---- */

static bt_status tangent_of(struct making *, const bt_value *, const bt_value **out);

static bt_status tangents_of_call(struct making *m, const bt_call *call,
                                  const bt_value **to)
{
    const bt_value *in[CASE_MAX_LEAF], *out[CASE_MAX_LEAF], *seeds[CASE_MAX_LEAF];
    uint32_t nin = 0, nout = 0, any = 0;
    for (uint32_t i = 0; i < call->narg; i++) {
        BT_TRY(tangent_of(m, call->args[i], seeds + nin));
        BT_TRY(add_leaves(m->b, call->args[i], in, CASE_MAX_LEAF, &nin));
    }
    BT_TRY(add_leaves(m->b, &call->base, out, CASE_MAX_LEAF, &nout));
    for (uint32_t i = 0; i < nin; i++)
        any |= seeds[i] != NULL;
    if (!any)
        return NULL;
    const bt_adjoint_call c = {
        .call = call, .nin = nin, .nout = nout, .in = in, .out = out, .seeds = seeds
    };
    return bt_call_jvp(m->b, &c, to);
}

static bt_status tangents_of_fields(struct making *m, const bt_tuple_value *tuple,
                                    const bt_value **to)
{
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        BT_TRY(tangent_of(m, tuple->fields[i], to));
        to += bt_type_nleaf(tuple->fields[i]->type);
    }
    return NULL;
}

/* to: of each leaf. */
static bt_status tangent_of(struct making *m, const bt_value *value, const bt_value **to)
{
    const bt_tuple_value *tuple = bt_as_tuple(value);
    const bt_proj *proj = bt_as_proj(value);
    const uint32_t n = bt_type_nleaf(value->type);
    const bt_value *leaves[CASE_MAX_LEAF] = { 0 };
    const bt_call *call = bt_as_call(value);
    if (n > CASE_MAX_LEAF)
        return bt_fail(m->g->w->ctx, BT_ERR_LIMIT, "more than %d tensors", CASE_MAX_LEAF);
    for (uint32_t i = 0; i < m->nknown; i++) {
        if (m->known[i].value != value)
            continue;
        memcpy(to, m->known[i].leaves, n * sizeof(*to));
        return NULL;
    }
    if (call) {
        BT_TRY(tangents_of_call(m, call, leaves));
    } else if (tuple) {
        BT_TRY(tangents_of_fields(m, tuple, leaves));
    } else if (proj) {
        const bt_value *all[CASE_MAX_LEAF];
        uint32_t first = 0;
        BT_TRY(tangent_of(m, proj->tuple, all));
        for (uint32_t i = 0; i < proj->index; i++)
            first += bt_type_nleaf(bt_as_tuple_type(proj->tuple->type)->at[i]);
        memcpy(leaves, all + first, n * sizeof(*leaves));
    }
    if (m->nknown == MAX_VALUE)
        return bt_fail(m->g->w->ctx, BT_ERR_LIMIT, "more than %d bindings", MAX_VALUE);
    struct known *known = &m->known[m->nknown++];
    known->value = value;
    memcpy(known->leaves, leaves, sizeof(leaves));
    memcpy(to, leaves, n * sizeof(*to));
    return NULL;
}

/* Of the arguments it is given. */
static bt_status begin_tangents(struct making *m)
{
    const struct call_case *c = m->g->c;
    m->nknown = 0;
    for (uint32_t i = 0; i < c->narg; i++) {
        struct known *known = &m->known[m->nknown++];
        *known = (struct known){ .value = &m->params[i]->base };
        for (uint32_t k = 0; k < c->args[i].nleaf; k++)
            known->leaves[k] = m->tangents[c->args[i].first + k];
    }
    return NULL;
}

/* ---- programs ---- */

/* The type of a result in which extents that only a run knows are dims of the function. */
static const bt_type *open_type(struct making *m, const bt_type *type)
{
    const bt_type_param param = { .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    const bt_shape_type *shape = bt_tensor_shape(type);
    bt_store *store = m->g->w->store;
    const bt_type *dims[BT_MAX_RANK];
    if (!(type->has & BT_HAS_OPAQUE))
        return type;
    for (uint32_t i = 0; i < shape->n; i++) {
        dims[i] = shape->dims[i];
        if (!(dims[i]->has & BT_HAS_OPAQUE))
            continue;
        char name[16];
        snprintf(name, sizeof(name), "m%u", m->nvar);
        dims[i] = bt_type_var(store, &param, bt_name_of(store, name));
        m->vars[m->nvar++] = dims[i];
    }
    return bt_type_tensor(store, bt_type_shape(store, shape->n, dims),
                          bt_type_dtype(store, bt_tensor_dtype(type)));
}

/* Adjoints of results that came in with such types. */
static bt_status close_seeds(struct making *m)
{
    for (uint32_t i = 0; i < m->g->nout; i++) {
        const bt_value *seed = m->seeds[i];
        if (seed && seed->type != m->out[i]->type)
            BT_TRY(bt_build(m->b, "reshape_like", NULL,
                            (const bt_value *[]){ seed, m->out[i] }, 2, &m->seeds[i]));
    }
    return NULL;
}

static bt_status add_params(struct making *m, uint32_t program)
{
    const struct gradient *g = m->g;
    const bt_list_type *tuple = bt_as_tuple_type(g->call->base.type);
    const bt_value *ignored;
    for (uint32_t i = 0; i < g->c->narg; i++)
        BT_TRY(add_param(m, g->call->args[i]->type, &ignored));
    for (uint32_t i = 0; i < g->nout && program != GRADIENT_JVP; i++) {
        const bt_type *type = tuple ? tuple->at[i] : g->call->base.type;
        if (g->is_real[i])
            BT_TRY(add_param(m, open_type(m, type), &m->seeds[i]));
    }
    for (uint32_t i = 0, leaf = 0; i < g->c->narg && program != GRADIENT_VJP; i++) {
        const bt_type *type = g->call->args[i]->type;
        for (uint32_t k = 0; k < g->c->args[i].nleaf; k++, leaf++) {
            if (g->wants[leaf])
                BT_TRY(add_param(
                    m, g->c->args[i].is_tuple ? bt_as_tuple_type(type)->at[k] : type,
                    &m->tangents[leaf]));
        }
    }
    return NULL;
}

static bt_status build_result(struct making *m, uint32_t program, uint32_t n,
                              const bt_value *const *leaves, const bt_value **out)
{
    const bt_value *fields[CASE_MAX_LEAF];
    uint32_t nfield = 0;
    for (uint32_t i = 0; i < n; i++) {
        m->g->gives[program][i] = leaves[i] != NULL;
        if (leaves[i])
            fields[nfield++] = leaves[i];
    }
    *out = NULL;
    return nfield ? bt_build_tuple(m->b, nfield, fields, out) : NULL;
}

static bt_status derive(struct making *m, uint32_t program, const bt_value *value,
                        const bt_value **result)
{
    struct gradient *g = m->g;
    const bt_value *to[CASE_MAX_LEAF] = { 0 };
    const bt_adjoint_call c = { .call = bt_as_call(value),
                                .nin = g->nin,
                                .nout = g->nout,
                                .in = m->in,
                                .out = m->out,
                                .wants = g->wants,
                                .seeds =
                                    program == GRADIENT_JVP ? m->tangents : m->seeds };
    if (program == GRADIENT_JVP) {
        BT_TRY(bt_call_jvp(m->b, &c, to));
        return build_result(m, program, g->nout, to, result);
    }
    BT_TRY(bt_call_vjp(m->b, &c, to));
    for (uint32_t i = 0; i < g->nin && program == GRADIENT_SECOND; i++) {
        if (i == 0)
            BT_TRY(begin_tangents(m));
        if (to[i])
            BT_TRY(tangent_of(m, to[i], &to[i]));
    }
    return build_result(m, program, g->nin, to, result);
}

static bt_status build_body(struct making *m, uint32_t program, const bt_func **out)
{
    struct gradient *g = m->g;
    const bt_value *args[CASE_MAX_LEAF], *value, *result;
    const bt_block *block;
    uint32_t nin = 0, nout = 0;
    memcpy(m->vars, g->vars, sizeof(g->vars));
    m->nvar = g->ndim;
    BT_TRY(add_params(m, program));
    BT_TRY(bt_block_begin(m->b, m->nparam, m->params));
    for (uint32_t i = 0; i < g->c->narg; i++) {
        args[i] = &m->params[i]->base;
        BT_TRY(add_leaves(m->b, args[i], m->in, CASE_MAX_LEAF, &nin));
    }
    BT_TRY(bt_build_op(m->b, g->w->op, g->call->attrs, g->c->narg, args, &value));
    BT_TRY(add_leaves(m->b, value, m->out, CALL_MAX_OUT, &nout));
    BT_TRY(close_seeds(m));
    BT_TRY(derive(m, program, value, &result));
    *out = NULL;
    if (!result)
        return NULL;
    BT_TRY(bt_block_end(m->b, result, &block));
    const bt_func fields = { .name = "main",
                             .result = result->type,
                             .block = block,
                             .nvar = m->nvar,
                             .vars = m->vars };
    return bt_func_create(g->w->ctx, g->w->store, &fields, out);
}

static bt_status build_program(struct gradient *g, uint32_t program)
{
    struct op_check *w = g->w;
    struct making m = { .g = g };
    const bt_func *func = NULL;
    bt_module_builder *builder;
    m.known = BT_NEWS(w->arena, struct known, MAX_VALUE);
    if (!m.known)
        return bt_no_memory();
    BT_TRY(bt_builder_create(w->ctx, w->store, NULL, &m.b));
    bt_status status = build_body(&m, program, &func);
    bt_builder_destroy(m.b);
    if (status || !func)
        return status;
    const bt_global global = { .name = func->name,
                               .kind = BT_GLOBAL_FUNC,
                               .func = func,
                               .type = bt_func_type_of(w->store, func) };
    if (!global.type)
        return bt_no_memory();
    BT_TRY(bt_module_builder_create(w->ctx, w->store, NULL, &builder));
    status = bt_module_builder_set(builder, &global, 1);
    if (status) {
        bt_module_builder_destroy(builder);
        return status;
    }
    BT_TRY(bt_module_builder_finish(builder, 1, &g->modules[program]));
    return g->interp->open(w->ctx, g->modules[program], NULL, &g->sessions[program]);
}

/* ---- calls ---- */

static const bt_type *dim_of(void *self, bt_store *store, int64_t size)
{
    struct gradient *g = self;
    const bt_type_param param = { .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    char name[24];
    uint32_t i = 0;
    if (!g->is_open || size < 2)
        return bt_dim(store, size);
    while (i < g->ndim && g->sizes[i] != size)
        i++;
    if (i == GRADIENT_MAX_DIM)
        return bt_dim(store, size);
    if (i == g->ndim) {
        snprintf(name, sizeof(name), "n%lld", (long long)size);
        g->sizes[i] = size;
        g->vars[i] = bt_type_var(store, &param, bt_name_of(store, name));
        g->ndim++;
    }
    return g->vars[i];
}

bt_dtype gradient_result(const struct gradient *g, uint32_t leaf)
{
    const bt_list_type *tuple = bt_as_tuple_type(g->call->base.type);
    return bt_tensor_dtype(tuple ? tuple->at[leaf] : g->call->base.type);
}

static bt_status look_at_leaves(struct gradient *g)
{
    const void *row;
    BT_TRY(bt_op_facet(g->w->ctx, g->w->op, "gradient", &row));
    const bt_gradient_facet *facet = row;
    // a blocked argument does not move the result, unless that is what is meant
    const uint64_t blocked = facet && facet->instead ? facet->blocked : 0;
    g->nin = g->c->nleaf;
    g->nout = bt_type_nleaf(g->call->base.type);
    if (g->nout > CALL_MAX_OUT)
        return bt_fail(g->w->ctx, BT_ERR_LIMIT, "%u results", g->nout);
    for (uint32_t i = 0; i < g->c->narg; i++) {
        for (uint32_t k = 0; k < g->c->args[i].nleaf; k++) {
            const uint32_t leaf = g->c->args[i].first + k;
            g->wants[leaf] = bt_dtype_is_float(g->c->leaves[leaf].dtype) &&
                             !(i < 64 && blocked >> i & 1);
        }
    }
    for (uint32_t i = 0; i < g->nout; i++)
        g->is_real[i] = (uint8_t)bt_dtype_is_float(gradient_result(g, i));
    return NULL;
}

static bt_status make_primal(struct gradient *g)
{
    bt_formula_call call;
    BT_TRY(bt_call_formula(g->w->arena, g->call, &call));
    return bt_compute_create(g->w->ctx, &call, &g->primal);
}

/* What is built of a facet that has a vjp alone. */
static bt_status build_known(struct gradient *g, uint32_t program)
{
    const void *row;
    BT_TRY(bt_op_facet(g->w->ctx, g->w->op, "gradient", &row));
    const bt_gradient_facet *facet = row;
    bt_status status = build_program(g, program);
    if (!status || status->code != BT_ERR_UNSUPPORTED || program == GRADIENT_VJP ||
        bt_op_has_formula(g->w->op) || !facet || !facet->vjp || facet->jvp)
        return status;
    g->is_unknown[program] = 1;
    return NULL;
}

static int any(const uint8_t *flags, uint32_t n)
{
    return memchr(flags, 1, n) != NULL;
}

static bt_status open_all(struct gradient *g, uint32_t *program)
{
    const void *row;
    BT_TRY(bt_registry_row(g->w->ctx, "baton.executor/1", "interp", sizeof(bt_executor),
                           &row));
    g->interp = row;
    BT_TRY(call_build(g->w, g->c, NULL, dim_of, g, NULL, &g->call));
    BT_TRY(look_at_leaves(g));
    if (!g->is_open)
        BT_TRY(make_primal(g));
    if (!any(g->wants, g->nin) || !any(g->is_real, g->nout))
        return NULL;
    for (*program = 0; *program < GRADIENT_NPROGRAM; ++*program)
        BT_TRY(build_known(g, *program));
    return NULL;
}

bt_status gradient_open(struct op_check *w, const struct call_case *c, int is_open,
                        struct gradient *out, uint32_t *program)
{
    *program = GRADIENT_NPROGRAM;
    *out = (struct gradient){ .w = w, .c = c, .is_open = (uint32_t)is_open };
    bt_status status = open_all(out, program);
    if (status)
        gradient_close(out);
    return status;
}

bt_status gradient_open_part(const struct gradient *whole, uint32_t program,
                             uint32_t want, uint32_t seed, struct gradient *out)
{
    *out = *whole;
    out->primal = NULL;
    memset(out->modules, 0, sizeof(out->modules));
    memset(out->sessions, 0, sizeof(out->sessions));
    for (uint32_t i = 0; i < out->nin && want != GRADIENT_ALL; i++)
        out->wants[i] = i == want;
    for (uint32_t i = 0; i < out->nout && seed != GRADIENT_ALL; i++)
        out->is_real[i] = i == seed;
    bt_status status = build_program(out, program);
    if (status)
        gradient_close(out);
    return status;
}

void gradient_close(struct gradient *g)
{
    for (uint32_t i = 0; i < GRADIENT_NPROGRAM; i++) {
        if (g->sessions[i])
            g->interp->close(g->sessions[i]);
        g->sessions[i] = NULL;
        bt_module_unref(g->modules[i]);
        g->modules[i] = NULL;
    }
    bt_compute_destroy(g->primal);
    g->primal = NULL;
}

/* ---- running ---- */

static bt_status make_args(const struct gradient *g, uint32_t program,
                           bt_tensor *const *in, bt_tensor *const *seeds,
                           bt_tensor *const *tangents, bt_object **args, uint32_t *narg)
{
    struct call_result r = { .nin = g->nin };
    for (uint32_t i = 0; i < g->nin; i++)
        r.in[i] = in[i];
    for (uint32_t i = 0; i < g->c->narg; i++) {
        BT_TRY(call_arg(g->w, &g->c->args[i], &r, &args[*narg]));
        ++*narg;
    }
    for (uint32_t i = 0; i < g->nout && program != GRADIENT_JVP; i++) {
        if (g->is_real[i])
            args[(*narg)++] = bt_object_ref(&seeds[i]->base);
    }
    for (uint32_t i = 0; i < g->nin && program != GRADIENT_VJP; i++) {
        if (g->wants[i])
            args[(*narg)++] = bt_object_ref(&tangents[i]->base);
    }
    return NULL;
}

bt_status gradient_run(struct gradient *g, uint32_t program, bt_tensor *const *in,
                       bt_tensor *const *seeds, bt_tensor *const *tangents,
                       bt_tensor **out)
{
    bt_object *args[2 * CASE_MAX_LEAF + CALL_MAX_OUT], *result = NULL;
    const uint32_t n = program == GRADIENT_JVP ? g->nout : g->nin;
    uint32_t narg = 0, nfield = 0;
    for (uint32_t i = 0; i < n; i++)
        out[i] = NULL;
    if (!g->sessions[program])
        return NULL;
    bt_status status = make_args(g, program, in, seeds, tangents, args, &narg);
    if (!status)
        status = g->interp->call(g->w->ctx, g->sessions[program], "main", narg, args,
                                 NULL, &result);
    for (uint32_t i = 0; i < n && !status; i++) {
        if (g->gives[program][i])
            out[i] = bt_tensor_ref(
                bt_object_as_tensor(bt_object_as_tuple(result)->fields[nfield++]));
    }
    for (uint32_t i = 0; i < narg; i++)
        bt_object_unref(args[i]);
    bt_object_unref(result);
    return status;
}
