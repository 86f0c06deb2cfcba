/* Which concatenations are better left to be laid out than computed. */
#include "fusion/fuse_laid.h"

/* Of so many fields each strip of the result would choose one, which takes longer than a kernel for each
 * that has so many bytes. */
enum { MANY = 8, LARGE_NBYTES = 4096 };

/* Whether a field lies in one piece in the whole: what is before the axis along which it is shorter is 1. */
static int is_in_one_piece(const bt_shape_type *whole, const bt_shape_type *field)
{
    int64_t n, of;
    int is = field && field->n == whole->n;
    for (uint32_t i = 0; is && i < whole->n; i++) {
        is = bt_dim_is_const(whole->dims[i], &n) && bt_dim_is_const(field->dims[i], &of);
        if (is && n != of)
            return 1;
        is = is && n == 1;
    }
    return 0;
}

/* The only operand of a call that moves elements, a tuple of which it has all; else NULL. */
static const bt_tuple_value *fields_of(const struct fuse_node *node)
{
    const bt_call *call = bt_as_call(node->value);
    const bt_tuple_value *tuple =
        call && call->narg == 1 ? bt_as_tuple(call->args[0]) : NULL;
    const bt_shape_type *shape = bt_tensor_shape(node->value->type);
    int64_t nbytes = 0;
    if (!tuple || !shape || node->kind != BT_FUSE_INJECTIVE ||
        bt_type_layout(node->value->type))
        return NULL;
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        if (!is_in_one_piece(shape, bt_tensor_shape(tuple->fields[i]->type)))
            return NULL;
        nbytes += bt_type_nbytes(tuple->fields[i]->type);
    }
    return nbytes > 0 && nbytes == bt_type_nbytes(node->value->type) ? tuple : NULL;
}

/* Whether a value is for the fields alone, so that it could be computed where they are put together. */
static int is_for(const struct fuse_block *b, const struct fuse_node *part,
                  const bt_tuple_value *fields)
{
    for (uint32_t i = 0; i < part->users.len; i++) {
        if (b->nodes[part->users.at[i]].value != &fields->base)
            return 0;
    }
    return part->users.len && !fuse_escapes(part) && part->kind <= BT_FUSE_INJECTIVE;
}

int fuse_is_laid(const struct fuse_block *b, uint32_t node)
{
    const bt_tuple_value *fields = fields_of(&b->nodes[node]);
    int64_t nbytes = 0;
    for (uint32_t i = 0; fields && i < node; i++)
        nbytes +=
            is_for(b, &b->nodes[i], fields) ? bt_type_nbytes(b->nodes[i].value->type) : 0;
    const int64_t all = fields ? bt_type_nbytes(b->nodes[node].value->type) : 0;
    return 2 * nbytes < all ||
           (fields && fields->nfield > MANY && all / fields->nfield >= LARGE_NBYTES);
}
