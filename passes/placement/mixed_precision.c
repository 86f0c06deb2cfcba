/*
 * mixed-precision: compute in 16 bits what does not need 32.
 * Every call of an operator on float32 is of one of three kinds:
 *     always   it computes in the low type: what it reads is cast
 *     follow   it does where all its floats are of the low type already, or constants
 *     never    it computes in float32, of what was cast back
 * An operator's facet "precision" says which; without it sums of products are always, what is
 * computed element by element or moved follows, and what is dear to compute (exp, log, pow) or
 * adds up many elements is never. Kernels add products up in float32; a result is rounded once.
 * Types of functions, and of what is no call of an operator, stay. It is not part of a
 * pipeline: who asks for it accepts other numbers.
 *     baton run MODEL --passes 'default, mixed-precision, fold-constant, dead-code'
 * keeps    no invariant
 * option   dtype    float16 or bfloat16
 * option   always, follow, never   lists of operators: ["nn.dense", "exp"]
 * source   Relay's ToMixedPrecision; P. Micikevicius et al., Mixed Precision Training, 2018
 */
#include <string.h>

#include <baton/compute.h>
#include <baton/op.h>
#include <baton/pass.h>

#include "common/names.h"

struct options {
    const char *dtype;
    bt_strings always, follow, never;
};

static const bt_attr options[] = {
    BT_ATTR_CHOICE(struct options, dtype, "bfloat16", "bfloat16|float16", "the low type"),
    BT_ATTR(struct options, always, STRINGS, "[]", "operators that compute in it"),
    BT_ATTR(struct options, follow, STRINGS, "[]",
            "operators that do where all that they read is of it"),
    BT_ATTR(struct options, never, STRINGS, "[]", "operators that compute in float32"),
    { 0 },
};

enum { DEAR = 32 };

struct mixer {
    const struct options *options;
    bt_dtype low;
    bt_arena *arena;
};

/* ---- kinds ---- */

/* There are operators of all names. */
static bt_status check_list(bt_ctx *ctx, const bt_strings *list)
{
    const bt_op *op;
    for (uint32_t i = 0; i < list->n; i++)
        BT_TRY(bt_op_get(ctx, list->at[i], &op));
    return NULL;
}

static uint32_t kind_of_formula(const bt_fuse_info *info)
{
    switch (info->kind) {
    case BT_FUSE_CONTRACTION: return BT_PRECISION_ALWAYS;
    case BT_FUSE_ELEMWISE:
    case BT_FUSE_BROADCAST:
    case BT_FUSE_INJECTIVE:
        return info->cost < DEAR ? BT_PRECISION_FOLLOW : BT_PRECISION_NEVER;
    default: return BT_PRECISION_NEVER;
    }
}

static bt_status find_kind(bt_ctx *ctx, const struct mixer *m, const bt_call *call,
                           uint32_t *out)
{
    const struct options *o = m->options;
    const void *table;
    bt_formula_call formula;
    bt_fuse_info info;
    *out = name_is_in(&o->never, call->op->name)    ? BT_PRECISION_NEVER
           : name_is_in(&o->follow, call->op->name) ? BT_PRECISION_FOLLOW
           : name_is_in(&o->always, call->op->name) ? BT_PRECISION_ALWAYS
                                                    : 0;
    if (*out)
        return NULL;
    BT_TRY(bt_op_facet(ctx, call->op, "precision", &table));
    if (table) {
        *out = ((const bt_precision_facet *)table)->kind;
        return NULL;
    }
    BT_TRY(bt_call_formula(m->arena, call, &formula));
    BT_TRY(bt_fuse_look(ctx, &formula, &info));
    *out = kind_of_formula(&info);
    return NULL;
}

/* ---- operands ---- */

static int is_float32(const bt_value *value)
{
    return bt_tensor_dtype(value->type) == BT_FLOAT32;
}

/* What a value was cast from, if that is of the low type. */
static const bt_value *low_source(const struct mixer *m, const bt_value *value)
{
    const bt_call *cast = bt_as_op_call(value, "cast");
    return cast && bt_tensor_dtype(cast->args[0]->type) == m->low ? cast->args[0] : NULL;
}

/* Counts operands, and fields of tuples, that are float32: those that may be read in the low
 * type as they are, constants, and others. */
struct counts {
    uint32_t nlow, nconst, nhigh;
};

