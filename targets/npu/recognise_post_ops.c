/* Post-ops behind the sum, from the outermost expression inwards. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <baton/op.h>

#include "recognise_parts.h"

enum { MAX_DEPTH = 256, MAX_VISITS = 4096 };

static bt_status read_integer(struct npu_reader *r, const bt_node *node);

/* ---- the layer's post-ops ---- */

static bt_status begin(struct npu_reader *r)
{
    struct npu_layer *l = &r->out->layer;
    if (r->bound)
        return NPU_REFUSE(
            r, "sums beyond 2^24 would be rounded as float32, and are not clamped");
    if (l->npost_op == NPU_MAX_POST_OPS)
        return NPU_REFUSE(r, "more than %d post-ops follow a sum", NPU_MAX_POST_OPS);
    r->out->terms[l->npost_op].factor = r->out->operand_terms[l->npost_op].factor = 1;
    r->out->operands[l->npost_op].param = -1;
    l->npost_op++;
    r->is_shifted = r->is_clamped = 0;
    return NULL;
}

/* The requantize that the next operation goes into. It adds, shifts, then clamps: where that of the
 * last post-op has shifted or clamped already, an addition or a shift begins a new post-op. */
static bt_status requantize_for(struct npu_reader *r, int is_clamp,
                                struct npu_requantize **out, struct npu_terms **terms)
{
    struct npu_layer *l = &r->out->layer;
    if (!l->npost_op || (!is_clamp && (r->is_shifted || r->is_clamped)))
        BT_TRY(begin(r));
    struct npu_post_op *post_op = &l->post_ops[l->npost_op - 1];
    if (!post_op->requantizes)
        post_op->requantize = (struct npu_requantize){ INT32_MIN, INT32_MAX, 0 };
    post_op->requantizes = 1;
    *out = &post_op->requantize;
    *terms = &r->out->terms[l->npost_op - 1];
    return NULL;
}

static void set_range(struct npu_reader *r, int64_t low, int64_t high)
{
    const int wraps = low < INT32_MIN || high > INT32_MAX;
    r->low = wraps ? INT32_MIN : low;
    r->high = wraps ? INT32_MAX : high;
}

static bt_status add(struct npu_reader *r, int64_t value)
{
    struct npu_requantize *s;
    struct npu_terms *terms;
    if (!value)
        return NULL;
    BT_TRY(requantize_for(r, 0, &s, &terms));
    terms->number = (int32_t)((uint32_t)terms->number + (uint32_t)(uint64_t)value);
    set_range(r, r->low + value, r->high + value);
    return NULL;
}

static bt_status clamp(struct npu_reader *r, int is_min, int64_t value)
{
    struct npu_requantize *s;
    struct npu_terms *terms;
    if (value < INT32_MIN || value > INT32_MAX)
        return NPU_REFUSE(r, "it is clamped by %" PRId64 ", which int32 does not hold",
                          value);
    const int32_t by = (int32_t)value;
    if (!r->out->layer.npost_op && (is_min ? by >= r->high : by <= r->low))
        return NULL; // of no effect
    BT_TRY(requantize_for(r, 1, &s, &terms));
    r->is_clamped = 1;
    if (is_min) {
        s->high = by < s->high ? by : s->high;
        s->low = by < s->low ? by : s->low;
        r->high = by;
        r->low = by < r->low ? by : r->low;
        r->lacks_min &= by > r->bound;
    } else {
        s->low = by > s->low ? by : s->low;
        s->high = by > s->high ? by : s->high;
        r->low = by;
        r->high = by > r->high ? by : r->high;
        r->lacks_max &= by < -r->bound;
    }
    if (!r->lacks_min && !r->lacks_max)
        r->bound = 0;
    return NULL;
}

/* ---- operands ---- */

/* (an int8 of the result's shape - zero) * 2^shift */
static int as_tensor(const struct npu_reader *r, const bt_node *node,
                     struct npu_factor *out, int64_t *shift)
{
    const bt_node *of = node;
    *shift = 0;
    if (node->kind == BT_NODE_SCALAR && node->which == BT_SCALAR_SHIFT_LEFT &&
        bt_node_is_const(node->args[1], shift))
        of = node->args[0];
    return *shift >= 0 && *shift <= 23 && npu_as_factor(r, of, out) &&
           out->zero >= INT8_MIN && out->zero <= INT8_MAX;
}

