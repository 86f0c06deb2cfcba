/* Calls of functions that are known: unfolded where something is gained, else left. */
#include "common/derivative_attrs.h"
#include "partial/pe.h"

enum { MAX_NEST = 16 }; /* of a function that recurs by values only */

/* What is called. */
struct callee {
    const bt_func *func;
    const bt_global *global;
    const bt_closure_value *closure;
    struct pe_activation *outer;
    const struct pe_facts *facts;
};

/* 0: it is not known. */
static bt_status find_callee(struct pe *p, const struct pe_value *v, struct callee *out,
                             int *found)
{
    *out = (struct callee){ .global = v->kind == PE_GLOBAL ? v->global : NULL,
                            .closure = v->kind == PE_CLOSURE ? v->closure : NULL };
    *found = out->global || out->closure;
    if (!*found)
        return NULL;
    out->func = out->global ? out->global->func : out->closure->func;
    out->outer = out->closure ? v->group->around : NULL;
    return pe_facts_of(p, out->func, out->global, out->closure, &out->facts);
}

/* Its stated result is more exact than what its last call gives, by a check, which a copy would
 * lose. */
static int is_result_checked(const bt_func *func)
{
    const bt_call *last = bt_as_call(func->block->result);
    return last && last->ncheck && func->result != last->base.type;
}

static int may_be_copied(const struct pe *p, const bt_call *call, const struct callee *c)
{
    const bt_dict_entry *attr = bt_dict_find(&c->func->attrs, "inline");
    return !call->ncheck && !bt_map_find(&p->blocked, c->func) &&
           !bt_func_is_primitive(c->func) && !is_result_checked(c->func) &&
           !derivative_attrs_has(&c->func->attrs) &&
           !(attr && attr->kind == BT_DICT_BOOL && !attr->i) &&
           call->narg == c->func->block->nparam;
}

static int has_room(struct pe *p, const struct callee *c)
{
    const int fits = p->reserved + c->facts->size <= p->limit && p->work < p->most_work &&
                     p->block->depth + c->facts->depth <= p->max_depth;
    p->met_limit |= !fits;
    return fits;
}

/* ---- what is gained ---- */

/* Types whose values are taken apart: data, tuples and functions. */
static int is_structured(const bt_type *type)
{
    return type->kind == BT_TYPE_ADT || type->kind == BT_TYPE_APPLY ||
           type->kind == BT_TYPE_TUPLE || type->kind == BT_TYPE_FUNC ||
           type->kind == BT_TYPE_REF;
}

static int tells(const struct callee *c, struct pe_value *const *args, uint32_t i)
{
    return pe_is_known(args[i]) &&
           (args[i]->kind != PE_CONST || c->facts->params[i] & PE_PARAM_DECIDES);
}

static int tells_something(const struct callee *c, struct pe_value *const *args)
{
    for (uint32_t i = 0; i < c->func->block->nparam; i++) {
        if (tells(c, args, i))
            return 1;
    }
    return 0;
}

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* Whether an integer comes nearer to what it is compared with; from there, whether it goes one
 * step on: i < n ends behind n where i counts down. */
static int is_nearer(const struct pe_bound *bound, const struct pe_activation *around,
                     struct pe_value *const *now)
{
    struct pe_value *const *before = around->args;
    struct pe_value *const *first = around->previous ? around->previous->args : NULL;
    int64_t start, from, to, end = bound->number, other;
    if (!pe_integer(before[bound->param], &from) || !pe_integer(now[bound->param], &to))
        return 0;
    if (bound->other != UINT32_MAX &&
        (!pe_integer(before[bound->other], &other) ||
         !pe_integer(now[bound->other], &end) || other != end))
        return 0;
    if (from == end)
        return to != from && (!first || !pe_integer(first[bound->param], &start) ||
                              (start < from) == (from < to));
    return distance(to, end) < distance(from, end);
}

/* Whether an argument that decides something is smaller than in the call around this one. */
static int is_smaller(const struct callee *c, const struct pe_activation *around,
                      struct pe_value *const *now)
{
    for (uint32_t i = 0; i < c->func->block->nparam; i++) {
        if (c->facts->params[i] & PE_PARAM_DECIDES && around->args[i]->kind == PE_DATA &&
            now[i]->kind == PE_DATA && now[i]->size < around->args[i]->size)
            return 1;
    }
    for (uint32_t i = 0; i < c->facts->bounds.len; i++) {
        if (is_nearer(&c->facts->bounds.at[i], around, now))
            return 1;
    }
    return 0;
}

/* How often a function calls itself by this argument, at least; 0: that is not known. */
static uint64_t count_calls(const struct pe *p, const struct callee *c,
                            struct pe_value *const *args, uint32_t param)
{
    uint64_t least = 0;
    int64_t from, end;
    if (!pe_integer(args[param], &from))
        return args[param]->size;
    for (uint32_t i = 0; p->options->numbers && i < c->facts->bounds.len; i++) {
        const struct pe_bound *bound = &c->facts->bounds.at[i];
        end = bound->number;
        if (bound->param != param ||
            (bound->other != UINT32_MAX && !pe_integer(args[bound->other], &end)))
            continue;
        const uint64_t n = distance(from, end) + (distance(from, end) < UINT64_MAX);
        least = least && least < n ? least : n;
    }
    return least;
}

/* Whether it may be smaller in the calls that it makes of itself, for all of which there is
 * room: one that is unfolded in part gains nothing. */
