#include "target_beside.h"

#include <string.h>

#include "tool.h"

bt_status target_beside_open(bt_ctx *ctx, const bt_target_use *use,
                             struct target_beside *out)
{
    bt_provided item;
    *out = (struct target_beside){ .both = { .nref = 1, .n = 1, .at = out->at },
                                   .at = { use } };
    if (strcmp(use->target->name, "reference") == 0 ||
        !find_provided(ctx, "target", "reference", &item))
        return NULL;
    BT_TRY(bt_targets_open(ctx, "reference", &out->reference));
    out->at[out->both.n++] = out->reference->at[0];
    return NULL;
}

void target_beside_close(struct target_beside *b)
{
    bt_targets_unref(b->reference);
}
