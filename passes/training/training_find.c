/* Which functions have operators of training, and which of these train-mode refuses. */
#include "training/training.h"

struct content *training_content_of(const struct training *t, const bt_value *value)
{
    const bt_global *global = bt_module_global(t->module, value);
    return global ? bt_map_find(&t->index, global) : NULL;
}

static void join(struct content *to, const struct content *from)
{
    to->has |= from->has;
    to->drops = to->drops ? to->drops : from->drops;
    to->normalises = to->normalises ? to->normalises : from->normalises;
}

int training_is_norm(const bt_value *value)
{
    return bt_as_op_call(value, "nn.batch_norm") ||
           bt_as_op_call(value, "nn.batch_norm_training");
}

static void look_at(const struct training *t, const bt_value *value, struct content *out)
{
    const struct content own = {
        .has = bt_as_op_call(value, "nn.dropout") ? DROPS
               : training_is_norm(value)          ? NORMALISES
                                                  : 0,
        .drops = bt_as_op_call(value, "nn.dropout") ? value : NULL,
        .normalises = training_is_norm(value) ? value : NULL,
    };
    join(out, &own);
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        const struct content *global = training_content_of(t, bt_value_operand(value, i));
        if (global)
            join(out, global);
    }
}

/* Adds what a block has, and those in it. */
static bt_status look_into(const struct training *t, const bt_block *block,
                           struct content *out)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(t->copy.arena, block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        const struct content *result = training_content_of(t, blocks.at[b]->result);
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++)
            look_at(t, blocks.at[b]->bindings[i], out);
        if (result)
            join(out, result);
    }
    return NULL;
}

/* What a global refers to is looked at before it, unless they refer to each other. */
bt_status training_look_at_globals(struct training *t)
{
    const bt_callgraph *graph = t->graph;
    t->content = BT_NEWS(t->copy.arena, struct content, t->module->nglobal);
    if (!t->content)
        return bt_no_memory();
    for (uint32_t g = 0; g < t->module->nglobal; g++) {
        if (!bt_map_put(&t->index, t->module->globals[g], &t->content[g]))
            return bt_no_memory();
    }
    for (uint32_t component = 0; component < graph->ncomponent; component++) {
        struct content all = { 0 };
        const uint32_t first = graph->member_start[component],
                       end = graph->member_start[component + 1];
        for (uint32_t i = first; i < end; i++) {
            const bt_global *global = t->module->globals[graph->members[i]];
            if (global->kind == BT_GLOBAL_FUNC && global->func->block)
                BT_TRY(look_into(t, global->func->block, &all));
        }
        for (uint32_t i = first; i < end; i++)
            t->content[graph->members[i]] = all;
    }
    return NULL;
}

/* ---- refusing ---- */

/* Points at the operator. */
static bt_status refuse(const struct training *t, const struct content *content,
                        uint32_t has, const char *why)
{
    const bt_value *at =
        content->has & has & DROPS ? content->drops : content->normalises;
    return bt_fail_at(t->copy.ctx, BT_ERR_UNSUPPORTED, t->module->store, at->span,
                      "train-mode: %s stands in %s", bt_as_call(at)->op->name, why);
}

static bt_status check_regions(const struct training *t, const bt_value *value)
{
    const bt_closure_value *closure = bt_as_closure(value);
    struct content content = { 0 };
    for (uint32_t i = 0; !closure && i < bt_value_nregion(value); i++)
        BT_TRY(look_into(t, bt_value_region(value, i), &content));
    for (uint32_t i = 0; closure && i < closure->group->n; i++)
        BT_TRY(look_into(t, closure->group->at[i]->func->block, &content));
    if (closure && content.has)
        return refuse(t, &content, content.has,
                      "a closure, whose calls would all have the same key; make it a "
                      "function of the module, def @NAME, each call of which has its "
                      "own");
    if (content.has & NORMALISES)
        return refuse(t, &content, NORMALISES,
                      "a branch, and its new moments would be missing where that is not "
                      "taken; normalise before the branch or behind it");
    return NULL;
}

static bt_status check_operands(const struct training *t, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    for (uint32_t i = call && call->callee_kind == BT_CALLEE_VALUE;
         i < bt_value_noperand(value); i++) {
        const struct content *content =
            training_content_of(t, bt_value_operand(value, i));
        if (content && content->has)
            return refuse(
                t, content, content->has,
                "a function that is used as a value, whose calls would all have the same "
                "key; apply the operator to what that gives, outside of it, or call the "
                "function directly");
    }
    return NULL;
}

bt_status training_check_value(const struct training *t, const bt_value *value)
{
    BT_TRY(check_regions(t, value));
    return check_operands(t, value);
}

/* No function that trains calls itself. */
bt_status training_check_loops(const struct training *t)
{
    const uint8_t *reached;
    BT_TRY(bt_callgraph_reach(t->graph, t->module, t->entry, t->copy.arena, &reached));
    for (uint32_t g = 0; g < t->module->nglobal; g++) {
        if (reached[g] && t->content[g].has &&
            t->graph->is_recursive[t->graph->component[g]])
            return refuse(
                t, &t->content[g], t->content[g].has,
                "a function that calls itself, whose turns would all have the same key; "
                "write the turns out, as calls of a function that does not, or apply the "
                "operator before or behind them");
    }
    return NULL;
}
