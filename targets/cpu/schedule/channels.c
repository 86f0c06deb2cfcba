/*
 * Windows over images of codes whose channels are neighbours: depthwise convolutions, and of their sums
 * codes, and maxima, as calls for some rows (primitives/channels.h).
 *
 *     for i1 in 56 {
 *         for i2 in 56 {
 *             for i3 in 144 {
 *                 t[0] = 0
 *                 for i4 in 3 {
 *                     if ((0 <= i1 + i4 - 1) && (0 <= -i1 - i4 + 56)) {
 *                         for i5 in 3 {
 *                             if ((0 <= i2 + i5 - 1) && (0 <= -i2 - i5 + 56)) {
 *                                 t[0] sum= int32(w[9*i3 + 3*i4 + i5]) * (int32(x[...]) - 3)
 *                 y[8064*i1 + 144*i2 + i3] = uint8(... round_even(float32(t[0] + b[i3]) * f[i3]) ...)
 *
 *     channels_pack_s8_avx512(&p[0], &w[0], 144, 3, 3, 1, ...)
 *     for i1 in 7 {
 *         channels_sum_u8_avx512(&y[64512*i1], &x[0], &p[0], &b[0], &f[0], 8, 56, 144, 3, 3, ...)
 *
 * What else is made of such sums, or sums themselves, are calls that store them: where they go, or for
 * some rows near, with loops behind. All others are strips.
 */
#include "channels.h"

#include <string.h>

#include <baton/scalar.h>

#include "choice.h"
#include "contract.h"
#include "lanes.h"
#include "primitives/channels.h"
#include "window_nest.h"

/* A factor of the products: a read of codes less their zero. */
struct factor {
    const bt_node *read;
    bt_dtype dtype;
    int64_t zero;
};

/* What calls store of sums. */
enum { STORE_CODES, STORE_SUMS, STORE_NEAR };

struct channels {
    struct cpu_window_nest nest;
    const struct cpu_config *config;
    const struct cpu_callee *by;
    struct factor x, w;
    const struct cpu_callee *packs_w; /* NULL: no products are summed */
    uint32_t stores;
    struct cpu_codes codes;
    const bt_node *bias;
    int64_t nchannel;
};

static bt_graph *graph_of(const struct channels *c)
{
    return c->nest.loops->graph;
}

/* ---- which loops are such windows ---- */

static int is_code(bt_dtype dtype)
{
    return dtype == BT_UINT8 || dtype == BT_INT8;
}

static int is_of_type(int64_t number, bt_dtype dtype)
{
    return dtype == BT_UINT8 ? number >= 0 && number <= UINT8_MAX
                             : number >= INT8_MIN && number <= INT8_MAX;
}

static int read_factor(const bt_node *node, struct factor *out)
{
    *out = (struct factor){ .zero = 0 };
    node = cpu_bare(node);
    if (node->kind == BT_NODE_SCALAR && node->which == BT_SCALAR_SUB) {
        if (!bt_node_is_const(cpu_bare(node->args[1]), &out->zero))
            return 0;
        node = cpu_bare(node->args[0]);
    }
    if (node->kind != BT_NODE_CAST || node->dtype != BT_INT32)
        return 0;
    out->read = cpu_bare(node->args[0]);
    out->dtype = out->read->dtype;
    return out->read->kind == BT_NODE_READ && is_code(out->dtype) &&
           is_of_type(out->zero, out->dtype);
}

static int is_accumulator(const struct channels *c, const bt_node *node)
{
    return node->kind == BT_NODE_READ && node->which == c->nest.take->buffer;
}

/* What is added to the sum, where nothing else is made of it. 0: something is. */
static int look_at_bias(struct channels *c, const bt_node *node)
{
    node = cpu_bare(node);
    c->bias = NULL;
    if (is_accumulator(c, node)) {
        c->bias = bt_node_cast(graph_of(c), BT_INT32, bt_node_int(graph_of(c), 0));
        return c->bias != NULL;
    }
    for (uint32_t i = 0;
         node->kind == BT_NODE_SCALAR && node->which == BT_SCALAR_ADD && i < 2; i++) {
        if (is_accumulator(c, cpu_bare(node->args[i])))
            c->bias = node->args[1 - i];
    }
    return c->bias && c->bias->dtype == BT_INT32;
}

