#include "recognise.h"

#include <inttypes.h>
#include <string.h>

#include <baton/op.h>

#include "recognise_parts.h"

enum { MAX_TAPS = 255 };

/* Of one place. */
static const struct npu_window whole = {
    .in = 1, .out = 1, .taps = 1, .stride = 1, .dilation = 1
};

static const char *const axis_names[] = { "batch", "channels", "rows", "columns" };

/* ---- the function without layouts, and cut at qnn.requantize and qnn.add ---- */

static const bt_type *row_major(const bt_type *type)
{
    const bt_tensor_type *t = bt_as_tensor_type(type);
    return t && t->layout ? bt_type_tensor_layout(type->store, t->shape, t->dtype, NULL)
                          : type;
}

/* A function under construction: old values -> new ones. */
struct copying {
    struct npu_reader *r;
    bt_builder *b;
    bt_map now;
};

static const bt_value *now_of(const struct copying *c, const bt_value *old)
{
    const bt_value *made = bt_map_find(&c->now, old);
    return made ? made : old;
}

static bt_status put(struct copying *c, const bt_value *old, const bt_value *now)
{
    return bt_map_put(&c->now, old, (void *)(uintptr_t)now) ? NULL : bt_no_memory();
}

static bt_status copy_binding(struct copying *c, const bt_value *old)
{
    const uint32_t n = bt_value_noperand(old);
    const bt_value **operands = BT_NEWS(c->r->arena, const bt_value *, n), *copy;
    const bt_type *type = row_major(old->type);
    if (bt_as_op_call(old, "layout_transform"))
        return NPU_REFUSE(c->r, "it calls layout_transform, which is no part of a layer");
    if (bt_value_nregion(old))
        return NPU_REFUSE(
            c->r, "it has a branch or a function; calls of operators are expected");
    if (!operands || !type)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        operands[i] = now_of(c, bt_value_operand(old, i));
    BT_TRY(bt_build_again(c->b, old, operands, NULL, type, &copy));
    return put(c, old, copy);
}

/* The function's own, then one for each cut. */
static bt_status copy_params(struct copying *c, uint32_t *n, const bt_param ***out)
{
    struct npu_reader *r = c->r;
    const bt_block *block = r->func->block;
    *n = block->nparam + r->ncut;
    *out = BT_NEWS(r->arena, const bt_param *, *n);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < *n; i++) {
        const bt_value *old = i < block->nparam ? &block->params[i]->base
                                                : &r->cuts[i - block->nparam].call->base;
        const bt_type *type = row_major(old->type);
        if (!type)
            return bt_no_memory();
        BT_TRY(bt_build_param(c->b, old->name, type, &(*out)[i]));
        BT_TRY(put(c, old, &(*out)[i]->base));
    }
    return NULL;
}

/* The result, and what goes into each cut. */
static bt_status end_block(struct copying *c, bt_func *fields)
{
    struct npu_reader *r = c->r;
    const bt_value *results[1 + 2 * NPU_MAX_CUTS] = { now_of(c, r->func->block->result) },
                                    *all = results[0];
    uint32_t n = 1;
    for (uint32_t i = 0; i < r->ncut; i++) {
        for (uint32_t k = 0; k < r->cuts[i].ndata; k++)
            results[n++] = now_of(c, r->cuts[i].call->args[k]);
    }
    if (n > 1)
        BT_TRY(bt_build_tuple(c->b, n, results, &all));
    fields->result = all->type;
    return bt_block_end(c->b, all, &fields->block);
}

/* Of how many data; 0: the graph is not cut there. */
static uint32_t cut_at(const bt_value *value)
{
    return bt_as_op_call(value, "qnn.requantize") ? 1
           : bt_as_op_call(value, "qnn.add")      ? 2
                                                  : 0;
}

