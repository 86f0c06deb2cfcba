#include "plans.h"

#include <string.h>

struct npu_planned {
    struct npu_planned *next;
    bt_arena *arena;
    struct npu_layer layer;
    struct npu_plan plan;
    uint32_t code;   /* of the error; 0: there is a plan */
    const char *why; /* its text */
};

void npu_plans_init(struct npu_plans *p, bt_registry *registry)
{
    *p = (struct npu_plans){ .registry = registry };
    pthread_mutex_init(&p->lock, NULL);
}

void npu_plans_deinit(struct npu_plans *p)
{
    for (struct npu_planned *next = p->first; next;) {
        bt_arena *arena = next->arena;
        next = next->next;
        bt_arena_destroy(arena);
    }
    pthread_mutex_destroy(&p->lock);
}

static const struct npu_planned *find(const struct npu_plans *p,
                                      const struct npu_layer *l)
{
    const struct npu_planned *found = p->first;
    while (found && memcmp(&found->layer, l, sizeof(*l)) != 0)
        found = found->next;
    return found;
}

/* An error that will be the same next time is kept, too. */
static bt_status plan(bt_ctx *ctx, const struct npu_config *config,
                      struct npu_planned *new)
{
    bt_status status = npu_plan(ctx, new->arena, config, &new->layer, &new->plan);
    if (!status)
        return NULL;
    if (status->code != BT_ERR_UNSUPPORTED && status->code != BT_ERR_LIMIT)
        return status;
    new->code = status->code;
    new->why = bt_arena_text(new->arena, status->message, strlen(status->message));
    return new->why ? NULL : bt_no_memory();
}

static bt_status make(bt_ctx *ctx, struct npu_plans *p, const struct npu_config *config,
                      const struct npu_layer *layer, const struct npu_planned **out)
{
    bt_arena *arena = bt_arena_create(p->registry);
    struct npu_planned *new = arena ? BT_NEW(arena, struct npu_planned) : NULL;
    if (!new) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    new->arena = arena;
    memcpy(&new->layer, layer, sizeof(*layer));
    bt_status status = plan(ctx, config, new);
    if (status) {
        bt_arena_destroy(arena);
        return status;
    }
    new->next = p->first;
    p->first = new;
    *out = new;
    return NULL;
}

bt_status npu_plans_get(bt_ctx *ctx, struct npu_plans *p, const struct npu_config *config,
                        const struct npu_layer *layer, const struct npu_plan **out)
{
    pthread_mutex_lock(&p->lock);
    const struct npu_planned *found = find(p, layer);
    bt_status status = found ? NULL : make(ctx, p, config, layer, &found);
    pthread_mutex_unlock(&p->lock);
    BT_TRY(status);
    if (found->code)
        return bt_fail(ctx, found->code, "%s", found->why);
    *out = &found->plan;
    return NULL;
}
