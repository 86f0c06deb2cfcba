/*
 * Plans of layers that an instance has made, so that asking whether it takes a function, what it
 * costs and how it is computed is one search for tiles.
 */
#ifndef NPU_PLANS_H
#define NPU_PLANS_H

#include <pthread.h>

#include "layer.h"

struct npu_plans {
    bt_registry *registry;
    pthread_mutex_t lock;
    struct npu_planned *first;
};

void npu_plans_init(struct npu_plans *, bt_registry *);
void npu_plans_deinit(struct npu_plans *);
/* As npu_plan. What is given stays as long as the plans.
 * errors  those of npu_plan, again for the same layer */
bt_status npu_plans_get(bt_ctx *, struct npu_plans *, const struct npu_config *,
                        const struct npu_layer *,
                        const struct npu_plan **out) BT_MUST_USE;

#endif
