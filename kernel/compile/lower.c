/*
 * Lowering: a function of primitive calls becomes one of storage and kernels.
 *
 *     %y = @fused_dense_relu(%x, %w);     %s = memory.alloc_storage(size=240);
 *                                         %y = memory.alloc_tensor(%s, ...);
 *                                         memory.invoke((%x, %w), (%y,), kernel=...);
 *
 * Every buffer has storage of its own; to share it is the planner's work.
 */
#include "compile/lower.h"

#include <inttypes.h>

struct lowerer {
    struct bt__kernels *kernels;
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    bt_builder *b;
    bt_map values;  /* old -> new */
    uint32_t space; /* where memory is taken: the host's 0, or 1 + a target's number */
    bt_map spaces;  /* tensor -> its space */
    bt_map *copies; /* by space: tensor of another -> its copy there */
};

typedef bt_vec(const bt_value *) value_list;

static bt_status refuse(struct lowerer *l, const bt_value *value, const char *why)
{
    bt_text text;
    bt_text_init(&text, l->arena);
    bt_print_operand(value, &text);
    const char *name = bt_text_get(&text);
    return name ? bt_fail_at(l->ctx, BT_ERR_UNSUPPORTED, l->module->store, value->span,
                             "%s %s: executor interp runs it", name, why)
                : bt_no_memory();
}

/* ---- buffers ---- */

/* Names of targets may have quotes. */
static void add_space(const struct lowerer *l, bt_text *out)
{
    const bt_target_use *use = l->kernels->targets[l->space - 1];
    const char *text = use->text;
    if (use->space->align > 64) // the attribute's default
        bt_text_addf(out, ", alignment=%" PRIu64, use->space->align);
    bt_text_addf(out, ", space=\"");
    for (; *text; text++)
        bt_text_addf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    bt_text_addf(out, "\"");
}

static bt_status alloc(struct lowerer *l, bt_dtype dtype, uint32_t rank,
                       const int64_t *dims, const bt_value **out)
{
    char name[BT_DTYPE_NAME_SIZE];
    int64_t nbytes = (int64_t)bt_dtype_nbytes(dtype);
    bt_text size, attrs;
    const bt_value *storage;
    for (uint32_t i = 0; i < rank; i++) {
        if (__builtin_mul_overflow(nbytes, dims[i], &nbytes))
            return bt_fail(l->ctx, BT_ERR_LIMIT, "a tensor's size overflows");
    }
    bt_text_init(&size, l->arena);
    bt_text_addf(&size, "size=%" PRId64, nbytes);
    if (l->space)
        add_space(l, &size);
    bt_text_init(&attrs, l->arena);
    bt_text_addf(&attrs, "shape=[");
    for (uint32_t i = 0; i < rank; i++)
        bt_text_addf(&attrs, i ? ", %" PRId64 : "%" PRId64, dims[i]);
    bt_text_addf(&attrs, "], dtype=\"%s\"", bt_dtype_name(dtype, name, sizeof(name)));
    if (!bt_text_get(&size) || !bt_text_get(&attrs))
        return bt_no_memory();
    BT_TRY(bt_build(l->b, "memory.alloc_storage", bt_text_get(&size), NULL, 0, &storage));
    BT_TRY(bt_build(l->b, "memory.alloc_tensor", bt_text_get(&attrs), &storage, 1, out));
    return bt_map_put(&l->spaces, *out, (void *)(uintptr_t)l->space) ? NULL
                                                                     : bt_no_memory();
}

/* ---- spaces ---- */

static uint32_t space_of(const struct lowerer *l, const bt_value *value)
{
    return (uint32_t)(uintptr_t)bt_map_find(&l->spaces, bt__tensor_of(value));
}

/* Constants are in every space: the executor takes them there once. */
static int is_constant(const bt_value *value)
{
    while (value->kind == BT_VALUE_PROJ)
        value = bt_as_proj(value)->tuple;
    return value->kind == BT_VALUE_CONST;
}

static bt_status copy_to(struct lowerer *l, const bt_value *value, uint32_t space,
                         const bt_value **out)
{
    const uint32_t before = l->space;
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    const bt_value *done;
    (void)bt_tensor_physical(value->type, &rank, dims);
    l->space = space;
    bt_status status = alloc(l, bt_tensor_dtype(value->type), rank, dims, out);
    l->space = before;
    BT_TRY(status);
    if (value->name)
        BT_TRY(bt_build_name(l->b, *out, value->name));
    const bt_value *both[] = { value, *out };
    BT_TRY(bt_build(l->b, "memory.copy", "", both, 2, &done));
    return bt_map_put(&l->copies[space], value, (void *)(uintptr_t)*out) ? NULL
                                                                         : bt_no_memory();
}

