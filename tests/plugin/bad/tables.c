/*
 * Plugins that are wrong in one way each. The build compiles this file once per case,
 * with -DCASE_<name>; the manifest beside it states what ROWS would be if all were well.
 */
#include <baton/executor.h>
#include <baton/op.h>
#include <baton/pass.h>
#include <baton/target.h>

struct attrs {
    int64_t axis;
};
static bt_status relate(bt_solver *solver, const bt_relation_call *call)
{
    (void)solver, (void)call;
    return NULL;
}
static bt_status eval(bt_ctx *ctx, const bt_eval_call *call)
{
    (void)call;
    return bt_fail(ctx, BT_ERR_INTERNAL, "never called");
}
static const bt_attr attrs[] = {
    {
        .name = "axis",
#if defined(CASE_attr_kind)
        .kind = 99,
#else
        .kind = BT_ATTR_INT,
#endif
#if defined(CASE_attr_offset)
        .offset = 8,
#endif
#if defined(CASE_attr_default)
        .preset = "2",
#elif defined(CASE_attr_default_kind)
        .preset = "many",
#else
        .preset = "1",
#endif
    },
    { 0 },
};
#if defined(CASE_facet_null)
static const bt_facet facets[] = { { .facet = "gradient" }, { 0 } };
#endif
#define OP .name = "bad.op", .attrs = attrs, .attrs_nbytes = sizeof(struct attrs)
static const bt_op ops[] = {
    {
        OP,
        .relate = relate,
#if !defined(CASE_op_without_compute)
        .eval = eval,
#endif
#if defined(CASE_doc_encoding)
        .doc = "\xff",
#elif !defined(CASE_op_without_doc)
        .doc = "An operator.",
#endif
#if !defined(CASE_op_without_revision)
        .revision = 1,
#endif
#if defined(CASE_attrs_nbytes)
        .attrs_nbytes = 24,
#endif
#if defined(CASE_effects)
        .effects = 1u << 30,
#endif
#if defined(CASE_facet_null)
        .facets = facets,
#endif
#if defined(CASE_relation_name)
        .relation = "not a name",
#endif
    },
#if defined(CASE_op_twice)
    { OP, .relate = relate, .eval = eval, .doc = "Again.", .revision = 1 },
#endif
#if defined(CASE_op_unstated)
    { .name = "bad.other",
      .relate = relate,
      .eval = eval,
      .doc = "Other.",
      .revision = 1 },
#endif
    { 0 },
};

#if defined(CASE_pass_without_run)
static const bt_pass passes[] = { { .name = "bad-pass", .doc = "A pass." }, { 0 } };
#elif defined(CASE_executor_without_call)
static const bt_executor executors[] = { { .name = "bad", .doc = "Runs." }, { 0 } };
#elif defined(CASE_target_blind) || defined(CASE_target_half_queue) || \
    defined(CASE_target_far_queue) || defined(CASE_target_space)
#define CASE_target
static bt_status open(bt_ctx *ctx, const void *options, void **self)
{
    (void)options, (void)self;
    return bt_fail(ctx, BT_ERR_INTERNAL, "never called");
}
static void close(void *self)
{
    (void)self;
}
static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *func,
                       bt_lowering *out)
{
    (void)self, (void)arena, (void)func, (void)out;
    return bt_fail(ctx, BT_ERR_INTERNAL, "never called");
}
static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    (void)self, (void)arena, (void)form, (void)n, (void)kernels, (void)out;
    return bt_fail(ctx, BT_ERR_INTERNAL, "never called");
}
static bt_status load(bt_ctx *ctx, void *self, uint32_t n,
                      const bt_kernel_code *const *codes, void **loaded)
{
    (void)self, (void)n, (void)codes, (void)loaded;
    return bt_fail(ctx, BT_ERR_INTERNAL, "never called");
}
static bt_status launch(bt_ctx *ctx, void *loaded, uint32_t kernel,
                        const bt_kernel_call *call)
{
    (void)loaded, (void)kernel, (void)call;
    return bt_fail(ctx, BT_ERR_INTERNAL, "never called");
}
#ifdef CASE_target_blind
static bt_status layouts(bt_ctx *ctx, void *self, const bt_call *call,
                         const char **wanted)
{
    (void)self, (void)call, (void)wanted;
    return bt_fail(ctx, BT_ERR_INTERNAL, "never called");
}
#elif defined(CASE_target_space)
static bt_status space(bt_ctx *ctx, void *self, bt_space *out)
{
    (void)self, (void)out;
    return bt_fail(ctx, BT_ERR_INTERNAL, "never called");
}
#else
static bt_status enqueue(bt_ctx *ctx, void *loaded, uint32_t kernel,
                         const bt_kernel_call *call, const bt_order *order,
                         uint64_t *value)
{
    (void)loaded, (void)kernel, (void)call, (void)order, (void)value;
    return bt_fail(ctx, BT_ERR_INTERNAL, "never called");
}
static bt_status open_queue(bt_ctx *ctx, void *self, void **queue)
{
    (void)self, (void)queue;
    return bt_fail(ctx, BT_ERR_INTERNAL, "never called");
}
#endif
#ifdef CASE_target_far_queue
static bt_status wait_for(bt_ctx *ctx, void *queue, uint64_t value, uint64_t *failed)
{
    (void)queue, (void)value, (void)failed;
    return bt_fail(ctx, BT_ERR_INTERNAL, "never called");
}
static bt_status alloc(bt_ctx *ctx, void *self, uint64_t nbytes, void **block)
{
    (void)self, (void)nbytes, (void)block;
    return bt_fail(ctx, BT_ERR_INTERNAL, "never called");
}
static void free_block(void *self, void *block)
{
    (void)self, (void)block;
}
static bt_status copy(bt_ctx *ctx, void *self, const bt_buffer *to, const bt_buffer *from)
{
    (void)self, (void)to, (void)from;
    return bt_fail(ctx, BT_ERR_INTERNAL, "never called");
}
#endif
static const bt_target targets[] = {
    {
        .name = "bad",
        .doc = "A device.",
        .open = open,
        .close = close,
        .lower = lower,
        .compile = compile,
        .load = load,
        .unload = close,
        .launch = launch,
#ifdef CASE_target_blind
        .layouts = layouts,
#elif defined(CASE_target_space)
        .space = space,
#else
        .open_queue = open_queue,
        .close_queue = close,
        .enqueue = enqueue,
#endif
#ifdef CASE_target_far_queue
        .wait = wait_for,
        .alloc = alloc,
        .free = free_block,
        .copy = copy,
#endif
    },
    { 0 },
};
#elif defined(CASE_relation_without_relate)
static const bt_relation relations[] = { { .name = "Bad", .doc = "Holds." }, { 0 } };
#endif

