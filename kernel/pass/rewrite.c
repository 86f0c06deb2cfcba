/* The rewriting driver: walks old blocks in order and emits new ones. */
#include "pass/rewrite.h"

#include <string.h>

#include "ir/pattern.h"
#include "ir/type_match.h"
#include "solve/solve.h"

const bt_value bt__rewrite_dropped = { 0 };

/* Beyond it, bindings emitted before their place are built again without their slots. */
enum { MAX_FORCE_DEPTH = 32 };

/* ---- creating and destroying ---- */

bt_status bt__rewrite_create(bt_ctx *ctx, bt_pass_call *call, const bt_rewriter *rewriter,
                             void *state, bt_rewrite *out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    *out = (bt_rewrite){
        .ctx = ctx,
        .call = call,
        .rewriter = rewriter,
        .state = state,
        .module = call->module,
        .store = call->module->store,
        .arena = bt_arena_create(registry),
        .stack = bt_arena_create(registry),
        .kept = bt_arena_create(registry),
    };
    bt_status status = bt_no_memory();
    if (out->arena && out->stack && out->kept)
        status = bt_builder_create(ctx, out->store, out->module, &out->b);
    if (status)
        bt__rewrite_deinit(out);
    else
        bt_builder_set_infer(out->b, (int)out->module->is_typed);
    return status;
}

void bt__rewrite_deinit(bt_rewrite *rw)
{
    bt_builder_destroy(rw->b);
    bt_arena_destroy(rw->arena);
    bt_arena_destroy(rw->stack);
    bt_arena_destroy(rw->kept);
}

const char *bt__rewrite_pass_name(const bt_rewrite *rw)
{
    return rw->call->pass && rw->call->pass->name ? rw->call->pass->name : "rewriting";
}

bt_status bt__rewrite_enter(bt_rewrite *rw)
{
    uint32_t limit = bt_ctx_limits(rw->ctx)->depth;
    if (rw->depth >= limit)
        return bt_fail(rw->ctx, BT_ERR_LIMIT,
                       "%s: blocks and inlined functions are nested deeper than %u",
                       bt__rewrite_pass_name(rw), limit);
    rw->depth++;
    return NULL;
}

/* ---- mapping ---- */

void bt__scope_init(bt_rewrite *rw, struct bt__scope *scope, struct bt__scope *outer)
{
    *scope = (struct bt__scope){ .outer = outer };
    bt_map_init(&scope->values, rw->arena, 0);
    bt_map_init(&scope->types, rw->arena, 0);
    if (outer) {
        scope->is_fresh = outer->is_fresh;
        scope->is_plain = outer->is_plain;
        scope->prov = outer->prov;
    }
}

bt_status bt__scope_put(struct bt__scope *scope, const bt_value *old, const bt_value *now)
{
    return bt_map_put(&scope->values, old, (void *)(uintptr_t)now) ? NULL
                                                                   : bt_no_memory();
}

struct bt__cursor *bt__rewrite_cursor(const bt_rewrite *rw, const bt_block *block)
{
    struct bt__cursor *c = rw->cursor;
    while (c && c->block != block)
        c = c->outer;
    return c;
}

const bt_value *bt__rewrite_find(const bt_rewrite *rw, const bt_value *old)
{
    const struct bt__info *info = bt__rewrite_info(rw, old);
    struct bt__scope *scope = rw->cursor->scope;
    if (info && info->block && !scope->is_plain) {
        // Other scopes may have other copies of its block.
        struct bt__cursor *cursor = bt__rewrite_cursor(rw, info->block);
        return cursor ? bt_map_find(&cursor->scope->values, old) : NULL;
    }
    const bt_value *now = NULL;
    for (; scope && !now; scope = scope->outer)
        now = bt_map_find(&scope->values, old);
    return now;
}

/* A reference to a global, with the type that it has now. */
static bt_status map_global(bt_rewrite *rw, const bt_value *old, const bt_value **out)
{
    const bt_type *type = rw->retyped ? bt_map_find(rw->retyped, old->name) : NULL;
    *out = old;
    if (!type || type == old->type)
        return NULL;
    bt_global_ref *now = bt__node(rw->b, BT_VALUE_GLOBAL, sizeof(*now));
    if (!now)
        return bt_no_memory();
    now->base.name = old->name;
    now->base.span = old->span;
    now->base.type = type;
    *out = &now->base;
    return bt__scope_put(rw->cursor->scope, old, *out);
}