static bt_status copy_block(struct copying *c, bt_func *fields)
{
    const bt_block *block = c->r->func->block;
    const bt_param **params;
    uint32_t n;
    bt_map_init(&c->now, c->r->arena, 0);
    BT_TRY(copy_params(c, &n, &params));
    BT_TRY(bt_block_begin(c->b, n, params));
    for (uint32_t i = 0; i < block->nbinding; i++) {
        if (!cut_at(block->bindings[i]))
            BT_TRY(copy_binding(c, block->bindings[i]));
    }
    return end_block(c, fields);
}

static bt_status find_cuts(struct npu_reader *r)
{
    const bt_block *block = r->func->block;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const uint32_t ndata = cut_at(block->bindings[i]);
        if (ndata && r->ncut == NPU_MAX_CUTS)
            return NPU_REFUSE(r, "it requantizes more than %d times", NPU_MAX_CUTS);
        if (ndata)
            r->cuts[r->ncut++] = (struct npu_cut){ .call = bt_as_call(block->bindings[i]),
                                                   .ndata = ndata };
    }
    return NULL;
}

/* Elements by their logical axes: what lies in memory in blocks is found by whoever copies. */
static bt_status logical(struct npu_reader *r, const bt_func **out)
{
    const bt_func *func = r->func;
    bt_func fields = *func;
    struct copying c = { .r = r };
    int is_laid = bt_type_layout(func->result) != NULL;
    for (uint32_t i = 0; i < func->block->nparam; i++)
        is_laid |= bt_type_layout(func->block->params[i]->base.type) != NULL;
    BT_TRY(find_cuts(r));
    *out = func;
    if (!is_laid && !r->ncut)
        return NULL;
    BT_TRY(bt_builder_create(r->ctx, func->result->store, NULL, &c.b));
    bt_status status = copy_block(&c, &fields);
    bt_builder_destroy(c.b);
    return status ? status : bt_func_create(r->ctx, func->result->store, &fields, out);
}

/* ---- operands ---- */

static int64_t extent_of(const bt_array *array, uint32_t axis)
{
    return bt_node_number(array->extents[axis]);
}

/* Whether index `i` of a read is the number 0 of an axis that has no other. */
static int is_only(const bt_array *array, uint32_t i, const bt_node *index)
{
    int64_t at;
    return bt_node_is_const(index, &at) && at == 0 && extent_of(array, i) == 1;
}

/* Whether a stage is a map whose body reads each element at its own place. */
static int reads_in_place(const bt_array *stage, const bt_node *const *args)
{
    for (uint32_t i = 0; i < stage->rank; i++) {
        const int is_axis = args[i]->kind == BT_NODE_INDEX && args[i]->which == i;
        if (!is_axis && !is_only(stage, i, args[i]))
            return 0;
    }
    return 1;
}

/* x + constant, x - constant of int32. */
static int as_sum(const bt_node *node, const bt_node **x, int64_t *constant)
{
    if (node->kind != BT_NODE_SCALAR || node->dtype != BT_INT32)
        return 0;
    if (node->which == BT_SCALAR_SUB && bt_node_is_const(node->args[1], constant)) {
        *x = node->args[0];
        *constant = -*constant;
        return 1;
    }
    for (uint32_t i = 0; node->which == BT_SCALAR_ADD && i < 2; i++) {
        *x = node->args[1 - i];
        if (bt_node_is_const(node->args[i], constant))
            return 1;
    }
    return 0;
}

int npu_as_factor(const struct npu_reader *r, const bt_node *node, struct npu_factor *out)
{
    const bt_node *x;
    int64_t constant;
    if (as_sum(node, &x, &constant)) {
        if (!npu_as_factor(r, x, out))
            return 0;
        out->zero -= constant;
        return out->zero >= INT32_MIN && out->zero <= INT32_MAX;
    }
    if (node->kind == BT_NODE_CAST && node->dtype == BT_INT32)
        node = node->args[0];
    if (node->kind != BT_NODE_READ)
        return 0;
    const bt_array *array = r->graph->arrays[node->which];
    if (!array->body) {
        *out = (struct npu_factor){ .array = node->which, .args = node->args };
        return array->dtype == BT_INT8;
    }
    if (!npu_as_factor(r, array->body, out) || !reads_in_place(array, out->args))
        return 0;
    out->args = node->args;
    return 1;
}

