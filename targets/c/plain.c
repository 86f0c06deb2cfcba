/* Operators that no formula gives: the functions of their facets, called from kernels. */
#include "plain.h"

#include <inttypes.h>
#include <stdio.h>

#include "dims.h"

/* Plain C goes by the bytes of elements. Recursion is bounded by the depth of types. */
static bt_status refuse_packed(bt_ctx *ctx, const bt_call *call, const bt_type *type)
{
    char name[BT_DTYPE_NAME_SIZE];
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_dtype dtype = bt_tensor_dtype(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(refuse_packed(ctx, call, tuple->at[i]));
    return bt_dtype_is_packed(dtype)
               ? bt_fail_at(ctx, BT_ERR_UNSUPPORTED, call->base.type->store,
                            call->base.span,
                            "%s is plain C, which takes no elements of %s",
                            call->op->name, bt_dtype_name(dtype, name, sizeof(name)))
               : NULL;
}

bt_status c_plain_find(bt_ctx *ctx, bt_arena *arena, const bt_call *call,
                       struct c_plain *out)
{
    const void *facet;
    bt_formula_call formula;
    int64_t *attrs;
    *out = (struct c_plain){ 0 };
    if (call->callee_kind != BT_CALLEE_OP)
        return NULL;
    BT_TRY(bt_op_facet(ctx, call->op, "plain", &facet));
    if (!facet)
        return NULL;
    BT_TRY(refuse_packed(ctx, call, call->base.type));
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(refuse_packed(ctx, call, call->args[i]->type));
    attrs = BT_NEWS(arena, int64_t, BT_PLAIN_ATTRS);
    if (!attrs)
        return bt_no_memory();
    out->facet = facet;
    out->attrs = attrs;
    BT_TRY(bt_call_formula(arena, call, &formula));
    bt_status said = out->facet->attrs ? out->facet->attrs(ctx, &formula, attrs) : NULL;
    if (said && said->code == BT_ERR_UNSUPPORTED)
        return bt_fail_at(ctx, said->code, call->base.type->store, call->base.span, "%s",
                          said->message);
    const bt_shape_type *shape = call->narg ? bt_tensor_shape(call->args[0]->type) : NULL;
    if (!said && out->facet->workspace &&
        (!shape || attrs[0] < 0 || attrs[0] >= (int64_t)shape->n))
        return bt_fail(
            ctx, BT_ERR_PLUGIN,
            "%s: its plain C has a workspace for an axis, but attrs[0], %" PRId64
            ", is none of argument 0",
            call->op->name, attrs[0]);
    return said;
}

void c_plain_attrs(const struct c_plain *plain, bt_text *out)
{
    bt_text_addf(out, "    static const int64_t attrs[] = {");
    for (uint32_t i = 0; i < BT_PLAIN_ATTRS; i++) {
        if (plain->attrs[i] == INT64_MIN)
            bt_text_addf(out, "%s INT64_MIN", i ? "," : "");
        else
            bt_text_addf(out, "%s INT64_C(%" PRId64 ")", i ? "," : "", plain->attrs[i]);
    }
    bt_text_addf(out, " };\n");
}

int c_plain_use(struct c_plain_texts *t, const bt_plain_facet *facet)
{
    struct c_functions *of = NULL, fresh;
    for (uint32_t i = 0; i < t->of.len; i++) {
        if (t->of.at[i].blocks == facet->blocks)
            of = &t->of.at[i];
    }
    if (!of && (!c_functions_init(&fresh, t->arena, facet->blocks) ||
                !BT_PUSH(t->arena, &t->of, fresh)))
        return 0;
    of = of ? of : &t->of.at[t->of.len - 1];
    return c_functions_use(of, facet->symbol);
}

void c_plain_use_in(struct c_plain_texts *t, struct c_functions *functions)
{
    for (uint32_t i = 0; i < t->of.len; i++) {
        const struct c_functions *of = &t->of.at[i];
        c_functions_close(&t->of.at[i]);
        for (uint32_t k = 0; k < of->n; k++) {
            if (of->is_used[k])
                c_functions_use_in(functions, of->blocks[k]);
        }
    }
}

void c_plain_write(struct c_plain_texts *t, bt_text *out)
{
    for (uint32_t i = 0; i < t->of.len; i++)
        c_functions_write(&t->of.at[i], out);
}

/* ---- kernels ---- */

/* The parameter that an operand is; all of them: it is none. */
static uint32_t param_of(const bt_block *block, const bt_value *value)
{
    uint32_t i = 0;
    while (i < block->nparam && &block->params[i]->base != value)
        i++;
    return i;
}

bt_status c_plain_lower(bt_ctx *ctx, bt_arena *arena, const bt_func *primitive,
                        struct c_plain_kernel **out, const bt_type **workspace)
{
    const bt_block *block = primitive->block;
    const bt_call *call = block->nbinding == 1 ? bt_as_call(block->bindings[0]) : NULL;
    struct c_plain plain = { 0 };
    if (!call || block->result != &call->base)
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++) {
        const bt_value *arg = call->args[i];
        if (!bt_tensor_shape(arg->type) ||
            (arg->kind == BT_VALUE_CONST ? !bt_const_tensor(arg)
                                         : param_of(block, arg) == block->nparam))
            return NULL;
    }
    BT_TRY(c_plain_find(ctx, arena, call, &plain));
    if (!plain.facet)
        return NULL;
    *out = BT_NEW(arena, struct c_plain_kernel);
    if (!*out)
        return bt_no_memory();
    **out = (struct c_plain_kernel){ plain, primitive };
    if (plain.facet->workspace) {
        const bt_shape_type *shape = bt_tensor_shape(call->args[0]->type);
        bt_store *store = primitive->result->store;
        const bt_type *size = bt_dim_scale(store, shape->dims[plain.attrs[0]],
                                           (int64_t)plain.facet->workspace, 0);
        size = size ? bt_dim_ceildiv(store, size, bt_dim(store, 64)) : NULL;
        *workspace = size ? bt_dim_scale(store, size, 64, 0) : NULL;
        if (!*workspace)
            return bt_store_why(ctx, store);
    }
    return NULL;
}