/* Whether it is there for each channel before the nest is. */
static int is_by_channel(const struct channels *c, const bt_node *node)
{
    const uint64_t own = bt_index_bit(c->nest.channel->index);
    uint8_t *seen = BT_NEWS(c->nest.arena, uint8_t, graph_of(c)->nnode + 2);
    return seen && cpu_is_made_before(&c->nest, node, own, seen);
}

static int look_at_codes(struct channels *c)
{
    const struct cpu_codes *codes = &c->codes;
    return cpu_match_codes(NULL, c->nest.store->value, &c->codes) && codes->of_nan == 0 &&
           codes->low >= INT16_MIN && codes->high <= INT16_MAX &&
           codes->zero >= INT16_MIN && codes->zero <= INT16_MAX &&
           look_at_bias(c, codes->sum) && is_by_channel(c, c->bias) &&
           is_by_channel(c, codes->factor);
}

/* What is stored, as a call may have it. 0: no memory. */
static int look_at_store(struct channels *c)
{
    const bt_node *value = c->nest.store->value;
    c->stores = STORE_CODES;
    if (look_at_codes(c))
        return 1;
    c->stores =
        value->dtype == BT_INT32 && look_at_bias(c, value) && is_by_channel(c, c->bias)
            ? STORE_SUMS
            : STORE_NEAR;
    if (c->stores == STORE_NEAR)
        c->bias = bt_node_cast(graph_of(c), BT_INT32, bt_node_int(graph_of(c), 0));
    return c->bias != NULL;
}

/* Taps of each channel, one place of the channel's after the other. */
static int look_at_weights(struct channels *c)
{
    const struct cpu_window_nest *n = &c->nest;
    const bt_node *at = c->w.read->args[0];
    const uint64_t own = bt_index_bit(n->channel->index) |
                         bt_index_bit(n->axes[0].tap->index) |
                         bt_index_bit(n->axes[1].tap->index);
    bt_graph *g = graph_of(c);
    return !(at->free & ~own) && !at->reads && cpu_growth(g, at, n->channel) &&
           cpu_growth(g, at, n->axes[0].tap) && cpu_growth(g, at, n->axes[1].tap) &&
           c->nest.loops->roles.at[c->w.read->which] != BT_BUFFER_LOCAL;
}

/* 0: products that are summed are others. */
static int look_at_sum(struct channels *c)
{
    const struct cpu_window_nest *n = &c->nest;
    const bt_node *product = cpu_bare(n->take->value);
    int64_t start;
    if (product->kind != BT_NODE_SCALAR || product->which != BT_SCALAR_MUL ||
        product->dtype != BT_INT32 || !bt_node_is_const(n->start->value, &start) ||
        start != 0 || !read_factor(product->args[0], &c->w) ||
        !read_factor(product->args[1], &c->x))
        return 0;
    if (c->w.read->free & bt_index_bit(n->axes[0].out->index)) {
        const struct factor w = c->w;
        c->w = c->x;
        c->x = w;
    }
    if (!look_at_store(c))
        return 0;
    c->by = cpu_channels_find(c->config->isa, c->x.dtype, c->stores != STORE_CODES);
    c->packs_w = cpu_channels_pack_find(c->config->isa, c->w.dtype);
    return c->by && c->packs_w && c->nchannel >= CPU_CHANNELS_LEAST &&
           (n->axes[0].taps == 3 || n->axes[0].taps == 5) && n->axes[1].taps <= 5 &&
           look_at_weights(c);
}

static int look_at_maximum(struct channels *c)
{
    enum { MAX_SIDE = 8 };
    const struct cpu_window_nest *n = &c->nest;
    const bt_node *read = n->take->value;
    int64_t start;
    if (read->kind != BT_NODE_READ || !is_code(read->dtype) ||
        !is_accumulator(c, n->store->value) || n->axes[0].taps > MAX_SIDE ||
        n->axes[1].taps > MAX_SIDE || !bt_node_is_const(n->start->value, &start) ||
        start != (read->dtype == BT_UINT8 ? 0 : INT8_MIN))
        return 0;
    c->x = (struct factor){ .read = read, .dtype = read->dtype };
    c->by = cpu_row_of(c->config, read->dtype == BT_UINT8 ? "channels_max.uint8"
                                                          : "channels_max.int8");
    return c->by != NULL;
}

