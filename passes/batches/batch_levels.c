/*
 * batch-levels: a function that recurses over data is applied to a list of data level by level.
 *     vmap(@f, %w, %trees, axes=[-1, 0])      %trees: List[Tree]
 * The nodes of all trees get a level each: 0 where nothing is below, else one more than the
 * highest below. All nodes of a constructor that are on one level are computed at once: by vmap
 * of what the function does with one such node, of rows that hold what it gave of the nodes below.
 * So one product takes the place of many, for trees of any shapes. The function matches the data;
 * it calls itself with variables of the pattern, and its other arguments as they are. Gradients
 * are those of what comes of it.
 * source   Neubig, Goldberg, Dyer 2017, On-the-fly Operation Batching in Dynamic Computation
 *          Graphs; Looks, Herreshoff, Hutchins, Norvig 2017, dynamic batching (TensorFlow Fold)
 * keeps    no invariant
 */
#include <string.h>

#include "batches/levels.h"
#include "common/version.h"

struct round {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module, *declared;
    bt_vec(struct levels *) all;
    bt_map calls; /* calls of vmap -> struct site */
    bt_map taken, taken_ctors;
};

/* A call of vmap with data for each example. */
struct site {
    struct levels *levels;
    const bt_value **args;           /* of the function, old values */
    const bt_type *const *type_args; /* NULL: the function has no dims */
};

static bt_status refuse(const struct round *r, const bt_value *at, const char *what)
{
    return bt_fail_at(r->ctx, BT_ERR_UNSUPPORTED, r->module->store, at->span,
                      "batch-levels: %s", what);
}

/* ---- which calls ---- */

/* The argument that is a list of data for the examples; 0: there is none. */
static uint32_t data_arg(const bt_call *call)
{
    bt_ints axes;
    memcpy(&axes, call->attrs, sizeof(axes)); // its only attribute
    for (uint32_t i = 1; i < call->narg; i++) {
        if ((axes.n == BT_NONE_LIST || axes.at[i - 1] >= 0) &&
            bt_as_apply_type(call->args[i]->type))
            return i;
    }
    return 0;
}

/* The call that is all that a function does, of a global; NULL: it does something else. */
static const bt_call *only_call(const struct round *r, const bt_func *func)
{
    const bt_block *block = func->block;
    const bt_call *call = block->nbinding == 1 ? bt_as_call(block->bindings[0]) : NULL;
    return bt_call_global(r->module, call) && block->result == &call->base ? call : NULL;
}

struct terms {
    const bt_func *func;
    const bt_type *const *at;
};

static const bt_type *find_term(bt_subst *subst, const bt_type *leaf)
{
    const struct terms *t = subst->state;
    for (uint32_t i = 0; t->at && i < t->func->nvar; i++) {
        if (t->func->vars[i] == leaf)
            return t->at[i];
    }
    return NULL;
}

/* What a call inside of a function is given where the function is given the site's. */
static bt_status look_inside(struct round *r, const bt_func *func, const bt_call *call,
                             struct site *site)
{
    struct terms terms = { func, site->type_args };
    bt_subst subst = { .leaf = find_term, .state = &terms };
    const bt_value **args = BT_NEWS(r->arena, const bt_value *, call->narg);
    const bt_type **types = BT_NEWS(r->arena, const bt_type *, call->ntype_arg);
    if (!args || !types)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        args[i] = call->args[i];
        for (uint32_t k = 0; k < func->block->nparam; k++) {
            if (call->args[i] == &func->block->params[k]->base)
                args[i] = site->args[k];
        }
    }
    for (uint32_t i = 0; i < call->ntype_arg; i++) {
        if (!(types[i] = bt_type_subst(r->module->store, &subst, call->type_args[i])))
            return bt_store_why(r->ctx, r->module->store);
    }
    site->args = args;
    site->type_args = types;
    return NULL;
}

/* What is applied: a global, or what a function that only calls one calls. */
static bt_status find_target(struct round *r, const bt_call *call, struct site *site,
                             const bt_global **of)
{
    const bt_closure_value *closure = bt_as_closure(call->args[0]);
    const bt_func *func = closure ? closure->func : NULL;
    *of = bt_module_global(r->module, call->args[0]);
    site->args = BT_NEWS(r->arena, const bt_value *, call->narg);
    if (!site->args)
        return bt_no_memory();
    for (uint32_t i = 1; i < call->narg; i++)
        site->args[i - 1] = call->args[i];
    // as often as there are globals: functions may call each other in a circle
    for (uint32_t n = 0; n <= r->module->nglobal; n++) {
        if (*of)
            func = (*of)->func;
        const bt_call *inner = func ? only_call(r, func) : NULL;
        if (!inner || (func->nvar && !site->type_args))
            break;
        BT_TRY(look_inside(r, func, inner, site));
        *of = bt_module_global(r->module, inner->callee);
    }
    return *of ? NULL
               : refuse(
                     r, &call->base,
                     "what is applied to data is a function of the module, or a function "
                     "that only calls one");
}

