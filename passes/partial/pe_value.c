/* Values of which something is known, and the operands that they are where they are needed. */
#include "partial/pe_pieces.h"

static bt_status create(struct pe *p, uint32_t kind, const bt_type *type,
                        struct pe_value **out)
{
    *out = BT_NEW(p->arena, struct pe_value);
    if (!*out)
        return bt_no_memory();
    (*out)->kind = kind;
    (*out)->type = type;
    (*out)->home = p->block;
    return NULL;
}

bt_status pe_dynamic(struct pe *p, const bt_value *operand, struct pe_value **out)
{
    BT_TRY(create(p, PE_DYNAMIC, operand->type, out));
    (*out)->operand = operand;
    return NULL;
}

bt_status pe_const(struct pe *p, const bt_value *operand, const bt_object *object,
                   struct pe_value **out)
{
    BT_TRY(create(p, PE_CONST, operand->type, out));
    (*out)->operand = operand;
    (*out)->object = object;
    (*out)->home = NULL;
    return NULL;
}

static void add_sizes(struct pe_value *v, uint32_t n, struct pe_value *const *fields)
{
    v->n = n;
    v->fields = fields;
    v->size = 1;
    for (uint32_t i = 0; i < n; i++) {
        v->size += fields[i]->size < UINT32_MAX ? fields[i]->size : UINT32_MAX;
        v->has_cells |= fields[i]->has_cells;
    }
}

bt_status pe_tuple(struct pe *p, const bt_value *like, uint32_t n,
                   struct pe_value *const *fields, struct pe_value **out)
{
    const bt_type **types = BT_NEWS(p->arena, const bt_type *, n);
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        types[i] = fields[i]->type;
    const bt_type *type = bt_type_tuple(p->store, n, types);
    if (!type)
        return bt_store_why(p->ctx, p->store);
    BT_TRY(create(p, PE_TUPLE, type, out));
    (*out)->like = like;
    add_sizes(*out, n, fields);
    return NULL;
}

bt_status pe_data(struct pe *p, const bt_value *like, const bt_type *type, int is_exact,
                  const bt_ctor *ctor, uint32_t n, struct pe_value *const *fields,
                  struct pe_value **out)
{
    BT_TRY(create(p, PE_DATA, type, out));
    (*out)->like = like;
    (*out)->is_exact = is_exact != 0;
    (*out)->ctor = ctor;
    add_sizes(*out, n, fields);
    return NULL;
}

bt_status pe_cell(struct pe *p, const bt_value *like, const bt_type *type,
                  struct pe_value *first, struct pe_value **out)
{
    BT_TRY(create(p, PE_CELL, type, out));
    (*out)->like = like;
    (*out)->first = first;
    (*out)->has_cells = 1;
    (*out)->cell = p->cells.len;
    return BT_PUSH(p->arena, &p->cells, *out) ? NULL : bt_no_memory();
}

/* A field of a constant. */
static bt_status const_field(struct pe *p, const struct pe_value *tuple, uint32_t index,
                             struct pe_value **out)
{
    const bt_object *object = bt_object_as_tuple(tuple->object)->fields[index];
    const bt_value *operand;
    BT_TRY(bt_build_const(p->maker, object, &operand));
    return pe_const(p, operand, object, out);
}

bt_status pe_field(struct pe *p, const bt_value *like, struct pe_value *tuple,
                   uint32_t index, struct pe_value **out)
{
    const bt_list_type *type = bt_as_tuple_type(tuple->type);
    if (tuple->kind == PE_TUPLE) {
        *out = tuple->fields[index];
        return NULL;
    }
    if (tuple->kind == PE_CONST)
        return const_field(p, tuple, index, out);
    BT_TRY(create(p, PE_DYNAMIC, type->at[index], out));
    (*out)->like = like;
    (*out)->whole = tuple;
    (*out)->index = index;
    return NULL;
}

/* ---- old values ---- */

static bt_status get_global(struct pe *p, const bt_value *old, struct pe_value **out)
{
    const bt_global *global = bt_module_global(p->module, old);
    const bt_const *constant = bt_as_const(bt_module_constant(p->module, old));
    if (constant)
        return pe_const(p, old, constant->object, out);
    BT_TRY(pe_dynamic(p, old, out));
    (*out)->home = NULL;
    if (global && global->kind == BT_GLOBAL_FUNC) {
        (*out)->kind = PE_GLOBAL;
        (*out)->global = global;
    }
    return NULL;
}

bt_status pe_get(struct pe *p, const struct pe_activation *at, const bt_value *old,
                 struct pe_value **out)
{
    if (old->kind == BT_VALUE_CONST)
        return pe_const(p, old, bt_as_const(old)->object, out);
    if (old->kind == BT_VALUE_GLOBAL)
        return get_global(p, old, out);
    for (; at; at = at->outer) {
        *out = bt_map_find(&at->values, old);
        if (*out)
            return NULL;
    }
    return bt_fail_at(p->ctx, BT_ERR_INTERNAL, p->store, old->span,
                      "partial-eval: %%%s is used before it is known",
                      old->name ? old->name : "_");
}

bt_status pe_put(struct pe_activation *at, const bt_value *old, struct pe_value *value)
{
    return bt_map_put(&at->values, old, value) ? NULL : bt_no_memory();
}

int pe_is_known(const struct pe_value *v)
{
    int64_t number;
    if (v->kind != PE_TUPLE)
        return v->kind == PE_GLOBAL || v->kind == PE_DATA || v->kind == PE_CLOSURE ||
               v->kind == PE_CELL || pe_integer(v, &number);
    return v->n > 0;
}

