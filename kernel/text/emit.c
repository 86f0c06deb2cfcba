/* Drafts become nodes: one walk over the blocks, in order, with a builder. */
#include "text/draft.h"

#include "ir/builder.h"

typedef struct emitter {
    bt__parser *p;
    bt_builder *b;
    uint32_t is_typed; /* so far: every type is there and has no hole */
    bt_arena *arena;
} emitter;

static bt_status emit_block(emitter *e, bt__draft_block *block, const bt_block **out);

static const bt_type *note_type(emitter *e, const bt_type *type)
{
    if (!type || (type->has & BT_HAS_HOLE))
        e->is_typed = 0;
    return type;
}

/* ---- places ---- */

/* What a node's place is, as written or where it stands in the text. */
static bt_status resolve_place(emitter *e, const bt__draft_place *place, int has_prov,
                               bt_span *span, bt_prov *prov)
{
    bt__parser *p = e->p;
    *span = place->span;
    *prov = place->prov;
    if (place->is_given)
        return NULL;
    *span = bt_span_text(p->store, p->module->source, place->offset, place->nbytes);
    *prov = *span && has_prov ? bt_prov_new(p->store, *span) : 0;
    return *span && (*prov || !has_prov) ? NULL : bt_no_memory();
}

static bt_status set_place(emitter *e, const bt__draft_place *place, int has_prov)
{
    bt_span span;
    bt_prov prov;
    BT_TRY(resolve_place(e, place, has_prov, &span, &prov));
    bt_builder_at(e->b, span, prov);
    bt_builder_device(e->b, place->device);
    return NULL;
}

/* ---- operands ---- */

static bt_status emit_global(emitter *e, bt__draft *draft)
{
    const struct bt__draft_global *global =
        bt_map_find(&e->p->module->globals, draft->name);
    BT_TRY(set_place(e, &draft->place, 0));
    BT_TRY(bt_build_global(e->b, draft->name, &draft->value));
    // Not yet shared, and the module that would give the type is not there yet.
    bt_value *value = (bt_value *)(uintptr_t)draft->value;
    value->type = note_type(e, global->global.type);
    return NULL;
}

static bt_status not_visible(emitter *e, const bt__draft *used, const bt__draft *user)
{
    return bt__status_at(e->p, BT_ERR_NAME, user->place.offset, user->place.nbytes,
                         "%s%s is not visible in the block where all uses of this "
                         "graph node are",
                         used->name ? "%" : "an operand", used->name ? used->name : "");
}

static bt_status emit_operand(emitter *e, bt__draft *draft, const bt__draft *user,
                              const bt_value **out)
{
    if (draft->kind == BT_VALUE_CONST && !draft->value) {
        BT_TRY(set_place(e, &draft->place, 0));
        BT_TRY(bt_build_const(e->b, draft->u.object, &draft->value));
        ((bt_value *)(uintptr_t)draft->value)->name = draft->name;
    } else if (draft->kind == BT_VALUE_GLOBAL && !draft->value) {
        BT_TRY(emit_global(e, draft));
    } else if (!draft->value || (draft->block && !draft->block->is_open)) {
        return not_visible(e, draft, user);
    }
    *out = draft->value;
    return NULL;
}

static bt_status emit_operands(emitter *e, bt__draft *draft, const bt_value ***out)
{
    const bt_value **values = BT_NEWS(e->arena, const bt_value *, draft->noperand);
    if (!values)
        return bt_no_memory();
    for (uint32_t i = 0; i < draft->noperand; i++)
        BT_TRY(emit_operand(e, draft->operands[i], draft, &values[i]));
    *out = values;
    return NULL;
}

/* ---- functions ---- */

