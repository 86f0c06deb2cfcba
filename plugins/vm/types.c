/* Types of the program's values, as numbers. */
#include "types.h"

#include <string.h>

/* What the variables of a data type stand for. */
struct scope {
    const bt_adt_def *def;
    const uint32_t *args;
};

struct numbering {
    bt_ctx *ctx;
    struct vm_types *types;
    const bt_value *value;
    const struct scope *scope;
};

enum { MAX_TYPES = 1 << 20 };

static int equal(const struct vm_type *a, const struct vm_type *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank &&
           a->def == b->def && a->n == b->n &&
           (!a->n || memcmp(a->at, b->at, a->n * sizeof(*a->at)) == 0);
}

/* The fields are copied where the type is new. */
bt_status vm_type_intern(bt_ctx *ctx, struct vm_types *types, const struct vm_type *type,
                         uint32_t *out)
{
    for (uint32_t i = 0; i < types->n; i++) {
        if (equal(&types->at[i], type)) {
            *out = i;
            return NULL;
        }
    }
    uint32_t *at = BT_NEWS(types->arena, uint32_t, type->n);
    if (types->n == MAX_TYPES)
        return bt_fail(ctx, BT_ERR_LIMIT, "vm: the program has more than %d types",
                       MAX_TYPES);
    if (!at || !bt_vec_reserve(types->arena, (void **)&types->at, &types->cap, types->n,
                               sizeof(*types->at)))
        return bt_no_memory();
    if (type->n)
        memcpy(at, type->at, type->n * sizeof(*at));
    *out = types->n;
    types->at[types->n] = *type;
    types->at[types->n++].at = at;
    return NULL;
}

static bt_status fail(const struct numbering *n, const bt_type *type)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(n->ctx));
    bt_print_type(n->ctx, type, &text);
    const char *shown = bt_text_get(&text);
    return bt_fail_at(n->ctx, BT_ERR_UNSUPPORTED, n->types->store, n->value->span,
                      "vm: the type %s is not known before the program runs: functions "
                      "must be generic in dims only (pass monomorphize)",
                      shown ? shown : "");
}

/* What a variable of the data type around stands for; UINT32_MAX: it is no such. */
static uint32_t find(const struct numbering *n, const bt_type *var)
{
    for (uint32_t i = 0; n->scope && i < n->scope->def->nvar; i++) {
        if (n->scope->def->vars[i] == var)
            return n->scope->args[i];
    }
    return UINT32_MAX;
}

static bt_status number(const struct numbering *, const bt_type *, uint32_t *out);

static bt_status find_rank(const struct numbering *n, const bt_type *shape, uint32_t *out)
{
    const bt_shape_type *known = bt_as_shape_type(shape);
    const bt_type *rest = known ? known->rest : shape;
    *out = known ? known->n : 0;
    if (!rest)
        return NULL;
    const uint32_t var = find(n, rest);
    if (var == UINT32_MAX)
        return fail(n, shape);
    *out += n->types->at[var].rank;
    return *out <= BT_MAX_RANK ? NULL : fail(n, shape);
}

static bt_status find_dtype(const struct numbering *n, const bt_type *dtype,
                            bt_dtype *out)
{
    const uint32_t var = dtype->kind == BT_TYPE_DTYPE ? UINT32_MAX : find(n, dtype);
    *out = dtype->kind == BT_TYPE_DTYPE
               ? ((const bt_dtype_type *)(const void *)dtype)->dtype
           : var != UINT32_MAX ? n->types->at[var].dtype
                               : 0;
    return *out && bt_dtype_is_stored(*out) ? NULL : fail(n, dtype);
}

static bt_status number_tensor(const struct numbering *n, const bt_tensor_type *tensor,
                               uint32_t *out)
{
    struct vm_type type = { .kind = VM_TYPE_TENSOR };
    BT_TRY(find_dtype(n, tensor->dtype, &type.dtype));
    BT_TRY(find_rank(n, tensor->shape, &type.rank));
    if (!type.rank && !bt_dtype_is_moved(type.dtype))
        type.kind = VM_TYPE_SCALAR;
    return vm_type_intern(n->ctx, n->types, &type, out);
}

static bt_status number_list(const struct numbering *n, struct vm_type *type,
                             uint32_t first, uint32_t count, const bt_type *const *at,
                             const bt_type *last, uint32_t *out)
{
    bt_arena *scratch = bt_ctx_scratch(n->ctx);
    uint32_t *numbers = BT_NEWS(scratch, uint32_t, (size_t)count + 1);
    if (!numbers)
        return bt_no_memory();
    for (uint32_t i = first; i < count; i++)
        BT_TRY(number(n, at[i], &numbers[i - first]));
    if (last)
        BT_TRY(number(n, last, &numbers[count - first]));
    type->n = count - first + (last != NULL);
    type->at = numbers;
    return vm_type_intern(n->ctx, n->types, type, out);
}

