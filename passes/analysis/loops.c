#include "analysis/loops.h"

#include "analysis/view.h"

struct finder {
    const bt_module *module;
    bt_arena *arena;
    struct loops *loops;
};

int loop_integer(const bt_module *module, const bt_value *value, int64_t *out)
{
    const bt_tensor *tensor = bt_const_tensor(bt_module_constant(module, value));
    if (!tensor || tensor->rank != 0 || BT_DTYPE_CLASS(tensor->dtype) != BT_CLASS_INT)
        return 0;
    *out = bt_tensor_get_int(tensor, 0);
    return 1;
}

static int negate(int64_t *value)
{
    if (*value == INT64_MIN)
        return 0;
    *value = -*value;
    return 1;
}

/* ---- parameters ---- */

/* How much an iteration adds to a parameter. */
static int find_step(const struct finder *f, const bt_value *param, const bt_value *next,
                     int64_t *out)
{
    const bt_call *add = bt_as_op_call(next, "add"),
                  *sub = bt_as_op_call(next, "subtract");
    if (add && add->args[0] == param)
        return loop_integer(f->module, add->args[1], out);
    if (add && add->args[1] == param)
        return loop_integer(f->module, add->args[0], out);
    return sub && sub->args[0] == param && loop_integer(f->module, sub->args[1], out) &&
           negate(out);
}

static void meet_edge(const struct finder *f, struct loop *loop,
                      const struct cfg_edge *edge, int is_first)
{
    for (uint32_t i = 0; i < edge->narg; i++) {
        struct loop_param *param = &loop->params[i];
        const bt_value *old = loop->first->params[i];
        int64_t step = 0;
        int is_step = find_step(f, old, edge->args[i], &step);
        param->is_invariant &= edge->args[i] == old;
        param->is_counter &= is_step && (is_first || step == param->step);
        param->step = step;
    }
}

/* ---- how often ---- */

/* Whether a block that branches back is reached through another. */
static int leads_back(const struct loop *loop, const struct cfg_block *through)
{
    for (uint32_t i = 0; i < loop->in->blocks.len; i++) {
        const struct cfg_block *block = loop->in->blocks.at[i];
        if (block->end != CFG_BRANCH || block->edges[0].to != loop->first)
            continue;
        while (block && block != through && block != loop->first)
            block = block->dominator;
        if (block == through)
            return 1;
    }
    return 0;
}

enum { LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, NOT_EQUAL, EQUAL, NCOMPARE };
static const char *const compares[] = { "less",          "less_equal", "greater",
                                        "greater_equal", "not_equal",  "equal" };

/* How often `start + i * step COMPARE end` holds from i = 0 on; -1: not known. */
static int64_t count(int compare, int64_t start, int64_t step, int64_t end)
{
    int64_t distance;
    if (compare == GREATER || compare == GREATER_EQUAL) {
        compare = compare == GREATER ? LESS : LESS_EQUAL;
        if (!negate(&start) || !negate(&step) || !negate(&end))
            return -1;
    }
    if (!negate(&start) || !bt_add_int64(end, start, &distance))
        return -1;
    if (compare == EQUAL)
        return distance != 0 ? 0 : step ? 1 : -1;
    if (compare == NOT_EQUAL) {
        // Upwards, as the quotient of the least integer and -1 is no integer.
        if (step < 0 && (!negate(&step) || !negate(&distance)))
            return -1;
        return step && distance >= 0 && distance % step == 0 ? distance / step : -1;
    }
    if (compare == LESS_EQUAL && !bt_add_int64(distance, 1, &distance))
        return -1;
    if (distance <= 0)
        return 0;
    return step > 0 ? (distance - 1) / step + 1 : -1;
}

int64_t loop_trips(const struct loop *loop, int64_t start)
{
    return loop->has_end ? count((int)loop->compare, start,
                                 loop->params[loop->counter].step, loop->end)
                         : -1;
}

/* The comparison of a counter in the first block, of which one side leads back. */
static void find_end(const struct finder *f, struct loop *loop)
{
    static const int contrary[] = { GREATER_EQUAL, GREATER, LESS_EQUAL,
                                    LESS,          EQUAL,   NOT_EQUAL },
                     swapped[] = { GREATER,    GREATER_EQUAL, LESS,
                                   LESS_EQUAL, NOT_EQUAL,     EQUAL };
    int64_t end;
    if (loop->first->end != CFG_IF)
        return;
    const bt_call *call = bt_as_call(bt_value_operand(loop->first->on, 0));
    int compare = 0, goes_on = leads_back(loop, loop->first->edges[0].to);
    while (call && compare < NCOMPARE && !bt_as_op_call(&call->base, compares[compare]))
        compare++;
    if (!call || compare == NCOMPARE ||
        goes_on == leads_back(loop, loop->first->edges[1].to))
        return;
    const bt_value *left = call->args[0], *right = call->args[1];
    if (loop_integer(f->module, left, &end)) {
        compare = swapped[compare];
        left = right;
    } else if (!loop_integer(f->module, right, &end)) {
        return;
    }
    for (uint32_t i = 0; i < loop->first->nparam; i++) {
        if (loop->first->params[i] != left || !loop->params[i].is_counter)
            continue;
        loop->has_end = 1;
        loop->counter = i;
        loop->compare = (uint32_t)(goes_on ? compare : contrary[compare]);
        loop->end = end;
    }
}

