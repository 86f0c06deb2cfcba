/* A program's kernels against the evaluator: for authors of targets. */
#include "kernel_check.h"

#include <math.h>
#include <string.h>

#include <baton/baton.h>
#include <baton/compute.h>
#include <baton/executor.h>
#include <baton/plugin.h>

typedef bt_vec(bt_tensor *) tensor_list;

/* A primitive function of the program. */
struct primitive {
    const bt_global *global;
    bt_compiled *compiled;       /* it alone */
    const bt_lowering *lowering; /* NULL: it has no kernels */
    bt_evaluator *evaluator;
    uint32_t ncall;
    struct kernel_error error;
};

struct checker {
    bt_ctx *ctx;
    bt_arena *arena; /* its own: interp takes back what lies in the scratch arena */
    const bt_targets *targets;
    const bt_module *module; /* fused */
    bt_vec(struct primitive *) primitives;
    bt_map functions;     /* -> struct primitive * */
    bt_status first;      /* fault */
    const bt_func *worst; /* of those that were right */
    struct kernel_check *result;
};

/* A call of one, of which interp stands before the binding. */
struct checked_call {
    struct checker *checker;
    bt_ctx *ctx;
    const bt_call *call;
    struct primitive *primitive;
    bt_arena *arena;
    const bt_stop *stop;
    int64_t *dims; /* values of the function's type parameters */
    bt_vec(bt_object *) held;
    tensor_list in, out;      /* leaves, as they lie in memory */
    bt_vec(uint8_t) constant; /* of each of in: it is one of the program */
};

/* The primitive function that a binding calls. NULL: it is something else. */
static const bt_global *called(const struct checker *c, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    return call ? bt_module_primitive(c->module, call) : NULL;
}

/* ---- code ---- */

static bt_status make_evaluator(struct checker *c, struct primitive *p)
{
    bt_text text;
    bt_text_init(&text, c->arena);
    BT_TRY(bt_evaluator_print(c->ctx, p->global->func, &text));
    return bt_evaluator_create(c->ctx, text.at, text.len, &p->evaluator);
}

static bt_status make_primitive(struct checker *c, const bt_global *global,
                                struct primitive **out)
{
    const bt_compile_options options = { .opened = c->targets };
    struct primitive *p = BT_NEW(c->arena, struct primitive);
    if (!p || !BT_PUSH(c->arena, &c->primitives, p))
        return bt_no_memory();
    p->global = global;
    BT_TRY(bt_compile_primitive(c->ctx, c->module, global, &options, &p->compiled,
                                &p->lowering));
    c->result->nkernel += p->compiled->nkernel;
    if (p->lowering)
        BT_TRY(make_evaluator(c, p));
    *out = p;
    return bt_map_put(&c->functions, global->func, p) ? NULL : bt_no_memory();
}

static uint32_t target_of(const struct primitive *p)
{
    return p->compiled->funcs[0]->target;
}

static bt_status find_primitive(struct checker *c, const bt_global *global,
                                struct primitive **out)
{
    *out = bt_map_find(&c->functions, global->func);
    return *out ? NULL : make_primitive(c, global, out);
}

/* ---- values ---- */

static bt_status hold(struct checked_call *k, bt_object *taken)
{
    if (BT_PUSH(k->arena, &k->held, taken))
        return NULL;
    bt_object_unref(taken);
    return bt_no_memory();
}

/* The element of a tensor that lies at this index of memory; -1: beyond the tensor, in a
 * block that is not full. */
static int64_t element_at(const bt_layout *layout, const bt_tensor *logical,
                          const int64_t *index)
{
    int64_t at[BT_MAX_RANK] = { 0 }, element = 0;
    for (uint32_t i = 0; i < layout->nphysical; i++) {
        const struct bt_layout_axis *axis = &layout->physical[i];
        at[axis->axis] = at[axis->axis] * (axis->factor ? axis->factor : 1) + index[i];
    }
    for (uint32_t i = 0; i < logical->rank; i++) {
        if (at[i] >= logical->dims[i])
            return -1;
        element = element * logical->dims[i] + at[i];
    }
    return element;
}

