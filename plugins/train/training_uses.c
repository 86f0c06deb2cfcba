/* What a model does with a parameter: whether it is a factor, which begins as one, and which of its
 * axes are what a layer gives and reads. */
#include "training.h"

#include <string.h>

#include <baton/op.h>

/* A value that is the parameter, but for its shape and for numbers that multiply it. */
struct found {
    const bt_value *value;
    const bt_func *func;        /* that it is of */
    uint32_t rank;              /* of the parameter; 0: its axes are not known here */
    uint32_t axes[BT_MAX_RANK]; /* of the parameter */
};

struct search {
    const struct bt_training *t;
    const bt_module *module;
    bt_map seen;
    bt_vec(struct found) values;
    uint32_t nfactor, nother; /* uses */
    int is_gamma;
    struct training_uses *uses;
};

static bt_status add(struct search *s, const struct found *from, const bt_func *func,
                     const bt_value *value)
{
    struct found found = *from;
    found.value = value;
    found.func = func;
    if (bt_map_find(&s->seen, value))
        return NULL;
    return bt_map_put(&s->seen, value, s) && BT_PUSH(s->t->arena, &s->values, found)
               ? NULL
               : bt_no_memory();
}

/* ---- axes ---- */

/* Where a layout has an axis; 0 and 1 where it does not say it of each axis. */
static void read_layout(const char *layout, uint32_t rank, uint32_t *out, uint32_t *in)
{
    const char *o = strchr(layout, 'O'), *i = strchr(layout, 'I');
    *out = o && i && strlen(layout) == rank ? (uint32_t)(o - layout) : 0;
    *in = o && i && strlen(layout) == rank ? (uint32_t)(i - layout) : 1;
}

/* The axes of argument `index` that a layer gives and reads. 0: the call says nothing of them. */
static int find_axes(const bt_call *call, uint32_t index, uint32_t rank, uint32_t *out,
                     uint32_t *in)
{
    const char *name = call->op->name;
    const int is_dense = strcmp(name, "nn.dense") == 0;
    if (strncmp(name, "nn.conv", 7) == 0 && index == 1 && rank > 2) {
        read_layout(bt_call_text(call, "kernel_layout"), rank, out, in);
        return 1;
    }
    if ((is_dense || strcmp(name, "nn.matmul") == 0 ||
         strcmp(name, "nn.batch_matmul") == 0) &&
        index < 2) {
        const int is_last =
            is_dense || (bt_call_int(call, index ? "transpose_b" : "transpose_a", 0) !=
                         0) == (index == 1);
        *in = rank - (is_last ? 1 : 2);
        *out = rank - (is_last ? 2 : 1);
        return 1;
    }
    // rows of a table are what it gives for an index: their elements are read by what follows
    const int64_t axis = strcmp(name, "take") == 0 && index == 0 && rank == 2
                             ? bt_call_int(call, "axis", BT_NONE)
                             : BT_NONE;
    *out = axis == 1 || axis == -1;
    *in = !*out;
    return axis != BT_NONE;
}

/* The first use that tells it counts. Axes beside those of a product are of a batch, those beside
 * channels of a window. */
static void note_axes(const struct search *s, const struct found *found,
                      const bt_call *call, uint32_t index)
{
    struct training_uses *uses = s->uses;
    uint32_t out, in, n = 0;
    if (found->rank < 2 || uses->rank || !find_axes(call, index, found->rank, &out, &in))
        return;
    const int has_window = strncmp(call->op->name, "nn.conv", 7) == 0;
    uses->rank = found->rank;
    uses->nbatch = has_window ? 0 : found->rank - 2;
    for (uint32_t k = 0; k < found->rank && !has_window; k++) {
        if (k != out && k != in)
            uses->order[n++] = found->axes[k];
    }
    uses->order[n++] = found->axes[out];
    uses->order[n++] = found->axes[in];
    for (uint32_t k = 0; k < found->rank && has_window; k++) {
        if (k != out && k != in)
            uses->order[n++] = found->axes[k];
    }
}

