/*
 * join-accumulations: products that are added up become one product.
 *     sum(k: a[k, m] * b[k, n]) + sum(k: c[k, m] * d[k, n])
 *  -> sum(k: [a c][k, m] * [b d][k, n])        [a c]: c behind a, along the first axis
 * So are the gradients of a weight that each step of an unrolled loop uses: of 35 products and 35
 * sums as large as the weight one product is left. The calls have one formula and operands of the
 * same types, whose first axis alone is summed over, or is 1; their values are for the sum alone.
 * Only where what is put side by side is no more than what the sums between would read and write; in
 * the order in which somebody else puts it side by side, if so.
 * Floats are rounded otherwise.
 * keeps    no invariant
 * source   DLVM, section 3.1.2 (linear algebra fusion)
 */
#include <inttypes.h>

#include <baton/compute.h>
#include <baton/graph.h>

#include "common/chain.h"

typedef bt_vec(const bt_value *) values;

struct joining {
    bt_rewrite *rewrite;
    bt_arena *arena;
    const bt_type *type;    /* of the sum */
    values summands;        /* in order */
    values parts;           /* calls that become one product */
    const bt_value **order; /* the same, as their operands are put behind each other */
};

/* ---- what is added up ---- */

static int is_sum(const bt_value *value, const bt_type *type)
{
    const bt_call *call = bt_as_op_call(value, "add");
    return call && !call->ncheck && value->type == type && call->args[0]->type == type &&
           call->args[1]->type == type;
}

/* Whether the sum is no part of a larger one. */
static int is_root(const struct joining *j, const bt_value *value)
{
    return !bt_rewrite_is_alone_here(j->rewrite, value) ||
           !is_sum(bt_rewrite_use(j->rewrite, value, 0), value->type);
}

static bt_status find_summands(struct joining *j, const bt_value *root)
{
    values open = { 0 };
    if (!BT_PUSH(j->arena, &open, root))
        return bt_no_memory();
    while (open.len) {
        const bt_value *value = open.at[--open.len];
        const int is_open =
            value == root ||
            (is_sum(value, j->type) && bt_rewrite_is_alone_here(j->rewrite, value));
        if (!is_open && !BT_PUSH(j->arena, &j->summands, value))
            return bt_no_memory();
        for (uint32_t i = 2; is_open && i-- > 0;) {
            if (!BT_PUSH(j->arena, &open, bt_as_call(value)->args[i]))
                return bt_no_memory();
        }
    }
    return NULL;
}

/* A call of two tensors of known dims, for the sum alone. */
static const bt_call *part_of(const struct joining *j, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    if (!call || !call->op || call->ncheck || call->narg != 2 ||
        !bt_rewrite_is_alone_here(j->rewrite, value))
        return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        if (!bt_tensor_static(call->args[i]->type, &rank, dims) || rank < 1 ||
            bt_type_layout(call->args[i]->type))
            return NULL;
    }
    return call;
}

static int is_like(const bt_call *a, const bt_call *b)
{
    return a->op == b->op && a->args[0]->type == b->args[0]->type &&
           a->args[1]->type == b->args[1]->type &&
           (a->attrs == b->attrs || bt_attrs_equal(a->op->attrs, a->attrs, b->attrs));
}

/* The first kind of call that there are several of. */
static bt_status find_parts(struct joining *j)
{
    for (uint32_t i = 0; i < j->summands.len && j->parts.len < 2; i++) {
        const bt_call *first = part_of(j, j->summands.at[i]);
        j->parts.len = 0;
        for (uint32_t k = i; first && k < j->summands.len; k++) {
            const bt_call *call = part_of(j, j->summands.at[k]);
            if (call && is_like(first, call) &&
                !BT_PUSH(j->arena, &j->parts, j->summands.at[k]))
                return bt_no_memory();
        }
    }
    return NULL;
}

