/*
 * fold-scale-axis: multiply the weights instead of the activations.
 * A factor, one number or one a channel, moves up to the layers that its operand comes
 * from, or else down to all layers that use its result: through sums, activations and
 * pools that let it pass, and through concatenations on the way up. Together with
 * simplify-inference and fold-constant this takes a batch norm into the convolution or
 * dense layer before it, or into those behind it. Weights are constants of the result's
 * element type. On the way up every value must have this one use, in this very block.
 * Floats round differently, within the usual bound.
 * keeps    no invariant
 * source   Relay's FoldScaleAxis; Jacob et al. 2018, section 3.2
 */
#include <string.h>

#include "common/layout.h"
#include "simplify/scale_axis.h"

enum { MAX_STEPS = 64 }; /* bindings that a factor moves past */

struct folder {
    bt_arena *arena;
    bt_map moved_up;  /* multiplications -> not NULL */
    bt_map goes_down; /* multiplications -> verdict, once asked */
    bt_map unscaled;  /* old values below one that goes down -> new ones without it */
    struct traits traits;
};

static const char goes, stays; /* verdicts */

static struct traits *traits(bt_rewrite *rewrite)
{
    struct folder *f = bt_rewrite_state(rewrite);
    return &f->traits;
}

/* ---- up ---- */

/* The factor of one field of a concatenation, whose channels begin at *at. */
static struct scale field_scale(struct chain *c, const struct scale *s, uint32_t axis,
                                const bt_type *field, int64_t *at)
{
    struct scale out = *s;
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    if (s->n == 1 || s->axis != axis || !bt_tensor_static(field, &rank, dims))
        return out;
    out.n = dims[axis];
    if (c)
        out.vector = chain_op1f(c, s->vector, "strided_slice",
                                "begin=[%lld], end=[%lld], axes=[0]", (long long)*at,
                                (long long)(*at + out.n));
    *at += out.n;
    return out;
}

static const bt_tuple_value *concatenated(bt_rewrite *rewrite, const bt_call *call,
                                          const struct scale *s, uint32_t *axis)
{
    uint32_t rank = type_rank(call->base.type);
    int64_t dims[BT_MAX_RANK];
    if (!bt_as_op_call(&call->base, "concatenate") || call->ncheck || !rank ||
        !bt_rewrite_is_alone_here(rewrite, call->args[0]))
        return NULL;
    const bt_tuple_value *tuple = bt_as_tuple(call->args[0]);
    *axis = call_axis(call, "axis", 0, rank);
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++) {
        if (s->n != 1 &&
            (!bt_tensor_static(tuple->fields[i]->type, &rank, dims) || dims[*axis] == 0))
            return NULL;
    }
    return tuple;
}

/* Whether `value` times the factor can be had by changing constants alone. */
static int can_go_up(bt_rewrite *rewrite, const bt_value *value, struct scale s,
                     uint32_t *budget)
{
    const bt_call *call = bt_as_call(value);
    struct scale other;
    uint32_t axis;
    int64_t at = 0;
    if (!call || *budget == 0 || !bt_rewrite_is_alone_here(rewrite, value))
        return 0;
    --*budget;
    if (scale_of(call, &other))
        return (s.n == 1 || other.n == 1 || s.axis == other.axis) &&
               scale_product_fits(&s, &other, value->type);
    if (scale_layer_takes(traits(rewrite), call, &s, 0))
        return 1;
    if (scale_is_sum(traits(rewrite), call))
        return can_go_up(rewrite, call->args[0], s, budget) &&
               (scale_is_along(&s, call->args[1], type_rank(value->type), 0) ||
                (call->args[1]->type == value->type &&
                 can_go_up(rewrite, call->args[1], s, budget)));
    if (scale_passes(traits(rewrite), call, &s))
        return can_go_up(rewrite, call->args[0], s, budget);
    const bt_tuple_value *tuple = concatenated(rewrite, call, &s, &axis);
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++) {
        const bt_value *field = tuple->fields[i];
        if (!can_go_up(rewrite, field, field_scale(NULL, &s, axis, field->type, &at),
                       budget))
            return 0;
    }
    return tuple != NULL;
}

struct lift {
    bt_rewrite *rewrite;
    struct chain chain;
    uint32_t budget;
};

