/*
 * What memory.invoke must give a kernel, as a type over the dims of its primitive function:
 *
 *     fn <n: Dim>((Tensor[(n, 4), float32], Tensor[(4), float32]), (Tensor[(n, 4), float32],),
 *                 Tensor[(64*n), uint8]) -> ()
 *
 * what it reads, what it writes, its workspace. Machine code does not say what it takes: an
 * artifact has this beside it.
 */
#include "compile/lower/lower.h"

#include <baton/op.h>

#include <string.h>

#include "ir/dim.h"

/* The n-th leaf of a type, depth first; *n counts down. Recursion is bounded by the depth
 * of types. */
static const bt_type *find_leaf(const bt_type *type, uint32_t *n)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_type *found = NULL;
    if (!tuple)
        return (*n)-- ? NULL : type;
    for (uint32_t i = 0; !found && i < tuple->n; i++)
        found = find_leaf(tuple->at[i], n);
    return found;
}

const bt_type *bt__buffer_type(const bt_func *func, const bt_kernel_buffer *b)
{
    const bt_block *block = func->block;
    uint32_t n = b->index;
    const bt_type *found = NULL;
    if (b->kind == BT_BUFFER_OUTPUT)
        return find_leaf(block->result->type, &n);
    for (uint32_t i = 0; b->kind == BT_BUFFER_INPUT && !found && i < block->nparam; i++)
        found = find_leaf(block->params[i]->base.type, &n);
    return found;
}

/* ---- writing ---- */

static const bt_type *bytes_type(bt_store *store, const bt_type *nbytes)
{
    return bt_type_tensor(store, bt_type_shape(store, 1, &nbytes),
                          bt_type_dtype(store, BT_UINT8));
}

/* As it lies in memory. */
static const bt_type *memory_type(const struct bt__primitive *p, bt_store *store,
                                  const bt_kernel_buffer *b)
{
    const bt_type *type = bt__buffer_type(p->func, b);
    if (!type)
        return bytes_type(store, p->lowering.temps[b->index]);
    const bt_shape_type *shape = bt_tensor_memory(type);
    return shape ? bt_type_tensor(store, &shape->base,
                                  bt_type_dtype(store, bt_tensor_dtype(type)))
                 : NULL;
}

static const bt_type *memory_types(bt_arena *arena, const struct bt__primitive *p,
                                   bt_store *store, uint32_t n,
                                   const bt_kernel_buffer *buffers)
{
    const bt_type **types = BT_NEWS(arena, const bt_type *, n);
    for (uint32_t i = 0; types && i < n; i++) {
        if (!(types[i] = memory_type(p, store, &buffers[i])))
            return NULL;
    }
    return types ? bt_type_tuple(store, n, types) : NULL;
}

bt_status bt__kernel_type(bt_ctx *ctx, bt_arena *arena, const struct bt__primitive *p,
                          const bt_kernel *kernel, const char **out)
{
    bt_store *store = p->func->block->result->type->store;
    const bt_type *args[3] = { memory_types(arena, p, store, kernel->nin, kernel->in),
                               memory_types(arena, p, store, kernel->nout, kernel->out),
                               kernel->workspace ? bytes_type(store, kernel->workspace)
                                                 : NULL };
    bt_text text;
    bt_text_init(&text, arena);
    const bt_type *type = args[0] && args[1] && (args[2] || !kernel->workspace)
                              ? bt_func_type_close(store, p->func->nvar, p->func->vars,
                                                   kernel->workspace ? 3 : 2, args,
                                                   bt_type_tuple(store, 0, NULL), 0, NULL)
                              : NULL;
    if (!type)
        return bt_store_why(ctx, store);
    bt_print_type(ctx, type, &text);
    *out = bt_text_get(&text);
    return *out ? NULL : bt_no_memory();
}

/* ---- comparing ---- */

