/* The verifier: a program with every kind of value passes; each way to break it, done by
 * hand on the nodes, is refused by name. */
#include "verify_kit.h"

static void test_a_sound_program_passes(void **state)
{
    (void)state;
    struct program p = program();
    assert_ok(p.k.ctx, bt_verify(p.k.ctx, p.m));
    program_destroy(&p);
}

/* ---- ways to break it ---- */

static const bt_type *hole(struct program *p)
{
    return bt_type_hole(p->k.store, BT_KIND_TYPE);
}
static const bt_type *int8(struct program *p)
{
    return bt_type_scalar(p->k.store, BT_INT8);
}
static const bt_value **operands(const bt_call *call)
{
    return EDIT(const bt_value *, call->args);
}
static bt_clause *clause(struct program *p, int i)
{
    return EDIT(bt_clause, p->match->clauses[i]);
}
static bt_ctor *some(struct program *p)
{
    return EDIT(bt_ctor, p->option->ctors[0]);
}

static void no_type(struct program *p)
{
    p->window->base.type = NULL;
}
static void type_with_hole(struct program *p)
{
    p->window->base.type = hole(p);
}
static void wrong_type(struct program *p)
{
    p->window->base.type = int8(p);
}
static void type_of_kind_dim(struct program *p)
{
    p->window->base.type = num(&p->k, 3);
}
static void stray_variable(struct program *p)
{
    p->window->base.type = tensor1(&p->k, dim_var(&p->k, "m"));
}
static void loose_position(struct program *p)
{
    p->window->base.type = tensor1(&p->k, bt_type_bound(p->k.store, BT_KIND_DIM, 0, 0));
}
static void param_without_type(struct program *p)
{
    EDIT(bt_param, p->block->params[0])->base.type = NULL;
}
static void missing_param(struct program *p)
{
    EDIT(const bt_param *, p->block->params)[0] = NULL;
}
static void wrong_result_type(struct program *p)
{
    p->main_func->result = int8(p);
}
static void no_result_type(struct program *p)
{
    p->main_func->result = NULL;
}
static void wrong_global_type(struct program *p)
{
    p->global_main->type = int8(p);
}
static void no_result(struct program *p)
{
    p->block->result = NULL;
}
static void result_of_a_branch(struct program *p)
{
    p->block->result = p->choice->then_block->result;
}
static void missing_operand(struct program *p)
{
    operands(p->window)[0] = NULL;
}
static void unbound_operand(struct program *p)
{
    operands(p->stray)[0] = &param(&p->k, "loose", int8(p))->base;
    p->stray->base.id = UINT32_MAX;
}
static void operand_of_a_branch(struct program *p)
{
    operands(p->stray)[0] = p->choice->then_block->result;
}
static void later_operand(struct program *p)
{
    operands(p->window)[0] = &p->proj->base;
}
static void swapped_bindings(struct program *p)
{
    const bt_value **at = EDIT(const bt_value *, p->block->bindings);
    const bt_value *first = at[0];
    at[0] = at[1];
    at[1] = first;
}
static void bound_twice(struct program *p)
{
    EDIT(const bt_value *, p->block->bindings)[1] = p->block->bindings[0];
}
static void missing_binding(struct program *p)
{
    EDIT(const bt_value *, p->block->bindings)[1] = NULL;
}
static void operand_as_binding(struct program *p)
{
    EDIT(const bt_value *, p->block->bindings)[1] = &p->constant->base;
}
static void too_many_arguments(struct program *p)
{
    const bt_value *args[] = { p->window->args[0], p->window->args[0] };
    const bt_value **copy = bt_arena_alloc(bt_store_arena(p->k.store), 2, sizeof(*copy));
    memcpy(copy, args, sizeof(args));
    p->window->args = copy;
    p->window->narg = 2;
}
static void no_operator(struct program *p)
{
    p->window->op = NULL;
}
static void strange_callee(struct program *p)
{
    p->window->callee_kind = 7;
}
static void no_attrs(struct program *p)
{
    p->window->attrs = NULL;
}
static void int_out_of_range(struct program *p)
{
    p->attrs->size = 17;
}
static void list_out_of_range(struct program *p)
{
    EDIT(int64_t, p->attrs->strides.at)[1] = 5;
}
static void strange_bool(struct program *p)
{
    p->attrs->same = 2;
}
static void unknown_choice(struct program *p)
{
    p->attrs->layout = bt_name_of(p->k.store, "HWC");
}
static void no_string(struct program *p)
{
    p->attrs->layout = NULL;
}
static void attr_of_wrong_kind(struct program *p)
{
    p->attrs->dim = int8(p);
}
static void attr_with_hole(struct program *p)
{
    p->attrs->dim = bt_type_hole(p->k.store, BT_KIND_DIM);
}
static void attr_names_no_global(struct program *p)
{
    p->attrs->f = global(&p->k, "missing");
}
static void unknown_global(struct program *p)
{
    EDIT(bt_value, p->generic->callee)->name = bt_name_of(p->k.store, "missing");
}
static void global_of_other_type(struct program *p)
{
    EDIT(bt_value, p->generic->callee)->type = int8(p);
}
static void no_type_args(struct program *p)
{
    p->generic->ntype_arg = 0;
}
static void type_arg_of_wrong_kind(struct program *p)
{
    EDIT(const bt_type *, p->generic->type_args)[0] = int8(p);
}
static void callee_is_no_function(struct program *p)
{
    p->looped->callee = &p->tuple->base;
}
static void callee_takes_more(struct program *p)
{
    p->looped->narg = 0;
}
static void foreign_ctor(struct program *p)
{
    bt_ctor *copy = BT_NEW(bt_store_arena(p->k.store), bt_ctor);
    *copy = *p->make->ctor;
    p->make->ctor = copy;
}
static void ctor_without_fields(struct program *p)
{
    p->make->narg = 0;
}
static void ctor_of_other_tag(struct program *p)
{
    some(p)->tag = 1;
}
static void ctor_without_adt(struct program *p)
{
    some(p)->adt = NULL;
}
static void field_out_of_range(struct program *p)
{
    p->proj->index = 2;
}
static void field_of_other_type(struct program *p)
{
    p->proj->base.type = int8(p);
}
static void other_tuple(struct program *p)
{
    EDIT(const bt_value *, p->tuple->fields)[0] = &p->block->params[1]->base;
}
static void condition_is_no_bool(struct program *p)
{
    p->choice->condition = &p->block->params[0]->base;
}
static void no_else(struct program *p)
{
    p->choice->else_block = NULL;
}
static void branch_with_parameters(struct program *p)
{
    bt_block *block = EDIT(bt_block, p->choice->then_block);
    block->nparam = 1;
    block->params = p->block->params;
}
static void clause_without_block(struct program *p)
{
    clause(p, 0)->block = NULL;
}
static void clause_without_parameter(struct program *p)
{
    EDIT(bt_block, clause(p, 0)->block)->nparam = 0;
}
static void clause_with_more_parameters(struct program *p)
{
    bt_block *block = EDIT(bt_block, clause(p, 1)->block);
    block->nparam = 1;
    block->params = p->block->params;
}
static void pattern_of_other_arity(struct program *p)
{
    EDIT(bt_pattern, clause(p, 0)->pattern)->n = 0;
}
static void pattern_of_foreign_ctor(struct program *p)
{
    bt_ctor *copy = BT_NEW(bt_store_arena(p->k.store), bt_ctor);
    *copy = *p->make->ctor;
    EDIT(bt_pattern, clause(p, 0)->pattern)->ctor = copy;
}
static void clause_of_other_type(struct program *p)
{
    EDIT(bt_param, clause(p, 0)->block->params[0])->base.type = int8(p);
}
static void cell_of_other_type(struct program *p)
{
    p->cell->base.type = bt_type_ref(p->k.store, int8(p));
}
static void closure_without_body(struct program *p)
{
    p->even->func = NULL;
}
static void closure_without_group(struct program *p)
{
    p->even->group = NULL;
}
static void scattered_group(struct program *p)
{
    for (uint32_t i = 0; i + 1 < p->block->nbinding; i++) {
        const bt_value **at = EDIT(const bt_value *, p->block->bindings);
        if (at[i] != &p->even->base)
            continue;
        at[i] = &p->odd->base;
        at[i + 1] = &p->even->base;
        return;
    }
}
static void closure_of_other_type(struct program *p)
{
    p->even->base.type = int8(p);
}
static void constant_of_other_type(struct program *p)
{
    p->constant->base.type = int8(p);
}
static void constant_without_value(struct program *p)
{
    p->constant->object = NULL;
}
static void strange_check(struct program *p)
{
    bt_check *check = BT_NEW(bt_store_arena(p->k.store), bt_check);
    *check = (bt_check){ .relation = 9, .left = num(&p->k, 1), .right = num(&p->k, 1) };
    p->window->checks = check;
    p->window->ncheck = 1;
}
static void check_of_wrong_kind(struct program *p)
{
    strange_check(p);
    *EDIT(bt_check, p->window->checks) =
        (bt_check){ .relation = BT_CHECK_EQUAL, .left = int8(p), .right = num(&p->k, 1) };
}
static void contents_with_hole(struct program *p)
{
    bt_contents *contents = BT_NEW(bt_store_arena(p->k.store), bt_contents);
    const bt_type **dims = BT_NEW(bt_store_arena(p->k.store), const bt_type *);
    dims[0] = any(&p->k);
    *contents = (bt_contents){ 1, dims };
    p->window->contents = contents;
}
static void extern_without_type(struct program *p)
{
    p->outside->type = NULL;
}
static void global_without_value(struct program *p)
{
    p->table->value = NULL;
}
static void strange_global(struct program *p)
{
    p->outside->kind = 9;
}
static void two_globals_of_a_name(struct program *p)
{
    bt_global *copy = BT_NEW(bt_store_arena(p->k.store), bt_global);
    *copy = *p->outside;
    EDIT(const bt_global *, p->m->globals)[3] = copy;
}
static void where_without_operator(struct program *p)
{
    p->main_func->nwhere = 1;
    const bt_where **wheres = BT_NEW(bt_store_arena(p->k.store), const bt_where *);
    wheres[0] = BT_NEW(bt_store_arena(p->k.store), bt_where);
    p->main_func->wheres = wheres;
}
static void parameter_that_is_no_variable(struct program *p)
{
    const bt_type **vars = BT_NEW(bt_store_arena(p->k.store), const bt_type *);
    vars[0] = int8(p);
    p->main_func->nvar = 1;
    p->main_func->vars = vars;
}
static void gradient_of_nothing(struct program *p)
{
    p->outside->kind = BT_GLOBAL_GRADIENT;
    p->outside->primal = bt_name_of(p->k.store, "missing");
}
static void gradient_of_no_argument(struct program *p)
{
    int64_t *wrt = BT_NEW(bt_store_arena(p->k.store), int64_t);
    *wrt = 5;
    p->outside->kind = BT_GLOBAL_GRADIENT;
    p->outside->primal = bt_name_of(p->k.store, "f");
    p->outside->gradient.wrt = (bt_ints){ 1, wrt };
}

