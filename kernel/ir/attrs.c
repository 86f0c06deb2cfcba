/* Attribute structs of operators, read by their schema, and the free-form attributes of
 * functions and modules. */
#include "ir/attrs.h"

#include <baton/op.h>

#include <string.h>

/* The member of a row; its type follows from the row's kind. */
static const void *member(const bt_attr *row, const void *attrs)
{
    return (const char *)attrs + row->offset;
}

static const bt_ints *ints_of(const bt_attr *row, const void *attrs)
{
    return member(row, attrs);
}

static const bt_floats *floats_of(const bt_attr *row, const void *attrs)
{
    return member(row, attrs);
}

static const bt_strings *strings_of(const bt_attr *row, const void *attrs)
{
    return member(row, attrs);
}

static const char *string_of(const bt_attr *row, const void *attrs)
{
    return *(const char *const *)member(row, attrs);
}

static const bt_type *term_of(const bt_attr *row, const void *attrs)
{
    return *(const bt_type *const *)member(row, attrs);
}

static const bt_value *func_of(const bt_attr *row, const void *attrs)
{
    return *(const bt_value *const *)member(row, attrs);
}

/* Elements that a list has in memory. */
static uint32_t nelem(int64_t n)
{
    return n == BT_SINGLE ? 1 : n < 0 ? 0 : (uint32_t)n;
}

static int is_term(const bt_attr *row)
{
    return row->kind == BT_ATTR_DTYPE || row->kind == BT_ATTR_DIM ||
           row->kind == BT_ATTR_SHAPE || row->kind == BT_ATTR_TYPE;
}

/* ---- equality and hash ---- */

static int same_bytes(int64_t n, int64_t other_n, const void *at, const void *other)
{
    return n == other_n &&
           (!nelem(n) || memcmp(at, other, nelem(n) * sizeof(int64_t)) == 0);
}

static int same_strings(const bt_strings *a, const bt_strings *b)
{
    if (a->n != b->n)
        return 0;
    for (uint32_t i = 0; i < nelem(a->n); i++) {
        if (strcmp(a->at[i], b->at[i]) != 0)
            return 0;
    }
    return 1;
}

static int same_func(const bt_value *a, const bt_value *b)
{
    return a == b || (a && b && strcmp(a->name, b->name) == 0);
}

static int same_member(const bt_attr *row, const void *a, const void *b)
{
    switch (row->kind) {
    case BT_ATTR_INT:
    case BT_ATTR_BOOL:
    case BT_ATTR_FLOAT: // by bits: NaN equals itself, -0 differs from 0
        return memcmp(member(row, a), member(row, b), sizeof(int64_t)) == 0;
    case BT_ATTR_STRING: return strcmp(string_of(row, a), string_of(row, b)) == 0;
    case BT_ATTR_INTS:
    case BT_ATTR_INT_OR_INTS:
        return same_bytes(ints_of(row, a)->n, ints_of(row, b)->n, ints_of(row, a)->at,
                          ints_of(row, b)->at);
    case BT_ATTR_FLOATS:
        return same_bytes(floats_of(row, a)->n, floats_of(row, b)->n,
                          floats_of(row, a)->at, floats_of(row, b)->at);
    case BT_ATTR_STRINGS: return same_strings(strings_of(row, a), strings_of(row, b));
    case BT_ATTR_DTYPE:
    case BT_ATTR_DIM:
    case BT_ATTR_SHAPE:
    case BT_ATTR_TYPE: return term_of(row, a) == term_of(row, b);
    case BT_ATTR_FUNC: return same_func(func_of(row, a), func_of(row, b));
    }
    return 0;
}

int bt_attrs_equal(const bt_attr *schema, const void *a, const void *b)
{
    if (a == b || !schema)
        return 1;
    if (!a || !b)
        return 0;
    for (const bt_attr *row = schema; row->name; row++) {
        if (!same_member(row, a, b))
            return 0;
    }
    return 1;
}

static uint32_t hash_strings(const bt_strings *list)
{
    uint32_t hash = bt__hash_mix(0, (uint64_t)list->n);
    for (uint32_t i = 0; i < nelem(list->n); i++)
        hash = bt__hash_mix(hash, bt__hash_text(list->at[i]));
    return hash;
}

