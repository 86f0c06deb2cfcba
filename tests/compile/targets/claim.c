/*
 * claim, ...: targets of the tests that claim by patterns, want layouts, and compute by
 * the target reference. Their options say what they refuse, what they cost and what they
 * want.
 */
#include <stdio.h>
#include <string.h>

#include <baton/op.h>
#include <baton/target.h>

struct options {
    const char *refuse;
    double ns, confidence;
    const char *wants;
    int64_t breaks, tells;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, refuse, STRING, "", "an operator that it does not compute"),
    BT_ATTR(struct options, ns, FLOAT, "1", "of every function"),
    BT_ATTR(struct options, confidence, FLOAT, "0", "in that"),
    BT_ATTR(struct options, wants, STRING, "NCHW4c", "the layout of its convolutions"),
    BT_ATTR(struct options, breaks, BOOL, "False",
            "it refuses with another error's code"),
    BT_ATTR(struct options, tells, BOOL, "False", "it remarks that it is opened"),
    { 0 },
};

struct instance {
    bt_registry *registry;
    const bt_target *reference;
    void *self;
    char refuse[64], wants[64];
    int64_t breaks;
    bt_cost cost;
};

static int nopened; // a remark of the same text is kept once

static bt_status open(bt_ctx *ctx, const void *given, void **self)
{
    const struct options *o = given;
    const void *row;
    bt_registry *registry = bt_ctx_registry(ctx);
    BT_TRY(bt_registry_row(ctx, "baton.target/1", "reference", sizeof(bt_target), &row));
    struct instance *i = bt_alloc(registry, sizeof(*i));
    if (!i)
        return bt_no_memory();
    i->registry = registry;
    i->reference = row;
    i->breaks = o->breaks;
    i->cost = (bt_cost){ o->ns, o->confidence };
    if (o->tells)
        bt_remark(ctx, BT_REMARK_NOTE,
                  bt_fail(ctx, BT_ERR_UNSUPPORTED, "claim is opened: %d", ++nopened));
    strncpy(i->refuse, o->refuse, sizeof(i->refuse) - 1);
    strncpy(i->wants, o->wants, sizeof(i->wants) - 1);
    bt_status status = i->reference->open(ctx, NULL, &i->self);
    if (status)
        bt_free(registry, i, sizeof(*i));
    else
        *self = i;
    return status;
}

static void close(void *self)
{
    struct instance *i = self;
    i->reference->close(i->self);
    bt_free(i->registry, i, sizeof(*i));
}

static bt_status supports(bt_ctx *ctx, void *self, const bt_func *func)
{
    const struct instance *i = self;
    for (uint32_t k = 0; k < func->block->nbinding; k++) {
        if (bt_as_op_call(func->block->bindings[k], i->refuse))
            return bt_fail(ctx, i->breaks ? BT_ERR_ARGUMENT : BT_ERR_UNSUPPORTED,
                           "it has no %s", i->refuse);
    }
    return NULL;
}

static bt_status cost(bt_ctx *ctx, void *self, const bt_func *func, bt_cost *out)
{
    (void)ctx, (void)func;
    *out = ((struct instance *)self)->cost;
    return NULL;
}

/* Whole blocks only; weights with outputs before inputs, of dense layers too. */
static bt_status layouts(bt_ctx *ctx, void *self, const bt_call *call,
                         const char **wanted)
{
    const struct instance *i = self;
    int64_t data[BT_MAX_RANK], weight[BT_MAX_RANK];
    (void)ctx;
    if (strcmp(call->op->name, "nn.dense") == 0)
        wanted[1] = "OI4o";
    if (strcmp(call->op->name, "nn.conv2d") != 0 ||
        !bt_tensor_static(call->args[0]->type, NULL, data) ||
        !bt_tensor_static(call->args[1]->type, NULL, weight) || data[1] % 4 ||
        weight[0] % 4)
        return NULL;
    wanted[0] = wanted[2] = i->wants;
    if (weight[1] % 4 == 0)
        wanted[1] = "OIHW4o4i";
    return NULL;
}

/* The axes of what a call reads first, as its attributes name them. */
static const char *axes_of(const bt_call *call)
{
    static const char *const names[] = { "data_layout", "layout" };
    for (uint32_t i = 0; i < BT_COUNT(names); i++) {
        const char *const *axes =
            bt_attr_find(call->op, call->attrs, names[i], BT_ATTR_STRING);
        if (axes && **axes)
            return *axes;
    }
    return "ABCDEFGHIJKLMNOP";
}

static uint32_t rank_of(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(tuple ? tuple->at[0] : type);
    return shape ? shape->n : 0;
}

