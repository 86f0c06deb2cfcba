/*
 * merge-functions: functions that are equal become one.
 * What uses a function uses the first one that is equal to it, up to names; so do calls in
 * functions that are compared then. Those that are not used any more stay; dead-code drops
 * them where it knows the entry. Functions that call themselves are not compared up to
 * their own name, and the result of a block stays what it is.
 * keeps    every invariant
 * source   LLVM's pass mergefunc
 */
#include <string.h>

#include <baton/pass.h>

enum { MAX_ROUNDS = 16 }; /* of functions whose calls became equal by the last */

struct merging {
    bt_arena *arena;
    bt_map first; /* names -> the name of an equal function that stands before */
};

struct known {
    const bt_global *global;
    struct known *next;
};

/* Without memory the comparison says no; where the hashes are equal it is asked again. */
static int is_equal(bt_registry *registry, const bt_global *a, const bt_global *b)
{
    return a->type == b->type && bt_func_hash(a->func) == bt_func_hash(b->func) &&
           (bt_func_equal(registry, a->func, b->func) ||
            bt_func_equal(registry, a->func, b->func));
}

/* Finds functions that are equal to one before them. */
static bt_status find_equal(struct merging *m, const bt_module *module)
{
    uint32_t nslot = 1;
    while (nslot < module->nglobal)
        nslot *= 2;
    struct known **slots = BT_NEWS(m->arena, struct known *, nslot);
    bt_registry *registry = bt_store_registry(module->store);
    if (!slots)
        return bt_no_memory();
    bt_map_init(&m->first, m->arena, 1);
    for (uint32_t i = 0; i < module->nglobal; i++) {
        const bt_global *global = module->globals[i];
        if (global->kind != BT_GLOBAL_FUNC)
            continue;
        struct known **slot = &slots[bt_func_hash(global->func) & (nslot - 1)],
                     *k = *slot;
        while (k && !is_equal(registry, k->global, global))
            k = k->next;
        if (k) {
            if (!bt_map_put(&m->first, global->name, (void *)(uintptr_t)k->global->name))
                return bt_no_memory();
            continue;
        }
        if (!(k = BT_NEW(m->arena, struct known)))
            return bt_no_memory();
        k->global = global;
        k->next = *slot;
        *slot = k;
    }
    return NULL;
}

static bt_status use_first(bt_rewrite *rw, const bt_value *old, const bt_value **out)
{
    const struct merging *m = bt_rewrite_state(rw);
    bt_builder *b = bt_rewrite_builder(rw);
    uint32_t n = bt_value_noperand(old);
    const bt_value **operands = NULL;
    // what has blocks has no functions among its operands
    for (uint32_t i = 0; i < n && !bt_value_nregion(old); i++) {
        const bt_value *operand = bt_value_operand(old, i);
        const char *first = operand->kind == BT_VALUE_GLOBAL
                                ? bt_map_find(&m->first, operand->name)
                                : NULL;
        if (!first)
            continue;
        if (!operands) {
            if (!(operands = BT_NEWS(m->arena, const bt_value *, n)))
                return bt_no_memory();
            for (uint32_t k = 0; k < n; k++)
                BT_TRY(bt_rewrite_operand(rw, bt_value_operand(old, k), &operands[k]));
        }
        BT_TRY(bt_build_global(b, first, &operands[i]));
    }
    return operands ? bt_build_again(b, old, operands, NULL, old->type, out) : NULL;
}

static const bt_rewriter rewriter = { .any = use_first };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct merging m = { .arena = call->scratch };
    bt_pass_call inner = *call;
    bt_module *now = bt_module_ref(call->module), *next;
    for (uint32_t round = 0; round < MAX_ROUNDS; round++) {
        bt_status status = find_equal(&m, now);
        inner.module = now;
        if (!status)
            status = bt_rewrite_module(ctx, &inner, &rewriter, &m, &next);
        int is_done = status || next == now;
        bt_module_unref(now);
        if (status)
            return status;
        now = next;
        if (is_done)
            break;
    }
    *out = now;
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "merge-functions",
        .doc = "Functions that are equal become one.\n"
               "before\n"
               "    def @twice(%x: float32) { add(%x, %x) }\n"
               "    def @double(%y: float32) { add(%y, %y) }\n"
               "    def @main(%x: float32) { multiply(@twice(%x), @double(%x)) }\n"
               "after\n"
               "    def @twice(%x: float32) { add(%x, %x) }\n"
               "    def @double(%y: float32) { add(%y, %y) }\n"
               "    def @main(%x: float32) { multiply(@twice(%x), @twice(%x)) }",
        .level = 1,
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_language_merge_functions[] = { BT_PASSES(passes), { 0 } };
