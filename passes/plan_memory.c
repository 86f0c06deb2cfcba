/*
 * plan-memory: put tensors that do not live at once into the same storage.
 * Offsets are multiples of what the storage is aligned to, 64 for the host. A tensor that a
 * kernel may compute in place of one that ends there is laid over it. Then all are placed
 * one by one where nothing lies that lives at that time: the greatest first or the earliest
 * first, each at the lowest offset or in the smallest gap that holds it; of these four
 * plans the smallest is taken. A target's memory whose blocks have a greatest size gets as
 * many as that takes. Tensors of the result keep storage of their own, as they outlive the
 * call.
 * Sizes may be dims that are known at the call. They are compared by their values for a
 * sample of the dims, but a tensor is placed only where it is proved that all others keep
 * clear of it, whatever the dims are; where there is no such place it keeps its own storage.
 * keeps    every invariant
 * source   Pisarchyk, Lee: "Efficient Memory Management for Deep Neural Net Inference",
 *          2020 (greedy by size)
 */
#include <stdlib.h>
#include <string.h>

#include <baton/compiled.h>
#include <baton/op.h>
#include <baton/pass.h>

/* How tensors of one memory are placed. */
struct pool {
    int64_t align;           /* of their offsets */
    int64_t largest, stride; /* bytes of a block; block i is at i * stride */
    uint32_t is_limited;     /* 1: a block may be too small for what has no number */
};

/* A number of bytes. */
struct amount {
    int64_t sample;     /* for the sample of the dims */
    const bt_type *dim; /* NULL: the sample is the number, whatever the dims are */
};

/* A storage that tensors of one memory share. */
struct shared {
    struct amount size;
    const bt_func *func;
    const bt_call *like;   /* one that it replaces; NULL: it holds nothing */
    const bt_value *value; /* NULL: not built yet */
};

/* Tensors laid over one another: one piece of memory. */
struct piece {
    struct amount nbytes, offset;
    struct amount taken; /* of nbytes, to the next multiple of the alignment */
    uint32_t first,
        last;        /* from the first tensor's first kernel to the last one's last */
    uint32_t number; /* of the first tensor, ... */
    uint32_t newest; /* ... and of the last */
    uint32_t is_own; /* 1: there is no place for it in what is shared */
};

struct place {
    struct amount offset; /* in the storage */
    struct shared *shared;
};

struct planner {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_store *store;
    const bt_func *func;       /* that is planned */
    const bt_targets *targets; /* NULL: not known */
    bt_map places;             /* tensor -> struct place * */
    bt_map gone;               /* storage -> struct shared * that replaces it */
    bt_vec(struct shared *) all;
};

/* ---- amounts ---- */

enum { FEW = 16, MANY = 1024 };

/* In the middle of a range, but at most *state where it may be; a few where the range has
 * no end. */
static const bt_type *sample_of(bt_subst *subst, const bt_type *leaf)
{
    const int64_t most = *(const int64_t *)subst->state;
    int64_t low, high;
    bt_dim_bounds(leaf, &low, &high);
    int64_t sample = high != INT64_MAX ? low + (high - low) / 2 : FEW;
    sample = sample > most ? most : sample;
    return bt_dim(leaf->store, sample < low ? low : sample);
}

/* The product of many dims may overflow for middling ones, and not for a few. */
static bt_status measure(struct planner *p, const bt_type *dim, struct amount *out)
{
    int64_t most = MANY;
    bt_subst subst = { .leaf = sample_of, .state = &most };
    *out = (struct amount){ 0 };
    if (dim && bt_dim_is_const(dim, &out->sample))
        return NULL;
    const bt_type *sample = dim ? bt_type_subst(p->store, &subst, dim) : NULL;
    most = FEW;
    if (dim && !sample)
        sample = bt_type_subst(p->store, &subst, dim);
    if (!sample)
        return bt_store_why(p->ctx, p->store);
    (void)bt_dim_is_const(sample, &out->sample);
    out->dim = dim;
    return NULL;
}

static const bt_type *dim_of(struct planner *p, struct amount a)
{
    return a.dim ? a.dim : bt_dim(p->store, a.sample);
}

/* 0: the sum is too large to be written. */
static int add(struct planner *p, struct amount a, struct amount b, struct amount *out)
{
    *out = (struct amount){ 0 };
    if (!bt_add_int64(a.sample, b.sample, &out->sample))
        return 0;
    if (a.dim || b.dim)
        out->dim = bt_dim_add(p->store, dim_of(p, a), dim_of(p, b));
    return out->dim || (!a.dim && !b.dim);
}

