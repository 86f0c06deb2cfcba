/* Types of external functions. */
#include "ir/store.h"
#include "solve/solver.h"

/* `?` in an argument is a dim parameter, in the result another dim for each call. */
bt_status bt__extern_type(bt_solver *s, const bt_global *global, const bt_type **out)
{
    const bt_func_type *stated = global->type ? bt_as_func_type(global->type) : NULL;
    const bt_func func = { .span = global->span };
    struct bt__function f = { .func = &func };
    const bt_type *result;
    if (!stated)
        return bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, global->span,
                          "@%s is an external function: its type must be written",
                          global->name);
    bt_map_init(&f.names, s->arena, 0);
    for (uint32_t i = 0; i < stated->nparam; i++) {
        const bt_type *var = bt_type_var(s->store, &stated->params[i], NULL);
        if (!var || !BT_PUSH(s->arena, &f.vars, var))
            return bt_no_memory();
    }
    const bt_func_type *open = bt_func_type_open(s->store, stated, f.vars.at);
    const bt_type **args = BT_NEWS(s->arena, const bt_type *, stated->narg);
    if (!open || !args)
        return bt_store_why(s->ctx, s->store);
    for (uint32_t i = 0; i < open->narg; i++)
        BT_TRY(bt__annotate(s, &f, open->args[i], ANNOTATE_PARAM, 0, NULL, &args[i]));
    BT_TRY(bt__annotate(s, &f, open->result, ANNOTATE_DECLARED, 0, NULL, &result));
    *out = bt_func_type_close(s->store, f.vars.len, f.vars.at, open->narg, args, result,
                              open->nwhere, open->wheres);
    if (!*out)
        return bt_store_why(s->ctx, s->store);
    if ((*out)->has & BT_HAS_HOLE)
        return bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, global->span,
                          "@%s is an external function: its type must be written with "
                          "nothing but dims left out",
                          global->name);
    return NULL;
}