bt_status bt__rewrite_map(bt_rewrite *rw, const bt_value *old, const bt_value **out)
{
    const bt_value *now = bt__rewrite_find(rw, old);
    if (now == &bt__rewrite_dropped)
        return bt_fail_at(rw->ctx, BT_ERR_INTERNAL, rw->store, old->span,
                          "%s dropped %%%s, which is still used",
                          bt__rewrite_pass_name(rw), old->name ? old->name : "_");
    if (now)
        *out = now;
    else if (old->kind == BT_VALUE_GLOBAL)
        return map_global(rw, old, out);
    else if (!bt_value_is_binding(old) || rw->cursor->scope->is_plain)
        *out = old;
    else
        return bt_fail_at(rw->ctx, BT_ERR_INTERNAL, rw->store, old->span,
                          "%s: %%%s is used before it is bound",
                          bt__rewrite_pass_name(rw), old->name ? old->name : "_");
    return NULL;
}

/* ---- blocks ---- */

bt_status bt__rewrite_walk(bt_rewrite *rw, const bt_block *block, struct bt__scope *scope,
                           const bt_value **result)
{
    struct bt__cursor cursor = {
        .outer = rw->cursor,
        .block = block,
        .frame = rw->b->selected,
        .scope = scope,
    };
    bt_status status = NULL;
    rw->cursor = &cursor;
    while (!status && cursor.position < block->nbinding) {
        status = bt__rewrite_visit(rw, block->bindings[cursor.position]);
        cursor.position++;
    }
    if (!status)
        status = bt__rewrite_map(rw, block->result, result);
    rw->cursor = cursor.outer;
    return status;
}

/* The block's parameters, or new ones where types are given or everything is copied. */
static bt_status map_params(bt_rewrite *rw, const bt_block *block,
                            const bt_type *const *types, const bt_param *const **out)
{
    struct bt__scope *scope = rw->cursor->scope;
    *out = block->params;
    if (!types && !scope->is_fresh)
        return NULL;
    const bt_param **params = BT_NEWS(rw->stack, const bt_param *, block->nparam);
    if (!params)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *old = &block->params[i]->base;
        const bt_type *type = types ? types[i] : NULL;
        if (!type && old->type && !(type = bt__rewrite_type(rw, old->type)))
            return bt_store_why(rw->ctx, rw->store);
        bt_builder_like(rw->b, old);
        BT_TRY(bt_build_param(rw->b, old->name, type, &params[i]));
        BT_TRY(bt__scope_put(scope, old, &params[i]->base));
    }
    bt_builder_name(rw->b, NULL);
    *out = params;
    return NULL;
}

static bt_status rewrite_contents(bt_rewrite *rw, const bt_block *block,
                                  const bt_type *const *types, const bt_block **out)
{
    const bt_param *const *params;
    const bt_value *result;
    BT_TRY(map_params(rw, block, types, &params));
    BT_TRY(bt_block_begin(rw->b, block->nparam, params));
    if (rw->begun) {
        const bt_func *func = rw->begun;
        rw->begun = NULL;
        BT_TRY(rw->rewriter->begin(rw, func));
    }
    BT_TRY(bt__rewrite_walk(rw, block, rw->cursor->scope, &result));
    return bt__block_end_as(rw->b, result, rw->cursor->scope->is_fresh ? NULL : block,
                            out);
}

bt_status bt__rewrite_region(bt_rewrite *rw, const bt_block *block,
                             const bt_type *const *types, const bt_block **out)
{
    struct bt__preset before = rw->b->preset;
    const void *mark = bt_arena_mark(rw->stack);
    BT_TRY(bt__rewrite_enter(rw));
    bt_status status = rewrite_contents(rw, block, types, out);
    rw->depth--;
    bt_arena_release(rw->stack, mark);
    rw->b->preset = before;
    return status;
}

/* ---- bindings ---- */

