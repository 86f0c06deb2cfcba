/* Branches and matches: the way that is taken where it is known; else all of them. */
#include "common/checked.h"
#include "partial/pe.h"

/* What is left of a side gives its parts: one as it is, several as a tuple. */
static bt_status end_side(struct pe *p, const struct pe_join *j, uint32_t index,
                          const bt_block **out)
{
    const struct pe_side *side = &j->sides[index];
    const bt_value **parts = BT_NEWS(p->arena, const bt_value *, j->parts.len), *result;
    if (!parts)
        return bt_no_memory();
    for (uint32_t i = 0; i < j->parts.len; i++)
        parts[i] = j->parts.at[i][index]->operand;
    if (j->parts.len == 1) {
        result = parts[0];
    } else {
        pe_like(p, NULL);
        BT_TRY(bt_build_tuple(p->maker, j->parts.len, parts, &result));
        BT_TRY(pe_emit_into(p, side->block, result));
    }
    return pe_block_end(p, side->block, side->nparam, side->params, result, out);
}

/* Ways of other types than each other give what the branch was stated to give, where they are what
 * they were; else it is inferred. */
static bt_status state_type(struct pe *p, struct pe_activation *at,
                            const struct pe_join *j, const bt_value *branch)
{
    const bt_type *type, *was;
    for (uint32_t i = 0; i < j->nside; i++) {
        if (j->parts.len != 1 || j->parts.at[0][i] != j->sides[i].value)
            return NULL;
        BT_TRY(pe_type(p, &at->types, bt_value_region(branch, i)->result->type, &was));
        if (j->sides[i].value->operand->type != was)
            return NULL;
    }
    BT_TRY(pe_type(p, &at->types, branch->type, &type));
    bt_builder_type(p->maker, type);
    return NULL;
}

/* Whether nothing is left of a branch. */
static int is_nothing(const struct pe_join *j)
{
    int is = j->parts.len == 0;
    for (uint32_t i = 0; i < j->nside; i++)
        is = is && j->sides[i].block->bindings.len == 0;
    return is;
}

/* The parts are fields of what is left of the branch. */
static bt_status take_parts(struct pe *p, const struct pe_join *j, const bt_value *branch,
                            struct pe_value *value)
{
    struct pe_value *whole;
    BT_TRY(pe_dynamic(p, branch, &whole));
    int is_whole = value->kind == PE_TUPLE && value->n == j->parts.len;
    for (uint32_t i = 0; i < j->joined.len; i++) {
        struct pe_value *part = j->joined.at[i];
        if (j->joined.len == 1) {
            part->operand = branch;
            part->type = branch->type;
        }
        part->whole = whole;
        part->index = i;
        is_whole = is_whole && value->fields[i] == part;
    }
    if (is_whole && j->joined.len > 1)
        value->operand = branch;
    return NULL;
}

/* All ways give the same, and do nothing. */
static bt_status drop(struct pe *p, struct pe_activation *at, const bt_value *branch,
                      struct pe_value *value)
{
    p->ngain++;
    return pe_deliver(p, at, branch, value);
}

/* ---- ways ---- */

static void begin(struct pe *p, struct pe_join *j)
{
    j->store = p->store_now;
    j->ncell = p->cells.len;
}

static bt_status begin_side(struct pe *p, const struct pe_join *j, struct pe_side *side)
{
    p->store_now = j->store;
    BT_TRY(pe_block_create(p, p->block, &side->block));
    p->block = side->block;
    return NULL;
}

static bt_status run_side(struct pe *p, struct pe_activation *at, const bt_block *block,
                          struct pe_side *side)
{
    BT_TRY(pe_run(p, at, block, &side->value));
    side->store = p->store_now;
    p->block = side->block->outer;
    return NULL;
}

