/* Operators whose faults show only when they are called. */
#include <baton/importer.h>
#include <baton/op.h>
#include <baton/pass.h>
#include <baton/plain.h>

extern const bt_table bt_tests_tools_wrong_wrong[];

static const bt_op_input any[] = {
    { .name = "data", .type = "t:float[..]", .doc = "any shape" },
    { 0 },
};
static const bt_op_input misspelt[] = {
    { .name = "data", .type = "t:flaot[..]", .doc = "any shape" },
    { 0 },
};
static const bt_op_input matrix[] = {
    { .name = "data", .type = "t:float[m, n]", .doc = "a matrix" },
    { 0 },
};

struct window_attrs {
    bt_ints window;
};
static const bt_attr window_attrs[] = {
    BT_ATTR(struct window_attrs, window, INTS, "[1, 1]", "extents"),
    { 0 },
};

static void write_nonsense(bt_formula *f, const bt_formula_call *call)
{
    (void)call;
    bt_formula_add(f, "y: t[..] = data[..] +");
}

/* Says that the result has the shape of the matrix; the formula gives its transpose. */
static bt_status relate_same(bt_solver *s, const bt_relation_call *r)
{
    return bt_relation_unify(s, r, bt_relation_arg(s, r, 0), bt_relation_arg(s, r, 1),
                             "types of data and of the result");
}

/* Another dim each time, where bt_relation_opaque would give the same. */
static bt_status relate_fresh(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts data;
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 2, &data));
    const bt_type *dim = bt_dim_opaque(bt_relation_store(s), NULL);
    return dim ? bt_relation_result_tensor(s, r, 1, &dim, data.dtype) : bt_no_memory();
}

/* Another number each time. */
static bt_status relate_counts(bt_solver *s, const bt_relation_call *r)
{
    static int64_t count;
    bt_tensor_parts data;
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 2, &data));
    const bt_type *dim = bt_dim(bt_relation_store(s), ++count);
    return dim ? bt_relation_result_tensor(s, r, 1, &dim, data.dtype) : bt_no_memory();
}

/* Row major, whatever its rule for layouts says. */
static bt_status relate_row_major(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts data;
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 2, &data));
    return bt_relation_result_tensor(s, r, 2, data.dims, data.dtype);
}
static const bt_layout_facet follow = { .choose = bt_layout_follow };

/* As many elements as there are. */
static bt_status eval_flat(bt_ctx *ctx, const bt_eval_call *call)
{
    return bt_tensor_create(ctx, call->in[0]->dtype, 1, &call->in[0]->nelem,
                            &call->out[0]);
}

/* Fills with 3, where the formula says 2. */
static bt_status eval_three(bt_ctx *ctx, const bt_eval_call *call)
{
    const bt_tensor *in = call->in[0];
    BT_TRY(bt_tensor_create(ctx, in->dtype, in->rank, in->dims, &call->out[0]));
    for (int64_t i = 0; i < in->nelem; i++)
        bt_tensor_set(call->out[0], i, 3);
    return NULL;
}

/* One element more than there are. */
static bt_status eval_beyond(bt_ctx *ctx, const bt_eval_call *call)
{
    const bt_tensor *in = call->in[0];
    BT_TRY(bt_tensor_create(ctx, in->dtype, in->rank, in->dims, &call->out[0]));
    for (int64_t i = 0; i <= in->nelem; i++)
        ((float *)call->out[0]->data)[i] = 1;
    return NULL;
}

/* The same with zeros, which memory often is anyway. */
static bt_status eval_zeros(bt_ctx *ctx, const bt_eval_call *call)
{
    const bt_tensor *in = call->in[0];
    BT_TRY(bt_tensor_create(ctx, in->dtype, in->rank, in->dims, &call->out[0]));
    for (int64_t i = 0; i <= in->nelem; i++)
        ((float *)call->out[0]->data)[i] = 0;
    return NULL;
}

