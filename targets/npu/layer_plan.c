/*
 * The search for a layer's tile: all that fit are estimated, and of those whose estimate is least
 * the stream is made and put through the queues, which gives its cycles.
 */
#include <inttypes.h>

#include "emit.h"
#include "queues.h"

enum {
    MOST_SIZES = 20, /* of an extent */
    /* Streams that are made: at least, at most, and between as long as they have fewer instructions
     * together. */
    LEAST_TRIES = 4,
    MOST_TRIES = 32,
    MOST_TRIED = 1 << 14,
    MOST_WASTED = 1 << 20 /* instructions, where none fits */
};

struct candidate {
    struct npu_tile tile;
    uint64_t cycles; /* estimated */
};

struct planner {
    bt_ctx *ctx;
    bt_arena *arena;
    const struct npu_config *config;
    const struct npu_shape *shape;
    bt_vec(struct candidate) candidates;
    struct npu_tile best;
    uint64_t cycles; /* of the best; UINT64_MAX: there is none */
    int by_step;
};

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- an estimate ---- */

struct cost {
    uint64_t compute, bus, first, last; /* first, last: what nothing overlaps */
};

static uint64_t transfer(const struct npu_config *c, uint64_t nrow, uint64_t nbytes)
{
    return c->dma_latency + nrow * (c->dma_row + npu_ceildiv(nbytes, c->bus));
}

static void add_products(const struct npu_config *c, const struct npu_shape *s,
                         const struct npu_tile *t, uint64_t noutput, struct cost *cost)
{
    const struct npu_extent *r = &s->rows, *k = &s->columns;
    const uint64_t taps = (uint64_t)r->taps * (uint64_t)k->taps;
    const uint64_t nproduct = s->nin * taps; // of a sum
    const uint64_t ngroup = (uint64_t)r->out * (uint64_t)k->out /
                            ((uint64_t)t->group_rows * t->group_columns);
    const int is_product = s->layer->kind == NPU_PRODUCTS;
    const uint64_t planes = (uint64_t)s->images * s->groups;
    for (uint32_t o = 0; o < 2; o++) {
        const uint64_t nout = o ? s->nout % t->nout : t->nout;
        const uint64_t n = o ? nout > 0 : s->nout / t->nout;
        const uint64_t group = nout * t->group_rows * t->group_columns;
        cost->compute +=
            planes * n * ngroup *
            ((nproduct - t->nchunk) * more(group, c->distance) + t->nchunk * group);
    }
    cost->compute += noutput * t->nchunk * (is_product ? c->gemm_fill : c->alu_fill);
    // x: of each place once, or for each block of outputs
    const uint64_t ntile = (uint64_t)t->nrow * t->ncolumn;
    const uint64_t rows = npu_least(t->area_rows, (uint64_t)r->in);
    const uint64_t columns = npu_least(t->pitch, (uint64_t)k->in);
    const uint64_t nblock = is_product ? t->nin : t->nout;
    const uint64_t load_x = nblock * transfer(c, rows, columns * s->x.tile);
    const int once =
        is_product && (t->keeps_weights ? ntile * s->images * t->nchunk <= t->nslot
                                        : t->nchunk <= t->nslot);
    cost->bus += planes * ntile * t->nchunk * (once ? 1 : t->nblock) * load_x;
    cost->first = load_x;
    if (!is_product)
        return;
    const uint64_t weights = (uint64_t)t->nin * t->taps * (uint64_t)k->taps;
    const uint64_t load_w =
        transfer(c, t->nchunk > 1 ? t->nout : 1,
                 weights * s->weight_nbytes * (t->nchunk > 1 ? 1 : t->nout));
    const int once_w =
        t->keeps_weights ? t->nchunk <= t->nslot : t->nchunk * t->nblock <= t->nslot;
    cost->bus += s->groups * (uint64_t)t->nblock * t->nchunk *
                 (once_w ? 1 : ntile * s->images) * load_w;
    cost->first += load_w;
}

