/* Calls of operators that are no scalar ones: by the library's computations, which a
 * session keeps. */
#include <string.h>

#include "machine.h"

/* What the values are to blame for is an error of the call; any other fault of the operator
 * stays where it is, in its formula or kernel. */
static bt_status fail(struct vm_machine *m, const bt_call *call, bt_status status)
{
    const bt_store *store = m->program->module->store;
    const char *name = call->op->name;
    const int is_named = strncmp(status->message, name, strlen(name)) == 0;
    if (!status->note && (status->code == BT_ERR_RUNTIME ||
                          status->code == BT_ERR_LIMIT || status->code == BT_ERR_MEMORY))
        return bt_fail_at(m->ctx, status->code, store, call->base.span, "%s%s%s",
                          is_named ? "" : name, is_named ? "" : ": ", status->message);
    return bt_note(m->ctx, status, store, call->base.span, "in this call of %s", name);
}

/* ---- computations ---- */

struct resolving {
    const struct vm_frame *frame;
    bt_store *store;
};

/* Dims of the function as numbers; one that is not known stays open. */
static const bt_type *resolve(struct bt_subst *subst, const bt_type *leaf)
{
    const struct resolving *r = subst->state;
    const struct vm_function *f = r->frame->f;
    const int64_t *dims = vm_dims(r->frame);
    if (leaf->kind == BT_TYPE_ADT)
        return bt_type_adt(r->store, ((const bt_adt_type *)(const void *)leaf)->def);
    if (leaf->kind != BT_TYPE_VAR && leaf->kind != BT_TYPE_OPAQUE)
        return NULL;
    for (uint32_t i = 0; i < f->ndim; i++) {
        if (f->dims[i] == leaf && dims[i] != VM_UNKNOWN)
            return bt_dim(r->store, dims[i]);
    }
    return bt_dim_opaque(r->store, NULL);
}

static bt_status create_resolved(struct vm_machine *m, const struct vm_frame *frame,
                                 const bt_call *call, bt_store *store, bt_compute **out)
{
    struct resolving r = { frame, store };
    bt_subst subst = { .leaf = resolve, .state = &r };
    const bt_type **types = BT_NEWS(bt_ctx_scratch(m->ctx), const bt_type *, call->narg);
    bt_formula_call formula = {
        .op = call->op, .attrs = call->attrs, .narg = call->narg, .args = types
    };
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        types[i] = bt_type_copy(store, &subst, call->args[i]->type);
        if (!types[i])
            return bt_store_why(m->ctx, store);
    }
    formula.result = bt_type_copy(store, &subst, call->base.type);
    if (formula.attrs)
        formula.attrs = bt_attrs_subst(store, &subst, call->op->attrs,
                                       call->op->attrs_nbytes, formula.attrs);
    if (!formula.result || (call->attrs && !formula.attrs))
        return bt_store_why(m->ctx, store);
    return bt_compute_create(m->ctx, &formula, out);
}

static bt_status create(struct vm_machine *m, const struct vm_frame *frame,
                        const struct vm_operator *row, bt_compute **out)
{
    bt_formula_call formula;
    if (row->is_settled) {
        BT_TRY(bt_call_formula(bt_ctx_scratch(m->ctx), row->call, &formula));
        return bt_compute_create(m->ctx, &formula, out);
    }
    bt_store *store = bt_store_create(m->program->registry);
    bt_status status =
        store ? create_resolved(m, frame, row->call, store, out) : bt_no_memory();
    bt_store_unref(store);
    return status;
}

/* Room for the dims that a computation is for. */
static bt_status make_dims(struct vm_machine *m, const struct vm_frame *frame,
                           struct vm_computation *c)
{
    const uint32_t n = frame->f->ndim;
    if (c->dims || !n)
        return NULL;
    c->dims = bt_alloc(m->program->registry, n * sizeof(*c->dims));
    if (!c->dims)
        return bt_no_memory();
    c->ndim = n;
    return NULL;
}

