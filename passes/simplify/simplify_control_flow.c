/*
 * simplify-control-flow: no branch where it is known which way it goes.
 * A branch goes one way where its condition is a constant, or where it stands in a branch on
 * the same condition; a match, where its data is a constructor or a tuple in sight, or where
 * it stands in a clause of a match on the same data. Branches that are all the same are one
 * of them. An `if` that gives its condition, the contrary, or a constant on one side is a
 * logical operator; what both its sides compute without an effect is computed before it.
 * needs    effects
 * keeps    every invariant
 * source   Relay's and LLVM's SimplifyCFG in part
 */
#include "common/checked.h"
#include "common/equality.h"
#include "common/refuted.h"
#include "common/stated.h"

/* What is known of a value inside of a region of a branch on it: of a condition the side,
 * of data the pattern that it matched. */
struct fact {
    uint32_t region;
    const bt_pattern *pattern;
};

struct flow {
    bt_arena *arena;
    const bt_effects *effects;
    bt_map facts;   /* while regions are walked: value -> struct fact */
    bt_map known;   /* an `if` or a match -> the struct fact that holds of its operand */
    bt_map hoisted; /* binding of both sides of an `if` -> the one before it */
    open_checks checks;
};

/* ---- facts ---- */

static bt_status find_facts(struct flow *, const bt_block *);

/* The region of a branch, in which a fact holds of the value that it branches on. */
static bt_status enter_region(struct flow *f, const bt_value *branch, uint32_t region)
{
    const bt_match *match = bt_as_match(branch);
    const bt_value *on = bt_value_operand(branch, 0);
    struct fact *outer = bt_map_find(&f->facts, on);
    struct fact *fact = BT_NEW(f->arena, struct fact);
    if (!fact)
        return bt_no_memory();
    *fact = (struct fact){ region, match ? match->clauses[region]->pattern : NULL };
    if (!bt_map_put(&f->facts, on, fact))
        return bt_no_memory();
    BT_TRY(find_facts(f, bt_value_region(branch, region)));
    return bt_map_put(&f->facts, on, outer) ? NULL : bt_no_memory();
}

/* Regions nest no deeper than the verifier lets them. */
static bt_status find_facts(struct flow *f, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        int is_branch = value->kind == BT_VALUE_IF || value->kind == BT_VALUE_MATCH;
        struct fact *fact =
            is_branch ? bt_map_find(&f->facts, bt_value_operand(value, 0)) : NULL;
        if (fact && !bt_map_put(&f->known, value, fact))
            return bt_no_memory();
        BT_TRY(refuted_note(f->arena, value, &f->checks));
        for (uint32_t k = 0; k < bt_value_nregion(value); k++)
            BT_TRY(is_branch ? enter_region(f, value, k)
                             : find_facts(f, bt_value_region(value, k)));
    }
    return NULL;
}

/* ---- branches that are the same ---- */

/* Whether two blocks without parameters are. */
static bt_status are_equal(bt_rewrite *rewrite, const bt_block *a, const bt_block *b,
                           int *out)
{
    bt_ctx *ctx = bt_rewrite_ctx(rewrite);
    bt_store *store = bt_builder_store(bt_rewrite_builder(rewrite));
    const bt_func fields[2] = { { .block = a, .result = a->result->type },
                                { .block = b, .result = b->result->type } };
    const bt_func *funcs[2];
    *out = !a->nparam && !b->nparam && a->nbinding == b->nbinding;
    if (!*out)
        return NULL;
    BT_TRY(bt_func_create(ctx, store, &fields[0], &funcs[0]));
    BT_TRY(bt_func_create(ctx, store, &fields[1], &funcs[1]));
    *out = bt_func_equal(bt_ctx_registry(ctx), funcs[0], funcs[1]);
    return NULL;
}

static bt_status all_equal(bt_rewrite *rewrite, const bt_value *branch, int *out)
{
    *out = bt_value_nregion(branch) > 0 && !bt_value_region(branch, 0)->nparam;
    for (uint32_t i = 1; *out && i < bt_value_nregion(branch); i++)
        BT_TRY(are_equal(rewrite, bt_value_region(branch, 0), bt_value_region(branch, i),
                         out));
    return NULL;
}

