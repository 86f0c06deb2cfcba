/*
 * plan-memory: put tensors that do not live at once into the same storage.
 * Offsets are multiples of what the storage is aligned to, 64 for the host. A tensor that a
 * kernel may compute in place of one that ends there is laid over it. Then all are placed
 * one by one where nothing lies that lives at that time: the greatest first or the earliest
 * first, or those that are large for long, each at the lowest offset or in the smallest gap
 * that holds it; of these six plans the smallest is taken. Tensors that make up another one,
 * as what a concatenation reads, are laid into it, and what has elements of another in one piece,
 * as a slice of rows, where these are, where that takes hardly more memory: then nothing is
 * copied. A target's memory whose blocks have a greatest size gets as many as
 * that takes. Tensors of the result keep storage of their own, as they outlive the call.
 * Sizes may be dims that are known at the call. They are compared by their values for a
 * sample of the dims, but a tensor is placed only where it is proved that all others keep
 * clear of it, whatever the dims are; where there is no such place it keeps its own storage.
 * keeps    every invariant
 * option   max-bytes  that tensors of the entry may take, with what it calls, but for arguments,
 *                     constants and results; it fails if they are more, or if no number can be
 *                     given, as of recursion; 0, the default: any
 * source   Pisarchyk, Lee: "Efficient Memory Management for Deep Neural Net Inference",
 *          2020 (greedy by size)
 */
#include <string.h>

#include <baton/compiled.h>
#include <baton/op.h>
#include <baton/pass.h>

#include "memory/pieces.h"
#include "memory/plan_limit.h"

struct options {
    int64_t max_bytes;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, max_bytes, INT, "0", 0, INT64_MAX,
                  "bytes that tensors may take at once; 0: any number"),
    { 0 },
};

/* A storage that tensors of one memory share. */
struct shared {
    struct amount size;
    const bt_func *func;
    const bt_call *like;   /* one that it replaces; NULL: it holds nothing */
    const bt_value *value; /* NULL: not built yet */
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
    uint32_t is_limited; /* 1: to so many bytes */
};

/* ---- storages ---- */

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
            !amount_add(p->store, offset_of(pool, &pieces[i]), pieces[i].nbytes, &end) ||
            amount_fits(p->store, end, none, *size))
            continue;
        if (!amount_fits(p->store, *size, none, end))
            BT_TRY(amount_of(p->ctx, p->store,
                             bt_dim_max(p->store, amount_dim(p->store, *size),
                                        amount_dim(p->store, end)),
                             &end));
        *size = end;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct amount offset = offset_of(pool, &pieces[i]);
        pieces[i].is_own |= !amount_fits(p->store, none, none, offset) ||
                            !amount_fits(p->store, offset, pieces[i].nbytes,
                                         (*out)[block_of(pool, &pieces[i])].size);
    }
    return NULL;
}

/* Where the tensors of pieces are, and what replaces their storage. */
static bt_status put_places(struct planner *p, const struct pool *pool, uint32_t n,
                            const bt_live_range *ranges, const struct layout *l,
                            struct shared *blocks)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct piece *piece = l->of[i];
        if (!piece || piece->is_own)
            continue;
        struct place *place = BT_NEW(p->arena, struct place);
        struct shared *shared = &blocks[block_of(pool, piece)];
        const struct amount at = { .sample = l->at[i] };
        if (!place)
            return bt_no_memory();
        place->shared = shared;
        if (!amount_add(p->store, offset_of(pool, piece), at, &place->offset))
            return bt_store_why(p->ctx, p->store);
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

/* ---- spaces ---- */

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

static struct pool pool_of(const struct planner *p, uint32_t n,
                           const bt_live_range *ranges, const char *space)
{
    const bt_space *own = find_space(p, space);
    struct pool pool = { .ctx = p->ctx,
                         .arena = p->arena,
                         .store = p->store,
                         .align = 64,
                         .largest = INT64_MAX / 2 };
    for (uint32_t i = 0; i < n; i++) {
        if (pieces_is_placed(&ranges[i]) &&
            strcmp(pieces_space(&ranges[i]), space) == 0 &&
            align_of(&ranges[i]) > pool.align)
            pool.align = align_of(&ranges[i]);
    }
    pool.is_limited = own && own->largest && own->largest < (uint64_t)pool.largest;
    if (pool.is_limited)
        pool.largest = (int64_t)own->largest;
    pool.stride = pieces_round_up(pool.largest, pool.align);
    return pool;
}

/* One part of so many of the memory, or of what copies would read and write where no budget is to be
 * met: copies that are spared are worth it. */
enum { LITTLE = 128, LITTLE_OF_COPIES = 32 };

