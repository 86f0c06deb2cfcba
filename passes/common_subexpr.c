/*
 * common-subexpr: compute equal expressions once.
 *     before
 *         def @main(%x: float32) {
 *             %0 = exp(%x);
 *             %1 = exp(%x);
 *             add(%0, %1)
 *         }
 *     after
 *         def @main(%x: float32) {
 *             %0 = exp(%x);
 *             add(%0, %0)
 *         }
 * Values are numbered block by block; an expression of an enclosing block, earlier in
 * it, stands for equal ones inside. What reads, writes, allocates, draws random numbers
 * or does I/O is never merged.
 * needs    effects
 * keeps    every invariant
 * source   Briggs, Cooper, Simpson 1997 (dominator-tree value numbering)
 */
#include <string.h>

#include <baton/pass.h>

/* An expression seen, in the chain of its hash. */
struct seen {
    const bt_value *value;
    struct seen *next;
};

/* A constant seen, likewise. */
struct seen_const {
    const bt_tensor *tensor;
    struct seen_const *next;
};

/* A duplicate; it is linked from the binding that replaces it. */
struct follower {
    const bt_value *value;
    struct follower *next;
};

enum { NCONST_SLOT = 1 << 10 };

struct numbering {
    const bt_effects *effects;
    bt_arena *arena;
    bt_map leaders;   /* binding -> the earlier binding that stands for it */
    bt_map followers; /* that one -> struct follower */
    bt_map keys;      /* a constant's object -> that of the first equal one */
    struct seen_const *consts[NCONST_SLOT];
    struct seen **slots;
    uint32_t nslot; /* a power of two */
    bt_vec(
        uint32_t) undo; /* slots entered, in order; a block's are taken back at its end */
};

static uint32_t mix(uint32_t hash, uint64_t with)
{
    uint64_t z = (hash ^ with) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(z >> 32);
}

/* ---- constants ---- */

static uint32_t hash_const(const bt_tensor *tensor, size_t nbytes)
{
    const unsigned char *bytes = tensor->data;
    uint32_t hash = mix(tensor->dtype, nbytes);
    for (size_t i = 0; i < nbytes && i < 64; i++)
        hash = mix(hash, bytes[i]);
    return hash;
}

/* Bit for bit: -0 is not 0. */
static int equal_consts(const bt_tensor *a, const bt_tensor *b, size_t nbytes)
{
    return a->dtype == b->dtype && a->rank == b->rank && a->nelem == b->nelem &&
           (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof(*a->dims)) == 0) &&
           (nbytes == 0 || memcmp(a->data, b->data, nbytes) == 0);
}

/* Equal constants are one operand, wherever they stand. */
static bt_status number_const(struct numbering *n, const bt_const *constant)
{
    const bt_tensor *tensor = bt_object_as_tensor(constant->object);
    const void *first = tensor;
    if (!tensor || !bt_tensor_is_dense(tensor) || bt_map_find(&n->keys, tensor))
        return NULL;
    size_t nbytes = (size_t)tensor->nelem * bt_dtype_nbytes(tensor->dtype);
    struct seen_const **slot = &n->consts[hash_const(tensor, nbytes) & (NCONST_SLOT - 1)];
    struct seen_const *seen = *slot;
    while (seen && !equal_consts(seen->tensor, tensor, nbytes))
        seen = seen->next;
    if (seen) {
        first = seen->tensor;
    } else {
        seen = BT_NEW(n->arena, struct seen_const);
        if (!seen)
            return bt_no_memory();
        *seen = (struct seen_const){ tensor, *slot };
        *slot = seen;
    }
    return bt_map_put(&n->keys, tensor, (void *)(uintptr_t)first) ? NULL : bt_no_memory();
}

/* ---- bindings ---- */

static const bt_value *leader(const struct numbering *n, const bt_value *value)
{
    const bt_value *found = bt_map_find(&n->leaders, value);
    return found ? found : value;
}

static uint64_t operand_key(const struct numbering *n, const bt_value *operand)
{
    const bt_value *value = leader(n, operand);
    if (value->kind == BT_VALUE_CONST) {
        const void *object = bt_as_const(value)->object;
        const void *first = bt_map_find(&n->keys, object);
        return (uint64_t)(uintptr_t)(first ? first : object);
    }
    return value->kind == BT_VALUE_GLOBAL ? (uint64_t)(uintptr_t)value->name : value->id;
}

static uint32_t hash_binding(const struct numbering *n, const bt_value *value)
{
    uint32_t hash = mix(value->kind, bt_value_noperand(value));
    const bt_call *call = bt_as_call(value);
    const bt_proj *proj = bt_as_proj(value);
    if (call) {
        hash = mix(hash, (uint64_t)(uintptr_t)call->op ^ (uint64_t)(uintptr_t)call->ctor);
        if (call->op && call->attrs)
            hash = mix(hash, bt_attrs_hash(call->op->attrs, call->attrs));
    }
    if (proj)
        hash = mix(hash, proj->index);
    for (uint32_t i = 0; i < bt_value_noperand(value); i++)
        hash = mix(hash, operand_key(n, bt_value_operand(value, i)));
    return hash;
}