/* ---- finding ---- */

/* The blocks that branch to a loop's first block. */
static bt_status find_loop(struct finder *f, const struct cfg_func *func,
                           struct cfg_block *first)
{
    struct loop loop = { .global = func->global,
                         .in = func,
                         .closure = first->closure,
                         .func =
                             first->closure ? first->closure->func : func->global->func,
                         .first = first };
    loop.params = BT_NEWS(f->arena, struct loop_param, first->nparam);
    if (!loop.params)
        return bt_no_memory();
    for (uint32_t i = 0; i < first->nparam; i++)
        loop.params[i] = (struct loop_param){ 1, 1, 0 };
    for (uint32_t i = first->index; i < func->blocks.len; i++) {
        const struct cfg_block *block = func->blocks.at[i];
        if (block->end == CFG_BRANCH && block->edges[0].to == first)
            meet_edge(f, &loop, &block->edges[0], loop.nback++ == 0);
    }
    if (!loop.nback)
        return NULL;
    find_end(f, &loop);
    return BT_PUSH(f->arena, &f->loops->at, loop) ? NULL : bt_no_memory();
}

bt_status loops_compute(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                        const void **out)
{
    struct loops *loops = BT_NEW(arena, struct loops);
    const void *cfg;
    if (!loops)
        return bt_no_memory();
    BT_TRY(cfg_compute(ctx, module, arena, &cfg));
    loops->cfg = cfg;
    struct finder f = { module, arena, loops };
    for (uint32_t i = 0; i < loops->cfg->nfunc; i++) {
        const struct cfg_func *func = &loops->cfg->funcs[i];
        for (uint32_t k = 0; k < func->blocks.len; k++) {
            if (k == 0 || func->blocks.at[k]->closure)
                BT_TRY(find_loop(&f, func, func->blocks.at[k]));
        }
    }
    bt_map_init(&loops->by_func, arena, 0);
    for (uint32_t i = 0; i < loops->at.len; i++) {
        if (!bt_map_put(&loops->by_func, loops->at.at[i].func, &loops->at.at[i]))
            return bt_no_memory();
    }
    *out = loops;
    return NULL;
}

/* ---- printing ---- */

static void print_param(const struct view *v, const struct loop *loop, uint32_t i)
{
    const struct loop_param *param = &loop->params[i];
    bt_text_addf(v->text, "        ");
    bt_printer_name(v->printer, loop->first->params[i]);
    if (param->is_invariant)
        bt_text_addf(v->text, ": invariant");
    else if (param->is_counter)
        bt_text_addf(v->text, ": counter, step %lld", (long long)param->step);
    else
        bt_text_addf(v->text, ": varies");
    bt_text_addf(v->text, "\n");
}

static void print_end(const struct view *v, const struct loop *loop)
{
    bt_text_addf(v->text, ": while %s(", compares[loop->compare]);
    bt_printer_name(v->printer, loop->first->params[loop->counter]);
    bt_text_addf(v->text, ", %lld)", (long long)loop->end);
}

static bt_status print_func(const struct view *v, bt_arena *arena)
{
    const struct loops *loops = v->result;
    (void)arena;
    bt_text_addf(v->text, "\n");
    for (uint32_t i = 0; i < loops->at.len; i++) {
        const struct loop *loop = &loops->at.at[i];
        if (loop->global != v->global)
            continue;
        bt_text_addf(v->text, "    loop ");
        if (loop->closure)
            bt_printer_name(v->printer, &loop->closure->base);
        else
            bt_text_addf(v->text, "@%s", loop->global->name);
        if (loop->has_end)
            print_end(v, loop);
        bt_text_addf(v->text, "\n");
        for (uint32_t k = 0; k < loop->first->nparam; k++)
            print_param(v, loop, k);
    }
    return NULL;
}

bt_status loops_print(bt_ctx *ctx, const bt_module *module, const void *result,
                      bt_text *text)
{
    return view_functions(ctx, module, result, text, print_func);
}
