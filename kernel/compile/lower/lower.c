/*
 * Lowering: a function of primitive calls becomes one of storage and kernels.
 *
 *     %y = @fused_dense_relu(%x, %w);     %s = memory.alloc_storage(size=240);
 *                                         %y = memory.alloc_tensor(%s, ...);
 *                                         memory.invoke((%x, %w), (%y,), kernel=...);
 *
 * Every buffer has storage of its own; to share it is the planner's work.
 */
#include "compile/lower/lowerer.h"
#include "ir/dim.h"

bt_status bt__lower_refuse(struct bt__lowerer *l, const bt_value *value, const char *why)
{
    bt_text text;
    bt_text_init(&text, l->arena);
    bt_print_operand(value, &text);
    const char *name = bt_text_get(&text);
    return name ? bt_fail_at(l->ctx, BT_ERR_UNSUPPORTED, l->module->store, value->span,
                             "%s %s: executor interp runs it", name, why)
                : bt_no_memory();
}

/* ---- blocks ---- */

const bt_value *bt__lower_now(const struct bt__lowerer *l, const bt_value *old)
{
    const bt_value *value = bt_map_find(&l->values, old);
    return value ? value : bt_module_constant(l->module, old);
}

static bt_status lower_binding(struct bt__lowerer *l, const bt_value *value)
{
    const bt_value *out;
    if (value->kind == BT_VALUE_CALL) {
        BT_TRY(bt__lower_call(l, bt_as_call(value), &out));
    } else if (value->kind == BT_VALUE_TUPLE || value->kind == BT_VALUE_PROJ) {
        uint32_t n = bt_value_noperand(value);
        const bt_value **operands = BT_NEWS(l->arena, const bt_value *, n);
        if (!operands)
            return bt_no_memory();
        for (uint32_t i = 0; i < n; i++)
            operands[i] = bt__lower_now(l, bt_value_operand(value, i));
        if (value->kind == BT_VALUE_PROJ && bt_as_tuple(operands[0]))
            return bt_map_put(&l->values, value,
                              (void *)(uintptr_t)bt_as_tuple(operands[0])
                                  ->fields[bt_as_proj(value)->index])
                       ? NULL
                       : bt_no_memory();
        bt_builder_like(l->b, value);
        BT_TRY(bt_build_again(l->b, value, operands, NULL, NULL, &out));
    } else if (l->has_control_flow) {
        BT_TRY(bt__lower_control(l, value, &out));
    } else {
        return bt__lower_refuse(l, value, "is not a chain of calls");
    }
    return bt_map_put(&l->values, value, (void *)(uintptr_t)out) ? NULL : bt_no_memory();
}

bt_status bt__lower_region(struct bt__lowerer *l, const bt_block *block,
                           const bt_block **out)
{
    const uint32_t ncopied = l->copied.len, nmade = l->all_made.len;
    const bt_value *result;
    const bt_value *const *bindings = block->bindings;
    if (l->has_control_flow)
        BT_TRY(bt__lower_order(l->arena, block, &bindings));
    BT_TRY(bt_block_begin(l->b, block->nparam, block->params));
    for (uint32_t i = 0; i < block->nbinding; i++) {
        bt_status status = lower_binding(l, bindings[i]);
        if (status && status->code == BT_ERR_LIMIT && !status->place.file)
            status = bt_fail_at(l->ctx, status->code, l->module->store, bindings[i]->span,
                                "%s", status->message);
        BT_TRY(status);
    }
    BT_TRY(bt__lower_take(l, block->result, &result));
    while (l->copied.len > ncopied) { // behind the block they are not there
        const struct bt__lower_copy *copy = &l->copied.at[--l->copied.len];
        if (!bt_map_put(&l->copies[copy->space], copy->of, NULL))
            return bt_no_memory();
    }
    BT_TRY(bt__lower_forget_made(l, nmade));
    return bt_block_end(l->b, result, out);
}

/* ---- functions ---- */

/* What callers give and get is row major. */
static bt_status check_row_major(struct bt__lowerer *l, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (bt_type_layout(block->params[i]->base.type))
            return bt__lower_refuse(
                l, &block->params[i]->base,
                "is passed in with a layout, and compiled programs take and "
                "give row major alone");
    }
    return bt_type_layout(block->result->type)
               ? bt__lower_refuse(
                     l, block->result,
                     "is given back with a layout, and compiled programs take and give "
                     "row major alone")
               : NULL;
}

