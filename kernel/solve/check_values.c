/* Run-time checks, once the values of their sides are known. */
#include <inttypes.h>
#include <string.h>

#include <baton/ir.h>
#include <baton/op.h>

#include "ir/dim.h"

int bt_check_holds(uint32_t relation, int64_t left, int64_t right)
{
    switch (relation) {
    case BT_CHECK_EQUAL: return left == right;
    case BT_CHECK_LESS_EQUAL: return left <= right;
    case BT_CHECK_DIVISIBLE: return bt_mod_int64(left, right) == 0;
    default: return left == 1 || left == right; // BT_CHECK_BROADCAST
    }
}

int bt_check_read(const bt_op *op, const void *attrs, bt_check *out, const char **of)
{
    const bt_type *const *left = bt_attr_find(op, attrs, "left", BT_ATTR_DIM),
                         *const *right = bt_attr_find(op, attrs, "right", BT_ATTR_DIM);
    const char *const *word = bt_attr_find(op, attrs, "relation", BT_ATTR_STRING),
                      *const *begin = bt_attr_find(op, attrs, "of", BT_ATTR_STRING),
                      *const *what = bt_attr_find(op, attrs, "what", BT_ATTR_STRING);
    for (uint32_t i = 0; i < BT_CHECK_COUNT; i++) {
        if (strcmp(*word, bt__check_word(i)) != 0)
            continue;
        *out = (bt_check){
            .relation = i, .left = *left, .right = *right, .what = **what ? *what : NULL
        };
        *of = *begin;
        return 1;
    }
    return 0;
}

/* "n + 1 = 5": what a dim is called and what it is. */
static void add_side(bt_ctx *ctx, bt_text *text, const bt_type *dim, int64_t value)
{
    int64_t number;
    if (!bt_dim_is_const(dim, &number)) {
        bt_print_type(ctx, dim, text);
        bt_text_addf(text, " = ");
    }
    bt_text_addf(text, "%" PRId64, value);
}

static void add_callee(bt_text *text, const bt_call *call, const char *given)
{
    if (given || !call)
        bt_text_addf(text, "%s", given ? given : "a check");
    else if (call->callee_kind == BT_CALLEE_VALUE)
        bt_print_operand(call->callee, text);
    else
        bt_text_addf(text, "%s",
                     call->callee_kind == BT_CALLEE_OP ? call->op->name
                                                       : call->ctor->name);
}

static bt_status fail(bt_ctx *ctx, const bt_value *at, const bt_store *store,
                      const bt_text *text)
{
    const char *message = bt_text_get(text);
    return message ? bt_fail_at(ctx, BT_ERR_RUNTIME, store, at->span, "%s", message)
                   : bt_no_memory();
}

static void tell_to_give(bt_ctx *ctx, bt_text *text, const char *what, const bt_type *dim)
{
    bt_text_addf(
        text,
        "; %s is broadcast only where the compiler knows that it is 1, as by --dim ",
        what);
    bt_print_type(ctx, dim, text);
    bt_text_addf(text, "=1");
}

/* A dim with a name is of one size wherever it stands: what to do where it was 1. */
static void add_advice(bt_ctx *ctx, bt_text *text, const bt_check *check,
                       const bt_type *dim, int64_t value)
{
    if (check->relation != BT_CHECK_EQUAL || check->what || value != 1 ||
        dim->kind != BT_TYPE_VAR)
        return;
    tell_to_give(ctx, text, "beside what is computed, a dim", dim);
}

/* What a dim is compared with. A result's dim is the greatest of those that it is broadcast
 * from: where it is not the dim itself, it is the other one. */
static const bt_type *compared(const bt_check *check)
{
    const bt_list_type *max =
        check->right->kind == BT_TYPE_MAX ? bt_as_list_type(check->right) : NULL;
    if (check->relation != BT_CHECK_BROADCAST || !max || max->n != 2)
        return check->right;
    return max->at[0] == check->left   ? max->at[1]
           : max->at[1] == check->left ? max->at[0]
                                       : check->right;
}

/* The greatest of 0 and 1 is not what they broadcast to: then the 1 is to be known. */
static void add_advice_of_0(bt_ctx *ctx, bt_text *text, const bt_check *check,
                            int64_t left, int64_t right)
{
    const bt_type *other = compared(check);
    if (check->relation != BT_CHECK_BROADCAST || left != 0 || right != 1 ||
        other->kind != BT_TYPE_VAR)
        return;
    tell_to_give(ctx, text, "to a dim of 0 another one", other);
}

bt_status bt_check_fail(bt_ctx *ctx, const bt_value *at, const char *of,
                        const bt_check *check, int64_t left, int64_t right)
{
    static const char *const texts[] = {
#define BT_CHECK(UPPER, word, text) text,
#include <baton/checks.def>

#include "ir/dim.h"
#undef BT_CHECK
    };
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    add_callee(&text, bt_as_call(at), of);
    bt_text_addf(&text, ": %s%s", check->what ? check->what : "",
                 check->what ? ": " : "");
    add_side(ctx, &text, check->left, left);
    bt_text_addf(&text, " was to %s ", texts[check->relation]);
    add_side(ctx, &text, compared(check), right);
    add_advice(ctx, &text, check, check->left, left);
    add_advice(ctx, &text, check, check->right, right);
    add_advice_of_0(ctx, &text, check, left, right);
    return fail(ctx, at, check->left->store, &text);
}

bt_status bt_dim_fail(bt_ctx *ctx, const bt_value *value, uint32_t axis,
                      const bt_type *dim, int64_t found, int64_t expected)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_print_operand(value, &text);
    bt_text_addf(&text, " has dim %u = %" PRId64 ", but its type says ", axis, found);
    add_side(ctx, &text, dim, expected);
    return fail(ctx, value, dim->store, &text);
}

bt_status bt_contents_fail(bt_ctx *ctx, const bt_call *call, uint32_t index,
                           int64_t found, int64_t expected)
{
    const bt_type *dim = call->contents->dims[index];
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    add_callee(&text, call, NULL);
    bt_text_addf(&text, ": element %u is %" PRId64 ", but was stated to be ", index,
                 found);
    add_side(ctx, &text, dim, expected);
    return fail(ctx, &call->base, dim->store, &text);
}
