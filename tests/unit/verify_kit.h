/* A sound program with every kind of value, and its nodes, which tests of the verifier
 * break by hand. */
#ifndef VERIFY_KIT_H
#define VERIFY_KIT_H

#include "solve_kit.h"

struct window_attrs {
    int64_t size, same;
    const char *layout;
    bt_ints strides;
    const bt_type *dim, *dtype;
    const bt_value *f;
};
static const bt_attr window_rows[] = {
    BT_ATTR_RANGE(struct window_attrs, size, INT, "1", 1, 16, "size"),
    BT_ATTR(struct window_attrs, same, BOOL, "False", "padding"),
    BT_ATTR_CHOICE(struct window_attrs, layout, "NCHW", "NCHW|NHWC", "layout"),
    BT_ATTR_RANGE(struct window_attrs, strides, INTS, "1", 1, 4, "strides"),
    BT_ATTR(struct window_attrs, dim, DIM, "0", "dim"),
    BT_ATTR(struct window_attrs, dtype, DTYPE, "None", "dtype"),
    BT_ATTR(struct window_attrs, f, FUNC, "None", "function"),
    { 0 },
};
static const bt_op op_window = { .name = "window",
                                 .inputs = one_input,
                                 .attrs = window_rows,
                                 .attrs_nbytes = sizeof(struct window_attrs),
                                 .relate = relate_relu };

/* The nodes that tests break. All are mutable here: nobody else has seen them. */
struct program {
    kit k;
    bt_module *m;
    bt_func *main_func;
    bt_block *block;
    bt_call *window, *generic, *make, *looped, *stray;
    struct window_attrs *attrs;
    bt_tuple_value *tuple;
    bt_proj *proj;
    bt_if *choice;
    bt_match *match;
    bt_ref_value *cell;
    bt_closure_value *even, *odd;
    bt_const *constant;
    bt_adt_def *option;
    bt_global *outside, *table, *global_main;
};

#define EDIT(T, pointer) ((T *)(uintptr_t)(pointer))

static inline const bt_value *build_closures(struct program *p, const bt_type *t)
{
    kit *k = &p->k;
    const bt_func_type fields = { .narg = 1, .args = &t, .result = t };
    const bt_type *type = bt_type_func(k->store, &fields), *types[] = { type, type };
    const char *names[] = { "even", "odd" };
    const bt_value *group[2];
    assert_ok(k->ctx, bt_build_closures(k->b, 2, names, types, group));
    for (int i = 0; i < 2; i++) {
        const bt_param *y = param(k, "y", t);
        begin(k, 1, &y);
        const bt_block *body = end(k, call1(k, group[1 - i], &y->base));
        assert_ok(k->ctx,
                  bt_build_closure_body(k->b, group[i], func(k, body, t, 0, NULL)));
    }
    p->even = EDIT(bt_closure_value, group[0]);
    p->odd = EDIT(bt_closure_value, group[1]);
    return group[0];
}

static inline const bt_value *build_match(struct program *p, const bt_value *data,
                                          const bt_value *other)
{
    kit *k = &p->k;
    const bt_param *z = param(k, "z", NULL);
    bt_pattern var = { .kind = BT_PATTERN_VAR, .var = z };
    const bt_pattern *at = bt_pattern_create(k->store, &var);
    bt_pattern some = {
        .kind = BT_PATTERN_CTOR, .ctor = p->option->ctors[0], .n = 1, .at = &at
    };
    bt_pattern wild = { .kind = BT_PATTERN_WILDCARD };
    bt_clause clauses[2];
    begin(k, 1, &z);
    clauses[0] = (bt_clause){ bt_pattern_create(k->store, &some), end(k, &z->base) };
    begin(k, 0, NULL);
    clauses[1] = (bt_clause){ bt_pattern_create(k->store, &wild), end(k, other) };
    const bt_value *match;
    assert_ok(k->ctx, bt_build_match(k->b, data, 2, clauses, NULL, &match));
    return match;
}

static inline void build_globals(struct program *p, const bt_type *t)
{
    kit *k = &p->k;
    const bt_type *n = dim_var(k, "n");
    const bt_param *h = param(k, "h", tensor1(k, n));
    begin(k, 1, &h);
    define(k, "generic", func(k, end(k, &h->base), NULL, 1, &n));
    h = param(k, "h", t);
    begin(k, 1, &h);
    define(k, "f", func(k, end(k, &h->base), NULL, 0, NULL));
    const bt_func_type fields = { .narg = 1, .args = &t, .result = t };
    const bt_type *type = bt_type_func(k->store, &fields);
    const bt_value *one;
    assert_ok(k->ctx, bt_build_scalar(k->b, BT_FLOAT32, 1, &one));
    bt_global rows[] = {
        { .name = "outside", .kind = BT_GLOBAL_EXTERN, .type = type },
        { .name = "table", .kind = BT_GLOBAL_CONST, .value = one },
    };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++)
        assert_ok(k->ctx, bt_module_builder_set(k->module, &rows[i], 1));
    const bt_type *a = kind_var(k, BT_KIND_TYPE, "A");
    bt_ctor ctors[] = { { .name = "Some", .nfield = 1, .fields = &a },
                        { .name = "None" } };
    assert_ok(k->ctx,
              bt_module_builder_declare_adt(k->module, "Option", 0, 1, &a, &p->option));
    assert_ok(k->ctx, bt_module_builder_define_adt(k->module, p->option, 2, ctors));
}