/* Goes on in one of the ways of a branch. */
static bt_status take_way(struct pe *p, struct pe_activation *at, const bt_value *branch,
                          uint32_t way)
{
    const struct pe_step step = {
        .block = bt_value_region(branch, way), .at = at, .target = branch, .to = at
    };
    uint64_t size;
    for (uint32_t i = 0; i < bt_value_nregion(branch); i++) {
        BT_TRY(pe_size(p, bt_value_region(branch, i), &size));
        pe_give_back(p, i == way ? 0 : size);
    }
    pe_give_back(p, 1);
    p->ngain++;
    return pe_enter(p, &step);
}

/* ---- if ---- */

bt_status pe_run_if(struct pe *p, struct pe_activation *at, const bt_if *branch)
{
    struct pe_side sides[2] = { { .nparam = 0 }, { .nparam = 0 } };
    struct pe_join j = { .nside = 2, .sides = sides };
    const bt_block *blocks[2];
    struct pe_value *condition, *value;
    const bt_value *operand, *now;
    int64_t known;
    BT_TRY(pe_get(p, at, branch->condition, &condition));
    if (pe_integer(condition, &known))
        return take_way(p, at, &branch->base, known ? 0 : 1);
    BT_TRY(pe_operand(p, condition, &operand));
    begin(p, &j);
    for (uint32_t i = 0; i < 2; i++) {
        BT_TRY(begin_side(p, &j, &sides[i]));
        BT_TRY(run_side(p, at, bt_value_region(&branch->base, i), &sides[i]));
    }
    BT_TRY(pe_join(p, &j, &value));
    if (is_nothing(&j))
        return drop(p, at, &branch->base, value);
    for (uint32_t i = 0; i < 2; i++)
        BT_TRY(end_side(p, &j, i, &blocks[i]));
    pe_like(p, &branch->base);
    BT_TRY(state_type(p, at, &j, &branch->base));
    BT_TRY(bt_build_if(p->maker, operand, blocks[0], blocks[1], &now));
    BT_TRY(pe_emit(p, now));
    BT_TRY(take_parts(p, &j, now, value));
    p->ngain += j.ngain;
    return pe_deliver(p, at, &branch->base, value);
}

/* ---- match ---- */

enum { NO, MAYBE, YES };

/* Patterns nest no deeper than 256. */
static int fits(const bt_pattern *pattern, const struct pe_value *v)
{
    int all = YES;
    if (bt_pattern_is_leaf(pattern))
        return YES;
    if (pattern->kind == BT_PATTERN_CTOR && v && v->kind == PE_DATA &&
        v->ctor != pattern->ctor)
        return NO;
    const int is_known = v && (v->kind == PE_TUPLE || v->kind == PE_DATA);
    if (pattern->kind == BT_PATTERN_CTOR && !is_known)
        all = MAYBE;
    for (uint32_t i = 0; i < pattern->n; i++) {
        const int one = fits(pattern->at[i], is_known ? v->fields[i] : NULL);
        if (one == NO)
            return NO;
        all = one < all ? one : all;
    }
    return all;
}

/* Adds what the variables of a pattern are, which are parts of the value, in their order. */
static bt_status find_parts(struct pe *p, const bt_pattern *pattern, struct pe_value *v,
                            struct pe_value **parts, uint32_t *n)
{
    if (pattern->kind == BT_PATTERN_VAR)
        parts[(*n)++] = v;
    for (uint32_t i = 0; i < pattern->n; i++) {
        struct pe_value *field;
        if (pattern->kind == BT_PATTERN_CTOR)
            field = v->fields[i];
        else if (!bt_pattern_is_leaf(pattern->at[i]) ||
                 pattern->at[i]->kind == BT_PATTERN_VAR)
            BT_TRY(pe_field(p, NULL, v, i, &field));
        else
            continue;
        if (pattern->at[i]->kind != BT_PATTERN_WILDCARD)
            BT_TRY(find_parts(p, pattern->at[i], field, parts, n));
    }
    return NULL;
}

static struct copy copy_of(struct pe *p)
{
    return (struct copy){
        .ctx = p->ctx, .store = p->store, .arena = p->arena, .b = p->maker
    };
}