static bt_status lower_func(struct bt__lowerer *l, const bt_func *func,
                            const bt_func **out)
{
    bt_func fields = *func;
    BT_TRY(check_row_major(l, func->block));
    BT_TRY(bt__lower_region(l, func->block, &fields.block));
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

/* Adds the dims that shapes of tensors tell. Recursion is bounded by the depth of types. 0:
 * no memory. */
static int find_shown(const bt_type *type, bt_map *shown)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t factor;
    int ok = 1;
    for (uint32_t i = 0; tuple && ok && i < tuple->n; i++)
        ok = find_shown(tuple->at[i], shown);
    for (uint32_t i = 0; shape && ok && i < shape->n; i++) {
        const bt_type *var = bt__dim_shown(shape->dims[i], shown, &factor);
        ok = !var || bt_map_put(shown, var, shown);
    }
    return ok;
}

/* Type parameters are dims, and a call's arguments show each of them (bt_check_args). */
static bt_status check_dims(const struct bt__lowerer *l, const bt_global *entry)
{
    const bt_func *func = entry->func;
    bt_map shown;
    bt_map_init(&shown, l->arena, 0);
    for (uint32_t before = UINT32_MAX; before != shown.len;) {
        before = shown.len;
        for (uint32_t i = 0; func->nvar && i < func->block->nparam; i++) {
            if (!find_shown(func->block->params[i]->base.type, &shown))
                return bt_no_memory();
        }
    }
    for (uint32_t i = 0; i < func->nvar; i++) {
        const bt_var_type *var = (const bt_var_type *)(const void *)func->vars[i];
        const char *name = var->name ? var->name : "?";
        if (var->param.kind != BT_KIND_DIM)
            return bt_fail_at(l->ctx, BT_ERR_UNSUPPORTED, l->module->store, func->span,
                              "@%s has the type parameter %s, which is no dim: executor "
                              "interp runs it",
                              entry->name, name);
        if (!bt_map_find(&shown, var))
            return bt_fail_at(
                l->ctx, BT_ERR_UNSUPPORTED, l->module->store, func->span,
                "@%s: the shape of no argument tells its dim %s: give a number "
                "for it, --dim %s=N, or run it by executor interp",
                entry->name, name, name);
    }
    return NULL;
}

/* The primitive functions stay in the module: they say what the kernels compute. */
static bt_status lower_funcs(struct bt__lowerer *l, bt_module_builder *builder)
{
    for (uint32_t i = 0; i < l->todo.len; i++) {
        bt_global lowered = *l->todo.at[i];
        BT_TRY(lower_func(l, l->todo.at[i]->func, &lowered.func));
        BT_TRY(bt_module_builder_set(builder, &lowered, 0));
    }
    return NULL;
}

static bt_status init(struct bt__lowerer *l, const bt_global *entry)
{
    const uint32_t nspace = l->kernels->ntarget + 1;
    bt_map_init(&l->values, l->arena, 0);
    bt_map_init(&l->spaces, l->arena, 0);
    bt_map_init(&l->seen, l->arena, 0);
    bt_map_init(&l->apart, l->arena, 0);
    bt_map_init(&l->made, l->arena, 0);
    l->copies = BT_NEWS(l->arena, bt_map, nspace);
    if (!l->copies)
        return bt_no_memory();
    for (uint32_t i = 0; i < nspace; i++)
        bt_map_init(&l->copies[i], l->arena, 0);
    return bt_map_put(&l->seen, entry->func, l) && BT_PUSH(l->arena, &l->todo, entry)
               ? check_dims(l, entry)
               : bt_no_memory();
}

bt_status bt__lower_entry(struct bt__kernels *kernels, const bt_module *module,
                          const bt_global *entry, bt_module **out)
{
    struct bt__lowerer l = { .kernels = kernels,
                             .ctx = kernels->ctx,
                             .arena = kernels->arena,
                             .module = module,
                             .has_control_flow = kernels->has_control_flow };
    bt_module_builder *builder;
    BT_TRY(init(&l, entry));
    BT_TRY(bt_module_builder_create(l.ctx, module->store, module, &builder));
    bt_status status = bt_builder_create(l.ctx, module->store, module, &l.b);
    if (!status)
        status = lower_funcs(&l, builder);
    bt_builder_destroy(l.b);
    if (!status)
        return bt_module_builder_finish(builder, 1, out);
    bt_module_builder_destroy(builder);
    return status;
}