int pe_integer(const struct pe_value *v, int64_t *out)
{
    const bt_tensor *tensor = v->kind == PE_CONST ? bt_object_as_tensor(v->object) : NULL;
    if (!tensor || tensor->rank ||
        (BT_DTYPE_CLASS(tensor->dtype) != BT_CLASS_INT &&
         BT_DTYPE_CLASS(tensor->dtype) != BT_CLASS_UINT && tensor->dtype != BT_BOOL))
        return 0;
    *out = bt_tensor_get_int(tensor, 0);
    return 1;
}

/* ---- operands ---- */

struct making {
    struct pe_value *value;
    uint32_t next; /* field that is made next */
};
typedef bt_vec(struct making) makings;

static bt_status field_operands(struct pe *p, const struct pe_value *v,
                                const bt_value ***out)
{
    *out = BT_NEWS(p->arena, const bt_value *, v->n);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < v->n; i++)
        (*out)[i] = v->fields[i]->operand;
    return NULL;
}

static bt_status make_data(struct pe *p, const struct pe_value *v, const bt_value **out)
{
    const bt_list_type *apply = bt_as_apply_type(v->type);
    const bt_value **fields;
    BT_TRY(field_operands(p, v, &fields));
    bt_call call = {
        .callee_kind = BT_CALLEE_CTOR, .ctor = v->ctor, .narg = v->n, .args = fields
    };
    if (v->is_exact) {
        call.ntype_arg = apply ? apply->n - 1 : 0;
        call.type_args = apply ? apply->at + 1 : NULL;
        bt_builder_type(p->maker, v->type);
    }
    return bt_build_call(p->maker, &call, out);
}

void pe_like(struct pe *p, const bt_value *like)
{
    bt_builder_at(p->maker, 0, 0);
    bt_builder_name(p->maker, NULL);
    bt_builder_device(p->maker, 0);
    if (like)
        bt_builder_like(p->maker, like);
}

/* All that it is made of is there. */
static bt_status make(struct pe *p, struct pe_value *v)
{
    const bt_value **fields, *now;
    if (v->kind == PE_CLOSURE)
        return pe_make_closures(p, v->group);
    pe_like(p, v->like);
    if (v->kind == PE_TUPLE) {
        BT_TRY(field_operands(p, v, &fields));
        BT_TRY(bt_build_tuple(p->maker, v->n, fields, &now));
    } else if (v->kind == PE_DATA) {
        BT_TRY(make_data(p, v, &now));
    } else if (v->kind == PE_CELL) {
        BT_TRY(bt_build_ref(p->maker, v->first->operand, &now));
    } else {
        BT_TRY(bt_build_proj(p->maker, v->whole->operand, v->index, &now));
    }
    v->operand = now;
    v->type = now->type;
    return pe_emit_into(p, v->home, now);
}

/* Bodies that are made of closures within each other call each other in C; those that are deeper
 * are made before. */
enum { MAX_BODIES = 32 };

static bt_status next_held(struct pe *p, struct making *m, struct pe_value **out)
{
    const struct pe_group *group = m->value->group;
    pe_held held = { 0 };
    struct pe_value *value;
    BT_TRY(pe_find_held(p, group->source, &held));
    while (!*out && m->next < held.len) {
        BT_TRY(pe_get(p, group->around, held.at[m->next++], &value));
        *out = value->operand || value->kind == PE_CELL ? NULL : value;
    }
    return NULL;
}

/* The next part of a value that is to be made before it; *out NULL: none. */
static bt_status next_part(struct pe *p, struct making *m, struct pe_value **out)
{
    struct pe_value *v = m->value;
    const int has_fields = v->kind == PE_TUPLE || v->kind == PE_DATA;
    *out = NULL;
    while (has_fields && m->next < v->n) {
        struct pe_value *field = v->fields[m->next++];
        if (!field->operand) {
            *out = field;
            return NULL;
        }
    }
    if (v->kind == PE_CELL && !v->first->operand)
        *out = v->first;
    if (v->kind == PE_DYNAMIC && !v->whole->operand)
        *out = v->whole;
    return v->kind == PE_CLOSURE && p->nbody >= MAX_BODIES ? next_held(p, m, out) : NULL;
}

static bt_status make_all(struct pe *p, struct pe_value *v)
{
    makings stack = { 0 };
    const struct making first = { v, 0 };
    if (!v->operand && !BT_PUSH(p->arena, &stack, first))
        return bt_no_memory();
    while (stack.len) {
        struct pe_value *part;
        if (stack.at[stack.len - 1].value->operand) {
            stack.len--;
            continue;
        }
        BT_TRY(next_part(p, &stack.at[stack.len - 1], &part));
        const struct making next = { part, 0 };
        if (part && !BT_PUSH(p->arena, &stack, next))
            return bt_no_memory();
        if (part)
            continue;
        BT_TRY(make(p, stack.at[--stack.len].value));
    }
    return NULL;
}

/* Cells that escape hold from here on what was not written yet. */
static bt_status write_all(struct pe *p)
{
    for (uint32_t i = 0; i < p->writes.len; i++) {
        const struct pe_write write = p->writes.at[i];
        const bt_value *now;
        BT_TRY(make_all(p, write.cell));
        BT_TRY(make_all(p, write.value));
        pe_like(p, NULL);
        BT_TRY(bt_build_write(p->maker, write.cell->operand, write.value->operand, &now));
        BT_TRY(pe_emit(p, now));
    }
    p->writes.len = 0;
    return NULL;
}

bt_status pe_operand(struct pe *p, struct pe_value *v, const bt_value **out)
{
    if (v->has_cells)
        BT_TRY(pe_escape_from(p, v));
    BT_TRY(make_all(p, v));
    BT_TRY(write_all(p));
    *out = v->operand;
    return NULL;
}
