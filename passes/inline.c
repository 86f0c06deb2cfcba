/*
 * inline: put the body of a function where it is called.
 *     before
 *         def @twice(%x: float32) { add(%x, %x) }
 *         def @main(%x: float32) { @twice(%x) }
 *     after
 *         def @twice(%x: float32) { add(%x, %x) }
 *         def @main(%x: float32) { add(%x, %x) }
 * Calls of globals that carry the attribute inline=True, or that have at most
 * max-bindings bindings, once their own calls are inlined, and no branch; and calls of a
 * closure that is used by this call alone. inline=False keeps a global's calls. Functions
 * that can reach themselves are left alone, and calls that are checked at run time. The
 * globals stay; dead-code drops the closures.
 * needs    call-graph
 * keeps    every invariant
 * option   max-bindings   largest global to inline without the attribute, default 8
 */
#include <string.h>

#include <baton/pass.h>

struct options {
    int64_t max_bindings;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, max_bindings, INT, "8", 0, INT32_MAX,
                  "largest global to inline without the attribute"),
    { 0 },
};

struct inliner {
    const bt_module *module;
    const bt_callgraph *graph;
    bt_arena *arena;
    bt_map wanted; /* globals to inline */
    uint32_t depth;
};

enum { MAX_DEPTH = 32 };         /* of bodies within bodies in one walk */
enum { MAX_BINDINGS = 1 << 16 }; /* of a global with the attribute */

/* ---- which globals to inline ---- */

/* Bindings that a call of a function becomes. */
struct size {
    uint64_t n;
    int has_regions;
};

static const bt_global *called_global(const struct inliner *in, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    if (!call || !call->callee || call->callee->kind != BT_VALUE_GLOBAL)
        return NULL;
    return bt_module_find(in->module, call->callee->name);
}

/* What a function holds once its own calls are inlined. `sizes` are those of the globals
 * it may call. Queues blocks, so that nesting costs no stack. */
static bt_status measure(const struct inliner *in, const bt_map *sizes,
                         const bt_block *block, struct size *out)
{
    bt_vec(const bt_block *) queue = { 0 };
    *out = (struct size){ 0 };
    if (!BT_PUSH(in->arena, &queue, block))
        return bt_no_memory();
    while (queue.len) {
        block = queue.at[--queue.len];
        for (uint32_t i = 0; i < block->nbinding; i++) {
            const bt_value *value = block->bindings[i];
            const bt_global *callee = called_global(in, value);
            const struct size *inner = callee && bt_map_find(&in->wanted, callee)
                                           ? bt_map_find(sizes, callee)
                                           : NULL;
            out->n += inner ? inner->n : 1;
            out->has_regions |= bt_value_nregion(value) || (inner && inner->has_regions);
            if (out->n > MAX_BINDINGS)
                return NULL;
            for (uint32_t k = 0; k < bt_value_nregion(value); k++) {
                if (!BT_PUSH(in->arena, &queue, bt_value_region(value, k)))
                    return bt_no_memory();
            }
        }
    }
    return NULL;
}

/* Its result is stated to be what a check of the last call finds: the check would go with
 * the statement. */
static int is_result_checked(const bt_func *func)
{
    const bt_call *last = bt_as_call(func->block->result);
    return last && last->ncheck && func->result != last->base.type;
}

static int is_wanted(const struct options *o, const bt_global *global,
                     const struct size *size)
{
    const bt_dict_entry *attr = bt_dict_find(&global->func->attrs, "inline");
    if (is_result_checked(global->func))
        return 0;
    if (attr && (attr->kind == BT_DICT_BOOL || attr->kind == BT_DICT_INT))
        return attr->i && size->n <= MAX_BINDINGS;
    return !size->has_regions && size->n <= (uint64_t)o->max_bindings;
}

/* Those called come before their callers, so each body is measured once: functions that
 * call the next one twice do not double the program at every step. */
static bt_status choose(struct inliner *in, const struct options *o)
{
    bt_map sizes;
    bt_map_init(&sizes, in->arena, 0);
    for (uint32_t i = 0; i < in->graph->nglobal; i++) {
        uint32_t g = in->graph->members[i];
        const bt_global *global = in->module->globals[g];
        if (global->kind != BT_GLOBAL_FUNC ||
            in->graph->is_recursive[in->graph->component[g]])
            continue;
        struct size *size = BT_NEW(in->arena, struct size);
        if (!size || !bt_map_put(&sizes, global, size))
            return bt_no_memory();
        BT_TRY(measure(in, &sizes, global->func->block, size));
        if (is_wanted(o, global, size) && !bt_map_put(&in->wanted, global, in))
            return bt_no_memory();
    }
    return NULL;
}

