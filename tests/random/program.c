/* Modules of random functions, and arguments for them. */
#include "program.h"

#include <string.h>

#include "maker.h"

static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint32_t random_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)((next(state) >> 32) * n >> 32);
}

/* ---- modules ---- */

static bt_status add_global(struct maker *m, const bt_func *func)
{
    bt_module_builder *builder;
    bt_module *next;
    bt_global global = { .name = func->name,
                         .kind = BT_GLOBAL_FUNC,
                         .func = func,
                         .type = bt_func_type_of(m->store, func) };
    if (!global.type)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(bt_module_builder_create(m->ctx, m->store, m->module, &builder));
    bt_status status = bt_module_builder_set(builder, &global, 1);
    if (status) {
        bt_module_builder_destroy(builder);
        return status;
    }
    BT_TRY(bt_module_builder_finish(builder, 1, &next));
    bt_module_unref(m->module);
    m->module = next;
    return NULL;
}

/* def @choose<A>(%c: bool, %a: A, %b: A) -> A { if (%c) { %a } else { %b } }
 * def @second<A>(%c: bool, %a: A, %b: A) -> A { %b } */
static bt_status build_choose(struct maker *m, const char *name, const bt_func **out)
{
    const bt_type *var =
        bt_type_var(m->store, &(bt_type_param){ .kind = BT_KIND_TYPE }, "A");
    const bt_type *bool_type = bt_type_scalar(m->store, BT_BOOL);
    const bt_param *params[3];
    const bt_block *blocks[3];
    const bt_value *result;
    if (!var || !bool_type)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(bt_build_param(m->builder, "c", bool_type, &params[0]));
    BT_TRY(bt_build_param(m->builder, "a", var, &params[1]));
    BT_TRY(bt_build_param(m->builder, "b", var, &params[2]));
    BT_TRY(bt_block_begin(m->builder, 3, params));
    result = &params[2]->base;
    for (uint32_t i = 0; i < 2; i++) {
        BT_TRY(bt_block_begin(m->builder, 0, NULL));
        BT_TRY(bt_block_end(m->builder, &params[1 + i]->base, &blocks[i]));
    }
    if (strcmp(name, "choose") == 0)
        BT_TRY(bt_build_if(m->builder, &params[0]->base, blocks[0], blocks[1], &result));
    BT_TRY(bt_block_end(m->builder, result, &blocks[2]));
    bt_func fields = { .name = bt_name_of(m->store, name),
                       .nvar = 1,
                       .vars = &var,
                       .result = var,
                       .block = blocks[2] };
    return fields.name ? bt_func_create(m->ctx, m->store, &fields, out) : bt_no_memory();
}

/* def @apply<A>(%f: fn (A) -> A, %x: A) -> A { %f(%x) } */
static bt_status build_apply(struct maker *m, const char *name, const bt_func **out)
{
    const bt_type *var =
        bt_type_var(m->store, &(bt_type_param){ .kind = BT_KIND_TYPE }, "A");
    const bt_type *func =
        var ? bt_type_func(m->store,
                           &(bt_func_type){ .narg = 1, .args = &var, .result = var })
            : NULL;
    const bt_param *params[2];
    const bt_value *result, *arg;
    const bt_block *block;
    if (!func)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(bt_build_param(m->builder, "f", func, &params[0]));
    BT_TRY(bt_build_param(m->builder, "x", var, &params[1]));
    BT_TRY(bt_block_begin(m->builder, 2, params));
    arg = &params[1]->base;
    BT_TRY(call_value(m, &params[0]->base, 1, &arg, &result));
    BT_TRY(bt_block_end(m->builder, result, &block));
    bt_func fields = { .name = bt_name_of(m->store, name),
                       .nvar = 1,
                       .vars = &var,
                       .result = var,
                       .block = block };
    return fields.name ? bt_func_create(m->ctx, m->store, &fields, out) : bt_no_memory();
}

/* def @same<A>(%x: A) -> A { %x } */
static bt_status build_same(struct maker *m, const char *name, const bt_func **out)
{
    const bt_type *var =
        bt_type_var(m->store, &(bt_type_param){ .kind = BT_KIND_TYPE }, "A");
    const bt_param *param;
    const bt_block *block;
    if (!var)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(bt_build_param(m->builder, "x", var, &param));
    BT_TRY(bt_block_begin(m->builder, 1, &param));
    BT_TRY(bt_block_end(m->builder, &param->base, &block));
    bt_func fields = { .name = bt_name_of(m->store, name),
                       .nvar = 1,
                       .vars = &var,
                       .result = var,
                       .block = block };
    return fields.name ? bt_func_create(m->ctx, m->store, &fields, out) : bt_no_memory();
}

/* A function of up to three parameters; main's are tensors. */
static bt_status build_function(struct maker *m, const char *name, uint32_t nbinding,
                                const bt_func **out)
{
    int is_main = strcmp(name, "main") == 0;
    uint32_t nparam = 1 + below(m, 3);
    const bt_param *params[3];
    const bt_type *result;
    const bt_block *block;
    bt_type_param range = { .kind = BT_KIND_DIM, .low = 1, .high = 4, .step = 1 };
    const int is_open = !m->is_chain || m->is_open;
    m->dim = is_open ? bt_type_var(m->store, &range, "n") : bt_dim(m->store, 4);
    if (!m->dim)
        return bt_store_why(m->ctx, m->store);
    for (uint32_t i = 0; i < nparam; i++) {
        const bt_type *type;
        if (i == 0)
            BT_TRY(tensor_type(m, BT_FLOAT32, NSHAPE - 1, &type));
        else if (is_main)
            BT_TRY(random_tensor_type(m, &type));
        else
            BT_TRY(random_type(m, 2, &type));
        BT_TRY(bt_build_param(m->builder, "p", type, &params[i]));
    }
    m->budget = nbinding;
    m->scope.len = 0;
    do
        BT_TRY(random_type(m, 2, &result));
    while (is_main && result->kind == BT_TYPE_FUNC);
    if (is_main && (result->kind == BT_TYPE_TUPLE || m->is_chain))
        BT_TRY(random_tensor_type(m, &result));
    BT_TRY(make_block(m, nparam, params, result, &block));
    bt_func fields = { .name = bt_name_of(m->store, name),
                       .nvar = (uint32_t)is_open,
                       .vars = &m->dim,
                       .result = result,
                       .block = block };
    return fields.name ? bt_func_create(m->ctx, m->store, &fields, out) : bt_no_memory();
}

