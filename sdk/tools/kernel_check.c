/* A program's kernels against the evaluator: for authors of targets. */
#include "kernel_check.h"

#include <string.h>

#include <baton/baton.h>
#include <baton/compute.h>

struct leaves {
    uint32_t n;
    bt_tensor *const *at;
};
typedef bt_vec(bt_tensor *) tensor_list;

/* A primitive function of the program. */
struct primitive {
    const bt_func *func;
    bt_compiled *compiled;       /* it alone */
    const bt_lowering *lowering; /* NULL: it has no kernels */
    bt_evaluator *evaluator;
};

struct checker {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_targets *targets;
    const bt_module *module; /* fused */
    const bt_block *block;   /* of the entry */
    bt_object *const *args;
    bt_vec(struct primitive *) primitives;
    bt_map functions;     /* -> struct primitive * */
    bt_map values;        /* -> struct leaves * */
    tensor_list tensors;  /* all that were made */
    bt_status first;      /* fault */
    const bt_func *worst; /* of those that were right */
    struct kernel_check *result;
};

/* The primitive function that a binding calls. NULL: it is a tuple or a projection. */
static const bt_global *called(const struct checker *c, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    return call && call->callee && call->callee->kind == BT_VALUE_GLOBAL
               ? bt_module_find(c->module, call->callee->name)
               : NULL;
}

/* ---- code ---- */

static bt_status make_evaluator(struct checker *c, struct primitive *p)
{
    bt_text text;
    bt_text_init(&text, c->arena);
    BT_TRY(bt_evaluator_print(c->ctx, p->func, &text));
    return bt_evaluator_create(c->ctx, text.at, text.len, &p->evaluator);
}

static bt_status make_primitive(struct checker *c, const bt_global *global,
                                struct primitive **out)
{
    const bt_compile_options options = { .opened = c->targets };
    struct primitive *p = BT_NEW(c->arena, struct primitive);
    if (!p || !BT_PUSH(c->arena, &c->primitives, p))
        return bt_no_memory();
    p->func = global->func;
    BT_TRY(bt_compile_primitive(c->ctx, c->module, global, &options, &p->compiled,
                                &p->lowering));
    c->result->nkernel += p->compiled->nkernel;
    BT_TRY(make_evaluator(c, p));
    *out = p;
    return bt_map_put(&c->functions, global->func, p) ? NULL : bt_no_memory();
}

static bt_status find_primitive(struct checker *c, const bt_global *global,
                                struct primitive **out)
{
    *out = bt_map_find(&c->functions, global->func);
    return *out ? NULL : make_primitive(c, global, out);
}

/* ---- values ---- */

static bt_status keep(struct checker *c, bt_tensor *taken, tensor_list *out)
{
    if (!BT_PUSH(c->arena, &c->tensors, taken)) {
        bt_tensor_unref(taken);
        return bt_no_memory();
    }
    return BT_PUSH(c->arena, out, taken) ? NULL : bt_no_memory();
}

static bt_status set_leaves(struct checker *c, const bt_value *value,
                            const tensor_list *list)
{
    struct leaves *leaves = BT_NEW(c->arena, struct leaves);
    if (!leaves)
        return bt_no_memory();
    *leaves = (struct leaves){ list->len, list->at };
    return bt_map_put(&c->values, value, leaves) ? NULL : bt_no_memory();
}

/* Recursion is bounded by the depth of types. */
static bt_status add_object(struct checker *c, const bt_object *object, tensor_list *out)
{
    const bt_tuple *tuple = bt_object_as_tuple(object);
    bt_tensor *dense;
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++)
        BT_TRY(add_object(c, tuple->fields[i], out));
    if (tuple)
        return NULL;
    BT_TRY(bt_tensor_dense(c->ctx, bt_object_as_tensor(object), &dense));
    return keep(c, dense, out);
}

/* The leaves of a parameter, a binding or a constant, behind those of the list. */
static bt_status add_leaves(struct checker *c, const bt_value *value, tensor_list *out)
{
    const struct leaves *leaves = bt_map_find(&c->values, value);
    if (!leaves && value->kind == BT_VALUE_CONST)
        return add_object(c, bt_as_const(value)->object, out);
    for (uint32_t i = 0; leaves && i < leaves->n; i++) {
        if (!BT_PUSH(c->arena, out, leaves->at[i]))
            return bt_no_memory();
    }
    return leaves ? NULL
                  : bt_fail(c->ctx, BT_ERR_UNSUPPORTED,
                            "a value of this kind is not part of a compiled program");
}

