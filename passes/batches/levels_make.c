/* The data types and functions of a function that is computed by levels. */
#include "batches/levels_code.h"
#include "common/names.h"
#include "common/vars.h"

static bt_status name(struct levels *l, const char *what, int is_ctor, const char **out)
{
    return name_new(l->module, l->arena, is_ctor ? l->taken_ctors : l->taken, out,
                    "%s.%s", l->of->name, what);
}

static bt_status declare_data(struct levels_code *m, bt_module_builder *builder,
                              const char *what, bt_adt_def **out)
{
    const bt_func *func = m->l->of->func;
    const bt_type **vars;
    const char *own;
    BT_TRY(vars_like(m->l->ctx, m->l->arena, m->store, func->nvar, func->vars, &vars));
    BT_TRY(name(m->l, what, 0, &own));
    return bt_module_builder_declare_adt(builder, own, func->span, func->nvar, vars, out);
}

bt_status levels_declare(struct levels *l, bt_module_builder *builder)
{
    struct levels_code m = { .l = l, .store = l->module->store };
    const bt_type *number_type = bt_type_scalar(m.store, BT_INT64);
    levels_types one = { 0 }, list = { 0 }, loop = { 0 };
    BT_TRY(declare_data(&m, builder, "nodes", &l->nodes));
    BT_TRY(declare_data(&m, builder, "rows", &l->rows));
    BT_TRY(name(l, "number", 0, &l->number));
    BT_TRY(name(l, "forest", 0, &l->forest));
    BT_TRY(name(l, "levels", 0, &l->loop));
    BT_TRY(levels_push(&m, &one, l->match->data->type));
    BT_TRY(levels_push(&m, &one, number_type));
    BT_TRY(levels_push(&m, &list, &l->list->base));
    BT_TRY(levels_push(&m, &list, number_type));
    BT_TRY(levels_loop_types(&m, &loop));
    BT_TRY(
        levels_declare_func(&m, builder, l->number, &one, levels_instance(&m, l->nodes)));
    BT_TRY(levels_declare_func(&m, builder, l->forest, &list,
                               levels_instance(&m, l->nodes)));
    BT_TRY(
        levels_declare_func(&m, builder, l->loop, &loop, levels_instance(&m, l->rows)));
    for (uint32_t i = 0; i < l->nctor; i++) {
        levels_types side = { 0 };
        BT_TRY(name(l, l->ctors[i].ctor->name, 0, &l->ctors[i].side));
        BT_TRY(levels_side_types(&m, &l->ctors[i], &side));
        BT_TRY(levels_declare_func(&m, builder, l->ctors[i].side, &side,
                                   l->of->func->result));
    }
    return NULL;
}

static bt_status define_data(struct levels_code *m, bt_module_builder *builder)
{
    levels_types nodes = { 0 }, rows = { 0 };
    bt_ctor ctors[2] = { { 0 } };
    m->terms = m->l->nodes->vars;
    BT_TRY(levels_node_types(m, 1, &nodes));
    m->terms = m->l->rows->vars;
    BT_TRY(levels_row_types(m, 1, &rows));
    m->terms = NULL;
    BT_TRY(name(m->l, "Nodes", 1, &ctors[0].name));
    BT_TRY(name(m->l, "Rows", 1, &ctors[1].name));
    ctors[0].nfield = nodes.len;
    ctors[0].fields = nodes.at;
    ctors[1].nfield = rows.len;
    ctors[1].fields = rows.at;
    BT_TRY(bt_module_builder_define_adt(builder, m->l->nodes, 1, &ctors[0]));
    return bt_module_builder_define_adt(builder, m->l->rows, 1, &ctors[1]);
}

static bt_status define_funcs(struct levels_code *m, bt_module_builder *builder)
{
    BT_TRY(levels_define_number(m, builder));
    BT_TRY(levels_define_forest(m, builder));
    BT_TRY(levels_define_loop(m, builder));
    for (uint32_t i = 0; i < m->l->nctor; i++)
        BT_TRY(levels_define_side(m, &m->l->ctors[i], builder));
    return NULL;
}

bt_status levels_define(struct levels *l, bt_module_builder *builder)
{
    struct levels_code m = { .l = l, .store = l->module->store };
    BT_TRY(define_data(&m, builder));
    BT_TRY(bt_builder_create(l->ctx, m.store, l->declared, &m.b));
    m.chain.builder = m.b;
    bt_status status = define_funcs(&m, builder);
    bt_builder_destroy(m.b);
    return status;
}

bt_status levels_call(struct levels *l, bt_builder *b, const bt_type *const *type_args,
                      const bt_value *const *args, const bt_value **out)
{
    struct levels_code m = { .l = l,
                             .b = b,
                             .store = l->module->store,
                             .chain = { .builder = b },
                             .terms = l->of->func->nvar ? type_args : NULL };
    levels_values given = { 0 }, nodes = { 0 }, shared = { 0 }, rows = { 0 },
                  done = { 0 };
    levels_types leaves = { 0 };
    const bt_value *forest, *now;
    BT_TRY(levels_add(&m, &given, args[l->param]));
    BT_TRY(levels_add(&m, &given, levels_int(&m, 0)));
    BT_TRY(levels_build_call(&m, l->forest, &given, &forest));
    BT_TRY(levels_open_nodes(&m, forest, &nodes));
    for (uint32_t i = 0; i < l->of->func->block->nparam; i++) {
        if (i != l->param)
            BT_TRY(levels_add(&m, &shared, args[i]));
    }
    const bt_value *const ends[] = { levels_int(&m, 0), nodes.at[1], levels_int(&m, 1) };
    BT_TRY(m.chain.status);
    BT_TRY(bt_build(b, "arange", "dtype=\"int64\"", ends, 3, &now));
    BT_TRY(levels_row_types(&m, 0, &leaves));
    for (uint32_t i = 0; i < leaves.len; i++) {
        const bt_value *row;
        BT_TRY(levels_zeros(&m, now, leaves.at[i], &row));
        BT_TRY(levels_add(&m, &rows, row));
    }
    for (uint32_t i = 0; i < l->nctor; i++) {
        if (!l->ctors[i].nbelow)
            BT_TRY(levels_step(&m, i, &nodes, &shared, NULL, &rows));
    }
    BT_TRY(levels_construct(&m, l->rows, &rows, &now));
    given = (levels_values){ 0 };
    BT_TRY(levels_add(&m, &given, levels_int(&m, 1)));
    BT_TRY(levels_add(&m, &given, forest));
    BT_TRY(levels_add(&m, &given, now));
    for (uint32_t i = 0; i < shared.len; i++)
        BT_TRY(levels_add(&m, &given, shared.at[i]));
    BT_TRY(levels_build_call(&m, l->loop, &given, &now));
    BT_TRY(levels_open_rows(&m, now, &done));
    BT_TRY(levels_rows_at(&m, &done, nodes.at[2], &now));
    return levels_end_matches(&m, 0, now, out);
}