static inline const bt_value *build_window(struct program *p, const bt_value *x)
{
    kit *k = &p->k;
    int64_t strides[] = { 1, 2 };
    struct window_attrs attrs = { .size = 3,
                                  .layout = bt_name_of(k->store, "NHWC"),
                                  .strides = { 2, strides },
                                  .dim = num(k, 4),
                                  .dtype = f32(k),
                                  .f = global(k, "f") };
    const bt_value *out;
    bt_builder_name(k->b, "w");
    assert_ok(k->ctx, bt_build_op(k->b, &op_window, &attrs, 1, &x, &out));
    return out;
}

static inline const bt_value *find(const bt_block *block, uint32_t kind, uint32_t nth)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        if (block->bindings[i]->kind == kind && nth-- == 0)
            return block->bindings[i];
    }
    fail_msg("no binding of kind %s", bt_value_kind_name(kind));
    return NULL;
}

/* Points into the typed program. */
static inline void find_nodes(struct program *p)
{
    p->global_main = EDIT(bt_global, bt_module_find(p->m, "main"));
    p->outside = EDIT(bt_global, bt_module_find(p->m, "outside"));
    p->table = EDIT(bt_global, bt_module_find(p->m, "table"));
    p->main_func = EDIT(bt_func, p->global_main->func);
    const bt_block *block = p->main_func->block;
    p->block = EDIT(bt_block, block);
    p->window = EDIT(bt_call, find(block, BT_VALUE_CALL, 0));
    p->attrs = EDIT(struct window_attrs, p->window->attrs);
    p->generic = EDIT(bt_call, find(block, BT_VALUE_CALL, 1));
    p->make = EDIT(bt_call, find(block, BT_VALUE_CALL, 2));
    p->stray = EDIT(bt_call, find(block, BT_VALUE_CALL, 3));
    p->looped = EDIT(bt_call, find(block, BT_VALUE_CALL, 4));
    p->tuple = EDIT(bt_tuple_value, find(block, BT_VALUE_TUPLE, 0));
    p->proj = EDIT(bt_proj, find(block, BT_VALUE_PROJ, 0));
    p->choice = EDIT(bt_if, find(block, BT_VALUE_IF, 0));
    p->match = EDIT(bt_match, find(block, BT_VALUE_MATCH, 0));
    p->cell = EDIT(bt_ref_value, find(block, BT_VALUE_REF, 0));
    p->even = EDIT(bt_closure_value, find(block, BT_VALUE_CLOSURE, 0));
    p->odd = EDIT(bt_closure_value, find(block, BT_VALUE_CLOSURE, 1));
    p->constant = EDIT(bt_const, bt_value_operand(&p->stray->base, 1));
    p->option = EDIT(bt_adt_def, bt_module_find_adt(p->m, "Option"));
}

static inline struct program program(void)
{
    struct program p = { .k = kit_create() };
    kit *k = &p.k;
    const bt_type *t = tensor1(k, num(k, 4));
    build_globals(&p, t);
    const bt_param *x = param(k, "x", t);
    const bt_param *c = param(k, "c", bt_type_scalar(k->store, BT_BOOL));
    begin(k, 2, (const bt_param *[]){ x, c });
    const bt_value *v = &x->base, *cell, *read, *write, *one;
    const bt_value *w = build_window(&p, v);
    const bt_value *g = call1(k, global(k, "generic"), w);
    const bt_value *both = pair(k, v, g);
    const bt_value *field = proj(k, both, 1);
    assert_ok(k->ctx, bt_build_ref(k->b, field, &cell));
    assert_ok(k->ctx, bt_build_read(k->b, cell, &read));
    assert_ok(k->ctx, bt_build_write(k->b, cell, read, &write));
    begin(k, 0, NULL);
    const bt_block *yes = end(k, op2(k, &op_relu, v, NULL));
    begin(k, 0, NULL);
    const bt_block *no = end(k, read);
    const bt_value *choice = choose(k, &c->base, yes, no);
    const bt_value *some = construct(k, p.option->ctors[0], 1, &choice);
    const bt_value *match = build_match(&p, some, v);
    assert_ok(k->ctx, bt_build_scalar(k->b, BT_FLOAT32, 2, &one));
    const bt_value *sum = op2(k, &op_add, match, one);
    const bt_value *even = build_closures(&p, t);
    define(k, "main", func(k, end(k, call1(k, even, sum)), NULL, 0, NULL));
    p.m = infer(k);
    find_nodes(&p);
    return p;
}

static inline void program_destroy(struct program *p)
{
    bt_module_unref(p->m);
    kit_destroy(&p->k);
}

#endif
