/*
 * Products that are read in parts, with what is computed of these:
 *
 *          dense                a small result, of which nothing but parts is read. Each
 *        /   |   \              part goes into a group that computes with it; these and
 *      [0:n] [n:2n] [2n:3n]     the product become one, so that a step of a recurrent
 *        \  /      |           layer is one function. What it gives may be several
 *         c' ----> h'           values, such as gates that the way back of the step reads.
 *
 * A group is computed where its last node stands: nothing that stands before may use what
 * leaves it. Such a product, and any small one, also takes in what picks elements for it at a
 * place that the program computes or that is an integer, as the step of an input.
 */
#ifndef PASSES_FUSION_FUSE_PARTS_H
#define PASSES_FUSION_FUSE_PARTS_H

#include "fusion/fuse_groups.h"

typedef bt_vec(const bt_value *) fuse_values;

bt_status fuse_parts(struct fuse_block *);
/* Adds the constants that a node picks elements at for such a product. */
bt_status fuse_places(const struct fuse_block *, uint32_t node, fuse_values *out);

#endif