/* Whether a + b <= c for all values of the dims. */
static int fits(struct planner *p, struct amount a, struct amount b, struct amount c)
{
    struct amount sum;
    int64_t low, high;
    if (!add(p, a, b, &sum) || sum.sample > c.sample)
        return 0;
    if (!sum.dim && !c.dim)
        return 1;
    const bt_type *rest = bt_dim_sub(p->store, dim_of(p, c), dim_of(p, sum));
    if (!rest)
        return 0;
    bt_dim_bounds(rest, &low, &high);
    return low >= 0;
}

/* ---- offsets ---- */

static int by_size(const void *a, const void *b)
{
    const struct piece *x = *(struct piece *const *)a, *y = *(struct piece *const *)b;
    if (x->nbytes.sample != y->nbytes.sample)
        return x->nbytes.sample > y->nbytes.sample ? -1 : 1;
    return x->first != y->first ? (x->first < y->first ? -1 : 1)
                                : (x->number < y->number ? -1 : 1);
}

static int by_time(const void *a, const void *b)
{
    const struct piece *x = *(struct piece *const *)a, *y = *(struct piece *const *)b;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : by_size(a, b);
}

enum { LOWEST, SMALLEST };
struct strategy {
    int (*order)(const void *, const void *);
    int fit;
};
static const struct strategy strategies[] = {
    { by_size, LOWEST },
    { by_size, SMALLEST },
    { by_time, LOWEST },
    { by_time, SMALLEST },
};

static int64_t round_up(int64_t offset, int64_t step)
{
    return (offset + step - 1) / step * step;
}

/* Where a piece begins that is to lie behind `end`, a multiple of the alignment. */
static struct amount behind(const struct pool *pool, struct amount end,
                            const struct piece *piece)
{
    const int64_t into = end.sample % pool->stride;
    if (!end.dim && into && into + piece->nbytes.sample > pool->largest)
        end.sample = round_up(end.sample, pool->stride);
    return end;
}

static int share_time(const struct piece *a, const struct piece *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Whether all that are placed and live at its time keep clear of a piece at `offset`. */
static int is_free(struct planner *p, const struct piece *piece, struct amount offset,
                   uint32_t n, struct piece *const *placed)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct piece *other = placed[i];
        if (share_time(piece, other) && !fits(p, offset, piece->nbytes, other->offset) &&
            !fits(p, other->offset, other->nbytes, offset))
            return 0;
    }
    return 1;
}

/* Where a piece may lie among those placed, which are in the order of their offsets. 0:
 * nowhere. */
static int find_gap(struct planner *p, const struct pool *pool, const struct piece *piece,
                    uint32_t n, struct piece *const *placed, int fit, struct amount *out)
{
    struct amount end = { 0 }, next;
    int64_t best = -1;
    if (piece->nbytes.dim && pool->is_limited)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct piece *other = placed[i];
        if (!share_time(piece, other))
            continue;
        const struct amount start = behind(pool, end, piece);
        int64_t gap = other->offset.sample - start.sample;
        if (gap >= piece->nbytes.sample && (best < 0 || gap < best) &&
            is_free(p, piece, start, n, placed)) {
            best = gap;
            *out = start;
            if (fit == LOWEST)
                return 1;
        }
        if (!add(p, other->offset, other->taken, &next))
            return 0;
        end = next.sample > end.sample ? next : end;
    }
    if (best < 0)
        *out = behind(pool, end, piece);
    return best >= 0 || is_free(p, piece, *out, n, placed);
}

/* Sets the offsets of all pieces, and gives the bytes that they need, for the sample. */
static int64_t pack(struct planner *p, const struct pool *pool, uint32_t n,
                    struct piece **order, struct piece **placed, int fit)
{
    uint32_t nplaced = 0;
    int64_t size = 0, own = 0, sum;
    for (uint32_t i = 0; i < n; i++) {
        struct piece *piece = order[i];
        piece->is_own = !find_gap(p, pool, piece, nplaced, placed, fit, &piece->offset);
        if (piece->is_own) {
            own = bt_add_int64(own, piece->nbytes.sample, &sum) ? sum : INT64_MAX;
            continue;
        }
        uint32_t at = nplaced++;
        for (; at > 0 && placed[at - 1]->offset.sample > piece->offset.sample; at--)
            placed[at] = placed[at - 1];
        placed[at] = piece;
        if (piece->offset.sample + piece->nbytes.sample > size)
            size = piece->offset.sample + piece->nbytes.sample;
    }
    return bt_add_int64(size, own, &sum) ? sum : INT64_MAX;
}

