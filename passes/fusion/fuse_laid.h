/*
 * What puts tensors one after the other in memory:
 *
 *     a = ..  b = ..  c = exp(..)      a, b and c are laid where they are in the result (plan-memory), and
 *         \   |   /                   the concatenation has nothing left to do. With exp computed in it,
 *        concatenate                  it would copy a and b.
 *
 * So it takes in what it is made of only where that is half of it or more, and not many large ones.
 */
#ifndef PASSES_FUSION_FUSE_LAID_H
#define PASSES_FUSION_FUSE_LAID_H

#include "fusion/fuse_groups.h"

/* Whether a node puts tensors one after the other, most of which it could not compute itself. */
int fuse_is_laid(const struct fuse_block *, uint32_t node);

#endif