static const struct mutation {
    const char *name;
    void (*apply)(struct program *);
    const char *message; /* part of it */
} mutations[] = {
#define MUTATION(name, message) \
    {                           \
#name, name, message    \
    }
    MUTATION(no_type, "@main: %w: it has no type"),
    MUTATION(type_with_hole, "@main: %w: the type of it is not wholly known"),
    MUTATION(wrong_type, "@main: %w: its type is not what its operands give"),
    MUTATION(type_of_kind_dim, "%w: its type has kind Dim"),
    MUTATION(stray_variable, "mentions m, which no function around it declares"),
    MUTATION(loose_position, "by position outside"),
    MUTATION(param_without_type, "%x: it has no type"),
    MUTATION(missing_param, "parameter 0 is none"),
    MUTATION(wrong_result_type, "another type than its result is stated"),
    MUTATION(no_result_type, "the result has no type"),
    MUTATION(wrong_global_type, "@main: its type is not that of its function"),
    MUTATION(no_result, "a block has no result"),
    MUTATION(result_of_a_branch, "outside the block that binds it"),
    MUTATION(missing_operand, "%w: operand 0 is missing"),
    MUTATION(unbound_operand, "it uses %loose, which is not bound before it"),
    MUTATION(operand_of_a_branch, "outside the block that binds it"),
    MUTATION(later_operand, "younger than its user"),
    MUTATION(swapped_bindings, "it uses %w, which is not bound before it"),
    MUTATION(bound_twice, "bound twice"),
    MUTATION(missing_binding, "binding 1 is missing"),
    MUTATION(operand_as_binding, "binding 1 is an operand"),
    MUTATION(too_many_arguments, "the number of arguments of window is 2, expected 1..1"),
    MUTATION(no_operator, "calls no operator"),
    MUTATION(strange_callee, "callee of kind 7"),
    MUTATION(no_attrs, "window lacks its attributes"),
    MUTATION(int_out_of_range, "attribute size of window is 17, outside 1..16"),
    MUTATION(list_out_of_range, "attribute strides of window is 5, outside 1..4"),
    MUTATION(strange_bool, "attribute same of window is 2"),
    MUTATION(unknown_choice, "is \"HWC\", not one of NCHW|NHWC"),
    MUTATION(no_string, "attribute layout of window is missing"),
    MUTATION(attr_of_wrong_kind, "attribute dim of window has kind Type, expected Dim"),
    MUTATION(attr_with_hole, "the type of dim is not wholly known"),
    MUTATION(attr_names_no_global, "attribute f of window names no global"),
    MUTATION(unknown_global, "uses @missing, which the module does not define"),
    MUTATION(global_of_other_type, "uses @generic under another type"),
    MUTATION(no_type_args, "takes 1 type arguments, found 0"),
    MUTATION(type_arg_of_wrong_kind, "type argument 0 has kind Type, expected Dim"),
    MUTATION(callee_is_no_function, "calls a value that is no function"),
    MUTATION(callee_takes_more, "callee takes 1 argument, found 0"),
    MUTATION(foreign_ctor, "calls a constructor that the module does not define"),
    MUTATION(ctor_without_fields, "Some takes 1 argument, found 0"),
    MUTATION(ctor_of_other_tag, "Some does not know that it is number 0"),
    MUTATION(ctor_without_adt, "Some does not know"),
    MUTATION(field_out_of_range, "takes field 2 of a tuple of 2"),
    MUTATION(field_of_other_type, "its type is not what its operands give"),
    MUTATION(other_tuple, "its type is not what its operands give"),
    MUTATION(condition_is_no_bool, "its type does not follow"),
    MUTATION(no_else, "lacks a block"),
    MUTATION(branch_with_parameters, "a block of an if has parameters"),
    MUTATION(clause_without_block, "clause 0 lacks"),
    MUTATION(clause_without_parameter, "variable 0 of a pattern is not parameter 0"),
    MUTATION(clause_with_more_parameters, "clause 1 has 0 variables"),
    MUTATION(pattern_of_other_arity, "a pattern gives Some 0 fields, expected 1"),
    MUTATION(pattern_of_foreign_ctor, "a pattern has a constructor"),
    MUTATION(clause_of_other_type, "parameter 0 of a clause has not the type"),
    MUTATION(cell_of_other_type, "its type is not what its operands give"),
    MUTATION(closure_without_body, "%even: it has no body"),
    MUTATION(closure_without_group, "%even: it belongs to no group"),
    MUTATION(scattered_group, "do not stand one after another"),
    MUTATION(closure_of_other_type, "@main: "),
    MUTATION(constant_of_other_type, "a constant under another type"),
    MUTATION(constant_without_value, "a constant without a value"),
    MUTATION(strange_check, "run-time check 0 has relation 9"),
    MUTATION(check_of_wrong_kind, "a side of a run-time check is no dim"),
    MUTATION(contents_with_hole, "the type of a known element is not wholly known"),
    MUTATION(extern_without_type, "@outside: it has no type"),
    MUTATION(global_without_value, "@table: it has no value"),
    MUTATION(strange_global, "@outside: it has kind 9"),
    MUTATION(two_globals_of_a_name, "@outside: it is defined twice"),
    MUTATION(where_without_operator, "where relation 0 has no operator"),
    MUTATION(parameter_that_is_no_variable, "type parameter 0 is no variable"),
    MUTATION(gradient_of_nothing, "a gradient of @missing"),
    MUTATION(gradient_of_no_argument, "argument 5 of @f does not exist"),
};