/* The role of an axis of the result; NPU_NAXIS: it has none. */
static uint32_t role_of(const struct npu_function *f, uint32_t axis)
{
    uint32_t role = 0;
    while (role < NPU_NAXIS && f->result.axes[role] != (int32_t)axis)
        role++;
    return role;
}

/* Which axis of the result an index is; of an only element that at the same place. */
static int as_axis(const struct npu_reader *r, const bt_array *a, uint32_t i,
                   const bt_node *index, uint32_t *axis)
{
    const int is_number = is_only(a, i, index);
    *axis = is_number ? i : index->which;
    if (is_number)
        return a->rank == r->stage->rank && extent_of(r->stage, i) == 1;
    return index->kind == BT_NODE_INDEX && *axis < r->stage->rank &&
           extent_of(a, i) == extent_of(r->stage, *axis);
}

bt_status npu_read_operand(struct npu_reader *r, uint32_t array,
                           const bt_node *const *args, struct npu_operand *out)
{
    const bt_array *a = r->graph->arrays[array];
    *out = (struct npu_operand){ (int32_t)array, { -1, -1, -1, -1 } };
    for (uint32_t i = 0; i < a->rank; i++) {
        uint32_t axis, role = NPU_NAXIS;
        if (as_axis(r, a, i, args[i], &axis))
            role = role_of(r->out, axis);
        else if (is_only(a, i, args[i]))
            continue;
        if (role == NPU_NAXIS || out->axes[role] >= 0)
            return NPU_REFUSE(r, "input %u is not read in the order of the result",
                              array);
        out->axes[role] = (int32_t)i;
    }
    return NULL;
}

/* ---- windows ---- */

/* The axis of the data at stride * (an axis of the result) + dilation * (a reduced index) - before. */
static bt_status read_window(struct npu_reader *r, const bt_node *reduce, uint32_t role,
                             const struct npu_factor *data, struct npu_window *w,
                             int32_t *tap)
{
    const int32_t axis = r->out->data.axes[role], outer = r->out->result.axes[role];
    bt_linear form;
    *tap = -1;
    *w = whole;
    if (axis < 0)
        return NULL;
    w->in = extent_of(r->graph->arrays[data->array], (uint32_t)axis);
    w->out = outer < 0 ? 1 : extent_of(r->stage, (uint32_t)outer);
    bt_node_as_linear(data->args[axis], &form);
    w->before = -form.constant;
    for (uint32_t i = 0; i < form.n; i++) {
        const bt_node *atom = form.atoms[i];
        const int is_index = atom->kind == BT_NODE_INDEX && form.coefs[i] > 0;
        if (is_index && (int32_t)atom->which == outer) {
            w->stride = form.coefs[i];
        } else if (is_index && reduce && atom->which >= reduce->first &&
                   atom->which < reduce->first + reduce->nindex && *tap < 0) {
            *tap = (int32_t)atom->which;
            w->dilation = form.coefs[i];
            w->taps = bt_node_number(reduce->args[2 + atom->which - reduce->first]);
        } else {
            return NPU_REFUSE(r, "%s are not read by a window", axis_names[role]);
        }
    }
    if (w->taps > MAX_TAPS)
        return NPU_REFUSE(r,
                          "%s have a window of %" PRId64 " taps; at most %d are expected",
                          axis_names[role], w->taps, MAX_TAPS);
    if (w->before < 0 || w->before > MAX_TAPS)
        return NPU_REFUSE(
            r, "%s have a window that begins at %" PRId64 "; from -%d to 0 is expected",
            axis_names[role], -w->before, MAX_TAPS);
    return NULL;
}

