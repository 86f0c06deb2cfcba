/*
 * Heaps: the references of a session, and the collection of cycles.
 *
 * Reference counts free everything but cycles, and these pass through references. A
 * collection keeps a reference that
 *     - is reachable from the roots that the caller names, or
 *     - is reachable from an object that someone holds besides the suspects themselves:
 * its count is above the number of edges that lead to it from what only suspects reach.
 * So a value that the application kept is never emptied, whether it was named or not.
 * What is left is emptied, and the counts do the rest.
 */
#include "value/object.h"

#include "base/ctx.h"

struct bt_heap {
    bt_registry *registry;
    bt_ref *first;
    uint64_t nref;
};

bt_heap *bt_heap_create(bt_registry *r)
{
    bt_heap *heap = bt_alloc(r, sizeof(*heap));
    if (heap)
        heap->registry = bt_registry_ref(r);
    return heap;
}

uint64_t bt_heap_nref(const bt_heap *heap)
{
    return heap->nref;
}

/* ---- references ---- */

bt_status bt_ref_create(bt_ctx *ctx, bt_heap *heap, bt_object *content, bt_ref **out)
{
    bt_ref *ref = bt__container_alloc(ctx, BT_OBJECT_REF, sizeof(*ref));
    if (!ref)
        return bt_no_memory();
    ref->content = content ? bt_object_ref(content) : NULL;
    ref->heap = heap;
    ref->next = heap->first;
    if (heap->first)
        heap->first->prev = ref;
    heap->first = ref;
    heap->nref++;
    *out = ref;
    return NULL;
}

void bt__ref_unlink(bt_ref *ref)
{
    if (!ref->heap)
        return;
    if (ref->prev)
        ref->prev->next = ref->next;
    else
        ref->heap->first = ref->next;
    if (ref->next)
        ref->next->prev = ref->prev;
    ref->heap->nref--;
    ref->heap = NULL;
    ref->prev = ref->next = NULL;
}

void bt_ref_write(bt_ref *ref, bt_object *content)
{
    bt_object *old = ref->content;
    ref->content = content ? bt_object_ref(content) : NULL;
    bt_object_unref(old);
}

void bt_heap_destroy(bt_heap *heap)
{
    if (!heap)
        return;
    while (heap->first) {
        bt_ref *ref = heap->first;
        bt_object_ref(&ref->base);
        bt__ref_unlink(ref);
        bt_ref_write(ref, NULL);
        bt_object_unref(&ref->base);
    }
    bt_registry *r = heap->registry;
    bt_free(r, heap, sizeof(*heap));
    bt_registry_unref(r);
}

/* ---- collection ---- */

/* One collection. References of other heaps are left alone: what they hold has a count
 * above the edges seen here, and lives. */
struct collection {
    const bt_heap *heap;
    bt_arena *scratch;
    bt_map live;  /* containers that were found reachable, references by their mark */
    bt_map edges; /* from a suspect or what it reaches: object -> edges to it */
    bt_vec(bt_object *) todo;
};

static int is_traced(const struct collection *c, const bt_object *o)
{
    return o && o->kind != BT_OBJECT_TENSOR &&
           (o->kind != BT_OBJECT_REF || bt_object_as_ref(o)->heap == c->heap);
}

/* 1, or 0 without memory. */
static int mark(struct collection *c, bt_object *o)
{
    bt_ref *ref = bt_object_as_ref(o);
    if (!is_traced(c, o) || (ref ? ref->mark != 0 : bt_map_find(&c->live, o) != NULL))
        return 1;
    if (ref)
        ref->mark = 1;
    return (ref || bt_map_put(&c->live, o, o)) && BT_PUSH(c->scratch, &c->todo, o);
}

static int mark_reachable(struct collection *c, bt_object *root)
{
    if (!mark(c, root))
        return 0;
    while (c->todo.len) {
        bt__fields fields = bt__object_fields(c->todo.at[--c->todo.len]);
        for (uint32_t i = 0; i < fields.len; i++) {
            if (!mark(c, fields.at[i]))
                return 0;
        }
    }
    return 1;
}

/* Counts one edge to `o` and comes back to what it holds the first time. */
static int count_edge(struct collection *c, bt_object *o, uintptr_t nedge)
{
    bt_ref *ref = bt_object_as_ref(o);
    if (!is_traced(c, o) || (ref && ref->mark))
        return 1;
    bt_map_entry *seen = bt_map_entry_find(&c->edges, o);
    if (seen) {
        seen->value = (void *)((uintptr_t)seen->value + nedge);
        return 1;
    }
    return bt_map_put(&c->edges, o, (void *)nedge) && BT_PUSH(c->scratch, &c->todo, o);
}

static int count_edges(struct collection *c)
{
    for (bt_ref *ref = c->heap->first; ref; ref = ref->next) {
        if (!count_edge(c, &ref->base, 0))
            return 0;
        while (c->todo.len) {
            bt__fields fields = bt__object_fields(c->todo.at[--c->todo.len]);
            for (uint32_t i = 0; i < fields.len; i++) {
                if (!count_edge(c, fields.at[i], 1))
                    return 0;
            }
        }
    }
    return 1;
}

static int mark_held(struct collection *c)
{
    for (uint32_t i = 0; i < c->edges.len; i++) {
        const bt_map_entry *e = &c->edges.at[i];
        union {
            const void *key;
            bt_object *object;
        } held = { .key = e->key };
        uint32_t nref = __atomic_load_n(&held.object->nref, __ATOMIC_ACQUIRE);
        if (nref > (uintptr_t)e->value && !mark_reachable(c, held.object))
            return 0;
    }
    return 1;
}

static int mark_live(struct collection *c, uint32_t nroot, bt_object *const *roots)
{
    for (bt_ref *ref = c->heap->first; ref; ref = ref->next)
        ref->mark = 0;
    for (uint32_t i = 0; i < nroot; i++) {
        if (!mark_reachable(c, roots[i]))
            return 0;
    }
    return count_edges(c) && mark_held(c);
}

/* Frees what is not marked. Each is held until all are empty, so that no node of the
 * list is freed while it is walked. */
static void empty_unmarked(bt_heap *heap)
{
    bt_ref *dead = NULL, *next;
    for (bt_ref *ref = heap->first; ref; ref = next) {
        next = ref->next;
        if (ref->mark)
            continue;
        bt_object_ref(&ref->base);
        bt__ref_unlink(ref);
        ref->next = dead;
        dead = ref;
    }
    for (bt_ref *ref = dead; ref; ref = ref->next)
        bt_ref_write(ref, NULL);
    for (; dead; dead = next) {
        next = dead->next;
        dead->next = NULL;
        bt_object_unref(&dead->base);
    }
}

bt_status bt_heap_collect(bt_ctx *ctx, bt_heap *heap, uint32_t nroot,
                          bt_object *const *roots)
{
    struct collection c = { .heap = heap, .scratch = ctx->scratch };
    const void *before = bt_arena_mark(ctx->scratch);
    bt_map_init(&c.live, ctx->scratch, 0);
    bt_map_init(&c.edges, ctx->scratch, 0);
    int marked = mark_live(&c, nroot, roots);
    if (marked)
        empty_unmarked(heap);
    bt_arena_release(ctx->scratch, before);
    return marked ? NULL : bt_no_memory();
}
