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
#include "batches/levels_sites.h"
#include "common/version.h"

struct round {
    struct levels_sites sites;
    const bt_module *declared;
};

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
    const struct levels_site *site = bt_map_find(&r->sites.calls, old);
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
    for (uint32_t i = 0; i < r->sites.all.len; i++)
        BT_TRY(levels_declare(r->sites.all.at[i], builder));
    return NULL;
}

static bt_status redefine(struct round *r, const bt_global *global,
                          bt_module_builder *builder)
{
    struct copy copy;
    const bt_func *made;
    BT_TRY(copy_init(&copy, r->sites.ctx, r->sites.arena, r->declared));
    copy.state = r;
    copy.binding = replace;
    bt_status status = copy_func(&copy, global->func, &made);
    copy_deinit(&copy);
    BT_TRY(status);
    bt_func func = *made;
    func.result = func.block->result->type; // with dims of what it gives now
    BT_TRY(bt_func_create(r->sites.ctx, r->sites.module->store, &func, &made));
    return version_set_func(builder, global, made);
}

static bt_status define_all(void *state, bt_module_builder *builder)
{
    struct round *r = state;
    for (uint32_t i = 0; i < r->sites.all.len; i++) {
        r->sites.all.at[i]->declared = r->declared;
        BT_TRY(levels_define(r->sites.all.at[i], builder));
    }
    for (uint32_t i = 0; i < r->sites.callers.len; i++)
        BT_TRY(redefine(r, r->sites.callers.at[i].key, builder));
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct round r;
    BT_TRY(levels_find_sites(ctx, call->scratch, call->module, &r.sites));
    if (r.sites.calls.len)
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