/* A tensor where it is needed; from one target to another by way of the host. */
static bt_status in_space(struct lowerer *l, const bt_value *value, uint32_t space,
                          const bt_value **out)
{
    *out = value;
    if (space_of(l, value) == space || is_constant(bt__tensor_of(value)))
        return NULL;
    if (space && space_of(l, value))
        BT_TRY(in_space(l, value, 0, &value));
    *out = bt_map_find(&l->copies[space], value);
    return *out ? NULL : copy_to(l, value, space, out);
}

/* The same value with all tensors in the host's memory. Recursion is bounded by the depth
 * of types. */
static bt_status on_host(struct lowerer *l, const bt_value *value, const bt_value **out)
{
    const bt_list_type *type = bt_as_tuple_type(value->type);
    const bt_tuple_value *tuple = bt_as_tuple(bt__tensor_of(value));
    if (!type)
        return in_space(l, value, 0, out);
    *out = value;
    if (!tuple)
        return NULL; // a parameter, a constant
    const bt_value **fields = BT_NEWS(l->arena, const bt_value *, tuple->nfield);
    int same = 1;
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        BT_TRY(on_host(l, tuple->fields[i], &fields[i]));
        same &= fields[i] == tuple->fields[i];
    }
    return same ? NULL : bt_build_tuple(l->b, tuple->nfield, fields, out);
}

/* Tensors for the leaves of a type, and the value that they make up. */
static bt_status alloc_leaves(struct lowerer *l, const bt_type *type, value_list *leaves,
                              const bt_value **out)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple) {
        if (!bt_tensor_physical(type, &rank, dims))
            return bt_fail(l->ctx, BT_ERR_UNSUPPORTED,
                           "a primitive function gives no tensors of known dims");
        BT_TRY(alloc(l, bt_tensor_dtype(type), rank, dims, out));
        return BT_PUSH(l->arena, leaves, *out) ? NULL : bt_no_memory();
    }
    const bt_value **fields = BT_NEWS(l->arena, const bt_value *, tuple->n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++)
        BT_TRY(alloc_leaves(l, tuple->at[i], leaves, &fields[i]));
    return bt_build_tuple(l->b, tuple->n, fields, out);
}

/* Tensors of an argument: fields of tuples are taken one by one. */
static bt_status take_leaves(struct lowerer *l, const bt_value *value, value_list *leaves)
{
    const bt_list_type *type = bt_as_tuple_type(value->type);
    const bt_tuple_value *tuple = bt_as_tuple(value);
    if (!type)
        return BT_PUSH(l->arena, leaves, value) ? NULL : bt_no_memory();
    for (uint32_t i = 0; i < type->n; i++) {
        const bt_value *field = tuple ? tuple->fields[i] : NULL;
        if (!field)
            BT_TRY(bt_build_proj(l->b, value, i, &field));
        BT_TRY(take_leaves(l, field, leaves));
    }
    return NULL;
}

/* ---- bindings ---- */

static const bt_value *now(const struct lowerer *l, const bt_value *old)
{
    const bt_value *value = bt_map_find(&l->values, old);
    return value ? value : old;
}

struct buffers {
    value_list by_kind[3]; /* BT_BUFFER_... */
};

