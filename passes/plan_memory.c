/*
 * plan-memory: put tensors that do not live at once into the same storage.
 *     before
 *         def @main(%x: Tensor[(8), float32]) {
 *             %s = memory.alloc_storage(size=32);
 *             %a = memory.alloc_tensor(%s, shape=[8], dtype="float32");
 *             %0 = memory.invoke((%x,), (%a,), kernel="first");
 *             %t = memory.alloc_storage(size=32);
 *             %b = memory.alloc_tensor(%t, shape=[8], dtype="float32");
 *             %1 = memory.invoke((%a,), (%b,), kernel="second");
 *             %u = memory.alloc_storage(size=32);
 *             %c = memory.alloc_tensor(%u, shape=[8], dtype="float32");
 *             %2 = memory.invoke((%b,), (%c,), kernel="third");
 *             %v = memory.alloc_storage(size=32);
 *             %y = memory.alloc_tensor(%v, shape=[8], dtype="float32");
 *             %3 = memory.invoke((%c,), (%y,), kernel="fourth");
 *             %y
 *         }
 *     after
 *         def @main(%x: Tensor[(8), float32]) {
 *             %s = memory.alloc_storage(size=96);
 *             %a = memory.alloc_tensor(%s, shape=[8], dtype="float32");
 *             %0 = memory.invoke((%x,), (%a,), kernel="first");
 *             %b = memory.alloc_tensor(%s, offset=64, shape=[8], dtype="float32");
 *             %1 = memory.invoke((%a,), (%b,), kernel="second");
 *             %c = memory.alloc_tensor(%s, shape=[8], dtype="float32");
 *             %2 = memory.invoke((%b,), (%c,), kernel="third");
 *             %v = memory.alloc_storage(size=32);
 *             %y = memory.alloc_tensor(%v, shape=[8], dtype="float32");
 *             %3 = memory.invoke((%c,), (%y,), kernel="fourth");
 *             %y
 *         }
 * Offsets are multiples of what the storage is aligned to, 64 for the host. A tensor that a kernel may compute in place of one that
 * ends there is laid over it. Then all are placed one by one where nothing lies that lives
 * at that time: the greatest first or the earliest first, each at the lowest offset or in
 * the smallest gap that holds it; of these four plans the smallest is taken. A target's
 * memory whose blocks have a greatest size gets as many as that takes. Tensors of
 * the result keep storage of their own, as they outlive the call.
 * keeps    every invariant
 * source   Pisarchyk, Lee: "Efficient Memory Management for Deep Neural Net Inference",
 *          2020 (greedy by size)
 */
#include <stdlib.h>
#include <string.h>

#include <baton/op.h>
#include <baton/pass.h>
#include <baton/target.h>

/* How tensors of one memory are placed. */
struct room {
    int64_t align;           /* of their offsets */
    int64_t largest, stride; /* bytes of a block; block i is at i * stride */
};

/* A storage that tensors of one memory share. */
struct shared {
    int64_t size;
    const bt_value *value; /* NULL: not built yet */
};

/* Tensors laid over one another: one piece of memory. */
struct piece {
    int64_t nbytes, offset;
    uint32_t first,
        last;        /* from the first tensor's first kernel to the last one's last */
    uint32_t number; /* of the first tensor, ... */
    uint32_t newest; /* ... and of the last */
};

struct place {
    int64_t offset; /* in the storage */
    struct shared *shared;
};

struct planner {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_targets *targets; /* NULL: not known */
    bt_map places;             /* tensor -> struct place * */
    bt_map gone;               /* storage -> struct shared * that replaces it */
};

/* ---- offsets ---- */

static int by_size(const void *a, const void *b)
{
    const struct piece *x = *(struct piece *const *)a, *y = *(struct piece *const *)b;
    if (x->nbytes != y->nbytes)
        return x->nbytes > y->nbytes ? -1 : 1;
    return x->first != y->first ? (x->first < y->first ? -1 : 1)
                                : (x->number < y->number ? -1 : 1);
}