/* Whether all conditions that have the indices of this axis alone hold at a place of the
 * window; *n counts these conditions. */
static int holds(const bt_nodes *conditions, int32_t outer, int32_t tap, int64_t i,
                 int64_t t, uint32_t *n)
{
    int all = 1;
    *n = 0;
    for (uint32_t k = 0; k < conditions->len; k++) {
        bt_linear form;
        int is_own = 1;
        bt_node_as_linear(conditions->at[k]->args[1], &form);
        int64_t value = form.constant;
        for (uint32_t a = 0; a < form.n; a++) {
            const bt_node *atom = form.atoms[a];
            const int is_index = atom->kind == BT_NODE_INDEX;
            if (is_index && (int32_t)atom->which == outer)
                value += form.coefs[a] * i;
            else if (is_index && (int32_t)atom->which == tap)
                value += form.coefs[a] * t;
            else
                is_own = 0;
        }
        *n += (uint32_t)is_own;
        all &= !is_own || value >= 0;
    }
    return all;
}

/* Places outside of the data, and no others, are left out of the sum. */
static int skips_outside(const bt_nodes *conditions, const struct npu_window *w,
                         int32_t outer, int32_t tap, uint32_t *n)
{
    for (int64_t i = 0; i < w->out; i++) {
        for (int64_t t = 0; t < w->taps; t++) {
            const int64_t at = i * w->stride + t * w->dilation - w->before;
            if (holds(conditions, outer, tap, i, t, n) != (at >= 0 && at < w->in))
                return 0;
        }
    }
    return 1;
}

static bt_status check_conditions(struct npu_reader *r, const bt_node *condition,
                                  const int32_t *taps)
{
    const int32_t *outer = r->out->result.axes;
    bt_nodes conditions = { 0 };
    uint32_t nrow = 0, ncolumn = 0;
    if (!bt_node_conjuncts(r->arena, condition, &conditions))
        return bt_no_memory();
    for (uint32_t i = 0; i < conditions.len; i++) {
        const bt_node *c = conditions.at[i];
        int64_t zero;
        if (c->kind != BT_NODE_SCALAR || c->which != BT_SCALAR_LE ||
            c->args[0]->dtype != BT_INT64 || !bt_node_is_const(c->args[0], &zero) || zero)
            return NPU_REFUSE(
                r, "its sum has a condition; none but that of padding is expected");
    }
    if (!skips_outside(&conditions, &r->out->layer.rows, outer[NPU_H], taps[NPU_H],
                       &nrow) ||
        !skips_outside(&conditions, &r->out->layer.columns, outer[NPU_W], taps[NPU_W],
                       &ncolumn) ||
        nrow + ncolumn != conditions.len)
        return NPU_REFUSE(r, "its sum has a condition other than that of padding");
    return NULL;
}

/* ---- sums ---- */