static bt_status emit_params(emitter *e, bt__draft_block *block, const bt_param ***out)
{
    const bt_param **params = BT_NEWS(e->arena, const bt_param *, block->params.len);
    if (!params)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->params.len; i++) {
        bt__draft *draft = block->params.at[i];
        BT_TRY(set_place(e, &draft->place, 0));
        BT_TRY(bt_build_param(e->b, draft->name, note_type(e, draft->type), &params[i]));
        draft->value = &params[i]->base;
    }
    *out = params;
    return NULL;
}

static bt_status emit_func(emitter *e, const bt__draft_func *draft, const bt_func **out)
{
    bt_func fields = {
        .name = draft->name,
        .nvar = draft->vars.len,
        .vars = draft->vars.at,
        .nwhere = draft->wheres.len,
        .wheres = draft->wheres.at,
        .result = draft->result,
        .attrs = { draft->attrs.len, draft->attrs.at },
    };
    bt_prov prov;
    BT_TRY(resolve_place(e, &draft->place, 0, &fields.span, &prov));
    BT_TRY(emit_block(e, draft->block, &fields.block));
    BT_TRY(bt_func_create(e->p->ctx, e->p->store, &fields, out));
    note_type(e, (*out)->result);
    return NULL;
}

/* The group that starts at `first`; its members follow each other in the block. */
static bt_status emit_closures(emitter *e, bt__draft *first)
{
    uint32_t n = first->u.func->ngroup, i = 0;
    const char **names = BT_NEWS(e->arena, const char *, n);
    const bt_type **types = BT_NEWS(e->arena, const bt_type *, n);
    const bt_value **values = BT_NEWS(e->arena, const bt_value *, n);
    if (!names || !types || !values)
        return bt_no_memory();
    for (bt__draft *draft = first; i < n; draft = draft->next, i++) {
        names[i] = draft->name;
        types[i] = note_type(e, draft->type);
    }
    BT_TRY(bt_build_closures(e->b, n, names, types, values));
    i = 0;
    for (bt__draft *draft = first; i < n; draft = draft->next, i++) {
        // The members of a group were made together; here each gets its own name and
        // place.
        bt_value *value = (bt_value *)(uintptr_t)values[i];
        BT_TRY(resolve_place(e, &draft->place, 1, &value->span, &value->prov));
        value->device = draft->place.device;
        draft->value = value;
    }
    i = 0;
    for (bt__draft *draft = first; i < n; draft = draft->next, i++) {
        const bt_func *func;
        BT_TRY(emit_func(e, draft->u.func, &func));
        BT_TRY(bt_build_closure_body(e->b, values[i], func));
    }
    return NULL;
}

/* ---- bindings ---- */

static bt_status emit_call(emitter *e, bt__draft *draft, const bt_value **operands)
{
    const bt__draft_call *from = draft->u.call;
    bt_call call = {
        .callee_kind = from->callee_kind,
        .op = from->op,
        .ctor = from->ctor,
        .attrs = from->attrs,
        .narg = draft->noperand,
        .args = operands,
        .ntype_arg = from->type_args.len,
        .type_args = from->type_args.at,
        .ncheck = from->checks.len,
        .checks = from->checks.at,
        .contents = from->contents,
    };
    if (from->callee_kind == BT_CALLEE_VALUE) {
        call.callee = operands[0];
        call.args++;
        call.narg--;
    }
    return bt_build_call(e->b, &call, &draft->value);
}

static bt_status emit_pattern(emitter *e, const bt__draft_pattern *draft,
                              const bt_pattern **out)
{
    bt_pattern fields = { .kind = draft->kind, .ctor = draft->ctor, .n = draft->at.len };
    const bt_pattern **at = BT_NEWS(e->arena, const bt_pattern *, draft->at.len);
    bt_prov prov;
    if (!at)
        return bt_no_memory();
    for (uint32_t i = 0; i < draft->at.len; i++)
        BT_TRY(emit_pattern(e, draft->at.at[i], &at[i]));
    BT_TRY(resolve_place(e, &draft->place, 0, &fields.span, &prov));
    fields.at = at;
    if (draft->var)
        fields.var = bt_as_param(draft->var->value);
    *out = bt_pattern_create(e->p->store, &fields);
    return *out ? NULL : bt_store_why(e->p->ctx, e->p->store);
}