static bt_status set_args(struct checker *c)
{
    for (uint32_t i = 0; i < c->block->nparam; i++) {
        tensor_list list = { 0 };
        BT_TRY(add_object(c, c->args[i], &list));
        BT_TRY(set_leaves(c, &c->block->params[i]->base, &list));
    }
    return NULL;
}

static bt_status pick_field(struct checker *c, const bt_proj *proj)
{
    const bt_list_type *type = bt_as_tuple_type(proj->tuple->type);
    tensor_list all = { 0 }, list = { 0 };
    uint32_t first = 0, n = bt_type_nleaf(proj->base.type);
    BT_TRY(add_leaves(c, proj->tuple, &all));
    for (uint32_t i = 0; i < proj->index; i++)
        first += bt_type_nleaf(type->at[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (!BT_PUSH(c->arena, &list, all.at[first + i]))
            return bt_no_memory();
    }
    return set_leaves(c, &proj->base, &list);
}

/* Tensors for the results of a call. */
static bt_status make_results(struct checker *c, const bt_type *type, tensor_list *out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    bt_tensor *made;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(make_results(c, tuple->at[i], out));
    if (tuple)
        return NULL;
    (void)bt_tensor_physical(type, &rank, dims); // they are numbers: it was compiled
    BT_TRY(bt_tensor_create(c->ctx, bt_tensor_dtype(type), rank, dims, &made));
    return keep(c, made, out);
}

/* ---- calls ---- */

static bt_status evaluate(struct checker *c, const struct primitive *p,
                          const tensor_list *in, const tensor_list *out)
{
    void **buffers = BT_NEWS(c->arena, void *, (size_t)in->len + out->len);
    if (!buffers)
        return bt_no_memory();
    for (uint32_t i = 0; i < in->len; i++)
        buffers[i] = in->at[i]->data;
    for (uint32_t i = 0; i < out->len; i++)
        buffers[in->len + i] = out->at[i]->data;
    const bt_kernel_call call = { .nbytes = sizeof(call), .buffers = buffers };
    bt_status status = bt_evaluator_run(c->ctx, p->evaluator, &call);
    return status ? bt_note(c->ctx, status, NULL, 0,
                            "the evaluator says so of @%s, whose kernels are not checked",
                            p->func->name)
                  : NULL;
}

static bt_status report(struct checker *c, const struct primitive *p, const char *fault)
{
    const bt_compiled *compiled = p->compiled;
    bt_status status = bt_fail(c->ctx, BT_ERR_PLUGIN, "target %s: @%s: %s",
                               compiled->targets[compiled->funcs[0]->target]->text,
                               p->func->name, fault);
    if (status->code != BT_ERR_PLUGIN)
        return status;
    bt_report(c->ctx, status);
    c->first = c->first ? c->first : status;
    c->result->nwrong++;
    return NULL;
}

/* The worst of those that were right. */
static void note_error(struct checker *c, const struct primitive *p, double error)
{
    if (error <= c->result->error)
        return;
    c->result->error = error;
    c->worst = p->func;
}

static bt_status check_launches(struct checker *c, const struct primitive *p,
                                const tensor_list *in, const tensor_list *out)
{
    const char *fault;
    double error;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(c->ctx));
    const struct kernel_call call = { .ctx = c->ctx,
                                      .arena = arena,
                                      .compiled = p->compiled,
                                      .lowering = p->lowering,
                                      .func = p->func,
                                      .nin = in->len,
                                      .nout = out->len,
                                      .in = in->at,
                                      .want = out->at };
    if (!arena)
        return bt_no_memory();
    bt_status status = check_kernel_call(&call, &fault, &error);
    c->result->ncall++;
    if (!status && fault)
        status = report(c, p, fault);
    else if (!status)
        note_error(c, p, error);
    bt_arena_destroy(arena);
    return status;
}

