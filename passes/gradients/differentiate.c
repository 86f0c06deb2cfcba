/*
 * differentiate: gradient and jvp declarations become functions.
 *     gradient @df = @f(wrt=[0], keep=[0]);
 * The function computes what @f does, then from the adjoint of its result, ones or what is
 * passed, those of the arguments: reverse mode, source to source. It has the name and the type
 * of the declaration. That of a jvp computes tangents beside values: forward mode (tangent.h).
 * Gradients of gradients come innermost first.
 * source   DLVM, section 4.2; Relay 2019, section 4
 * keeps    no invariant
 */
#include <string.h>

#include "common/derivative_attrs.h"
#include "common/vars.h"
#include "common/version.h"
#include "gradients/adjoint_cells.h"
#include "gradients/adjoint_paths.h"
#include "gradients/custom.h"
#include "gradients/tangent.h"

/* Declarations whose functions call none that is still a declaration: they are next. */
struct round {
    struct differentiation diff;
    bt_vec(const bt_global *) ready;
    const bt_module *declared;
};

static bt_status check_primal(const struct differentiation *diff, const bt_global *global,
                              const bt_global *primal)
{
    const int is_forward = global->gradient.is_forward;
    if (!primal || primal->kind == BT_GLOBAL_CONST)
        return bt_fail_at(diff->ctx, BT_ERR_UNSUPPORTED, diff->module->store,
                          global->span, "%s @%s: @%s is no function of the module",
                          is_forward ? "jvp" : "gradient", global->name, global->primal);
    return primal->kind == BT_GLOBAL_EXTERN &&
                   !custom_attr(primal, is_forward ? "jvp" : "vjp")
               ? custom_fail(diff, global->span, primal, is_forward)
               : NULL;
}

static bt_status find_ready(struct round *r, uint32_t *nleft)
{
    const bt_module *module = r->diff.module;
    const bt_callgraph *graph;
    *nleft = 0;
    BT_TRY(bt_callgraph_create(r->diff.ctx, module, r->diff.arena, &graph));
    for (uint32_t g = 0; g < module->nglobal; g++) {
        const bt_global *global = module->globals[g];
        const uint8_t *reached;
        uint32_t ngradient = 0;
        // one of a function that monomorphize made copies of stays, as that function does
        if (global->kind != BT_GLOBAL_GRADIENT || vars_are_generic(global->type))
            continue;
        const bt_global *primal = bt_module_find(module, global->primal);
        BT_TRY(check_primal(&r->diff, global, primal));
        ++*nleft;
        BT_TRY(bt_callgraph_reach(graph, module, primal, r->diff.arena, &reached));
        for (uint32_t i = 0; i < module->nglobal; i++)
            ngradient += reached[i] && module->globals[i]->kind == BT_GLOBAL_GRADIENT;
        if (!ngradient && !BT_PUSH(r->diff.arena, &r->ready, global))
            return bt_no_memory();
    }
    return NULL;
}

/* Every declaration that is left leads to another one, or to itself. */
static bt_status fail_cycle(const struct round *r)
{
    const bt_module *module = r->diff.module;
    const bt_global *first = NULL;
    bt_text names;
    bt_text_init(&names, r->diff.arena);
    for (uint32_t g = 0; g < module->nglobal; g++) {
        const bt_global *global = module->globals[g];
        if (global->kind != BT_GLOBAL_GRADIENT || vars_are_generic(global->type))
            continue;
        bt_text_addf(&names, "%s@%s", first ? ", " : "", global->name);
        first = first ? first : global;
    }
    if (!bt_text_get(&names))
        return bt_no_memory();
    return bt_fail_at(
        r->diff.ctx, BT_ERR_UNSUPPORTED, module->store, first->span,
        "a function cannot call the gradient of itself: @%s does, in one of "
        "%s; move what is differentiated into a function of its own",
        first->primal, bt_text_get(&names));
}

static bt_status declare_all(void *state, bt_module_builder *builder)
{
    struct round *r = state;
    r->diff.builder = builder;
    BT_TRY(adjoint_pairs_sum(&r->diff));
    BT_TRY(adjoint_data_declare(&r->diff));
    BT_TRY(adjoint_convert_declare(&r->diff));
    BT_TRY(tangent_declare(&r->diff));
    return adjoint_pairs_declare(&r->diff);
}

static bt_status define_all(void *state, bt_module_builder *builder)
{
    struct round *r = state;
    r->diff.module = r->declared;
    r->diff.builder = builder;
    BT_TRY(adjoint_data_define(&r->diff));
    BT_TRY(adjoint_convert_define(&r->diff));
    BT_TRY(adjoint_pairs_define(&r->diff));
    BT_TRY(tangent_define(&r->diff));
    for (uint32_t i = 0; i < r->ready.len; i++)
        BT_TRY(r->ready.at[i]->gradient.is_forward
                   ? tangent_declaration_define(&r->diff, r->ready.at[i])
                   : adjoint_declaration_define(&r->diff, r->ready.at[i]));
    return NULL;
}

static void round_init(struct round *r, bt_ctx *ctx, bt_arena *arena,
                       const bt_module *module)
{
    struct differentiation *diff = &r->diff;
    *r = (struct round){ .diff = { .ctx = ctx, .arena = arena, .module = module } };
    bt_map_init(&diff->taken, arena, 1);
    bt_map_init(&diff->ctors, arena, 1);
    bt_map_init(&diff->floats, arena, 0);
    bt_map_init(&diff->data, arena, 0);
    bt_map_init(&diff->united, arena, 0);
    bt_map_init(&diff->made, arena, 0);
    bt_map_init(&diff->cells, arena, 0);
    bt_map_init(&diff->writing, arena, 0);
    bt_map_init(&diff->touching, arena, 0);
    bt_map_init(&diff->writers, arena, 1);
}

