/*
 * fuse-ops: put calls that are computed together into primitive functions.
 * Every call of an operator whose types are tensors with known dims goes into one: a
 * function with the attribute primitive, which an executor or target computes as a whole.
 * Equal functions are one. What reads, writes or draws random numbers, and what is
 * checked by its result, stays as it is. Calls on two devices (`on N`) are not joined. How
 * operators may be joined follows from their formulas: a convolution takes in what follows
 * element by element, and what comes before it where that is cheap; a product reads constants of
 * few bits as they are; a small product that is
 * read in parts, as gates are, is joined with what is computed of them, and gives several
 * values (fuse_parts.h); what goes along the same rows, as a softmax and its adjoint do, is one loop
 * over these (fuse_rows.h).
 * needs    effects
 * gives    fused
 * option   max-ops     calls in one function, default 64
 * option   found-dims  True: dims found at run time (`?a`) may be dims of primitive functions,
 *                      once an operand shows them; for executors that find them as they run
 * source   Relay 2018, section 5.3; fuse_groups.h
 */
#include "common/devices.h"
#include "fusion/fuse_groups.h"
#include "fusion/fuse_parts.h"
#include "fusion/primitives.h"

struct options {
    int64_t max_ops, found_dims;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, max_ops, INT, "64", 1, 4096, "calls in one function"),
    BT_ATTR(struct options, found_dims, BOOL, "False", PRIMITIVES_FOUND_DIMS_DOC),
    { 0 },
};

enum { SLOW = 32 };

struct fuser {
    bt_ctx *ctx;
    bt_arena *arena;
    uint32_t max_ops;
};

/* ---- nodes of a block ---- */

/* It reads large constants only, as the transform of a layout may: alone it is computed
 * once, when the program is compiled. */
static int is_constant(const bt_call *call)
{
    for (uint32_t i = 0; i < call->narg; i++) {
        if (!bt_const_tensor(call->args[i]) || bt_const_number(call->args[i]))
            return 0;
    }
    return call->narg > 0;
}

/* Nodes count from 1 in the map, so that 0 is absent. */
static uint32_t node_of(const bt_map *nodes, const bt_value *value)
{
    uintptr_t number = (uintptr_t)bt_map_find(nodes, value);
    return number ? (uint32_t)(number - 1) : FUSE_NONE;
}

/* It is made of constants alone, one of which has elements of few bits: these are to be read where
 * the result is, as that has several times their bytes. */
static int is_packed(const struct fuse_block *b, const bt_map *nodes, const bt_call *call)
{
    int is = 0;
    for (uint32_t i = 0; i < call->narg; i++) {
        const uint32_t used = node_of(nodes, call->args[i]);
        const bt_tensor *tensor = bt_const_tensor(call->args[i]);
        if (used == FUSE_NONE ? !tensor : !b->nodes[used].is_packed)
            return 0;
        is |= used != FUSE_NONE || bt_dtype_is_packed(tensor->dtype);
    }
    return is;
}

/* Whether elements lie elsewhere in the result than in what it is made of, as formulas do not tell. */
static int lays_out_anew(const bt_call *call)
{
    const bt_type *result = call->base.type;
    for (uint32_t i = 0; i < call->narg; i++) {
        const bt_type *type = call->args[i]->type;
        if (bt_tensor_shape(type) && bt_tensor_shape(type) == bt_tensor_shape(result) &&
            bt_type_layout(type) != bt_type_layout(result))
            return 1;
    }
    return 0;
}

static bt_status look_at(struct fuser *f, const struct fuse_block *b, const bt_map *nodes,
                         struct fuse_node *node)
{
    const bt_call *call = bt_as_call(node->value);
    bt_fuse_info info;
    node->kind = FUSE_TUPLE;
    if (!call)
        return NULL;
    node->kind = BT_FUSE_OPAQUE;
    node->is_packed = is_packed(b, nodes, call);
    if (!node->is_packed && is_constant(call))
        return NULL;
    bt_formula_call formula;
    BT_TRY(bt_call_formula(f->arena, call, &formula));
    BT_TRY(bt_fuse_look(f->ctx, &formula, &info));
    node->kind = info.kind < BT_FUSE_INJECTIVE && lays_out_anew(call) ? BT_FUSE_INJECTIVE
                                                                      : info.kind;
    node->is_slow = info.cost >= SLOW;
    node->is_by_rows = info.is_by_rows;
    node->row_args = info.row_args;
    return NULL;
}

/* It is used by what is no node, before which so many nodes stand. */
static void escape(struct fuse_block *b, uint32_t used, uint32_t before)
{
    struct fuse_node *node = &b->nodes[used];
    if (before < node->first_escape)
        node->first_escape = before;
}

static bt_status add_uses(struct fuser *f, struct fuse_block *b, const bt_map *nodes,
                          const bt_value *value, uint32_t before)
{
    uint32_t user = node_of(nodes, value);
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        uint32_t used = node_of(nodes, bt_value_operand(value, i));
        if (used == FUSE_NONE)
            continue;
        if (user == FUSE_NONE || value->device != b->nodes[used].value->device)
            escape(b, used, before); // another device computes from it
        else if (!BT_PUSH(f->arena, &b->nodes[used].users, user))
            return bt_no_memory();
    }
    return NULL;
}