static uint32_t hash_member(const bt_attr *row, const void *attrs)
{
    switch (row->kind) {
    case BT_ATTR_INT:
    case BT_ATTR_BOOL:
    case BT_ATTR_FLOAT: return bt__hash_bytes(0, member(row, attrs), sizeof(int64_t));
    case BT_ATTR_STRING: return bt__hash_text(string_of(row, attrs));
    case BT_ATTR_INTS:
    case BT_ATTR_INT_OR_INTS:
        return bt__hash_bytes((uint64_t)ints_of(row, attrs)->n, ints_of(row, attrs)->at,
                              nelem(ints_of(row, attrs)->n) * sizeof(int64_t));
    case BT_ATTR_FLOATS:
        return bt__hash_bytes((uint64_t)floats_of(row, attrs)->n,
                              floats_of(row, attrs)->at,
                              nelem(floats_of(row, attrs)->n) * sizeof(double));
    case BT_ATTR_STRINGS: return hash_strings(strings_of(row, attrs));
    case BT_ATTR_DTYPE:
    case BT_ATTR_DIM:
    case BT_ATTR_SHAPE:
    case BT_ATTR_TYPE: return term_of(row, attrs) ? term_of(row, attrs)->hash : 0;
    case BT_ATTR_FUNC:
        return func_of(row, attrs) ? bt__hash_text(func_of(row, attrs)->name) : 0;
    }
    return 0;
}

uint32_t bt_attrs_hash(const bt_attr *schema, const void *attrs)
{
    uint32_t hash = 0;
    if (!schema || !attrs)
        return hash;
    for (const bt_attr *row = schema; row->name; row++)
        hash = bt__hash_mix(hash, hash_member(row, attrs));
    return hash;
}

/* ---- walks over terms ---- */

void bt__attrs_visit(const bt_attr *schema, const void *attrs,
                     void (*visit)(void *state, const bt_type *), void *state)
{
    if (!schema || !attrs)
        return;
    for (const bt_attr *row = schema; row->name; row++) {
        if (is_term(row) && term_of(row, attrs))
            visit(state, term_of(row, attrs));
    }
}

static void set_term(const bt_attr *row, void *attrs, const bt_type *term)
{
    *(const bt_type **)(void *)((char *)attrs + row->offset) = term;
}

/* Dims that have become 0 are extents still, and not the code 0. */
static const bt_type *keep_extents(bt_store *store, const bt_type *old,
                                   const bt_type *term)
{
    const bt_shape_type *from = bt_as_shape_type(old), *to = bt_as_shape_type(term);
    const bt_type *dims[BT_MAX_RANK];
    if (!from || !to || to->rest || from->n != to->n || to->n > BT_MAX_RANK)
        return term;
    for (uint32_t i = 0; i < to->n; i++) {
        int64_t number;
        int became_0 = bt_dim_is_const(to->dims[i], &number) && number == 0 &&
                       !bt_dim_is_const(from->dims[i], &number);
        dims[i] = became_0 ? bt_dim(store, BT_SHAPE_ZERO) : to->dims[i];
        if (!dims[i])
            return NULL;
    }
    return bt_type_shape(store, to->n, dims);
}

static const bt_type *map_row(bt_store *store, bt__attrs_walk *walk, const bt_attr *row,
                              const bt_type *old)
{
    const bt_type *term = walk->map(walk, old);
    int has_codes = row->kind == BT_ATTR_SHAPE && row->low < 0;
    return term && has_codes ? keep_extents(store, old, term) : term;
}

const void *bt__attrs_map(bt_store *store, bt__attrs_walk *walk, const bt_attr *schema,
                          size_t nbytes, const void *attrs)
{
    void *changed = NULL;
    if (!schema || !attrs)
        return attrs;
    for (const bt_attr *row = schema; row->name; row++) {
        const bt_type *old = is_term(row) ? term_of(row, attrs) : NULL;
        if (!old)
            continue;
        const bt_type *term = map_row(store, walk, row, old);
        if (!term)
            return NULL;
        if (term == old)
            continue;
        if (!changed) {
            changed = bt__arena_copy(store->arena, attrs, 1, nbytes);
            if (!changed)
                return bt__refuse(store, NULL);
        }
        set_term(row, changed, term);
    }
    return changed ? changed : attrs;
}

static const bt_type *map_by_subst(bt__attrs_walk *walk, const bt_type *term)
{
    void **state = walk->state;
    return bt_type_subst(state[0], state[1], term);
}

