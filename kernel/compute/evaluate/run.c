/* Instructions of the reference evaluator, and the loops around them. */
#include <inttypes.h>
#include <string.h>

#include "compute/evaluate/bytecode.h"

enum { PATIENCE = 4096 }; /* iterations of loops between looks at cancellation */

static int run_block(bt__machine *m, const bt__instrs *block)
{
    for (uint32_t i = 0; i < block->len; i++) {
        if (!block->at[i].run(m, &block->at[i]))
            return 0;
    }
    return 1;
}

/* ---- loops ---- */

static int look_up(bt__machine *m)
{
    m->patience = PATIENCE;
    if (!bt_ctx_cancelled(m->ctx))
        return 1;
    m->status = bt_fail(m->ctx, BT_ERR_CANCELLED, "%s: stopped on request", m->op);
    return 0;
}

/* The greatest value of cursor + lane * i over the current lanes. */
static int64_t limit_value(const bt__machine *m, const struct bt__limit *l)
{
    int64_t v = m->cursors[l->cursor];
    if (l->lane > 0)
        v += l->lane * (int64_t)(m->to - 1);
    else if (l->lane < 0)
        v += l->lane * (int64_t)m->from;
    return v;
}

/* Narrows [*low, *high) to where some lane may satisfy the limit. */
static void narrow_range(const bt__machine *m, const struct bt__limit *l, int64_t *low,
                         int64_t *high)
{
    int64_t v = limit_value(m, l);
    if (l->coef == 0) {
        *high = v < 0 ? *low : *high;
    } else if (l->coef > 0) {
        int64_t first = l->coef == 1 ? -v : bt_ceildiv_int64(-v, l->coef);
        *low = first > *low ? first : *low;
    } else {
        int64_t last = l->coef == -1 ? v : bt_floordiv_int64(v, -l->coef);
        *high = last < *high - 1 ? last + 1 : *high;
    }
}

/* Narrows [*from, *to) to the lanes that satisfy the limit. */
static void narrow_lanes(const bt__machine *m, const struct bt__limit *l, int64_t *from,
                         int64_t *to)
{
    int64_t v = m->cursors[l->cursor];
    if (l->lane == 0) {
        *to = v < 0 ? *from : *to;
    } else if (l->lane > 0) {
        int64_t first = l->lane == 1 ? -v : bt_ceildiv_int64(-v, l->lane);
        *from = first > *from ? first : *from;
    } else {
        int64_t last = l->lane == -1 ? v : bt_floordiv_int64(v, -l->lane);
        *to = last < *to - 1 ? last + 1 : *to;
    }
}

static void advance(bt__machine *m, const struct bt__loop *loop, int64_t n)
{
    for (uint32_t i = 0; i < loop->steps.len; i++)
        m->cursors[loop->steps.at[i].cursor] += loop->steps.at[i].by * n;
}

/* One iteration with lanes narrowed to the windows. */
static int run_turn(bt__machine *m, const struct bt__loop *loop)
{
    int64_t from = m->from, to = m->to;
    uint32_t old_from = m->from, old_to = m->to;
    for (uint32_t i = 0; i < loop->windows.len; i++)
        narrow_lanes(m, &loop->windows.at[i], &from, &to);
    if (from >= to)
        return 1;
    m->from = (uint32_t)from;
    m->to = (uint32_t)to;
    int ok = run_block(m, &loop->body);
    m->from = old_from;
    m->to = old_to;
    return ok;
}

int bt__run_loop(bt__machine *m, const bt__instr *in)
{
    const struct bt__loop *loop = in->loop;
    int64_t low = 0, high = loop->extent;
    uint32_t from = m->from, to = m->to;
    for (uint32_t i = 0; i < loop->limits.len && low < high; i++)
        narrow_range(m, &loop->limits.at[i], &low, &high);
    if (low >= high)
        return 1;
    advance(m, loop, low);
    int ok = 1;
    for (int64_t i = low, n; i < high && ok; i += n) {
        n = 1;
        if (loop->width > 1) {
            n = high - i < loop->width ? high - i : loop->width;
            m->from = 0;
            m->to = (uint32_t)n;
        }
        ok = loop->windows.len ? run_turn(m, loop) : run_block(m, &loop->body);
        advance(m, loop, n);
        if (--m->patience == 0)
            ok = ok && look_up(m);
    }
    advance(m, loop, -high);
    m->from = from;
    m->to = to;
    return ok;
}