/* Types nest to a bounded depth. */
static bt_status number(const struct numbering *n, const bt_type *type, uint32_t *out)
{
    struct vm_type made = { 0 };
    const bt_list_type *list = bt_as_list_type(type);
    const bt_func_type *func = bt_as_func_type(type);
    const uint32_t kind = bt_type_kind_of(type);
    if (type->kind == BT_TYPE_VAR && (*out = find(n, type)) != UINT32_MAX)
        return NULL;
    if (kind == BT_KIND_DIM)
        return vm_type_intern(n->ctx, n->types, &(struct vm_type){ .kind = VM_TYPE_DIM },
                              out);
    if (kind == BT_KIND_SHAPE) {
        made.kind = VM_TYPE_SHAPE;
        BT_TRY(find_rank(n, type, &made.rank));
        return vm_type_intern(n->ctx, n->types, &made, out);
    }
    if (kind == BT_KIND_DTYPE) {
        made.kind = VM_TYPE_DTYPE;
        BT_TRY(find_dtype(n, type, &made.dtype));
        return vm_type_intern(n->ctx, n->types, &made, out);
    }
    if (type->kind == BT_TYPE_TENSOR)
        return number_tensor(n, bt_as_tensor_type(type), out);
    if (type->kind == BT_TYPE_TUPLE || type->kind == BT_TYPE_REF) {
        made.kind = type->kind == BT_TYPE_TUPLE ? VM_TYPE_TUPLE : VM_TYPE_REF;
        return number_list(n, &made, 0, list->n, list->at, NULL, out);
    }
    if (func) {
        made.kind = VM_TYPE_FUNC;
        return number_list(n, &made, 0, func->narg, func->args, func->result, out);
    }
    made.kind = VM_TYPE_DATA;
    if (type->kind == BT_TYPE_ADT)
        made.def = ((const bt_adt_type *)(const void *)type)->def;
    if (type->kind == BT_TYPE_ADT)
        return vm_type_intern(n->ctx, n->types, &made, out);
    if (type->kind != BT_TYPE_APPLY || list->at[0]->kind != BT_TYPE_ADT)
        return fail(n, type);
    made.def = ((const bt_adt_type *)(const void *)list->at[0])->def;
    return number_list(n, &made, 1, list->n, list->at, NULL, out);
}

bt_status vm_type_number(bt_ctx *ctx, struct vm_types *types, const bt_type *type,
                         const bt_value *value, uint32_t *out)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    const struct numbering n = { .ctx = ctx, .types = types, .value = value };
    bt_status status = number(&n, type, out);
    bt_arena_release(scratch, mark);
    return status;
}

static bt_status number_fields(const struct numbering *n, const bt_ctor *ctor,
                               const uint32_t **out)
{
    uint32_t *fields = BT_NEWS(n->types->arena, uint32_t, ctor->nfield);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < ctor->nfield; i++)
        BT_TRY(number(n, ctor->fields[i], &fields[i]));
    *out = fields;
    return NULL;
}

bt_status vm_type_ctors(bt_ctx *ctx, struct vm_types *types, uint32_t type,
                        const bt_value *value)
{
    const bt_adt_def *def = types->at[type].def;
    if (types->at[type].ctors)
        return NULL;
    const uint32_t **ctors = BT_NEWS(types->arena, const uint32_t *, def->nctor);
    const struct scope scope = { def, types->at[type].at };
    const struct numbering n = { ctx, types, value, &scope };
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_status status = ctors ? NULL : bt_no_memory();
    for (uint32_t i = 0; !status && i < def->nctor; i++)
        status = number_fields(&n, def->ctors[i], &ctors[i]);
    bt_arena_release(scratch, mark);
    if (!status)
        types->at[type].ctors = ctors;
    return status;
}

int vm_type_is_scalar(const struct vm_types *types, uint32_t type)
{
    return types->at[type].kind == VM_TYPE_SCALAR;
}

static void print_list(const struct vm_types *types, const struct vm_type *type,
                       uint32_t n, const char *open, const char *close, bt_text *out)
{
    bt_text_addf(out, "%s", open);
    for (uint32_t i = 0; i < n; i++) {
        bt_text_addf(out, "%s", i ? ", " : "");
        vm_type_print(types, type->at[i], out);
    }
    bt_text_addf(out, "%s", close);
}

void vm_type_print(const struct vm_types *types, uint32_t number_, bt_text *out)
{
    const struct vm_type *type = &types->at[number_];
    char dtype[BT_DTYPE_NAME_SIZE];
    switch (type->kind) {
    case VM_TYPE_SCALAR:
    case VM_TYPE_TENSOR:
    case VM_TYPE_DTYPE:
        bt_text_addf(out, "%s", bt_dtype_name(type->dtype, dtype, sizeof(dtype)));
        if (type->kind == VM_TYPE_TENSOR)
            bt_text_addf(out, "[%u]", type->rank);
        break;
    case VM_TYPE_TUPLE: print_list(types, type, type->n, "(", ")", out); break;
    case VM_TYPE_REF: print_list(types, type, type->n, "Ref[", "]", out); break;
    case VM_TYPE_FUNC:
        print_list(types, type, type->n - 1, "fn (", ") -> ", out);
        vm_type_print(types, type->at[type->n - 1], out);
        break;
    case VM_TYPE_DATA:
        bt_text_addf(out, "%s", type->def->name);
        if (type->n)
            print_list(types, type, type->n, "[", "]", out);
        break;
    case VM_TYPE_SHAPE: bt_text_addf(out, "shape %u", type->rank); break;
    default: bt_text_addf(out, "dim"); break;
    }
}
