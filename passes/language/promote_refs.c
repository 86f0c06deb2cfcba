/*
 * promote-refs: references become values.
 *     %r = ref(%x);  %u = ref_write(%r, %y);  %z = ref_read(%r)        %z is %y
 * A cell goes where nothing but reads and writes of it is done, in the block that makes it, in
 * branches and matches there, and in functions of the module that are called with it: a branch
 * gives what its cells hold behind it, a function takes what they hold and gives it back, so
 * that loops pass it on. Which ones go: promote_find.h. What was read and not used is not read.
 * source   DLVM, section 4.3, value and stack promotion, redundant load elimination
 * keeps    no invariant
 */
#include "common/copy.h"
#include "common/names.h"
#include "common/version.h"
#include "language/promote_find.h"

struct promoting {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module, *declared;
    bt_map cells; /* those that go */
    bt_map names; /* global -> its name with values in place of cells */
    bt_map taken;
};

static int goes(const struct promoting *p, const bt_value *value)
{
    return bt_map_find(&p->cells, value) != NULL;
}

/* ---- what cells hold, as a function is made again ---- */

struct making {
    struct promoting *p;
    bt_map now; /* cell -> what it holds at this place */
};
typedef bt_vec(const bt_value *) values;

static bt_status put(struct making *m, const bt_value *cell, const bt_value *now)
{
    return bt_map_put(&m->now, cell, (void *)(uintptr_t)now) ? NULL : bt_no_memory();
}

/* Cells from around it that a block writes to, each once. */
static bt_status find_written(const struct promoting *p, const bt_block *block,
                              const bt_map *around, bt_arena *arena, values *out)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *binding = block->bindings[i];
        const bt_call *call = bt_as_call(binding);
        const uint32_t n = binding->kind == BT_VALUE_WRITE ? 1
                           : call                          ? bt_value_noperand(binding)
                                                           : 0;
        for (uint32_t k = 0; k < n; k++) {
            const bt_value *operand = bt_value_operand(binding, k);
            int is_new = goes(p, operand) && bt_map_find(around, operand);
            for (uint32_t j = 0; j < out->len; j++)
                is_new &= out->at[j] != operand;
            if (is_new && !BT_PUSH(arena, out, operand))
                return bt_no_memory();
        }
        for (uint32_t r = 0; r < bt_value_nregion(binding); r++)
            BT_TRY(find_written(p, bt_value_region(binding, r), around, arena, out));
    }
    return NULL;
}

/* A tuple of values; where they are all fields of one, in order, that one: so a call at the end
 * of a function stays there. */
static bt_status tuple_of(struct copy *c, const values *all, const bt_value **out)
{
    const bt_value *whole = NULL;
    for (uint32_t i = 0; i < all->len; i++) {
        const bt_proj *proj = bt_as_proj(all->at[i]);
        const int fits = proj && proj->index == i && (i == 0 || proj->tuple == whole) &&
                         bt_as_tuple_type(proj->tuple->type)->n == all->len;
        if (!fits)
            return bt_build_tuple(c->b, all->len, all->at, out);
        whole = proj->tuple;
    }
    *out = whole;
    return NULL;
}

/* What a block gives, and what these cells hold behind it. */
static bt_status give(struct copy *c, const bt_value *result, const values *cells,
                      const bt_value **out)
{
    const struct making *m = c->state;
    values all = { 0 };
    if (!BT_PUSH(c->arena, &all, result))
        return bt_no_memory();
    for (uint32_t i = 0; i < cells->len; i++) {
        const bt_value *now = bt_map_find(&m->now, cells->at[i]);
        if (!BT_PUSH(c->arena, &all, now))
            return bt_no_memory();
    }
    return tuple_of(c, &all, out);
}

/* The other way: %0 = both; result %0.0, cells %0.1, ... */
static bt_status take(struct copy *c, const bt_value *old, const bt_value *both,
                      const values *cells)
{
    const bt_value *now;
    bt_builder_like(c->b, old);
    BT_TRY(bt_build_proj(c->b, both, 0, &now));
    BT_TRY(copy_put(c, old, now));
    bt_builder_name(c->b, NULL);
    for (uint32_t i = 0; i < cells->len; i++) {
        BT_TRY(bt_build_proj(c->b, both, i + 1, &now));
        BT_TRY(put(c->state, cells->at[i], now));
    }
    return NULL;
}

