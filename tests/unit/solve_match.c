/* Data types: constructors, patterns, what a match covers. */
#include "solve_kit.h"

/* type List[A] { Nil, Cons(A, List[A]) } */
static bt_adt_def *define_list(kit *k)
{
    bt_adt_def *list = NULL;
    const bt_type *a = kind_var(k, BT_KIND_TYPE, "A");
    assert_ok(k->ctx, bt_module_builder_declare_adt(k->module, "List", 0, 1, &a, &list));
    const bt_type *fields[] = { a, bt_type_apply(k->store, list, 1, &a) };
    bt_ctor ctors[] = { { .name = "Nil" },
                        { .name = "Cons", .nfield = 2, .fields = fields } };
    assert_ok(k->ctx, bt_module_builder_define_adt(k->module, list, 2, ctors));
    return list;
}

/* type Colour { C0, C1, ... } */
static bt_adt_def *define_enum(kit *k, uint32_t n)
{
    bt_adt_def *adt = NULL;
    bt_ctor *ctors = calloc(n, sizeof(*ctors));
    char name[32];
    assert_ok(k->ctx, bt_module_builder_declare_adt(k->module, "Enum", 0, 0, NULL, &adt));
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "C%u", i);
        ctors[i].name = bt_name_of(k->store, name);
    }
    assert_ok(k->ctx, bt_module_builder_define_adt(k->module, adt, n, ctors));
    free(ctors);
    return adt;
}

static const bt_pattern *pattern(kit *k, bt_pattern fields)
{
    const bt_pattern *out = bt_pattern_create(k->store, &fields);
    assert_non_null(out);
    return out;
}
static const bt_pattern *wild(kit *k)
{
    return pattern(k, (bt_pattern){ .kind = BT_PATTERN_WILDCARD });
}
static const bt_pattern *variable(kit *k, const bt_param *var)
{
    return pattern(k, (bt_pattern){ .kind = BT_PATTERN_VAR, .var = var });
}
static const bt_pattern *of_ctor(kit *k, const bt_ctor *ctor, const bt_pattern *a,
                                 const bt_pattern *b)
{
    const bt_pattern *at[] = { a, b };
    uint32_t n = a ? b ? 2 : 1 : 0;
    return pattern(
        k, (bt_pattern){ .kind = BT_PATTERN_CTOR, .ctor = ctor, .n = n, .at = at });
}
static const bt_pattern *of_tuple(kit *k, uint32_t n, const bt_pattern *const *at)
{
    return pattern(k, (bt_pattern){ .kind = BT_PATTERN_TUPLE, .n = n, .at = at });
}

/* match (%data) { patterns[i] -> result } where no pattern has variables. */
static const bt_value *match_all(kit *k, const bt_value *data, uint32_t n,
                                 const bt_pattern *const *patterns,
                                 const bt_value *result)
{
    const bt_value *out = NULL;
    bt_clause clauses[64];
    for (uint32_t i = 0; i < n; i++) {
        begin(k, 0, NULL);
        clauses[i] = (bt_clause){ patterns[i], end(k, result) };
    }
    assert_ok(k->ctx, bt_build_match(k->b, data, n, clauses, NULL, &out));
    return out;
}

/* def @main(%x: Tensor[(3)]) { match (Cons(%x, Nil)) { Nil -> %x, Cons(%h, _) -> %h }
 * } */
static void test_list_is_typed(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_adt_def *list = define_list(&k);
    const bt_type *n = dim_var(&k, "n");
    const bt_param *x = param(&k, "x", tensor1(&k, n));
    begin(&k, 1, &x);
    const bt_value *nil = construct(&k, list->ctors[0], 0, NULL);
    const bt_value *args[] = { &x->base, nil };
    const bt_value *cons = construct(&k, list->ctors[1], 2, args);
    const bt_param *h = param(&k, "h", NULL);
    begin(&k, 0, NULL);
    const bt_block *empty = end(&k, &x->base);
    begin(&k, 1, &h);
    const bt_block *full = end(&k, op2(&k, &op_relu, &h->base, NULL));
    const bt_clause clauses[] = {
        { of_ctor(&k, list->ctors[0], NULL, NULL), empty },
        { of_ctor(&k, list->ctors[1], variable(&k, h), wild(&k)), full },
    };
    const bt_value *r = NULL;
    assert_ok(k.ctx, bt_build_match(k.b, cons, 2, clauses, NULL, &r));
    define(&k, "main", func(&k, end(&k, r), NULL, 1, &n));
    bt_module *typed = infer(&k);
    const bt_func *f = func_of(typed, "main");
    assert_true(f->result == x->base.type);
    const bt_type *list_type = bt_type_apply(k.store, list, 1, &x->base.type);
    assert_true(f->block->bindings[0]->type == list_type);
    const bt_call *first = bt_as_call(f->block->bindings[0]);
    assert_int_equal(first->ntype_arg, 1);
    assert_true(first->type_args[0] == x->base.type);
    const bt_match *match = bt_as_match(f->block->bindings[2]);
    assert_true(match->clauses[1]->block->params[0]->base.type == x->base.type);
    assert_true(match->clauses[1]->pattern->at[0]->var ==
                match->clauses[1]->block->params[0]);
    bt_module_unref(typed);
    kit_destroy(&k);
}