bt_status bt__rewrite_ask(bt_rewrite *rw, const bt_value *old, const bt_value **out,
                          int *dropped)
{
    const bt_rewriter *r = rw->rewriter;
    const bt_value *now = NULL;
    bt_status status = NULL;
    *out = NULL;
    *dropped = 0;
    if (rw->cursor->scope->is_plain || rw->force_depth > MAX_FORCE_DEPTH)
        return NULL;
    uint32_t was_dropped = rw->is_dropped;
    rw->is_dropped = 0;
    switch (old->kind) {
#define SLOT_0(UPPER, lower)
#define SLOT_1(UPPER, lower)                                    \
    case BT_VALUE_##UPPER:                                      \
        if (r->lower##_)                                        \
            status = r->lower##_(rw, bt_as_##lower(old), &now); \
        else if (r->any)                                        \
            status = r->any(rw, old, &now);                     \
        break;
#define BT_VALUE(UPPER, lower, type, is_binding, doc) SLOT_##is_binding(UPPER, lower)
#include <baton/value_kinds.def>
    default: break;
    }
    *dropped = (int)rw->is_dropped;
    rw->is_dropped = was_dropped;
    *out = now;
    return status;
}

/* Operands and regions of the new binding, and whether the old type still holds. */
struct rebuilt {
    const bt_value **operands;
    const bt_block **regions;
    const bt_type **param_types; /* of the clause at hand */
    int same_types, same_nodes;
};

/* A field whose type says `?` gives a dim that only the run knows: the clause may have named it,
 * and the name stays. */
static bt_status keep_names(bt_rewrite *rw, const bt_block *clause, const bt_type **types)
{
    for (uint32_t i = 0; i < clause->nparam; i++) {
        const bt_type *old = clause->params[i]->base.type;
        if (!types[i] || !old || !(types[i]->has & BT_HAS_OPAQUE))
            continue;
        if (!(old = bt__rewrite_type(rw, old)))
            return bt_store_why(rw->ctx, rw->store);
        if (bt__type_accepts(rw->stack, types[i], old))
            types[i] = old;
    }
    return NULL;
}

/* New types of a clause's variables, where the type of the data is another one. */
static bt_status clause_types(bt_rewrite *rw, const bt_match *match, uint32_t index,
                              struct rebuilt *now, const bt_type *const **out)
{
    const bt_pattern *pattern = match->clauses[index]->pattern;
    uint32_t next = 0;
    *out = NULL;
    if (!now->operands[0]->type || now->operands[0]->type == match->data->type)
        return NULL;
    const bt_type **types = BT_NEWS(rw->stack, const bt_type *, bt_pattern_nvar(pattern));
    if (!types)
        return bt_no_memory();
    if (!bt__pattern_types(rw->store, pattern, now->operands[0]->type, types, &next))
        return bt_store_why(rw->ctx, rw->store);
    *out = types;
    return keep_names(rw, match->clauses[index]->block, types);
}

static bt_status map_regions(bt_rewrite *rw, const bt_value *old, struct rebuilt *now)
{
    uint32_t n = bt_value_nregion(old);
    const bt_match *match = bt_as_match(old);
    int same_types = now->same_types;
    for (uint32_t i = 0; i < n; i++) {
        const bt_block *region = bt_value_region(old, i);
        const bt_type *const *types = NULL;
        if (match)
            BT_TRY(clause_types(rw, match, i, now, &types));
        BT_TRY(bt__rewrite_region(rw, region, types, &now->regions[i]));
        now->same_nodes &= now->regions[i] == region;
        same_types &= bt__rewrite_same_facts(rw, region->result, now->regions[i]->result);
    }
    now->same_types = same_types;
    return NULL;
}

/* A dim that was to be found at run time may follow from types that say more now. */
static int finds_dim(const bt_value *user, const bt_value *old, const bt_value *now)
{
    return user->type && (user->type->has & BT_HAS_OPAQUE) && old->type != now->type;
}

/* Relations of operators look at the elements of operands; all else at types alone. */
static int is_same_use(bt_rewrite *rw, const bt_value *user, const bt_value *old,
                       const bt_value *now)
{
    const bt_call *call = bt_as_call(user);
    if (call && call->callee_kind == BT_CALLEE_OP && finds_dim(user, old, now))
        return 0;
    return call && call->callee_kind != BT_CALLEE_OP && old->type && now->type
               ? bt__rewrite_type(rw, old->type) == now->type
               : bt__rewrite_same_facts(rw, old, now);
}

static bt_status map_operands(bt_rewrite *rw, const bt_value *old, struct rebuilt *now)
{
    uint32_t n = bt_value_noperand(old);
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *operand = bt_value_operand(old, i);
        BT_TRY(bt__rewrite_map(rw, operand, &now->operands[i]));
        now->same_nodes &= now->operands[i] == operand;
        now->same_types &= is_same_use(rw, old, operand, now->operands[i]);
    }
    return NULL;
}