/* What a nested block uses leaves the block around it. */
static bt_status mark_inner_uses(struct fuser *f, struct fuse_block *b,
                                 const bt_map *nodes, const bt_value *owner,
                                 uint32_t before)
{
    bt_blocks blocks = { 0 };
    for (uint32_t i = 0; i < bt_value_nregion(owner); i++)
        BT_TRY(bt_block_nested(f->arena, bt_value_region(owner, i), &blocks));
    for (uint32_t n = 0; n < blocks.len; n++) {
        const bt_block *block = blocks.at[n];
        uint32_t result = node_of(nodes, block->result);
        if (result != FUSE_NONE)
            escape(b, result, before);
        for (uint32_t i = 0; i < block->nbinding; i++)
            BT_TRY(add_uses(f, b, nodes, block->bindings[i], before));
    }
    return NULL;
}

static bt_status make_nodes(struct fuser *f, const struct primitives *p,
                            const bt_block *block, struct fuse_block *b)
{
    bt_map nodes;
    bt_map_init(&nodes, f->arena, 0);
    b->nodes = BT_NEWS(f->arena, struct fuse_node, block->nbinding);
    if (!b->nodes)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        if (!primitives_can_have(p, value))
            continue;
        b->nodes[b->n] = (struct fuse_node){ .value = value, .first_escape = FUSE_NONE };
        BT_TRY(look_at(f, b, &nodes, &b->nodes[b->n++]));
        if (!bt_map_put(&nodes, value, (void *)(uintptr_t)b->n))
            return bt_no_memory();
    }
    for (uint32_t i = 0, before = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        before += node_of(&nodes, value) != FUSE_NONE;
        BT_TRY(add_uses(f, b, &nodes, value, before));
        BT_TRY(mark_inner_uses(f, b, &nodes, value, before));
    }
    uint32_t result = node_of(&nodes, block->result);
    if (result != FUSE_NONE)
        escape(b, result, b->n);
    return NULL;
}

/* ---- groups ---- */

/* In order of the block: members, and those whose values leave the group; and constants that are
 * its parameters. */
struct group {
    fuse_values members, results, places;
};

/* How many sums of products of the block read each operand. */
static bt_status count_products(const struct fuse_block *b, bt_map *out)
{
    bt_map_init(out, b->arena, 0);
    for (uint32_t i = 0; i < b->n; i++) {
        const bt_value *value = b->nodes[i].value;
        const uint32_t n =
            b->nodes[i].kind == BT_FUSE_CONTRACTION ? bt_value_noperand(value) : 0;
        for (uint32_t k = 0; k < n; k++) {
            const bt_value *operand = bt_value_operand(value, k);
            const uintptr_t count = (uintptr_t)bt_map_find(out, operand);
            if (!bt_map_put(out, operand, (void *)(count + 1)))
                return bt_no_memory();
        }
    }
    return NULL;
}

static bt_status add_group(struct primitives *p, const struct group *g,
                           const bt_map *products)
{
    const bt_value *last = g->members.at[g->members.len - 1];
    struct primitive_group group = { .prefix = "fused",
                                     .target = device_target(p->old, last->device),
                                     .nmember = g->members.len,
                                     .members = g->members.at,
                                     .nresult = g->results.len > 1 ? g->results.len : 0,
                                     .results = g->results.at,
                                     .nparam = g->places.len,
                                     .params = g->places.at,
                                     .products = products };
    struct primitive made;
    BT_TRY(primitives_build(p, &group, &made));
    return primitives_add(p, &group, &made);
}

static bt_status fuse_block(void *state, struct primitives *p, const bt_block *block)
{
    struct fuser *f = state;
    struct fuse_block b = { .arena = f->arena, .max_ops = f->max_ops };
    bt_map products;
    BT_TRY(make_nodes(f, p, block, &b));
    BT_TRY(count_products(&b, &products));
    BT_TRY(fuse_groups(&b));
    struct group *groups = BT_NEWS(f->arena, struct group, b.n);
    if (!groups)
        return bt_no_memory();
    for (uint32_t i = 0; i < b.n; i++) {
        const uint32_t leader = fuse_leader(&b, i);
        const int is_result = fuse_leaves(&b, i) || b.nodes[leader].root == i;
        const bt_value *value = b.nodes[i].value;
        if (!BT_PUSH(f->arena, &groups[leader].members, value) ||
            (is_result && !BT_PUSH(f->arena, &groups[leader].results, value)))
            return bt_no_memory();
        BT_TRY(fuse_places(&b, i, &groups[leader].places));
    }
    for (uint32_t i = 0; i < b.n; i++) {
        if (b.nodes[i].leader == i && b.nodes[i].nop)
            BT_TRY(add_group(p, &groups[i], &products));
    }
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const struct options *o = call->options;
    struct fuser f = { .ctx = ctx,
                       .arena = call->scratch,
                       .max_ops = (uint32_t)o->max_ops };
    return primitives_run(ctx, call, fuse_block, &f, (uint32_t)o->found_dims, out);
}

static const bt_pass passes[] = {
    {
        .name = "fuse-ops",
        .doc =
            "Put calls that are computed together into primitive functions.\n"
            "before\n"
            "    def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) {\n"
            "        %0 = nn.dense(%x, %w);\n"
            "        nn.relu(%0)\n"
            "    }\n"
            "after\n"
            "    def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) {\n"
            "        @fused_nn_dense_nn_relu(%x, %w)\n"
            "    }\n"
            "    def @fused_nn_dense_nn_relu(%p0: Tensor[(4, 8), float32],\n"
            "                                %p1: Tensor[(8, 8), float32],\n"
            "                                primitive=1) {\n"
            "        %0 = nn.dense(%p0, %p1);\n"
            "        nn.relu(%0)\n"
            "    }",
        .level = 1,
        .needs = "effects",
        .gives = "fused",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_fusion_fuse_ops[] = { BT_PASSES(passes), { 0 } };