static int run_lanes(bt__machine *m, const bt__instrs *block, int64_t from, int64_t to)
{
    if (from >= to)
        return 1;
    m->from = (uint32_t)from;
    m->to = (uint32_t)to;
    return run_block(m, block);
}

int bt__run_choose(bt__machine *m, const bt__instr *in)
{
    const struct bt__choice *c = in->choice;
    uint32_t old_from = m->from, old_to = m->to;
    int64_t from = old_from, to = old_to;
    for (uint32_t i = 0; i < c->limits.len; i++)
        narrow_lanes(m, &c->limits.at[i], &from, &to);
    if (from >= to)
        from = to = old_to;
    int ok = run_lanes(m, &c->branches[0], from, to) &&
             run_lanes(m, &c->branches[1], old_from, from) &&
             run_lanes(m, &c->branches[1], to, old_to);
    m->from = old_from;
    m->to = old_to;
    return ok;
}

int bt__run_branch(bt__machine *m, const bt__instr *in)
{
    return run_block(m, &in->choice->branches[in->choice->condition.at->i ? 0 : 1]);
}

int bt__run_both(bt__machine *m, const bt__instr *in)
{
    return run_block(m, &in->choice->branches[0]) &&
           run_block(m, &in->choice->branches[1]);
}

/* ---- values ---- */

/* The cell of an operand at lane `from`. */
static inline bt_cell *cell(const struct bt__reg *r, uint32_t from)
{
    return r->at + (size_t)from * r->step;
}

int bt__run_strip(bt__machine *m, const bt__instr *in)
{
    uint32_t from = bt__lane_from(m, &in->out);
    in->strip(bt__lane_count(m, &in->out), in->out.at + from, cell(&in->a, from),
              in->a.step, cell(&in->b, from), in->b.step);
    return 1;
}

int bt__run_wrap(bt__machine *m, const bt__instr *in)
{
    bt_cell *out = in->out.at + bt__lane_from(m, &in->out);
    uint32_t n = bt__lane_count(m, &in->out);
    switch (in->to) {
#define WRAP_CASE(UPPER, type)           \
    case BT_##UPPER:                     \
        for (uint32_t i = 0; i < n; i++) \
            out[i].i = (type)out[i].i;   \
        return 1;
        WRAP_CASE(INT8, int8_t)
        WRAP_CASE(INT16, int16_t)
        WRAP_CASE(INT32, int32_t)
        WRAP_CASE(UINT8, uint8_t)
        WRAP_CASE(UINT16, uint16_t)
        WRAP_CASE(UINT32, uint32_t)
    default:
        for (uint32_t i = 0; i < n; i++)
            out[i].i = bt__int_wrap(out[i].i, in->to);
        return 1;
    }
}

int bt__run_cast(bt__machine *m, const bt__instr *in)
{
    uint32_t from = bt__lane_from(m, &in->out), n = bt__lane_count(m, &in->out);
    bt_cell *out = in->out.at + from;
    const bt_cell *a = cell(&in->a, from);
    for (uint32_t i = 0; i < n; i++)
        out[i] = bt_cell_cast(a[i * in->a.step], in->from, in->to);
    return 1;
}

int bt__run_select(bt__machine *m, const bt__instr *in)
{
    uint32_t from = bt__lane_from(m, &in->out), n = bt__lane_count(m, &in->out);
    bt_cell *out = in->out.at + from;
    const bt_cell *c = cell(&in->a, from);
    const bt_cell *x = cell(&in->b, from), *y = cell(&in->c, from);
    for (uint32_t i = 0; i < n; i++)
        out[i] = c[i * in->a.step].i ? x[i * in->b.step] : y[i * in->c.step];
    return 1;
}

int bt__run_move(bt__machine *m, const bt__instr *in)
{
    uint32_t from = bt__lane_from(m, &in->out), n = bt__lane_count(m, &in->out);
    bt_cell *out = in->out.at + from;
    const bt_cell *a = cell(&in->a, from);
    for (uint32_t i = 0; i < n; i++)
        out[i] = a[i * in->a.step];
    return 1;
}