/* interp has all tensors row major; kernels have them by their layouts. */
static bt_status lay_out(bt_ctx *ctx, const bt_tensor *logical, const bt_type *type,
                         bt_tensor **out)
{
    const bt_layout *layout = bt_type_layout(type);
    const size_t size = bt_dtype_nbytes(logical->dtype);
    int64_t dims[BT_MAX_RANK], index[BT_MAX_RANK] = { 0 };
    uint32_t rank;
    (void)bt_tensor_physical(type, &rank, dims); // they are numbers where it has a layout
    BT_TRY(bt_tensor_create(ctx, logical->dtype, rank, dims, out));
    for (int64_t i = 0; i < (*out)->nelem; i++) {
        const int64_t from = element_at(layout, logical, index);
        if (from >= 0 && !size)
            bt_packed_set(
                (*out)->data, i, (int)BT_DTYPE_BITS(logical->dtype),
                bt_packed_get(logical->data, from, (int)BT_DTYPE_BITS(logical->dtype)));
        else if (from >= 0)
            memcpy((char *)(*out)->data + (size_t)i * size,
                   (const char *)logical->data + (size_t)from * size, size);
        else if (size)
            memset((char *)(*out)->data + (size_t)i * size, 0, size);
        for (uint32_t axis = rank; axis-- > 0 && ++index[axis] == dims[axis];)
            index[axis] = 0;
    }
    return NULL;
}

/* The leaves of an argument. Recursion is bounded by the depth of types. */
static bt_status add_leaves(struct checked_call *k, const bt_object *object,
                            const bt_type *type, int is_constant)
{
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const bt_list_type *types = bt_as_tuple_type(type);
    bt_tensor *dense, *laid;
    for (uint32_t i = 0; tuple && types && i < tuple->nfield; i++)
        BT_TRY(add_leaves(k, tuple->fields[i], types->at[i], is_constant));
    if (tuple)
        return NULL;
    BT_TRY(bt_tensor_dense(k->ctx, bt_object_as_tensor(object), &dense));
    BT_TRY(hold(k, &dense->base));
    if (bt_type_layout(type)) {
        BT_TRY(lay_out(k->ctx, dense, type, &laid));
        BT_TRY(hold(k, &laid->base));
        dense = laid;
    }
    return BT_PUSH(k->arena, &k->in, dense) &&
                   BT_PUSH(k->arena, &k->constant, (uint8_t)is_constant)
               ? NULL
               : bt_no_memory();
}

static bt_status read_arg(struct checked_call *k, const bt_value *value, bt_object **out)
{
    const bt_const *constant = bt_as_const(bt_module_constant(k->checker->module, value));
    if (constant)
        *out = bt_object_ref(constant->object);
    else
        BT_TRY(k->stop->look(k->ctx, k->stop->frame, value, out));
    return *out ? hold(k, *out)
                : bt_fail_at(k->ctx, BT_ERR_INTERNAL, k->checker->module->store,
                             k->call->base.span, "an argument has no value yet");
}

/* *is_shown 0: a size of the call is in none of its arguments. */
static bt_status read_args(struct checked_call *k, int *is_shown)
{
    const bt_func *func = k->primitive->global->func;
    bt_object **args = BT_NEWS(k->arena, bt_object *, k->call->narg);
    k->dims = BT_NEWS(k->arena, int64_t, func->nvar);
    if (!args || !k->dims)
        return bt_no_memory();
    for (uint32_t i = 0; i < k->call->narg; i++)
        BT_TRY(read_arg(k, k->call->args[i], &args[i]));
    BT_TRY(bt_check_args(k->ctx, k->checker->module, k->primitive->global, k->call->narg,
                         args, k->dims));
    *is_shown = 1;
    for (uint32_t i = 0; i < func->nvar; i++)
        *is_shown &= k->dims[i] >= 0;
    for (uint32_t i = 0; *is_shown && i < k->call->narg; i++)
        BT_TRY(add_leaves(k, args[i], func->block->params[i]->base.type,
                          bt_as_const(bt_module_constant(k->checker->module,
                                                         k->call->args[i])) != NULL));
    return NULL;
}