static int equal_calls(const bt_call *a, const bt_call *b)
{
    if (a->callee_kind != b->callee_kind || a->op != b->op || a->ctor != b->ctor ||
        a->ntype_arg != b->ntype_arg)
        return 0;
    if (a->ntype_arg &&
        memcmp(a->type_args, b->type_args, a->ntype_arg * sizeof(*a->type_args)) != 0)
        return 0;
    return !a->op || !a->op->attrs || bt_attrs_equal(a->op->attrs, a->attrs, b->attrs);
}

static int equal_bindings(const struct numbering *n, const bt_value *a, const bt_value *b)
{
    const bt_call *call = bt_as_call(a);
    const bt_proj *proj = bt_as_proj(a);
    if (a->kind != b->kind || a->type != b->type || a->device != b->device ||
        bt_value_noperand(a) != bt_value_noperand(b))
        return 0;
    if ((call && !equal_calls(call, bt_as_call(b))) ||
        (proj && proj->index != bt_as_proj(b)->index))
        return 0;
    for (uint32_t i = 0; i < bt_value_noperand(a); i++) {
        if (operand_key(n, bt_value_operand(a, i)) !=
            operand_key(n, bt_value_operand(b, i)))
            return 0;
    }
    return 1;
}

static int is_mergeable(const struct numbering *n, const bt_value *value)
{
    if (value->kind != BT_VALUE_CALL && value->kind != BT_VALUE_TUPLE &&
        value->kind != BT_VALUE_PROJ)
        return 0;
    return !(bt_effects_of(n->effects, value) & BT_EFFECT_UNMERGED);
}

static bt_status number_consts(struct numbering *n, const bt_value *value)
{
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        const bt_const *constant = bt_as_const(bt_value_operand(value, i));
        if (constant)
            BT_TRY(number_const(n, constant));
    }
    return NULL;
}

static bt_status follow(struct numbering *n, const bt_value *value, const bt_value *first)
{
    struct follower *follower = BT_NEW(n->arena, struct follower);
    if (!follower)
        return bt_no_memory();
    *follower = (struct follower){ value, bt_map_find(&n->followers, first) };
    return bt_map_put(&n->followers, first, follower) &&
                   bt_map_put(&n->leaders, value, (void *)(uintptr_t)first)
               ? NULL
               : bt_no_memory();
}

static bt_status number_binding(struct numbering *n, const bt_value *value)
{
    BT_TRY(number_consts(n, value));
    uint32_t slot = hash_binding(n, value) & (n->nslot - 1);
    for (const struct seen *seen = n->slots[slot]; seen; seen = seen->next) {
        if (equal_bindings(n, seen->value, value))
            return follow(n, value, seen->value);
    }
    struct seen *seen = BT_NEW(n->arena, struct seen);
    if (!seen || !BT_PUSH(n->arena, &n->undo, slot))
        return bt_no_memory();
    *seen = (struct seen){ value, n->slots[slot] };
    n->slots[slot] = seen;
    return NULL;
}

/* Regions nest no deeper than the verifier lets them. */
static bt_status number_block(struct numbering *n, const bt_block *block)
{
    uint32_t mark = n->undo.len;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        for (uint32_t k = 0; k < bt_value_nregion(value); k++)
            BT_TRY(number_block(n, bt_value_region(value, k)));
        if (is_mergeable(n, value))
            BT_TRY(number_binding(n, value));
    }
    while (n->undo.len > mark) {
        struct seen **slot = &n->slots[n->undo.at[--n->undo.len]];
        *slot = (*slot)->next;
    }
    return NULL;
}

/* The provenance of the one that stays includes all that it stands for. */
static bt_status use_leader(bt_rewrite *rewrite, const bt_value *old,
                            const bt_value **out)
{
    const struct numbering *n = bt_rewrite_state(rewrite);
    const bt_value *found = leader(n, old);
    if (found != old)
        return bt_rewrite_operand(rewrite, found, out);
    for (const struct follower *f = bt_map_find(&n->followers, old); f; f = f->next)
        bt_rewrite_from(rewrite, f->value);
    return NULL;
}

static const bt_rewriter rewriter = { .any = use_leader };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    enum { NSLOT = 1 << 14 };
    struct numbering n = { .arena = call->scratch, .nslot = NSLOT };
    const void *effects;
    BT_TRY(bt_pass_analysis(ctx, call, "effects", &effects));
    n.effects = effects;
    n.slots = BT_NEWS(call->scratch, struct seen *, NSLOT);
    if (!n.slots)
        return bt_no_memory();
    bt_map_init(&n.leaders, call->scratch, 0);
    bt_map_init(&n.followers, call->scratch, 0);
    bt_map_init(&n.keys, call->scratch, 0);
    for (uint32_t i = 0; i < call->module->nglobal; i++) {
        if (call->module->globals[i]->kind == BT_GLOBAL_FUNC)
            BT_TRY(number_block(&n, call->module->globals[i]->func->block));
    }
    return bt_rewrite_module(ctx, call, &rewriter, &n, out);
}

static const bt_pass passes[] = {
    {
        .name = "common-subexpr",
        .doc = "Compute equal expressions once.\n"
               "before\n"
               "    def @main(%x: float32) {\n"
               "        %0 = exp(%x);\n"
               "        %1 = exp(%x);\n"
               "        add(%0, %1)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: float32) {\n"
               "        %0 = exp(%x);\n"
               "        add(%0, %0)\n"
               "    }",
        .level = 2,
        .needs = "effects",
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_common_subexpr[] = { BT_PASSES(passes), { 0 } };