int bt__run_linear(bt__machine *m, const bt__instr *in)
{
    uint32_t from = bt__lane_from(m, &in->out), n = bt__lane_count(m, &in->out);
    bt_cell *out = in->out.at + from;
    uint64_t lane = (uint64_t)in->lane;
    uint64_t at = (uint64_t)m->cursors[in->cursor] + lane * from;
    for (uint32_t i = 0; i < n; i++)
        out[i].i = (int64_t)(at + lane * i);
    return 1;
}

int bt__run_add_times(bt__machine *m, const bt__instr *in)
{
    uint32_t from = bt__lane_from(m, &in->out), n = bt__lane_count(m, &in->out);
    bt_cell *out = in->out.at + from;
    const bt_cell *a = cell(&in->a, from), *b = cell(&in->b, from);
    uint64_t factor = (uint64_t)in->factor;
    for (uint32_t i = 0; i < n; i++)
        out[i].i = (int64_t)((uint64_t)a[i * in->a.step].i +
                             factor * (uint64_t)b[i * in->b.step].i);
    return 1;
}

/* ---- reductions ---- */

/* Lanes are those of the value, or of the accumulator where that is a vector. */
int bt__run_take(bt__machine *m, const bt__instr *in)
{
    int is_strip = in->out.step || in->factor;
    uint32_t from = is_strip ? m->from : 0, n = is_strip ? m->to - m->from : 1;
    bt_cell *acc = cell(&in->out, from), *acc2 = cell(&in->b, from);
    const bt_cell *value = cell(&in->a, from);
    int64_t at = m->cursors[in->cursor] + in->lane * (int64_t)from;
    if (!in->c.at) {
        in->take(n, acc, acc2, in->out.step, value, in->a.step, at, in->lane);
        return 1;
    }
    const bt_cell *mask = cell(&in->c, from);
    for (uint32_t i = 0; i < n; i++) {
        if (mask[i * in->c.step].i)
            in->take(1, acc + i * in->out.step, acc2 + i * in->out.step, 0,
                     value + i * in->a.step, 0, at + in->lane * (int64_t)i, 0);
    }
    return 1;
}

int bt__run_end(bt__machine *m, const bt__instr *in)
{
    uint32_t from = bt__lane_from(m, &in->out), n = bt__lane_count(m, &in->out);
    for (uint32_t i = from; i < from + n; i++)
        in->out.at[i] = bt__reducer_end(in->reducer, in->from, in->a.at[i * in->a.step],
                                        in->b.at[i * in->b.step]);
    return 1;
}

/* The cells of a buffer. */
static bt_cell *buffer(const bt__machine *m, uint32_t array)
{
    return (bt_cell *)(void *)m->data[array];
}

/* Element by element: two lanes may go to one place. */
int bt__run_scatter(bt__machine *m, const bt__instr *in)
{
    int is_strip = in->factor != 0;
    uint32_t from = is_strip ? m->from : 0, n = is_strip ? m->to - m->from : 1;
    bt_cell *acc = buffer(m, in->array), *acc2 = buffer(m, in->array2);
    const bt_cell *value = cell(&in->a, from), *to = cell(&in->b, from);
    const bt_cell *mask = in->c.at ? cell(&in->c, from) : NULL;
    int64_t at = m->cursors[in->cursor] + in->lane * (int64_t)from;
    for (uint32_t i = 0; i < n; i++) {
        if (mask && !mask[i * in->c.step].i)
            continue;
        int64_t k = to[i * in->b.step].i;
        in->take(1, &acc[k], &acc2[k], 0, &value[i * in->a.step], 0,
                 at + in->lane * (int64_t)i, 0);
    }
    return 1;
}

/* Rows of `stride` neighbours at a time. */
int bt__run_scan(bt__machine *m, const bt__instr *in)
{
    bt_cell *acc = buffer(m, in->array);
    int64_t stride = in->lane, extent = in->lane2, block = stride * extent;
    for (int64_t base = 0; base < in->factor; base += block) {
        for (int64_t i = 1; i < extent; i++) {
            int64_t to = base + stride * (in->cursor ? extent - 1 - i : i);
            int64_t from = in->cursor ? to + stride : to - stride;
            for (int64_t k = 0; k < stride; k += BT__STRIP) {
                uint32_t n = stride - k < BT__STRIP ? (uint32_t)(stride - k) : BT__STRIP;
                in->take(n, &acc[to + k], &acc[to + k], 1, &acc[from + k], 1, 0, 0);
            }
        }
    }
    return 1;
}