/* Tensors for the results of the call. */
static bt_status make_results(struct checked_call *k, const bt_type *type)
{
    const bt_func *func = k->primitive->global->func;
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    bt_tensor *made;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(make_results(k, tuple->at[i]));
    if (tuple)
        return NULL;
    if (!bt_tensor_physical(type, &rank, dims)) {
        rank = shape->n;
        for (uint32_t i = 0; i < rank; i++)
            BT_TRY(
                value_of_dim(k->ctx, k->arena, func, k->dims, shape->dims[i], &dims[i]));
    }
    BT_TRY(bt_tensor_create(k->ctx, bt_tensor_dtype(type), rank, dims, &made));
    BT_TRY(hold(k, &made->base));
    return BT_PUSH(k->arena, &k->out, made) ? NULL : bt_no_memory();
}

/* ---- calls ---- */

static bt_status evaluate(struct checked_call *k)
{
    const uint32_t nin = k->in.len, nout = k->out.len;
    const struct primitive *p = k->primitive;
    void **buffers = BT_NEWS(k->arena, void *, (size_t)nin + nout);
    if (!buffers)
        return bt_no_memory();
    for (uint32_t i = 0; i < nin; i++)
        buffers[i] = k->in.at[i]->data;
    for (uint32_t i = 0; i < nout; i++)
        buffers[nin + i] = k->out.at[i]->data;
    const bt_kernel_call call = { .nbytes = sizeof(call),
                                  .buffers = buffers,
                                  .dims = k->dims,
                                  .ndim = p->global->func->nvar };
    bt_status status = bt_evaluator_run(k->ctx, p->evaluator, &call);
    return status ? bt_note(k->ctx, status, NULL, 0,
                            "the evaluator says so of @%s, whose kernels are not checked",
                            p->global->name)
                  : NULL;
}