/* Takes a region in place of its branch, unless its dims refute what is checked of the branch's:
 * that is left to the run, which may never come there. */
static bt_status take(bt_rewrite *rewrite, const bt_value *branch, const bt_block *region,
                      uint32_t narg, const bt_value *const *args, const bt_value **out)
{
    const struct flow *f = bt_rewrite_state(rewrite);
    int is_refuted;
    BT_TRY(refuted_by(bt_rewrite_ctx(rewrite), f->arena, &f->checks, branch->type,
                      region->result->type, &is_refuted));
    return is_refuted ? NULL : bt_rewrite_inline(rewrite, region, narg, args, out);
}

/* ---- if ---- */

/* A side that only gives a constant: 1, 0; anything else: -1. */
static int gives_bool(const bt_block *block)
{
    const bt_tensor *tensor = block->nbinding ? NULL : bt_const_tensor(block->result);
    return tensor && tensor->rank == 0 && tensor->dtype == BT_BOOL
               ? bt_tensor_get_int(tensor, 0) != 0
               : -1;
}

static bt_status build_logical(bt_rewrite *rewrite, const char *op, const bt_value *x,
                               const bt_value *old, const bt_value **out)
{
    const bt_value *args[2] = { x, NULL };
    if (old)
        BT_TRY(bt_rewrite_operand(rewrite, old, &args[1]));
    return bt_build(bt_rewrite_builder(rewrite), op, NULL, args, old ? 2 : 1, out);
}

/* `if` between truth values, one of them known: its sides compute nothing. */
static bt_status as_logical(bt_rewrite *rewrite, const bt_if *branch,
                            const bt_value *condition, const bt_value **out)
{
    int then_gives = gives_bool(branch->then_block),
        else_gives = gives_bool(branch->else_block);
    if (then_gives == 1 && else_gives == 0)
        *out = condition;
    else if (then_gives == 0 && else_gives == 1)
        return build_logical(rewrite, "logical_not", condition, NULL, out);
    else if (branch->base.type == condition->type && then_gives == 1 &&
             !branch->else_block->nbinding)
        return build_logical(rewrite, "logical_or", condition, branch->else_block->result,
                             out);
    else if (branch->base.type == condition->type && else_gives == 0 &&
             !branch->then_block->nbinding)
        return build_logical(rewrite, "logical_and", condition,
                             branch->then_block->result, out);
    return NULL;
}

static bt_status copy_region(bt_rewrite *rewrite, const bt_block *old,
                             const bt_block **out)
{
    bt_builder *builder = bt_rewrite_builder(rewrite);
    const bt_value *result;
    BT_TRY(bt_block_begin(builder, 0, NULL));
    BT_TRY(bt_rewrite_inline(rewrite, old, 0, NULL, &result));
    return bt_block_end(builder, result, out);
}

/* On the contrary of something: on that, with the sides exchanged. */
static bt_status exchange(bt_rewrite *rewrite, const bt_if *branch,
                          const bt_value *condition, const bt_value **out)
{
    const bt_block *then_block, *else_block;
    BT_TRY(copy_region(rewrite, branch->else_block, &then_block));
    BT_TRY(copy_region(rewrite, branch->then_block, &else_block));
    return bt_build_if(bt_rewrite_builder(rewrite), condition, then_block, else_block,
                       out);
}

/* ---- what both sides compute ---- */

static int is_movable(const struct flow *f, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    if (value->kind != BT_VALUE_CALL && value->kind != BT_VALUE_TUPLE &&
        value->kind != BT_VALUE_PROJ)
        return 0;
    return !bt_effects_of(f->effects, value) && !(value->type->has & BT_HAS_OPAQUE) &&
           !(call && (call->ncheck || call->contents));
}

struct seen {
    const bt_value *value;
    struct seen *next;
};

static bt_status add_seen(struct flow *f, bt_map *table, uint32_t hash,
                          const bt_value *value)
{
    const void *key = (const void *)((uintptr_t)hash + 1);
    struct seen *seen = BT_NEW(f->arena, struct seen);
    if (!seen)
        return bt_no_memory();
    *seen = (struct seen){ value, bt_map_find(table, key) };
    return bt_map_put(table, key, seen) ? NULL : bt_no_memory();
}

