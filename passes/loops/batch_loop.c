/*
 * batch-loop: products of each slice of a sequence become one product before the loop.
 * A loop is a closure that calls itself in tail position, in an `if` of `less(counter,
 * bound)`, with the counter plus 1; it is called once from elsewhere, with 0. What is a
 * slice (one position of one axis) and what a product (a contraction of two operands) is
 * seen in formulas: no operator is looked for by its name. The sequence and the other
 * operand do not change in the loop, and the sequence is no longer than the loop, so that
 * nothing is computed that was not computed before. The weight is then read once, not in
 * each iteration. A sequence of one slice stays: the weight is read once anyway. What goes
 * element by element over a product alone, with what does not change in the loop, as a bias
 * does, is computed with it.
 * keeps    no invariant
 * source   Appleyard, Kocisky, Blunsom 2016, section 3.2: inputs of recurrent layers as one
 *          product for all steps
 */
#include <string.h>

#include <baton/compute.h>
#include <baton/graph.h>

#include "common/chain.h"
#include "common/lone_func.h"

enum { MAX_LETTERS = 25, MAX_TEXT = 2 * BT_MAX_RANK + 8 };

/* A slice of a value that is there before the loop. */
struct slice {
    const bt_call *call;
    uint32_t from, axis; /* the argument that it is of; which axis is cut */
};

/* What takes a product's place: the same slice, of all products. */
struct batch {
    struct slice slice;
    const bt_value *product; /* of all, without axes of extent 1 ... */
    uint64_t ones;           /* ... that the result has */
    const bt_value *all;     /* with them */
};

/* Where a value is bound. */
enum { IN_LOOP = 1, IN_BODY };

struct site {
    bt_rewrite *rewrite;
    bt_ctx *ctx;
    bt_store *store;
    bt_arena *arena;
    const bt_block *body;
    const bt_value *bound; /* how many iterations there are */
    bt_map places;         /* value -> IN_LOOP or IN_BODY; absent: outside */
};

/* ---- loops ---- */

static int put_place(struct site *s, const bt_value *value, uintptr_t place)
{
    return bt_map_put(&s->places, value, (void *)place);
}

static uintptr_t place_of(const struct site *s, const bt_value *value)
{
    return (uintptr_t)bt_map_find(&s->places, value);
}

static bt_status find_places(struct site *s, const bt_closure_value *loop)
{
    const bt_block *block = loop->func->block;
    int ok = put_place(s, &loop->base, IN_LOOP);
    for (uint32_t i = 0; i < block->nparam; i++)
        ok &= put_place(s, &block->params[i]->base, IN_LOOP);
    for (uint32_t i = 0; i < block->nbinding; i++)
        ok &= put_place(s, block->bindings[i], IN_LOOP);
    for (uint32_t i = 0; i < s->body->nbinding; i++)
        ok &= put_place(s, s->body->bindings[i], IN_BODY);
    return ok ? NULL : bt_no_memory();
}

static int is_number(const bt_value *value, int64_t number)
{
    const bt_tensor *tensor = bt_const_tensor(value);
    return tensor && tensor->rank == 0 && !bt_dtype_is_float(tensor->dtype) &&
           bt_tensor_get_int(tensor, 0) == number;
}

static const bt_call *call_of(const bt_value *value, const bt_value *callee)
{
    const bt_call *call = bt_as_call(value);
    return call && call->callee_kind == BT_CALLEE_VALUE && call->callee == callee ? call
                                                                                  : NULL;
}

static int is_next(const bt_value *value, const bt_value *counter)
{
    const bt_call *sum = bt_as_op_call(value, "add");
    return sum && ((sum->args[0] == counter && is_number(sum->args[1], 1)) ||
                   (sum->args[1] == counter && is_number(sum->args[0], 1)));
}