/* List[T]: of one constructor with an element and the rest, and one with nothing. */
static int find_list(struct levels *l, const bt_type *type)
{
    l->list = bt_as_apply_type(type);
    if (!l->list || l->list->n != 2)
        return 0;
    const bt_adt_def *def = ((const bt_adt_type *)(const void *)l->list->at[0])->def;
    for (uint32_t i = 0; i < def->nctor; i++) {
        const bt_ctor *ctor = def->ctors[i];
        if (!ctor->nfield)
            l->nil = ctor;
        else if (ctor->nfield == 2 && ctor->fields[0] == def->vars[0])
            l->cons = ctor;
    }
    return def->nctor == 2 && l->nil && l->cons;
}

static struct levels *find_levels(const struct round *r, const bt_global *of,
                                  uint32_t param)
{
    for (uint32_t i = 0; i < r->all.len; i++) {
        if (r->all.at[i]->of == of && r->all.at[i]->param == param)
            return r->all.at[i];
    }
    return NULL;
}

static bt_status add_call(struct round *r, const bt_call *call, const bt_value *list)
{
    struct site *site = BT_NEW(r->arena, struct site);
    const bt_global *of;
    uint32_t param = 0;
    if (!site)
        return bt_no_memory();
    *site = (struct site){ 0 };
    BT_TRY(find_target(r, call, site, &of));
    if (of->kind != BT_GLOBAL_FUNC)
        return refuse(r, &call->base,
                      "what is applied to data has no body to be looked at");
    while (param < of->func->block->nparam && site->args[param] != list)
        param++;
    if (param == of->func->block->nparam)
        return refuse(r, &call->base,
                      "the function that is called does not take the data");
    if (!site->type_args && of->func->nvar)
        return refuse(r, &call->base,
                      "the function has dims as type parameters: give one that calls it, "
                      "fn (%t) { @f(%w, %t) }");
    site->levels = find_levels(r, of, param);
    if (!site->levels) {
        struct levels *l = site->levels = BT_NEW(r->arena, struct levels);
        if (!l)
            return bt_no_memory();
        *l = (struct levels){ .ctx = r->ctx,
                              .arena = r->arena,
                              .module = r->module,
                              .taken = &r->taken,
                              .taken_ctors = &r->taken_ctors,
                              .of = of,
                              .param = param };
        if (!find_list(l, list->type))
            return refuse(r, &call->base, "data of examples is a list of them");
        BT_TRY(levels_find(l));
        if (!BT_PUSH(r->arena, &r->all, l))
            return bt_no_memory();
    }
    return bt_map_put(&r->calls, call, site) ? NULL : bt_no_memory();
}

static bt_status find_calls(struct round *r)
{
    for (uint32_t g = 0; g < r->module->nglobal; g++) {
        bt_blocks blocks = { 0 };
        if (r->module->globals[g]->kind != BT_GLOBAL_FUNC)
            continue;
        BT_TRY(bt_block_nested(r->arena, r->module->globals[g]->func->block, &blocks));
        for (uint32_t b = 0; b < blocks.len; b++) {
            for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
                const bt_call *call = bt_as_op_call(blocks.at[b]->bindings[i], "vmap");
                const uint32_t arg = call ? data_arg(call) : 0;
                if (arg)
                    BT_TRY(add_call(r, call, call->args[arg]));
            }
        }
    }
    return NULL;
}

/* ---- the next version ---- */

/* Dims that only the run knew are now those of another value. */
static bt_status put_dims(struct copy *c, const bt_type *old, const bt_type *now)
{
    const bt_list_type *tuple = bt_as_tuple_type(old), *fields = bt_as_tuple_type(now);
    const bt_shape_type *a = bt_tensor_shape(old), *b = bt_tensor_shape(now);
    for (uint32_t i = 0; tuple && fields && i < tuple->n; i++)
        BT_TRY(put_dims(c, tuple->at[i], fields->at[i]));
    if (a && b && a->n && a->dims[0]->kind == BT_TYPE_OPAQUE)
        return copy_put_type(c, a->dims[0], b->dims[0]);
    return NULL;
}