/* Whether `stmt` is a nest of such loops and nothing else. */
static int find(struct channels *c, bt_stmt *stmt)
{
    struct cpu_window_nest *n = &c->nest;
    bt_graph *g = graph_of(c);
    if (!cpu_find_window_nest(n, stmt, 1))
        return 0;
    c->nchannel = bt_node_number(n->channel->extent);
    if (!(n->take->reducer == BT_REDUCER_SUM   ? look_at_sum(c)
          : n->take->reducer == BT_REDUCER_MAX ? look_at_maximum(c)
                                               : 0))
        return 0;
    const bt_node *x = c->x.read->args[0], *y = n->store->offset;
    if (n->loops->roles.at[c->x.read->which] == BT_BUFFER_LOCAL ||
        c->x.read->which == n->store->buffer || !cpu_grows_by(g, x, n->channel, 1) ||
        !cpu_grows_by(g, y, n->channel, 1))
        return 0;
    for (uint32_t i = 0; i < n->nloop; i++) {
        if (!cpu_growth(g, x, n->all[i]) || !cpu_growth(g, y, n->all[i]))
            return 0;
    }
    return cpu_measure_window_nest(n, x);
}

/* ---- the nest ---- */

/* W, bias and factors as calls take them, and sums of some rows that are near: buffers. */
struct made {
    uint32_t w, bias, factor, near;
};

static int is_narrow(const struct channels *c)
{
    return c->w.dtype == BT_INT8 && c->w.zero == 0 &&
           cpu_isa_multiplies_quads(c->config->isa);
}

static int emit_weights(const struct channels *c, struct cpu_emitter *e, uint32_t *out)
{
    const struct cpu_window_nest *n = &c->nest;
    bt_graph *g = graph_of(c);
    const bt_node *at = c->w.read->args[0];
    const int64_t nbytes =
        cpu_channels_nbytes(c->config->isa, c->nchannel, n->axes[0].taps, n->axes[1].taps,
                            n->axes[0].step, is_narrow(c));
    if (!cpu_emit_buffer(n->loops, BT_BUFFER_TEMP, BT_UINT8, bt_node_int(g, nbytes), out))
        return 0;
    const bt_node *integers[CPU_CHANNELS_PACK_NINT] = {
        [CPU_CHANNELS_PACK_CHANNELS] = n->channel->extent,
        [CPU_CHANNELS_PACK_TAPS_Y] = n->axes[0].tap->extent,
        [CPU_CHANNELS_PACK_TAPS_X] = n->axes[1].tap->extent,
        [CPU_CHANNELS_PACK_STEP_Y] = bt_node_int(g, n->axes[0].step),
        [CPU_CHANNELS_PACK_W_CHANNEL] = cpu_growth(g, at, n->channel),
        [CPU_CHANNELS_PACK_W_Y] = cpu_growth(g, at, n->axes[0].tap),
        [CPU_CHANNELS_PACK_W_X] = cpu_growth(g, at, n->axes[1].tap),
        [CPU_CHANNELS_PACK_W_ZERO] = bt_node_int(g, c->w.zero),
        [CPU_CHANNELS_PACK_ZERO] = bt_node_int(g, c->x.zero),
        [CPU_CHANNELS_PACK_IS_SIGNED] = bt_node_int(g, c->x.dtype == BT_INT8),
        [CPU_CHANNELS_PACK_IS_NARROW] = bt_node_int(g, is_narrow(c)),
    };
    const struct cpu_address addresses[CPU_CHANNELS_PACK_NPOINTER] = {
        { *out, bt_node_int(g, 0) },
        { c->w.read->which, cpu_first_in_nest(n, at) },
    };
    return cpu_emit_call(e, c->packs_w->name, CPU_CHANNELS_PACK_NPOINTER, addresses,
                         CPU_CHANNELS_PACK_NINT, integers);
}

static int emit_constants(const struct channels *c, bt_stmts *to, struct made *out)
{
    struct cpu_emitter e = { c->nest.loops, to, CPU_FIRST_INDEX };
    const struct cpu_dim dim = { .extent = c->nest.channel->extent,
                                 .index = c->nest.channel->index,
                                 .scale = 1 };
    if (!c->packs_w)
        return 1;
    if (!emit_weights(c, &e, &out->w) ||
        !cpu_emit_by_dim(&e, &dim, 0, c->bias, &out->bias))
        return 0;
    out->factor = out->bias; // which sums do not read
    return c->stores != STORE_CODES ||
           cpu_emit_by_dim(&e, &dim, 0, c->codes.factor, &out->factor);
}