static bt_status add_function(struct maker *m, const char *name, uint32_t nbinding)
{
    const bt_func *func = NULL;
    BT_TRY(bt_builder_create(m->ctx, m->store, m->module, &m->builder));
    bt_status status;
    if (strcmp(name, "choose") == 0 || strcmp(name, "second") == 0)
        status = build_choose(m, name, &func);
    else if (strcmp(name, "apply") == 0)
        status = build_apply(m, name, &func);
    else if (strcmp(name, "same") == 0)
        status = build_same(m, name, &func);
    else
        status = build_function(m, name, nbinding, &func);
    bt_builder_destroy(m->builder);
    return status ? status : add_global(m, func);
}

/* type List[A] { Cons(A, List[A]), Nil } */
static bt_status start_module(struct maker *m)
{
    bt_module_builder *builder;
    bt_adt_def *list;
    const bt_type *var =
        bt_type_var(m->store, &(bt_type_param){ .kind = BT_KIND_TYPE }, "A");
    BT_TRY(bt_module_builder_create(m->ctx, m->store, NULL, &builder));
    bt_status status = var ? bt_module_builder_declare_adt(
                                 builder, bt_name_of(m->store, "List"), 0, 1, &var, &list)
                           : bt_store_why(m->ctx, m->store);
    if (!status) {
        const bt_type *fields[2] = { var, bt_type_apply(m->store, list, 1, &var) };
        const bt_ctor ctors[2] = {
            { .name = bt_name_of(m->store, "Cons"), .nfield = 2, .fields = fields },
            { .name = bt_name_of(m->store, "Nil") }
        };
        status = fields[1] && ctors[0].name && ctors[1].name
                     ? bt_module_builder_define_adt(builder, list, 2, ctors)
                     : bt_no_memory();
    }
    if (status) {
        bt_module_builder_destroy(builder);
        return status;
    }
    m->list = list;
    return bt_module_builder_finish(builder, 1, &m->module);
}

static bt_status make_module(struct maker *m, const struct random_options *o)
{
    BT_TRY(start_module(m));
    BT_TRY(add_function(m, "choose", 0));
    BT_TRY(add_function(m, "second", 0));
    BT_TRY(add_function(m, "apply", 0));
    BT_TRY(add_function(m, "same", 0));
    for (uint32_t i = 0; i < o->nfunction; i++) {
        bt_text name;
        bt_text_init(&name, m->arena);
        bt_text_addf(&name, "f%u", i);
        if (name.failed)
            return bt_no_memory();
        BT_TRY(add_function(m, name.at, o->nbinding));
    }
    return add_function(m, "main", o->nbinding);
}

bt_status random_program(bt_ctx *ctx, uint64_t seed, const struct random_options *o,
                         bt_module **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    struct maker m = { .ctx = ctx,
                       .store = bt_store_create(registry),
                       .arena = bt_arena_create(registry),
                       .random = seed,
                       .depth = o->depth,
                       .is_chain = o->is_chain,
                       .is_open = o->is_open };
    bt_status status = m.store && m.arena ? make_module(&m, o) : bt_no_memory();
    if (!status)
        *out = bt_module_ref(m.module);
    bt_module_unref(m.module);
    bt_arena_destroy(m.arena);
    bt_store_unref(m.store);
    return status;
}

/* ---- arguments ---- */

static bt_status random_tensor(bt_ctx *ctx, uint64_t *state, const bt_type *type,
                               int64_t n, bt_tensor **out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t dims[BT_MAX_RANK];
    bt_dtype dtype = bt_tensor_dtype(type);
    for (uint32_t i = 0; i < shape->n; i++) {
        if (!bt_dim_is_const(shape->dims[i], &dims[i]))
            dims[i] = n;
    }
    BT_TRY(bt_tensor_create(ctx, dtype, shape->n, dims, out));
    for (int64_t i = 0; i < (*out)->nelem; i++) {
        double value = dtype == BT_BOOL ? random_below(state, 2)
                                        : (double)random_below(state, 33) - 16;
        bt_tensor_set(*out, i, dtype == BT_FLOAT32 ? value / 8 : value);
    }
    return NULL;
}

bt_status random_arguments(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                           uint32_t *n, bt_object ***out, bt_arena *arena)
{
    uint64_t state = seed ^ 0x5555;
    int64_t dim = 1 + random_below(&state, 4);
    const bt_block *block = bt_module_find(module, "main")->func->block;
    *n = 0;
    *out = BT_NEWS(arena, bt_object *, block->nparam);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++) {
        bt_tensor *tensor;
        BT_TRY(random_tensor(ctx, &state, block->params[i]->base.type, dim, &tensor));
        (*out)[(*n)++] = &tensor->base;
    }
    return NULL;
}
