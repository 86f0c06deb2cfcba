/*
 * Operators that stay calls, because the type of what follows comes out of their elements
 * (shape_of before dyn.zeros), as loops of target c in the program's own text, where their
 * types tell all dims.
 */
#include <inttypes.h>

#include <baton/op.h>

#include "code.h"
#include "expand.h"

struct loops {
    struct coder *c;
    const bt_call *call;
    uint32_t ndim, nbuffer;
    const bt_type **dims; /* that its types and attributes have */
    const char **words;
    bt_type_param *ranges;
    int is_known; /* all of them are dims of the function */
};

static const bt_type *meet_dim(bt_subst *subst, const bt_type *leaf)
{
    struct loops *l = subst->state;
    const struct coder *c = l->c;
    const bt_var_type *var = bt_as_var_type(leaf);
    uint32_t i = 0;
    if (bt_type_kind_of(leaf) != BT_KIND_DIM)
        return leaf;
    for (uint32_t k = 0; k < l->ndim; k++) {
        if (l->dims[k] == leaf)
            return leaf;
    }
    while (i < c->f->ndim && c->f->dims[i] != leaf)
        i++;
    if (i == c->f->ndim) {
        l->is_known = 0;
        return leaf;
    }
    l->dims[l->ndim] = leaf;
    l->words[l->ndim] = c->dims[i];
    l->ranges[l->ndim++] =
        var ? var->param
            : (bt_type_param){ .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    return leaf;
}

static bt_status find_dims(struct loops *l)
{
    const bt_call *call = l->call;
    bt_arena *arena = l->c->p->arena;
    bt_store *store = call->base.type->store;
    bt_subst subst = { .leaf = meet_dim, .state = l };
    const uint32_t most = l->c->f->ndim;
    l->dims = BT_NEWS(arena, const bt_type *, most);
    l->words = BT_NEWS(arena, const char *, most);
    l->ranges = BT_NEWS(arena, bt_type_param, most);
    l->is_known = 1;
    if (!l->dims || !l->words || !l->ranges ||
        !bt_type_subst(store, &subst, call->base.type))
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        if (!bt_type_subst(store, &subst, call->args[i]->type))
            return bt_no_memory();
    }
    return !call->op->attrs || bt_attrs_subst(store, &subst, call->op->attrs,
                                              call->op->attrs_nbytes, call->attrs)
               ? NULL
               : bt_no_memory();
}

/* Its loops; *out stays NULL where there are none that need no more memory. */
static bt_status make_loops(struct loops *l, bt_loops **out)
{
    struct plan *p = l->c->p;
    bt_func func;
    bt_block block = { 0 };
    bt_graph *graph;
    bt_loops *loops;
    BT_TRY(vm_call_wrap(p->arena, l->call, &func, &block));
    func.nvar = l->ndim;
    func.vars = l->dims;
    bt_status status = bt_graph_compose_for(p->ctx, p->arena, &func, l->ranges, &graph);
    if (!status && graph->ndim > l->ndim)
        return NULL;
    for (uint32_t i = 0; !status && i < graph->ndim; i++)
        graph->dims[i]->name = c_form(&l->c->x, "dim%" PRIu32, i);
    if (!status)
        status = bt_loops_lower(p->ctx, p->arena, l->call->op->name, graph, &loops);
    if (status)
        return status->code == BT_ERR_UNSUPPORTED ? NULL : status;
    for (uint32_t i = 0; i < loops->roles.len; i++) {
        if (loops->roles.at[i] == BT_BUFFER_TEMP)
            return NULL;
    }
    *out = loops;
    return NULL;
}

/* The elements of an operand, whose dims its type must have. */
static bt_status add_tensor(struct loops *l, const char *object, const bt_type *type)
{
    struct coder *c = l->c;
    const bt_shape_type *shape = bt_tensor_shape(type);
    for (uint32_t k = 0; k < shape->n; k++) {
        bt_text dim;
        bt_text_init(&dim, c->p->arena);
        BT_TRY(plan_dim_text(c->p, shape->dims[k], &dim));
        if (!bt_text_get(&dim))
            return bt_no_memory();
        code_attempt(c, "obj_fits(%s->at[%" PRIu32 "].dim, %s)", object, k, dim.at);
    }
    code_line(c, "buffers[%" PRIu32 "] = %s->data;", l->nbuffer++, object);
    return NULL;
}

static bt_status add_operand(struct loops *l, uint32_t operand, const bt_type *type)
{
    struct coder *c = l->c;
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const char *name = code_name(c, operand);
    if (tuple) {
        for (uint32_t i = 0; i < tuple->n; i++)
            BT_TRY(
                add_tensor(l, FORM("%s->at[%" PRIu32 "].field", name, i), tuple->at[i]));
        return NULL;
    }
    if (code_is_object(c->f, operand))
        return add_tensor(l, name, type);
    const bt_dtype dtype = code_type_of(c, operand)->dtype;
    code_line(c, "%s e%" PRIu32 " = %s;", c_element_type(dtype), l->nbuffer,
              c_stored(&c->x, dtype, name));
    code_line(c, "buffers[%" PRIu32 "] = &e%" PRIu32 ";", l->nbuffer, l->nbuffer);
    l->nbuffer++;
    return NULL;
}