static bt_status copy_map(bt_map *to, const bt_map *from, bt_arena *arena)
{
    bt_map_init(to, arena, 0);
    for (uint32_t i = 0; i < from->len; i++) {
        if (!bt_map_put(to, from->at[i].key, from->at[i].value))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status region_again(struct copy *c, const bt_block *region,
                              const bt_type *wanted, const values *cells,
                              const bt_block **out)
{
    struct making *m = c->state;
    const bt_map around = m->now;
    const bt_param **params;
    const bt_value *result;
    BT_TRY(copy_map(&m->now, &around, c->arena));
    BT_TRY(copy_params(c, region->nparam, region->params, &params));
    BT_TRY(bt_block_begin(c->b, region->nparam, params));
    BT_TRY(copy_bindings(c, region, wanted, &result));
    BT_TRY(give(c, result, cells, &result));
    m->now = around;
    return bt_block_end(c->b, result, out);
}

/* A branch or a match in which cells are written. */
static bt_status paths_again(struct copy *c, const bt_value *old, const values *cells)
{
    const uint32_t n = bt_value_nregion(old);
    const bt_block **blocks = BT_NEWS(c->arena, const bt_block *, n);
    const bt_value *on, *both;
    if (!blocks)
        return bt_no_memory();
    BT_TRY(copy_operand(c, bt_value_operand(old, 0), NULL, &on));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(region_again(c, bt_value_region(old, i), old->type, cells, &blocks[i]));
    bt_builder_like(c->b, old);
    bt_builder_name(c->b, NULL);
    BT_TRY(copy_branch(c, old, on, blocks, &both));
    return take(c, old, both, cells);
}

/* A call that passes cells. */
static bt_status call_again(struct copy *c, const bt_call *old, const bt_global *callee)
{
    struct making *m = c->state;
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, old->narg), *both;
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = old->narg,
                     .args = args,
                     .ntype_arg = old->ntype_arg };
    values cells = { 0 };
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->narg; i++) {
        const int is_cell = goes(m->p, old->args[i]);
        if (is_cell && !BT_PUSH(c->arena, &cells, old->args[i]))
            return bt_no_memory();
        if (is_cell)
            args[i] = bt_map_find(&m->now, old->args[i]);
        else
            BT_TRY(copy_operand(c, old->args[i], NULL, &args[i]));
    }
    BT_TRY(copy_types(c, old->ntype_arg, old->type_args, &call.type_args));
    BT_TRY(bt_build_global(c->b, bt_map_find(&m->p->names, callee), &call.callee));
    bt_builder_like(c->b, &old->base);
    bt_builder_name(c->b, NULL);
    BT_TRY(bt_build_call(c->b, &call, &both));
    return take(c, &old->base, both, &cells);
}

static bt_status binding_again(struct copy *c, const bt_value *old, int *done)
{
    struct making *m = c->state;
    const bt_call *call = bt_as_call(old);
    const bt_global *callee = bt_call_global(m->p->module, call);
    const bt_value *now;
    values written = { 0 };
    if (old->kind == BT_VALUE_REF && goes(m->p, old)) {
        *done = 1;
        BT_TRY(copy_operand(c, bt_as_ref(old)->content, NULL, &now));
        return put(m, old, now);
    }
    if (old->kind == BT_VALUE_READ && goes(m->p, bt_as_read(old)->ref)) {
        *done = 1;
        return copy_put(c, old, bt_map_find(&m->now, bt_as_read(old)->ref));
    }
    if (old->kind == BT_VALUE_WRITE && goes(m->p, bt_as_write(old)->ref)) {
        *done = 1;
        BT_TRY(copy_operand(c, bt_as_write(old)->content, NULL, &now));
        BT_TRY(put(m, bt_as_write(old)->ref, now));
        BT_TRY(bt_build_tuple(c->b, 0, NULL, &now));
        return copy_put(c, old, now);
    }
    if (callee && bt_map_find(&m->p->names, callee)) {
        *done = 1;
        return call_again(c, call, callee);
    }
    if (old->kind != BT_VALUE_IF && old->kind != BT_VALUE_MATCH)
        return NULL;
    for (uint32_t r = 0; r < bt_value_nregion(old); r++)
        BT_TRY(find_written(m->p, bt_value_region(old, r), &m->now, c->arena, &written));
    *done = written.len > 0;
    return *done ? paths_again(c, old, &written) : NULL;
}

/* ---- functions ---- */

static int has_cells(const struct promoting *p, const bt_func *func)
{
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        if (goes(p, &func->block->params[i]->base))
            return 1;
    }
    return 0;
}

static const bt_type *content_of(const bt_type *ref)
{
    return bt_as_ref_type(ref)->at[0];
}

/* The type of a function that takes what cells hold, and gives it behind its result. */
static bt_status declare_func(struct promoting *p, bt_module_builder *builder,
                              const bt_global *old)
{
    const bt_func *f = old->func;
    bt_store *store = p->module->store;
    const bt_type **args = BT_NEWS(p->arena, const bt_type *, f->block->nparam);
    const bt_type **given = BT_NEWS(p->arena, const bt_type *, f->block->nparam + 1),
                  *result;
    bt_global global = { .kind = BT_GLOBAL_EXTERN, .span = old->span };
    uint32_t n = 0;
    if (!args || !given)
        return bt_no_memory();
    given[n++] = f->result;
    for (uint32_t i = 0; i < f->block->nparam; i++) {
        const bt_value *param = &f->block->params[i]->base;
        args[i] = goes(p, param) ? content_of(param->type) : param->type;
        if (goes(p, param))
            given[n++] = args[i];
    }
    result = bt_type_tuple(store, n, given);
    if (!result ||
        !(global.type = bt_func_type_close(store, f->nvar, f->vars, f->block->nparam,
                                           args, result, f->nwhere, f->wheres)))
        return bt_store_why(p->ctx, store);
    BT_TRY(name_new(p->module, p->arena, &p->taken, &global.name, "%s", old->name));
    if (!bt_map_put(&p->names, old, (void *)(uintptr_t)global.name))
        return bt_no_memory();
    return bt_module_builder_set(builder, &global, 1);
}