static void count(const struct mixer *m, const bt_value *value, struct counts *c)
{
    const bt_tuple_value *tuple = bt_as_tuple(value);
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++)
        count(m, tuple->fields[i], c);
    if (tuple || !is_float32(value))
        return;
    if (low_source(m, value))
        c->nlow++;
    else if (value->kind == BT_VALUE_CONST)
        c->nconst++;
    else
        c->nhigh++;
}

/* The operand in the low type, where it is float32. */
static bt_status lower(bt_rewrite *rw, const bt_value *value, const bt_value **out)
{
    struct mixer *m = bt_rewrite_state(rw);
    bt_builder *b = bt_rewrite_builder(rw);
    const bt_tuple_value *tuple = bt_as_tuple(value);
    *out = value;
    if (tuple) {
        const bt_value **fields = BT_NEWS(m->arena, const bt_value *, tuple->nfield);
        if (!fields)
            return bt_no_memory();
        for (uint32_t i = 0; i < tuple->nfield; i++)
            BT_TRY(lower(rw, tuple->fields[i], &fields[i]));
        return bt_build_tuple(b, tuple->nfield, fields, out);
    }
    if (!is_float32(value))
        return NULL;
    *out = low_source(m, value);
    return *out ? NULL
                : bt_build(b, "cast",
                           m->low == BT_FLOAT16 ? "dtype=\"float16\""
                                                : "dtype=\"bfloat16\"",
                           &value, 1, out);
}

/* ---- calls ---- */

static bt_status mix(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    struct mixer *m = bt_rewrite_state(rw);
    bt_builder *b = bt_rewrite_builder(rw);
    struct counts c = { 0 };
    uint32_t kind;
    if (call->callee_kind != BT_CALLEE_OP || !is_float32(&call->base) || !call->narg ||
        strcmp(call->op->name, "cast") == 0)
        return NULL;
    BT_TRY(find_kind(bt_rewrite_ctx(rw), m, call, &kind));
    const bt_value **args = BT_NEWS(m->arena, const bt_value *, call->narg), *low;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        BT_TRY(bt_rewrite_operand(rw, call->args[i], &args[i]));
        count(m, args[i], &c);
    }
    if (kind == BT_PRECISION_NEVER || !(c.nlow + c.nconst + c.nhigh) ||
        (kind == BT_PRECISION_FOLLOW && (!c.nlow || c.nhigh)))
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(lower(rw, args[i], &args[i]));
    BT_TRY(bt_build_again(b, &call->base, args, NULL, NULL, &low));
    if (bt_tensor_dtype(low->type) != m->low) { // its attributes say what it gives
        *out = low->type == call->base.type ? low : NULL;
        return NULL;
    }
    return bt_build(b, "cast", "dtype=\"float32\"", &low, 1, out);
}

static const bt_rewriter rewriter = { .call_ = mix };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const struct options *o = call->options;
    struct mixer m = { .options = o,
                       .low = strcmp(o->dtype, "float16") == 0 ? BT_FLOAT16 : BT_BFLOAT16,
                       .arena = call->scratch };
    const bt_strings *const lists[] = { &o->always, &o->follow, &o->never };
    for (uint32_t i = 0; i < BT_COUNT(lists); i++)
        BT_TRY(check_list(ctx, lists[i]));
    return bt_rewrite_module(ctx, call, &rewriter, &m, out);
}

static const bt_pass passes[] = {
    {
        .name = "mixed-precision",
        .doc =
            "Compute in 16 bits what does not need 32.\n"
            "before\n"
            "    def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(3, 4), float32]) {\n"
            "        %0 = nn.dense(%x, %w);\n"
            "        %1 = nn.relu(%0);\n"
            "        nn.softmax(%1)\n"
            "    }\n"
            "after, with dead-code\n"
            "    def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(3, 4), float32]) {\n"
            "        %0 = cast(%x, dtype=\"bfloat16\");\n"
            "        %1 = cast(%w, dtype=\"bfloat16\");\n"
            "        %2 = nn.dense(%0, %1);\n"
            "        %3 = nn.relu(%2);\n"
            "        %4 = cast(%3, dtype=\"float32\");\n"
            "        nn.softmax(%4)\n"
            "    }",
        .level = 0,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_placement_mixed_precision[] = { BT_PASSES(passes), { 0 } };