/* Whether it counts from 0 up to s->bound, which, with s->body, is set. */
static int is_loop(struct site *s, const bt_closure_value *loop)
{
    const bt_if *branch = bt_as_if(loop->func->block->result);
    const bt_call *less = branch ? bt_as_op_call(branch->condition, "less") : NULL;
    const bt_call *again =
        branch ? call_of(branch->then_block->result, &loop->base) : NULL;
    uint32_t counter = 0, nparam = loop->func->block->nparam;
    if (loop->group->n != 1 || !less || !again ||
        bt_rewrite_nuse(s->rewrite, &loop->base) != 2)
        return 0;
    while (counter < nparam && &loop->func->block->params[counter]->base != less->args[0])
        counter++;
    if (counter == nparam || !is_next(again->args[counter], less->args[0]))
        return 0;
    for (uint32_t i = 0; i < 2; i++) {
        const bt_value *use = bt_rewrite_use(s->rewrite, &loop->base, i);
        const bt_call *call = use ? call_of(use, &loop->base) : NULL;
        if (!call || (call != again && !is_number(call->args[counter], 0)))
            return 0;
    }
    s->body = branch->then_block;
    s->bound = less->args[1];
    return 1;
}

/* Whether there are as many iterations as that, at least. */
static int has_iterations(const struct site *s, const bt_type *extent)
{
    const bt_call *call = bt_as_call(s->bound);
    const bt_tensor *number = bt_const_tensor(s->bound);
    int64_t dim, count;
    if (!number)
        return call && call->contents && call->contents->n == 1 &&
               bt_dim_equal(s->store, extent, call->contents->dims[0]) == 1;
    count = number->nelem == 1 ? bt_tensor_get_int(number, 0) : 0;
    return bt_dim_is_const(extent, &dim) && dim > 1 && dim <= count;
}

/* ---- what calls compute ---- */

/* What it computes with arguments of these types; *out NULL: that is not one stage, or not
 * to be seen. */
static bt_status look(struct site *s, const bt_call *call, const bt_type *const *types,
                      const bt_type **result, bt_graph **out)
{
    const struct lone lone = { s->ctx, s->store, bt_rewrite_call(s->rewrite)->module,
                               s->arena };
    BT_TRY(
        lone_graph(&lone, call->op, call->attrs, call->narg, types, NULL, result, out));
    if (*out && ((*out)->narray != (*out)->ninput + 1 || (*out)->ninput != call->narg))
        *out = NULL;
    return NULL;
}

static const bt_array *stage_of(const bt_graph *graph)
{
    return graph->arrays[graph->results[0]];
}

static int is_zero(const bt_node *node)
{
    int64_t value;
    return bt_node_is_const(node, &value) && value == 0;
}

/* Whether the stage is one position along an axis of array `from`, all else in order. */
static int find_axis(const bt_graph *graph, uint32_t from, uint32_t *axis)
{
    const bt_array *stage = stage_of(graph);
    const bt_node *read = stage->body;
    int found = 0;
    if (read->kind != BT_NODE_READ || read->which != from ||
        read->narg != stage->rank + 1)
        return 0;
    for (uint32_t i = 0; i < read->narg; i++) {
        const bt_node *at = read->args[i];
        uint32_t own = i - (uint32_t)found;
        if (at->kind == BT_NODE_INDEX && at->which == own)
            continue;
        if (is_zero(at) && own < stage->rank && bt_node_number(stage->extents[own]) == 1)
            continue;
        if (found || at->free || !at->reads)
            return 0;
        found = 1;
        *axis = i;
    }
    return found;
}

/* ---- slices ---- */

static const bt_type **types_of(struct site *s, const bt_call *call)
{
    const bt_type **types = BT_NEWS(s->arena, const bt_type *, call->narg + 1u);
    for (uint32_t i = 0; types && i < call->narg; i++)
        types[i] = call->args[i]->type;
    return types;
}

/* A call of tensors that neither fails by its types nor does more than compute. */
static int is_plain(const bt_call *call)
{
    int ok = call && call->callee_kind == BT_CALLEE_OP && !call->ncheck &&
             bt_tensor_shape(call->base.type);
    for (uint32_t i = 0; ok && i < call->narg; i++)
        ok = bt_tensor_shape(call->args[i]->type) != NULL;
    return ok;
}