static bt_status emit_match(emitter *e, bt__draft *draft, const bt_value *data)
{
    bt_clause *clauses = BT_NEWS(e->arena, bt_clause, draft->regions.len);
    if (!clauses)
        return bt_no_memory();
    for (uint32_t i = 0; i < draft->regions.len; i++) {
        BT_TRY(emit_block(e, draft->regions.at[i], &clauses[i].block));
        BT_TRY(emit_pattern(e, draft->u.clauses[i].pattern, &clauses[i].pattern));
    }
    // Regions used the presets: what this binding gets is set last.
    BT_TRY(set_place(e, &draft->place, 1));
    bt_builder_name(e->b, draft->name);
    bt_builder_type(e->b, draft->type);
    return bt_build_match(e->b, data, draft->regions.len, clauses, draft->otherwise,
                          &draft->value);
}

static bt_status emit_if(emitter *e, bt__draft *draft, const bt_value *condition)
{
    const bt_block *blocks[2];
    for (uint32_t i = 0; i < 2; i++)
        BT_TRY(emit_block(e, draft->regions.at[i], &blocks[i]));
    BT_TRY(set_place(e, &draft->place, 1));
    bt_builder_name(e->b, draft->name);
    bt_builder_type(e->b, draft->type);
    return bt_build_if(e->b, condition, blocks[0], blocks[1], &draft->value);
}

static bt_status emit_simple(emitter *e, bt__draft *draft, const bt_value **at)
{
    BT_TRY(set_place(e, &draft->place, 1));
    bt_builder_name(e->b, draft->name);
    bt_builder_type(e->b, draft->type);
    switch (draft->kind) {
    case BT_VALUE_CALL: return emit_call(e, draft, at);
    case BT_VALUE_TUPLE: return bt_build_tuple(e->b, draft->noperand, at, &draft->value);
    case BT_VALUE_PROJ: return bt_build_proj(e->b, at[0], draft->u.index, &draft->value);
    case BT_VALUE_REF: return bt_build_ref(e->b, at[0], &draft->value);
    case BT_VALUE_READ: return bt_build_read(e->b, at[0], &draft->value);
    case BT_VALUE_WRITE: return bt_build_write(e->b, at[0], at[1], &draft->value);
    default: return bt_fail(e->p->ctx, BT_ERR_INTERNAL, "a draft of no kind");
    }
}

static bt_status emit_binding(emitter *e, bt__draft *draft)
{
    const bt_value **operands;
    if (draft->kind == BT_VALUE_CLOSURE)
        return draft->u.func->ngroup ? emit_closures(e, draft) : NULL;
    note_type(e, draft->type);
    BT_TRY(emit_operands(e, draft, &operands));
    if (draft->kind == BT_VALUE_IF)
        return emit_if(e, draft, operands[0]);
    if (draft->kind == BT_VALUE_MATCH)
        return emit_match(e, draft, operands[0]);
    return emit_simple(e, draft, operands);
}

static bt_status emit_block(emitter *e, bt__draft_block *block, const bt_block **out)
{
    const bt_param **params;
    const bt_value *result;
    // Operands and the like live as long as the binding they are for.
    const void *mark;
    BT_TRY(emit_params(e, block, &params));
    BT_TRY(bt_block_begin(e->b, block->params.len, params));
    block->is_open = 1;
    for (bt__draft *draft = block->first; draft; draft = draft->next) {
        mark = bt_arena_mark(e->arena);
        BT_TRY(emit_binding(e, draft));
        bt_arena_release(e->arena, mark);
    }
    BT_TRY(emit_operand(e, block->result, block->result, &result));
    block->is_open = 0;
    return bt_block_end(e->b, result, out);
}