static int64_t float_bits(double number)
{
    uint32_t bits = 0;
    bt_cell_store(&bits, BT_FLOAT32, (bt_cell){ .f = number });
    return bits;
}

/* A place of image number `image` of the innermost loop around the rows; NULL: there is none. */
static const bt_node *of_image(const struct channels *c, const bt_node *place,
                               const bt_node *image)
{
    const struct cpu_window_nest *n = &c->nest;
    return place && image ? bt_node_substitute(graph_of(c), place,
                                               n->all[n->nloop - 4]->index, image)
                          : place;
}

/* The call for so many rows from `row` on. */
static int emit_call(const struct channels *c, bt_stmts *to, const struct made *made,
                     const bt_node *image, const bt_node *row, const bt_node *nrow)
{
    const struct cpu_window_nest *n = &c->nest;
    const struct cpu_window_axis *y = &n->axes[0], *x = &n->axes[1];
    bt_graph *g = graph_of(c);
    const bt_node *zero = bt_node_int(g, 0);
    const bt_node *x_at = c->x.read->args[0], *y_at = n->store->offset;
    const int is_near = c->packs_w && c->stores == STORE_NEAR;
    const bt_node *y_column = is_near ? n->channel->extent : cpu_growth(g, y_at, x->out);
    const bt_node *y_row =
        is_near ? cpu_times(g, x->out->extent, y_column) : cpu_growth(g, y_at, y->out);
    struct cpu_emitter e = { n->loops, to, 0 };
    const struct cpu_address addresses[CPU_CHANNELS_NPOINTER] = {
        { is_near ? made->near : n->store->buffer,
          is_near ? zero
                  : cpu_along(g, of_image(c, cpu_first_in_nest(n, y_at), image), row,
                              y_row) },
        { c->x.read->which, of_image(c, cpu_image_of_nest(n, x_at), image) },
        { made->w, zero },
        { made->bias, zero },
        { made->factor, zero },
    };
    const bt_node *integers[CPU_CHANNELS_NINT] = {
        [CPU_CHANNELS_ROWS] = nrow,
        [CPU_CHANNELS_COLUMNS] = x->out->extent,
        [CPU_CHANNELS_CHANNELS] = n->channel->extent,
        [CPU_CHANNELS_TAPS_Y] = y->tap->extent,
        [CPU_CHANNELS_TAPS_X] = x->tap->extent,
        [CPU_CHANNELS_Y_ROW] = y_row,
        [CPU_CHANNELS_Y_COLUMN] = y_column,
        [CPU_CHANNELS_X_ROW] = cpu_growth(g, x_at, y->tap),
        [CPU_CHANNELS_X_COLUMN] = cpu_growth(g, x_at, x->tap),
        [CPU_CHANNELS_HEIGHT] = y->size,
        [CPU_CHANNELS_WIDTH] = x->size,
        [CPU_CHANNELS_TOP] = cpu_along_int(g, y->before, row, y->step),
        [CPU_CHANNELS_LEFT] = x->before,
        [CPU_CHANNELS_STEP_Y] = bt_node_int(g, y->step),
        [CPU_CHANNELS_STEP_X] = bt_node_int(g, x->step),
        [CPU_CHANNELS_ZERO] = bt_node_int(g, c->x.zero),
        [CPU_CHANNELS_LOW] = bt_node_int(g, float_bits(c->codes.low)),
        [CPU_CHANNELS_HIGH] = bt_node_int(g, float_bits(c->codes.high)),
        [CPU_CHANNELS_CODE_ZERO] = bt_node_int(g, c->codes.zero),
        [CPU_CHANNELS_IS_NARROW] = bt_node_int(g, c->packs_w && is_narrow(c)),
    };
    return c->packs_w ? cpu_emit_call(&e, c->by->name, CPU_CHANNELS_NPOINTER, addresses,
                                      CPU_CHANNELS_NINT, integers)
                      : cpu_emit_call(&e, c->by->name, CPU_CHANNELS_MAX_NPOINTER,
                                      addresses, CPU_CHANNELS_MAX_NINT, integers);
}