/* Whether the value is a slice of something that is there before the loop, and at least as
 * many iterations as it has slices. */
static bt_status find_slice(struct site *s, const bt_value *value, struct slice *out,
                            int *is)
{
    const bt_call *call = bt_as_call(value);
    const bt_type **types, *result;
    bt_graph *graph;
    *is = 0;
    if (!is_plain(call) || place_of(s, value) != IN_BODY)
        return NULL;
    if (!(types = types_of(s, call)))
        return bt_no_memory();
    BT_TRY(look(s, call, types, &result, &graph));
    for (uint32_t i = 0; graph && !*is && i < call->narg; i++) {
        *out = (struct slice){ .call = call, .from = i };
        *is = !place_of(s, call->args[i]) && find_axis(graph, i, &out->axis) &&
              has_iterations(s, bt_tensor_shape(types[i])->dims[out->axis]);
    }
    return NULL;
}

/* Whether the same slice of all products is one product. */
static bt_status fits(struct site *s, const struct slice *slice, const bt_type *product,
                      int *out)
{
    const bt_call *call = slice->call;
    const bt_shape_type *shape = bt_tensor_shape(product);
    const bt_type **types = types_of(s, call), *dims[BT_MAX_RANK], *result, *all;
    bt_graph *graph;
    uint32_t axis;
    *out = 0;
    if (!types)
        return bt_no_memory();
    if (slice->axis > shape->n || shape->n == BT_MAX_RANK)
        return NULL;
    for (uint32_t i = 0; i <= shape->n; i++)
        dims[i] = i < slice->axis   ? shape->dims[i]
                  : i > slice->axis ? shape->dims[i - 1]
                                    : bt_tensor_shape(types[slice->from])->dims[i];
    const bt_type *whole = bt_type_shape(s->store, shape->n + 1, dims);
    all =
        whole ? bt_type_tensor(s->store, whole, bt_as_tensor_type(product)->dtype) : NULL;
    if (!all)
        return bt_store_why(s->ctx, s->store);
    types[slice->from] = all;
    BT_TRY(look(s, call, types, &result, &graph));
    *out = graph && result == product && find_axis(graph, slice->from, &axis) &&
           axis == slice->axis;
    return NULL;
}

/* ---- products ---- */

/* Axes of an operand by letters: a, b, ... what the indices are; A, B, ... of extent 1. */
static int name_axes(const bt_node *read, uint32_t *nlone, char *out)
{
    for (uint32_t i = 0; i < read->narg; i++) {
        const bt_node *at = read->args[i];
        if (at->kind == BT_NODE_INDEX && at->which < MAX_LETTERS)
            out[i] = (char)('a' + at->which);
        else if (is_zero(at) && *nlone < MAX_LETTERS)
            out[i] = (char)('A' + (*nlone)++);
        else
            return 0;
    }
    out[read->narg] = '\0';
    return 1;
}

static void insert(char *text, uint32_t at, char c)
{
    memmove(text + at + 1, text + at, strlen(text + at) + 1);
    text[at] = c;
}

/* A product of arrays x and 1 - x, as an equation with one more axis z of x and of the
 * result; `ones`: axes of the result that it leaves out, each of extent 1. */
struct product {
    char terms[2][MAX_TEXT], result[MAX_TEXT];
    uint64_t ones;
};