/* The parts in the order of a tuple of all their operands; *is 0: it is none. */
static bt_status order_of(const struct joining *j, uint32_t operand,
                          const bt_tuple_value *tuple, const bt_value **out, int *is)
{
    bt_map parts; // operand -> 1 + the part
    bt_map_init(&parts, j->arena, 0);
    *is = 0;
    for (uint32_t i = 0; i < j->parts.len; i++) {
        const bt_value *value = bt_as_call(j->parts.at[i])->args[operand];
        if (bt_map_find(&parts, value))
            return NULL;
        if (!bt_map_put(&parts, value, (void *)(uintptr_t)(i + 1)))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        const uintptr_t part = (uintptr_t)bt_map_find(&parts, tuple->fields[i]);
        if (!part)
            return NULL;
        if (!bt_map_put(&parts, tuple->fields[i], NULL)) // each once
            return bt_no_memory();
        out[i] = j->parts.at[part - 1];
    }
    *is = 1;
    return NULL;
}

/* A tuple of as many fields as there are parts, which are put behind each other; else NULL. */
static const bt_tuple_value *concatenated(const struct joining *j, const bt_value *value)
{
    const bt_tuple_value *tuple = bt_as_tuple(value);
    if (!tuple || tuple->nfield != j->parts.len)
        return NULL;
    for (uint32_t i = 0; i < bt_rewrite_nuse(j->rewrite, value); i++) {
        const bt_call *call =
            bt_as_op_call(bt_rewrite_use(j->rewrite, value, i), "concatenate");
        const int64_t *axis =
            call ? bt_attr_find(call->op, call->attrs, "axis", BT_ATTR_INT) : NULL;
        if (axis && *axis == 0)
            return tuple;
    }
    return NULL;
}

/* Where somebody else puts operands behind each other it is done in the order of that, so that both
 * are one: what a `split` gives is used by its parts, and its adjoint is made of theirs. */
static bt_status order_parts(struct joining *j)
{
    int is = 0;
    j->order = BT_NEWS(j->arena, const bt_value *, j->parts.len);
    if (!j->order)
        return bt_no_memory();
    for (uint32_t operand = 0; operand < 2; operand++) {
        const bt_value *first = bt_as_call(j->parts.at[0])->args[operand];
        for (uint32_t i = 0; i < bt_rewrite_nuse(j->rewrite, first) && !is; i++) {
            const bt_tuple_value *tuple =
                concatenated(j, bt_rewrite_use(j->rewrite, first, i));
            if (tuple)
                BT_TRY(order_of(j, operand, tuple, j->order, &is));
        }
    }
    for (uint32_t i = 0; i < j->parts.len && !is; i++)
        j->order[i] = j->parts.at[i];
    return NULL;
}

/* Operands are read and written once more; each sum saved reads two results and writes one, each
 * product saved writes one. */
static int pays(const struct joining *j)
{
    const bt_call *call = bt_as_call(j->parts.at[0]);
    const double n = j->parts.len, nresult = (double)bt_type_nbytes(j->type),
                 noperand = (double)bt_type_nbytes(call->args[0]->type) +
                            (double)bt_type_nbytes(call->args[1]->type);
    return n > 1 && nresult > 0 && noperand > 0 &&
           2 * noperand * n <= 4 * nresult * (n - 1);
}

/* ---- its formula ---- */

/* The call alone, as a graph. */
static bt_status graph_of(const struct joining *j, const bt_call *call, bt_graph **out)
{
    bt_ctx *ctx = bt_rewrite_ctx(j->rewrite);
    bt_store *store = bt_builder_store(bt_rewrite_builder(j->rewrite));
    const bt_param *params[2];
    const bt_value *operands[2], *value;
    const bt_func *func;
    bt_func fields = { .result = call->base.type };
    bt_builder *b;
    BT_TRY(bt_builder_create(ctx, store, bt_rewrite_call(j->rewrite)->module, &b));
    bt_status status = bt_build_param(b, "a", call->args[0]->type, &params[0]);
    status = status ? status : bt_build_param(b, "b", call->args[1]->type, &params[1]);
    status = status ? status : bt_block_begin(b, 2, params);
    for (uint32_t i = 0; !status && i < 2; i++)
        operands[i] = &params[i]->base;
    status =
        status ? status
               : bt_build_again(b, &call->base, operands, NULL, call->base.type, &value);
    status = status ? status : bt_block_end(b, value, &fields.block);
    status = status ? status : bt_func_create(ctx, store, &fields, &func);
    bt_builder_destroy(b);
    return status ? status : bt_graph_compose(ctx, j->arena, func, out);
}