/* *both: bindings of the first block that the second one computes too -> not NULL.
 * Operands of equal bindings are equal too, so they move in the order of the block. */
static bt_status find_both(struct flow *f, const bt_if *branch, struct equality *e,
                           bt_map *both)
{
    const bt_block *a = branch->then_block, *b = branch->else_block;
    bt_map table;
    bt_map_init(&table, f->arena, 0);
    for (uint32_t i = 0; i < a->nbinding; i++) {
        if (!is_movable(f, a->bindings[i]))
            continue;
        BT_TRY(equality_learn(e, a->bindings[i]));
        BT_TRY(add_seen(f, &table, equality_hash(e, a->bindings[i]), a->bindings[i]));
    }
    for (uint32_t i = 0; table.len && i < b->nbinding; i++) {
        const bt_value *value = b->bindings[i];
        if (!is_movable(f, value))
            continue;
        BT_TRY(equality_learn(e, value));
        const void *key = (const void *)((uintptr_t)equality_hash(e, value) + 1);
        const struct seen *seen = bt_map_find(&table, key);
        while (seen && !equality_holds(e, seen->value, value))
            seen = seen->next;
        if (!seen)
            continue;
        BT_TRY(equality_follow(e, value, seen->value));
        if (!bt_map_put(both, seen->value, f))
            return bt_no_memory();
    }
    return NULL;
}

/* The binding again, before the `if`. */
static bt_status hoist_one(bt_rewrite *rewrite, const bt_value *old)
{
    struct flow *f = bt_rewrite_state(rewrite);
    uint32_t n = bt_value_noperand(old);
    const bt_value **operands = BT_NEWS(f->arena, const bt_value *, n), *now;
    if (!operands)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *operand = bt_value_operand(old, i);
        operands[i] = bt_map_find(&f->hoisted, operand);
        if (!operands[i])
            BT_TRY(bt_rewrite_operand(rewrite, operand, &operands[i]));
    }
    bt_builder_like(bt_rewrite_builder(rewrite), old);
    BT_TRY(bt_build_again(bt_rewrite_builder(rewrite), old, operands, NULL, NULL, &now));
    return bt_map_put(&f->hoisted, old, (void *)(uintptr_t)now) ? NULL : bt_no_memory();
}

static bt_status hoist(bt_rewrite *rewrite, const bt_if *branch)
{
    struct flow *f = bt_rewrite_state(rewrite);
    const bt_block *a = branch->then_block, *b = branch->else_block;
    struct equality e;
    bt_map both;
    if (!a->nbinding || !b->nbinding)
        return NULL;
    equality_init(&e, f->arena);
    bt_map_init(&both, f->arena, 0);
    BT_TRY(find_both(f, branch, &e, &both));
    for (uint32_t i = 0; both.len && i < a->nbinding; i++) {
        if (bt_map_find(&both, a->bindings[i]))
            BT_TRY(hoist_one(rewrite, a->bindings[i]));
    }
    for (uint32_t i = 0; both.len && i < b->nbinding; i++) {
        const bt_value *value = b->bindings[i], *first = equality_leader(&e, value);
        if (first != value &&
            !bt_map_put(&f->hoisted, value, bt_map_find(&f->hoisted, first)))
            return bt_no_memory();
    }
    bt_builder_like(bt_rewrite_builder(rewrite), &branch->base);
    return NULL;
}

static bt_status simplify_if(bt_rewrite *rewrite, const bt_if *branch,
                             const bt_value **out)
{
    const struct flow *f = bt_rewrite_state(rewrite);
    const struct fact *fact = bt_map_find(&f->known, branch);
    const bt_value *condition;
    int is_equal;
    BT_TRY(bt_rewrite_operand(rewrite, branch->condition, &condition));
    const bt_tensor *constant =
        bt_const_tensor(bt_module_constant(bt_rewrite_call(rewrite)->module, condition));
    const bt_call *contrary = bt_as_op_call(condition, "logical_not");
    BT_TRY(all_equal(rewrite, &branch->base, &is_equal));
    if (is_equal || fact || constant) {
        uint32_t side = fact       ? fact->region
                        : constant ? bt_tensor_get_int(constant, 0) == 0
                                   : 0;
        return take(rewrite, &branch->base, bt_value_region(&branch->base, side), 0, NULL,
                    out);
    }
    BT_TRY(as_logical(rewrite, branch, condition, out));
    if (*out)
        return NULL;
    BT_TRY(hoist(rewrite, branch));
    return contrary ? exchange(rewrite, branch, contrary->args[0], out) : NULL;
}