static bt_status pick(struct lowerer *l, const struct buffers *all, uint32_t n,
                      const bt_kernel_buffer *which, const bt_value **out)
{
    const bt_value **fields = BT_NEWS(l->arena, const bt_value *, n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        fields[i] = all->by_kind[which[i].kind].at[which[i].index];
    return bt_build_tuple(l->b, n, fields, out);
}

/* What a kernel keeps of an input is in its output before. */
static bt_status copy_kept(struct lowerer *l, const bt_value *old,
                           const bt_kernel *kernel, bt_kernel_buffer *in,
                           const struct buffers *all)
{
    for (uint32_t i = 0; i < kernel->nover; i++) {
        const bt_kernel_over *over = &kernel->over[i];
        const bt_kernel_buffer *from = &in[over->in], *to = &kernel->out[over->out];
        const bt_value *copy, *args[] = { all->by_kind[from->kind].at[from->index],
                                          all->by_kind[to->kind].at[to->index] };
        if (!over->keeps)
            continue;
        bt_builder_at(l->b, old->span, old->prov);
        BT_TRY(bt_build(l->b, "memory.copy", "", args, 2, &copy));
        in[over->in] = *to;
    }
    return NULL;
}

static bt_status invoke(struct lowerer *l, const bt_value *old, const bt_kernel *kernel,
                        const struct buffers *all)
{
    const bt_value *args[3], *done;
    const int64_t workspace = (int64_t)kernel->workspace;
    bt_kernel_buffer *in = BT_NEWS(l->arena, bt_kernel_buffer, kernel->nin);
    uint32_t nover = 0;
    bt_text attrs;
    if (!in)
        return bt_no_memory();
    for (uint32_t i = 0; i < kernel->nin; i++)
        in[i] = kernel->in[i];
    if (workspace)
        BT_TRY(alloc(l, BT_UINT8, 1, &workspace, &args[2]));
    BT_TRY(copy_kept(l, old, kernel, in, all));
    bt_text_init(&attrs, l->arena);
    bt_text_addf(&attrs, "kernel=\"%s\"", kernel->name);
    for (uint32_t i = 0; i < kernel->nover; i++) {
        if (!kernel->over[i].keeps)
            bt_text_addf(&attrs, "%s%u, %u", nover++ ? ", " : ", over=[",
                         kernel->over[i].out, kernel->over[i].in);
    }
    if (nover)
        bt_text_addf(&attrs, "]");
    BT_TRY(pick(l, all, kernel->nin, in, &args[0]));
    BT_TRY(pick(l, all, kernel->nout, kernel->out, &args[1]));
    bt_builder_at(l->b, old->span, old->prov);
    return bt_text_get(&attrs) ? bt_build(l->b, "memory.invoke", bt_text_get(&attrs),
                                          args, workspace ? 3 : 2, &done)
                               : bt_no_memory();
}

static const bt_global *primitive_of(const struct lowerer *l, const bt_call *call)
{
    const bt_global *global = call->callee && call->callee->kind == BT_VALUE_GLOBAL
                                  ? bt_module_find(l->module, call->callee->name)
                                  : NULL;
    return global && global->kind == BT_GLOBAL_FUNC && bt_func_is_primitive(global->func)
               ? global
               : NULL;
}

/* A function that only changes the shape becomes no kernel. */
static bt_status lower_view(struct lowerer *l, const bt_call *call, const bt_value **out)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    bt_text attrs;
    const bt_value *of = now(l, call->args[0]);
    (void)bt_tensor_physical(call->base.type, &rank, dims);
    bt_text_init(&attrs, l->arena);
    bt_text_addf(&attrs, "shape=[");
    for (uint32_t i = 0; i < rank; i++)
        bt_text_addf(&attrs, i ? ", %" PRId64 : "%" PRId64, dims[i]);
    bt_text_addf(&attrs, "]");
    bt_builder_at(l->b, call->base.span, call->base.prov);
    return bt_text_get(&attrs)
               ? bt_build(l->b, "memory.view", bt_text_get(&attrs), &of, 1, out)
               : bt_no_memory();
}

static bt_status lower_call(struct lowerer *l, const bt_call *call, const bt_value **out)
{
    const bt_global *global = primitive_of(l, call);
    const struct bt__primitive *p;
    struct buffers all = { 0 };
    if (!global)
        return refuse(l, &call->base,
                      call->callee_kind == BT_CALLEE_OP
                          ? "is not computed by a primitive function, as pass fuse-ops "
                            "makes them, in pipeline fuse or what --fuse names"
                          : "is not computed by a primitive function");
    int is_view;
    BT_TRY(bt__func_is_view(l->ctx, l->arena, global->func, &is_view));
    if (is_view)
        return lower_view(l, call, out);
    BT_TRY(bt__place(l->kernels, l->module->store, global, &p));
    bt_builder_at(l->b, call->base.span, call->base.prov);
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(take_leaves(l, now(l, call->args[i]), &all.by_kind[BT_BUFFER_INPUT]));
    l->space = l->kernels->targets[p->target]->space ? 1 + p->target : 0;
    for (uint32_t i = 0; i < all.by_kind[BT_BUFFER_INPUT].len; i++)
        BT_TRY(in_space(l, all.by_kind[BT_BUFFER_INPUT].at[i], l->space,
                        &all.by_kind[BT_BUFFER_INPUT].at[i]));
    BT_TRY(alloc_leaves(l, call->base.type, &all.by_kind[BT_BUFFER_OUTPUT], out));
    if (call->base.name) // outputs of programs are called after their values
        BT_TRY(bt_build_name(l->b, *out, call->base.name));
    for (uint32_t i = 0; i < p->lowering.ntemp; i++) {
        const bt_value *temp;
        BT_TRY(alloc(l, BT_UINT8, 1, &p->lowering.temps[i], &temp));
        if (!BT_PUSH(l->arena, &all.by_kind[BT_BUFFER_TEMP], temp))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < p->lowering.nkernel; i++)
        BT_TRY(invoke(l, &call->base, l->kernels->kernels.at[p->first + i], &all));
    l->space = 0;
    return NULL;
}