/* Whether values of a dim are among those of a type parameter. */
static int is_in_range(bt_store *store, const bt_type *dim, const bt_type_param *param)
{
    return bt_check_decide(store, BT_CHECK_LESS_EQUAL, bt_dim(store, param->low), dim) ==
               1 &&
           (param->high == INT64_MAX ||
            bt_check_decide(store, BT_CHECK_LESS_EQUAL, dim,
                            bt_dim(store, param->high)) == 1) &&
           bt_check_decide(store, BT_CHECK_DIVISIBLE, dim, bt_dim(store, param->step)) ==
               1;
}

static int is_same_memory(bt_store *store, const bt_type *given, const bt_type *taken)
{
    const bt_type *size = bt_tensor_size(given), *expected = bt_tensor_size(taken);
    return size && expected && bt_tensor_dtype(given) == bt_tensor_dtype(taken) &&
           bt_dim_equal(store, size, expected) == 1;
}

/* A workspace, or tuples of buffers. */
static int is_same_list(bt_store *store, const bt_type *given, const bt_type *taken)
{
    const bt_list_type *of = bt_as_tuple_type(given), *to = bt_as_tuple_type(taken);
    if (!of || !to)
        return !of && !to && is_same_memory(store, given, taken);
    int same = of->n == to->n;
    for (uint32_t i = 0; same && i < of->n; i++)
        same = is_same_memory(store, of->at[i], to->at[i]);
    return same;
}

int bt_value_is_memory_call(const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    return call && call->callee_kind == BT_CALLEE_OP &&
           strncmp(call->op->name, "memory.", strlen("memory.")) == 0;
}

const char *bt_invoke_kernel(const bt_value *value)
{
    const bt_call *call = bt_as_op_call(value, "memory.invoke");
    const char *const *name =
        call ? bt_attr_find(call->op, call->attrs, "kernel", BT_ATTR_STRING) : NULL;
    return name ? *name : NULL;
}

const bt_shape_type *bt_invoke_dims(const bt_call *call)
{
    const bt_type *const *dims =
        bt_attr_find(call->op, call->attrs, "dims", BT_ATTR_SHAPE);
    return dims && *dims ? bt_as_shape_type(*dims) : NULL;
}

const char *bt__kernel_refuses(const bt_func_type *type, const bt_call *call)
{
    bt_store *store = call->base.type->store;
    const bt_shape_type *dims = bt_invoke_dims(call);
    if (!dims || dims->rest || dims->n != type->nparam)
        return "gives its kernel another number of dims than it takes";
    for (uint32_t i = 0; i < dims->n; i++) {
        if (!is_in_range(store, dims->dims[i], &type->params[i]))
            return "gives its kernel a dim that may be none of those it takes";
    }
    const bt_func_type *taken = bt_func_type_open(store, type, dims->dims);
    if (!taken)
        return "gives its kernel dims that overflow";
    if (call->narg != taken->narg)
        return "does not agree with its kernel on whether there is a workspace";
    static const char *const whys[] = {
        "gives its kernel other buffers to read than it takes",
        "gives its kernel other buffers to write than it takes",
        "gives its kernel a workspace of another size than it takes",
    };
    for (uint32_t i = 0; i < call->narg; i++) {
        if (!is_same_list(store, call->args[i]->type, taken->args[i]))
            return whys[i];
    }
    return NULL;
}

bt_status bt__kernel_type_read(bt_ctx *ctx, bt_store *store, const char *text,
                               const bt_func_type **out)
{
    const bt_type *type;
    BT_TRY(bt_parse_type(ctx, store, text, &type));
    *out = bt_as_func_type(type);
    int ok = *out && ((*out)->narg == 2 || (*out)->narg == 3) && !(*out)->nwhere;
    for (uint32_t i = 0; ok && i < (*out)->nparam; i++)
        ok = (*out)->params[i].kind == BT_KIND_DIM;
    return ok ? NULL
              : bt_fail(ctx, BT_ERR_FORMAT,
                        "not the type of a kernel, fn <dims>((ins), (outs)[, workspace]) "
                        "-> (): %s",
                        text);
}
