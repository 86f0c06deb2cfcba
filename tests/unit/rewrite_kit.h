/* What the tests of rewriting share: typed modules and a pass call for them. */
#ifndef REWRITE_KIT_H
#define REWRITE_KIT_H

#include "solve_kit.h"

#include <baton/pass.h>

static const bt_pass test_pass = { .name = "test-pass" };

static inline bt_pass_call pass_call(const bt_module *module)
{
    return (bt_pass_call){ .pass = &test_pass, .module = module };
}

/* Rewrites `module` and checks that what came out holds together. */
static inline bt_module *rewrite(kit *k, const bt_module *module, const bt_rewriter *r,
                                 void *state)
{
    bt_pass_call call = pass_call(module);
    bt_module *out = NULL;
    assert_ok(k->ctx, bt_rewrite_module(k->ctx, &call, r, state, &out));
    assert_ok(k->ctx, bt_verify(k->ctx, out));
    return out;
}

static inline bt_status rewrite_error(kit *k, const bt_module *module,
                                      const bt_rewriter *r, void *state)
{
    bt_pass_call call = pass_call(module);
    bt_module *out = NULL;
    bt_status status = bt_rewrite_module(k->ctx, &call, r, state, &out);
    assert_non_null(status);
    assert_null(out);
    return status;
}

/* Names of the operators called in a block, outermost only: "add relu". */
static inline const char *op_names(kit *k, const bt_block *block)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(k->ctx));
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        bt_text_addf(&text, "%s%s", i ? " " : "",
                     call && call->callee_kind == BT_CALLEE_OP
                         ? call->op->name
                         : bt_value_kind_name(block->bindings[i]->kind));
    }
    return bt_text_get(&text);
}

static inline const bt_type *vec(kit *k, int64_t n)
{
    return tensor1(k, num(k, n));
}

#endif