static void add_results(const struct npu_config *c, const struct npu_shape *s,
                        const struct npu_tile *t, uint64_t noutput, struct cost *cost)
{
    const struct npu_layer *l = s->layer;
    const uint64_t nresult = (uint64_t)s->images * s->groups * s->nout *
                             (uint64_t)s->rows.out * (uint64_t)s->columns.out;
    const int is_whole = t->columns == s->columns.out;
    const uint64_t nrow = is_whole ? 1 : t->rows;
    const uint64_t ncolumn = is_whole ? t->nplace : t->columns;
    uint64_t npass = s->nscale, noperand = 0;
    for (uint32_t i = 0; i < l->nstep; i++)
        noperand += l->steps[i].has_operand;
    npass += noperand;
    cost->compute += npass * (nresult + noutput * c->alu_fill);
    cost->last = t->nout * transfer(c, nrow, ncolumn * s->y.tile);
    cost->bus +=
        noutput *
        (cost->last + noperand * t->nout * transfer(c, nrow, ncolumn * s->operand.tile));
    const uint64_t nparam =
        t->keeps_weights || t->nblock <= t->nslot ? t->nblock : noutput;
    if (s->nscale)
        cost->bus += nparam * transfer(c, 1,
                                       (uint64_t)t->nout * s->nscale * s->nparam *
                                           npu_tile_nbytes(c, NPU_ACC));
    if (l->kind == NPU_ELEMENT) {
        cost->bus += noutput * cost->last;
        cost->first = cost->last;
    }
}

/* Cycles, about: which of two queues takes longer, and what the first and last step wait for. */
static uint64_t estimate(const struct npu_config *c, const struct npu_shape *s,
                         const struct npu_tile *t)
{
    struct cost cost = { 0 };
    const uint64_t noutput =
        (uint64_t)s->images * s->groups * t->nrow * t->ncolumn * t->nblock;
    if (npu_shape_has_window(s))
        add_products(c, s, t, noutput, &cost);
    add_results(c, s, t, noutput, &cost);
    const uint64_t nuop = (uint64_t)t->nslot * t->nin * t->taps *
                          (uint64_t)s->columns.taps * t->nout * t->group_rows *
                          t->group_columns;
    cost.first += transfer(c, 1, nuop * 8);
    if (t->nslot == 1)
        return cost.compute + cost.bus;
    return more(cost.compute, cost.bus) + cost.first + cost.last;
}

/* ---- candidates ---- */

/* Sizes that cut an extent evenly, the greatest first: its halves, thirds, and so on. */
static uint32_t sizes_of(uint64_t extent, uint64_t most, uint32_t *out)
{
    uint32_t n = 0;
    for (uint64_t k = 1; n < MOST_SIZES;) {
        const uint64_t size = (extent + k - 1) / k;
        if (size <= most)
            out[n++] = (uint32_t)size;
        if (size == 1)
            break;
        // the next number of parts that makes another size; later ones lie further apart
        const uint64_t next = (extent + size - 2) / (size - 1);
        k = n < MOST_SIZES / 2 && size <= most ? next : more(next, k + k / 2);
        if (n == MOST_SIZES - 1)
            k = extent;
    }
    return n;
}

static bt_status consider(struct planner *p, struct npu_tile t)
{
    if (!npu_tile_fit(p->config, p->shape, &t))
        return NULL;
    const struct candidate c = { t, estimate(p->config, p->shape, &t) };
    return BT_PUSH(p->arena, &p->candidates, c) ? NULL : bt_no_memory();
}

/* Both orders, both numbers of slots. */
static bt_status consider_all(struct planner *p, struct npu_tile t)
{
    for (t.nslot = 1; t.nslot <= 2; t.nslot++) {
        t.keeps_weights = 0;
        BT_TRY(consider(p, t));
        t.keeps_weights = 1;
        if (p->shape->layer->kind == NPU_PRODUCTS && t.nout < p->shape->nout)
            BT_TRY(consider(p, t));
    }
    return NULL;
}

