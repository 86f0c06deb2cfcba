#include "case_run.h"

#include <baton/compute.h>
#include <stdarg.h>
#include <string.h>

/* "nn.dense: float32[2, 3] | units=4: " */
static void add_case(const struct op_check *w, const struct call_case *c, bt_text *text)
{
    bt_text_addf(text, "%s: ", w->op->name);
    for (uint32_t i = 0; i < c->nleaf; i++) {
        char name[BT_DTYPE_NAME_SIZE];
        bt_text_addf(text, "%s%s[", i ? ", " : "",
                     bt_dtype_name(c->leaves[i].dtype, name, sizeof(name)));
        for (uint32_t k = 0; k < c->leaves[i].rank; k++)
            bt_text_addf(text, "%s%lld", k ? ", " : "", (long long)c->leaves[i].dims[k]);
        bt_text_addf(text, "]");
    }
    bt_text_addf(text, "%s%s: ", *c->attrs ? " | " : "", c->attrs);
}

void case_fault(struct op_check *w, const struct call_case *c, const char *format, ...)
{
    bt_text text;
    bt_text_init(&text, w->arena);
    if (!w->is_brief)
        add_case(w, c, &text);
    va_list args;
    va_start(args, format);
    bt_text_addv(&text, format, args);
    va_end(args);
    const char *fault = bt_text_get(&text);
    for (size_t i = 0; fault && i < json_array_size(w->faults); i++) {
        if (strcmp(json_string_value(json_array_get(w->faults, i)), fault) == 0)
            return; // the same of another run of the case
    }
    json_array_append_new(w->faults, json_string(fault));
}

int op_is_random(const bt_op *op)
{
    return (op->effects & BT_EFFECT_RANDOM) != 0;
}

const char *case_message(struct op_check *w, bt_status status)
{
    const bt_place *place = &status->place;
    bt_text text;
    bt_text_init(&text, w->arena);
    bt_text_addf(&text, "%s", status->message);
    if (w->is_brief && place->text && place->column)
        bt_text_addf(&text, "\n    %s\n    %*s^", place->text, (int)place->column - 1,
                     "");
    for (const bt_diag *note = w->is_brief ? status->note : NULL; note; note = note->note)
        bt_text_addf(&text, "\n    %s", note->message);
    const char *out = bt_text_get(&text);
    return out ? out : "no memory";
}

/* ---- typed ---- */

static bt_status build_arg(struct op_check *w, bt_builder *b, const struct call_case *c,
                           uint32_t i, case_dim_fn *dim, void *self,
                           bt_tensor *const *constants, const bt_value **out)
{
    const bt_type *type = case_type(w->store, c, i, dim, self);
    const bt_param *param;
    if (!type)
        return bt_no_memory();
    if (constants && !c->args[i].is_tuple && constants[c->args[i].first])
        return bt_build_const(b, &constants[c->args[i].first]->base, out);
    BT_TRY(bt_build_param(b, NULL, type, &param));
    *out = &param->base;
    return NULL;
}

static bt_status build(struct op_check *w, bt_builder *b, const struct call_case *c,
                       const bt_op *as, case_dim_fn *dim, void *self,
                       bt_tensor *const *constants, const bt_call **out)
{
    const bt_value *args[CASE_MAX_LEAF], *value;
    const void *attrs = NULL;
    for (uint32_t i = 0; i < c->narg; i++)
        BT_TRY(build_arg(w, b, c, i, dim, self, constants, &args[i]));
    if (w->op->attrs || *c->attrs)
        BT_TRY(bt_attrs_parse(w->ctx, w->store, w->op, c->attrs, &attrs));
    BT_TRY(bt_block_begin(b, 0, NULL));
    BT_TRY(bt_build_op(b, as, attrs, c->narg, args, &value));
    *out = bt_as_call(value);
    return NULL;
}

bt_status call_build(struct op_check *w, const struct call_case *c, const bt_op *as,
                     case_dim_fn *dim, void *self, bt_tensor *const *constants,
                     const bt_call **out)
{
    bt_builder *b;
    BT_TRY(bt_builder_create(w->ctx, w->store, NULL, &b));
    bt_status status = build(w, b, c, as ? as : w->op, dim, self, constants, out);
    bt_builder_destroy(b);
    return status;
}

/* ---- computed ---- */

/* Equal, except for rounding: the order of summation follows the strides. */
static int same_elements(bt_ctx *ctx, const bt_tensor *a, const bt_tensor *b)
{
    bt_tensor_difference difference;
    const double relative = bt_dtype_epsilon(a->dtype) * (a->dtype == BT_FLOAT64 ? 4 : 1);
    return !bt_tensor_compare(ctx, a, b, relative, relative, &difference) &&
           difference.ndifferent == 0;
}