static const bt_table tables[] = {
#if defined(CASE_rows_small)
    { "baton.op/1", 8, ops },
#elif defined(CASE_rows_huge)
    { "baton.op/1", 1u << 20, ops },
#elif defined(CASE_rows_null)
    { "baton.op/1", sizeof(bt_op), NULL },
#elif defined(CASE_interface_name)
    { "ops", sizeof(bt_op), ops },
#elif defined(CASE_interface_unknown)
    { "baton.teleport/1", sizeof(bt_op), ops },
#elif defined(CASE_op_missing)
    { "bad.other/1", sizeof(const char *), (const char *const[]){ NULL } },
#else
    BT_OPS(ops),
#endif
#if defined(CASE_pass_without_run)
    BT_PASSES(passes),
#elif defined(CASE_executor_without_call)
    BT_EXECUTORS(executors),
#elif defined(CASE_relation_without_relate)
    BT_RELATIONS(relations),
#elif defined(CASE_target)
    BT_TARGETS(targets),
#endif
    { 0 },
};
static const bt_table *const lists[] = { tables, NULL };

static const bt_plugin plugin = {
#if defined(CASE_abi_major)
    .abi_major = BT_ABI_MAJOR + 7,
#else
    .abi_major = BT_ABI_MAJOR,
#endif
#if defined(CASE_abi_minor)
    .abi_minor = BT_ABI_MINOR + 1,
#else
    .abi_minor = BT_ABI_MINOR,
#endif
#if defined(CASE_table_small)
    .nbytes = 16,
#elif defined(CASE_table_huge)
    .nbytes = UINT32_MAX,
#else
    .nbytes = sizeof(bt_plugin),
#endif
    .table_nbytes = sizeof(bt_table),
#if defined(CASE_nested_small)
    .attr_nbytes = 4,
#else
    .attr_nbytes = sizeof(bt_attr),
#endif
    .input_nbytes = sizeof(bt_op_input),
    .facet_nbytes = sizeof(bt_facet),
#if defined(CASE_other_id)
    .id = "somebody.else",
#elif !defined(CASE_id_null)
    .id = ID,
#endif
#if defined(CASE_other_version)
    .version = "9.9.9",
#else
    .version = "1.0.0",
#endif
#if !defined(CASE_tables_null)
    .tables = lists,
#endif
};

#if defined(CASE_undefined_symbol)
void bad_symbol_of_nobody(void);
#endif

#if defined(CASE_no_query)
#define QUERY bt_plugin_question
#else
#define QUERY bt_plugin_query
#endif
BT_API const bt_plugin *QUERY(uint32_t major, uint32_t minor, const void *host);

const bt_plugin *QUERY(uint32_t major, uint32_t minor, const void *host)
{
    (void)major, (void)minor;
#if defined(CASE_undefined_symbol)
    bad_symbol_of_nobody();
#endif
#if defined(CASE_other_libbaton)
    (void)host;
    return NULL;
#else
    return host == &bt_host_mark ? &plugin : NULL;
#endif
}