static int find_product(const bt_graph *graph, uint32_t x, const struct slice *slice,
                        struct product *out)
{
    const bt_array *stage = stage_of(graph);
    bt_view view;
    uint32_t nlone = 0, at = 0;
    bt_view_of(graph, stage, &view);
    *out = (struct product){ 0 };
    if (view.kind != BT_VIEW_CONTRACTION || view.nwindow || stage->body != view.reduce ||
        view.reduce->which != BT_REDUCER_SUM || !bt_node_is_true(view.reduce->args[0]) ||
        view.reduce->args[1]->kind != BT_NODE_SCALAR)
        return 0;
    for (uint32_t i = 0; i < 2; i++) {
        const bt_node *read = view.reads[i], *product = view.reduce->args[1];
        if (read->which > 1 || (read != product->args[0] && read != product->args[1]) ||
            !name_axes(read, &nlone, out->terms[read->which]))
            return 0;
    }
    for (uint32_t i = 0; i < stage->rank; i++) {
        char letter = (char)('a' + i);
        uint32_t here = i + (i >= slice->axis);
        if (i == slice->axis)
            out->result[at++] = 'z';
        if (strchr(out->terms[0], letter) || strchr(out->terms[1], letter))
            out->result[at++] = letter;
        else if (bt_node_number(stage->extents[i]) == 1)
            out->ones |= UINT64_C(1) << here;
        else
            return 0;
    }
    if (slice->axis == stage->rank)
        out->result[at] = 'z';
    insert(out->terms[x], slice->axis, 'z');
    return *out->terms[1 - x] != '\0';
}

/* batch->all of batch->product. */
static bt_status build_ones(struct site *s, struct batch *batch)
{
    struct chain chain = { .builder = bt_rewrite_builder(s->rewrite) };
    batch->all = batch->product;
    for (uint32_t i = 0; batch->ones >> i; i++) {
        if (batch->ones >> i & 1)
            batch->all = chain_op1f(&chain, batch->all, "expand_dims", "axis=%u", i);
    }
    return chain.status;
}

/* The products of all slices, before the loop; *out NULL: an operand is not there. */
static bt_status build_product(struct site *s, const bt_call *call,
                               const struct product *p, uint32_t x,
                               const bt_value *sequence, const bt_value **out)
{
    struct chain chain = { .builder = bt_rewrite_builder(s->rewrite) };
    const bt_value *fields[2], *both;
    BT_TRY(bt_rewrite_operand(s->rewrite, sequence, &fields[0]));
    BT_TRY(bt_rewrite_operand(s->rewrite, call->args[1 - x], &fields[1]));
    *out = NULL;
    if (!fields[0] || !fields[1])
        return NULL;
    bt_builder_like(chain.builder, &call->base);
    bt_builder_name(chain.builder, NULL);
    BT_TRY(bt_build_tuple(chain.builder, 2, fields, &both));
    *out = chain_op1f(&chain, both, "einsum", "equation=\"%s,%s->%s\"", p->terms[x],
                      p->terms[1 - x], p->result);
    return chain.status;
}

/* Argument x of the call as a slice, the other one as what does not change. */
static bt_status batch_by(struct site *s, const bt_call *call, uint32_t x,
                          bt_map *batches)
{
    struct batch *batch = BT_NEW(s->arena, struct batch);
    const bt_type **types = types_of(s, call), *result;
    struct product product;
    bt_graph *graph;
    int ok;
    if (!batch || !types)
        return bt_no_memory();
    if (place_of(s, call->args[1 - x]))
        return NULL;
    BT_TRY(find_slice(s, call->args[x], &batch->slice, &ok));
    if (!ok)
        return NULL;
    BT_TRY(look(s, call, types, &result, &graph));
    if (!graph || result != call->base.type ||
        !find_product(graph, x, &batch->slice, &product))
        return NULL;
    BT_TRY(fits(s, &batch->slice, result, &ok));
    if (!ok)
        return NULL;
    BT_TRY(build_product(s, call, &product, x, batch->slice.call->args[batch->slice.from],
                         &batch->product));
    if (!batch->product)
        return NULL;
    batch->ones = product.ones;
    BT_TRY(build_ones(s, batch));
    return bt_map_put(batches, call, batch) ? NULL : bt_no_memory();
}

/* ---- what goes over products element by element ---- */

/* Argument x of a stage is a product, in another graph all of them. Axis i of the one is axis
 * axes[i] of the other; ALONE: an axis of extent 1 that the other has not. */
struct over {
    uint32_t x, axes[BT_MAX_RANK];
};
enum { ALONE = BT_MAX_RANK };