/* A result must have the type that the relation gave it. */
static void check_type(struct op_check *w, const struct call_case *c, const bt_type *type,
                       const bt_tensor *out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t size;
    if (bt_tensor_dtype(type) != out->dtype)
        case_fault(w, c, "the dtype of a result is not its type's");
    if (!shape) {
        case_fault(w, c, "the rank of a result is not in its type");
        return;
    }
    if (shape->n != out->rank) {
        case_fault(w, c, "a result of rank %u, by its type %u", out->rank, shape->n);
        return;
    }
    for (uint32_t i = 0; i < out->rank; i++) {
        if (bt_dim_is_const(shape->dims[i], &size) && size != out->dims[i])
            case_fault(w, c, "axis %u of a result has extent %lld, by its type %lld", i,
                       (long long)out->dims[i], (long long)size);
    }
}

static void check_types(struct op_check *w, const struct call_case *c,
                        const struct call_result *r)
{
    const bt_type *type = r->call->base.type;
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if ((tuple ? tuple->n : 1) != r->nout) {
        case_fault(w, c, "%u results, by the type %u", r->nout, tuple ? tuple->n : 1);
        return;
    }
    for (uint32_t i = 0; i < r->nout; i++)
        check_type(w, c, tuple ? tuple->at[i] : type, r->out[i]);
}

/* Plain C that wrote beside the elements of a tensor, or into an input, which must hold what
 * the same seed gives. Then what it gave may be broken, and r->why says so. */
static bt_status check_memory(struct op_check *w, const struct call_case *c,
                              uint64_t seed, uint32_t kind, struct call_result *r)
{
    for (uint32_t i = 0; i < r->nin + r->nout; i++) {
        const bt_tensor *tensor = i < r->nin ? r->in[i] : r->out[i - r->nin];
        const char *where = guard_damage(w->guard, tensor);
        if (where)
            case_fault(w, c, "it writes %s the elements of %s %u", where,
                       i < r->nin ? "input" : "result", i < r->nin ? i : i - r->nin);
        if (where)
            r->why = "it writes where it must not";
    }
    for (uint32_t i = 0; i < r->nin; i++) {
        bt_tensor *before;
        BT_TRY(case_values(w->ctx, &c->leaves[i], seed + i, kind, &before));
        if (memcmp(before->data, r->in[i]->data, bt_tensor_nbytes(before)) != 0) {
            case_fault(w, c, "it writes into input %u", i);
            r->why = "it writes where it must not";
        }
        bt_tensor_unref(before);
    }
    return NULL;
}

/* Decimal numbers are rounded, and so are sums. */
static double tolerance_of(bt_dtype dtype)
{
    switch (dtype) {
    case BT_FLOAT32: return 1e-5;
    case BT_FLOAT64: return 1e-12;
    default: return 2 * bt_dtype_epsilon(dtype);
    }
}

/* What the case states. */
static bt_status check_expected(struct op_check *w, const struct call_case *c,
                                const struct call_result *r)
{
    const char *text = c->expected;
    for (uint32_t i = 0; text && i < r->nout; i++) {
        const bt_tensor *got = r->out[i];
        bt_tensor_difference d;
        bt_tensor *want;
        double tolerance = tolerance_of(got->dtype);
        BT_TRY(bt_tensor_create(w->ctx, got->dtype, got->rank, got->dims, &want));
        bt_status status = case_numbers(w->ctx, &text, want);
        if (status) {
            case_fault(w, c, "what is expected of result %u: %s", i, status->message);
            text = NULL;
        } else if (!bt_tensor_compare(w->ctx, got, want, tolerance, tolerance, &d) &&
                   d.ndifferent) {
            case_fault(w, c, "result %u: element %lld is %.9g, expected %.9g", i,
                       (long long)d.first, bt_tensor_get(got, d.first),
                       bt_tensor_get(want, d.first));
        }
        bt_tensor_unref(want);
    }
    return NULL;
}

/* The shape function must say what comes out, or a bound of it. */
static void check_shapes(struct op_check *w, bt_compute *compute,
                         const struct call_case *c, const struct call_result *r)
{
    uint32_t ranks[CALL_MAX_OUT], is_bound = 0;
    int64_t dims[CALL_MAX_OUT][BT_MAX_RANK];
    bt_status status = bt_compute_shapes(
        w->ctx, compute, r->nin, (const bt_tensor *const *)r->in, ranks, dims, &is_bound);
    if (status && status->code != BT_ERR_UNSUPPORTED)
        case_fault(w, c, "no shapes: %s", status->message);
    if (status)
        return;
    for (uint32_t i = 0; i < r->nout; i++) {
        if (ranks[i] != r->out[i]->rank) {
            case_fault(w, c, "the shape function gives rank %u for a result of %u",
                       ranks[i], r->out[i]->rank);
            continue;
        }
        for (uint32_t k = 0; k < ranks[i]; k++) {
            int64_t size = r->out[i]->dims[k];
            if (is_bound ? size > dims[i][k] : size != dims[i][k])
                case_fault(w, c,
                           "the shape function gives %lld for axis %u of extent %lld",
                           (long long)dims[i][k], k, (long long)size);
        }
    }
}