static bt_status replace(struct copy *c, const bt_value *old, int *done)
{
    const struct round *r = c->state;
    const struct site *site = bt_map_find(&r->calls, old);
    const bt_value *now;
    const bt_type *const *terms;
    if (!site)
        return NULL;
    const bt_func *func = site->levels->of->func;
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, func->block->nparam);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->block->nparam; i++)
        BT_TRY(copy_operand(c, site->args[i], NULL, &args[i]));
    BT_TRY(copy_types(c, func->nvar, site->type_args, &terms));
    bt_builder_at(c->b, old->span, old->prov);
    BT_TRY(levels_call(site->levels, c->b, terms, args, &now));
    *done = 1;
    BT_TRY(put_dims(c, old->type, now->type));
    return copy_put(c, old, now);
}

static bt_status declare_all(void *state, bt_module_builder *builder)
{
    struct round *r = state;
    for (uint32_t i = 0; i < r->all.len; i++)
        BT_TRY(levels_declare(r->all.at[i], builder));
    return NULL;
}

static bt_status has_call(const struct round *r, const bt_func *func, int *out)
{
    bt_blocks blocks = { 0 };
    *out = 0;
    BT_TRY(bt_block_nested(r->arena, func->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++)
            *out |= bt_map_find(&r->calls, blocks.at[b]->bindings[i]) != NULL;
    }
    return NULL;
}

static bt_status redefine(struct round *r, const bt_global *global,
                          bt_module_builder *builder)
{
    struct copy copy;
    bt_global now = *global;
    int has;
    BT_TRY(has_call(r, global->func, &has));
    if (!has)
        return NULL;
    BT_TRY(copy_init(&copy, r->ctx, r->arena, r->declared));
    copy.state = r;
    copy.binding = replace;
    bt_status status = copy_func(&copy, global->func, &now.func);
    copy_deinit(&copy);
    BT_TRY(status);
    bt_func func =
        *now.func; // dims that only the run knows are those of what it gives now
    func.result = func.block->result->type;
    BT_TRY(bt_func_create(r->ctx, r->module->store, &func, &now.func));
    now.type = NULL;
    return bt_module_builder_set(builder, &now, 0);
}