/* What a cut takes, if it is an int8 of an input, less a number. */
static bt_status read_codes(struct npu_reader *r, uint32_t array, struct npu_operand *out,
                            int64_t *zero)
{
    const struct npu_function *f = r->out;
    const bt_array *a = r->graph->arrays[array], *stage = r->stage;
    struct npu_factor data = { .array = array };
    if ((a->body ? !npu_as_factor(r, a->body, &data) : a->dtype != BT_INT8) ||
        npu_cut_of(r, data.array))
        return NPU_REFUSE(r, "what is added is no int8 that is requantized once");
    *zero = data.zero;
    *out = (struct npu_operand){ .param = (int32_t)data.array };
    memcpy(out->axes, f->result.axes, sizeof(f->result.axes));
    if (a->body) {
        r->stage = a;
        BT_TRY(npu_read_operand(r, data.array, data.args, out));
        r->stage = stage;
    }
    return memcmp(out->axes, f->result.axes, sizeof(f->result.axes)) == 0
               ? NULL
               : NPU_REFUSE(r, "what is added has not the result's shape");
}

/* What a cut gives, of an int8 that it takes. */
static bt_status add_scaled(struct npu_reader *r, const struct npu_cut *cut,
                            const struct npu_factor *factor, int32_t by)
{
    struct npu_function *f = r->out;
    const uint32_t i = f->layer.npost_op - 1;
    struct npu_post_op *post_op = &f->layer.post_ops[i];
    struct npu_terms *terms = &f->operand_terms[i];
    struct npu_requantize *s = &post_op->operand_requantize;
    struct npu_qnn_requantize q;
    const int64_t low = r->low, high = r->high;
    int64_t zero;
    if (cut->ndata != 1)
        return NPU_REFUSE(r, "what is added is a sum of two codes itself");
    BT_TRY(npu_read_requantize(r, cut->call, &q));
    if (by)
        return NPU_REFUSE(r, "what is added is shifted once it is requantized");
    BT_TRY(read_codes(r, cut->data[0], &f->operands[i], &zero));
    post_op->has_operand = post_op->requantizes_operand = 1;
    *s = (struct npu_requantize){ INT8_MIN - q.out_zero, INT8_MAX - q.out_zero,
                                  q.is_even };
    terms->number = -(int32_t)zero - q.zero;
    r->low = -512; // of an int8 less zero points
    r->high = 512;
    BT_TRY(npu_take_ratio(r, &q, s, terms));
    set_range(r, low + s->low, high + s->high);
    return add(r, q.out_zero - factor->zero);
}

/* The post-op that adds an operand: a new one, but where the last has only added numbers. */
static bt_status begin_adding(struct npu_reader *r)
{
    const struct npu_layer *l = &r->out->layer;
    const uint32_t n = l->npost_op;
    return !n || l->post_ops[n - 1].has_operand || r->is_shifted || r->is_clamped
               ? begin(r)
               : NULL;
}

/* (the operand - zero) * 2^by */
static bt_status add_shifted(struct npu_reader *r, const struct npu_operand *operand,
                             int64_t zero, int32_t by)
{
    struct npu_function *f = r->out;
    const uint32_t i = f->layer.npost_op - 1;
    struct npu_post_op *post_op = &f->layer.post_ops[i];
    f->operands[i] = *operand;
    if (memcmp(operand->axes, f->result.axes, sizeof(f->result.axes)) != 0)
        return NPU_REFUSE(r, "input %d, that is added, has not the result's shape",
                          operand->param);
    post_op->has_operand = 1;
    post_op->requantizes_operand = by > 0;
    if (by) {
        post_op->operand_requantize = (struct npu_requantize){ INT32_MIN, INT32_MAX, 0 };
        if (r->config->has_multiplier) // which shifts to the right alone
            f->operand_terms[i].factor = (int32_t)(1u << by);
        else
            f->operand_terms[i].shift = -by;
    }
    set_range(r, r->low + INT8_MIN * (INT64_C(1) << by),
              r->high + INT8_MAX * (INT64_C(1) << by));
    return add(r, -zero * (INT64_C(1) << by));
}

static bt_status add_tensor(struct npu_reader *r, const struct npu_factor *factor,
                            int32_t by)
{
    struct npu_operand operand;
    BT_TRY(begin_adding(r));
    const struct npu_cut *cut = npu_cut_of(r, factor->array);
    if (cut)
        return add_scaled(r, cut, factor, by);
    BT_TRY(npu_read_operand(r, factor->array, factor->args, &operand));
    return add_shifted(r, &operand, factor->zero, by);
}