static bt_status pack_best(struct planner *p, const struct pool *pool, uint32_t n,
                           struct piece *pieces)
{
    struct piece **order = BT_NEWS(p->arena, struct piece *, n);
    struct piece **placed = BT_NEWS(p->arena, struct piece *, n);
    struct piece *best = BT_NEWS(p->arena, struct piece, n);
    int64_t least = 0;
    if (!order || !placed || !best)
        return bt_no_memory();
    for (uint32_t s = 0; n && s < BT_COUNT(strategies); s++) {
        for (uint32_t i = 0; i < n; i++)
            order[i] = &pieces[i];
        qsort(order, n, sizeof(struct piece *), strategies[s].order);
        int64_t found = pack(p, pool, n, order, placed, strategies[s].fit);
        if (s && found >= least)
            continue;
        least = found;
        memcpy(best, pieces, n * sizeof(*best));
    }
    if (n)
        memcpy(pieces, best, n * sizeof(*best));
    return NULL;
}

/* ---- pieces ---- */

/* The piece that a tensor may go on with: it lies over the last tensor there. */
static struct piece *find_piece(const bt_live_range *range, struct piece *const *of)
{
    for (uint32_t i = 0; i < range->nalias; i++) {
        struct piece *piece = of[range->aliases[i]];
        if (piece && piece->newest == range->aliases[i])
            return piece;
    }
    return NULL;
}

static const char *space_of(const bt_live_range *range)
{
    const bt_call *storage = range->storage;
    return *(const char *const *)bt_attr_find(storage->op, storage->attrs, "space",
                                              BT_ATTR_STRING);
}

static int is_placed(const bt_live_range *range)
{
    return !range->escapes && range->first <= range->last;
}

/* The memory of a target of this name; NULL: it is the host's, or not known. */
static const bt_space *find_space(const struct planner *p, const char *name)
{
    const uint32_t n = p->targets ? p->targets->n : 0,
                   number = n && *name ? bt_targets_find(p->targets, name) : n;
    return number < n ? p->targets->at[number]->space : NULL;
}

static int64_t align_of(const bt_live_range *range)
{
    return *(const int64_t *)bt_attr_find(range->storage->op, range->storage->attrs,
                                          "alignment", BT_ATTR_INT);
}

/* The shared storage of a piece; what has no number is in the first. */
static uint32_t block_of(const struct pool *pool, const struct piece *piece)
{
    return piece->is_own || piece->offset.dim
               ? 0
               : (uint32_t)(piece->offset.sample / pool->stride);
}

static struct amount offset_of(const struct pool *pool, const struct piece *piece)
{
    struct amount offset = piece->offset;
    if (!offset.dim)
        offset.sample %= pool->stride;
    return offset;
}

/* Storage that holds all pieces; pieces that cannot be proved to fit keep their own. */
static bt_status make_blocks(struct planner *p, const struct pool *pool, uint32_t n,
                             struct piece *pieces, struct shared **out)
{
    const struct amount none = { 0 };
    struct amount end;
    uint32_t nblock = 1;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t block = block_of(pool, &pieces[i]);
        nblock = block + 1 > nblock ? block + 1 : nblock;
    }
    *out = BT_NEWS(p->arena, struct shared, nblock);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        struct amount *size = &(*out)[block_of(pool, &pieces[i])].size;
        if (pieces[i].is_own ||
            !add(p, offset_of(pool, &pieces[i]), pieces[i].nbytes, &end) ||
            fits(p, end, none, *size))
            continue;
        if (!fits(p, *size, none, end))
            BT_TRY(
                measure(p, bt_dim_max(p->store, dim_of(p, *size), dim_of(p, end)), &end));
        *size = end;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct amount offset = offset_of(pool, &pieces[i]);
        pieces[i].is_own |=
            !fits(p, none, none, offset) ||
            !fits(p, offset, pieces[i].nbytes, (*out)[block_of(pool, &pieces[i])].size);
    }
    return NULL;
}

