/* The references that may be values. */
#include "language/promote_find.h"

#include "common/derivative_attrs.h"

struct call_site {
    const bt_call *call;
    const bt_global *callee;
};

struct finding {
    bt_arena *arena;
    const bt_module *module;
    bt_map cells;                   /* references; of those that stay the value is NULL */
    bt_vec(struct call_site) calls; /* of functions of the module */
};

static bt_status add(struct finding *f, const bt_value *value)
{
    return bt_map_put(&f->cells, value, (void *)1) ? NULL : bt_no_memory();
}

static int goes(const struct finding *f, const bt_value *value)
{
    return bt_map_find(&f->cells, value) != NULL;
}

static void stay(const struct finding *f, const bt_value *value)
{
    bt_map_entry *cell = bt_map_entry_find(&f->cells, value);
    if (cell)
        cell->value = NULL;
}

static bt_status find_in(struct finding *f, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *binding = block->bindings[i];
        if (binding->kind == BT_VALUE_REF)
            BT_TRY(add(f, binding));
        for (uint32_t r = 0; r < bt_value_nregion(binding); r++) {
            if (binding->kind != BT_VALUE_CLOSURE)
                BT_TRY(find_in(f, bt_value_region(binding, r)));
        }
    }
    return NULL;
}

static bt_status find_cells(struct finding *f)
{
    for (uint32_t g = 0; g < f->module->nglobal; g++) {
        const bt_global *global = f->module->globals[g];
        if (global->kind != BT_GLOBAL_FUNC)
            continue;
        const bt_block *block = global->func->block;
        for (uint32_t i = 0; i < block->nparam; i++) {
            if (bt_as_ref_type(block->params[i]->base.type))
                BT_TRY(add(f, &block->params[i]->base));
        }
        BT_TRY(find_in(f, block));
    }
    return NULL;
}

/* Parameters of a global that is used in another way than to be called by its name, or brings its
 * derivative with it, which takes what it takes. */
static void stay_all(const struct finding *f, const bt_global *global)
{
    for (uint32_t i = 0;
         global->kind == BT_GLOBAL_FUNC && i < global->func->block->nparam; i++)
        stay(f, &global->func->block->params[i]->base);
}

static int is_named_again(const bt_call *call, uint32_t arg)
{
    for (uint32_t i = 0; i < call->narg; i++) {
        if (i != arg && call->args[i] == call->args[arg])
            return 1;
    }
    return 0;
}

static bt_status look_at_call(struct finding *f, const bt_call *call)
{
    const bt_global *callee = bt_module_global(f->module, call->callee);
    const struct call_site site = { call, callee };
    if (!callee || callee->kind != BT_GLOBAL_FUNC) {
        for (uint32_t i = 0; i < call->narg; i++)
            stay(f, call->args[i]);
        return NULL;
    }
    for (uint32_t i = 0; i < call->narg; i++) {
        if (is_named_again(call, i))
            stay(f, call->args[i]);
    }
    return BT_PUSH(f->arena, &f->calls, site) ? NULL : bt_no_memory();
}

static bt_status look_at(struct finding *f, const bt_block *block, int is_closure)
{
    stay(f, block->result);
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *binding = block->bindings[i];
        const bt_call *call = bt_as_call(binding);
        const int is_access =
            binding->kind == BT_VALUE_READ || binding->kind == BT_VALUE_WRITE;
        const int is_plain_call =
            call && call->callee_kind == BT_CALLEE_VALUE && !is_closure;
        if (is_plain_call)
            BT_TRY(look_at_call(f, call));
        for (uint32_t k = 0; k < bt_value_noperand(binding); k++) {
            const bt_value *operand = bt_value_operand(binding, k);
            const bt_global *global = bt_module_global(f->module, operand);
            if (global && !(is_plain_call && k == 0))
                stay_all(f, global);
            if (!is_plain_call && !(is_access && k == 0 && !is_closure))
                stay(f, operand);
        }
        for (uint32_t r = 0; r < bt_value_nregion(binding); r++)
            BT_TRY(look_at(f, bt_value_region(binding, r),
                           is_closure || binding->kind == BT_VALUE_CLOSURE));
    }
    return NULL;
}

/* A parameter goes where all calls pass a cell that goes, and the other way round. */
static void settle(const struct finding *f)
{
    for (int changed = 1; changed;) {
        changed = 0;
        for (uint32_t i = 0; i < f->calls.len; i++) {
            const struct call_site *site = &f->calls.at[i];
            for (uint32_t k = 0; k < site->call->narg; k++) {
                const bt_value *arg = site->call->args[k];
                const bt_value *param = &site->callee->func->block->params[k]->base;
                if (goes(f, arg) == goes(f, param))
                    continue;
                stay(f, arg);
                stay(f, param);
                changed = 1;
            }
        }
    }
}

static int has_rule(const bt_func *func)
{
    int any = 0;
    for (uint32_t i = 0; i < DERIVATIVE_NRULE; i++)
        any |= bt_dict_find(&func->attrs, derivative_rules[i]) != NULL;
    return any;
}

bt_status promote_find(bt_arena *arena, const bt_module *module, bt_map *out)
{
    struct finding f = { .arena = arena, .module = module };
    bt_map_init(&f.cells, arena, 0);
    bt_map_init(out, arena, 0);
    BT_TRY(find_cells(&f));
    for (uint32_t g = 0; g < module->nglobal; g++) {
        const bt_global *global = module->globals[g];
        if (global->kind == BT_GLOBAL_FUNC)
            BT_TRY(look_at(&f, global->func->block, 0));
        if (global->kind == BT_GLOBAL_FUNC && has_rule(global->func))
            stay_all(&f, global);
        if (global->kind == BT_GLOBAL_GRADIENT && bt_module_primal(module, global))
            stay_all(&f, bt_module_primal(module, global));
    }
    settle(&f);
    for (uint32_t i = 0; i < f.cells.len; i++) {
        const bt_map_entry *cell = &f.cells.at[i];
        if (cell->value && !bt_map_put(out, cell->key, cell->value))
            return bt_no_memory();
    }
    return NULL;
}