/* Before the result, where its dims and strides end. */
static bt_status eval_ahead(bt_ctx *ctx, const bt_eval_call *call)
{
    BT_TRY(eval_three(ctx, call));
    ((float *)call->out[0]->data)[-1] = 5;
    return NULL;
}

static bt_status eval_input(bt_ctx *ctx, const bt_eval_call *call)
{
    ((float *)call->in[0]->data)[0] += 1;
    return eval_three(ctx, call);
}

static bt_status eval_before(bt_ctx *ctx, const bt_eval_call *call)
{
    BT_TRY(eval_three(ctx, call));
    ((float *)call->in[0]->data)[-1] = 1;
    return NULL;
}

static bt_status eval_keeps(bt_ctx *ctx, const bt_eval_call *call)
{
    return bt_alloc(bt_ctx_registry(ctx), 100) ? eval_three(ctx, call) : bt_no_memory();
}

/* Another number each time. */
static bt_status eval_random(bt_ctx *ctx, const bt_eval_call *call)
{
    static int state;
    BT_TRY(eval_three(ctx, call));
    if (call->out[0]->nelem)
        bt_tensor_set(call->out[0], 0, ++state);
    return NULL;
}

static bt_status eval_crashes(bt_ctx *ctx, const bt_eval_call *call)
{
    (void)ctx;
    *(volatile char *)(uintptr_t)call->nin = 0;
    return NULL;
}

static bt_status relate_crashes(bt_solver *s, const bt_relation_call *r)
{
    (void)s;
    *(volatile char *)(uintptr_t)r->narg = 0;
    return NULL;
}

static void write_crashes(bt_formula *f, const bt_formula_call *call)
{
    (void)f;
    *(volatile char *)(uintptr_t)call->narg = 0;
}

/* The evaluator gives 3, this 4; or 3, in other sizes than it has; or, where it is not asked for
 * sizes before, 5. */
static int32_t plain_sizes(const bt_plain_call *call)
{
    for (uint32_t k = 0; call->is_sizing && k < call->out->rank; k++)
        call->out->dims[k] = call->in->dims[k];
    return 0;
}
static void plain_fill(const bt_plain_call *call, float element)
{
    for (int64_t i = 0; !call->is_sizing && i < call->out->dims[0]; i++)
        ((float *)call->out->data)[i] = element;
}
static int32_t plain_four(const bt_plain_call *call)
{
    plain_fill(call, 4);
    return plain_sizes(call);
}
static int32_t plain_longer(const bt_plain_call *call)
{
    plain_fill(call, 3);
    (void)plain_sizes(call);
    call->out->dims[0] += call->is_sizing;
    return 0;
}
static int32_t plain_alone(const bt_plain_call *call)
{
    plain_fill(call, call->is_sized ? 3 : 5);
    return plain_sizes(call);
}
static int32_t plain_faulty(const bt_plain_call *call)
{
    return call->is_sizing ? 1 : 2;
}
static const char *const plain_blocks[] = { NULL }, *const plain_faults[] = { "it fails",
                                                                              NULL };
#define PLAIN(function_)                                           \
    {                                                              \
        plain_blocks, #function_, plain_faults, 0, NULL, function_ \
    }
static const bt_plain_facet four = PLAIN(plain_four), longer = PLAIN(plain_longer),
                            alone = PLAIN(plain_alone), faulty = PLAIN(plain_faulty);

/* Text alone: the first is right, the second gives 4, the third calls what there is not. */
#define TEXT(name_, element_)                                                    \
    "static int32_t " name_ "(const bt_plain_call *call)\n"                      \
    "{\n"                                                                        \
    "    for (uint32_t k = 0; call->is_sizing && k < call->out->rank; k++)\n"    \
    "        call->out->dims[k] = call->in->dims[k];\n"                          \
    "    for (int64_t i = 0; !call->is_sizing && i < call->out->dims[0]; i++)\n" \
    "        ((float *)call->out->data)[i] = bt_half_to_float(" element_ ");\n"  \
    "    return 0;\n"                                                            \
    "}\n"