static int by_time(const void *a, const void *b)
{
    const struct piece *x = *(struct piece *const *)a, *y = *(struct piece *const *)b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->nbytes != y->nbytes ? (x->nbytes > y->nbytes ? -1 : 1)
                                  : (x->number < y->number ? -1 : 1);
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

/* Where a piece begins that is to lie behind `end`. */
static int64_t behind(const struct room *room, int64_t end, const struct piece *piece)
{
    const int64_t start = round_up(end, room->align), into = start % room->stride;
    return into && into + piece->nbytes > room->largest ? round_up(start, room->stride)
                                                        : start;
}

/* Where a piece may lie among those placed, which are in the order of their offsets. */
static int64_t find_gap(const struct room *room, const struct piece *piece, uint32_t n,
                        struct piece *const *placed, int fit)
{
    int64_t end = 0, best = -1, best_nbytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct piece *other = placed[i];
        if (piece->first > other->last || other->first > piece->last)
            continue;
        const int64_t start = behind(room, end, piece), gap = other->offset - start;
        if (gap >= piece->nbytes && (best < 0 || gap < best_nbytes)) {
            best = start;
            best_nbytes = gap;
            if (fit == LOWEST)
                return best;
        }
        const int64_t next = other->offset + other->nbytes;
        end = next > end ? next : end;
    }
    return best < 0 ? behind(room, end, piece) : best;
}

/* Sets the offsets of all pieces and gives the storage that they need. */
static int64_t pack(const struct room *room, uint32_t n, struct piece **order,
                    struct piece **placed, int fit)
{
    int64_t size = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct piece *piece = order[i];
        piece->offset = find_gap(room, piece, i, placed, fit);
        uint32_t at = i;
        for (; at > 0 && placed[at - 1]->offset > piece->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = piece;
        if (piece->offset + piece->nbytes > size)
            size = piece->offset + piece->nbytes;
    }
    return size;
}

static bt_status pack_best(struct planner *p, const struct room *room, uint32_t n,
                           struct piece *pieces, int64_t *size)
{
    struct piece **order = BT_NEWS(p->arena, struct piece *, n);
    struct piece **placed = BT_NEWS(p->arena, struct piece *, n);
    int64_t *offsets = BT_NEWS(p->arena, int64_t, n);
    if (!order || !placed || !offsets)
        return bt_no_memory();
    for (uint32_t s = 0; n && s < BT_COUNT(strategies); s++) {
        for (uint32_t i = 0; i < n; i++)
            order[i] = &pieces[i];
        qsort(order, n, sizeof(struct piece *), strategies[s].order);
        int64_t found = pack(room, n, order, placed, strategies[s].fit);
        for (uint32_t i = 0; (s == 0 || found < *size) && i < n; i++)
            offsets[i] = pieces[i].offset;
        if (s == 0 || found < *size)
            *size = found;
    }
    for (uint32_t i = 0; i < n; i++)
        pieces[i].offset = offsets[i];
    return NULL;
}

/* ---- pieces ---- */

/* The piece that a tensor may go on with: it lies over the last tensor there. */
static struct piece *find_piece(const bt_life *life, struct piece *const *of)
{
    for (uint32_t i = 0; i < life->nover; i++) {
        struct piece *piece = of[life->over[i]];
        if (piece && piece->newest == life->over[i])
            return piece;
    }
    return NULL;
}

static const char *space_of(const bt_life *life)
{
    const bt_call *storage = life->storage;
    return *(const char *const *)bt_attr_find(storage->op, storage->attrs, "space",
                                              BT_ATTR_STRING);
}

static int is_placed(const bt_life *life)
{
    return !life->escapes && life->first <= life->last;
}

/* The memory of a target of this name; NULL: it is the host's, or not known. */
static const bt_space *find_space(const struct planner *p, const char *name)
{
    const uint32_t n = p->targets ? p->targets->n : 0,
                   number = n && *name ? bt_targets_find(p->targets, name) : n;
    return number < n ? p->targets->at[number]->space : NULL;
}

static int64_t align_of(const bt_life *life)
{
    return *(const int64_t *)bt_attr_find(life->storage->op, life->storage->attrs,
                                          "alignment", BT_ATTR_INT);
}

/* The storage of each block. */
static bt_status make_blocks(struct planner *p, const struct room *room, int64_t size,
                             struct shared **out)
{
    const int64_t n = size / room->stride + 1;
    *out = n <= UINT32_MAX ? BT_NEWS(p->arena, struct shared, (size_t)n) : NULL;
    return *out ? NULL : bt_no_memory();
}

