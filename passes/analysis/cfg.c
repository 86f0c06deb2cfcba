#include "analysis/cfg.h"

#include "analysis/view.h"

struct maker {
    bt_arena *arena;
    struct cfg_func *func;
    bt_vec(struct cfg_block *) closures; /* first blocks, to be filled */
};

/* Where a block's result goes. */
struct goal {
    struct cfg_block *join; /* NULL: it is returned, by `self` */
    struct cfg_block *first;
    const bt_func *self;
    const bt_closure_value *closure; /* whose function `self` is; NULL: the global's */
};

/* ---- building ---- */

static struct cfg_block *new_block(struct maker *m, uint32_t nparam,
                                   const bt_value *const *params,
                                   struct cfg_block *dominator)
{
    struct cfg_block *block = BT_NEW(m->arena, struct cfg_block);
    if (!block)
        return NULL;
    *block =
        (struct cfg_block){ .nparam = nparam, .params = params, .dominator = dominator };
    return block;
}

/* The block of a function or a region, whose parameters are its own. */
static struct cfg_block *block_of(struct maker *m, const bt_block *block,
                                  struct cfg_block *dominator)
{
    const bt_value **params = BT_NEWS(m->arena, const bt_value *, block->nparam);
    for (uint32_t i = 0; params && i < block->nparam; i++)
        params[i] = &block->params[i]->base;
    return params ? new_block(m, block->nparam, params, dominator) : NULL;
}

static bt_status place(struct maker *m, struct cfg_block *block)
{
    block->index = m->func->blocks.len;
    return BT_PUSH(m->arena, &m->func->blocks, block) ? NULL : bt_no_memory();
}

static bt_status branch(struct maker *m, struct cfg_block *from, struct cfg_block *to,
                        uint32_t narg, const bt_value *const *args)
{
    struct cfg_edge *edge = BT_NEW(m->arena, struct cfg_edge);
    if (!edge)
        return bt_no_memory();
    *edge = (struct cfg_edge){ to, narg, args };
    from->end = CFG_BRANCH;
    from->nedge = 1;
    from->edges = edge;
    return NULL;
}

/* Whether a call is of the function around it, with the types that it has. */
static int calls_itself(const struct maker *m, const struct goal *goal,
                        const bt_call *call)
{
    const bt_value *callee =
        call && call->callee_kind == BT_CALLEE_VALUE ? call->callee : NULL;
    if (!callee || call->ncheck || call->ntype_arg != goal->self->nvar)
        return 0;
    for (uint32_t i = 0; i < call->ntype_arg; i++) {
        if (call->type_args[i] != goal->self->vars[i])
            return 0;
    }
    return goal->closure
               ? callee == &goal->closure->base
               : callee->kind == BT_VALUE_GLOBAL && callee->name == m->func->global->name;
}

static bt_status end_block(struct maker *m, const bt_block *block,
                           struct cfg_block *current, const struct goal *goal)
{
    const bt_value *result = block->result;
    const bt_call *last =
        current->nbinding && current->bindings[current->nbinding - 1] == result
            ? bt_as_call(result)
            : NULL;
    if (!goal->join && calls_itself(m, goal, last)) {
        current->nbinding--;
        return branch(m, current, goal->first, last->narg, last->args);
    }
    current->on = result;
    return goal->join ? branch(m, current, goal->join, 1, &block->result) : NULL;
}

static bt_status fill(struct maker *, const bt_block *, struct cfg_block *,
                      const struct goal *);

/* The regions of an `if` or match as blocks of their own. */
static bt_status fork(struct maker *m, const bt_value *value, struct cfg_block *current,
                      const struct goal *goal)
{
    uint32_t n = bt_value_nregion(value);
    struct cfg_edge *edges = BT_NEWS(m->arena, struct cfg_edge, n);
    if (!edges)
        return bt_no_memory();
    current->end = value->kind == BT_VALUE_IF ? CFG_IF : CFG_MATCH;
    current->on = value;
    current->nedge = n;
    current->edges = edges;
    for (uint32_t i = 0; i < n; i++) {
        const bt_block *region = bt_value_region(value, i);
        edges[i].to = block_of(m, region, current);
        if (!edges[i].to)
            return bt_no_memory();
        BT_TRY(place(m, edges[i].to));
        BT_TRY(fill(m, region, edges[i].to, goal));
    }
    return NULL;
}

