/*
 * The search for a layer's tile: all that fit are estimated, and of those whose estimate is least
 * the stream is made and put through the queues, which gives its cycles.
 */
#include <inttypes.h>

#include "emit.h"
#include "queues.h"

enum {
    MAX_SIZES = 20, /* of an extent */
    /* Of how many candidates the streams are made: at least, at most, and instructions that they have
     * together, beyond which the least number is enough. */
    LEAST_TRIES = 2,
    MAX_TRIES = 32,
    MAX_TRIED = 1 << 14,
    MAX_WASTED = 1 << 20 /* instructions and micro-ops, where none fits */
};

/* A tile without what is computed: there may be a hundred thousand. */
struct candidate {
    uint64_t cycles; /* estimated */
    uint32_t rows, columns, nout, nin, taps;
    uint16_t nslot, keeps_weights;
};

struct planner {
    bt_ctx *ctx;
    bt_arena *arena;
    const struct npu_config *config;
    const struct npu_shape *shape;
    bt_vec(struct candidate) candidates;
    struct npu_tile best;
    uint64_t cycles;  /* of the best; UINT64_MAX: there is none */
    uint32_t is_long; /* a stream had too many instructions */
};

/* ---- candidates ---- */

/* Sizes that cut an extent evenly, the greatest first: its halves, thirds, and so on. */
static uint32_t sizes_of(uint64_t extent, uint64_t most, uint32_t *out)
{
    uint32_t n = 0;
    for (uint64_t k = 1; n < MAX_SIZES;) {
        const uint64_t size = (extent + k - 1) / k;
        if (size <= most)
            out[n++] = (uint32_t)size;
        if (size == 1)
            break;
        // the next number of parts that makes another size; later ones lie further apart
        const uint64_t next = (extent + size - 2) / (size - 1), far = k + k / 2;
        k = far > next && (n >= MAX_SIZES / 2 || size > most) ? far : next;
        if (n == MAX_SIZES - 1)
            k = extent;
    }
    return n;
}

static bt_status consider(struct planner *p, struct npu_tile t)
{
    if (!npu_tile_fit(p->config, p->shape, &t))
        return NULL;
    const struct candidate c = { .cycles = npu_tile_cycles(p->config, p->shape, &t),
                                 .rows = t.rows,
                                 .columns = t.columns,
                                 .nout = t.nout,
                                 .nin = t.nin,
                                 .taps = t.taps,
                                 .nslot = (uint16_t)t.nslot,
                                 .keeps_weights = (uint16_t)t.keeps_weights };
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
    uint32_t ins[MAX_SIZES], taps[MAX_SIZES];
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
    uint32_t rows[MAX_SIZES], columns[MAX_SIZES], outs[MAX_SIZES];
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
static bt_status make(struct planner *p, const struct npu_tile *t,
                      struct npu_draft *draft, struct npu_instruction **list)
{
    npu_emit(p->config, p->shape, t, draft);
    if (draft->failed)
        return bt_no_memory();
    if (draft->is_over)
        return NULL;
    const uint32_t n = draft->lines.len;
    struct npu_touch *touched = BT_NEWS(draft->arena, struct npu_touch, n);
    *list = BT_NEWS(draft->arena, struct npu_instruction, n);
    if (!touched || !*list)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        (*list)[i] = draft->lines.at[i].in;
        touched[i] = draft->lines.at[i].touch;
    }
    int has_room = 0;
    for (int by_tile = 0; by_tile < 2 && !has_room; by_tile++)
        BT_TRY(npu_place_tokens(draft->arena, p->config, touched, by_tile, n, *list,
                                &has_room));
    draft->is_over = !has_room;
    return NULL;
}

static bt_status measure(struct planner *p, bt_arena *arena, const struct npu_tile *t,
                         uint64_t *cycles, uint32_t *nline)
{
    struct npu_draft draft = { .arena = arena };
    struct npu_instruction *list = NULL;
    struct npu_times times;
    *cycles = UINT64_MAX;
    BT_TRY(make(p, t, &draft, &list));
    *nline = draft.lines.len + draft.uops.len / 8;
    p->is_long |= draft.is_long;
    if (draft.is_over)
        return NULL;
    struct durations d = { .lines = draft.lines.at };
    BT_TRY(npu_schedule(p->ctx, p->config, &(struct npu_stream){ draft.lines.len, list },
                        begin, &d, &times));
    *cycles = times.cycles;
    return NULL;
}

static bt_status try_candidate(struct planner *p, const struct candidate *c,
                               uint32_t *nline)
{
    struct npu_tile t = { .rows = c->rows,
                          .columns = c->columns,
                          .nout = c->nout,
                          .nin = c->nin,
                          .taps = c->taps,
                          .nslot = c->nslot,
                          .keeps_weights = c->keeps_weights };
    uint64_t cycles = UINT64_MAX;
    *nline = 0;
    if (bt_ctx_cancelled(p->ctx))
        return bt_fail(p->ctx, BT_ERR_CANCELLED, "stopped on request");
    if (!npu_tile_fit(p->config, p->shape, &t))
        return NULL; // all of them do
    bt_arena *arena = bt_arena_create(bt_ctx_registry(p->ctx));
    bt_status status = arena ? measure(p, arena, &t, &cycles, nline) : bt_no_memory();
    bt_arena_destroy(arena);
    if (!status && cycles < p->cycles) {
        p->cycles = cycles;
        p->best = t;
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
        if (found ? i >= MAX_TRIES || (i >= LEAST_TRIES && tried > MAX_TRIED)
                  : tried > MAX_WASTED)
            break;
        select_next(p, i);
        const struct candidate *c = &p->candidates.at[i];
        if (found && c->cycles > p->cycles + p->cycles / 64)
            break;
        BT_TRY(try_candidate(p, c, &nline));
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
    struct npu_draft draft = { .arena = arena };
    struct npu_instruction *list = NULL;
    if (p->cycles == UINT64_MAX && p->is_long)
        return bt_fail(p->ctx, BT_ERR_LIMIT,
                       "npu: the layer's stream would have more than %d instructions",
                       NPU_MAX_LINES);
    if (p->cycles == UINT64_MAX)
        return bt_fail(p->ctx, BT_ERR_UNSUPPORTED,
                       "npu: no tile of the layer fits the machine's memories");
    BT_TRY(make(p, &p->best, &draft, &list));
    uint8_t *uops = BT_NEWS(arena, uint8_t, (size_t)draft.uops.len * 8);
    if (!uops)
        return bt_no_memory();
    for (uint32_t i = 0; i < draft.uops.len; i++)
        npu_uop_encode(draft.uops.at[i], uops + (size_t)i * 8);
    *out = (struct npu_plan){ .stream = { draft.lines.len, list },
                              .uops = uops,
                              .cycles = p->cycles,
                              .ideal = ideal(p->config, p->shape->layer) };
    for (uint32_t i = 0; i < NPU_NBUFFER; i++)
        out->nbytes[i] = p->shape->nbytes[i];
    out->nbytes[NPU_BUFFER_UOPS] = (uint64_t)draft.uops.len * 8;
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