/* Whether the first axis of a read, and no other, is what is summed over, or is 1. */
static int is_along_first(const bt_node *read, uint32_t rank, const bt_node *reduce)
{
    const bt_node *first = read->args[0];
    if (reduce ? first->kind != BT_NODE_INDEX || first->which != reduce->first
               : first->kind != BT_NODE_CONST)
        return 0;
    for (uint32_t i = 1; i < read->narg; i++) {
        const bt_node *index = read->args[i];
        if (index->kind == BT_NODE_INDEX ? index->which >= rank
                                         : index->kind != BT_NODE_CONST)
            return 0;
    }
    return 1;
}

/* The reads of a sum of products along first axes. 0: it is none. */
static int find_reads(const bt_graph *g, const bt_node *reads[2])
{
    if (g->narray != 3 || g->ninput != 2 || g->nresult != 1)
        return 0;
    const bt_array *stage = g->arrays[2];
    const bt_node *body = stage->body,
                  *reduce = body->kind == BT_NODE_REDUCE ? body : NULL;
    if (reduce && (reduce->which != BT_REDUCER_SUM || reduce->nindex != 1 ||
                   !bt_node_is_true(reduce->args[0])))
        return 0;
    body = reduce ? reduce->args[1] : body;
    if (body->kind != BT_NODE_SCALAR || body->which != BT_SCALAR_MUL)
        return 0;
    for (uint32_t i = 0; i < 2; i++) {
        const bt_node *read = body->args[i];
        if (read->kind != BT_NODE_READ || read->dtype != stage->dtype ||
            !is_along_first(read, stage->rank, reduce) ||
            (!reduce && bt_node_number(g->arrays[read->which]->extents[0]) != 1))
            return 0;
        reads[read->which] = read;
    }
    return body->args[0]->which != body->args[1]->which;
}

static void write_extents(const bt_array *array, int64_t first, bt_text *out)
{
    for (uint32_t i = 0; i < array->rank; i++)
        bt_text_addf(out, "%s%" PRId64, i ? ", " : "",
                     i == 0 && first ? first : bt_node_number(array->extents[i]));
}

static void write_read(char array, const bt_node *read, bt_text *out)
{
    bt_text_addf(out, "%c[r", array);
    for (uint32_t i = 1; i < read->narg; i++) {
        if (read->args[i]->kind == BT_NODE_INDEX)
            bt_text_addf(out, ", i%" PRIu32, read->args[i]->which);
        else
            bt_text_addf(out, ", %" PRId64, read->args[i]->value.i);
    }
    bt_text_addf(out, "]");
}

/* The same sum over so many times as many terms. */
static void write_formula(const bt_graph *g, const bt_node *const reads[2], int64_t times,
                          bt_text *out)
{
    const bt_array *stage = g->arrays[2];
    char name[32];
    const char *dtype = bt_dtype_name(stage->dtype, name, sizeof(name));
    const int64_t nterm = times * bt_node_number(g->arrays[0]->extents[0]);
    for (uint32_t i = 0; i < 2; i++) {
        bt_text_addf(out, "%s%c: %s[", i ? ", " : "", 'a' + (int)i, dtype);
        write_extents(g->arrays[i], nterm, out);
        bt_text_addf(out, "]");
    }
    bt_text_addf(out, " => s: %s[", dtype);
    for (uint32_t i = 0; i < stage->rank; i++)
        bt_text_addf(out, "%si%" PRIu32 " in %" PRId64, i ? ", " : "", i,
                     bt_node_number(stage->extents[i]));
    bt_text_addf(out, "] = sum(r in %" PRId64 ": ", nterm);
    write_read('a', reads[0], out);
    bt_text_addf(out, " * ");
    write_read('b', reads[1], out);
    bt_text_addf(out, ")");
}

/* ---- building ---- */

