/* A call of a primitive function: what it checks, its buffers, its kernels. */
#include <baton/op.h>

#include "compile/lower/lowerer.h"
#include "ir/dim.h"

/* ---- checks ---- */

const bt_type *bt__lower_dim_of_call(bt_subst *subst, const bt_type *leaf)
{
    const struct bt__lower_dims *d = subst->state;
    for (uint32_t i = 0; i < d->func->nvar; i++) {
        if (d->func->vars[i] == leaf)
            return d->call->type_args[i];
    }
    return NULL;
}

/* The binding that a call was made of, where it is one of these; equal functions are one, so
 * the place in the function may be that of another call. */
static bt_span span_of(const bt_store *store, const bt_call *call, const bt_value *inner)
{
    const uint32_t *ids, *own;
    const uint32_t n = bt_prov_ids(store, call->base.prov, &ids),
                   nown = bt_prov_ids(store, inner->prov, &own);
    for (uint32_t i = 0; nown && i < n; i++) {
        if (ids[i] == own[0])
            return inner->span;
    }
    return call->base.span;
}

static bt_status lower_check(struct bt__lowerer *l, const struct bt__lower_dims *dims,
                             const bt_call *inner, const bt_check *check)
{
    bt_store *store = l->module->store;
    struct bt__lower_dims state = *dims;
    bt_subst subst = { .leaf = bt__lower_dim_of_call, .state = &state };
    const bt_op *op;
    const bt_value *done;
    const char *what = check->what ? check->what : "",
               *word = bt__check_word(check->relation);
    const bt_type *left = bt_type_subst(store, &subst, check->left),
                  *right = bt_type_subst(store, &subst, check->right);
    if (!left || !right)
        return bt_store_why(l->ctx, store);
    BT_TRY(bt_op_get(l->ctx, "memory.check", &op));
    bt_call call = { .callee_kind = BT_CALLEE_OP, .op = op };
    BT_TRY(bt_attrs_parse(l->ctx, store, op, "left=0, relation=\"\", right=0, of=\"\"",
                          &call.attrs));
    const struct {
        const char *name;
        const void *value;
    } attrs[] = { { "left", &left },
                  { "relation", &word },
                  { "right", &right },
                  { "of", &inner->op->name },
                  { "what", &what } };
    for (uint32_t i = 0; i < BT_COUNT(attrs); i++) {
        call.attrs =
            bt_attrs_with(l->arena, &call, attrs[i].name, attrs[i].value, sizeof(void *));
        if (!call.attrs)
            return bt_no_memory();
    }
    bt_builder_at(l->b, span_of(store, dims->call, &inner->base), inner->base.prov);
    return bt_build_call(l->b, &call, &done);
}

/* What the calls inside leave to run time is checked before any kernel runs. */
static bt_status lower_checks(struct bt__lowerer *l, const struct bt__lower_dims *dims)
{
    const bt_block *block = dims->func->block;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *inner = bt_as_call(block->bindings[i]);
        for (uint32_t k = 0; inner && k < inner->ncheck; k++)
            BT_TRY(lower_check(l, dims, inner, &inner->checks[k]));
    }
    return NULL;
}

/* ---- inputs that are written ---- */

/* Whether a value comes from elsewhere: somebody else may hold it, or nobody. */
static int is_foreign(const bt_value *value)
{
    value = bt__tensor_of(value);
    return value->kind != BT_VALUE_CONST && !bt_as_op_call(value, "memory.alloc_tensor");
}

/* Inputs of which a kernel keeps what it does not write, by the output that it does so in:
 * where nobody else holds such a tensor it need not be copied. */
static bt_status find_owned(struct bt__lowerer *l, const bt_lowering *lowering,
                            const struct bt__lower_buffers *all, uint32_t nout,
                            const bt_value ***out)
{
    const bt_value **owned = *out = BT_NEWS(l->arena, const bt_value *, nout);
    if (!owned)
        return bt_no_memory();
    for (uint32_t i = 0; l->has_control_flow && !l->space && i < lowering->nkernel; i++) {
        const bt_kernel *kernel = lowering->kernels[i];
        for (uint32_t k = 0; k < kernel->nalias; k++) {
            const bt_kernel_alias *alias = &kernel->aliases[k];
            const bt_kernel_buffer *from = &kernel->in[alias->in],
                                   *to = &kernel->out[alias->out];
            if (!alias->keeps || from->kind != BT_BUFFER_INPUT ||
                to->kind != BT_BUFFER_OUTPUT)
                continue;
            const bt_value *in = all->by_kind[BT_BUFFER_INPUT].at[from->index];
            if (is_foreign(in))
                owned[to->index] = in;
        }
    }
    return NULL;
}

/* ---- parts ---- */

/* One part of so many of what is laid together may be copied for it. */
enum { LITTLE = 4 };

/* Bytes of a part that is no tensor of this function; 0: it is one, or has no number of them. */
static int64_t foreign_nbytes(const bt_value *value)
{
    const bt_type *size = bt_tensor_size(value->type);
    int64_t nbytes;
    return !bt_as_op_call(bt__tensor_of(value), "memory.alloc_tensor") && size &&
                   bt_dim_is_const(size, &nbytes)
               ? nbytes
               : 0;
}