static bt_status rebuild(bt_rewrite *rw, const bt_value *old, const bt_value **out)
{
    struct rebuilt now = {
        .operands = BT_NEWS(rw->stack, const bt_value *, bt_value_noperand(old)),
        .regions = BT_NEWS(rw->stack, const bt_block *, bt_value_nregion(old)),
        .same_types = old->type != NULL,
        .same_nodes = !rw->cursor->scope->is_fresh && rw->b->preset.prov == old->prov &&
                      !bt__rewrite_is_substituting(rw),
    };
    if (!now.operands || !now.regions)
        return bt_no_memory();
    BT_TRY(map_operands(rw, old, &now));
    BT_TRY(map_regions(rw, old, &now));
    bt__again again = { .operands = now.operands, .regions = now.regions };
    if (now.same_nodes) {
        *out = old;
        return bt__builder_append(rw->b, old);
    }
    const bt_call *call = bt_as_call(old);
    const bt_type *type = old->type ? bt__rewrite_type(rw, old->type) : NULL;
    if (old->type && !type)
        return bt_store_why(rw->ctx, rw->store);
    if (call) {
        int same_checks;
        BT_TRY(bt__rewrite_call_parts(rw, call, &again, &same_checks));
        now.same_types &= same_checks;
    }
    if (now.same_types)
        again.type = type;
    else if (call && call->callee_kind != BT_CALLEE_CTOR && call->ncheck)
        BT_TRY(bt_rewrite_stated(rw, old, &again.stated)); // it checks more than follows
    return bt__build_again(rw->b, old, &again, out);
}

void bt__rewrite_preset(bt_rewrite *rw, const bt_value *old)
{
    bt_builder_like(rw->b, old);
    rw->b->preset.prov = bt__builder_join(rw->b, old->prov, rw->cursor->scope->prov);
    rw->b->preset.type = NULL;
    rw->b->preset.layout = NULL;
}

/* Builds it again, where its slot gave no replacement. */
static bt_status keep_one(bt_rewrite *rw, const bt_value *old, const bt_value **out)
{
    const void *mark = bt_arena_mark(rw->stack);
    bt__rewrite_preset(rw, old);
    rw->b->preset.prov = bt__builder_join(rw->b, rw->b->preset.prov, rw->from);
    BT_TRY(rebuild(rw, old, out));
    bt_arena_release(rw->stack, mark);
    return NULL;
}

static bt_status visit_one(bt_rewrite *rw, const bt_value *old)
{
    const bt_value *now;
    int dropped;
    bt_prov outer = rw->from;
    rw->from = 0;
    bt__rewrite_preset(rw, old);
    BT_TRY(bt__rewrite_ask(rw, old, &now, &dropped));
    if (now && !dropped)
        BT_TRY(bt__rewrite_check_type(rw, old, now));
    if (!now && !dropped)
        BT_TRY(keep_one(rw, old, &now));
    if (!dropped)
        BT_TRY(bt__rewrite_relate(rw, old, now));
    rw->from = outer;
    return bt__scope_put(rw->cursor->scope, old, dropped ? &bt__rewrite_dropped : now);
}

bt_status bt__rewrite_visit(bt_rewrite *rw, const bt_value *old)
{
    if (bt_map_find(&rw->cursor->scope->values, old))
        return NULL;
    struct bt__preset before = rw->b->preset;
    if (!BT_PUSH(rw->kept, &rw->busy, old))
        return bt_no_memory();
    const bt_closure_value *closure = bt_as_closure(old);
    bt_status status =
        closure ? bt__rewrite_group(rw, closure->group) : visit_one(rw, old);
    rw->busy.len--;
    rw->b->preset = before;
    return status;
}

/* ---- functions ---- */

/* Whether these differ in which opaque dims they name alone: what callers know stays. */
static int is_renamed(bt_rewrite *rw, const bt_type *old, const bt_type *now)
{
    return old && now && bt__type_accepts(rw->stack, old, now) &&
           bt__type_accepts(rw->stack, now, old);
}