static bt_status define_all(void *state, bt_module_builder *builder)
{
    struct round *r = state;
    for (uint32_t i = 0; i < r->all.len; i++) {
        r->all.at[i]->declared = r->declared;
        BT_TRY(levels_define(r->all.at[i], builder));
    }
    for (uint32_t g = 0; g < r->module->nglobal; g++) {
        if (r->module->globals[g]->kind == BT_GLOBAL_FUNC)
            BT_TRY(redefine(r, r->module->globals[g], builder));
    }
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct round r = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    bt_map_init(&r.calls, r.arena, 0);
    bt_map_init(&r.taken, r.arena, 1);
    bt_map_init(&r.taken_ctors, r.arena, 1);
    BT_TRY(find_calls(&r));
    if (r.calls.len)
        return version_create(ctx, call->module, declare_all, define_all, &r, &r.declared,
                              out);
    *out = bt_module_ref(call->module);
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "batch-levels",
        .doc =
            "A function that recurses over data is applied to a list of data by levels.\n"
            "before\n"
            "    type List[A] { Cons(A, List[A]), Nil, }\n"
            "    type Nat { Zero, Succ(Nat), }\n"
            "    def @f(%x: float32, %n: Nat) -> float32 { match (%n) { Zero => 1f, "
            "Succ(%m) => multiply(%x, @f(%x, %m)) } }\n"
            "    def @main(%x: float32, %all: List[Nat]) { vmap(@f, %x, %all, axes=[-1, "
            "0]) }\n"
            "after\n"
            "    type List[A] { Cons(A, List[A]), Nil, }\n"
            "    type Nat { Zero, Succ(Nat), }\n"
            "    type f.nodes { f.Nodes(int64, int64, Tensor[(?), int64], Tensor[(?, 2), "
            "int64], Tensor[(?, 3), int64]), }\n"
            "    type f.rows { f.Rows(Tensor[(?), float32]), }\n"
            "    def @f(%x: float32, %n: Nat) -> float32 {\n"
            "      match (%n) {\n"
            "        Zero => { 1f }\n"
            "        Succ(%m: Nat) => { multiply(%x, @f(%x, %m)) }\n"
            "      }\n"
            "    }\n"
            "    def @main(%x: float32, %all: List[Nat]) {\n"
            "      %0 = @f.forest(%all, 0i64);\n"
            "      match (%0) {\n"
            "        f.Nodes(%top, %count, %roots, %table, %table_1) => {\n"
            "          %3 = compute(arange(0i64, %count, 1i64, dtype=\"int64\"), "
            "formula=\"a: int64[n] => y: float32[i0 in n] = float32(0)\");\n"
            "          %4 = take(%table, 1i64, axis=1);\n"
            "          %6 = compute(@f.Zero(%x), %4, formula=\"x: t[..], a: int64[n] => "
            "y: t[i in n, ..] = x[..]\");\n"
            "          match (@f.levels(1i64, %0, f.Rows(scatter_nd(%3, expand_dims(%4, "
            "axis=0), %6)), %x)) {\n"
            "            f.Rows(%rows) => { take(%rows, %roots, axis=0) }\n"
            "          }\n"
            "        }\n"
            "      }\n"
            "    }\n"
            "    def @f.number(%data: Nat, %first: int64) -> f.nodes {\n"
            "      match (%data) {\n"
            "        Zero => {\n"
            "          %1 = add(%first, 1i64);\n"
            "          %4 = reshape(stack((0i64, %first)), newshape=[1, 2]);\n"
            "          f.Nodes(0i64, subtract(%1, %first), reshape(%first, "
            "newshape=[1]), %4, compute(dims=[3], formula=\"d1 => y: int64[i0 in 0, i1 "
            "in d1] = int64(0)\"))\n"
            "        }\n"
            "        Succ(%x: Nat) => {\n"
            "          %9 = add(%first, 1i64);\n"
            "          match (@f.number(%x, %9)) {\n"
            "            f.Nodes(%top, %count, %roots, %table, %table_1) => {\n"
            "              %12 = add(%9, %count);\n"
            "              %14 = add(maximum(0i64, %top), 1i64);\n"
            "              %17 = reshape(stack((%14, %first, %9)), newshape=[1, 3]);\n"
            "              f.Nodes(%14, subtract(%12, %first), reshape(%first, "
            "newshape=[1]), %table, concatenate((%table_1, %17)))\n"
            "            }\n"
            "          }\n"
            "        }\n"
            "      }\n"
            "    }\n"
            "    def @f.forest(%data: List[Nat], %first: int64) -> f.nodes {\n"
            "      match (%data) {\n"
            "        Cons(%x: Nat, %x_1: List[Nat]) => {\n"
            "          match (@f.number(%x, %first)) {\n"
            "            f.Nodes(%top, %count, %roots, %table, %table_1) => {\n"
            "              match (@f.forest(%x_1, add(%first, %count))) {\n"
            "                f.Nodes(%top_1, %count_1, %roots_1, %table_2, %table_3) => "
            "{\n"
            "                  f.Nodes(maximum(%top, %top_1), add(%count, %count_1), "
            "concatenate((%roots, %roots_1)), concatenate((%table, %table_2)), "
            "concatenate((%table_1, %table_3)))\n"
            "                }\n"
            "              }\n"
            "            }\n"
            "          }\n"
            "        }\n"
            "        Nil => {\n"
            "          f.Nodes(0i64, 0i64, compute(formula=\"y: int64[i0 in 0] = "
            "int64(0)\"), compute(dims=[2], formula=\"d1 => y: int64[i0 in 0, i1 in d1] "
            "= int64(0)\"), compute(dims=[3], formula=\"d1 => y: int64[i0 in 0, i1 in "
            "d1] = int64(0)\"))\n"
            "        }\n"
            "      }\n"
            "    }\n"
            "    def @f.levels(%k: int64, %nodes: f.nodes, %rows: f.rows, %x: float32) "
            "-> f.rows {\n"
            "      match (%nodes) {\n"
            "        f.Nodes(%top, %count, %roots, %table, %table_1) => {\n"
            "          if (less(%top, %k)) { %rows } else {\n"
            "            match (%rows) {\n"
            "              f.Rows(%rows_1) => {\n"
            "                %8 = take(%table_1, reshape(argwhere(equal(take(%table_1, "
            "0i64, axis=1), %k)), newshape=[-1]), axis=0);\n"
            "                %10 = take(%rows_1, take(%8, 2i64, axis=1), axis=0);\n"
            "                %11 = take(%8, 1i64, axis=1);\n"
            "                %12 = vmap(@f.Succ, %x, %10, axes=[-1, 0]);\n"
            "                %15 = f.Rows(scatter_nd(%rows_1, expand_dims(%11, axis=0), "
            "%12));\n"
            "                @f.levels(add(%k, 1i64), %nodes, %15, %x)\n"
            "              }\n"
            "            }\n"
            "          }\n"
            "        }\n"
            "      }\n"
            "    }\n"
            "    def @f.Zero(%x: float32) -> float32 { 1f }\n"
            "    def @f.Succ(%x: float32, %m: float32) -> float32 { multiply(%x, %m) }",
        .level = 0,
        .keeps = "",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_batches_batch_levels[] = { BT_PASSES(passes), { 0 } };