/* ---- which calls to inline ---- */

/* Whether a block refers to a value. */
static bt_status uses(struct inliner *in, const bt_block *block, const bt_value *what,
                      int *out)
{
    bt_vec(const bt_block *) queue = { 0 };
    *out = 0;
    if (!BT_PUSH(in->arena, &queue, block))
        return bt_no_memory();
    while (queue.len) {
        block = queue.at[--queue.len];
        *out |= block->result == what;
        for (uint32_t i = 0; i < block->nbinding && !*out; i++) {
            const bt_value *value = block->bindings[i];
            for (uint32_t k = 0; k < bt_value_noperand(value); k++)
                *out |= bt_value_operand(value, k) == what;
            for (uint32_t k = 0; k < bt_value_nregion(value); k++) {
                if (!BT_PUSH(in->arena, &queue, bt_value_region(value, k)))
                    return bt_no_memory();
            }
        }
    }
    return NULL;
}

/* A closure that this call alone uses, and not its own body. */
static bt_status find_closure(bt_rewrite *rewrite, const bt_closure_value *closure,
                              const bt_func **out)
{
    int is_recursive;
    if (closure->group->n != 1 || bt_rewrite_nuse(rewrite, &closure->base) != 1)
        return NULL;
    BT_TRY(uses(bt_rewrite_state(rewrite), closure->func->block, &closure->base,
                &is_recursive));
    if (!is_recursive)
        *out = closure->func;
    return NULL;
}

/* *out stays NULL where the call is to stay. What a call checks at run time, its callee
 * relies on. */
static bt_status find_callee(bt_rewrite *rewrite, const bt_call *call,
                             const bt_func **out)
{
    const struct inliner *in = bt_rewrite_state(rewrite);
    const bt_closure_value *closure = bt_as_closure(call->callee);
    if (call->ncheck)
        return NULL;
    if (closure)
        return find_closure(rewrite, closure, out);
    const bt_global *global = called_global(in, &call->base);
    if (global && bt_map_find(&in->wanted, global))
        *out = global->func;
    return NULL;
}

static bt_status inline_call(bt_rewrite *rewrite, const bt_call *call,
                             const bt_value **out)
{
    struct inliner *in = bt_rewrite_state(rewrite);
    if (call->callee_kind != BT_CALLEE_VALUE || in->depth == MAX_DEPTH)
        return NULL;
    const bt_func *func = NULL;
    BT_TRY(find_callee(rewrite, call, &func));
    if (!func || func->nvar != call->ntype_arg)
        return NULL;
    const bt_value **args = BT_NEWS(in->arena, const bt_value *, call->narg);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(bt_rewrite_operand(rewrite, call->args[i], &args[i]));
    in->depth++;
    bt_status status = bt_rewrite_inline_func(rewrite, func, call->ntype_arg,
                                              call->type_args, call->narg, args, out);
    in->depth--;
    return status;
}

static const bt_rewriter rewriter = { .call_ = inline_call };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct inliner in = { .module = call->module, .arena = call->scratch };
    const void *graph;
    BT_TRY(bt_pass_analysis(ctx, call, "call-graph", &graph));
    in.graph = graph;
    bt_map_init(&in.wanted, call->scratch, 0);
    BT_TRY(choose(&in, call->options));
    return bt_rewrite_module(ctx, call, &rewriter, &in, out);
}

static const bt_pass passes[] = {
    {
        .name = "inline",
        .doc = "Put the body of a function where it is called.\n"
               "before\n"
               "    def @twice(%x: float32) { add(%x, %x) }\n"
               "    def @main(%x: float32) { @twice(%x) }\n"
               "after\n"
               "    def @twice(%x: float32) { add(%x, %x) }\n"
               "    def @main(%x: float32) { add(%x, %x) }",
        .level = 1,
        .needs = "call-graph",
        .keeps = "*",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_inline[] = { BT_PASSES(passes), { 0 } };