/* The axes of the data: those of the result, but for channels that are summed. */
static bt_status read_data(struct npu_reader *r, const bt_node *reduce,
                           const struct npu_factor *data, int32_t *taps)
{
    struct npu_function *f = r->out;
    const bt_array *a = r->graph->arrays[data->array];
    if (a->rank != r->stage->rank && !(a->rank == 4 && r->stage->rank == 2))
        return NPU_REFUSE(r, "input %u has rank %u; %u is expected", data->array, a->rank,
                          r->stage->rank);
    f->data = (struct npu_operand){ (int32_t)data->array, { -1, -1, -1, -1 } };
    for (uint32_t role = 0; role < NPU_NAXIS; role++)
        f->data.axes[role] = role < a->rank ? f->result.axes[role] : -1;
    if (r->stage->rank == 2 && a->rank == 4) { // rows and columns are summed
        f->data.axes[NPU_H] = 2;
        f->data.axes[NPU_W] = 3;
    }
    const uint32_t n = (uint32_t)f->data.axes[NPU_N], c = (uint32_t)f->data.axes[NPU_C];
    f->layer.batch = extent_of(a, n);
    f->layer.in = extent_of(a, c);
    const bt_node *image = data->args[n], *channel = data->args[c];
    if (!is_only(a, n, image) && (image->kind != BT_NODE_INDEX || image->which != n))
        return NPU_REFUSE(r, "the batch is not read in order");
    taps[NPU_C] = -1;
    if (f->layer.kind == NPU_PRODUCTS && channel->kind == BT_NODE_INDEX &&
        channel->which >= reduce->first)
        taps[NPU_C] = (int32_t)channel->which;
    else if (f->layer.kind == NPU_PRODUCTS
                 ? !is_only(a, c, channel)
                 : !is_only(a, c, channel) &&
                       (channel->kind != BT_NODE_INDEX ||
                        (int32_t)channel->which != f->result.axes[NPU_C]))
        return NPU_REFUSE(
            r, "each output has %s: most of a tile of products would be idle",
            channel->kind == BT_NODE_INDEX ? "one channel" : "a group of channels");
    BT_TRY(read_window(r, reduce, NPU_H, data, &f->layer.rows, &taps[NPU_H]));
    return read_window(r, reduce, NPU_W, data, &f->layer.columns, &taps[NPU_W]);
}

/* Roles of a weight's axes: outputs, summed channels, taps. */
static bt_status read_weight(struct npu_reader *r, const struct npu_factor *weight,
                             const int32_t *taps)
{
    struct npu_function *f = r->out;
    const bt_array *a = r->graph->arrays[weight->array];
    const int32_t indices[] = { f->result.axes[NPU_C], taps[NPU_C], taps[NPU_H],
                                taps[NPU_W] };
    f->weight = (struct npu_operand){ (int32_t)weight->array, { -1, -1, -1, -1 } };
    for (uint32_t i = 0; i < a->rank; i++) {
        uint32_t role = 0;
        if (is_only(a, i, weight->args[i]))
            continue;
        while (role < NPU_NAXIS && (weight->args[i]->kind != BT_NODE_INDEX ||
                                    (int32_t)weight->args[i]->which != indices[role]))
            role++;
        if (role == NPU_NAXIS || f->weight.axes[role] >= 0)
            return NPU_REFUSE(r, "the weight, input %u, is not read in order",
                              weight->array);
        f->weight.axes[role] = (int32_t)i;
    }
    return NULL;
}

static int has_index(const struct npu_factor *f, uint32_t rank, int32_t which)
{
    int found = 0;
    for (uint32_t i = 0; i < rank; i++)
        found |= f->args[i]->kind == BT_NODE_INDEX && (int32_t)f->args[i]->which == which;
    return found;
}