static bt_status declare_all(void *state, bt_module_builder *builder)
{
    struct promoting *p = state;
    for (uint32_t g = 0; g < p->module->nglobal; g++) {
        const bt_global *global = p->module->globals[g];
        if (global->kind == BT_GLOBAL_FUNC && has_cells(p, global->func))
            BT_TRY(declare_func(p, builder, global));
    }
    return NULL;
}

static bt_status build_func(struct copy *c, const bt_global *global, const bt_func **out)
{
    struct making *m = c->state;
    const bt_func *old = global->func;
    const bt_block *block = old->block;
    const char *name = bt_map_find(&m->p->names, global);
    bt_func now = *old;
    const bt_param **params = BT_NEWS(c->arena, const bt_param *, block->nparam);
    const bt_value *result;
    values cells = { 0 };
    if (!params)
        return bt_no_memory();
    if (name) {
        BT_TRY(copy_head(c, old, &now));
        now.name = name;
    }
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *param = &block->params[i]->base;
        const int is_cell = goes(m->p, param);
        const bt_type *type;
        BT_TRY(copy_type(c, is_cell ? content_of(param->type) : param->type, &type));
        bt_builder_like(c->b, param);
        BT_TRY(bt_build_param(c->b, param->name, type, &params[i]));
        BT_TRY(is_cell ? put(m, param, &params[i]->base)
                       : copy_put(c, param, &params[i]->base));
        if (is_cell && !BT_PUSH(c->arena, &cells, param))
            return bt_no_memory();
    }
    bt_builder_name(c->b, NULL);
    BT_TRY(bt_block_begin(c->b, block->nparam, params));
    BT_TRY(copy_bindings(c, block, old->result, &result));
    if (name)
        BT_TRY(give(c, result, &cells, &result));
    BT_TRY(bt_block_end(c->b, result, &now.block));
    now.result = result->type;
    return bt_func_create(c->ctx, c->store, &now, out);
}

static bt_status set_func(struct promoting *p, bt_module_builder *builder,
                          const bt_global *old)
{
    struct making m = { .p = p };
    const char *name = bt_map_find(&p->names, old);
    const bt_func *func;
    struct copy c;
    bt_map_init(&m.now, p->arena, 0);
    BT_TRY(copy_init(&c, p->ctx, p->arena, p->declared));
    c.state = &m;
    c.binding = binding_again;
    bt_status status = build_func(&c, old, &func);
    copy_deinit(&c);
    BT_TRY(status);
    return version_set_func(builder, name ? bt_module_find(p->declared, name) : old,
                            func);
}

/* Whether something in a function, or what it calls, is another. */
static int changes(const struct promoting *p, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        if (goes(p, block->bindings[i]))
            return 1;
        for (uint32_t r = 0; r < bt_value_nregion(block->bindings[i]); r++) {
            if (changes(p, bt_value_region(block->bindings[i], r)))
                return 1;
        }
    }
    return 0;
}

static bt_status set_all(void *state, bt_module_builder *builder)
{
    struct promoting *p = state;
    for (uint32_t g = 0; g < p->module->nglobal; g++) {
        const bt_global *global = p->module->globals[g];
        if (global->kind == BT_GLOBAL_FUNC &&
            (has_cells(p, global->func) || changes(p, global->func->block)))
            BT_TRY(set_func(p, builder, global));
    }
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct promoting p = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    bt_map_init(&p.names, p.arena, 0);
    bt_map_init(&p.taken, p.arena, 1);
    BT_TRY(promote_find(p.arena, p.module, &p.cells));
    if (p.cells.len)
        return version_create(ctx, p.module, declare_all, set_all, &p, &p.declared, out);
    *out = bt_module_ref(call->module);
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "promote-refs",
        .doc = "References that nothing keeps become values.\n"
               "before\n"
               "    def @main(%x: float32) -> float32 {\n"
               "        %r = ref(%x);\n"
               "        %u = ref_write(%r, negative(%x));\n"
               "        ref_read(%r)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: float32) -> float32 {\n"
               "        %0 = negative(%x);\n"
               "        %1 = ();\n"
               "        %0\n"
               "    }",
        .level = 1,
        .keeps = "",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_language_promote_refs[] = { BT_PASSES(passes), { 0 } };