/* A number for each channel. */
static bt_status add_channels(struct npu_reader *r, const bt_node *read)
{
    struct npu_requantize *s;
    struct npu_terms *terms;
    struct npu_operand *operand;
    BT_TRY(requantize_for(r, 0, &s, &terms));
    if (terms->nadded == NPU_MAX_VECTORS)
        return NPU_REFUSE(r, "it adds more than %d numbers to a channel at once",
                          NPU_MAX_VECTORS);
    operand = &terms->added[terms->nadded++];
    BT_TRY(npu_read_operand(r, read->which, read->args, operand));
    const bt_array *a = r->graph->arrays[read->which];
    for (uint32_t i = 0; i < NPU_NAXIS; i++) {
        if (i != NPU_C && operand->axes[i] >= 0 &&
            bt_node_number(a->extents[operand->axes[i]]) != 1)
            return NPU_REFUSE(
                r, "input %u, that is added, has more than one int32 for a channel",
                read->which);
    }
    set_range(r, INT32_MIN, INT32_MAX);
    return NULL;
}

static bt_status add_operand(struct npu_reader *r, const bt_node *node)
{
    struct npu_factor factor;
    int64_t by;
    if (as_tensor(r, node, &factor, &by))
        return add_tensor(r, &factor, (int32_t)by);
    if (node->kind == BT_NODE_READ && node->dtype == BT_INT32 &&
        !r->graph->arrays[node->which]->body)
        return add_channels(r, node);
    return NPU_REFUSE(r, "what is added is neither an int32 for each channel nor an int8 "
                         "for each element");
}

/* ---- shifts ---- */

static int64_t shifted(int64_t x, int64_t factor, uint32_t shift)
{
    return bt_floordiv_int64(x * factor, INT64_C(1) << shift);
}

/* * factor / 2^shift, rounded once. */
static bt_status shift(struct npu_reader *r, int64_t factor, int64_t by, uint32_t is_even)
{
    if (!factor || factor > INT32_MAX || factor < INT32_MIN)
        return NPU_REFUSE(
            r, "sums are multiplied by %" PRId64 "; an int32 other than 0 is expected",
            factor);
    while (factor % 2 == 0 && by > 0) {
        factor /= 2;
        by--;
    }
    if (factor != 1 && !r->config->has_multiplier)
        return NPU_REFUSE(r, "sums are multiplied by what is no power of two, and the "
                             "machine has no multiplier");
    const int most = factor == 1 ? 31 : 62;
    if (by < 0 || by > most)
        return NPU_REFUSE(r, "sums are shifted by %" PRId64 " bits; 0 to %d are expected",
                          by, most);
    const int64_t a = shifted(r->low, factor, (uint32_t)by),
                  b = shifted(r->high, factor, (uint32_t)by), low = a < b ? a : b,
                  high = (a < b ? b : a) + (by > 0);
    if (low < INT32_MIN || high > (int64_t)INT32_MAX + (by > 0))
        return NPU_REFUSE(r, "sums may be beyond int32 once they are multiplied");
    set_range(r, low, high > INT32_MAX ? INT32_MAX : high);
    if (factor == 1 && by == 0)
        return NULL;
    struct npu_requantize *scaled;
    struct npu_terms *terms;
    BT_TRY(requantize_for(r, 0, &scaled, &terms));
    scaled->is_even = is_even;
    terms->factor = (int32_t)factor;
    terms->shift = (int32_t)by;
    r->is_shifted = 1;
    return NULL;
}

/* floor(x / 2^by): halves go up once half a unit was taken off. */
static bt_status shift_down(struct npu_reader *r, int64_t by)
{
    const int64_t half = by > 0 ? INT64_C(1) << (by - 1) : 0;
    if (by < 1 || by > 31)
        return NPU_REFUSE(r, "sums are shifted by %" PRId64 " bits; 1 to 31 are expected",
                          by);
    if (r->low - half < INT32_MIN)
        return NPU_REFUSE(
            r, "sums cannot be proved to stay in int32 before they are shifted");
    BT_TRY(add(r, -half));
    return shift(r, 1, by, 0);
}

