/* Groups that are to become one, though more than one value leaves them. */
#ifndef PASSES_FUSION_FUSE_UNION_H
#define PASSES_FUSION_FUSE_UNION_H

#include "fusion/fuse_groups.h"

struct fuse_union {
    bt_vec(uint32_t) leaders;
    uint32_t last; /* node: where it will be computed */
    uint32_t nop;
};

void fuse_union_clear(struct fuse_union *);
bt_status fuse_union_add(struct fuse_block *, struct fuse_union *, uint32_t leader);
int fuse_union_has(const struct fuse_union *, uint32_t leader);
/* Whether all its nodes may, and there are few enough. */
int fuse_union_is_allowed(const struct fuse_block *, const struct fuse_union *);
void fuse_union_join(struct fuse_block *, const struct fuse_union *);

#endif