/* Where the tensors of pieces are, and what replaces their storage. */
static bt_status put_places(struct planner *p, const struct pool *pool, uint32_t n,
                            const bt_live_range *ranges, struct piece *const *of,
                            struct shared *blocks)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!of[i] || of[i]->is_own)
            continue;
        struct place *place = BT_NEW(p->arena, struct place);
        struct shared *shared = &blocks[block_of(pool, of[i])];
        if (!place)
            return bt_no_memory();
        *place = (struct place){ offset_of(pool, of[i]), shared };
        if (!shared->like && !BT_PUSH(p->arena, &p->all, shared))
            return bt_no_memory();
        if (!shared->like)
            shared->like = ranges[i].storage;
        shared->func = p->func;
        if (!bt_map_put(&p->places, ranges[i].tensor, place) ||
            !bt_map_put(&p->gone, ranges[i].storage, shared))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status measure_piece(struct planner *p, const struct pool *pool,
                               const bt_type *nbytes, struct piece *piece)
{
    const bt_type *unit = bt_dim(p->store, pool->align),
                  *units = unit ? bt_dim_ceildiv(p->store, nbytes, unit) : NULL;
    BT_TRY(measure(p, nbytes, &piece->nbytes));
    return measure(p, units ? bt_dim_scale(p->store, units, pool->align, 0) : NULL,
                   &piece->taken);
}

/* Plans the tensors of one space. Lives are in the order of the function, in which what is
 * laid over follows. */
static bt_status plan_space(struct planner *p, uint32_t n, const bt_live_range *ranges,
                            const char *space)
{
    const bt_space *own = find_space(p, space);
    struct pool pool = { .align = 64, .largest = INT64_MAX / 2 };
    struct shared *blocks;
    uint32_t npiece = 0;
    struct piece *pieces = BT_NEWS(p->arena, struct piece, n);
    struct piece **of = BT_NEWS(p->arena, struct piece *, n);
    if (!pieces || !of)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_live_range *range = &ranges[i];
        if (!is_placed(range) || strcmp(space_of(range), space) != 0)
            continue;
        pool.align = align_of(range) > pool.align ? align_of(range) : pool.align;
        of[i] = find_piece(range, of);
        if (!of[i]) {
            of[i] = &pieces[npiece++];
            *of[i] = (struct piece){ .first = range->first, .number = i };
        }
        of[i]->last = range->last;
        of[i]->newest = i;
    }
    pool.is_limited = own && own->largest && own->largest < (uint64_t)pool.largest;
    if (pool.is_limited)
        pool.largest = (int64_t)own->largest;
    pool.stride = round_up(pool.largest, pool.align);
    for (uint32_t i = 0; i < npiece; i++)
        BT_TRY(measure_piece(p, &pool, ranges[pieces[i].number].nbytes, &pieces[i]));
    BT_TRY(pack_best(p, &pool, npiece, pieces));
    BT_TRY(make_blocks(p, &pool, npiece, pieces, &blocks));
    return put_places(p, &pool, n, ranges, of, blocks);
}

static bt_status plan_func(struct planner *p, const bt_func *func)
{
    uint32_t n;
    bt_live_range *ranges;
    p->func = func;
    BT_TRY(bt_live_ranges(p->ctx, p->arena, func, &n, &ranges));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = 0; // of its space
        while (!is_placed(&ranges[first]) ||
               strcmp(space_of(&ranges[first]), space_of(&ranges[i])) != 0) {
            if (first == i)
                break;
            first++;
        }
        if (first == i && is_placed(&ranges[i]))
            BT_TRY(plan_space(p, n, ranges, space_of(&ranges[i])));
    }
    return NULL;
}

/* ---- rewriting ---- */

/* The same call with one attribute changed, on another storage. */
static bt_status build_with(bt_rewrite *rw, const bt_call *call, const char *attr,
                            struct amount value, uint32_t narg,
                            const bt_value *const *args, const bt_value **out)
{
    struct planner *p = bt_rewrite_state(rw);
    const bt_type *dim = dim_of(p, value);
    const void *attrs =
        dim ? bt_attrs_with(p->arena, call, attr, &dim, sizeof(dim)) : NULL;
    return attrs ? bt_build_op(bt_rewrite_builder(rw), call->op, attrs, narg, args, out)
                 : bt_no_memory();
}

static bt_status rewrite_call(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    struct planner *p = bt_rewrite_state(rw);
    const struct place *place = bt_map_find(&p->places, call);
    struct shared *shared = bt_map_find(&p->gone, call);
    if (place)
        return build_with(rw, call, "offset", place->offset, 1, &place->shared->value,
                          out);
    if (!shared)
        return NULL;
    if (!shared->value)
        BT_TRY(build_with(rw, call, "size", shared->size, 0, NULL, &shared->value));
    bt_rewrite_drop(rw);
    return NULL;
}

/* Blocks inside a function see what stands before them: storage that they share is the
 * function's own. */