static void find_axes(const struct batch *batch, uint32_t rank, struct over *out)
{
    for (uint32_t i = 0, to = 0, at = 0; i < rank; at++) {
        const int is_one = batch->ones >> at & 1;
        if (at != batch->slice.axis)
            out->axes[i++] = is_one ? ALONE : to;
        to += !is_one;
    }
}

/* Whether an array is read at the element that is computed. */
static int is_own(const bt_node *read)
{
    uint32_t i = 0;
    while (i < read->narg &&
           ((read->args[i]->kind == BT_NODE_INDEX && read->args[i]->which == i) ||
            is_zero(read->args[i])))
        i++;
    return i == read->narg;
}

/* Whether `all` computes of all products what `one` does of one. */
static int is_same(const struct over *o, const bt_node *one, const bt_node *all)
{
    if (one->kind != all->kind || one->dtype != all->dtype)
        return 0;
    if (one->kind == BT_NODE_INDEX)
        return one->which < BT_MAX_RANK && o->axes[one->which] == all->which;
    if (one->kind == BT_NODE_CONST)
        return memcmp(&one->value, &all->value, sizeof(one->value)) == 0;
    if (one->kind == BT_NODE_READ && one->which == o->x)
        return all->which == o->x && is_own(one) && is_own(all);
    if ((one->kind != BT_NODE_READ && one->kind != BT_NODE_SCALAR) ||
        one->which != all->which || one->narg != all->narg)
        return 0;
    for (uint32_t i = 0; i < one->narg; i++) {
        if (!is_same(o, one->args[i], all->args[i]))
            return 0;
    }
    return 1;
}

/* A call whose argument x is a product that nothing else uses, all others what does not change. */
static int is_over(struct site *s, const bt_call *call, uint32_t x)
{
    for (uint32_t i = 0; i < call->narg; i++) {
        if (i != x && place_of(s, call->args[i]))
            return 0;
    }
    return is_plain(call) && bt_rewrite_nuse(s->rewrite, call->args[x]) == 1 &&
           call->base.type == call->args[x]->type;
}

static bt_status build_over(struct site *s, const bt_call *call, uint32_t x,
                            const struct batch *of, bt_map *batches)
{
    struct batch *batch = BT_NEW(s->arena, struct batch);
    const bt_value **args = BT_NEWS(s->arena, const bt_value *, call->narg);
    bt_builder *b = bt_rewrite_builder(s->rewrite);
    if (!batch || !args)
        return bt_no_memory();
    *batch = *of;
    args[x] = of->product;
    for (uint32_t i = 0; i < call->narg; i++) {
        if (i != x)
            BT_TRY(bt_rewrite_operand(s->rewrite, call->args[i], &args[i]));
        if (!args[i])
            return NULL;
    }
    bt_builder_like(b, &call->base);
    bt_builder_name(b, NULL);
    BT_TRY(bt_build_op(b, call->op, call->attrs, call->narg, args, &batch->product));
    BT_TRY(build_ones(s, batch));
    return bt_map_put(batches, call, batch) ? NULL : bt_no_memory();
}

static bt_status go_over(struct site *s, const bt_call *call, uint32_t x, bt_map *batches)
{
    const struct batch *of = bt_map_find(batches, call->args[x]);
    const bt_type **types, *result;
    struct over over = { .x = x };
    bt_graph *one, *all;
    if (!of || !is_over(s, call, x))
        return NULL;
    if (!(types = types_of(s, call)))
        return bt_no_memory();
    BT_TRY(look(s, call, types, &result, &one));
    types[x] = of->product->type;
    BT_TRY(look(s, call, types, &result, &all));
    if (!one || !all || result != of->product->type)
        return NULL;
    find_axes(of, bt_tensor_shape(call->base.type)->n, &over);
    if (!is_same(&over, stage_of(one)->body, stage_of(all)->body))
        return NULL;
    return build_over(s, call, x, of, batches);
}

/* ---- the walk ---- */