/* What the declarations need; again, while more cells turn out to have adjoints. */
static bt_status find_all(struct round *r)
{
    struct differentiation *diff = &r->diff;
    BT_TRY(adjoint_find_floats(diff, diff->module->nadt, diff->module->adts));
    for (uint32_t ncell = UINT32_MAX; ncell != diff->cells.len;) {
        ncell = diff->cells.len;
        diff->pairs.len = diff->tangents.len = 0;
        BT_TRY(adjoint_cells_touch(diff));
        for (uint32_t i = 0; i < r->ready.len; i++)
            BT_TRY(r->ready.at[i]->gradient.is_forward
                       ? tangent_declaration_find(diff, r->ready.at[i])
                       : adjoint_declaration_find(diff, r->ready.at[i]));
        BT_TRY(adjoint_pairs_close(diff));
        BT_TRY(tangent_close(diff));
    }
    return NULL;
}

/* Makes a version of the module whose cells have shadows, where there are such cells;
 * *out NULL: there are none. */
static bt_status make_shadows(struct round *r, const char *entry, bt_module **out)
{
    struct round next;
    uint32_t nleft;
    *out = NULL;
    BT_TRY(find_all(r));
    if (!r->diff.cells.len) {
        r->diff.has_shadows = 1;
        return r->diff.writing.len ? find_all(r) : NULL;
    }
    round_init(&next, r->diff.ctx, r->diff.arena, r->diff.module);
    BT_TRY(adjoint_shadow_make(&r->diff, entry, &next.diff, out));
    *r = next;
    bt_status status = find_ready(r, &nleft);
    if (!status)
        status = find_all(r);
    if (status)
        bt_module_unref(*out);
    return status;
}

/* The next version; *nleft: declarations that there were. */
static bt_status run_round(bt_ctx *ctx, const bt_pass_call *call, const bt_module *module,
                           uint32_t *nleft, bt_module **out)
{
    struct round r;
    bt_module *shadowed;
    round_init(&r, ctx, call->scratch, module);
    BT_TRY(find_ready(&r, nleft));
    if (!*nleft)
        return NULL;
    if (!r.ready.len)
        return fail_cycle(&r);
    BT_TRY(make_shadows(&r, call->entry, &shadowed));
    bt_status status =
        version_create(ctx, r.diff.module, declare_all, define_all, &r, &r.declared, out);
    bt_module_unref(shadowed);
    return status;
}

static bt_status forget_attributes(void *state, bt_module_builder *builder)
{
    struct differentiation *diff = state;
    for (uint32_t g = 0; g < diff->module->nglobal; g++) {
        const bt_global *old = diff->module->globals[g];
        bt_global now = *old;
        if (!derivative_attrs_has(custom_attrs(old)))
            continue;
        bt_dict *attrs = &now.attrs;
        bt_func func;
        if (old->kind == BT_GLOBAL_FUNC) {
            func = *old->func;
            attrs = &func.attrs;
        }
        bt_dict_entry *left = BT_NEWS(diff->arena, bt_dict_entry, attrs->n);
        uint32_t n = 0;
        if (!left)
            return bt_no_memory();
        for (uint32_t i = 0; i < attrs->n; i++) {
            if (!derivative_attr_is(attrs->at[i].name))
                left[n++] = attrs->at[i];
        }
        *attrs = (bt_dict){ n, left };
        if (old->kind == BT_GLOBAL_FUNC)
            BT_TRY(bt_func_create(diff->ctx, diff->module->store, &func, &now.func));
        BT_TRY(bt_module_builder_set(builder, &now, 0));
    }
    return NULL;
}

/* When all is differentiated, or nothing is, attributes vjp, jvp and checkpoint have no reader any
 * more: they would keep what they name, and calls from being inlined. */
static bt_status finish(bt_ctx *ctx, bt_arena *arena, bt_module *module, bt_module **out)
{
    struct differentiation diff = { .ctx = ctx, .arena = arena, .module = module };
    int any = 0;
    for (uint32_t g = 0; g < module->nglobal; g++)
        any |= derivative_attrs_has(custom_attrs(module->globals[g]));
    *out = module;
    if (!any)
        return NULL;
    bt_status status = version_next(ctx, module, forget_attributes, &diff, out);
    bt_module_unref(module);
    return status;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    bt_module *module = bt_module_ref(call->module);
    for (uint32_t nleft = 1; nleft;) {
        bt_module *next = NULL;
        bt_status status = run_round(ctx, call, module, &nleft, &next);
        if (!status && !next)
            break;
        bt_module_unref(module);
        if (status)
            return status;
        module = next;
    }
    return finish(ctx, call->scratch, module, out);
}

static const bt_pass passes[] = {
    {
        .name = "differentiate",
        .doc = "Gradient and jvp declarations become functions.\n"
               "before\n"
               "    def @f(%x: float32) -> float32 { tanh(%x) }\n"
               "    gradient @df = @f();\n"
               "    def @main(%x: float32) -> float32 { @df(%x) }\n"
               "after\n"
               "    def @f(%x: float32) -> float32 { tanh(%x) }\n"
               "    def @df(%x: float32) -> float32 {\n"
               "        %0 = tanh(%x);\n"
               "        %1 = ones(shape=[]);\n"
               "        compute(%0, %1, formula=\"a0: float32[], a1: float32[] => s0: "
               "float32[] = "
               "a1[] * (1 - a0[] * a0[])\")\n"
               "    }\n"
               "    def @main(%x: float32) -> float32 { @df(%x) }",
        .level = 0,
        .keeps = "",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_gradients_differentiate[] = { BT_PASSES(passes), { 0 } };