static const char *const text_blocks[] = { TEXT("text_three", "0x4200"),
                                           TEXT("text_four", "0x4400"), NULL };
static const bt_plain_facet text_right = { .blocks = text_blocks,
                                           .symbol = "text_three" },
                            text_wrong = { .blocks = text_blocks, .symbol = "text_four" },
                            text_none = { .blocks = text_blocks, .symbol = "text_five" };

#define ROW(name_, inputs_, ...)                                                    \
    {                                                                               \
        .name = "wrong." name_, .revision = 1, .doc = "A test.", .inputs = inputs_, \
        __VA_ARGS__                                                                 \
    }
#define CASES(text) .facets = BT_FACET_ROWS(BT_CASES(text))

// clang-format off
static const bt_op ops[] = {
    ROW("right",    any,      .formula = "y: t[..] = data[..] * 2",            CASES("float32[2, 3]\nfloat64[]")),
    ROW("formula",  any,      .formula = "y: t[..] = data[..] * sigmoyd(data[..])", CASES("float32[2, 3]")),
    ROW("syntax",   any,      .formula = "y: t[..] = (data[..] * 2",           CASES("float32[2, 3]")),
    ROW("pattern",  misspelt, .formula = "y: t[..] = data[..] * 2",            CASES("float32[2, 3]")),
    ROW("hook",     any,      .relation = "Identity", .write_formula = write_nonsense, CASES("float32[2, 3]")),
    ROW("bounds",   matrix,   .formula = "y: t[i in m] = data[i, n]",          CASES("float32[2, 3]")),
    ROW("extent",   matrix,   .formula = "y: t[i, j] = data[i, 0]",            CASES("float32[2, 3]")),
    ROW("relation", matrix,   .relate = relate_same, .formula = "y: t[i in n, j in m] = data[j, i]", CASES("float32[2, 2]\nfloat32[2, 3]")),
    ROW("fresh",    matrix,   .relate = relate_fresh, .eval = eval_flat,       CASES("float32[2, 3]")),
    ROW("counts",   matrix,   .relate = relate_counts, .eval = eval_flat,      CASES("float32[2, 3]")),
    ROW("laid",     matrix,   .relate = relate_row_major, .formula = "y: t[i in m, j in n] = data[i, j]",
        .facets = BT_FACET_ROWS(BT_FACET("layout", follow), BT_CASES("float32[2, 4]"))),
    ROW("eval",     any,      .relation = "Identity", .eval = eval_three, .formula = "y: t[..] = data[..] * 0 + 2", CASES("float32[3]\nfloat32[0]")),
    ROW("case",     any,      .formula = "y: t[..] = data[..]",                CASES("float32[2, 3")),
    ROW("attribute", any,     .formula = "y: t[..] = data[..]",                CASES("float32[2] | axis=1")),
    ROW("dtype",    any,      .formula = "y: t[..] = data[..]",                CASES("int8[2]")),
    ROW("second",   any,      .relation = "Broadcast", .formula = "y: t[..] = data[..]"),
    ROW("window",   matrix,   .attrs = window_attrs, .attrs_nbytes = sizeof(struct window_attrs), .formula = "y: t[i in window[0], j in window[1]] = data[i, j]"),
    ROW("beyond",   any,      .relation = "Identity", .eval = eval_beyond,     CASES("float32[3]")),
    ROW("zeros",    any,      .relation = "Identity", .eval = eval_zeros,      CASES("float32[3]")),
    ROW("ahead",    any,      .relation = "Identity", .eval = eval_ahead,      CASES("float32[2, 3]\nfloat32[4]")),
    ROW("input",    any,      .relation = "Identity", .eval = eval_input,      CASES("float32[3]")),
    ROW("before",   any,      .relation = "Identity", .eval = eval_before,     CASES("float32[4]")),
    ROW("keeps",    any,      .relation = "Identity", .eval = eval_keeps,      CASES("float32[3]")),
    ROW("plain", any, .relation = "Identity", .eval = eval_three,
        .facets = BT_FACET_ROWS(BT_FACET("plain", four), BT_CASES("float32[3]"))),
    ROW("plain_sizes", any, .relation = "Identity", .eval = eval_three,
        .facets = BT_FACET_ROWS(BT_FACET("plain", longer), BT_CASES("float32[3]"))),
    ROW("plain_alone", any, .relation = "Identity", .eval = eval_three,
        .facets = BT_FACET_ROWS(BT_FACET("plain", alone), BT_CASES("float32[3]"))),
    ROW("text", any, .relation = "Identity", .eval = eval_three,
        .facets = BT_FACET_ROWS(BT_FACET("plain", text_right), BT_CASES("float32[3]"))),
    ROW("text_wrong", any, .relation = "Identity", .eval = eval_three,
        .facets = BT_FACET_ROWS(BT_FACET("plain", text_wrong), BT_CASES("float32[3]"))),
    ROW("text_none", any, .relation = "Identity", .eval = eval_three,
        .facets = BT_FACET_ROWS(BT_FACET("plain", text_none), BT_CASES("float32[3]"))),
    ROW("plain_fails", any, .relation = "Identity", .eval = eval_three,
        .facets = BT_FACET_ROWS(BT_FACET("plain", faulty), BT_CASES("float32[3]"))),
    ROW("random",   any,      .relation = "Identity", .eval = eval_random, .effects = BT_EFFECT_RANDOM, CASES("float32[3]")),
    ROW("expected", matrix,   .formula = "y: t[j in n, i in m] = data[i, j] * 2",
        CASES("float32[2, 2] = [[1, 2], [3, 4]] -> [[2, 6], [4, 8]]\nfloat32[1, 2] = 3 -> 6\nfloat32[1, 2] = [[1, 2]] -> [2, 5]\nfloat32[1, 2] -> [1]")),
    ROW("crash",    any,      .relation = "Identity", .eval = eval_crashes),
    ROW("crash_relate", any,  .relate = relate_crashes, .formula = "y: t[..] = data[..]"),
    ROW("crash_hook",   any,  .relation = "Identity", .write_formula = write_crashes),
    ROW("untried",  any,      .formula = "y: t[..] = data[..]"),
    { 0 },
};
// clang-format on