/* ---- match ---- */

/* What is seen of a value: itself, the pattern that it matched, or both. */
struct sight {
    const bt_value *now;
    const bt_pattern *matched;
};

enum { NO, PERHAPS, YES };

typedef bt_vec(const bt_value *) value_list;

/* The constructor that made it, and a field of that. */
static const bt_ctor *ctor_of(const struct sight *sight)
{
    const bt_call *call = bt_as_call(sight->now);
    if (call && call->callee_kind == BT_CALLEE_CTOR)
        return call->ctor;
    return sight->matched && sight->matched->kind == BT_PATTERN_CTOR
               ? sight->matched->ctor
               : NULL;
}

static bt_status field_of(bt_rewrite *rewrite, const struct sight *sight, uint32_t index,
                          struct sight *out)
{
    const bt_call *call = bt_as_call(sight->now);
    const bt_tuple_value *tuple = bt_as_tuple(sight->now);
    *out = (struct sight){ 0 };
    if (sight->matched && sight->matched->n)
        out->matched = sight->matched->at[index];
    if (call && call->callee_kind == BT_CALLEE_CTOR)
        out->now = call->ncheck ? NULL : call->args[index]; // the check says more of it
    else if (tuple)
        out->now = tuple->fields[index];
    else if (out->matched && out->matched->kind == BT_PATTERN_VAR)
        return bt_rewrite_operand(rewrite, &out->matched->var->base, &out->now);
    return NULL;
}

/* Whether it matches, and what the pattern's variables are then. Patterns nest no deeper
 * than bt_pattern_create lets them. */
static bt_status decide(bt_rewrite *rewrite, const bt_pattern *pattern,
                        const struct sight *sight, value_list *vars, int *out)
{
    const struct flow *f = bt_rewrite_state(rewrite);
    const bt_ctor *ctor = ctor_of(sight);
    struct sight field;
    int one;
    *out = YES;
    switch (pattern->kind) {
    case BT_PATTERN_WILDCARD: return NULL;
    case BT_PATTERN_VAR:
        *out = sight->now ? YES : PERHAPS;
        return BT_PUSH(f->arena, vars, sight->now) ? NULL : bt_no_memory();
    case BT_PATTERN_CTOR:
        *out = !ctor ? PERHAPS : ctor->tag == pattern->ctor->tag ? YES : NO;
        break;
    default:
        *out = bt_as_tuple(sight->now) ||
                       (sight->matched && sight->matched->kind == BT_PATTERN_TUPLE)
                   ? YES
                   : PERHAPS;
        break;
    }
    for (uint32_t i = 0; *out == YES && i < pattern->n; i++) {
        BT_TRY(field_of(rewrite, sight, i, &field));
        BT_TRY(decide(rewrite, pattern->at[i], &field, vars, &one));
        *out = one;
    }
    return NULL;
}

/* A tuple's fields, of a tuple that is not in sight: a match of nothing else is no
 * choice. */
static bt_status build_fields(bt_rewrite *rewrite, const bt_match *match,
                              const bt_value *data, const bt_value **out)
{
    const struct flow *f = bt_rewrite_state(rewrite);
    const bt_pattern *pattern = match->clauses[0]->pattern;
    value_list vars = { 0 };
    for (uint32_t i = 0; i < pattern->n; i++) {
        if (pattern->at[i]->kind != BT_PATTERN_VAR &&
            pattern->at[i]->kind != BT_PATTERN_WILDCARD)
            return NULL;
    }
    for (uint32_t i = 0; i < pattern->n; i++) {
        const bt_value *field;
        if (pattern->at[i]->kind != BT_PATTERN_VAR)
            continue;
        BT_TRY(bt_build_proj(bt_rewrite_builder(rewrite), data, i, &field));
        if (!BT_PUSH(f->arena, &vars, field))
            return bt_no_memory();
    }
    return take(rewrite, &match->base, match->clauses[0]->block, vars.len, vars.at, out);
}

/* Takes a clause whose variables are these. One may be stated to have dims that its value does not
 * tell; *out NULL: the match is left to check them. */