static bt_status begin(bt_rewrite *rw, const bt_func *func)
{
    struct planner *p = bt_rewrite_state(rw);
    int has_blocks = 0;
    for (uint32_t i = 0; i < func->block->nbinding; i++)
        has_blocks |= bt_value_nregion(func->block->bindings[i]) != 0;
    for (uint32_t i = 0; has_blocks && i < p->all.len; i++) {
        struct shared *shared = p->all.at[i];
        if (shared->func != func)
            continue;
        bt_builder_like(bt_rewrite_builder(rw), &shared->like->base);
        BT_TRY(
            build_with(rw, shared->like, "size", shared->size, 0, NULL, &shared->value));
    }
    return NULL;
}

static const bt_rewriter rewriter = { .call_ = rewrite_call, .begin = begin };

/* There are calls outside primitive functions, but none of memory: the program is not
 * lowered yet. */
static int is_not_lowered(const bt_module *module)
{
    int has_call = 0;
    for (uint32_t i = 0; i < module->nglobal; i++) {
        const bt_func *func = module->globals[i]->func;
        if (!func || bt_func_is_primitive(func))
            continue;
        for (uint32_t k = 0; k < func->block->nbinding; k++) {
            const bt_call *call = bt_as_call(func->block->bindings[k]);
            if (call && call->callee_kind == BT_CALLEE_OP &&
                strncmp(call->op->name, "memory.", strlen("memory.")) == 0)
                return 0;
            has_call |= call != NULL;
        }
    }
    return has_call;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct planner p = { .ctx = ctx,
                         .arena = call->scratch,
                         .store = call->module->store,
                         .targets = call->targets };
    if (!call->targets && is_not_lowered(call->module))
        bt_remark(ctx, BT_REMARK_NOTE,
                  bt_fail(ctx, BT_ERR_UNSUPPORTED,
                          "plan-memory finds nothing to plan: it is of lowered programs, "
                          "which --plan names the passes of"));
    bt_map_init(&p.places, p.arena, 0);
    bt_map_init(&p.gone, p.arena, 0);
    for (uint32_t i = 0; i < call->module->nglobal; i++) {
        const bt_global *global = call->module->globals[i];
        if (global->kind == BT_GLOBAL_FUNC)
            BT_TRY(plan_func(&p, global->func));
    }
    return bt_rewrite_module(ctx, call, &rewriter, &p, out);
}

static const bt_pass passes[] = {
    {
        .name = "plan-memory",
        .doc = "Put tensors that do not live at once into the same storage.\n"
               "before\n"
               "    def @main(%x: Tensor[(8), float32]) {\n"
               "        %s = memory.alloc_storage(size=32);\n"
               "        %a = memory.alloc_tensor(%s, shape=[8], dtype=\"float32\");\n"
               "        %0 = memory.invoke((%x,), (%a,), kernel=\"first\");\n"
               "        %t = memory.alloc_storage(size=32);\n"
               "        %b = memory.alloc_tensor(%t, shape=[8], dtype=\"float32\");\n"
               "        %1 = memory.invoke((%a,), (%b,), kernel=\"second\");\n"
               "        %u = memory.alloc_storage(size=32);\n"
               "        %c = memory.alloc_tensor(%u, shape=[8], dtype=\"float32\");\n"
               "        %2 = memory.invoke((%b,), (%c,), kernel=\"third\");\n"
               "        %v = memory.alloc_storage(size=32);\n"
               "        %y = memory.alloc_tensor(%v, shape=[8], dtype=\"float32\");\n"
               "        %3 = memory.invoke((%c,), (%y,), kernel=\"fourth\");\n"
               "        %y\n"
               "    }\n"
               "after\n"
               "    def @main(%x: Tensor[(8), float32]) {\n"
               "        %s = memory.alloc_storage(size=96);\n"
               "        %a = memory.alloc_tensor(%s, shape=[8], dtype=\"float32\");\n"
               "        %0 = memory.invoke((%x,), (%a,), kernel=\"first\");\n"
               "        %b = memory.alloc_tensor(%s, offset=64, shape=[8], "
               "dtype=\"float32\");\n"
               "        %1 = memory.invoke((%a,), (%b,), kernel=\"second\");\n"
               "        %c = memory.alloc_tensor(%s, shape=[8], dtype=\"float32\");\n"
               "        %2 = memory.invoke((%b,), (%c,), kernel=\"third\");\n"
               "        %v = memory.alloc_storage(size=32);\n"
               "        %y = memory.alloc_tensor(%v, shape=[8], dtype=\"float32\");\n"
               "        %3 = memory.invoke((%c,), (%y,), kernel=\"fourth\");\n"
               "        %y\n"
               "    }",
        .level = 0,
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_plan_memory[] = { BT_PASSES(passes), { 0 } };