static bt_status run_crashes(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    (void)ctx;
    (void)out;
    *(volatile char *)(uintptr_t)call->targets = 0; // there are none
    return NULL;
}

/* Gives the operand of `exp` as it was before the pass, not what stands in its place. */
static bt_status put_old(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    (void)rewrite;
    if (bt_as_op_call(&call->base, "exp"))
        *out = call->args[0];
    return NULL;
}
static bt_status run_old(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    static const bt_rewriter rewriter = { .call_ = put_old };
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}
static bt_status run_fails(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    (void)call;
    (void)out;
    return bt_fail(ctx, BT_ERR_UNSUPPORTED, "wrong as ever");
}
static const bt_pass passes[] = {
    { .name = "wrong-fails", .doc = "A test.", .run = run_fails },
    { .name = "wrong-crash", .doc = "A test.", .run = run_crashes },
    { .name = "wrong-old", .doc = "A test.", .run = run_old },
    { .name = "wrong-needs", .doc = "A test.", .needs = "wings", .run = run_old },
    { 0 },
};

static int32_t probe_nothing(const void *head, size_t nbytes)
{
    (void)head;
    (void)nbytes;
    return 0;
}

static bt_status import_crashes(bt_ctx *ctx, const bt_import_call *call, bt_module **out)
{
    (void)ctx;
    (void)out;
    *(volatile char *)(uintptr_t)call->dims = 0; // there are none
    return NULL;
}
static const bt_importer importers[] = {
    { .name = "wrong",
      .doc = "A test.",
      .suffixes = ".wrong",
      .probe = probe_nothing,
      .import = import_crashes },
    { 0 },
};

const bt_table bt_tests_tools_wrong_wrong[] = {
    BT_OPS(ops), BT_PASSES(passes), BT_IMPORTERS(importers), { 0 }
};
