/*
 * Operators that compute each element of their result from the elements at the same place
 * of their arguments, as a loop over all of them: nodes of their compute graph, as scalars.
 * Where a run finds out which sizes meet, and so which of them are 1 and repeated, each
 * element is looked for by its index.
 */
#include <inttypes.h>
#include <string.h>

#include "code.h"
#include "expand.h"

struct loop {
    struct coder *c;
    const bt_graph *graph;
    const bt_array *array; /* of the result */
    uint32_t *operands;    /* by input */
    int is_found;          /* the run finds out which sizes are repeated */
    bt_nodes nodes;
};

static const char *word(struct loop *l, const bt_node *node)
{
    struct c_exprs *x = &l->c->x;
    if (node->kind != BT_NODE_CONST)
        return c_form(x, "x%" PRIu32, node->id);
    return bt_dtype_is_float(node->dtype) ? c_real(x, node->value.f, node->dtype)
                                          : c_integer(x, node->value.i);
}

static struct c_operand operand(struct loop *l, const bt_node *node)
{
    struct c_operand out = { word(l, node), node->dtype, INT64_MIN, INT64_MAX };
    if (!bt_dtype_is_float(node->dtype)) {
        out.low = node->low;
        out.high = node->high;
    }
    return out;
}

/* A read at the place of the result's element, or of an array that has one element. */
static int is_same_place(const struct loop *l, const bt_node *node)
{
    const bt_array *from = l->graph->arrays[node->which];
    int is = node->narg == 0 || node->narg == l->array->rank;
    for (uint32_t i = 0; is && i < node->narg; i++)
        is = from->extents[i] == l->array->extents[i];
    for (uint32_t i = 0; is && i < node->narg; i++)
        is = node->args[i]->kind == BT_NODE_INDEX ? node->args[i]->which == i
                                                  : bt_node_number(from->extents[i]) == 1;
    return is && node->which < l->graph->ninput;
}

/* Without those that only say where elements are read. */
static bt_status find_values(struct loop *l)
{
    bt_arena *arena = l->c->p->arena;
    bt_nodes all = { 0 };
    bt_map used;
    uint32_t n = 0;
    bt_map_init(&used, arena, 0);
    BT_TRY(vm_nodes_order(arena, l->array->body, &all));
    if (!bt_map_put(&used, l->array->body, l))
        return bt_no_memory();
    for (uint32_t i = all.len; i-- > 0;) {
        const bt_node *node = all.at[i];
        const int is_used = bt_map_find(&used, node) != NULL;
        for (uint32_t k = 0; is_used && node->kind != BT_NODE_READ && k < node->narg;
             k++) {
            if (!bt_map_put(&used, node->args[k], l))
                return bt_no_memory();
        }
    }
    for (uint32_t i = 0; i < all.len; i++) {
        if (bt_map_find(&used, all.at[i]))
            all.at[n++] = all.at[i];
    }
    all.len = n;
    l->nodes = all;
    return NULL;
}

static int is_written(const struct loop *l)
{
    int is = bt_dtype_is_stored(l->array->dtype);
    for (uint32_t i = 0; is && i < l->nodes.len; i++) {
        const bt_node *node = l->nodes.at[i];
        switch (node->kind) {
        case BT_NODE_READ:
            is = l->is_found ? node->which < l->graph->ninput : is_same_place(l, node);
            break;
        case BT_NODE_INDEX:
        case BT_NODE_DIM:
        case BT_NODE_REDUCE: is = 0; break;
        default: is = bt_dtype_is_stored(node->dtype); break;
        }
    }
    return is;
}

/* constant + sum of coefs * args, which wraps. */
static const char *sum(struct loop *l, const bt_node *node)
{
    struct c_exprs *x = &l->c->x;
    const char *out = c_integer(x, node->value.i);
    for (uint32_t i = 0; i < node->narg; i++) {
        const struct c_operand before = { out, BT_INT64, INT64_MIN, INT64_MAX },
                               factor = { c_integer(x, node->coefs[i]), BT_INT64,
                                          node->coefs[i], node->coefs[i] },
                               atom = operand(l, node->args[i]);
        const struct c_operand product = { c_scalar(x, BT_SCALAR_MUL, BT_INT64, &factor,
                                                    &atom),
                                           BT_INT64, INT64_MIN, INT64_MAX };
        out = c_scalar(x, BT_SCALAR_ADD, BT_INT64, &before, &product);
    }
    return out;
}

static const char *read(struct loop *l, const bt_node *node)
{
    struct coder *c = l->c;
    const uint32_t reg = l->operands[node->which];
    const char *name = code_name(c, reg);
    if (!code_is_object(c->f, reg))
        return name;
    return c_loaded(
        &c->x, node->dtype,
        FORM("((const %s *)(const void *)%s->data)[%s]", c_element_type(node->dtype),
             name,
             !node->narg   ? "0"
             : l->is_found ? FORM("obj_at(%s, %" PRIu32 ", index)", name, l->array->rank)
                           : "i"));
}

static const char *value(struct loop *l, const bt_node *node)
{
    struct c_exprs *x = &l->c->x;
    struct c_operand a = { 0 }, b = { 0 };
    if (node->narg)
        a = operand(l, node->args[0]);
    if (node->narg > 1)
        b = operand(l, node->args[1]);
    switch (node->kind) {
    case BT_NODE_LINEAR: return sum(l, node);
    case BT_NODE_SCALAR:
        return c_scalar(x, node->which, node->dtype, &a, node->narg > 1 ? &b : NULL);
    case BT_NODE_CAST: return c_cast(x, node->dtype, &a);
    case BT_NODE_SELECT:
        return c_form(x, "%s ? %s : %s", a.text, b.text, word(l, node->args[2]));
    default: return read(l, node);
    }
}