static bt_status report(struct checker *c, const struct primitive *p, const char *fault)
{
    const bt_compiled *compiled = p->compiled;
    bt_status status =
        bt_fail(c->ctx, BT_ERR_PLUGIN, "target %s: @%s: %s",
                compiled->targets[target_of(p)]->text, p->global->name, fault);
    if (status->code != BT_ERR_PLUGIN)
        return status;
    bt_report(c->ctx, status);
    c->first = c->first ? c->first : status;
    c->result->nwrong++;
    return NULL;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void note_error(struct checker *c, struct primitive *p,
                       const struct kernel_error *e, int is_wrong)
{
    p->ncall++;
    // what is not written, or fails, has no error that could be measured
    p->error.share =
        is_wrong && e->share <= 1 ? INFINITY : larger(e->share, p->error.share);
    p->error.apart = larger(e->apart, p->error.apart);
    p->error.bound = larger(e->bound, p->error.bound);
    if (is_wrong || e->share <= c->result->error)
        return;
    c->result->error = e->share; // the worst of those that were right
    c->worst = p->global->func;
}

static bt_status check_launches(struct checked_call *k)
{
    struct primitive *p = k->primitive;
    const char *fault;
    int is_declined;
    struct kernel_error error;
    const struct kernel_call call = { .ctx = k->ctx,
                                      .arena = k->arena,
                                      .compiled = p->compiled,
                                      .lowering = p->lowering,
                                      .func = p->global->func,
                                      .dims = k->dims,
                                      .nin = k->in.len,
                                      .nout = k->out.len,
                                      .in = k->in.at,
                                      .constant = k->constant.at,
                                      .want = k->out.at,
                                      .has_next =
                                          target_of(p) + 1 < k->checker->targets->n,
                                      .is_declined = &is_declined };
    BT_TRY(check_kernel_call(&call, &fault, &error));
    if (is_declined) {
        k->checker->result->ndeclined++;
        return NULL;
    }
    k->checker->result->ncall++;
    k->checker->result->nfirst += target_of(p) == 0;
    note_error(k->checker, p, &error, fault != NULL);
    return fault ? report(k->checker, p, fault) : NULL;
}

static bt_status check_values(struct checked_call *k)
{
    int is_shown;
    BT_TRY(read_args(k, &is_shown));
    if (!is_shown) {
        k->checker->result->nopen++;
        return NULL;
    }
    BT_TRY(make_results(k, k->primitive->global->func->result));
    BT_TRY(evaluate(k));
    return check_launches(k);
}

/* interp is about to compute the binding. */
static bt_status check_before(void *self, const bt_stop *stop)
{
    struct checker *c = self;
    const bt_global *global = called(c, stop->next);
    struct primitive *p;
    if (!global)
        return NULL;
    BT_TRY(find_primitive(c, global, &p));
    if (!p->lowering)
        return NULL;
    struct checked_call k = { .checker = c,
                              .ctx = c->ctx,
                              .call = bt_as_call(stop->next),
                              .primitive = p,
                              .arena = bt_arena_create(bt_ctx_registry(c->ctx)),
                              .stop = stop };
    bt_status status = k.arena ? check_values(&k) : bt_no_memory();
    while (k.held.len)
        bt_object_unref(k.held.at[--k.held.len]);
    bt_arena_destroy(k.arena);
    return status;
}

static void see_binding(void *self, const bt_value *value, const bt_object *result,
                        uint64_t elapsed_ns)
{
    (void)self;
    (void)value;
    (void)result;
    (void)elapsed_ns;
}

/* Runs the program on interp, which gives each call the values that it has there. */
static bt_status check_all(struct checker *c, const char *entry, bt_object *const *args)
{
    const bt_run_hook hook = { .self = c,
                               .binding = see_binding,
                               .before = check_before };
    const bt_global *global;
    const void *row;
    void *session;
    bt_object *result = NULL;
    BT_TRY(bt_module_entry(c->ctx, c->module, entry, &global));
    BT_TRY(
        bt_registry_row(c->ctx, "baton.executor/1", "interp", sizeof(bt_executor), &row));
    const bt_executor *interp = row;
    BT_TRY(interp->open(c->ctx, c->module, NULL, &session));
    bt_status status = interp->call(c->ctx, session, global->name,
                                    global->func->block->nparam, args, &hook, &result);
    bt_object_unref(result);
    interp->close(session);
    return status ? status : c->first;
}

/* In the arena of who asked. */
static bt_status tell_funcs(const struct checker *c, bt_arena *arena,
                            struct kernel_check *out)
{
    struct checked_func *funcs = BT_NEWS(arena, struct checked_func, c->primitives.len);
    out->funcs = funcs;
    for (uint32_t i = 0; funcs && i < c->primitives.len; i++) {
        const struct primitive *p = c->primitives.at[i];
        const char *name = p->global->func->name,
                   *way = p->lowering && p->lowering->way ? p->lowering->way : "";
        struct checked_func *f = &funcs[out->nfunc];
        *f = (struct checked_func){ .name = bt_arena_text(arena, name, strlen(name)),
                                    .way = bt_arena_text(arena, way, strlen(way)),
                                    .ncall = p->ncall,
                                    .error = p->error };
        out->nfunc += p->ncall > 0;
        if (!f->name || !f->way)
            return bt_no_memory();
        if (c->worst == p->global->func)
            out->where = f->name;
    }
    return funcs ? NULL : bt_no_memory();
}

static void free_all(struct checker *c)
{
    for (uint32_t i = 0; i < c->primitives.len; i++) {
        bt_compiled_unref(c->primitives.at[i]->compiled);
        bt_evaluator_destroy(c->primitives.at[i]->evaluator);
    }
    bt_arena_destroy(c->arena);
}

bt_status check_module_kernels(bt_ctx *ctx, bt_arena *arena, const bt_module *fused,
                               const char *entry, const bt_targets *targets,
                               bt_object *const *args, struct kernel_check *out)
{
    struct checker c = { .ctx = ctx,
                         .arena = bt_arena_create(bt_ctx_registry(ctx)),
                         .targets = targets,
                         .module = fused,
                         .result = out };
    *out = (struct kernel_check){ 0 };
    if (!c.arena)
        return bt_no_memory();
    bt_map_init(&c.functions, c.arena, 0);
    bt_status status = check_all(&c, entry, args);
    bt_status told = tell_funcs(&c, arena, out);
    free_all(&c);
    return told ? told : status;
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
