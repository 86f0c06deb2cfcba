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
 * Offsets are multiples of 64. The greatest tensors are placed first, each at the lowest
 * offset where nothing lies that lives when it does. Tensors of the result keep storage
 * of their own, as they outlive the call.
 * keeps    every invariant
 * source   Pisarchyk, Lee: "Efficient Memory Management for Deep Neural Net Inference",
 *          2020 (greedy by size)
 */
#include <stdlib.h>

#include <baton/op.h>
#include <baton/pass.h>
#include <baton/target.h>

enum { ALIGNMENT = 64 };

/* The storage that a function's tensors share. */
struct shared {
    int64_t size;
    const bt_value *value; /* NULL: not built yet */
};

struct place {
    const bt_life *life;
    int64_t offset;
    struct shared *shared;
};

struct planner {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_map places; /* tensor -> struct place * */
    bt_map gone;   /* storage -> struct shared * that replaces it */
};

/* ---- offsets ---- */

static int by_size(const void *a, const void *b)
{
    const bt_life *x = ((const struct place *)a)->life,
                  *y = ((const struct place *)b)->life;
    if (x->nbytes != y->nbytes)
        return x->nbytes > y->nbytes ? -1 : 1;
    return x->first != y->first ? (x->first < y->first ? -1 : 1)
                                : (x->tensor->base.id < y->tensor->base.id ? -1 : 1);
}

static int64_t aligned(int64_t offset)
{
    return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The lowest offset for place `index`, those before being settled. */
static int64_t lowest(const struct place *places, uint32_t index)
{
    const bt_life *life = places[index].life;
    int64_t offset = 0;
    for (uint32_t i = 0; i < index; i++) {
        const bt_life *other = places[i].life;
        int64_t start = places[i].offset;
        if (life->first > other->last || other->first > life->last ||
            start >= offset + life->nbytes || offset >= start + other->nbytes)
            continue;
        // from the first again: the offset only grows, so this ends
        offset = aligned(start + other->nbytes);
        i = UINT32_MAX;
    }
    return offset;
}

static bt_status plan_func(struct planner *p, const bt_func *func)
{
    uint32_t n, nplace = 0;
    bt_life *lives;
    BT_TRY(bt_lives(p->ctx, p->arena, func, &n, &lives));
    struct place *places = BT_NEWS(p->arena, struct place, n);
    struct shared *shared = BT_NEW(p->arena, struct shared);
    if (!places || !shared)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        if (!lives[i].escapes && lives[i].first <= lives[i].last)
            places[nplace++] = (struct place){ .life = &lives[i], .shared = shared };
    }
    if (nplace)
        qsort(places, nplace, sizeof(*places), by_size);
    for (uint32_t i = 0; i < nplace; i++) {
        places[i].offset = lowest(places, i);
        int64_t end = places[i].offset + places[i].life->nbytes;
        shared->size = end > shared->size ? end : shared->size;
        if (!bt_map_put(&p->places, places[i].life->tensor, &places[i]) ||
            !bt_map_put(&p->gone, places[i].life->storage, shared))
            return bt_no_memory();
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

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct planner p = { .ctx = ctx, .arena = call->scratch };
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