/* ---- what follows sums ---- */

struct change {
    bt_loops *loops;
    uint32_t from, to;
    const bt_node *offset;
};

static const bt_node *change_sum(void *self, const bt_node *node)
{
    const struct change *c = self;
    return node->kind == BT_NODE_READ && node->which == c->from
               ? bt_loops_read(c->loops, c->to, c->offset)
               : node;
}

static const bt_node *emit_loop(const struct channels *c, bt_stmts **to,
                                const bt_stmt *like, const bt_node *extent)
{
    bt_stmt *loop = bt_stmt_add(c->nest.loops, *to, BT_STMT_FOR);
    if (!loop)
        return NULL;
    loop->index = like->index;
    loop->extent = extent;
    *to = &loop->body;
    return bt_node_index(graph_of(c), like->index, extent);
}

/* What is made of so many rows of sums, which are near. */
static int emit_rest(const struct channels *c, bt_stmts *to, const struct made *made,
                     const bt_node *image, const bt_node *first, const bt_node *nrow)
{
    const struct cpu_window_nest *n = &c->nest;
    bt_graph *g = graph_of(c);
    const bt_stmt *rows = n->axes[0].out, *columns = n->axes[1].out;
    // the loop around goes by the index of rows
    const bt_stmt near = { .index = n->axes[0].tap->index };
    const bt_node *row = emit_loop(c, &to, &near, nrow);
    const bt_node *column = row ? emit_loop(c, &to, columns, columns->extent) : NULL;
    const bt_node *channel =
        column ? emit_loop(c, &to, n->channel, n->channel->extent) : NULL;
    bt_stmt *store = channel ? bt_stmt_add(n->loops, to, BT_STMT_STORE) : NULL;
    const bt_node *place =
        store ? cpu_plus(g, cpu_times(g, row, columns->extent), column) : NULL;
    const bt_node *offset =
        place ? cpu_plus(g, cpu_times(g, place, n->channel->extent), channel) : NULL;
    struct change change = { n->loops, n->take->buffer, made->near, offset };
    bt_by_node by = { n->loops, change_sum, &change };
    const bt_node *at = offset ? cpu_plus(g, first, row) : NULL;
    const bt_node *value =
        at ? bt_node_substitute(g, n->store->value, rows->index, at) : NULL;
    const bt_node *y =
        at ? bt_node_substitute(g, n->store->offset, rows->index, at) : NULL;
    value = value && y ? of_image(c, value, image) : NULL;
    if (!value)
        return 0;
    store->buffer = n->store->buffer;
    store->offset = of_image(c, y, image);
    store->value = bt_node_change(&by, value);
    return store->offset && store->value;
}

/* As many rows of the result as make what is read of them stay near, or less, that threads are equally
 * busy: an even number, as two may be done together. */
static int64_t rows_of_call(const bt_node *extent, uint32_t nthread)
{
    enum { CALLS = 4, LEAST_ROWS = 4, MAX_ROWS = 8 };
    const int64_t rows = cpu_iterations(extent) / (CALLS * (int64_t)nthread) / 2 * 2;
    return rows < LEAST_ROWS ? LEAST_ROWS : rows > MAX_ROWS ? MAX_ROWS : rows;
}

/* ... or as sums that are near have: two rows at least. */
static int64_t rows_near(const struct channels *c, int64_t rows)
{
    enum { NEAR_NELEM = 1 << 14 };
    const int64_t nelem = cpu_iterations(c->nest.axes[1].out->extent) * c->nchannel;
    const int64_t most = NEAR_NELEM / nelem / 2 * 2;
    return most < 2 ? 2 : most < rows ? most : rows;
}