static bt_status take_clause(bt_rewrite *rewrite, const bt_match *match,
                             const bt_block *block, value_list *vars,
                             const bt_value **out)
{
    const struct flow *f = bt_rewrite_state(rewrite);
    bt_builder *b = bt_rewrite_builder(rewrite);
    struct copy c = { .ctx = bt_rewrite_ctx(rewrite),
                      .store = bt_builder_store(b),
                      .arena = f->arena,
                      .b = b };
    const bt_type **types = BT_NEWS(f->arena, const bt_type *, vars->len);
    if (!types)
        return bt_no_memory();
    BT_TRY(stated_types(rewrite, &c, block, vars->at, types));
    for (uint32_t i = 0; i < vars->len; i++) {
        BT_TRY(checked_value(&c, vars->at[i], types[i], &vars->at[i]));
        if (!vars->at[i])
            return NULL;
    }
    return take(rewrite, &match->base, block, vars->len, vars->at, out);
}

static bt_status simplify_match(bt_rewrite *rewrite, const bt_match *match,
                                const bt_value **out)
{
    const struct flow *f = bt_rewrite_state(rewrite);
    const struct fact *fact = bt_map_find(&f->known, match);
    struct sight data = { .matched = fact ? fact->pattern : NULL };
    int answer = NO, is_equal = 0;
    BT_TRY(bt_rewrite_operand(rewrite, match->data, &data.now));
    for (uint32_t i = 0; answer == NO && i < match->nclause; i++) {
        value_list vars = { 0 };
        const bt_clause *clause = match->clauses[i];
        BT_TRY(decide(rewrite, clause->pattern, &data, &vars, &answer));
        if (answer == YES)
            return take_clause(rewrite, match, clause->block, &vars, out);
    }
    if (match->nclause && match->clauses[0]->pattern->kind == BT_PATTERN_TUPLE)
        return build_fields(rewrite, match, data.now, out);
    if (!match->otherwise)
        BT_TRY(all_equal(rewrite, &match->base, &is_equal));
    return is_equal ? take(rewrite, &match->base, match->clauses[0]->block, 0, NULL, out)
                    : NULL;
}

static bt_status use_hoisted(bt_rewrite *rewrite, const bt_value *old,
                             const bt_value **out)
{
    const struct flow *f = bt_rewrite_state(rewrite);
    *out = bt_map_find(&f->hoisted, old);
    return NULL;
}

static const bt_rewriter rewriter = { .if_ = simplify_if,
                                      .match_ = simplify_match,
                                      .any = use_hoisted };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct flow f = { .arena = call->scratch };
    const void *effects;
    BT_TRY(bt_pass_analysis(ctx, call, "effects", &effects));
    f.effects = effects;
    bt_map_init(&f.facts, call->scratch, 0);
    bt_map_init(&f.known, call->scratch, 0);
    bt_map_init(&f.hoisted, call->scratch, 0);
    for (uint32_t i = 0; i < call->module->nglobal; i++) {
        if (call->module->globals[i]->kind == BT_GLOBAL_FUNC)
            BT_TRY(find_facts(&f, call->module->globals[i]->func->block));
    }
    return bt_rewrite_module(ctx, call, &rewriter, &f, out);
}

static const bt_pass passes[] = {
    {
        .name = "simplify-control-flow",
        .doc = "No branch where it is known which way it goes.\n"
               "before\n"
               "    type Shape { Circle(float32), Square(float32) }\n"
               "    def @main(%c: bool, %x: float32) {\n"
               "        %0 = Circle(%x);\n"
               "        match (%0) {\n"
               "            Circle(%r) => { if (%c) { if (%c) { exp(%r) } else { %r } } "
               "else "
               "{ %x } },\n"
               "            Square(%s) => { %s },\n"
               "        }\n"
               "    }\n"
               "after\n"
               "    type Shape { Circle(float32), Square(float32) }\n"
               "    def @main(%c: bool, %x: float32) {\n"
               "        %0 = Circle(%x);\n"
               "        if (%c) { exp(%x) } else { %x }\n"
               "    }",
        .level = 1,
        .needs = "effects",
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_simplify_control_flow[] = { BT_PASSES(passes), { 0 } };