static bt_status consider_chunks(struct planner *p, struct npu_tile t)
{
    const struct npu_shape *s = p->shape;
    uint32_t ins[MOST_SIZES], taps[MOST_SIZES];
    const uint32_t nin = sizes_of(s->nin, 65535, ins);
    const uint32_t ntap = sizes_of((uint64_t)s->rows.taps, 65535, taps);
    for (uint32_t i = 0; i < nin; i++) {
        for (uint32_t k = 0; k < ntap; k++) {
            t.nin = ins[i];
            t.taps = taps[k];
            if (t.nin == 1 || t.taps == s->rows.taps)
                BT_TRY(consider_all(p, t));
        }
    }
    return NULL;
}

static bt_status find_candidates(struct planner *p)
{
    const struct npu_shape *s = p->shape;
    const uint32_t ntile = p->config->ntile[NPU_ACC];
    uint32_t rows[MOST_SIZES], columns[MOST_SIZES], outs[MOST_SIZES];
    const uint32_t nrow = sizes_of((uint64_t)s->rows.out, ntile, rows);
    const uint32_t ncolumn = sizes_of((uint64_t)s->columns.out, ntile, columns);
    const uint32_t nout = sizes_of(s->nout, ntile, outs);
    for (uint32_t r = 0; r < nrow; r++) {
        for (uint32_t c = 0; c < ncolumn; c++) {
            for (uint32_t o = 0; o < nout; o++) {
                const struct npu_tile t = { .rows = rows[r],
                                            .columns = columns[c],
                                            .nout = outs[o] };
                if ((uint64_t)t.rows * t.columns * t.nout <= ntile)
                    BT_TRY(consider_chunks(p, t));
            }
        }
    }
    return NULL;
}

/* ---- streams ---- */

struct durations {
    const struct npu_line *lines;
};

static bt_status begin(void *self, uint32_t i, uint64_t *cycles)
{
    const struct durations *d = self;
    *cycles = d->lines[i].cycles;
    return NULL;
}

/* The stream of a tile, with tokens. is_over: there is none. */
static bt_status make(struct planner *p, const struct npu_tile *t, struct npu_code *code,
                      struct npu_instruction **list)
{
    npu_emit(p->config, p->shape, t, code);
    if (code->failed)
        return bt_no_memory();
    if (code->is_over)
        return NULL;
    const uint32_t n = code->lines.len;
    struct npu_touch *touched = BT_NEWS(code->arena, struct npu_touch, n);
    *list = BT_NEWS(code->arena, struct npu_instruction, n);
    if (!touched || !*list)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        (*list)[i] = code->lines.at[i].in;
        touched[i] = code->lines.at[i].touch;
    }
    int has_room = 0;
    for (int by_step = 0; by_step < 2 && !has_room; by_step++)
        BT_TRY(npu_place_tokens(code->arena, p->config, touched, by_step, n, *list,
                                &has_room));
    code->is_over = !has_room;
    return NULL;
}

static bt_status measure(struct planner *p, bt_arena *arena, const struct npu_tile *t,
                         uint64_t *cycles, uint32_t *nline)
{
    struct npu_code code = { .arena = arena };
    struct npu_instruction *list = NULL;
    struct npu_times times;
    *cycles = UINT64_MAX;
    BT_TRY(make(p, t, &code, &list));
    *nline = code.lines.len;
    if (code.is_over)
        return NULL;
    struct durations d = { .lines = code.lines.at };
    BT_TRY(npu_schedule(p->ctx, p->config, &(struct npu_stream){ code.lines.len, list },
                        begin, &d, &times));
    *cycles = times.cycles;
    return NULL;
}