/* Those of the result of a call that passes the parameter on. */
static void follow_axes(const bt_call *call, const struct found *from, struct found *to)
{
    const bt_ints *axes =
        call->op ? bt_attr_find(call->op, call->attrs, "axes", BT_ATTR_INTS) : NULL;
    const char *name = call->op ? call->op->name : "";
    *to = *from;
    if (strcmp(name, "transpose") == 0) {
        for (uint32_t k = 0; k < from->rank; k++) {
            const int64_t at =
                !axes || axes->n == BT_NONE_LIST ? -1 - (int64_t)k : axes->at[k];
            to->axes[k] = from->axes[at < 0 ? at + from->rank : at];
        }
    } else if (strcmp(name, "cast") != 0 && strcmp(name, "multiply") != 0 &&
               strcmp(name, "divide") != 0) {
        to->rank = 0;
    }
}

/* ---- uses ---- */

static int is_number(const struct search *s, const bt_value *value)
{
    return bt_const_number(bt_module_constant(s->module, value)) != NULL;
}

/* A call whose result is its argument `index` but for its shape, its type and a number. */
static int passes_on(const struct search *s, const bt_call *call, uint32_t index)
{
    static const char *const shapes[] = { "reshape",   "expand_dims",  "squeeze",
                                          "transpose", "broadcast_to", "cast" };
    for (uint32_t i = 0; i < BT_COUNT(shapes); i++) {
        if (strcmp(call->op->name, shapes[i]) == 0)
            return index == 0;
    }
    return (strcmp(call->op->name, "multiply") == 0 &&
            is_number(s, call->args[!index])) ||
           (strcmp(call->op->name, "divide") == 0 && index == 0);
}

static bt_status look_at_call(struct search *s, const struct found *found,
                              const bt_call *call, uint32_t index)
{
    const bt_global *global = bt_call_global(s->module, call);
    const bt_op_input *input = call->op ? bt_op_input_at(call->op, index) : NULL;
    if (global && global->kind == BT_GLOBAL_FUNC && global->func->block)
        return add(s, found, global->func, &global->func->block->params[index]->base);
    if (input &&
        (strcmp(input->name, "gamma") == 0 || strcmp(input->name, "moving_var") == 0))
        s->is_gamma = 1;
    if (call->op && passes_on(s, call, index)) {
        struct found next;
        follow_axes(call, found, &next);
        return add(s, &next, found->func, &call->base);
    }
    if (call->op)
        note_axes(s, found, call, index);
    if (call->op && (strcmp(call->op->name, "multiply") == 0 ||
                     strcmp(call->op->name, "divide") == 0))
        s->nfactor++;
    else
        s->nother++;
    return NULL;
}

static bt_status look_at_block(struct search *s, const struct found *found,
                               const bt_block *block)
{
    s->nother += block->result == found->value;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *binding = block->bindings[i];
        const bt_call *call = bt_as_call(binding);
        for (uint32_t k = 0; call && k < call->narg; k++) {
            if (call->args[k] == found->value)
                BT_TRY(look_at_call(s, found, call, k));
        }
        for (uint32_t k = 0; !call && k < bt_value_noperand(binding); k++)
            s->nother += bt_value_operand(binding, k) == found->value;
    }
    return NULL;
}

bt_status training_uses_find(const struct bt_training *t, const bt_module *module,
                             uint32_t param, struct training_uses *out)
{
    const bt_func *func = training_model(module);
    struct search s = { .t = t, .module = module, .uses = out };
    struct found first = { .rank = t->now[param]->rank };
    uint32_t place = 0;
    *out = (struct training_uses){ 0 };
    bt_map_init(&s.seen, t->arena, 0);
    while (t->places[place] != param)
        place++;
    for (uint32_t k = 0; k < first.rank; k++)
        first.axes[k] = k;
    BT_TRY(add(&s, &first, func, &func->block->params[t->ninput + place]->base));
    for (uint32_t n = 0; n < s.values.len; n++) {
        const struct found found = s.values.at[n];
        bt_blocks blocks = { 0 };
        BT_TRY(bt_block_nested(t->arena, found.func->block, &blocks));
        for (uint32_t b = 0; b < blocks.len; b++)
            BT_TRY(look_at_block(&s, &found, blocks.at[b]));
    }
    out->is_factor = s.is_gamma || (s.nfactor && !s.nother);
    return NULL;
}
