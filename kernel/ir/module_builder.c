/* Modules under construction: names are checked here, arrays grow here. */
#include <string.h>

#include <baton/ir.h>

#include "base/arena.h"
#include "ir/func.h"
#include "ir/module.h"

struct bt_module_builder {
    bt_ctx *ctx;
    bt_store *store;
    bt_arena *arena;
    bt_vec(const bt_global *) globals; /* NULL: removed */
    bt_vec(const bt_adt_def *) adts;
    bt_map global_at; /* name -> position in globals + 1; 0: removed */
    bt_map adt_of;    /* name -> definition */
    bt_map ctor_of;   /* name -> definition of its data type */
    bt_dict attrs;
    uint32_t failed; /* a call without a status ran out of memory; the next one says so */
};

/* ---- creating and destroying ---- */

static bt_status add_global(bt_module_builder *b, const bt_global *global)
{
    if (!BT_PUSH(b->arena, &b->globals, global) ||
        !bt_map_put(&b->global_at, global->name, (void *)(uintptr_t)b->globals.len))
        return bt_no_memory();
    return NULL;
}

static bt_status add_adt(bt_module_builder *b, bt_adt_def *adt)
{
    if (!BT_PUSH(b->arena, &b->adts, adt) || !bt_map_put(&b->adt_of, adt->name, adt))
        return bt_no_memory();
    for (uint32_t i = 0; i < adt->nctor; i++) {
        if (!bt_map_put(&b->ctor_of, adt->ctors[i]->name, adt))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status add_contents(bt_module_builder *b, const bt_module *from)
{
    b->attrs = from->attrs;
    for (uint32_t i = 0; i < from->nglobal; i++)
        BT_TRY(add_global(b, from->globals[i]));
    for (uint32_t i = 0; i < from->nadt; i++)
        BT_TRY(add_adt(b, (bt_adt_def *)(uintptr_t)from->adts[i]));
    return NULL;
}

bt_status bt_module_builder_create(bt_ctx *ctx, bt_store *store, const bt_module *from,
                                   bt_module_builder **out)
{
    if (from && from->store != store)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "the module to start from is in another store: copy it first");
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_module_builder *b = arena ? BT_NEW(arena, bt_module_builder) : NULL;
    if (!b) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    b->ctx = ctx;
    b->store = bt_store_ref(store);
    b->arena = arena;
    bt_map_init(&b->global_at, arena, 1);
    bt_map_init(&b->adt_of, arena, 1);
    bt_map_init(&b->ctor_of, arena, 1);
    bt_status status = from ? add_contents(b, from) : NULL;
    if (status)
        bt_module_builder_destroy(b);
    else
        *out = b;
    return status;
}

void bt_module_builder_destroy(bt_module_builder *b)
{
    if (!b)
        return;
    bt_store_unref(b->store);
    bt_arena_destroy(b->arena);
}

/* ---- globals ---- */

static uint32_t position_of(const bt_module_builder *b, const char *name)
{
    return (uint32_t)(uintptr_t)bt_map_find(&b->global_at, name);
}

static int copy_parts(bt_store *store, bt_global *global)
{
    return (global->name = bt_name_of(store, global->name)) &&
           (!global->primal || (global->primal = bt_name_of(store, global->primal))) &&
           bt__dict_copy(store, global->attrs, &global->attrs) &&
           bt__ints_copy(store, global->gradient.wrt, &global->gradient.wrt) &&
           bt__ints_copy(store, global->gradient.keep, &global->gradient.keep);
}

/* The type of a use, where the definition says it and the author does not. */
static bt_status fill_type(bt_ctx *ctx, bt_store *store, bt_global *global)
{
    if (global->type)
        return NULL;
    if (global->kind == BT_GLOBAL_CONST)
        global->type = global->value->type;
    if (global->kind != BT_GLOBAL_FUNC)
        return NULL;
    const bt_type *type = bt_func_type_of(store, global->func);
    if (!type)
        return bt_store_why(ctx, store);
    if (!(type->has & BT_HAS_HOLE))
        global->type = type;
    return NULL;
}

static bt_status check_global(bt_module_builder *b, const bt_global *global)
{
    if (!global->name)
        return bt_fail(b->ctx, BT_ERR_ARGUMENT, "a global needs a name");
    int has_body = global->kind == BT_GLOBAL_FUNC    ? global->func != NULL
                   : global->kind == BT_GLOBAL_CONST ? bt_as_const(global->value) != NULL
                   : global->kind == BT_GLOBAL_GRADIENT ? global->primal != NULL
                                                        : 1;
    if (!has_body)
        return bt_fail_at(b->ctx, BT_ERR_ARGUMENT, b->store, global->span,
                          "@%s has no %s", global->name,
                          global->kind == BT_GLOBAL_FUNC    ? "function"
                          : global->kind == BT_GLOBAL_CONST ? "constant"
                                                            : "primal function");
    return NULL;
}

bt_status bt_module_builder_set(bt_module_builder *b, const bt_global *global, int is_new)
{
    BT_TRY(check_global(b, global));
    uint32_t position = position_of(b, global->name);
    if (position && is_new) {
        bt_status status = bt_fail_at(b->ctx, BT_ERR_NAME, b->store, global->span,
                                      "@%s is defined twice", global->name);
        return bt_note(b->ctx, status, b->store, b->globals.at[position - 1]->span,
                       "the other definition is here");
    }
    if (position && b->globals.at[position - 1] == global)
        return NULL;
    bt_global *copy = bt__store_copy(b->store, global, 1, sizeof(*copy));
    if (!copy || !copy_parts(b->store, copy))
        return bt_no_memory();
    BT_TRY(fill_type(b->ctx, b->store, copy));
    if (!position)
        return add_global(b, copy);
    b->globals.at[position - 1] = copy;
    return NULL;
}

void bt_module_builder_remove(bt_module_builder *b, const char *name)
{
    bt_map_entry *entry = bt_map_entry_find(&b->global_at, name);
    uint32_t position = position_of(b, name);
    if (!position)
        return;
    b->globals.at[position - 1] = NULL;
    entry->value = NULL;
}

/* ---- data types ---- */

bt_status bt_module_builder_declare_adt(bt_module_builder *b, const char *name,
                                        bt_span span, uint32_t nvar,
                                        const bt_type *const *vars, bt_adt_def **out)
{
    const bt_adt_def *other = bt_map_find(&b->adt_of, name);
    if (other) {
        bt_status status = bt_fail_at(b->ctx, BT_ERR_NAME, b->store, span,
                                      "data type %s is defined twice", name);
        return bt_note(b->ctx, status, b->store, other->span,
                       "the other definition is here");
    }
    bt_adt_def *adt = BT_NEW(bt_store_arena(b->store), bt_adt_def);
    if (!adt)
        return bt_no_memory();
    adt->name = bt_name_of(b->store, name);
    adt->span = span;
    adt->nvar = nvar;
    adt->vars = bt__store_copy(b->store, vars, nvar, sizeof(*vars));
    if (!adt->name || !adt->vars)
        return bt_no_memory();
    BT_TRY(add_adt(b, adt));
    *out = adt;
    return NULL;
}

/* A constructor's name stands for one data type of the module, once. */
static bt_status check_ctors(bt_module_builder *b, const bt_adt_def *adt, uint32_t nctor,
                             const bt_ctor *ctors, bt_map *seen)
{
    for (uint32_t i = 0; i < nctor; i++) {
        const bt_adt_def *other = bt_map_find(&b->ctor_of, ctors[i].name);
        if (!other)
            other = bt_map_find(seen, ctors[i].name);
        if (other)
            return bt_fail_at(b->ctx, BT_ERR_NAME, b->store, adt->span,
                              "constructor %s of %s is taken: %s has one of that name",
                              ctors[i].name, adt->name, other->name);
        if (!bt_map_put(seen, ctors[i].name, (void *)(uintptr_t)adt))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status copy_ctors(bt_store *store, const bt_adt_def *adt, uint32_t nctor,
                            const bt_ctor *ctors, const bt_ctor *const **out)
{
    bt_ctor *copy = bt__store_copy(store, ctors, nctor, sizeof(*copy));
    if (!copy)
        return bt_no_memory();
    for (uint32_t i = 0; i < nctor; i++) {
        copy[i].adt = adt;
        copy[i].tag = i;
        copy[i].name = bt_name_of(store, copy[i].name);
        copy[i].fields = bt__store_copy(store, copy[i].fields, copy[i].nfield,
                                        sizeof(*copy[i].fields));
        if (!copy[i].name || !copy[i].fields)
            return bt_no_memory();
    }
    *out = BT__LIST(bt_store_arena(store), copy, nctor);
    return *out ? NULL : bt_no_memory();
}

bt_status bt_module_builder_define_adt(bt_module_builder *b, bt_adt_def *adt,
                                       uint32_t nctor, const bt_ctor *ctors)
{
    bt_map seen;
    const bt_ctor *const *copy;
    bt_map_init(&seen, b->arena, 1);
    BT_TRY(check_ctors(b, adt, nctor, ctors, &seen));
    BT_TRY(copy_ctors(b->store, adt, nctor, ctors, &copy));
    for (uint32_t i = 0; i < nctor; i++) {
        if (!bt_map_put(&b->ctor_of, copy[i]->name, adt))
            return bt_no_memory();
    }
    adt->nctor = nctor;
    adt->ctors = copy;
    return NULL;
}

/* ---- the end ---- */

void bt_module_builder_set_attrs(bt_module_builder *b, bt_dict attrs)
{
    if (!bt__dict_copy(b->store, attrs, &b->attrs))
        b->failed = 1;
}

static uint32_t drop_removed(bt_module_builder *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->globals.len; i++) {
        if (b->globals.at[i])
            b->globals.at[n++] = b->globals.at[i];
    }
    return n;
}

bt_status bt_module_builder_finish(bt_module_builder *b, int is_typed, bt_module **out)
{
    bt_module *module = NULL;
    if (!b->failed) {
        struct bt__module_parts parts = {
            .store = b->store,
            .nglobal = drop_removed(b),
            .globals = b->globals.at,
            .nadt = b->adts.len,
            .adts = b->adts.at,
            .attrs = b->attrs,
            .is_typed = is_typed != 0,
        };
        module = bt__module_create(&parts);
    }
    bt_module_builder_destroy(b);
    if (!module)
        return bt_no_memory();
    *out = module;
    return NULL;
}

bt_status bt__module_with(bt_ctx *ctx, const bt_module *module, const bt_global *global,
                          int is_new, bt_module **out)
{
    bt_module_builder *builder;
    BT_TRY(bt_module_builder_create(ctx, module->store, module, &builder));
    bt_status status = bt_module_builder_set(builder, global, is_new);
    if (!status)
        return bt_module_builder_finish(builder, (int)module->is_typed, out);
    bt_module_builder_destroy(builder);
    return status;
}
