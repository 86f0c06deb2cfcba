/* A program's kernels against the evaluator: for authors of targets. */
#include "compile/check/check.h"

#include <string.h>

#include <baton/baton.h>
#include <baton/compute.h>

#include "compile/program/program.h"

struct leaves {
    uint32_t n;
    bt_tensor *const *at;
};
typedef bt_vec(bt_tensor *) tensor_list;

struct checker {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_program *program;
    const bt_module *module; /* fused */
    const bt_block *block;   /* of the entry */
    struct bt__kernels kernels;
    void **loaded;     /* by target */
    uint32_t *numbers; /* launch's, by kernel */
    bt_evaluator *evaluator;
    bt_map functions;    /* -> 1 + number of the evaluator's */
    bt_map values;       /* -> struct leaves * */
    tensor_list tensors; /* all that were made */
    bt_status first;     /* fault */
    bt_kernel_check result;
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

static void unload(struct checker *c)
{
    for (uint32_t i = 0; c->loaded && i < c->kernels.ntarget; i++) {
        bt__unload_code(c->kernels.targets[i], c->loaded[i]);
        c->loaded[i] = NULL;
    }
}

static bt_status place_all(struct checker *c)
{
    for (uint32_t i = 0; i < c->block->nbinding; i++) {
        const bt_global *global = called(c, c->block->bindings[i]);
        const struct bt__primitive *p;
        int is_view = 1;
        if (global)
            BT_TRY(bt__func_is_view(c->ctx, c->arena, global->func, &is_view));
        if (!is_view)
            BT_TRY(bt__place_primitive(&c->kernels, c->module->store, global, &p));
    }
    return NULL;
}

static bt_status load_target(struct checker *c, uint32_t target)
{
    struct bt__kernels *k = &c->kernels;
    const bt_kernel **own = BT_NEWS(c->arena, const bt_kernel *, k->kernels.len);
    uint32_t n = 0;
    bt_kernel_code *const *codes;
    if (!own)
        return bt_no_memory();
    for (uint32_t i = 0; i < k->kernels.len; i++) {
        if (k->kernels.at[i]->target != target)
            continue;
        c->numbers[i] = n;
        own[n++] = k->kernels.at[i];
    }
    return n ? bt__make_code(k, c->arena, target, BT_CODE_ANY, n, own, &codes,
                             &c->loaded[target])
             : NULL;
}

static bt_status try_load(struct checker *c)
{
    BT_TRY(place_all(c));
    c->numbers = BT_NEWS(c->arena, uint32_t, c->kernels.kernels.len);
    if (!c->numbers)
        return bt_no_memory();
    for (uint32_t i = 0; i < c->kernels.ntarget; i++)
        BT_TRY(load_target(c, i));
    return NULL;
}

/* As bt_compile: a target that makes no code of what it had taken is not asked again. */
static bt_status load_kernels(struct checker *c)
{
    const bt_compiled *compiled = c->program->compiled;
    uint8_t *refused = BT_NEWS(c->arena, uint8_t, compiled->ntarget);
    c->loaded = BT_NEWS(c->arena, void *, compiled->ntarget);
    if (!refused || !c->loaded)
        return bt_no_memory();
    for (;;) {
        c->kernels = (struct bt__kernels){ .ctx = c->ctx,
                                           .arena = c->arena,
                                           .opened = compiled->opened,
                                           .ntarget = compiled->ntarget,
                                           .targets = compiled->targets,
                                           .refused = refused };
        bt_map_init(&c->kernels.primitives, c->arena, 0);
        bt_status status = try_load(c);
        if (!status || !c->kernels.refusing)
            return status;
        refused[c->kernels.refusing - 1] = 1;
        unload(c);
    }
}

static bt_status make_evaluator(struct checker *c)
{
    const bt_func **all = BT_NEWS(c->arena, const bt_func *, c->block->nbinding);
    uint32_t n = 0;
    bt_text text;
    bt_text_init(&text, c->arena);
    if (!all)
        return bt_no_memory();
    for (uint32_t i = 0; i < c->block->nbinding; i++) {
        const bt_global *global = called(c, c->block->bindings[i]);
        if (!global || bt_map_find(&c->functions, global->func))
            continue;
        all[n++] = global->func;
        if (!bt_map_put(&c->functions, global->func, (void *)(uintptr_t)n))
            return bt_no_memory();
    }
    BT_TRY(bt_evaluator_print(c->ctx, n, all, &text));
    return bt_evaluator_create(c->ctx, text.at, text.len, &c->evaluator);
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
    const bt_program *p = c->program;
    for (uint32_t i = 0; i < c->block->nparam; i++) {
        tensor_list list = { 0 };
        BT_TRY(add_object(c, p->args[i], &list));
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

static bt_status evaluate(struct checker *c, const bt_func *func, const tensor_list *in,
                          const tensor_list *out)
{
    uint32_t number = (uint32_t)(uintptr_t)bt_map_find(&c->functions, func) - 1;
    void **buffers = BT_NEWS(c->arena, void *, (size_t)in->len + out->len);
    if (!buffers)
        return bt_no_memory();
    for (uint32_t i = 0; i < in->len; i++)
        buffers[i] = in->at[i]->data;
    for (uint32_t i = 0; i < out->len; i++)
        buffers[in->len + i] = out->at[i]->data;
    const bt_kernel_call call = { .nbytes = sizeof(call), .buffers = buffers };
    bt_status status = bt_evaluator_run(c->ctx, c->evaluator, number, &call);
    return status ? bt_note(c->ctx, status, NULL, 0,
                            "the evaluator says so of @%s, whose kernels are not checked",
                            func->name)
                  : NULL;
}

static bt_status report(struct checker *c, const struct bt__primitive *p,
                        const char *fault)
{
    bt_status status = bt_fail(c->ctx, BT_ERR_PLUGIN, "target %s: @%s: %s",
                               c->kernels.targets[p->target]->text, p->func->name, fault);
    if (status->code != BT_ERR_PLUGIN)
        return status;
    bt_report(c->ctx, status);
    c->first = c->first ? c->first : status;
    c->result.nwrong++;
    return NULL;
}

/* The worst of those that were right; the program has a function of that name too. */
static void note_error(struct checker *c, const struct bt__primitive *p, double error)
{
    const bt_compiled *compiled = c->program->compiled;
    if (error <= c->result.error)
        return;
    c->result.error = error;
    for (uint32_t i = 0; i < compiled->nfunc; i++) {
        if (strcmp(compiled->funcs[i]->name, p->func->name) == 0)
            c->result.where = compiled->funcs[i]->name;
    }
}

static bt_status check_kernels(struct checker *c, const struct bt__primitive *p,
                               const tensor_list *in, const tensor_list *out)
{
    const char *fault;
    double error;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(c->ctx));
    const struct bt__check_call call = { .ctx = c->ctx,
                                         .arena = arena,
                                         .use = c->kernels.targets[p->target],
                                         .loaded = c->loaded[p->target],
                                         .primitive = p,
                                         .kernels = c->kernels.kernels.at + p->first,
                                         .numbers = c->numbers + p->first,
                                         .nin = in->len,
                                         .nout = out->len,
                                         .in = in->at,
                                         .want = out->at };
    if (!arena)
        return bt_no_memory();
    bt_status status = bt__check_call(&call, &fault, &error);
    c->result.ncall++;
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
    const struct bt__primitive *p = bt_map_find(&c->kernels.primitives, global);
    tensor_list in = { 0 }, out = { 0 };
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(add_leaves(c, call->args[i], &in));
    BT_TRY(make_results(c, value->type, &out));
    BT_TRY(evaluate(c, global->func, &in, &out));
    BT_TRY(set_leaves(c, value, &out));
    return p ? check_kernels(c, p, &in, &out) : NULL;
}

static bt_status check_binding(struct checker *c, const bt_value *value)
{
    const bt_global *global = called(c, value);
    const bt_tuple_value *tuple = bt_as_tuple(value);
    tensor_list list = { 0 };
    if (bt_ctx_cancelled(c->ctx))
        return bt_fail(c->ctx, BT_ERR_CANCELLED, "cancelled");
    if (global)
        return check_call(c, value, global);
    if (value->kind == BT_VALUE_PROJ)
        return pick_field(c, bt_as_proj(value));
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++)
        BT_TRY(add_leaves(c, tuple->fields[i], &list));
    return set_leaves(c, value, &list);
}

static bt_status check_all(struct checker *c)
{
    BT_TRY(load_kernels(c));
    BT_TRY(make_evaluator(c));
    BT_TRY(set_args(c));
    for (uint32_t i = 0; i < c->block->nbinding; i++)
        BT_TRY(check_binding(c, c->block->bindings[i]));
    c->result.nkernel = c->kernels.kernels.len;
    return c->first;
}

static void free_all(struct checker *c)
{
    unload(c);
    bt_evaluator_destroy(c->evaluator);
    for (uint32_t i = 0; i < c->tensors.len; i++)
        bt_tensor_unref(c->tensors.at[i]);
}

static bt_status fuse_and_check(struct checker *c)
{
    const bt_global *entry;
    bt_module *fused;
    const bt_compile_options options = { .opened = c->program->compiled->opened,
                                         .fuse = c->program->fuse };
    BT_TRY(bt_fuse(c->ctx, c->program->module, &options, &fused));
    c->module = fused;
    bt_status status = bt_module_entry(c->ctx, fused, c->program->entry->name, &entry);
    if (!status) {
        c->block = entry->func->block;
        status = check_all(c);
    }
    free_all(c);
    bt_module_unref(fused);
    return status;
}

bt_status bt_program_check_kernels(bt_program *program, bt_kernel_check *out)
{
    bt_ctx *ctx = program->ctx;
    *out = (bt_kernel_check){ 0 };
    if (!program->compiled || program->is_artifact)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "kernels are checked of a model that is compiled here: give the "
                       "model, a target and executor graph");
    BT_TRY(bt__program_inputs_set(program));
    BT_TRY(bt_check_args(ctx, program->module, program->entry, program->ninput,
                         program->args, NULL));
    if (program->entry->func->nvar)
        return bt_fail(
            ctx, BT_ERR_UNSUPPORTED,
            "kernels are checked where all dims are numbers: --dim gives them, or "
            "inputs do");
    struct checker c = { .ctx = ctx, .program = program };
    c.arena = bt_arena_create(bt_ctx_registry(ctx));
    if (!c.arena)
        return bt_no_memory();
    bt_map_init(&c.functions, c.arena, 0);
    bt_map_init(&c.values, c.arena, 0);
    bt_status status = fuse_and_check(&c);
    bt_arena_destroy(c.arena);
    *out = c.result;
    return status;
}