/* x * factor + constant of int64, x an int32. */
static int as_product(const bt_node *node, const bt_node **x, int64_t *factor,
                      int64_t *constant)
{
    bt_linear form;
    int64_t left = 0;
    bt_node_as_linear(node, &form);
    if (form.n != 1)
        return 0;
    const bt_node *atom = form.atoms[0];
    if (atom->kind == BT_NODE_SCALAR && atom->which == BT_SCALAR_SHIFT_LEFT &&
        bt_node_is_const(atom->args[1], &left))
        atom = atom->args[0];
    *factor = form.coefs[0];
    *constant = form.constant;
    if (atom->kind != BT_NODE_CAST || atom->args[0]->dtype != BT_INT32 || left)
        return 0;
    *x = atom->args[0];
    return 1;
}

/* int32((int64(x) * factor + half) >> by) */
static bt_status read_fixed(struct npu_reader *r, const bt_node *node)
{
    const bt_node *x;
    int64_t by, factor, constant;
    if (node->kind != BT_NODE_SCALAR || node->which != BT_SCALAR_SHIFT_RIGHT ||
        !bt_node_is_const(node->args[1], &by) || by < 1 || by > 62 ||
        !as_product(node->args[0], &x, &factor, &constant) ||
        constant != INT64_C(1) << (by - 1))
        return NPU_REFUSE(r, "an int64 is no product that is shifted with rounding");
    BT_TRY(read_integer(r, x));
    return shift(r, factor, by, 0);
}

/* ---- float32 ---- */

/* The exponent of a power of two up to 1. */
static int as_power(double factor, int64_t *by)
{
    int exponent;
    if (!(factor > 0) || frexp(factor, &exponent) != 0.5)
        return 0;
    *by = 1 - exponent;
    return *by >= 0 && *by <= 31;
}

/* round_even(float32(x) * 2^-by). A float32 has 24 bits: beyond them the product is rounded before
 * it is shifted, which nothing shows if it is clamped then. */
static bt_status read_product(struct npu_reader *r, const bt_node *node)
{
    enum { BITS = 24 };
    int64_t by;
    while (node->kind == BT_NODE_CAST && bt_dtype_is_float(node->args[0]->dtype))
        node = node->args[0];
    if (node->kind != BT_NODE_SCALAR || node->which != BT_SCALAR_MUL)
        return NPU_REFUSE(
            r, "it computes in floats, of which the machine has only a sum times a "
               "constant, rounded");
    const int is_first = node->args[0]->kind == BT_NODE_CONST;
    const bt_node *constant = node->args[is_first ? 0 : 1],
                  *x = node->args[is_first ? 1 : 0];
    if (constant->kind != BT_NODE_CONST || x->kind != BT_NODE_CAST ||
        x->dtype != BT_FLOAT32 || x->args[0]->dtype != BT_INT32)
        return NPU_REFUSE(r, "a product of floats is no int32 times a number");
    if (!as_power(constant->value.f, &by))
        return NPU_REFUSE(r,
                          "sums are multiplied by the float32 %g; a power of two from "
                          "2^-31 to 1 is expected",
                          constant->value.f);
    BT_TRY(read_integer(r, x->args[0]));
    const int64_t most = INT64_C(1) << BITS, low = r->low, high = r->high;
    if ((low < -most || high > most) && by > BITS)
        return NPU_REFUSE(r, "sums beyond 2^24 would be rounded as float32");
    BT_TRY(shift(r, 1, by, 1));
    r->lacks_max = low < -most;
    r->lacks_min = high > most;
    r->bound = r->lacks_max || r->lacks_min ? most >> by : 0;
    return NULL;
}

/* A whole number. */
static int as_whole(const bt_node *node, int64_t *out)
{
    if (node->kind != BT_NODE_CONST || node->value.f != floor(node->value.f) ||
        fabs(node->value.f) > 0x1p31)
        return 0;
    *out = (int64_t)node->value.f;
    return 1;
}

static bt_status read_float(struct npu_reader *r, const bt_node *node)
{
    int64_t value;
    while (node->kind == BT_NODE_CAST && bt_dtype_is_float(node->args[0]->dtype))
        node = node->args[0];
    if (node->kind == BT_NODE_SCALAR && node->which == BT_SCALAR_ROUND_EVEN)
        return read_product(r, node->args[0]);
    for (uint32_t i = 0; node->kind == BT_NODE_SCALAR && node->narg == 2 && i < 2; i++) {
        if (!as_whole(node->args[i], &value))
            continue;
        const int is_min = node->which == BT_SCALAR_MIN;
        if (!is_min && node->which != BT_SCALAR_MAX)
            break;
        BT_TRY(read_float(r, node->args[1 - i]));
        return clamp(r, is_min, value);
    }
    return NPU_REFUSE(
        r, "it computes in floats, of which the machine has only a sum times a constant, "
           "rounded, then clamped by whole numbers");
}