/* ---- the module ---- */

/* The type of a use of a function, from its head alone; NULL where it does not say. */
static bt_status type_of_func(bt__parser *p, const bt__draft_func *func,
                              const bt_type **out)
{
    const bt__draft_block *block = func->block;
    const bt_type **args = BT_NEWS(p->arena, const bt_type *, block->params.len);
    if (!args)
        return bt_no_memory();
    int is_known = func->result && !(func->result->has & BT_HAS_HOLE);
    for (uint32_t i = 0; i < block->params.len && is_known; i++) {
        args[i] = block->params.at[i]->type;
        is_known = args[i] && !(args[i]->has & BT_HAS_HOLE);
    }
    *out = NULL;
    if (!is_known)
        return NULL;
    *out = bt_func_type_close(p->store, func->vars.len, func->vars.at, block->params.len,
                              args, func->result, func->wheres.len, func->wheres.at);
    return *out ? NULL : bt_store_why(p->ctx, p->store);
}

static bt_status set_types(bt__parser *p)
{
    bt_map *globals = &p->module->globals;
    for (uint32_t i = 0; i < globals->len; i++) {
        struct bt__draft_global *global = globals->at[i].value;
        if (global->func)
            BT_TRY(type_of_func(p, global->func, &global->global.type));
        if (global->value)
            global->global.type = bt__const_type(p->store, global->value->u.object);
    }
    return NULL;
}

/* Attributes that name functions were left empty until these have types. */
static bt_status set_func_attrs(emitter *e)
{
    bt_map *attrs = &e->p->module->func_attrs;
    for (uint32_t i = 0; i < attrs->len; i++) {
        const bt_value **member = (const bt_value **)(uintptr_t)attrs->at[i].key;
        bt__draft draft = { .kind = BT_VALUE_GLOBAL, .name = attrs->at[i].value };
        BT_TRY(emit_global(e, &draft));
        *member = draft.value;
    }
    return NULL;
}

static bt_status emit_definition(emitter *e, struct bt__draft_global *draft)
{
    bt_prov prov;
    bt_global *global = &draft->global;
    bt__set_text(e->p, draft->in);
    BT_TRY(resolve_place(e, &draft->place, 0, &global->span, &prov));
    global->attrs = (bt_dict){ draft->attrs.len, draft->attrs.at };
    if (draft->func)
        BT_TRY(emit_func(e, draft->func, &global->func));
    else
        note_type(e, global->type);
    if (draft->value)
        BT_TRY(emit_operand(e, draft->value, draft->value, &global->value));
    return bt_module_builder_set(e->p->module->builder, global, 1);
}

static bt_status emit_all(emitter *e)
{
    bt__module_draft *module = e->p->module;
    BT_TRY(set_types(e->p));
    BT_TRY(set_func_attrs(e));
    for (uint32_t i = 0; i < module->globals.len; i++)
        BT_TRY(emit_definition(e, module->globals.at[i].value));
    bt_module_builder_set_attrs(module->builder,
                                (bt_dict){ module->attrs.len, module->attrs.at });
    return NULL;
}

bt_status bt__emit_module(bt__parser *p, bt_module **out)
{
    // Without #[typed] types are annotations, which inference has yet to check.
    emitter e = { .p = p, .is_typed = p->module->is_typed };
    e.arena = bt_arena_create(bt_ctx_registry(p->ctx));
    if (!e.arena)
        return bt_no_memory();
    bt_status status = bt__builder_create(p->ctx, p->store, NULL, NULL, &e.b);
    if (!status) {
        status = emit_all(&e);
        bt_builder_destroy(e.b);
    }
    bt_arena_destroy(e.arena);
    if (status)
        return status;
    bt_module_builder *builder = p->module->builder;
    p->module->builder = NULL;
    return bt_module_builder_finish(builder, (int)e.is_typed, out);
}