/* Words for the parameters of a function. */
static bt_status name_dims(bt_arena *arena, const bt_func *func, struct c_dim_names *out)
{
    const char **words = BT_NEWS(arena, const char *, func->nvar);
    for (uint32_t i = 0; words && i < func->nvar; i++) {
        bt_text text;
        bt_text_init(&text, arena);
        bt_text_addf(&text, "call->dims[%" PRIu32 "]", i);
        words[i] = bt_text_get(&text);
        if (!words[i])
            return bt_no_memory();
    }
    *out = (struct c_dim_names){ func->nvar, func->vars, words };
    return words ? NULL : bt_no_memory();
}

/* "    int64_t in_dims0[2] = { ... };" */
static bt_status add_dims(bt_ctx *ctx, const struct c_dim_names *names, const char *name,
                          uint32_t index, const bt_shape_type *shape, bt_text *out)
{
    bt_text_addf(out, "    int64_t %s_dims%" PRIu32 "[%" PRIu32 "] = {", name, index,
                 shape->n ? shape->n : 1);
    for (uint32_t k = 0; k < shape->n; k++) {
        bt_text_addf(out, "%s ", k ? "," : "");
        BT_TRY(c_dim_text(ctx, names, shape->dims[k], out));
    }
    bt_text_addf(out, shape->n ? " };\n" : " 0 };\n");
    return NULL;
}

/* "    in[0] = (bt_plain_tensor){ data, dims, rank, nbytes, kind };" */
static void add_tensor(const char *name, uint32_t index, const char *data,
                       const bt_type *type, bt_text *out)
{
    const bt_dtype dtype = bt_tensor_dtype(type);
    bt_text_addf(out,
                 "    %s[%" PRIu32 "] = (bt_plain_tensor){ %s, %s_dims%" PRIu32
                 ", %" PRIu32 ", %zu, '%c' };\n",
                 name, index, data, name, index, bt_tensor_shape(type)->n,
                 bt_dtype_nbytes(dtype), bt_plain_kind(dtype));
}