/* ---- integers ---- */

static int sums(struct npu_reader *r, const bt_node *node);

static int sums_in(struct npu_reader *r, uint32_t array)
{
    const struct npu_cut *cut = npu_cut_of(r, array);
    const bt_array *a = r->graph->arrays[array];
    int found = a->body && sums(r, a->body);
    for (uint32_t i = 0; cut && !found && i < cut->ndata; i++)
        found = r->nvisit++ < MAX_VISITS && sums_in(r, cut->data[i]);
    return found;
}

/* Whether there is a sum in an expression; cuts are looked through. */
static int sums(struct npu_reader *r, const bt_node *node)
{
    if (!r->ncut || r->nvisit++ > MAX_VISITS)
        return (int)node->reduces;
    const struct npu_cut *cut =
        node->kind == BT_NODE_READ ? npu_cut_of(r, node->which) : NULL;
    int found = (int)node->reduces;
    for (uint32_t i = 0; cut && i < cut->ndata; i++)
        found |= sums_in(r, cut->data[i]);
    for (uint32_t i = 0; !found && node->reads && i < node->narg; i++)
        found = sums(r, node->args[i]);
    return found;
}

/* Whether post-ops begin here: at a sum, at what a cut gives, or, where the stage has no sum, at an
 * element of an input. */
static int is_begin(struct npu_reader *r, const bt_node *node)
{
    struct npu_factor factor;
    if (node->kind == BT_NODE_REDUCE)
        return 1;
    return npu_as_factor(r, node, &factor) &&
           (npu_cut_of(r, factor.array) || !r->stage->body || !sums(r, r->stage->body));
}

static bt_status begin_at_input(struct npu_reader *r, uint32_t array,
                                const bt_node *const *args)
{
    BT_TRY(npu_read_operand(r, array, args, &r->out->data));
    if (memcmp(r->out->data.axes, r->out->result.axes, sizeof(r->out->data.axes)) != 0)
        return NPU_REFUSE(r, "input %u has not the result's shape", array);
    r->low = INT8_MIN;
    r->high = INT8_MAX;
    return NULL;
}

static bt_status read_array(struct npu_reader *r, uint32_t array);

/* qnn.add: int8 times 2^-by each, whose sum float32 has exactly, rounded to even and limited to
 * int8. Post-ops begin in the one that has a sum or is worth less, and the other is shifted to
 * the left. */
static bt_status read_sum_of_codes(struct npu_reader *r, const struct npu_cut *cut)
{
    enum { MAX_APART = 14 };
    const bt_array *stage = r->stage;
    struct npu_qnn_add q;
    struct npu_operand operand;
    int64_t by[2], zero;
    BT_TRY(npu_read_add(r, cut->call, &q));
    for (uint32_t i = 0; i < 2; i++) {
        if (!as_power(q.ratios[i], &by[i]))
            return NPU_REFUSE(
                r,
                "it adds an int8 times %g; a power of two from 2^-31 to 1 is "
                "expected",
                (double)q.ratios[i]);
    }
    const int has_sum[2] = { sums_in(r, cut->data[0]), sums_in(r, cut->data[1]) };
    const uint32_t first = has_sum[0] == has_sum[1] ? by[0] < by[1] : has_sum[1],
                   other = cut->data[1 - first];
    const int64_t left = by[first] - by[1 - first];
    if (left < 0 || left > MAX_APART)
        return NPU_REFUSE(r,
                          "what is added to a sum is worth 2^%" PRId64
                          " times as much; 2^0 to 2^%d is expected",
                          left, MAX_APART);
    BT_TRY(read_codes(r, other, &operand, &zero));
    BT_TRY(read_array(r, cut->data[first]));
    r->stage = stage;
    BT_TRY(begin_adding(r));
    BT_TRY(add_shifted(r, &operand, q.zeros[1 - first] + zero, (int32_t)left));
    BT_TRY(add(r, -q.zeros[first]));
    BT_TRY(shift(r, 1, by[first], 1));
    BT_TRY(clamp(r, 1, INT8_MAX - q.out_zero));
    BT_TRY(clamp(r, 0, INT8_MIN - q.out_zero));
    return add(r, q.out_zero);
}