static bt_status lower_binding(struct lowerer *l, const bt_value *value)
{
    const bt_value *out;
    if (value->kind == BT_VALUE_CALL) {
        BT_TRY(lower_call(l, bt_as_call(value), &out));
    } else if (value->kind == BT_VALUE_TUPLE || value->kind == BT_VALUE_PROJ) {
        uint32_t n = bt_value_noperand(value);
        const bt_value **operands = BT_NEWS(l->arena, const bt_value *, n);
        if (!operands)
            return bt_no_memory();
        for (uint32_t i = 0; i < n; i++)
            operands[i] = now(l, bt_value_operand(value, i));
        bt_builder_like(l->b, value);
        BT_TRY(bt_build_again(l->b, value, operands, NULL, NULL, &out));
    } else {
        return refuse(l, value, "is not a chain of calls");
    }
    return bt_map_put(&l->values, value, (void *)(uintptr_t)out) ? NULL : bt_no_memory();
}

/* What callers give and get is row major. */
static bt_status check_borders(struct lowerer *l, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (bt_type_layout(block->params[i]->base.type))
            return refuse(l, &block->params[i]->base, "is passed in with a layout");
    }
    return bt_type_layout(block->result->type)
               ? refuse(l, block->result, "is given back with a layout")
               : NULL;
}

static bt_status lower_block(struct lowerer *l, const bt_func *func, const bt_func **out)
{
    bt_func fields = *func;
    const bt_block *block = func->block;
    const bt_value *result;
    BT_TRY(check_borders(l, block));
    BT_TRY(bt_block_begin(l->b, block->nparam, block->params));
    for (uint32_t i = 0; i < block->nbinding; i++)
        BT_TRY(lower_binding(l, block->bindings[i]));
    BT_TRY(on_host(l, now(l, block->result), &result));
    BT_TRY(bt_block_end(l->b, result, &fields.block));
    return bt_func_create(l->ctx, l->module->store, &fields, out);
}

/* The next of its parameters that is a dim with a name; NULL: none. */
static const char *next_dim(const bt_func *func, uint32_t *i)
{
    while (*i < func->nvar) {
        const bt_type *type = func->vars[(*i)++];
        const bt_var_type *var = (const bt_var_type *)(const void *)type;
        if (bt_type_kind_of(type) == BT_KIND_DIM && !var->is_anonymous)
            return var->name;
    }
    return NULL;
}

const char *bt__open_dims(bt_arena *arena, const bt_func *func)
{
    bt_text text;
    uint32_t i = 0;
    bt_text_init(&text, arena);
    for (const char *name; (name = next_dim(func, &i));)
        bt_text_addf(&text, "%s --dim %s=N",
                     text.len ? "" : ": give numbers for its dims,", name);
    return bt_text_get(&text);
}

static bt_status fail_open(const struct lowerer *l, const bt_global *entry)
{
    const char *dims = bt__open_dims(l->arena, entry->func);
    if (!dims)
        return bt_no_memory();
    return bt_fail(l->ctx, BT_ERR_UNSUPPORTED,
                   "@%s has type parameters%s, or run it by executor interp", entry->name,
                   dims);
}

/* The primitive functions stay in the module: they say what the kernels compute. */
bt_status bt__lower_entry(struct bt__kernels *kernels, const bt_module *module,
                          const bt_global *entry, bt_module **out)
{
    struct lowerer l = {
        .kernels = kernels, .ctx = kernels->ctx, .arena = kernels->arena, .module = module
    };
    bt_module_builder *builder;
    bt_global lowered = *entry;
    bt_map_init(&l.values, l.arena, 0);
    bt_map_init(&l.spaces, l.arena, 0);
    l.copies = BT_NEWS(l.arena, bt_map, kernels->ntarget + 1);
    if (!l.copies)
        return bt_no_memory();
    for (uint32_t i = 0; i <= kernels->ntarget; i++)
        bt_map_init(&l.copies[i], l.arena, 0);
    if (entry->func->nvar)
        return fail_open(&l, entry);
    BT_TRY(bt_builder_create(l.ctx, module->store, module, &l.b));
    bt_status status = lower_block(&l, entry->func, &lowered.func);
    bt_builder_destroy(l.b);
    BT_TRY(status);
    BT_TRY(bt_module_builder_create(l.ctx, module->store, module, &builder));
    status = bt_module_builder_set(builder, &lowered, 0);
    if (!status)
        return bt_module_builder_finish(builder, 1, out);
    bt_module_builder_destroy(builder);
    return status;
}