static bt_status add_result(struct loops *l)
{
    struct coder *c = l->c;
    const bt_type *type = l->call->base.type;
    const bt_shape_type *shape = bt_tensor_shape(type);
    bt_text dims;
    bt_text_init(&dims, c->p->arena);
    for (uint32_t k = 0; k < shape->n; k++) {
        bt_text_addf(&dims, k ? ", " : "");
        BT_TRY(plan_dim_text(c->p, shape->dims[k], &dims));
    }
    if (shape->n)
        code_line(c, "const int64_t shape[] = { %s };",
                  bt_text_get(&dims) ? dims.at : "");
    code_attempt(c, "obj_tensor(m, %" PRIu32 ", %s, %" PRIu32 ", &o)", shape->n,
                 shape->n ? "shape" : "NULL", bt_dtype_nbits(bt_tensor_dtype(type)));
    code_line(c, "buffers[%" PRIu32 "] = o->data;", l->nbuffer++);
    return dims.failed ? bt_no_memory() : NULL;
}

static bt_status add_faults(struct loops *l, const c_faults *faults, uint32_t *before)
{
    uint32_t number;
    *before = 0;
    for (uint32_t i = 0; i < faults->len; i++) {
        BT_TRY(
            code_fault(l->c, &l->call->base,
                       c_form(&l->c->x, "%s: an index is out of bounds for axis %" PRIu32,
                              l->call->op->name, faults->at[i].axis),
                       &number));
        *before = i ? *before : number - 1;
    }
    return NULL;
}

/* Whether values of a type are tensors whose ranks are known, or tuples of such. */
static int is_flat(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    int is = tuple || (shape && !shape->rest);
    for (uint32_t i = 0; is && tuple && i < tuple->n; i++)
        is = bt_tensor_shape(tuple->at[i]) && is_flat(tuple->at[i]);
    return is;
}

static bt_status add_call(struct loops *l, bt_loops *loops, const uint32_t *operands)
{
    struct coder *c = l->c;
    struct c_kernel kernel = { .loops = loops };
    const char *symbol = FORM("%s_call_%" PRIu32, c->p->name, c->ncall++);
    c_faults faults = { 0 };
    uint32_t before, nbuffer = 1;
    for (uint32_t i = 0; i < l->call->narg; i++) {
        if (l->call->args[i]->kind != BT_VALUE_CONST)
            nbuffer += bt_type_nleaf(l->call->args[i]->type);
    }
    BT_TRY(c_jams_find(kernel.loops, 1, &kernel.jams));
    BT_TRY(c_text_add(&c->loops, &kernel, symbol, &faults));
    BT_TRY(add_faults(l, &faults, &before));
    code_line(c, "{");
    code_line(c, "bt_kernel_call call = { 0 };");
    code_line(c, "void *buffers[%" PRIu32 "];", nbuffer);
    if (l->ndim)
        code_line(c, "int64_t dims[%" PRIu32 "];", l->ndim);
    for (uint32_t i = 0; i < l->ndim; i++)
        code_line(c, "dims[%" PRIu32 "] = %s;", i, l->words[i]);
    for (uint32_t i = 0; i < l->call->narg; i++) {
        if (l->call->args[i]->kind != BT_VALUE_CONST)
            BT_TRY(add_operand(l, operands[i], l->call->args[i]->type));
    }
    BT_TRY(add_result(l));
    code_launch(c, l->nbuffer, l->ndim);
    code_line(c, "fault = %s(&call);", symbol);
    if (before) {
        code_line(c, "if (fault > 0)");
        code_line(c, "    fault += %" PRIu32 ";", before);
    }
    code_check_fault(c);
    code_line(c, "}");
    return NULL;
}

bt_status code_loops(struct coder *c, const bt_call *call, uint32_t n,
                     const uint32_t *operands, int *is_done)
{
    struct loops l = { .c = c, .call = call };
    bt_loops *loops = NULL;
    int is =
        n == call->narg && bt_tensor_shape(call->base.type) && is_flat(call->base.type);
    for (uint32_t i = 0; is && i < n; i++)
        is = is_flat(call->args[i]->type);
    *is_done = 0;
    if (!is)
        return NULL;
    BT_TRY(find_dims(&l));
    if (l.is_known)
        BT_TRY(make_loops(&l, &loops));
    if (!loops)
        return NULL;
    BT_TRY(add_call(&l, loops, operands));
    for (uint32_t i = 0; i < n; i++)
        code_drop_last(c, operands[i]);
    *is_done = 1;
    return NULL;
}