/* qnn.requantize: rounded once, whatever the sum, and limited to int8. */
static bt_status read_cut(struct npu_reader *r, const struct npu_cut *cut)
{
    const bt_array *stage = r->stage;
    struct npu_qnn_requantize q;
    struct npu_requantize *s;
    struct npu_terms *terms;
    if (cut->ndata == 2)
        return read_sum_of_codes(r, cut);
    BT_TRY(npu_read_requantize(r, cut->call, &q));
    BT_TRY(read_array(r, cut->data[0]));
    r->stage = stage;
    BT_TRY(add(r, -(int64_t)q.zero));
    BT_TRY(requantize_for(r, 0, &s, &terms));
    *s = (struct npu_requantize){ INT8_MIN - q.out_zero, INT8_MAX - q.out_zero,
                                  q.is_even };
    BT_TRY(npu_take_ratio(r, &q, s, terms));
    r->is_shifted = r->is_clamped = 1;
    r->low = s->low;
    r->high = s->high;
    return add(r, q.out_zero);
}

static bt_status read_begin(struct npu_reader *r, const bt_node *node)
{
    struct npu_factor factor = { 0 };
    if (node->kind == BT_NODE_REDUCE)
        return npu_read_sum(r, node);
    (void)npu_as_factor(r, node, &factor);
    const struct npu_cut *cut = npu_cut_of(r, factor.array);
    if (cut)
        BT_TRY(read_cut(r, cut));
    else
        BT_TRY(begin_at_input(r, factor.array, factor.args));
    return add(r, -factor.zero);
}

/* An input, or a stage from its sum on. */
static bt_status read_array(struct npu_reader *r, uint32_t array)
{
    const bt_array *a = r->graph->arrays[array];
    const struct npu_cut *cut = npu_cut_of(r, array);
    r->stage = a;
    if (cut)
        return read_cut(r, cut);
    char name[BT_DTYPE_NAME_SIZE];
    if (!a->body && a->dtype != BT_INT8)
        return NPU_REFUSE(r, "input %u is %s; int8 is expected", array,
                          bt_dtype_name(a->dtype, name, sizeof(name)));
    if (!a->body) { // of the result's shape, as cuts are
        r->out->data = (struct npu_operand){ .param = (int32_t)array };
        memcpy(r->out->data.axes, r->out->result.axes, sizeof(r->out->data.axes));
        r->low = INT8_MIN;
        r->high = INT8_MAX;
        return NULL;
    }
    if (a->body->depth > MAX_DEPTH)
        return NPU_REFUSE(r, "its expressions nest deeper than %d", MAX_DEPTH);
    return read_integer(r, a->body);
}

/* a + b: post-ops begin in the one that has a sum, and the other is added; where neither has one, they
 * begin in a, unless that is scaled. */
static bt_status read_sum_of(struct npu_reader *r, const bt_node *a, const bt_node *b)
{
    struct npu_factor factor;
    int64_t by;
    const int has_sum = sums(r, a) || sums(r, b);
    const int swap = has_sum ? !sums(r, a) : as_tensor(r, a, &factor, &by) && by > 0;
    BT_TRY(read_integer(r, swap ? b : a));
    return add_operand(r, swap ? a : b);
}

static bt_status read_scalar(struct npu_reader *r, const bt_node *node)
{
    const bt_node *a = node->args[0], *b = node->narg > 1 ? node->args[1] : NULL;
    int64_t value;
    const int is_wide = node->dtype == BT_INT32;
    if (!b)
        return NPU_REFUSE(r, "the machine has no %s", bt_scalar_name(node->which));
    const int is_first = bt_node_is_const(a, &value),
              is_const = is_first || bt_node_is_const(b, &value);
    switch (node->which) {
    case BT_SCALAR_MIN:
    case BT_SCALAR_MAX:
        if (!is_const)
            return NPU_REFUSE(r, "it clamps by what is not one constant");
        BT_TRY(read_integer(r, is_first ? b : a));
        return clamp(r, node->which == BT_SCALAR_MIN, value);
    case BT_SCALAR_ADD:
        if (!is_wide)
            break;
        if (!is_const)
            return read_sum_of(r, a, b);
        BT_TRY(read_integer(r, is_first ? b : a));
        return add(r, value);
    case BT_SCALAR_SUB:
        if (!is_wide || is_first || !is_const)
            break;
        BT_TRY(read_integer(r, a));
        return add(r, -value);
    case BT_SCALAR_SHIFT_RIGHT:
        if (!is_wide || is_first || !is_const)
            break;
        BT_TRY(read_integer(r, a));
        return shift_down(r, value);
    default: break;
    }
    return NPU_REFUSE(r, "the machine has no %s of such operands",
                      bt_scalar_name(node->which));
}