static void add_element(struct loop *l)
{
    struct coder *c = l->c;
    const bt_node *body = l->array->body;
    const struct c_operand last = operand(l, body);
    const bt_dtype dtype = l->array->dtype;
    for (uint32_t i = 0; i < l->nodes.len; i++) {
        const bt_node *node = l->nodes.at[i];
        if (node->kind != BT_NODE_CONST)
            code_line(c, "const %s %s = %s;", c_value_type(&c->x, node->dtype),
                      word(l, node), value(l, node));
    }
    code_line(c, "((%s *)(void *)o->data)[i] = %s;", c_element_type(dtype),
              c_stored(&c->x, dtype,
                       body->dtype == dtype ? last.text : c_cast(&c->x, dtype, &last)));
}

/* The result, with the dims of an argument that has as many elements. */
static void add_loop(struct loop *l, const char *like)
{
    struct coder *c = l->c;
    code_line(c, "{");
    code_line(c, "uint64_t i;");
    for (uint32_t i = 0; i < l->graph->ninput; i++) {
        const char *name = code_name(c, l->operands[i]);
        if (l->graph->arrays[i]->rank && strcmp(name, like) != 0)
            code_attempt(c, "obj_fits((int64_t)obj_count(%s), (int64_t)obj_count(%s))",
                         name, like);
    }
    code_attempt(c, "obj_tensor(m, %s->n, &%s->at[0].dim, %" PRIu32 ", &o)", like, like,
                 bt_dtype_nbits(l->array->dtype));
    code_line(c, "for (i = 0; i < obj_count(%s); i++) {", like);
    add_element(l);
    code_line(c, "}");
    code_line(c, "}");
}

/* The result, with the dims that those of the arguments give together. */
static bt_status add_found_loop(struct loop *l, const bt_call *call)
{
    struct coder *c = l->c;
    const uint32_t rank = l->array->rank;
    code_line(c, "{");
    code_line(c, "int64_t dims[%" PRIu32 "], index[%" PRIu32 "] = { 0 };", rank, rank);
    code_line(c, "uint64_t i;");
    code_line(c, "uint32_t axis;");
    code_line(c, "for (axis = 0; axis < %" PRIu32 "u; axis++)", rank);
    code_line(c, "    dims[axis] = 1;");
    for (uint32_t i = 0; i < l->graph->ninput; i++) {
        if (l->graph->arrays[i]->rank)
            BT_TRY(code_fail_if(c,
                                FORM("!obj_meet(%s, %" PRIu32 ", dims)",
                                     code_name(c, l->operands[i]), rank),
                                &call->base,
                                FORM("%s: dims do not broadcast", call->op->name)));
    }
    code_attempt(c, "obj_tensor(m, %" PRIu32 ", dims, %" PRIu32 ", &o)", rank,
                 bt_dtype_nbits(l->array->dtype));
    code_line(c, "for (i = 0; i < obj_count(o); i++) {");
    add_element(l);
    code_line(c, "for (axis = %" PRIu32 "u; axis-- > 0 && ++index[axis] == dims[axis];)",
              rank);
    code_line(c, "    index[axis] = 0;");
    code_line(c, "}");
    code_line(c, "}");
    return NULL;
}

/* Whether all that the operator asks of shapes is that they broadcast: then a read is of the
 * element at the same place, counted from the last axis. */
static int broadcasts(const bt_call *call)
{
    static const char *const relations[] = { "Broadcast", "BroadcastComp", "Where" };
    for (uint32_t i = 0; call->op->relation && i < BT_COUNT(relations); i++) {
        if (strcmp(call->op->relation, relations[i]) == 0)
            return 1;
    }
    return 0;
}

bt_status code_elements(struct coder *c, const bt_call *call, uint32_t n,
                        const uint32_t *operands, int *is_done)
{
    bt_func func;
    bt_block block = { 0 };
    bt_graph *graph;
    const char *like = NULL;
    uint32_t ninput = 0;
    *is_done = 0;
    BT_TRY(vm_call_wrap(c->p->arena, call, &func, &block));
    if (call->narg != n)
        return NULL;
    bt_status status = bt_graph_compose(c->p->ctx, c->p->arena, &func, &graph);
    if (status)
        return status->code == BT_ERR_UNSUPPORTED ? NULL : status;
    if (graph->narray != graph->ninput + 1 || graph->nresult != 1)
        return NULL; // what it computes takes more than a loop
    struct loop l = { .c = c, .graph = graph, .array = graph->arrays[graph->results[0]] };
    if (l.array->dtype != bt_tensor_dtype(call->base.type))
        return NULL; // elements of several parts, or several of a byte
    l.operands = BT_NEWS(c->p->arena, uint32_t, n);
    if (!l.operands)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        if (call->args[i]->kind == BT_VALUE_CONST)
            continue;
        if (graph->arrays[ninput]->dtype != bt_tensor_dtype(call->args[i]->type))
            return NULL;
        if (!like && graph->arrays[ninput]->rank)
            like = code_name(c, operands[i]);
        l.operands[ninput++] = operands[i];
    }
    if (!like || !l.array->body || !l.array->rank)
        return NULL;
    BT_TRY(find_values(&l));
    if (!is_written(&l)) {
        l.is_found = broadcasts(call);
        if (!l.is_found || !is_written(&l))
            return NULL;
    }
    if (l.is_found)
        BT_TRY(add_found_loop(&l, call));
    else
        add_loop(&l, like);
    for (uint32_t i = 0; i < n; i++)
        code_drop_last(c, operands[i]);
    *is_done = 1;
    return NULL;
}