static int starts(struct pe *p, const struct callee *c, struct pe_value *const *args)
{
    const uint64_t room = p->reserved < p->limit ? p->limit - p->reserved : 0;
    for (uint32_t i = 0; i < c->func->block->nparam; i++) {
        const uint32_t flags = c->facts->params[i];
        const uint64_t n = pe_is_known(args[i]) && flags & PE_PARAM_DECIDES &&
                                   (flags & PE_PARAM_DESCENDS || !c->facts->calls_itself)
                               ? count_calls(p, c, args, i)
                               : 0;
        if (n && n <= room / (c->facts->size + 1))
            return 1;
        // what others have taken of it is there again in another run
        p->may_differ |= n != 0;
        p->met_limit |= n && n <= (p->limit - p->base) / (c->facts->size + 1);
    }
    return 0;
}

static int is_worth(struct pe *p, const bt_type *result, const struct callee *c,
                    struct pe_value *const *args)
{
    const struct pe_activation *around = bt_map_find(&p->active, c->func);
    const int is_within = around && around->args;
    const int gains = c->facts->is_recursive ? starts(p, c, args)
                                             : c->closure || is_structured(result) ||
                                                   tells_something(c, args);
    int is = gains && (c->facts->is_recursive ||
                       c->facts->size <= (uint64_t)p->options->max_unfold);
    if (is_within && (c->facts->is_recursive || around->nest >= MAX_NEST))
        is = is_smaller(c, around, args);
    p->may_differ |= gains && !is;
    return is;
}

/* ---- unfolding ---- */

/* Variables by what is passed, the others by what the call says. */
static bt_status give_types(struct pe *p, struct pe_activation *at, const bt_call *call,
                            struct pe_activation *to, int *are_known)
{
    const bt_func *func = to->func;
    const bt_type *term;
    to->types.is_copy = 1;
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(pe_type_take(p, &to->types, func, func->block->params[i]->base.type,
                            to->args[i]->type));
    *are_known = 1;
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (bt_map_find(&to->types.map, func->vars[i]))
            continue;
        *are_known &= call->ntype_arg == func->nvar;
        if (!*are_known)
            return NULL;
        BT_TRY(pe_type(p, &at->types, call->type_args[i], &term));
        if (!bt_map_put(&to->types.map, func->vars[i], (void *)(uintptr_t)term))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status unfold(struct pe *p, struct pe_activation *at, const bt_call *call,
                        const struct callee *c, struct pe_value *const *args, int *done)
{
    struct pe_activation *to;
    BT_TRY(pe_activation_create(p, c->func, c->outer, args, &to));
    BT_TRY(give_types(p, at, call, to, done));
    if (!*done)
        return pe_activation_end(p, to);
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(pe_put(to, &c->func->block->params[i]->base, args[i]));
    p->reserved += c->facts->size;
    p->ngain++;
    const struct pe_step step = {
        .block = c->func->block, .at = to, .target = &call->base, .to = at, .is_call = 1
    };
    return pe_enter(p, &step);
}

/* Which arguments a version is for: functions, and what decides and stays as it is where the
 * function calls itself. */
static int choose(const struct callee *c, struct pe_value *const *args, uint8_t *keeps)
{
    int any = 0;
    for (uint32_t i = 0; i < c->func->block->nparam; i++) {
        const uint32_t flags = c->facts->params[i];
        const int stays = flags & PE_PARAM_DECIDES && !(flags & PE_PARAM_CHANGES);
        keeps[i] = args[i]->kind == PE_CLOSURE || args[i]->kind == PE_GLOBAL ||
                   (stays && pe_is_known(args[i]));
        any |= keeps[i];
    }
    return any;
}

/* *out NULL: the function is called as it is. */
static bt_status specialise(struct pe *p, struct pe_activation *at, const bt_call *call,
                            const struct callee *c, struct pe_value *const *args,
                            const bt_value **out)
{
    uint8_t *keeps = BT_NEWS(p->arena, uint8_t, call->narg);
    *out = NULL;
    if (!keeps)
        return bt_no_memory();
    return c->global && call->ntype_arg == c->func->nvar && p->work < p->most_work &&
                   !bt_map_find(&p->whole, c->func) && choose(c, args, keeps)
               ? pe_run_version(p, at, call, c->global, args, keeps, out)
               : NULL;
}

bt_status pe_run_call(struct pe *p, struct pe_activation *at, const bt_call *call)
{
    struct pe_value **args = BT_NEWS(p->arena, struct pe_value *, call->narg);
    struct pe_value *callee, *value;
    const bt_value *now = NULL;
    struct callee c;
    int found, done = 0;
    if (!args)
        return bt_no_memory();
    BT_TRY(pe_get(p, at, call->callee, &callee));
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(pe_get(p, at, call->args[i], &args[i]));
    BT_TRY(find_callee(p, callee, &c, &found));
    found = found && may_be_copied(p, call, &c);
    const bt_type *result = call->base.type;
    if (result->kind == BT_TYPE_VAR)
        BT_TRY(pe_type(p, &at->types, result, &result));
    if (found && is_worth(p, result, &c, args) && has_room(p, &c))
        BT_TRY(unfold(p, at, call, &c, args, &done));
    if (done)
        return NULL;
    if (found)
        BT_TRY(specialise(p, at, call, &c, args, &now));
    if (!now)
        BT_TRY(pe_call_left(p, at, call, callee, args, &now));
    BT_TRY(pe_emit(p, now));
    BT_TRY(pe_dynamic(p, now, &value));
    return pe_deliver(p, at, &call->base, value);
}
