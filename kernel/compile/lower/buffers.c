/* Memory of a function being lowered: tensors in storage of their own, in the space that needs them. */
#include <inttypes.h>

#include <baton/op.h>

#include "compile/lower/lowerer.h"

/* ---- tensors ---- */

bt_status bt__lower_build(struct bt__lowerer *l, const char *name, const char *text,
                          const char *attr, const bt_type *term, uint32_t narg,
                          const bt_value *const *args, const bt_value **out)
{
    const bt_op *op;
    const void *attrs;
    BT_TRY(bt_op_get(l->ctx, name, &op));
    BT_TRY(bt_attrs_parse(l->ctx, l->module->store, op, text, &attrs));
    const bt_call call = { .op = op, .attrs = attrs };
    attrs = bt_attrs_with(l->arena, &call, attr, &term, sizeof(term));
    return attrs ? bt_build_op(l->b, op, attrs, narg, args, out) : bt_no_memory();
}

/* Names of targets may have quotes. */
static void add_space(const struct bt__lowerer *l, bt_text *out)
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

static bt_status alloc(struct bt__lowerer *l, bt_dtype dtype, const bt_shape_type *shape,
                       const bt_value **out)
{
    char name[BT_DTYPE_NAME_SIZE];
    bt_text storage_attrs, attrs;
    const bt_value *storage;
    const bt_type *size = bt_dims_nbytes(l->module->store, dtype, shape->n, shape->dims);
    if (!size)
        return bt_store_why(l->ctx, l->module->store);
    bt_text_init(&storage_attrs, l->arena);
    bt_text_addf(&storage_attrs, "size=0");
    if (l->space)
        add_space(l, &storage_attrs);
    bt_text_init(&attrs, l->arena);
    bt_text_addf(&attrs, "shape=[], dtype=\"%s\"",
                 bt_dtype_name(dtype, name, sizeof(name)));
    if (!bt_text_get(&storage_attrs) || !bt_text_get(&attrs))
        return bt_no_memory();
    BT_TRY(bt__lower_build(l, "memory.alloc_storage", bt_text_get(&storage_attrs), "size",
                           size, 0, NULL, &storage));
    BT_TRY(bt__lower_build(l, "memory.alloc_tensor", bt_text_get(&attrs), "shape",
                           &shape->base, 1, &storage, out));
    return bt_map_put(&l->spaces, *out, (void *)(uintptr_t)l->space) ? NULL
                                                                     : bt_no_memory();
}

bt_status bt__lower_alloc(struct bt__lowerer *l, const bt_type *size,
                          const bt_value **out)
{
    const bt_type *shape = size ? bt_type_shape(l->module->store, 1, &size) : NULL;
    return shape ? alloc(l, BT_UINT8, bt_as_shape_type(shape), out)
                 : bt_store_why(l->ctx, l->module->store);
}

bt_status bt__lower_copy(struct bt__lowerer *l, const bt_value *value,
                         const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_memory(value->type);
    const bt_value *done;
    if (!shape)
        return bt_store_why(l->ctx, l->module->store);
    BT_TRY(alloc(l, bt_tensor_dtype(value->type), shape, out));
    const bt_value *both[] = { value, *out };
    return bt_build(l->b, "memory.copy", "", both, 2, &done);
}

/* ---- spaces ---- */

static uint32_t space_of(const struct bt__lowerer *l, const bt_value *value)
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

static bt_status copy_to(struct bt__lowerer *l, const bt_value *value, uint32_t space,
                         const bt_value **out)
{
    const uint32_t before = l->space;
    l->space = space;
    bt_status status = bt__lower_copy(l, value, out);
    l->space = before;
    BT_TRY(status);
    if (value->name)
        BT_TRY(bt_build_name(l->b, *out, value->name));
    const struct bt__lower_copy copied = { space, value };
    return bt_map_put(&l->copies[space], value, (void *)(uintptr_t)*out) &&
                   BT_PUSH(l->arena, &l->copied, copied)
               ? NULL
               : bt_no_memory();
}

bt_status bt__lower_in_space(struct bt__lowerer *l, const bt_value *value, uint32_t space,
                             const bt_value **out)
{
    *out = value;
    if (space_of(l, value) == space || is_constant(bt__tensor_of(value)))
        return NULL;
    if (space && space_of(l, value))
        BT_TRY(bt__lower_in_space(l, value, 0, &value));
    *out = bt_map_find(&l->copies[space], value);
    return *out ? NULL : copy_to(l, value, space, out);
}

/* Recursion is bounded by the depth of types. */
bt_status bt__lower_on_host(struct bt__lowerer *l, const bt_value *value,
                            const bt_value **out)
{
    const bt_list_type *type = bt_as_tuple_type(value->type);
    const bt_tuple_value *tuple = bt_as_tuple(bt__tensor_of(value));
    if (!type)
        return bt__lower_in_space(l, value, 0, out);
    *out = value;
    if (!tuple)
        return NULL; // a parameter, a constant
    const bt_value **fields = BT_NEWS(l->arena, const bt_value *, tuple->nfield);
    int same = 1;
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        BT_TRY(bt__lower_on_host(l, tuple->fields[i], &fields[i]));
        same &= fields[i] == tuple->fields[i];
    }
    return same ? NULL : bt_build_tuple(l->b, tuple->nfield, fields, out);
}

/* ---- leaves ---- */

bt_status bt__lower_alloc_leaves(struct bt__lowerer *l, const bt_type *type,
                                 const bt_value *const *owned, bt__lower_values *leaves,
                                 const bt_value **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple) {
        const bt_shape_type *shape = bt_tensor_memory(type);
        if (!shape && bt_tensor_shape(type))
            return bt_store_why(l->ctx, type->store);
        if (!shape)
            return bt_fail(l->ctx, BT_ERR_UNSUPPORTED,
                           "a primitive function gives what is no tensor of known rank");
        if (owned[leaves->len])
            BT_TRY(bt_build(l->b, "memory.own", "", &owned[leaves->len], 1, out));
        else
            BT_TRY(alloc(l, bt_tensor_dtype(type), shape, out));
        return BT_PUSH(l->arena, leaves, *out) ? NULL : bt_no_memory();
    }
    const bt_value **fields = BT_NEWS(l->arena, const bt_value *, tuple->n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++)
        BT_TRY(bt__lower_alloc_leaves(l, tuple->at[i], owned, leaves, &fields[i]));
    return bt_build_tuple(l->b, tuple->n, fields, out);
}

bt_status bt__lower_take_leaves(struct bt__lowerer *l, const bt_value *value,
                                bt__lower_values *leaves)
{
    const bt_list_type *type = bt_as_tuple_type(value->type);
    const bt_tuple_value *tuple = bt_as_tuple(value);
    if (!type)
        return BT_PUSH(l->arena, leaves, value) ? NULL : bt_no_memory();
    for (uint32_t i = 0; i < type->n; i++) {
        const bt_value *field = tuple ? tuple->fields[i] : NULL;
        if (!field)
            BT_TRY(bt_build_proj(l->b, value, i, &field));
        BT_TRY(bt__lower_take_leaves(l, field, leaves));
    }
    return NULL;
}
