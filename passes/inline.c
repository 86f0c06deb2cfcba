/*
 * inline: put the body of a function where it is called.
 *     before   def @twice(%x: Tensor[(), float32]) { add(%x, %x) }
 *              def @main(%x: Tensor[(), float32]) { @twice(%x) }
 *     after    def @main(%x: Tensor[(), float32]) { add(%x, %x) }
 * Calls of globals that carry the attribute inline=True, or have at most max-bindings
 * bindings; and calls of a closure that is used by this call alone. Functions that can
 * reach themselves are left alone. The globals stay; dead-code drops the closures. needs
 * effects     keeps  * option   max-bindings   largest global to inline without the
 * attribute, default 8
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
    bt_arena *arena;
    bt_map reach; /* global -> state of the search for cycles */
    uint32_t depth;
};

enum { VISITING = 1, PLAIN = 2, CYCLIC = 3 };
enum { MAX_DEPTH = 32 }; /* of bodies within bodies in one walk */

static const char states[4];

static void *state_of(uint32_t state)
{
    return (void *)(uintptr_t)&states[state];
}

/* ---- which globals reach themselves ---- */

struct visit {
    const bt_global *global;
    bt_vec(const bt_global *) callees;
    uint32_t next;
};

static bt_status add_uses(struct inliner *in, struct visit *visit, const bt_block *block)
{
    bt_vec(const bt_block *) queue = { 0 };
    if (!BT_PUSH(in->arena, &queue, block))
        return bt_no_memory();
    while (queue.len) {
        block = queue.at[--queue.len];
        for (uint32_t i = 0; i < block->nbinding; i++) {
            const bt_value *value = block->bindings[i];
            for (uint32_t k = 0; k < bt_value_noperand(value); k++) {
                const bt_value *operand = bt_value_operand(value, k);
                const bt_global *used = operand->kind == BT_VALUE_GLOBAL
                                            ? bt_module_find(in->module, operand->name)
                                            : NULL;
                if (used && used->kind == BT_GLOBAL_FUNC &&
                    !BT_PUSH(in->arena, &visit->callees, used))
                    return bt_no_memory();
            }
            for (uint32_t k = 0; k < bt_value_nregion(value); k++) {
                if (!BT_PUSH(in->arena, &queue, bt_value_region(value, k)))
                    return bt_no_memory();
            }
        }
    }
    return NULL;
}

/* Depth-first with a stack of its own; a global met while it is being visited, and all on
 * the way to it, are cyclic. */
static bt_status search(struct inliner *in, const bt_global *start)
{
    bt_vec(struct visit) stack = { 0 };
    struct visit first = { .global = start };
    BT_TRY(add_uses(in, &first, start->func->block));
    if (!bt_map_put(&in->reach, start, state_of(VISITING)) ||
        !BT_PUSH(in->arena, &stack, first))
        return bt_no_memory();
    while (stack.len) {
        struct visit *top = &stack.at[stack.len - 1];
        if (top->next == top->callees.len) {
            if (bt_map_find(&in->reach, top->global) == state_of(VISITING) &&
                !bt_map_put(&in->reach, top->global, state_of(PLAIN)))
                return bt_no_memory();
            stack.len--;
            continue;
        }
        const bt_global *callee = top->callees.at[top->next++];
        const void *state = bt_map_find(&in->reach, callee);
        if (!state) {
            struct visit visit = { .global = callee };
            BT_TRY(add_uses(in, &visit, callee->func->block));
            if (!bt_map_put(&in->reach, callee, state_of(VISITING)) ||
                !BT_PUSH(in->arena, &stack, visit))
                return bt_no_memory();
            continue;
        }
        for (uint32_t i = stack.len; state != state_of(PLAIN) && i-- > 0;) {
            if (!bt_map_put(&in->reach, stack.at[i].global, state_of(CYCLIC)))
                return bt_no_memory();
            if (stack.at[i].global == callee)
                break;
        }
    }
    return NULL;
}

/* ---- which calls to inline ---- */

static int is_wanted(const struct options *o, const bt_global *global)
{
    const bt_dict_entry *attr = bt_dict_find(&global->func->attrs, "inline");
    const bt_block *block = global->func->block;
    if (attr)
        return attr->i != 0;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        if (bt_value_nregion(block->bindings[i]))
            return 0;
    }
    return block->nbinding <= o->max_bindings;
}

static const bt_func *callee_of(bt_rewrite *rewrite, const bt_call *call)
{
    const struct inliner *in = bt_rewrite_state(rewrite);
    const bt_closure_value *closure = bt_as_closure(call->callee);
    if (closure)
        return closure->group->n == 1 && bt_rewrite_nuse(rewrite, &closure->base) == 1
                   ? closure->func
                   : NULL;
    const bt_global *global = call->callee && call->callee->kind == BT_VALUE_GLOBAL
                                  ? bt_module_find(in->module, call->callee->name)
                                  : NULL;
    if (!global || global->kind != BT_GLOBAL_FUNC ||
        bt_map_find(&in->reach, global) != state_of(PLAIN))
        return NULL;
    return is_wanted(bt_rewrite_call(rewrite)->options, global) ? global->func : NULL;
}

static bt_status inline_call(bt_rewrite *rewrite, const bt_call *call,
                             const bt_value **out)
{
    struct inliner *in = bt_rewrite_state(rewrite);
    if (call->callee_kind != BT_CALLEE_VALUE || in->depth == MAX_DEPTH)
        return NULL;
    const bt_func *func = callee_of(rewrite, call);
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
    bt_map_init(&in.reach, call->scratch, 0);
    for (uint32_t i = 0; i < call->module->nglobal; i++) {
        const bt_global *global = call->module->globals[i];
        if (global->kind == BT_GLOBAL_FUNC && !bt_map_find(&in.reach, global))
            BT_TRY(search(&in, global));
    }
    return bt_rewrite_module(ctx, call, &rewriter, &in, out);
}

static const bt_pass passes[] = {
    {
        .name = "inline",
        .doc = "Put the body of a function where it is called.",
        .level = 1,
        .keeps = "*",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_inline[] = { BT_PASSES(passes), { 0 } };