static void test_every_fault_is_refused_by_name(void **state)
{
    (void)state;
    assert_true(BT_COUNT(mutations) >= 60);
    for (uint32_t i = 0; i < BT_COUNT(mutations); i++) {
        const struct mutation *m = &mutations[i];
        struct program p = program();
        m->apply(&p);
        bt_status status = bt_verify(p.k.ctx, p.m);
        if (!status)
            fail_msg("%s is accepted", m->name);
        if (status->code != BT_ERR_VERIFY || !strstr(status->message, m->message))
            fail_msg("%s: expected \"%s\" in: %s", m->name, m->message, status->message);
        program_destroy(&p);
    }
}

static void test_a_type_of_another_store_is_refused(void **state)
{
    (void)state;
    struct program p = program();
    bt_store *other = bt_store_create(p.k.registry);
    p.window->base.type = bt_type_tensor_of(other, BT_FLOAT32, 0, NULL);
    assert_error(bt_verify(p.k.ctx, p.m), BT_ERR_VERIFY, "a type of another store");
    bt_store_unref(other);
    program_destroy(&p);
}

/* Without types, only what is written is looked at. */
static void test_untyped_modules_are_verified_too(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", NULL);
    begin(&k, 1, &x);
    const bt_value *y = call1(&k, global(&k, "main"), op2(&k, &op_relu, &x->base, NULL));
    define(&k, "main", func(&k, end(&k, y), NULL, 0, NULL));
    bt_module *m = finish(&k);
    assert_ok(k.ctx, bt_verify(k.ctx, m));
    EDIT(bt_value, bt_as_call(y)->callee)->name = bt_name_of(k.store, "gone");
    assert_error(bt_verify(k.ctx, m), BT_ERR_VERIFY, "@gone");
    bt_module_unref(m);
    kit_destroy(&k);
}

/* Built from the inside out, nesting escapes the builder's limit but not the verifier. */
static void test_deep_nesting_is_refused(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *c = param(&k, "c", NULL);
    begin(&k, 0, NULL);
    const bt_block *at = end(&k, &c->base);
    for (int i = 0; i < 100000; i++) {
        begin(&k, 0, NULL);
        at = end(&k, choose(&k, &c->base, at, at));
    }
    begin(&k, 1, &c);
    const bt_block *block = end(&k, choose(&k, &c->base, at, at));
    define(&k, "main", func(&k, block, NULL, 0, NULL));
    bt_module *m = finish(&k);
    assert_error(bt_verify(k.ctx, m), BT_ERR_VERIFY, "nested deeper than 256");
    bt_module_unref(m);
    kit_destroy(&k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_sound_program_passes),
    cmocka_unit_test(test_every_fault_is_refused_by_name),
    cmocka_unit_test(test_a_type_of_another_store_is_refused),
    cmocka_unit_test(test_untyped_modules_are_verified_too),
    cmocka_unit_test(test_deep_nesting_is_refused),
};
TEST_MAIN(tests)