static const bt_value *lift(struct lift *l, const bt_value *value, struct scale s);

static const bt_value *build_like(struct lift *l, const bt_call *call, uint32_t narg,
                                  const bt_value *const *args)
{
    const bt_value *out = NULL;
    if (!l->chain.status)
        l->chain.status =
            bt_build_op(l->chain.builder, call->op, call->attrs, narg, args, &out);
    return out;
}

static const bt_value *map(struct lift *l, const bt_value *old)
{
    const bt_value *now = NULL;
    if (!l->chain.status)
        l->chain.status = bt_rewrite_operand(l->rewrite, old, &now);
    return now;
}

/* The layer as rewritten so far: its weight may have taken a factor of its data. */
static const bt_value *lift_layer(struct lift *l, const bt_call *call, struct scale s)
{
    const bt_value *mapped = map(l, &call->base);
    const bt_call *now = mapped ? bt_as_call(mapped) : NULL;
    if (!now || now->callee_kind != BT_CALLEE_OP || now->op != call->op)
        now = call;
    const bt_value *args[2] = { now->args[0], NULL };
    if (now == call)
        args[0] = map(l, call->args[0]);
    args[1] = scale_weight(&l->chain, call, now->args[1], &s, 0);
    return build_like(l, call, 2, args);
}

/* Two factors in one go up if they can, else the product stays here. */
static const bt_value *lift_product(struct lift *l, const bt_call *call, struct scale s)
{
    struct scale both;
    uint32_t budget = l->budget, rank = type_rank(call->base.type);
    if (!scale_build(&l->chain, call, &both))
        return NULL;
    both.vector = chain_op2(&l->chain, "multiply", NULL, both.vector, s.vector);
    both.axis = both.n == 1 ? s.axis : both.axis;
    both.n = both.n == 1 ? s.n : both.n;
    both.is_positive &= s.is_positive;
    both.is_nonzero &= s.is_nonzero;
    both.most *= s.most;
    both.least *= s.least;
    if (can_go_up(l->rewrite, call->args[0], both, &budget))
        return lift(l, call->args[0], both);
    const bt_value *x = map(l, call->args[0]);
    return scale_constant(&l->chain, "multiply", x, &both, rank);
}

static const bt_value *lift_sum(struct lift *l, const bt_call *call, struct scale s)
{
    uint32_t rank = type_rank(call->base.type);
    const bt_value *args[2] = { lift(l, call->args[0], s), NULL };
    args[1] = scale_is_along(&s, call->args[1], rank, 0)
                  ? scale_constant(&l->chain, "multiply", call->args[1], &s, rank)
                  : lift(l, call->args[1], s);
    return build_like(l, call, 2, args);
}

static const bt_value *lift_fields(struct lift *l, const bt_call *call,
                                   const bt_tuple_value *tuple, uint32_t axis,
                                   struct scale s)
{
    const bt_value **fields =
        BT_NEWS(bt_rewrite_call(l->rewrite)->scratch, const bt_value *, tuple->nfield);
    const bt_value *joined = NULL;
    int64_t at = 0;
    if (!fields && !l->chain.status)
        l->chain.status = bt_no_memory();
    for (uint32_t i = 0; !l->chain.status && i < tuple->nfield; i++) {
        const bt_value *field = tuple->fields[i];
        fields[i] = lift(l, field, field_scale(&l->chain, &s, axis, field->type, &at));
    }
    if (!l->chain.status)
        l->chain.status =
            bt_build_tuple(l->chain.builder, tuple->nfield, fields, &joined);
    return build_like(l, call, 1, &joined);
}

/* `value` times the factor, which can go up; no deeper than MAX_STEPS. */
static const bt_value *lift(struct lift *l, const bt_value *value, struct scale s)
{
    const bt_call *call = bt_as_call(value);
    struct scale other;
    uint32_t axis;
    if (l->chain.status)
        return NULL;
    bt_rewrite_from(l->rewrite, value);
    l->budget -= l->budget > 0;
    if (scale_of(call, &other))
        return lift_product(l, call, s);
    if (scale_layer_takes(traits(l->rewrite), call, &s, 0))
        return lift_layer(l, call, s);
    if (scale_is_sum(traits(l->rewrite), call))
        return lift_sum(l, call, s);
    l->chain.status = traits(l->rewrite)->status;
    if (l->chain.status)
        return NULL;
    const bt_tuple_value *tuple = concatenated(l->rewrite, call, &s, &axis);
    if (tuple)
        return lift_fields(l, call, tuple, axis, s);
    const bt_value *args[2] = { lift(l, call->args[0], s),
                                call->narg > 1 ? map(l, call->args[1]) : NULL };
    return build_like(l, call, call->narg, args);
}