static bt_status read_cast(struct npu_reader *r, const bt_node *node)
{
    const bt_node *of = node->args[0];
    char from[BT_DTYPE_NAME_SIZE], to[BT_DTYPE_NAME_SIZE];
    if (node->dtype == BT_INT32 && of->dtype == BT_INT64)
        return read_fixed(r, of);
    if (node->dtype == BT_INT32 && of->dtype == BT_FLOAT32)
        return read_float(r, of);
    if ((node->dtype != BT_INT8 && node->dtype != BT_INT32) ||
        (of->dtype != BT_INT8 && of->dtype != BT_INT32))
        return NPU_REFUSE(r, "it casts %s to %s; int8 and int32 are expected",
                          bt_dtype_name(of->dtype, from, sizeof(from)),
                          bt_dtype_name(node->dtype, to, sizeof(to)));
    BT_TRY(read_integer(r, of));
    if (node->dtype == BT_INT8 && (r->bound || r->low < INT8_MIN || r->high > INT8_MAX))
        return NPU_REFUSE(r, "what becomes int8 is not clamped to it");
    return NULL;
}

static bt_status read_integer(struct npu_reader *r, const bt_node *node)
{
    if (is_begin(r, node))
        return read_begin(r, node);
    switch (node->kind) {
    case BT_NODE_CAST: return read_cast(r, node);
    case BT_NODE_SCALAR: return read_scalar(r, node);
    default:
        return NPU_REFUSE(r,
                          "it is no sum of products, no window and no element of int8");
    }
}

bt_status npu_begin_requantize(struct npu_reader *r)
{
    struct npu_requantize *s;
    struct npu_terms *terms;
    return requantize_for(r, 0, &s, &terms);
}

/* Values that int8 holds are clamped to it all the same, where that costs nothing. */
static void end_in_int8(struct npu_reader *r)
{
    struct npu_layer *l = &r->out->layer;
    struct npu_post_op *last = l->npost_op ? &l->post_ops[l->npost_op - 1] : NULL;
    if (l->is_wide || !last || !last->requantizes)
        return;
    last->requantize.low =
        last->requantize.low < INT8_MIN ? INT8_MIN : last->requantize.low;
    last->requantize.high =
        last->requantize.high > INT8_MAX ? INT8_MAX : last->requantize.high;
}

static int are_constant(const struct npu_reader *r, const struct npu_terms *terms)
{
    int all = 1;
    for (uint32_t i = 0; i < terms->nadded; i++)
        all &= r->is_constant[terms->added[i].param];
    return all;
}

/* Ratios by channel are looked at when numbers are laid out, which must be before the program
 * runs: all of them are constants then. */
static bt_status check_constants(struct npu_reader *r)
{
    const struct npu_function *f = r->out;
    int has_vectors = 0, all = !f->zero || r->is_constant[f->weight.param];
    for (uint32_t i = 0; i < f->layer.npost_op; i++) {
        has_vectors |=
            f->terms[i].ratio.arithmetic || f->operand_terms[i].ratio.arithmetic;
        all &= are_constant(r, &f->terms[i]) && are_constant(r, &f->operand_terms[i]);
    }
    return all || !has_vectors ? NULL
                               : NPU_REFUSE(r, "it has scales by channel, and not all of "
                                               "its numbers are constants");
}

bt_status npu_read_post_ops(struct npu_reader *r, uint32_t array)
{
    const bt_array *stage = r->stage;
    BT_TRY(read_array(r, array));
    r->stage = stage;
    BT_TRY(check_constants(r));
    end_in_int8(r);
    return r->bound ? NPU_REFUSE(r, "sums beyond 2^24 would be rounded as float32, and "
                                    "are not clamped")
                    : NULL;
}