/* Whether a tensor is one piece with what it is made of, or taken out of. */
static int is_joined(const bt_live_range *range, const struct layout *l,
                     const struct piece *piece)
{
    return piece && ((range->npart && piece == l->of[range->parts[0]]) ||
                     (range->slice_of && piece == l->of[range->slice_of - 1]));
}

/* Bytes that are read and written for what could not be joined otherwise. */
static int64_t spared(uint32_t n, const bt_live_range *ranges, const struct layout *l)
{
    int64_t sum = 0, nbytes;
    for (uint32_t i = 0; i < n; i++) {
        const bt_live_range *range = &ranges[i];
        if (is_joined(range, l, l->of[i]) && bt_dim_is_const(range->nbytes, &nbytes) &&
            (nbytes > INT64_MAX / 2 - sum || !bt_add_int64(sum, 2 * nbytes, &sum)))
            return INT64_MAX;
    }
    return sum;
}

/* Whether a layout in which copies are spared takes hardly more memory. */
static int is_worth_it(const struct planner *p, uint32_t n, const bt_live_range *ranges,
                       const struct layout *apart, const struct layout *joined)
{
    const int64_t more = joined->size - apart->size;
    return more <= apart->size / LITTLE ||
           (!p->is_limited && more <= spared(n, ranges, joined) / LITTLE_OF_COPIES);
}

/* Tensors laid into what they make up, and, with slices, where others have their elements. */
static bt_status join(const struct pool *pool, uint32_t n, const bt_live_range *ranges,
                      const char *space, int has_slices, struct layout *out)
{
    BT_TRY(pieces_make(pool, n, ranges, space, has_slices, out));
    for (uint32_t i = 0; i < n; i++) {
        if (ranges[i].npart)
            BT_TRY(pieces_join(pool, n, ranges, i, out));
    }
    for (uint32_t i = 0; has_slices && i < n; i++) {
        if (ranges[i].slice_of)
            BT_TRY(pieces_join_slice(pool, n, ranges, i, out));
    }
    return pieces_pack(pool, out);
}

static bt_status plan_space(struct planner *p, uint32_t n, const bt_live_range *ranges,
                            const char *space)
{
    const struct pool pool = pool_of(p, n, ranges, space);
    struct layout apart, joined, *best = &apart;
    struct shared *blocks;
    uint32_t npart = 0, nslice = 0;
    BT_TRY(pieces_make(&pool, n, ranges, space, 0, &apart));
    BT_TRY(pieces_pack(&pool, &apart));
    for (uint32_t i = 0; i < n; i++) {
        npart += ranges[i].npart;
        nslice += ranges[i].slice_of != 0;
    }
    for (int has_slices = nslice != 0; has_slices >= 0 && best == &apart; has_slices--) {
        if (!npart && !has_slices)
            break;
        BT_TRY(join(&pool, n, ranges, space, has_slices, &joined));
        if (is_worth_it(p, n, ranges, &apart, &joined))
            best = &joined;
    }
    BT_TRY(make_blocks(p, &pool, best->npiece, best->pieces, &blocks));
    return put_places(p, &pool, n, ranges, best, blocks);
}

static bt_status plan_func(struct planner *p, const bt_func *func)
{
    uint32_t n;
    bt_live_range *ranges;
    p->func = func;
    BT_TRY(bt_live_ranges(p->ctx, p->arena, func, &n, &ranges));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = 0; // of its space
        while (!pieces_is_placed(&ranges[first]) ||
               strcmp(pieces_space(&ranges[first]), pieces_space(&ranges[i])) != 0) {
            if (first == i)
                break;
            first++;
        }
        if (first == i && pieces_is_placed(&ranges[i]))
            BT_TRY(plan_space(p, n, ranges, pieces_space(&ranges[i])));
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
    const bt_type *dim = amount_dim(p->store, value);
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
            const bt_value *binding = func->block->bindings[k];
            if (bt_value_is_memory_call(binding))
                return 0;
            has_call |= bt_as_call(binding) != NULL;
        }
    }
    return has_call;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const struct options *o = call->options;
    struct planner p = { .ctx = ctx,
                         .arena = call->scratch,
                         .store = call->module->store,
                         .targets = call->targets,
                         .is_limited = o->max_bytes != 0 };
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
    bt_module *planned;
    BT_TRY(bt_rewrite_module(ctx, call, &rewriter, &p, &planned));
    bt_status status =
        o->max_bytes ? plan_limit_check(ctx, p.arena, planned, o->max_bytes) : NULL;
    if (status)
        bt_module_unref(planned);
    else
        *out = planned;
    return status;
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
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_memory_plan_memory[] = { BT_PASSES(passes), { 0 } };