/* What is laid into the whole may be tensors of the function alone. A small part that is a constant or
 * an argument is copied to one, so that the others need not be. */
static bt_status copy_parts(struct bt__lowerer *l, const bt_call *call,
                            const struct bt__primitive *p, bt__lower_values *inputs)
{
    const bt_type *size = p->npart && !l->space ? bt_tensor_size(call->base.type) : NULL;
    int64_t all = 0, sum = 0;
    if (!size || !bt_dim_is_const(size, &all))
        return NULL;
    for (uint32_t i = 0; i < p->npart; i++)
        sum += foreign_nbytes(inputs->at[p->lowering.kernels[0]->in[p->parts[i]].index]);
    for (uint32_t i = 0; i < p->npart && sum <= all / LITTLE; i++) {
        const bt_value **part =
            &inputs->at[p->lowering.kernels[0]->in[p->parts[i]].index];
        if (foreign_nbytes(*part))
            BT_TRY(bt__lower_copy(l, *part, part));
    }
    return NULL;
}

/* ---- calls ---- */

/* A function that only changes the shape becomes no kernel. */
static bt_status lower_view(struct bt__lowerer *l, const bt_call *call,
                            const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_memory(call->base.type);
    if (!shape)
        return bt_store_why(l->ctx, l->module->store);
    const bt_value *of = bt__lower_now(l, call->args[0]);
    bt_builder_at(l->b, call->base.span, call->base.prov);
    return bt__lower_build(l, "memory.view", "shape=[]", "shape", &shape->base, 1, &of,
                           out);
}

/* A function that only computes scalars stays a call, where the program has some. */
static bt_status is_scalar_call(const struct bt__lowerer *l, const bt_global *primitive,
                                int *out)
{
    *out = 0;
    return l->has_control_flow
               ? bt__func_is_scalar(l->ctx, l->arena, primitive->func, out)
               : NULL;
}

static bt_status is_view_call(const struct bt__lowerer *l, const bt_call *call,
                              const bt_global *primitive, int *out)
{
    BT_TRY(bt__func_is_view(l->ctx, l->arena, primitive->func, out));
    if (*out && l->has_control_flow)
        *out = !bt_type_is_scalar(call->base.type) &&
               !bt_type_is_scalar(call->args[0]->type);
    return NULL;
}

/* A call of no primitive function. */
static bt_status lower_other(struct bt__lowerer *l, const bt_call *call,
                             const bt_value **out)
{
    if (l->has_control_flow)
        return bt__lower_control(l, &call->base, out);
    return bt__lower_refuse(
        l, &call->base,
        call->base.type->has & BT_HAS_OPAQUE
            ? "has dims that are known only once it has run"
        : call->callee_kind == BT_CALLEE_OP
            ? "is not computed by a primitive function, as pass fuse-ops "
              "makes them, in pipeline fuse or what --fuse names"
            : "is not computed by a primitive function");
}

static bt_status lower_kernels(struct bt__lowerer *l, struct bt__lower_dims *dims,
                               const struct bt__primitive *p, const bt_value **out)
{
    const bt_call *call = dims->call;
    struct bt__lower_buffers all = { 0 };
    bt__lower_values *in = &all.by_kind[BT_BUFFER_INPUT];
    const bt_value **owned;
    bt_builder_at(l->b, call->base.span, call->base.prov);
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(bt__lower_take_leaves(l, bt__lower_now(l, call->args[i]), in));
    l->space = l->kernels->targets[p->target]->space ? 1 + p->target : 0;
    for (uint32_t i = 0; i < in->len; i++)
        BT_TRY(bt__lower_in_space(l, in->at[i], l->space, &in->at[i]));
    BT_TRY(copy_parts(l, call, p, in));
    BT_TRY(find_owned(l, &p->lowering, &all, bt_type_nleaf(call->base.type), &owned));
    BT_TRY(bt__lower_alloc_leaves(l, call->base.type, owned,
                                  &all.by_kind[BT_BUFFER_OUTPUT], out));
    if (call->base.name) // outputs of programs are called after their values
        BT_TRY(bt_build_name(l->b, *out, call->base.name));
    dims->values = bt_type_shape(l->module->store, dims->func->nvar, call->type_args);
    if (!dims->values)
        return bt_store_why(l->ctx, l->module->store);
    BT_TRY(bt__lower_invoke(l, dims, p, &all));
    l->space = 0;
    return NULL;
}

bt_status bt__lower_call(struct bt__lowerer *l, const bt_call *call, const bt_value **out)
{
    const bt_global *global = bt_module_primitive(l->module, call);
    const struct bt__primitive *p;
    int is_scalar, is_view;
    if (!global)
        return lower_other(l, call, out);
    struct bt__lower_dims dims = { call, global->func, NULL };
    BT_TRY(is_scalar_call(l, global, &is_scalar));
    if (is_scalar)
        return bt__lower_control(l, &call->base, out);
    BT_TRY(is_view_call(l, call, global, &is_view));
    if (!is_view)
        BT_TRY(bt__place_primitive(l->kernels, l->module->store, global, &p));
    if (!is_view && bt__is_apart(l, call, p->target))
        return bt__lower_apart(l, call, global, out);
    BT_TRY(lower_checks(l, &dims));
    return is_view ? lower_view(l, call, out) : lower_kernels(l, &dims, p, out);
}