/* def @length(%l) over any list: generalises over what is in it. */
static void test_unannotated_scrutinee(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_adt_def *list = define_list(&k);
    const bt_param *l = param(&k, "l", NULL);
    const bt_value *one = NULL;
    assert_ok(k.ctx, bt_build_scalar(k.b, BT_FLOAT32, 1, &one));
    begin(&k, 1, &l);
    const bt_param *t = param(&k, "t", NULL);
    begin(&k, 0, NULL);
    const bt_block *empty = end(&k, one);
    begin(&k, 1, &t);
    const bt_value *rest = call1(&k, global(&k, "length"), &t->base);
    const bt_block *full = end(&k, op2(&k, &op_add, rest, one));
    const bt_clause clauses[] = {
        { of_ctor(&k, list->ctors[0], NULL, NULL), empty },
        { of_ctor(&k, list->ctors[1], wild(&k), variable(&k, t)), full },
    };
    const bt_value *r = NULL;
    assert_ok(k.ctx, bt_build_match(k.b, &l->base, 2, clauses, NULL, &r));
    define(&k, "length", func(&k, end(&k, r), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    const bt_func *f = func_of(typed, "length");
    assert_int_equal(f->nvar, 1);
    assert_true(f->result == one->type);
    assert_true(f->block->params[0]->base.type ==
                bt_type_apply(k.store, list, 1, f->vars));
    bt_module_unref(typed);
    kit_destroy(&k);
}

static void expect(kit *k, const bt_value *data, uint32_t n,
                   const bt_pattern *const *patterns, const bt_param *x, const char *part)
{
    const bt_value *r = match_all(k, data, n, patterns, &x->base);
    define(k, "main", func(k, end(k, r), NULL, 0, NULL));
    if (part)
        assert_error(infer_error(k), BT_ERR_TYPE, part);
    else
        bt_module_unref(infer(k));
    kit_destroy(k);
}

static void test_missing_case_is_named(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_adt_def *list = define_list(&k);
    const bt_ctor *nil = list->ctors[0], *cons = list->ctors[1];
    const bt_type *content = tensor1(&k, num(&k, 3));
    const bt_param *params[] = {
        param(&k, "x", content), param(&k, "l", bt_type_apply(k.store, list, 1, &content))
    };
    begin(&k, 2, params);
    const bt_pattern *patterns[] = {
        of_ctor(&k, nil, NULL, NULL),
        of_ctor(&k, cons, wild(&k), of_ctor(&k, nil, NULL, NULL)),
    };
    expect(&k, &params[1]->base, 2, patterns, params[0],
           "match does not cover Cons(_, Cons(_, _)): add a clause");
}

static void test_useless_clause_is_remarked_on(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_adt_def *list = define_list(&k);
    const bt_ctor *nil = list->ctors[0], *cons = list->ctors[1];
    const bt_type *content = tensor1(&k, num(&k, 3));
    const bt_param *params[] = {
        param(&k, "x", content), param(&k, "l", bt_type_apply(k.store, list, 1, &content))
    };
    begin(&k, 2, params);
    const bt_pattern *patterns[] = {
        of_ctor(&k, nil, NULL, NULL),
        of_ctor(&k, cons, wild(&k), wild(&k)),
        of_ctor(&k, cons, wild(&k), of_ctor(&k, nil, NULL, NULL)),
    };
    const bt_value *r = match_all(&k, &params[1]->base, 3, patterns, &params[0]->base);
    define(&k, "main", func(&k, end(&k, r), NULL, 0, NULL));
    bt_module_unref(infer(&k));
    assert_int_equal(bt_ctx_nremark(k.ctx, BT_REMARK_NOTE), 1);
    assert_non_null(strstr(bt_ctx_remark(k.ctx, BT_REMARK_NOTE, 0)->message,
                           "clause 3 never matches"));
    kit_destroy(&k);
}

static void test_pattern_of_another_type(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_adt_def *list = define_list(&k);
    const bt_param *x = param(&k, "x", tensor1(&k, num(&k, 3)));
    begin(&k, 1, &x);
    const bt_pattern *patterns[] = { of_ctor(&k, list->ctors[0], NULL, NULL), wild(&k) };
    expect(&k, &x->base, 2, patterns, x, "pattern Nil does not fit a value of type");
}

/* Tuples of n parts of two constructors each, where clause i fixes part i: 2^n values,
 * but only n + 1 states that differ. */
static void test_wide_tuples_do_not_blow_up(void **state)
{
    (void)state;
    kit k = kit_create();
    enum { N = 40 };
    bt_adt_def *bits = define_enum(&k, 2);
    const bt_type *bit = bt_type_apply(k.store, bits, 0, NULL), *types[N];
    const bt_pattern *any_bit = wild(&k), *one = of_ctor(&k, bits->ctors[1], NULL, NULL);
    const bt_pattern *patterns[N + 1];
    for (uint32_t i = 0; i < N; i++) {
        const bt_pattern *at[N];
        types[i] = bit;
        for (uint32_t c = 0; c < N; c++)
            at[c] = c == i ? one : any_bit;
        patterns[i] = of_tuple(&k, N, at);
    }
    patterns[N] = any_bit;
    const bt_param *params[] = { param(&k, "x", tensor1(&k, num(&k, 3))),
                                 param(&k, "t", bt_type_tuple(k.store, N, types)) };
    begin(&k, 2, params);
    expect(&k, &params[1]->base, N + 1, patterns, params[0], NULL);
}

/* Random patterns against all values, counted one by one. */
enum { FIELDS = 3, CTORS = 3 };

static int value_matches(const bt_pattern *p, const bt_adt_def *adt,
                         const uint32_t *value)
{
    for (uint32_t i = 0; i < FIELDS; i++) {
        const bt_pattern *part = p->at[i];
        if (part->kind == BT_PATTERN_CTOR && part->ctor != adt->ctors[value[i]])
            return 0;
    }
    return 1;
}

static void test_agrees_with_enumeration(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (int round = 0; round < 300; round++) {
        kit k = kit_create();
        bt_adt_def *adt = define_enum(&k, CTORS);
        const bt_type *part = bt_type_apply(k.store, adt, 0, NULL);
        const bt_type *types[] = { part, part, part };
        const bt_pattern *patterns[16];
        uint32_t n = 1 + (uint32_t)round % 16, used[16] = { 0 }, covered = 1;
        for (uint32_t i = 0; i < n; i++) {
            const bt_pattern *at[FIELDS];
            for (uint32_t c = 0; c < FIELDS; c++) {
                random = random * 1664525u + 1013904223u;
                uint32_t pick = random >> 20 & 3;
                at[c] =
                    pick == CTORS ? wild(&k) : of_ctor(&k, adt->ctors[pick], NULL, NULL);
            }
            patterns[i] = of_tuple(&k, FIELDS, at);
        }
        for (uint32_t v = 0; v < CTORS * CTORS * CTORS; v++) {
            uint32_t value[] = { v % CTORS, v / CTORS % CTORS, v / CTORS / CTORS };
            uint32_t i = 0;
            while (i < n && !value_matches(patterns[i], adt, value))
                i++;
            if (i < n)
                used[i] = 1;
            covered &= i < n;
        }
        uint32_t useless = 0;
        for (uint32_t i = 0; i < n; i++)
            useless += !used[i];
        const bt_param *params[] = { param(&k, "x", tensor1(&k, num(&k, 3))),
                                     param(&k, "t", bt_type_tuple(k.store, 3, types)) };
        begin(&k, 2, params);
        const bt_value *r =
            match_all(&k, &params[1]->base, n, patterns, &params[0]->base);
        define(&k, "main", func(&k, end(&k, r), NULL, 0, NULL));
        bt_status status = infer_error(&k);
        assert_int_equal(status != NULL, !covered);
        assert_int_equal(bt_ctx_nreport(k.ctx), !covered);
        assert_int_equal(bt_ctx_nremark(k.ctx, BT_REMARK_NOTE), useless);
        kit_destroy(&k);
    }
}

/* ref(%x), read and written: invariant. */
static void test_references(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_value *r = NULL, *got = NULL, *done = NULL;
    const bt_param *params[] = { param(&k, "x", tensor1(&k, num(&k, 3))),
                                 param(&k, "r", NULL) };
    begin(&k, 1, params);
    assert_ok(k.ctx, bt_build_ref(k.b, &params[0]->base, &r));
    begin(&k, 1, params + 1);
    assert_ok(k.ctx, bt_build_read(k.b, &params[1]->base, &got));
    const bt_value *next = op2(&k, &op_relu, got, NULL);
    assert_ok(k.ctx, bt_build_write(k.b, &params[1]->base, next, &done));
    const bt_value *f = closure(&k, func(&k, end(&k, got), NULL, 0, NULL));
    const bt_value *y = call1(&k, f, r);
    define(&k, "main", func(&k, end(&k, y), NULL, 0, NULL));
    bt_module *typed = infer(&k);
    assert_true(func_of(typed, "main")->result == params[0]->base.type);
    bt_module_unref(typed);
    kit_destroy(&k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_list_is_typed),
    cmocka_unit_test(test_unannotated_scrutinee),
    cmocka_unit_test(test_missing_case_is_named),
    cmocka_unit_test(test_useless_clause_is_remarked_on),
    cmocka_unit_test(test_pattern_of_another_type),
    cmocka_unit_test(test_wide_tuples_do_not_blow_up),
    cmocka_unit_test(test_agrees_with_enumeration),
    cmocka_unit_test(test_references),
};
TEST_MAIN(tests)
