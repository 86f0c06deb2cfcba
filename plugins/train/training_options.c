/* Options of a training that no program could be made of. */
#include "training.h"

#include <math.h>

static bt_status refuse(const struct bt_training *t, const char *field,
                        const char *wanted)
{
    return bt_fail(t->ctx, BT_ERR_ARGUMENT, "%s of a training is to be %s", field,
                   wanted);
}

bt_status training_options_check(const struct bt_training *t)
{
    static const char FROM_0[] = "0 or more";
    const bt_training_options *o = &t->options;
    const struct {
        const char *field;
        int is_right;
        const char *wanted;
    } rows[] = {
        { "clip", o->clip >= 0, FROM_0 },
        { "loss_scale", o->loss_scale >= 0 && isfinite((float)o->loss_scale),
          "0 or more, and finite" },
        { "scale_steps", o->scale_steps >= 0, FROM_0 },
        { "nstep", o->nstep >= 0, FROM_0 },
        { "checkpoint_memory", o->checkpoint_memory >= 0, FROM_0 },
        { "folder", !o->folder || *o->folder, "NULL or a path, and not empty" },
        { "label_rank", o->label_rank <= BT_MAX_RANK, "at most that of a tensor" },
        { "label_dims", !o->label_rank || o->label_dims, "as many as label_rank says" },
    };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        if (!rows[i].is_right)
            return refuse(t, rows[i].field, rows[i].wanted);
    }
    for (uint32_t i = 0; i < o->label_rank; i++) {
        if (o->label_dims[i] < 0)
            return refuse(t, "each of label_dims", FROM_0);
    }
    return NULL;
}