static const bt_value *behind_each_other(const struct joining *j, struct chain *c,
                                         uint32_t operand)
{
    const bt_value **fields = BT_NEWS(j->arena, const bt_value *, j->parts.len);
    const bt_value *tuple = NULL;
    if (!fields)
        c->status = c->status ? c->status : bt_no_memory();
    for (uint32_t i = 0; i < j->parts.len && !c->status; i++)
        c->status = bt_rewrite_operand(j->rewrite, bt_as_call(j->order[i])->args[operand],
                                       &fields[i]);
    if (!c->status)
        c->status = bt_build_tuple(c->builder, j->parts.len, fields, &tuple);
    return chain_op1(c, "concatenate", "axis=0", tuple);
}

/* The product, then what else is added. */
static bt_status build(const struct joining *j, const char *formula, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(j->rewrite) };
    const bt_value *operands[2], *value = NULL;
    for (uint32_t i = 0; i < j->parts.len; i++)
        bt_rewrite_from(j->rewrite, j->parts.at[i]);
    for (uint32_t i = 0; i < 2; i++)
        operands[i] = behind_each_other(j, &c, i);
    BT_TRY(c.status);
    BT_TRY(bt_build_formula(c.builder, NULL, 2, operands, formula, &value));
    for (uint32_t i = 0, next = 0; i < j->summands.len && !c.status; i++) {
        const bt_value *summand;
        if (next < j->parts.len && j->parts.at[next] == j->summands.at[i]) {
            next++;
            continue;
        }
        BT_TRY(bt_rewrite_operand(j->rewrite, j->summands.at[i], &summand));
        value = chain_op2(&c, "add", NULL, value, summand);
    }
    if (value && value->type == j->type)
        *out = value;
    return c.status;
}

static bt_status join(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    struct joining j = { .rewrite = rewrite, .type = call->base.type };
    const bt_node *reads[2];
    bt_graph *graph;
    bt_text text;
    j.arena = bt_rewrite_call(rewrite)->scratch;
    if (!is_sum(&call->base, j.type) || !is_root(&j, &call->base) ||
        !bt_dtype_is_float(bt_tensor_dtype(j.type)))
        return NULL;
    BT_TRY(find_summands(&j, &call->base));
    BT_TRY(find_parts(&j));
    if (j.parts.len < 2 || !pays(&j) || !bt_op_has_formula(bt_as_call(j.parts.at[0])->op))
        return NULL;
    BT_TRY(graph_of(&j, bt_as_call(j.parts.at[0]), &graph));
    if (!find_reads(graph, reads))
        return NULL;
    BT_TRY(order_parts(&j));
    bt_text_init(&text, j.arena);
    write_formula(graph, reads, j.parts.len, &text);
    return bt_text_get(&text) ? build(&j, bt_text_get(&text), out) : bt_no_memory();
}

static const bt_rewriter rewriter = { .call_ = join };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "join-accumulations",
        .doc = "Products that are added up become one, of operands behind each other.\n"
               "before\n"
               "    def @main(%a: Tensor[(1, 2), float32], %b: Tensor[(1, 3), float32], "
               "%c: Tensor[(1, 2), float32], %d: Tensor[(1, 3), float32]) {\n"
               "        %0 = nn.matmul(%a, %b, transpose_a=True);\n"
               "        %1 = nn.matmul(%c, %d, transpose_a=True);\n"
               "        add(%0, %1)\n"
               "    }\n"
               "after, with dead-code\n"
               "    def @main(%a: Tensor[(1, 2), float32], %b: Tensor[(1, 3), float32], "
               "%c: Tensor[(1, 2), float32], %d: Tensor[(1, 3), float32]) {\n"
               "        %0 = (%a, %c);\n"
               "        %1 = concatenate(%0);\n"
               "        %2 = (%b, %d);\n"
               "        %3 = concatenate(%2);\n"
               "        compute(%1, %3, formula=\"a: float32[2, 2], b: float32[2, 3] => "
               "s: float32[i0 in 2, i1 in 3] = sum(r in 2: a[r, i0] * b[r, i1])\")\n"
               "    }",
        .level = 3,
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_join_accumulations[] = { BT_PASSES(passes), { 0 } };