static bt_status check_call(struct checker *c, const bt_value *value,
                            const bt_global *global)
{
    const bt_call *call = bt_as_call(value);
    struct primitive *p;
    tensor_list in = { 0 }, out = { 0 };
    BT_TRY(find_primitive(c, global, &p));
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(add_leaves(c, call->args[i], &in));
    BT_TRY(make_results(c, value->type, &out));
    BT_TRY(evaluate(c, p, &in, &out));
    BT_TRY(set_leaves(c, value, &out));
    return p->lowering ? check_launches(c, p, &in, &out) : NULL;
}

/* Values are had by going through one block once. */
static bt_status refuse(struct checker *c, const bt_value *value, const char *what)
{
    return bt_fail_at(c->ctx, BT_ERR_UNSUPPORTED, c->module->store, value->span,
                      "kernels are checked of an entry that calls nothing but kernels; "
                      "found %s",
                      what);
}

static bt_status check_binding(struct checker *c, const bt_value *value)
{
    const bt_global *global = called(c, value);
    const bt_tuple_value *tuple = bt_as_tuple(value);
    tensor_list list = { 0 };
    if (bt_ctx_cancelled(c->ctx))
        return bt_fail(c->ctx, BT_ERR_CANCELLED, "cancelled");
    if (global && !bt_func_is_primitive(global->func))
        return refuse(c, value, "a call of a function with a body of its own");
    if (global)
        return check_call(c, value, global);
    if (value->kind != BT_VALUE_PROJ && !tuple)
        return refuse(c, value, "another value");
    if (value->kind == BT_VALUE_PROJ)
        return pick_field(c, bt_as_proj(value));
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++)
        BT_TRY(add_leaves(c, tuple->fields[i], &list));
    return set_leaves(c, value, &list);
}

static bt_status check_all(struct checker *c)
{
    BT_TRY(set_args(c));
    for (uint32_t i = 0; i < c->block->nbinding; i++)
        BT_TRY(check_binding(c, c->block->bindings[i]));
    if (!c->worst)
        return c->first;
    c->result->where = bt_arena_text(c->arena, c->worst->name, strlen(c->worst->name));
    return c->result->where ? c->first : bt_no_memory();
}

static void free_all(struct checker *c)
{
    for (uint32_t i = 0; i < c->primitives.len; i++) {
        bt_compiled_unref(c->primitives.at[i]->compiled);
        bt_evaluator_destroy(c->primitives.at[i]->evaluator);
    }
    for (uint32_t i = 0; i < c->tensors.len; i++)
        bt_tensor_unref(c->tensors.at[i]);
}

static bt_status check_entry(struct checker *c, const char *name)
{
    const bt_global *entry;
    BT_TRY(bt_module_entry(c->ctx, c->module, name, &entry));
    if (entry->func->nvar)
        return bt_fail_at(
            c->ctx, BT_ERR_UNSUPPORTED, c->module->store, entry->func->span,
            "kernels are checked where all dims are numbers: --dim gives them, or "
            "inputs do");
    c->block = entry->func->block;
    return check_all(c);
}

bt_status check_module_kernels(bt_ctx *ctx, bt_arena *arena, const bt_module *fused,
                               const char *entry, const bt_targets *targets,
                               bt_object *const *args, struct kernel_check *out)
{
    struct checker c = { .ctx = ctx,
                         .arena = arena,
                         .targets = targets,
                         .module = fused,
                         .args = args,
                         .result = out };
    *out = (struct kernel_check){ 0 };
    bt_map_init(&c.functions, arena, 0);
    bt_map_init(&c.values, arena, 0);
    bt_status status = check_entry(&c, entry);
    free_all(&c);
    return status;
}

bt_status check_kernels(bt_ctx *ctx, bt_arena *arena, bt_program *program,
                        struct kernel_check *out)
{
    bt_module *fused;
    bt_object *const *args;
    *out = (struct kernel_check){ 0 };
    BT_TRY(bt_program_fused(program, &fused));
    bt_status status = bt_program_args(program, &args);
    if (!status)
        status = check_module_kernels(ctx, arena, fused, bt_program_entry(program),
                                      bt_program_compiled(program)->opened, args, out);
    bt_module_unref(fused);
    return status;
}