static bt_status note_closure(struct maker *m, const bt_closure_value *closure,
                              struct cfg_block *current)
{
    struct cfg_block *first = block_of(m, closure->func->block, current);
    if (!first)
        return bt_no_memory();
    first->closure = closure;
    return BT_PUSH(m->arena, &m->closures, first) ? NULL : bt_no_memory();
}

/* Regions nest no deeper than the verifier lets them. */
static bt_status fill(struct maker *m, const bt_block *block, struct cfg_block *current,
                      const struct goal *goal)
{
    uint32_t start = 0, i;
    current->bindings = block->bindings;
    for (i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        if (value->kind == BT_VALUE_CLOSURE)
            BT_TRY(note_closure(m, bt_as_closure(value), current));
        if (value->kind != BT_VALUE_IF && value->kind != BT_VALUE_MATCH)
            continue;
        current->nbinding = i - start;
        if (value == block->result && i + 1 == block->nbinding)
            return fork(m, value, current, goal);
        struct goal behind = *goal;
        behind.join = new_block(m, 1, &block->bindings[i], current);
        if (!behind.join)
            return bt_no_memory();
        BT_TRY(fork(m, value, current, &behind));
        BT_TRY(place(m, behind.join));
        current = behind.join;
        start = i + 1;
        current->bindings = block->bindings + start;
    }
    current->nbinding = i - start;
    return end_block(m, block, current, goal);
}

static bt_status make_func(bt_arena *arena, const bt_global *global, struct cfg_func *out)
{
    struct maker m = { .arena = arena, .func = out };
    out->global = global;
    struct cfg_block *first = block_of(&m, global->func->block, NULL);
    if (!first)
        return bt_no_memory();
    const struct goal goal = { .first = first, .self = global->func };
    BT_TRY(place(&m, first));
    BT_TRY(fill(&m, global->func->block, first, &goal));
    for (uint32_t i = 0; i < m.closures.len; i++) {
        struct cfg_block *block = m.closures.at[i];
        const bt_func *func = block->closure->func;
        const struct goal own = { .first = block,
                                  .self = func,
                                  .closure = block->closure };
        BT_TRY(place(&m, block));
        BT_TRY(fill(&m, func->block, block, &own));
    }
    return NULL;
}

bt_status cfg_compute(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                      const void **out)
{
    struct cfg *cfg = BT_NEW(arena, struct cfg);
    (void)ctx;
    if (!cfg || !(cfg->funcs = BT_NEWS(arena, struct cfg_func, module->nglobal)))
        return bt_no_memory();
    for (uint32_t i = 0; i < module->nglobal; i++) {
        if (module->globals[i]->kind == BT_GLOBAL_FUNC)
            BT_TRY(make_func(arena, module->globals[i], &cfg->funcs[cfg->nfunc++]));
    }
    *out = cfg;
    return NULL;
}

/* ---- the view ---- */

static void print_list(const struct view *v, uint32_t n, const bt_value *const *values,
                       void (*print)(bt_printer *, const bt_value *))
{
    for (uint32_t i = 0; i < n; i++) {
        bt_text_addf(v->text, i ? ", " : "(");
        print(v->printer, values[i]);
    }
    bt_text_addf(v->text, n ? ")" : "");
}

static void print_edge(const struct view *v, const struct cfg_edge *edge)
{
    bt_text_addf(v->text, "bb%u", edge->to->index);
    print_list(v, edge->narg, edge->args, bt_printer_name);
}

static const struct cfg_func *func_of(const struct view *v)
{
    const struct cfg *cfg = v->result;
    uint32_t i = 0;
    while (cfg->funcs[i].global != v->global)
        i++;
    return &cfg->funcs[i];
}