static bt_status find_compute(struct vm_machine *m, const struct vm_frame *frame,
                              uint32_t number, bt_compute **out)
{
    const struct vm_operator *row = &m->program->operators[number];
    struct vm_computation *c = &m->computations[number];
    bt_compute *made;
    if (c->compute &&
        (row->is_settled || !c->ndim ||
         memcmp(c->dims, vm_dims(frame), c->ndim * sizeof(*c->dims)) == 0)) {
        *out = c->compute;
        return NULL;
    }
    if (!row->is_settled)
        BT_TRY(make_dims(m, frame, c));
    bt_status status = create(m, frame, row, &made);
    if (status)
        return status->code == BT_ERR_LIMIT
                   ? fail(m, row->call, status)
                   : bt_note(m->ctx, status, m->program->module->store,
                             row->call->base.span, "in this call of %s",
                             row->call->op->name);
    bt_compute_destroy(c->compute);
    *out = c->compute = made;
    if (c->ndim)
        memcpy(c->dims, vm_dims(frame), c->ndim * sizeof(*c->dims));
    return NULL;
}

/* ---- running them ---- */

typedef bt_vec(const bt_tensor *) leaf_list;

/* Tensors of an argument, depth first; tuples nest no deeper than their types. */
static int flatten(const bt_object *object, bt_arena *arena, leaf_list *leaves)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    if (tensor)
        return BT_PUSH(arena, leaves, tensor);
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++) {
        if (!flatten(tuple->fields[i], arena, leaves))
            return 0;
    }
    return 1;
}

/* One tensor, or the tuple of them. */
static bt_status join(struct vm_machine *m, uint32_t n, bt_tensor **results, int is_tuple,
                      bt_object **out)
{
    bt_object **objects = BT_NEWS(bt_ctx_scratch(m->ctx), bt_object *, n);
    bt_tuple *tuple;
    if (!is_tuple) {
        *out = &results[0]->base;
        return NULL;
    }
    for (uint32_t i = 0; objects && i < n; i++)
        objects[i] = &results[i]->base;
    bt_status status =
        objects ? bt_tuple_create(m->ctx, n, objects, &tuple) : bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        bt_tensor_unref(results[i]);
    if (!status)
        *out = &tuple->base;
    return status;
}

static bt_status run(struct vm_machine *m, bt_compute *compute, const bt_call *call,
                     bt_object **out)
{
    bt_arena *scratch = bt_ctx_scratch(m->ctx);
    const uint32_t nout = bt_compute_nout(compute);
    bt_tensor **results = BT_NEWS(scratch, bt_tensor *, nout);
    leaf_list leaves = { 0 };
    int has_room = results != NULL;
    for (uint32_t i = 0; has_room && i < call->narg; i++)
        has_room = flatten(m->objects[i], scratch, &leaves);
    if (!has_room)
        return bt_no_memory();
    const uint64_t start = m->hook ? bt_now_ns() : 0;
    bt_status status = bt_compute_run(m->ctx, compute, leaves.len, leaves.at, results);
    m->elapsed_ns = m->hook ? bt_now_ns() - start : 0;
    if (status)
        return fail(m, call, status);
    return join(m, nout, results, call->base.type->kind == BT_TYPE_TUPLE, out);
}

bt_status vm_operate(struct vm_machine *m, struct vm_frame *frame, const uint32_t *words)
{
    const bt_call *call = m->program->operators[words[1]].call;
    const uint32_t n = words[2], dst = words[0] >> 8;
    bt_arena *scratch = bt_ctx_scratch(m->ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_compute *compute = NULL;
    bt_object *result = NULL;
    bt_status status = vm_take_all(m, frame, n, words + 3);
    const int is_taken = !status;
    if (!status)
        status = find_compute(m, frame, words[1], &compute);
    if (!status)
        status = run(m, compute, call, &result);
    if (is_taken)
        vm_drop_all(m, n);
    bt_arena_release(scratch, mark);
    if (!status)
        vm_put(frame, dst, result);
    return status;
}