/* The weight is what has the outputs; where neither has (one output), what is read second. */
static bt_status read_products(struct npu_reader *r, const bt_node *reduce)
{
    struct npu_function *f = r->out;
    const bt_node *body = reduce->args[1];
    struct npu_factor factors[2];
    if (reduce->dtype != BT_INT32 || body->kind != BT_NODE_SCALAR ||
        body->which != BT_SCALAR_MUL || body->dtype != BT_INT32 ||
        !npu_as_factor(r, body->args[0], &factors[0]) ||
        !npu_as_factor(r, body->args[1], &factors[1]))
        return NPU_REFUSE(r, "its sum is not one of products of int8 in int32");
    uint32_t ranks[2], w = factors[0].array > factors[1].array ? 0 : 1;
    for (uint32_t i = 0; i < 2; i++)
        ranks[i] = r->graph->arrays[factors[i].array]->rank;
    if (r->stage->rank == 4 && has_index(&factors[w], ranks[w], 3)) { // NHWC
        f->result.axes[NPU_C] = 3;
        f->result.axes[NPU_H] = 1;
        f->result.axes[NPU_W] = 2;
    }
    const int32_t output = f->result.axes[NPU_C];
    if (!has_index(&factors[w], ranks[w], output) &&
        has_index(&factors[1 - w], ranks[1 - w], output))
        w = 1 - w;
    const struct npu_factor *data = &factors[1 - w], *weight = &factors[w];
    int32_t taps[NPU_NAXIS] = { -1, -1, -1, -1 };
    f->layer.kind = NPU_PRODUCTS;
    if (data->zero < INT8_MIN || data->zero > INT8_MAX)
        return NPU_REFUSE(r, "the data's zero point is %" PRId64 "; an int8 is expected",
                          data->zero);
    if (weight->zero)
        return NPU_REFUSE(r, "the weight's zero point is %" PRId64 "; 0 is expected",
                          weight->zero);
    f->zero = f->layer.pad = (int32_t)data->zero;
    f->layer.weight_bits = 8;
    BT_TRY(read_data(r, reduce, data, taps));
    BT_TRY(read_weight(r, weight, taps));
    const int64_t x = INT64_C(128) + (f->zero < 0 ? -f->zero : f->zero),
                  most =
                      f->layer.in * f->layer.rows.taps * f->layer.columns.taps * x * 128;
    r->low = most > INT32_MAX ? INT32_MIN : -most;
    r->high = most > INT32_MAX ? INT32_MAX : most;
    if (f->zero)
        BT_TRY(npu_begin_requantize(r));
    return check_conditions(r, reduce->args[0], taps);
}

static bt_status read_pool(struct npu_reader *r, const bt_node *reduce)
{
    struct npu_function *f = r->out;
    struct npu_factor data;
    int32_t taps[NPU_NAXIS] = { -1, -1, -1, -1 };
    const int is_sum = reduce->which == BT_REDUCER_SUM;
    if ((!is_sum && reduce->which != BT_REDUCER_MAX) ||
        (reduce->dtype != BT_INT32 && (is_sum || reduce->dtype != BT_INT8)) ||
        !npu_as_factor(r, reduce->args[1], &data) || data.zero)
        return NPU_REFUSE(
            r,
            "it reduces to neither the greatest int8 of a window nor their sum in int32");
    f->layer.kind = is_sum ? NPU_TOTAL : NPU_GREATEST;
    BT_TRY(read_data(r, reduce, &data, taps));
    f->layer.pad = is_sum ? 0 : INT8_MIN;
    r->low = is_sum ? INT8_MIN * f->layer.rows.taps * f->layer.columns.taps : INT8_MIN;
    r->high = is_sum ? INT8_MAX * f->layer.rows.taps * f->layer.columns.taps : INT8_MAX;
    return check_conditions(r, reduce->args[0], taps);
}

bt_status npu_read_sum(struct npu_reader *r, const bt_node *reduce)
{
    const bt_node *body = reduce->args[1];
    const int is_product = body->kind == BT_NODE_SCALAR && body->which == BT_SCALAR_MUL;
    return reduce->which == BT_REDUCER_SUM && is_product ? read_products(r, reduce)
                                                         : read_pool(r, reduce);
}

/* ---- all ---- */

static bt_status read_result(struct npu_reader *r, uint32_t result)
{
    struct npu_function *f = r->out;
    const bt_array *stage = r->stage = r->graph->arrays[result];
    static const int32_t image[] = { 0, 1, 2, 3 }, matrix[] = { 0, 1, -1, -1 };
    if (stage->rank != 4 && stage->rank != 2)
        return NPU_REFUSE(r, "its result has rank %u; 2 or 4 is expected", stage->rank);
    for (uint32_t i = 0; i < stage->rank; i++) {
        if (extent_of(stage, i) < 1 || extent_of(stage, i) > INT32_MAX)
            return NPU_REFUSE(r,
                              "axis %u of its result is %" PRId64 "; 1 to %d is expected",
                              i, extent_of(stage, i), INT32_MAX);
    }
    memcpy(f->result.axes, stage->rank == 4 ? image : matrix, sizeof(image));
    f->layer.is_wide = stage->dtype == BT_INT32;
    char name[BT_DTYPE_NAME_SIZE];
    return stage->dtype == BT_INT8 || stage->dtype == BT_INT32
               ? NULL
               : NPU_REFUSE(r, "its result is %s; int8 or int32 is expected",
                            bt_dtype_name(stage->dtype, name, sizeof(name)));
}