static bt_status rewrite_body(bt_rewrite *rw, const bt_func *func, const bt_func **out)
{
    struct bt__scope scope;
    bt__scope_init(rw, &scope, NULL);
    struct bt__cursor root = { .scope = &scope };
    const bt_block *block;
    BT_TRY(bt__rewrite_learn(rw, func->block));
    rw->cursor = &root;
    bt__promises promises;
    BT_TRY(bt__promises_init(&promises, rw->arena, func, NULL));
    rw->b->promises = &promises;
    rw->begun = rw->rewriter->begin ? func : NULL;
    BT_TRY(bt__rewrite_region(rw, func->block, NULL, &block));
    rw->b->promises = NULL;
    const bt_type *result = block->result->type;
    if (func->result && bt__rewrite_same_facts(rw, func->block->result, block->result) &&
        !(result = bt__rewrite_type(rw, func->result)))
        return bt_store_why(rw->ctx, rw->store);
    rw->cursor = NULL;
    *out = func;
    if (block == func->block)
        return NULL;
    bt_func fields = *func;
    fields.block = block;
    if (!is_renamed(rw, func->result, result))
        fields.result = result;
    return bt_func_create(rw->ctx, rw->store, &fields, out);
}

bt_status bt__rewrite_func(bt_rewrite *rw, const bt_func *func, const bt_func **out)
{
    const void *mark = bt_arena_mark(rw->arena);
    bt_map_init(&rw->infos, rw->arena, 0);
    bt_map_init(&rw->blocks, rw->arena, 0);
    bt_map_init(&rw->births, rw->arena, 0);
    bt_status status = rewrite_body(rw, func, out);
    bt_arena_release(rw->arena, mark);
    return status;
}

/* ---- what slots ask ---- */

void *bt_rewrite_state(const bt_rewrite *rw)
{
    return rw->state;
}

bt_ctx *bt_rewrite_ctx(const bt_rewrite *rw)
{
    return rw->ctx;
}

bt_pass_call *bt_rewrite_call(const bt_rewrite *rw)
{
    return rw->call;
}

bt_builder *bt_rewrite_builder(bt_rewrite *rw)
{
    return rw->b;
}

uint32_t bt_rewrite_depth(const bt_rewrite *rw)
{
    return rw->depth;
}

void bt_rewrite_drop(bt_rewrite *rw)
{
    rw->is_dropped = 1;
}

bt_status bt_rewrite_replace(bt_rewrite *rw, const bt_value *old, const bt_value *now)
{
    const struct bt__info *info = bt__rewrite_info(rw, old);
    struct bt__cursor *cursor =
        info && info->block ? bt__rewrite_cursor(rw, info->block) : NULL;
    if (cursor) {
        BT_TRY(bt__rewrite_check_type(rw, old, now));
        return bt__scope_put(cursor->scope, old, now);
    }
    return bt_fail_at(rw->ctx, BT_ERR_INTERNAL, rw->store, old->span,
                      "%s replaces %%%s, which is not bound in a block around the place "
                      "at hand",
                      bt__rewrite_pass_name(rw), old->name ? old->name : "_");
}

void bt_rewrite_from(bt_rewrite *rw, const bt_value *old)
{
    rw->b->preset.prov = bt__builder_join(rw->b, rw->b->preset.prov, old->prov);
    rw->from = bt__builder_join(rw->b, rw->from, old->prov);
}

uint32_t bt_rewrite_nuse(const bt_rewrite *rw, const bt_value *old)
{
    const struct bt__info *info = bt__rewrite_info(rw, old);
    return info ? info->users.len : 0;
}

const bt_value *bt_rewrite_use(const bt_rewrite *rw, const bt_value *old, uint32_t index)
{
    const struct bt__info *info = bt__rewrite_info(rw, old);
    return info && index < info->users.len ? info->users.at[index] : NULL;
}

int bt_rewrite_is_here(const bt_rewrite *rw, const bt_value *old)
{
    const struct bt__info *info = bt__rewrite_info(rw, old);
    return info && info->block == rw->cursor->block;
}

int bt_rewrite_is_alone_here(const bt_rewrite *rw, const bt_value *old)
{
    return bt_rewrite_nuse(rw, old) == 1 && bt_rewrite_is_here(rw, old);
}
