/* A match of which it is known which clause it takes. */
#include "common/checked.h"
#include "common/stated.h"
#include "simplify/control_flow.h"

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
    const struct control_flow *f = bt_rewrite_state(rewrite);
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
    const struct control_flow *f = bt_rewrite_state(rewrite);
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
    return control_flow_take(rewrite, &match->base, match->clauses[0]->block, vars.len,
                             vars.at, out);
}

/* Takes a clause whose variables are these. One may be stated to have dims that its value does not
 * tell; *out NULL: the match is left to check them. */
static bt_status take_clause(bt_rewrite *rewrite, const bt_match *match,
                             const bt_block *block, value_list *vars,
                             const bt_value **out)
{
    const struct control_flow *f = bt_rewrite_state(rewrite);
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
    return control_flow_take(rewrite, &match->base, block, vars->len, vars->at, out);
}

bt_status control_flow_match(bt_rewrite *rewrite, const bt_match *match,
                             const bt_value **out)
{
    const struct control_flow *f = bt_rewrite_state(rewrite);
    const struct branch_fact *fact = bt_map_find(&f->known, match);
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
        BT_TRY(control_flow_equal(rewrite, &match->base, &is_equal));
    return is_equal ? control_flow_take(rewrite, &match->base, match->clauses[0]->block,
                                        0, NULL, out)
                    : NULL;
}
