/*
 * How long inference takes for programs of two sizes, one twice the other: a ratio near 2
 * is linear.
 *
 *     bench_infer [PART OF A NAME]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <baton/op.h>

#define MOST 3.0 /* the ratio that counts as linear on a machine with other work */

struct bench {
    bt_ctx *ctx;
    bt_store *store;
    bt_module_builder *module;
    bt_builder *b;
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts parts;
    BT_TRY(bt_relation_tensor(s, r, 0, &parts));
    return bt_relation_result_tensor(s, r, parts.rank, parts.dims, parts.dtype);
}
static const bt_op_input inputs[] = { { .name = "data", .type = "t:float[..]" }, { 0 } };
static const bt_op relu = { .name = "relu", .inputs = inputs, .relate = relate };

static const bt_type *matrix(struct bench *b)
{
    const int64_t dims[] = { 3, 4 };
    return bt_type_tensor_of(b->store, BT_FLOAT32, 2, dims);
}

static bt_status define(struct bench *b, const char *name, const bt_func *fields)
{
    const bt_func *func;
    BT_TRY(bt_func_create(b->ctx, b->store, fields, &func));
    bt_global row = { .name = name, .kind = BT_GLOBAL_FUNC, .func = func };
    return bt_module_builder_set(b->module, &row, 1);
}

/* ---- programs ---- */

/* A chain of n operators; `of` NULL: the argument is not annotated. */
static bt_status chain(struct bench *b, const char *name, const bt_type *of, uint32_t n,
                       const char *callee)
{
    const bt_param *x;
    bt_func fields = { 0 };
    BT_TRY(bt_build_param(b->b, "x", of, &x));
    BT_TRY(bt_block_begin(b->b, 1, &x));
    const bt_value *v = &x->base;
    if (callee) {
        bt_call call = { .callee_kind = BT_CALLEE_VALUE, .narg = 1, .args = &v };
        BT_TRY(bt_build_global(b->b, callee, &call.callee));
        BT_TRY(bt_build_call(b->b, &call, &v));
    }
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(bt_build_op(b->b, &relu, NULL, 1, &v, &v));
    BT_TRY(bt_block_end(b->b, v, &fields.block));
    return define(b, name, &fields);
}

static bt_status operators(struct bench *b, uint32_t n)
{
    return chain(b, "main", matrix(b), n, NULL);
}

static bt_status waiting_operators(struct bench *b, uint32_t n)
{
    return chain(b, "main", NULL, n, NULL);
}

/* n functions of 10 operators, each calling the one before. */
static bt_status functions(struct bench *b, uint32_t n)
{
    char name[32] = "", callee[32];
    for (uint32_t i = 0; i < n; i++) {
        memcpy(callee, name, sizeof(name));
        snprintf(name, sizeof(name), "f%u", i);
        BT_TRY(chain(b, name, matrix(b), 10, i ? callee : NULL));
    }
    return NULL;
}

/* n closures that generalise, each called once. */
static bt_status closures(struct bench *b, uint32_t n)
{
    const bt_param *x, *z;
    bt_func outer = { 0 };
    BT_TRY(bt_build_param(b->b, "x", matrix(b), &x));
    BT_TRY(bt_block_begin(b->b, 1, &x));
    const bt_value *v = &x->base;
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *f, *r;
        bt_func fields = { 0 };
        const bt_func *func;
        bt_call call = { .callee_kind = BT_CALLEE_VALUE, .narg = 1, .args = &v };
        BT_TRY(bt_build_param(b->b, "z", NULL, &z));
        BT_TRY(bt_block_begin(b->b, 1, &z));
        r = &z->base;
        BT_TRY(bt_build_op(b->b, &relu, NULL, 1, &r, &r));
        BT_TRY(bt_block_end(b->b, r, &fields.block));
        BT_TRY(bt_func_create(b->ctx, b->store, &fields, &func));
        BT_TRY(bt_build_closures(b->b, 1, NULL, NULL, &f));
        BT_TRY(bt_build_closure_body(b->b, f, func));
        call.callee = f;
        BT_TRY(bt_build_call(b->b, &call, &v));
    }
    BT_TRY(bt_block_end(b->b, v, &outer.block));
    return define(b, "main", &outer);
}