static bt_status try_tile(struct planner *p, const struct npu_tile *t, uint32_t *nline)
{
    uint64_t cycles;
    if (bt_ctx_cancelled(p->ctx))
        return bt_fail(p->ctx, BT_ERR_CANCELLED, "stopped on request");
    bt_arena *arena = bt_arena_create(bt_ctx_registry(p->ctx));
    bt_status status = arena ? measure(p, arena, t, &cycles, nline) : bt_no_memory();
    bt_arena_destroy(arena);
    if (!status && cycles < p->cycles) {
        p->cycles = cycles;
        p->best = *t;
    }
    return status;
}

/* ---- the search ---- */

/* The candidate of the least estimate goes to place `i`. */
static void select_next(struct planner *p, uint32_t i)
{
    struct candidate *at = p->candidates.at;
    for (uint32_t k = i + 1; k < p->candidates.len; k++) {
        if (at[k].cycles < at[i].cycles) {
            const struct candidate c = at[k];
            at[k] = at[i];
            at[i] = c;
        }
    }
}

static bt_status search(struct planner *p)
{
    uint32_t tried = 0, nline;
    BT_TRY(find_candidates(p));
    for (uint32_t i = 0; i < p->candidates.len; i++) {
        const int found = p->cycles != UINT64_MAX;
        if (found ? i >= MOST_TRIES || (i >= LEAST_TRIES && tried > MOST_TRIED)
                  : tried > MOST_WASTED)
            break;
        select_next(p, i);
        const struct candidate *c = &p->candidates.at[i];
        if (found && c->cycles > p->cycles + p->cycles / 64)
            break;
        BT_TRY(try_tile(p, &c->tile, &nline));
        tried += nline;
    }
    return NULL;
}

static uint64_t ideal(const struct npu_config *c, const struct npu_layer *l)
{
    if (l->kind != NPU_PRODUCTS)
        return 0;
    const double products = (double)l->batch * (double)l->out *
                            (double)(l->in / l->groups) * (double)l->rows.out *
                            (double)l->columns.out * (double)l->rows.taps *
                            (double)l->columns.taps;
    return (uint64_t)(products / ((double)c->batch * c->in * c->out));
}

static bt_status finish(struct planner *p, bt_arena *arena, struct npu_plan *out)
{
    struct npu_code code = { .arena = arena };
    struct npu_instruction *list = NULL;
    if (p->cycles == UINT64_MAX)
        return bt_fail(p->ctx, BT_ERR_UNSUPPORTED,
                       "npu: no tile of the layer fits the machine's memories");
    BT_TRY(make(p, &p->best, &code, &list));
    uint8_t *uops = BT_NEWS(arena, uint8_t, (size_t)code.uops.len * 8);
    if (!uops)
        return bt_no_memory();
    for (uint32_t i = 0; i < code.uops.len; i++)
        npu_uop_encode(code.uops.at[i], uops + (size_t)i * 8);
    *out = (struct npu_plan){ .stream = { code.lines.len, list },
                              .uops = uops,
                              .cycles = p->cycles,
                              .ideal = ideal(p->config, p->shape->layer) };
    for (uint32_t i = 0; i < NPU_NBUFFER; i++)
        out->nbytes[i] = p->shape->nbytes[i];
    out->nbytes[NPU_BUFFER_UOPS] = (uint64_t)code.uops.len * 8;
    return NULL;
}

bt_status npu_plan(bt_ctx *ctx, bt_arena *arena, const struct npu_config *config,
                   const struct npu_layer *layer, struct npu_plan *out)
{
    struct npu_shape shape;
    BT_TRY(npu_shape_of(ctx, config, layer, &shape));
    struct planner p = { .ctx = ctx,
                         .arena = bt_arena_create(bt_ctx_registry(ctx)),
                         .config = config,
                         .shape = &shape,
                         .cycles = UINT64_MAX };
    bt_status status = p.arena ? search(&p) : bt_no_memory();
    if (!status)
        status = finish(&p, arena, out);
    bt_arena_destroy(p.arena);
    return status;
}