static bt_status go_up(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    struct folder *f = bt_rewrite_state(rewrite);
    struct lift l = { .rewrite = rewrite, .budget = MAX_STEPS };
    struct scale s;
    uint32_t budget = MAX_STEPS;
    if (!scale_of(call, &s) || !can_go_up(rewrite, call->args[0], s, &budget))
        return NULL;
    l.chain.builder = bt_rewrite_builder(rewrite);
    scale_build(&l.chain, call, &s);
    const bt_value *lifted = lift(&l, call->args[0], s);
    if (l.chain.status)
        return l.chain.status;
    *out = lifted;
    return bt_map_put(&f->moved_up, call, f) ? NULL : bt_no_memory();
}

/* ---- down ---- */

/* A sum with a constant: (x * s) + c is (x + c / s) * s. */
static int passes_down(bt_rewrite *rewrite, const bt_call *call, const struct scale *s)
{
    uint32_t class_ = BT_DTYPE_CLASS(bt_tensor_dtype(call->base.type));
    if (call->callee_kind != BT_CALLEE_OP || !scale_is_sum(traits(rewrite), call))
        return scale_passes(traits(rewrite), call, s);
    return s->is_nonzero && class_ == BT_CLASS_FLOAT &&
           scale_is_along(s, call->args[1], type_rank(call->base.type), 1);
}

/* Whether all that use the product are layers, or lead to layers alone. */
static int all_take(bt_rewrite *rewrite, const bt_call *product, const struct scale *s)
{
    const bt_value *queue[MAX_STEPS] = { &product->base };
    uint32_t n = 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t nuse = bt_rewrite_nuse(rewrite, queue[i]);
        if (nuse == 0 || nuse > MAX_STEPS)
            return 0;
        for (uint32_t k = 0; k < nuse; k++) {
            const bt_value *use = bt_rewrite_use(rewrite, queue[i], k);
            const bt_call *call = use ? bt_as_call(use) : NULL;
            if (!call || call->callee_kind != BT_CALLEE_OP || call->narg == 0 ||
                call->args[0] != queue[i] || !bt_rewrite_is_here(rewrite, use))
                return 0;
            if (scale_layer_takes(traits(rewrite), call, s, 1))
                continue;
            if (n == MAX_STEPS || !passes_down(rewrite, call, s))
                return 0;
            queue[n++] = use;
        }
    }
    return 1;
}

static int goes_down(bt_rewrite *rewrite, const bt_call *product, const struct scale *s)
{
    struct folder *f = bt_rewrite_state(rewrite);
    const char *verdict = bt_map_find(&f->goes_down, product);
    if (verdict)
        return verdict == &goes;
    int yes = !bt_map_find(&f->moved_up, product) && all_take(rewrite, product, s);
    // without memory for the answer it is asked again
    (void)!bt_map_put(&f->goes_down, product, (void *)(uintptr_t)(yes ? &goes : &stays));
    return yes;
}

/* The way from the product above a layer to the layer's data: path[0] is the product.
 * 0: there is none. */
static uint32_t find_path(bt_rewrite *rewrite, const bt_call *layer, const bt_call **path,
                          struct scale *s)
{
    const bt_call *up[MAX_STEPS];
    const bt_value *value = layer->args[0];
    uint32_t n = 0;
    for (const bt_call *call = bt_as_call(value);
         call && n < MAX_STEPS && bt_rewrite_is_here(rewrite, &call->base);
         call = bt_as_call(call->args[0])) {
        up[n++] = call;
        if (scale_of(call, s))
            break;
        if (call->callee_kind != BT_CALLEE_OP || call->narg == 0)
            return 0;
    }
    if (n == 0 || !scale_of(up[n - 1], s))
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        path[i] = up[n - 1 - i];
        if (i > 0 && !passes_down(rewrite, path[i], s))
            return 0;
    }
    return goes_down(rewrite, path[0], s) ? n : 0;
}