int bt__run_scatter_end(bt__machine *m, const bt__instr *in)
{
    bt_cell *acc = buffer(m, in->array), *acc2 = buffer(m, in->array2);
    for (int64_t i = 0; i < in->factor; i++)
        acc[i] = bt__reducer_end(in->reducer, in->from, acc[i], acc2[i]);
    return 1;
}

/* ---- checks ---- */

int bt__run_check(bt__machine *m, const bt__instr *in)
{
    uint32_t from = in->a.step || in->c.step ? m->from : 0;
    uint32_t n = in->a.step || in->c.step ? m->to - m->from : 1;
    const bt_cell *a = cell(&in->a, from);
    const bt_cell *mask = in->c.at ? cell(&in->c, from) : NULL;
    uint64_t extent = (uint64_t)in->check->extent;
    for (uint32_t i = 0; i < n; i++) {
        int64_t index = a[i * in->a.step].i;
        if ((uint64_t)index < extent || (mask && !mask[i * in->c.step].i))
            continue;
        // index() of a uint64 goes no further
        const char *more = index == INT64_MAX ? " or more" : "";
        m->status = bt_fail(m->ctx, BT_ERR_RUNTIME,
                            "%s: index %" PRId64 "%s is out of bounds for axis %u of %s, "
                            "whose extent is %" PRId64,
                            m->op, index, more, in->check->axis, in->check->array,
                            in->check->extent);
        return 0;
    }
    return 1;
}

/* ---- bytecode ---- */

static void free_buffers(bt__machine *m, const struct bt__code *code, char **at)
{
    for (uint32_t i = 0; i < code->buffers.len; i++) {
        bt_free(bt_ctx_registry(m->ctx), at[i],
                (size_t)code->buffers.at[i].nelem * sizeof(bt_cell));
        at[i] = NULL;
    }
}

static bt_status alloc_buffers(bt__machine *m, const struct bt__code *code, char **at)
{
    for (uint32_t i = 0; i < code->buffers.len; i++) {
        const struct bt__buffer *b = &code->buffers.at[i];
        size_t nbytes;
        if (!bt_mul_size((size_t)b->nelem, sizeof(b->start), &nbytes) ||
            nbytes > bt_ctx_limits(m->ctx)->bytes)
            return bt_fail(m->ctx, BT_ERR_LIMIT,
                           "%s: accumulators of %" PRId64 " elements, above limits.bytes",
                           m->op, b->nelem);
        bt_cell *cells = bt_alloc(bt_ctx_registry(m->ctx), nbytes);
        if (!cells)
            return bt_no_memory();
        for (int64_t k = 0; k < b->nelem; k++)
            cells[k] = b->start;
        at[i] = (char *)cells;
    }
    return NULL;
}

static bt_status run_stage(bt__machine *m, const struct bt__code *code, char **buffers)
{
    if (code->nelem == 0)
        return NULL;
    if (code->ncursor)
        memcpy(m->cursors, code->starts, code->ncursor * sizeof(*m->cursors));
    m->from = 0;
    m->to = 1;
    bt_status status = alloc_buffers(m, code, buffers);
    if (!status && !run_block(m, &code->body))
        status = m->status;
    free_buffers(m, code, buffers);
    return status;
}

bt_status bt__bytecode_run(bt_ctx *ctx, const struct bt__bytecode *p, void *const *data)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    uint32_t narray = p->graph->narray;
    char **at = BT_NEWS(scratch, char *, (size_t)narray + p->max_buffer);
    bt__machine m = { .ctx = ctx, .op = p->op, .data = at, .patience = PATIENCE };
    m.cursors = BT_NEWS(scratch, int64_t, p->max_cursor);
    bt_status status = m.cursors && at ? NULL : bt_no_memory();
    for (uint32_t i = 0; !status && i < narray; i++)
        at[i] = data[i];
    for (uint32_t i = 0; !status && i < p->nstage; i++)
        status = run_stage(&m, &p->stages[i], at + narray);
    bt_arena_release(scratch, mark);
    return status;
}