/* A match of n clauses over a data type of n constructors. */
static bt_status clauses(struct bench *b, uint32_t n)
{
    bt_adt_def *adt;
    const bt_param *x;
    const bt_type *type;
    bt_func fields = { 0 };
    bt_arena *arena = bt_store_arena(b->store);
    bt_ctor *ctors = BT_NEWS(arena, bt_ctor, n);
    bt_clause *rows = BT_NEWS(arena, bt_clause, n);
    BT_TRY(bt_module_builder_declare_adt(b->module, "T", 0, 0, NULL, &adt));
    for (uint32_t i = 0; ctors && i < n; i++) {
        char name[32];
        snprintf(name, sizeof(name), "C%u", i);
        ctors[i].name = bt_name_of(b->store, name);
    }
    if (!ctors || !rows || !(type = bt_type_apply(b->store, adt, 0, NULL)))
        return bt_no_memory();
    BT_TRY(bt_module_builder_define_adt(b->module, adt, n, ctors));
    BT_TRY(bt_build_param(b->b, "x", type, &x));
    BT_TRY(bt_block_begin(b->b, 1, &x));
    for (uint32_t i = 0; i < n; i++) {
        bt_pattern pattern = { .kind = BT_PATTERN_CTOR, .ctor = adt->ctors[i] };
        BT_TRY(bt_block_begin(b->b, 0, NULL));
        BT_TRY(bt_block_end(b->b, &x->base, &rows[i].block));
        rows[i].pattern = bt_pattern_create(b->store, &pattern);
        if (!rows[i].pattern)
            return bt_no_memory();
    }
    const bt_value *r;
    BT_TRY(bt_build_match(b->b, &x->base, n, rows, NULL, &r));
    BT_TRY(bt_block_end(b->b, r, &fields.block));
    return define(b, "main", &fields);
}

/* ---- measuring ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bt_status measure(bt_registry *registry, bt_ctx *ctx,
                         bt_status (*build)(struct bench *, uint32_t), uint32_t n,
                         double *out)
{
    struct bench b = { .ctx = ctx, .store = bt_store_create(registry) };
    bt_module *module = NULL, *typed = NULL;
    bt_status status = b.store ? NULL : bt_no_memory();
    if (!status)
        status = bt_module_builder_create(ctx, b.store, NULL, &b.module);
    if (!status)
        status = bt_builder_create(ctx, b.store, NULL, &b.b);
    if (!status) {
        bt_builder_set_infer(b.b, 0);
        status = build(&b, n);
        bt_builder_destroy(b.b);
    }
    if (!status)
        status = bt_module_builder_finish(b.module, 0, &module);
    double start = now();
    if (!status)
        status = bt_infer(ctx, module, &typed);
    *out = now() - start;
    bt_module_unref(typed);
    bt_module_unref(module);
    bt_store_unref(b.store);
    return status;
}

static const struct {
    const char *name;
    bt_status (*build)(struct bench *, uint32_t);
    uint32_t n;
} benches[] = {
    { "operators in a chain", operators, 100 * 1000 },
    { "operators that wait", waiting_operators, 100 * 1000 },
    { "functions of ten operators", functions, 1000 },
    { "closures that generalise", closures, 10 * 1000 },
    { "clauses of one match", clauses, 10 * 1000 },
};

int main(int argc, char **argv)
{
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_status status = ctx ? NULL : bt_no_memory();
    int slow = 0;
    for (uint32_t i = 0; i < BT_COUNT(benches) && !status; i++) {
        double small = 0, large = 0;
        if (argc > 1 && !strstr(benches[i].name, argv[1]))
            continue;
        status = measure(registry, ctx, benches[i].build, benches[i].n, &small);
        if (!status)
            status = measure(registry, ctx, benches[i].build, 2 * benches[i].n, &large);
        printf("%-28s %7u: %8.2f ms  %7u: %8.2f ms  ratio %.2f\n", benches[i].name,
               benches[i].n, small * 1e3, 2 * benches[i].n, large * 1e3, large / small);
        slow |= large / small > MOST;
    }
    if (status)
        fprintf(stderr, "error: %s\n", status->message);
    if (ctx)
        bt_ctx_destroy(ctx);
    if (registry)
        bt_registry_unref(registry);
    return status || slow ? 1 : 0;
}