/* The elements of a constant operand, as words of their size. */
static void add_constant(uint32_t index, const bt_tensor *t, bt_text *out)
{
    const size_t n = bt_dtype_nbytes(t->dtype);
    bt_text_addf(out, "    uint%zu_t data%" PRIu32 "[] = {", 8 * n, index);
    for (int64_t i = 0; i < t->nelem; i++) {
        uint64_t bits = 0;
        for (size_t k = 0; k < n; k++)
            bits |= (uint64_t)((const unsigned char *)t->data)[(size_t)i * n + k]
                    << (8 * k);
        bt_text_addf(out, "%s UINT%zu_C(0x%" PRIx64 ")", i ? "," : "", 8 * n, bits);
    }
    bt_text_addf(out, t->nelem ? " };\n" : " 0 };\n");
}

static bt_status add_inputs(bt_ctx *ctx, const struct c_dim_names *names,
                            const bt_func *func, const bt_call *call, bt_text *out)
{
    for (uint32_t i = 0; i < call->narg; i++) {
        if (call->args[i]->kind == BT_VALUE_CONST)
            add_constant(i, bt_const_tensor(call->args[i]), out);
        BT_TRY(add_dims(ctx, names, "in", i, bt_tensor_shape(call->args[i]->type), out));
    }
    bt_text_addf(out, "    bt_plain_tensor in[%" PRIu32 "];\n",
                 call->narg ? call->narg : 1);
    for (uint32_t i = 0; i < call->narg; i++) {
        const int is_const = call->args[i]->kind == BT_VALUE_CONST;
        char data[40];
        snprintf(data, sizeof(data),
                 is_const ? "data%" PRIu32 : "call->buffers[%" PRIu32 "]",
                 is_const ? i : param_of(func->block, call->args[i]));
        add_tensor("in", i, data, call->args[i]->type, out);
    }
    return NULL;
}

static bt_status add_outputs(bt_ctx *ctx, const struct c_dim_names *names,
                             const bt_func *func, bt_text *out)
{
    const bt_list_type *tuple = bt_as_tuple_type(func->result);
    const bt_type *const *types = tuple ? tuple->at : &func->result;
    const uint32_t n = tuple ? tuple->n : 1;
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(add_dims(ctx, names, "out", i, bt_tensor_shape(types[i]), out));
    bt_text_addf(out, "    bt_plain_tensor out[%" PRIu32 "];\n", n);
    for (uint32_t i = 0; i < n; i++) {
        char data[40];
        snprintf(data, sizeof(data), "call->buffers[%" PRIu32 "]",
                 func->block->nparam + i);
        add_tensor("out", i, data, types[i], out);
    }
    return NULL;
}

bt_status c_plain_kernel_add(bt_ctx *ctx, bt_arena *arena,
                             const struct c_plain_kernel *kernel, const char *symbol,
                             bt_text *out)
{
    const bt_func *func = kernel->primitive;
    const bt_call *call = bt_as_call(func->block->result);
    const bt_list_type *tuple = bt_as_tuple_type(func->result);
    struct c_dim_names names;
    BT_TRY(name_dims(arena, func, &names));
    bt_text_addf(out,
                 "\nint32_t %s(const bt_kernel_call *call);\n"
                 "int32_t %s(const bt_kernel_call *call)\n{\n",
                 symbol, symbol);
    c_plain_attrs(&kernel->plain, out);
    BT_TRY(add_inputs(ctx, &names, func, call, out));
    BT_TRY(add_outputs(ctx, &names, func, out));
    bt_text_addf(out,
                 "    const bt_plain_call plain = { %" PRIu32 ", %" PRIu32
                 ", in, out, attrs, call->workspace, 0, 0 };\n"
                 "    return %s(&plain);\n}\n",
                 call->narg, tuple ? tuple->n : 1, kernel->plain.facet->symbol);
    return out->failed ? bt_no_memory() : NULL;
}