const void *bt_attrs_subst(bt_store *store, bt_subst *subst, const bt_attr *schema,
                           size_t nbytes, const void *attrs)
{
    void *state[] = { store, subst };
    bt__attrs_walk walk = { map_by_subst, state };
    return bt__attrs_map(store, &walk, schema, nbytes, attrs);
}

/* ---- copies ---- */

static int copy_strings(bt_store *store, bt_strings *list)
{
    const char **copy = BT_NEWS(store->arena, const char *, nelem(list->n));
    if (!copy)
        return 0;
    for (uint32_t i = 0; i < nelem(list->n); i++) {
        copy[i] = bt_name_of(store, list->at[i]);
        if (!copy[i])
            return 0;
    }
    list->at = copy;
    return 1;
}

/* What a member points to, copied to the store; `attrs` is the copy of the struct. */
static int copy_member(bt_store *store, const bt_attr *row, void *attrs)
{
    void *at = (char *)attrs + row->offset;
    bt_ints *ints = at;
    bt_floats *floats = at;
    switch (row->kind) {
    case BT_ATTR_STRING: {
        const char **string = at;
        return (*string = bt_name_of(store, *string ? *string : "")) != NULL;
    }
    case BT_ATTR_INTS:
    case BT_ATTR_INT_OR_INTS:
        ints->at =
            bt__arena_copy(store->arena, ints->at, nelem(ints->n), sizeof(*ints->at));
        return ints->at != NULL;
    case BT_ATTR_FLOATS:
        floats->at = bt__arena_copy(store->arena, floats->at, nelem(floats->n),
                                    sizeof(*floats->at));
        return floats->at != NULL;
    case BT_ATTR_STRINGS: return copy_strings(store, at);
    case BT_ATTR_INT:
    case BT_ATTR_FLOAT:
    case BT_ATTR_BOOL:
    case BT_ATTR_DTYPE:
    case BT_ATTR_DIM:
    case BT_ATTR_SHAPE:
    case BT_ATTR_TYPE:
    case BT_ATTR_FUNC: return 1;
    }
    return 1;
}

const void *bt_attrs_copy(bt_store *store, const bt_attr *schema, size_t nbytes,
                          const void *attrs)
{
    void *copy = bt__arena_copy(store->arena, attrs, nbytes != 0, nbytes);
    for (const bt_attr *row = schema; copy && row && row->name; row++) {
        if (!copy_member(store, row, copy))
            copy = NULL;
    }
    return copy ? copy : bt__refuse(store, NULL);
}

/* A reference to a global of another store's module, by name. */
static const bt_value *copy_global(bt_store *store, bt__attrs_walk *walk,
                                   const bt_value *global)
{
    bt_global_ref *copy = BT_NEW(store->arena, bt_global_ref);
    bt__refuse(store, NULL);
    if (!copy || !(copy->base.name = bt_name_of(store, global->name)))
        return NULL;
    copy->base.kind = BT_VALUE_GLOBAL;
    copy->base.id = bt__store_value_id(store);
    if (global->type && !(copy->base.type = walk->map(walk, global->type)))
        return NULL;
    return &copy->base;
}

const void *bt__attrs_copy_to(bt_store *store, bt__attrs_walk *walk,
                              const bt_attr *schema, size_t nbytes, const void *attrs)
{
    if (!schema || !attrs)
        return attrs;
    char *copy = (char *)(uintptr_t)bt_attrs_copy(store, schema, nbytes, attrs);
    if (!copy)
        return NULL;
    for (const bt_attr *row = schema; row->name; row++) {
        if (row->kind == BT_ATTR_FUNC && func_of(row, attrs)) {
            const bt_value *global = copy_global(store, walk, func_of(row, attrs));
            if (!global)
                return NULL;
            *(const bt_value **)(void *)(copy + row->offset) = global;
        } else if (is_term(row) && term_of(row, attrs)) {
            const bt_type *term = map_row(store, walk, row, term_of(row, attrs));
            if (!term)
                return NULL;
            set_term(row, copy, term);
        }
    }
    return copy;
}

/* ---- free-form attributes ---- */

const bt_dict_entry *bt_dict_find(const bt_dict *dict, const char *name)
{
    for (uint32_t i = 0; i < dict->n; i++) {
        if (strcmp(dict->at[i].name, name) == 0)
            return &dict->at[i];
    }
    return NULL;
}