/* Before a loop is walked: what is to be computed ahead of it. */
static bt_status batch_loop(bt_rewrite *rewrite, const bt_closure_value *loop,
                            const bt_value **out)
{
    bt_pass_call *pass = bt_rewrite_call(rewrite);
    struct site s = { .rewrite = rewrite,
                      .ctx = bt_rewrite_ctx(rewrite),
                      .store = pass->module->store,
                      .arena = pass->scratch };
    bt_map *batches = bt_rewrite_state(rewrite);
    (void)out;
    bt_map_init(&s.places, s.arena, 0);
    if (!is_loop(&s, loop))
        return NULL;
    BT_TRY(find_places(&s, loop));
    if (place_of(&s, s.bound))
        return NULL;
    for (uint32_t i = 0; i < s.body->nbinding; i++) {
        const bt_call *call = bt_as_call(s.body->bindings[i]);
        if (!is_plain(call) || call->narg != 2 || call->args[0] == call->args[1])
            continue;
        for (uint32_t x = 0; x < 2; x++) {
            if (!bt_map_find(batches, call))
                BT_TRY(batch_by(&s, call, x, batches));
            if (!bt_map_find(batches, call))
                BT_TRY(go_over(&s, call, x, batches));
        }
    }
    return NULL;
}

static bt_status take_slice(bt_rewrite *rewrite, const bt_call *old, const bt_value **out)
{
    const struct batch *batch = bt_map_find(bt_rewrite_state(rewrite), old);
    if (!batch)
        return NULL;
    const bt_call *call = batch->slice.call;
    const bt_value **args =
        BT_NEWS(bt_rewrite_call(rewrite)->scratch, const bt_value *, call->narg);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        args[i] = batch->all;
        if (i != batch->slice.from)
            BT_TRY(bt_rewrite_operand(rewrite, call->args[i], &args[i]));
    }
    return bt_build_op(bt_rewrite_builder(rewrite), call->op, call->attrs, call->narg,
                       args, out);
}

static const bt_rewriter rewriter = { .closure_ = batch_loop, .call_ = take_slice };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    bt_map batches;
    bt_map_init(&batches, call->scratch, 0);
    return bt_rewrite_module(ctx, call, &rewriter, &batches, out);
}

static const bt_pass passes[] = {
    {
        .name = "batch-loop",
        .doc =
            "Products of each slice of a sequence become one product before the loop.\n"
            "before\n"
            "    def @main(%x: Tensor[(9, 2, 3), float32], %w: Tensor[(4, 3), float32], "
            "%h: Tensor[(2, 4), float32]) {\n"
            "        %loop = fn (%i: int64, %s: Tensor[(2, 4), float32]) -> Tensor[(2, "
            "4), float32] {\n"
            "            if (less(%i, 9i64)) {\n"
            "                %0 = nn.dense(take(%x, %i, axis=0), %w);\n"
            "                %1 = tanh(add(%0, %s));\n"
            "                %loop(add(%i, 1i64), %1)\n"
            "            } else { %s }\n"
            "        };\n"
            "        %loop(0i64, %h)\n"
            "    }\n"
            "after, with dead-code\n"
            "    def @main(%x: Tensor[(9, 2, 3), float32], %w: Tensor[(4, 3), float32], "
            "%h: Tensor[(2, 4), float32]) {\n"
            "        %0 = einsum((%x, %w), equation=\"zac,bc->zab\");\n"
            "        %loop = fn (%i: int64, %s: Tensor[(2, 4), float32]) -> Tensor[(2, "
            "4), float32] {\n"
            "            if (less(%i, 9i64)) {\n"
            "                %1 = take(%0, %i, axis=0);\n"
            "                %2 = tanh(add(%1, %s));\n"
            "                %loop(add(%i, 1i64), %2)\n"
            "            } else { %s }\n"
            "        };\n"
            "        %loop(0i64, %h)\n"
            "    }",
        .level = 3,
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_loops_batch_loop[] = { BT_PASSES(passes), { 0 } };
