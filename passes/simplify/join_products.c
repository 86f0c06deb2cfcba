/*
 * join-products: a sum of dense layers becomes one, of their data and weights side by side.
 * So a cell that adds x.W and h.U multiplies [x h] once. The weights are constants, the
 * layers are for the sum alone; other summands follow in their order. Only where what is
 * put side by side is no more than what the sums between would read and write. Floats are
 * rounded otherwise.
 * keeps    no invariant
 * source   DLVM, section 3.1.2 (linear algebra fusion)
 */
#include "common/layout.h"

enum { MAX_SUMMANDS = 16 };

/* What is added up, in order. */
struct sum {
    bt_rewrite *rewrite;
    const bt_type *type;
    uint32_t n, nlayer;
    const bt_value *summands[MAX_SUMMANDS];
    const bt_call *layers[MAX_SUMMANDS]; /* those summands that can be joined */
};

/* A call of an operator that gives the type of the sum and is for it alone; else NULL. */
static const bt_call *part_of(const struct sum *s, const bt_value *value, const char *op)
{
    const bt_call *call = bt_as_op_call(value, op);
    return call && !call->ncheck && value->type == s->type &&
                   bt_rewrite_is_alone_here(s->rewrite, value)
               ? call
               : NULL;
}

/* 0: too many. */
static int add_summand(struct sum *s, const bt_value *value)
{
    const bt_call *layer = part_of(s, value, "nn.dense");
    if (s->n == MAX_SUMMANDS)
        return 0;
    if (layer && bt_const_tensor(layer->args[1]) &&
        bt_tensor_dtype(layer->args[0]->type) == bt_tensor_dtype(s->type))
        s->layers[s->nlayer++] = layer;
    else
        s->summands[s->n++] = value;
    return s->nlayer < MAX_SUMMANDS;
}

/* From the front: (a + b) + c. */
static int add_summands(struct sum *s, const bt_call *sum)
{
    const bt_call *calls[MAX_SUMMANDS];
    uint32_t n = 0;
    for (; sum && n < MAX_SUMMANDS; sum = part_of(s, sum->args[0], "add"))
        calls[n++] = sum;
    if (sum || !add_summand(s, calls[n - 1]->args[0]))
        return 0;
    while (n && add_summand(s, calls[n - 1]->args[1]))
        n--;
    return n == 0;
}

/* A row of data side by side is copied; each sum saved reads and writes a row of results. */
static int pays(const struct sum *s)
{
    int64_t ncopied = 0;
    for (uint32_t i = 0; i < s->nlayer; i++)
        ncopied += bt_const_tensor(s->layers[i]->args[1])->dims[1];
    return s->nlayer > 1 &&
           ncopied <=
               2 * (s->nlayer - 1) * bt_const_tensor(s->layers[0]->args[1])->dims[0];
}

/* Operands of the layers side by side, along their last axis. */
static const bt_value *side_by_side(const struct sum *s, struct chain *c,
                                    uint32_t operand)
{
    const bt_value *fields[MAX_SUMMANDS], *tuple = NULL;
    for (uint32_t i = 0; i < s->nlayer && !c->status; i++)
        c->status =
            bt_rewrite_operand(s->rewrite, s->layers[i]->args[operand], &fields[i]);
    if (!c->status)
        c->status = bt_build_tuple(c->builder, s->nlayer, fields, &tuple);
    return chain_op1(c, "concatenate", "axis=-1", tuple);
}

static bt_status join(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(rewrite) };
    struct sum s = { .rewrite = rewrite, .type = call->base.type };
    if (!bt_as_op_call(&call->base, "add") || call->ncheck ||
        type_rank(call->base.type) == 0 || !add_summands(&s, call) || !pays(&s))
        return NULL;
    for (uint32_t i = 0; i < s.nlayer; i++)
        bt_rewrite_from(rewrite, &s.layers[i]->base);
    const bt_value *data = side_by_side(&s, &c, 0), *weight = side_by_side(&s, &c, 1),
                   *value = chain_op2(&c, "nn.dense", NULL, data, weight);
    for (uint32_t i = 0; i < s.n && !c.status; i++) {
        const bt_value *summand;
        BT_TRY(bt_rewrite_operand(rewrite, s.summands[i], &summand));
        value = chain_op2(&c, "add", NULL, value, summand);
    }
    if (value && value->type == call->base.type)
        *out = value;
    return c.status;
}

static const bt_rewriter rewriter = { .call_ = join };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "join-products",
        .doc = "A sum of dense layers becomes one, of their data and weights side by "
               "side.\n"
               "before\n"
               "    def @main(%x: Tensor[(1, 1), float32], %h: Tensor[(1, 2), float32], "
               "%b: Tensor[(2), float32]) {\n"
               "        %0 = nn.dense(%x, const[(2, 1), float32]{1, 2});\n"
               "        %1 = nn.dense(%h, const[(2, 2), float32]{3, 4, 5, 6});\n"
               "        add(add(%0, %1), %b)\n"
               "    }\n"
               "after, with fold-constant and dead-code\n"
               "    def @main(%x: Tensor[(1, 1), float32], %h: Tensor[(1, 2), float32], "
               "%b: Tensor[(2), float32]) {\n"
               "        %0 = (%x, %h);\n"
               "        %1 = nn.dense(concatenate(%0, axis=-1), const[(2, 3), "
               "float32]{1, 3, 4, 2, 5, 6});\n"
               "        add(%1, %b)\n"
               "    }",
        .level = 3,
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_join_products[] = { BT_PASSES(passes), { 0 } };