/* The type of what stands for a variable, with the dims that this is stated to have: those that it
 * brings along are the value's, but there may be others, which that does not tell. */
static bt_status stated_type(struct pe *p, struct pe_activation *at, const bt_param *var,
                             const struct pe_value *v, const bt_type **out)
{
    struct copy c = copy_of(p);
    const bt_type *stated;
    BT_TRY(pe_type_bind(p, &at->types, var->base.type, v->type));
    BT_TRY(pe_type_stated(p, &at->types, var->base.type, &stated));
    return checked_type(&c, v->type, stated, out);
}

/* What stands for a variable, with all of its dims; *out NULL: nothing does. */
static bt_status as_stated(struct pe *p, struct pe_activation *at, const bt_param *var,
                           struct pe_value *v, struct pe_value **out)
{
    struct copy c = copy_of(p);
    const bt_type *type;
    const bt_value *operand, *now;
    BT_TRY(stated_type(p, at, var, v, &type));
    *out = type == v->type ? v : NULL;
    if (*out || !bt_as_tensor_type(type))
        return NULL;
    BT_TRY(pe_operand(p, v, &operand));
    pe_like(p, &var->base);
    BT_TRY(checked_value(&c, operand, type, &now));
    BT_TRY(pe_emit(p, now));
    return pe_dynamic(p, now, out);
}

/* Its variables are parts of the value. *out 0: one is stated to have dims that its part does not
 * tell, and the match is left to check them. */