/* All operators, their second axis outermost and in blocks of two: NCHW:CNHW2c. */
static bt_status all_layouts(bt_ctx *ctx, void *self, const bt_call *call,
                             const char **wanted)
{
    struct instance *i = self;
    uint32_t rank = rank_of(call->args[0]->type);
    const char *axes = axes_of(call);
    (void)ctx;
    if (rank < 2 || rank > strlen(axes))
        return NULL;
    snprintf(i->wants, sizeof(i->wants), "%.*s:%c%c%.*s2%c", (int)rank, axes, axes[1],
             axes[0], (int)rank - 2, axes + 2, axes[1] - 'A' + 'a');
    wanted[0] = i->wants;
    if (rank_of(call->base.type) == rank)
        wanted[call->narg] = i->wants;
    return NULL;
}

/* ---- by the reference ---- */

struct loaded {
    const struct instance *instance;
    void *inner;
};

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *func,
                       bt_lowering *out)
{
    const struct instance *i = self;
    return i->reference->lower(ctx, i->self, arena, func, out);
}

static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    const struct instance *i = self;
    return i->reference->compile(ctx, i->self, arena, form, n, kernels, out);
}

static bt_status load(bt_ctx *ctx, void *self, uint32_t n,
                      const bt_kernel_code *const *codes, void **out)
{
    const struct instance *i = self;
    struct loaded *l = bt_alloc(i->registry, sizeof(*l));
    if (!l)
        return bt_no_memory();
    l->instance = i;
    bt_status status = i->reference->load(ctx, i->self, n, codes, &l->inner);
    if (status)
        bt_free(i->registry, l, sizeof(*l));
    else
        *out = l;
    return status;
}

static void unload(void *loaded)
{
    struct loaded *l = loaded;
    l->instance->reference->unload(l->inner);
    bt_free(l->instance->registry, l, sizeof(*l));
}

static bt_status launch(bt_ctx *ctx, void *loaded, uint32_t kernel,
                        const bt_kernel_call *call)
{
    const struct loaded *l = loaded;
    return l->instance->reference->launch(ctx, l->inner, kernel, call);
}

// clang-format off
#define HOOKS                                                                            \
    .options = options, .options_nbytes = sizeof(struct options), .open = open,          \
    .close = close, .supports = supports, .lower = lower, .compile = compile,            \
    .load = load, .unload = unload, .launch = launch

static const char *const claims[] = {
    "nn.relu?(negative|abs(*))",
    "multiply(x, sigmoid(x))",
    "minimum(maximum(*, const), const)",
    "subtract(*, *)",
    NULL,
};
static const char *const more_claims[] = {
    "tanh(nn.relu(negative(*)))",
    "nn.relu(negative(*))",
    "add(exp(*), exp(*))",
    NULL,
};

static const char *const laid_claims[] = { "nn.relu?(add?(nn.conv2d(*, *), *))", NULL };

static const char *const no_claims[] = { "nn.conv2(*, *)", NULL };

static const bt_target targets[] = {
    { .name = "claim", .doc = "Claims, at the cost that it is told.", HOOKS,
      .patterns = claims, .cost = cost },
    { .name = "claim.more", .doc = "The same of more calls at once.", HOOKS,
      .patterns = more_claims, .cost = cost, .reads_layouts = 1 },
    { .name = "claim.any", .doc = "The same of all that it supports.", HOOKS, .cost = cost,
      .reads_layouts = 1 },
    { .name = "claim.laid", .doc = "Claims convolutions, in blocks of channels.", HOOKS,
      .patterns = laid_claims, .reads_layouts = 1, .layouts = layouts },
    { .name = "claim.laid.all", .doc = "Wants layouts of all that can have them.", HOOKS,
      .patterns = laid_claims, .reads_layouts = 1, .layouts = all_layouts },
    { .name = "claim.typo", .doc = "Claims what there is not.", HOOKS,
      .patterns = no_claims },
    { .name = "claim.blind", .doc = "Reads no layouts.", HOOKS },
    { 0 },
};
// clang-format on

/* ---- an operator that states its layout twice ---- */

static bt_status relate_row_major(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts data;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    return bt_relation_result_tensor(s, r, data.rank, data.dims, data.dtype);
}

static const bt_op_input any[] = { { .name = "data", .type = "t[..]" }, { 0 } };
static const bt_layout_facet follow = { .choose = bt_layout_follow };
static const bt_op ops[] = {
    { .name = "claim.two_layouts",
      .revision = 1,
      .doc = "Its type relation does not follow its rule for layouts.",
      .inputs = any,
      .relate = relate_row_major,
      .formula = "y: t[..] = data[..]",
      .facets = BT_FACET_ROWS(BT_FACET("layout", follow)) },
    { 0 },
};

const bt_table bt_tests_compile_targets_claim[] = { BT_TARGETS(targets),
                                                    BT_OPS(ops),
                                                    { 0 } };