static void read_extents(struct npu_reader *r)
{
    struct npu_function *f = r->out;
    struct npu_window *const windows[] = { &f->layer.rows, &f->layer.columns };
    f->layer.out = extent_of(r->stage, (uint32_t)f->result.axes[NPU_C]);
    if (f->layer.kind != NPU_ELEMENT)
        return;
    f->layer.batch = extent_of(r->stage, (uint32_t)f->result.axes[NPU_N]);
    f->layer.in = f->layer.out;
    for (uint32_t i = 0; i < 2; i++) {
        const int32_t axis = f->result.axes[NPU_H + i];
        *windows[i] = whole;
        if (axis >= 0)
            windows[i]->in = windows[i]->out = extent_of(r->stage, (uint32_t)axis);
    }
}

static int has_shape(const bt_array *a, const bt_array *of)
{
    int is_same = a->rank == of->rank;
    for (uint32_t k = 0; is_same && k < a->rank; k++)
        is_same = extent_of(a, k) == extent_of(of, k);
    return is_same;
}

/* What a cut takes has the shape of what it gives, which has the result's. */
static bt_status check_cuts(struct npu_reader *r)
{
    uint32_t n = 1;
    for (uint32_t i = 0; i < r->ncut; i++) {
        r->cuts[i].input = r->func->block->nparam + i;
        for (uint32_t k = 0; k < r->cuts[i].ndata; k++) {
            r->cuts[i].data[k] = r->graph->results[n++];
            if (!has_shape(r->graph->arrays[r->cuts[i].data[k]], r->stage))
                return NPU_REFUSE(r,
                                  "what is requantized has not the shape of the result");
        }
    }
    return NULL;
}

bt_status npu_recognise(bt_ctx *ctx, bt_arena *arena, const struct npu_config *config,
                        const bt_func *func, struct npu_function *out)
{
    struct npu_reader r = {
        .ctx = ctx, .arena = arena, .func = func, .config = config, .out = out
    };
    const bt_func *plain;
    bt_graph *graph;
    memset(out, 0, sizeof(*out)); // layers are compared as bytes
    out->layer.kind = NPU_ELEMENT;
    out->layer.groups = 1;
    out->weight.param = out->result.param = -1;
    if (func->nvar)
        return NPU_REFUSE(&r, "dim %s is open; known dims are expected",
                          bt_as_var_type(func->vars[0])->name);
    r.is_constant = bt_primitive_constants(arena, func); // parameters are tensors
    if (!r.is_constant)
        return bt_no_memory();
    BT_TRY(logical(&r, &plain));
    BT_TRY(bt_graph_compose(ctx, arena, plain, &graph));
    r.graph = graph;
    uint32_t nresult = 1;
    for (uint32_t i = 0; i < r.ncut; i++)
        nresult += r.cuts[i].ndata;
    if (graph->nresult != nresult)
        return NPU_REFUSE(&r, "it has %u results; 1 is expected",
                          graph->nresult - nresult + 1);
    if (graph->ndim)
        return NPU_REFUSE(&r, "its result has dims that are known only once it has run");
    BT_TRY(read_result(&r, graph->results[0]));
    BT_TRY(check_cuts(&r));
    BT_TRY(npu_read_post_ops(&r, graph->results[0]));
    read_extents(&r);
    return NULL;
}