/* What stands at the end of the path, without the factor. */
static const bt_value *lower(struct lift *l, uint32_t n, const bt_call *const *path,
                             const struct scale *s)
{
    struct folder *f = bt_rewrite_state(l->rewrite);
    const bt_value *now = map(l, path[0]->args[0]);
    for (uint32_t i = 1; i < n && !l->chain.status; i++) {
        const bt_call *call = path[i];
        const bt_value *args[2] = { now, NULL };
        now = bt_map_find(&f->unscaled, call);
        if (now)
            continue;
        if (scale_is_sum(traits(l->rewrite), call))
            args[1] = scale_constant(&l->chain, "divide", call->args[1], s,
                                     type_rank(call->base.type));
        else if (call->narg > 1)
            args[1] = map(l, call->args[1]);
        now = build_like(l, call, call->narg, args);
        if (!l->chain.status && !bt_map_put(&f->unscaled, call, (void *)(uintptr_t)now))
            l->chain.status = bt_no_memory();
    }
    return now;
}

static bt_status go_down(bt_rewrite *rewrite, const bt_call *layer, const bt_value **out)
{
    struct lift l = { .rewrite = rewrite };
    const bt_call *path[MAX_STEPS];
    struct scale s = { .n = 1 };
    if (layer->callee_kind != BT_CALLEE_OP || layer->narg != 2 ||
        !scale_layer_takes(traits(rewrite), layer, &s, 1))
        return NULL;
    uint32_t n = find_path(rewrite, layer, path, &s);
    if (!n)
        return NULL;
    l.chain.builder = bt_rewrite_builder(rewrite);
    scale_build(&l.chain, path[0], &s);
    const bt_value *args[2] = { lower(&l, n, path, &s), NULL };
    args[1] = scale_weight(&l.chain, layer, layer->args[1], &s, 1);
    const bt_value *folded = build_like(&l, layer, 2, args);
    if (!l.chain.status)
        *out = folded;
    return l.chain.status;
}

/* ---- the pass ---- */

static bt_status fold_call(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    BT_TRY(go_up(rewrite, call, out));
    if (!*out)
        BT_TRY(go_down(rewrite, call, out));
    return traits(rewrite)->status;
}

static const bt_rewriter rewriter = { .call_ = fold_call };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct folder f = { .arena = call->scratch, .traits = { .ctx = ctx } };
    bt_map_init(&f.moved_up, f.arena, 0);
    bt_map_init(&f.goes_down, f.arena, 0);
    bt_map_init(&f.unscaled, f.arena, 0);
    return bt_rewrite_module(ctx, call, &rewriter, &f, out);
}

static const bt_pass passes[] = {
    {
        .name = "fold-scale-axis",
        .doc = "Multiply the weights instead of the activations.\n"
               "before\n"
               "    def @main(%x: Tensor[(2, 2), float32]) {\n"
               "        %0 = nn.dense(%x, const[(2, 2), float32]{1, 2, 3, 4});\n"
               "        %1 = add(%0, const[(2), float32]{7, 8});\n"
               "        %2 = multiply(%1, const[(2), float32]{10, 100});\n"
               "        %3 = nn.relu(add(nn.relu(%2), %x));\n"
               "        %4 = multiply(%3, const[(2), float32]{2, 4});\n"
               "        nn.dense(nn.relu(add(%4, const[(2), float32]{8, 8})),\n"
               "                 const[(1, 2), float32]{5, 6})\n"
               "    }\n"
               "after, with fold-constant and dead-code\n"
               "    def @main(%x: Tensor[(2, 2), float32]) {\n"
               "        %0 = nn.dense(%x, const[(2, 2), float32]{10, 20, 300, 400});\n"
               "        %1 = add(%0, const[(2), float32]{70, 800});\n"
               "        %2 = nn.relu(add(nn.relu(%1), %x));\n"
               "        nn.dense(nn.relu(add(%2, const[(2), float32]{4, 2})),\n"
               "                 const[(1, 2), float32]{10, 24})\n"
               "    }",
        .level = 3,
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_fold_scale_axis[] = { BT_PASSES(passes), { 0 } };