static const struct cfg_block *first_of(const struct cfg_func *func,
                                        const bt_closure_value *closure)
{
    uint32_t i = 0;
    while (func->blocks.at[i]->closure != closure)
        i++;
    return func->blocks.at[i];
}

static void print_binding(const struct view *v, const bt_value *value)
{
    bt_text_addf(v->text, "    ");
    bt_printer_param(v->printer, value);
    bt_text_addf(v->text, " = ");
    if (value->kind == BT_VALUE_CLOSURE)
        bt_text_addf(v->text, "fn bb%u",
                     first_of(func_of(v), bt_as_closure(value))->index);
    else
        bt_printer_expr(v->printer, value);
    bt_text_addf(v->text, ";\n");
}

static void print_match(const struct view *v, const struct cfg_block *block)
{
    const bt_match *match = bt_as_match(block->on);
    bt_text_addf(v->text, match->otherwise ? "match? (" : "match (");
    bt_printer_name(v->printer, match->data);
    bt_text_addf(v->text, ") {");
    for (uint32_t i = 0; i < match->nclause; i++) {
        bt_text_addf(v->text, "\n        ");
        bt_printer_pattern(v->printer, match->clauses[i]->pattern);
        bt_text_addf(v->text, " => ");
        print_edge(v, &block->edges[i]);
    }
    bt_text_addf(v->text, "\n    }");
}

static void print_end(const struct view *v, const struct cfg_block *block)
{
    bt_text_addf(v->text, "    ");
    switch (block->end) {
    case CFG_RETURN:
        bt_text_addf(v->text, "return ");
        bt_printer_name(v->printer, block->on);
        break;
    case CFG_BRANCH:
        bt_text_addf(v->text, "branch ");
        print_edge(v, &block->edges[0]);
        break;
    case CFG_IF:
        bt_text_addf(v->text, "if (");
        bt_printer_name(v->printer, bt_value_operand(block->on, 0));
        bt_text_addf(v->text, ") ");
        print_edge(v, &block->edges[0]);
        bt_text_addf(v->text, " else ");
        print_edge(v, &block->edges[1]);
        break;
    default: print_match(v, block); break;
    }
    bt_text_addf(v->text, ";\n");
}

static void print_block(const struct view *v, const struct cfg_block *block)
{
    bt_text_addf(v->text, "bb%u", block->index);
    print_list(v, block->nparam, block->params, bt_printer_param);
    bt_text_addf(v->text, ":");
    if (block->closure) {
        bt_text_addf(v->text, " // fn ");
        bt_printer_name(v->printer, &block->closure->base);
    }
    bt_text_addf(v->text, "\n");
    for (uint32_t i = 0; i < block->nbinding; i++)
        print_binding(v, block->bindings[i]);
    print_end(v, block);
}

static bt_status print_blocks(const struct view *v, bt_arena *arena)
{
    const struct cfg_func *func = func_of(v);
    (void)arena;
    bt_printer_head(v->printer, v->global->func);
    bt_text_addf(v->text, " {\n");
    for (uint32_t i = 0; i < func->blocks.len; i++)
        print_block(v, func->blocks.at[i]);
    bt_text_addf(v->text, "}\n");
    return NULL;
}

static bt_status print_dominators(const struct view *v, bt_arena *arena)
{
    const struct cfg_func *func = func_of(v);
    (void)arena;
    bt_text_addf(v->text, "\n");
    for (uint32_t i = 1; i < func->blocks.len; i++)
        bt_text_addf(v->text, "    bb%u: bb%u\n", i,
                     func->blocks.at[i]->dominator->index);
    return NULL;
}

bt_status cfg_print(bt_ctx *ctx, const bt_module *module, const void *cfg, bt_text *text)
{
    return view_functions(ctx, module, cfg, text, print_blocks);
}

bt_status cfg_print_dominance(bt_ctx *ctx, const bt_module *module, const void *cfg,
                              bt_text *text)
{
    return view_functions(ctx, module, cfg, text, print_dominators);
}