/* A loop over blocks of rows, of all images that the loop around has, in the place of both. */
static int emit_rows(const struct channels *c, bt_stmts *to, struct made *made)
{
    const struct cpu_window_nest *n = &c->nest;
    const bt_stmt *rows = n->axes[0].out;
    const bt_stmt *images = n->nloop > 3 ? n->all[n->nloop - 4] : NULL;
    const int is_near = c->packs_w && c->stores == STORE_NEAR;
    const int64_t some = rows_of_call(rows->extent, c->config->nthread);
    const int64_t size = is_near ? rows_near(c, some) : some;
    bt_graph *g = graph_of(c);
    const bt_node *nblock = cpu_ceildiv(g, rows->extent, size), *image = NULL;
    bt_stmt *loop = nblock ? bt_stmt_add(n->loops, to, BT_STMT_FOR) : NULL;
    if (!loop)
        return 0;
    loop->index = rows->index;
    loop->extent = images ? cpu_times(g, images->extent, nblock) : nblock;
    loop->is_parallel = n->nloop <= 4;
    const bt_node *block =
        loop->extent ? bt_node_index(g, loop->index, loop->extent) : NULL;
    if (images && block) {
        image = bt_node_scalar(g, BT_SCALAR_FLOORDIV, block, nblock);
        block = bt_node_scalar(g, BT_SCALAR_MOD, block, nblock);
    }
    const bt_node *at = block ? cpu_scaled(g, block, size) : NULL;
    const bt_node *count =
        at ? cpu_least(g, bt_node_int(g, size), cpu_minus(g, rows->extent, at)) : NULL;
    if (!count || (!image && images))
        return 0;
    const bt_node *nsum =
        cpu_scaled(g, cpu_times(g, n->axes[1].out->extent, n->channel->extent), size);
    if (!is_near)
        return emit_call(c, &loop->body, made, image, at, count);
    return nsum &&
           cpu_emit_buffer(n->loops, BT_BUFFER_LOCAL, BT_INT32, nsum, &made->near) &&
           emit_call(c, &loop->body, made, image, at, count) &&
           emit_rest(c, &loop->body, made, image, at, count);
}

static int replace(const struct channels *c, uint32_t which)
{
    const struct cpu_window_nest *n = &c->nest;
    bt_stmts made = { 0 };
    struct made constants = { 0 };
    if (!emit_constants(c, &made, &constants))
        return 0;
    if (n->nloop <= 4)
        return emit_rows(c, &made, &constants) &&
               bt_stmts_replace(n->loops, &n->loops->body, which, &made);
    bt_stmt *last = n->all[n->nloop - 5];
    last->body = (bt_stmts){ 0 };
    n->all[0]->is_parallel = 1;
    return emit_rows(c, &last->body, &constants) &&
           BT_PUSH(n->loops->arena, &made, n->all[0]) &&
           bt_stmts_replace(n->loops, &n->loops->body, which, &made);
}

static double ns_of_calls(const struct channels *c)
{
    const struct cpu_window_axis *y = &c->nest.axes[0], *x = &c->nest.axes[1];
    return (double)cpu_iterations(y->out->extent) *
           (double)cpu_iterations(x->out->extent) * (double)(c->nchannel * y->taps) *
           c->by->ps * 1e-3;
}

/* A sum of products is told as those are that tiles compute. */
static int note_way(const struct channels *c)
{
    struct cpu_choices *all = c->config->choices;
    struct cpu_choice choice = { .program = c->config->program,
                                 .way = "depthwise, channels last",
                                 .is_taken = 1,
                                 .ns = ns_of_calls(c) };
    if (!all || !c->packs_w)
        return 1;
    for (uint32_t i = 0; i < all->all.len; i++)
        choice.sum = all->all.at[i].sum > choice.sum ? all->all.at[i].sum : choice.sum;
    choice.sum++;
    return BT_PUSH(all->arena, &all->all, choice);
}

static bt_status call_channels(bt_loops *loops, bt_arena *scratch,
                               const struct cpu_config *config)
{
    for (uint32_t i = 0; i < loops->body.len; i++) {
        struct channels c = { .nest = { .loops = loops, .arena = scratch },
                              .config = config };
        if ((find(&c, loops->body.at[i]) && (!replace(&c, i) || !note_way(&c))) ||
            loops->graph->status)
            return bt_loops_why(loops);
    }
    return bt_arena_has_failed(scratch) ? bt_no_memory() : NULL;
}

bt_status cpu_call_channels(bt_loops *loops, const struct cpu_config *config)
{
    bt_arena *scratch = bt_arena_create(bt_ctx_registry(loops->ctx));
    const bt_status status =
        scratch ? call_channels(loops, scratch, config) : bt_no_memory();
    bt_arena_destroy(scratch);
    return status;
}