/* Where the tensors of pieces are, and what replaces their storage. */
static bt_status put_places(struct planner *p, const struct room *room, uint32_t n,
                            const bt_life *lives, struct piece *const *of, int64_t size)
{
    struct shared *blocks;
    BT_TRY(make_blocks(p, room, size, &blocks));
    for (uint32_t i = 0; i < n; i++) {
        struct place *place = of[i] ? BT_NEW(p->arena, struct place) : NULL;
        if (!of[i])
            continue;
        if (!place)
            return bt_no_memory();
        struct shared *shared = &blocks[of[i]->offset / room->stride];
        *place = (struct place){ of[i]->offset % room->stride, shared };
        if (place->offset + of[i]->nbytes > shared->size)
            shared->size = place->offset + of[i]->nbytes;
        if (!bt_map_put(&p->places, lives[i].tensor, place) ||
            !bt_map_put(&p->gone, lives[i].storage, shared))
            return bt_no_memory();
    }
    return NULL;
}

/* Plans the tensors of one space. Lives are in the order of the function, in which what is
 * laid over follows. */
static bt_status plan_space(struct planner *p, uint32_t n, const bt_life *lives,
                            const char *space)
{
    const bt_space *own = find_space(p, space);
    struct room room = { .align = 64, .largest = INT64_MAX / 2 };
    uint32_t npiece = 0;
    int64_t size = 0;
    struct piece *pieces = BT_NEWS(p->arena, struct piece, n);
    struct piece **of = BT_NEWS(p->arena, struct piece *, n);
    if (!pieces || !of)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_life *life = &lives[i];
        if (!is_placed(life) || strcmp(space_of(life), space) != 0)
            continue;
        room.align = align_of(life) > room.align ? align_of(life) : room.align;
        of[i] = find_piece(life, of);
        if (!of[i]) {
            of[i] = &pieces[npiece++];
            *of[i] = (struct piece){ .nbytes = life->nbytes,
                                     .first = life->first,
                                     .number = i };
        }
        of[i]->last = life->last;
        of[i]->newest = i;
    }
    if (own && own->largest && own->largest < (uint64_t)room.largest)
        room.largest = (int64_t)own->largest;
    room.stride = round_up(room.largest, room.align);
    BT_TRY(pack_best(p, &room, npiece, pieces, &size));
    return put_places(p, &room, n, lives, of, size);
}

static bt_status plan_func(struct planner *p, const bt_func *func)
{
    uint32_t n;
    bt_life *lives;
    BT_TRY(bt_lives(p->ctx, p->arena, func, &n, &lives));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = 0; // of its space
        while (!is_placed(&lives[first]) ||
               strcmp(space_of(&lives[first]), space_of(&lives[i])) != 0) {
            if (first == i)
                break;
            first++;
        }
        if (first == i && is_placed(&lives[i]))
            BT_TRY(plan_space(p, n, lives, space_of(&lives[i])));
    }
    return NULL;
}

/* ---- rewriting ---- */

/* The same call with one attribute changed, on another storage. */
static bt_status build_with(bt_rewrite *rw, const bt_call *call, const char *attr,
                            int64_t value, uint32_t narg, const bt_value *const *args,
                            const bt_value **out)
{
    struct planner *p = bt_rewrite_state(rw);
    const char *found = bt_attr_find(call->op, call->attrs, attr, BT_ATTR_INT);
    int64_t *copy = BT_NEWS(p->arena, int64_t, call->op->attrs_nbytes / sizeof(int64_t));
    if (!copy)
        return bt_no_memory();
    for (size_t i = 0; i < call->op->attrs_nbytes / sizeof(int64_t); i++)
        copy[i] = ((const int64_t *)call->attrs)[i];
    copy[(size_t)(found - (const char *)call->attrs) / sizeof(int64_t)] = value;
    return bt_build_op(bt_rewrite_builder(rw), call->op, copy, narg, args, out);
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

static const bt_rewriter rewriter = { .call_ = rewrite_call };

/* There are operators, but none of memory: the program is not lowered yet. */
static int is_not_lowered(const bt_module *module)
{
    int has_op = 0;
    for (uint32_t i = 0; i < module->nglobal; i++) {
        const bt_func *func = module->globals[i]->func;
        for (uint32_t k = 0; func && k < func->block->nbinding; k++) {
            const bt_call *call = bt_as_call(func->block->bindings[k]);
            if (!call || call->callee_kind != BT_CALLEE_OP)
                continue;
            if (strncmp(call->op->name, "memory.", strlen("memory.")) == 0)
                return 0;
            has_op = 1;
        }
    }
    return has_op;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct planner p = { .ctx = ctx, .arena = call->scratch, .targets = call->targets };
    if (is_not_lowered(call->module))
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