/* Inputs with other strides must give the same. */
static bt_status check_strides(struct op_check *w, bt_compute *compute,
                               const struct call_case *c, const struct call_result *r)
{
    bt_tensor *in[CASE_MAX_LEAF] = { 0 }, *out[CALL_MAX_OUT] = { 0 };
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < r->nin; i++)
        status = case_strided(w->ctx, r->in[i], &in[i]);
    if (!status) {
        bt_status run =
            bt_compute_run(w->ctx, compute, r->nin, (const bt_tensor *const *)in, out);
        if (run)
            case_fault(w, c, "fails with other strides: %s", run->message);
        for (uint32_t i = 0; !run && i < r->nout; i++) {
            if (!same_elements(w->ctx, out[i], r->out[i]))
                case_fault(w, c, "result %u differs when inputs have other strides", i);
        }
    }
    for (uint32_t i = 0; i < r->nin; i++)
        bt_tensor_unref(in[i]);
    for (uint32_t i = 0; i < r->nout; i++)
        bt_tensor_unref(out[i]);
    return status;
}

static bt_status check_result(struct op_check *w, bt_compute *compute,
                              const struct call_case *c, const struct call_result *r)
{
    check_types(w, c, r);
    check_shapes(w, compute, c, r);
    BT_TRY(check_expected(w, c, r));
    return op_is_random(w->op) ? NULL : check_strides(w, compute, c, r);
}

static bt_status compute(struct op_check *w, const struct call_case *c, uint64_t seed,
                         uint32_t kind, struct call_result *r)
{
    const bt_type *args[CASE_MAX_LEAF];
    bt_compute *compute;
    for (uint32_t i = 0; i < c->narg; i++)
        args[i] = r->call->args[i]->type;
    bt_formula_call call = { .op = w->op,
                             .attrs = r->call->attrs,
                             .narg = c->narg,
                             .args = args,
                             .result = r->call->base.type };
    bt_status status = bt_compute_create(w->ctx, &call, &compute);
    if (status) {
        r->why = case_message(w, status);
        case_fault(w, c, "%s", r->why);
        return NULL;
    }
    uint32_t nout = bt_compute_nout(compute);
    if (w->guard)
        guard_set(w->guard, 1);
    status = nout > CALL_MAX_OUT
                 ? bt_fail(w->ctx, BT_ERR_LIMIT, "%u results", nout)
                 : bt_compute_run(w->ctx, compute, r->nin,
                                  (const bt_tensor *const *)r->in, r->out);
    if (w->guard)
        guard_set(w->guard, 0);
    if (status) {
        r->why = case_message(w, status);
        if (status->code != BT_ERR_RUNTIME)
            case_fault(w, c, "%s", r->why);
        status = NULL;
    } else {
        r->nout = nout;
        if (w->guard)
            status = check_memory(w, c, seed, kind, r);
        if (!status && !r->why)
            status = check_result(w, compute, c, r);
    }
    bt_compute_destroy(compute);
    return status;
}

bt_status call_run(struct op_check *w, const struct call_case *c, uint64_t seed,
                   uint32_t kind, struct call_result *r)
{
    *r = (struct call_result){ 0 };
    bt_status refused = call_build(w, c, NULL, NULL, NULL, NULL, &r->call);
    if (refused) {
        r->call = NULL;
        r->why = case_message(w, refused);
        return refused->code == BT_ERR_MEMORY ? refused : NULL;
    }
    bt_status status = NULL;
    if (w->guard)
        guard_set(w->guard, 1);
    for (uint32_t i = 0; !status && i < c->nleaf; i++) {
        status = case_values(w->ctx, &c->leaves[i], seed + i, kind, &r->in[i]);
        r->nin += !status;
    }
    if (w->guard)
        guard_set(w->guard, 0);
    return status ? status : compute(w, c, seed, kind, r);
}

void call_result_free(struct call_result *r)
{
    for (uint32_t i = 0; i < r->nin; i++)
        bt_tensor_unref(r->in[i]);
    for (uint32_t i = 0; i < r->nout; i++)
        bt_tensor_unref(r->out[i]);
    *r = (struct call_result){ 0 };
}