static bt_status bind_parts(struct pe *p, struct pe_activation *at,
                            const bt_clause *clause, struct pe_value *v, int *out)
{
    const uint32_t nparam = clause->block->nparam;
    struct pe_value **parts = BT_NEWS(p->arena, struct pe_value *, nparam);
    uint32_t n = 0;
    if (!parts)
        return bt_no_memory();
    BT_TRY(find_parts(p, clause->pattern, v, parts, &n));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(pe_type_bind(p, &at->types, clause->block->params[i]->base.type,
                            parts[i]->type));
    for (uint32_t i = 0; i < n; i++) {
        BT_TRY(as_stated(p, at, clause->block->params[i], parts[i], &parts[i]));
        if (!(*out = parts[i] != NULL))
            return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(pe_put(at, &clause->block->params[i]->base, parts[i]));
    *out = 1;
    return NULL;
}

/* A pattern that stays: its variables are new, or what is known to stand there. */
struct patterns {
    struct pe_activation *at;
    const bt_param **params;
    uint32_t nparam;
};

static bt_status pattern_left(struct pe *p, struct patterns *to, const bt_pattern *old,
                              const bt_type *type, struct pe_value *v,
                              const bt_pattern **out)
{
    const bt_pattern **at = BT_NEWS(p->arena, const bt_pattern *, old->n);
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const int is_known = v && ((v->kind == PE_TUPLE && old->kind == BT_PATTERN_TUPLE) ||
                               (v->kind == PE_DATA && v->ctor == old->ctor));
    bt_pattern now = *old;
    if (!at)
        return bt_no_memory();
    if (old->kind == BT_PATTERN_VAR) {
        const bt_param **param = &to->params[to->nparam++];
        const bt_type *stated;
        struct pe_value *value;
        if (v)
            BT_TRY(stated_type(p, to->at, old->var, v, &stated));
        if (v && stated != v->type)
            v = NULL; // what the pattern gives tells more
        // of a field that says ? each value has dims of its own, by which the clause names them
        if (type->has & BT_HAS_HOLE)
            BT_TRY(pe_type(p, &to->at->types, old->var->base.type, &type));
        pe_like(p, &old->var->base);
        BT_TRY(bt_build_param(p->maker, old->var->base.name, type, param));
        BT_TRY(pe_dynamic(p, &(*param)->base, &value));
        now.var = *param;
        BT_TRY(pe_deliver(p, to->at, &old->var->base, v ? v : value));
    }
    for (uint32_t i = 0; i < old->n; i++) {
        const bt_type *field = tuple ? tuple->at[i] : NULL;
        if (old->kind == BT_PATTERN_CTOR)
            BT_TRY(pe_field_type(p, type, old->ctor, i, &field));
        BT_TRY(pattern_left(p, to, old->at[i], field, is_known ? v->fields[i] : NULL,
                            &at[i]));
    }
    now.at = at;
    *out = bt_pattern_create(p->store, &now);
    return *out ? NULL : bt_no_memory();
}

static bt_status run_clause(struct pe *p, struct pe_activation *at,
                            const bt_clause *clause, struct pe_value *data,
                            const struct pe_join *j, struct pe_side *side,
                            const bt_pattern **pattern)
{
    const uint32_t n = clause->block->nparam;
    struct patterns to = { at, BT_NEWS(p->arena, const bt_param *, n), 0 };
    if (!to.params)
        return bt_no_memory();
    BT_TRY(begin_side(p, j, side));
    BT_TRY(pattern_left(p, &to, clause->pattern, data->operand->type, data, pattern));
    side->nparam = n;
    side->params = to.params;
    return run_side(p, at, clause->block, side);
}

static bt_status match_left(struct pe *p, struct pe_activation *at, const bt_match *match,
                            struct pe_value *data)
{
    struct pe_join j = { .nside = match->nclause };
    bt_clause *clauses = BT_NEWS(p->arena, bt_clause, match->nclause);
    struct pe_value *value;
    const bt_value *operand, *now;
    j.sides = BT_NEWS(p->arena, struct pe_side, match->nclause);
    if (!clauses || !j.sides)
        return bt_no_memory();
    BT_TRY(pe_operand(p, data, &operand));
    begin(p, &j);
    for (uint32_t i = 0; i < match->nclause; i++)
        BT_TRY(run_clause(p, at, match->clauses[i], data, &j, &j.sides[i],
                          &clauses[i].pattern));
    BT_TRY(pe_join(p, &j, &value));
    if (is_nothing(&j) && !match->otherwise)
        return drop(p, at, &match->base, value);
    for (uint32_t i = 0; i < match->nclause; i++)
        BT_TRY(end_side(p, &j, i, &clauses[i].block));
    pe_like(p, &match->base);
    BT_TRY(state_type(p, at, &j, &match->base));
    BT_TRY(bt_build_match(p->maker, operand, match->nclause, clauses, match->otherwise,
                          &now));
    BT_TRY(pe_emit(p, now));
    BT_TRY(take_parts(p, &j, now, value));
    p->ngain += j.ngain;
    return pe_deliver(p, at, &match->base, value);
}

/* A match on a type without constructors. */
static bt_status nothing_left(struct pe *p, struct pe_activation *at,
                              const bt_match *match, struct pe_value *data)
{
    const bt_value *operand, *now;
    const bt_type *type;
    struct pe_value *value;
    BT_TRY(pe_operand(p, data, &operand));
    BT_TRY(pe_type(p, &at->types, match->base.type, &type));
    pe_like(p, &match->base);
    bt_builder_type(p->maker, type);
    BT_TRY(bt_build_match(p->maker, operand, 0, NULL, match->otherwise, &now));
    BT_TRY(pe_emit(p, now));
    BT_TRY(pe_dynamic(p, now, &value));
    return pe_deliver(p, at, &match->base, value);
}

bt_status pe_run_match(struct pe *p, struct pe_activation *at, const bt_match *match)
{
    struct pe_value *data;
    int is_bound;
    BT_TRY(pe_get(p, at, match->data, &data));
    if (match->nclause == 0)
        return nothing_left(p, at, match, data);
    for (uint32_t i = 0; i < match->nclause; i++) {
        const int fit = fits(match->clauses[i]->pattern, data);
        if (fit == MAYBE)
            break;
        if (fit == NO)
            continue;
        BT_TRY(bind_parts(p, at, match->clauses[i], data, &is_bound));
        if (!is_bound)
            break;
        return take_way(p, at, &match->base, i);
    }
    return match_left(p, at, match, data);
}
