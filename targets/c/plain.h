/* Operators with a facet "plain" (<baton/plain.h>) in generated C. */
#ifndef C_PLAIN_H
#define C_PLAIN_H

#include <baton/op.h>
#include <baton/plain.h>

#include "functions.h"

struct c_plain {
    const bt_plain_facet *facet;
    const int64_t *attrs; /* BT_PLAIN_ATTRS of them */
};

/* facet stays NULL where the operator has none. */
bt_status c_plain_find(bt_ctx *, bt_arena *, const bt_call *,
                       struct c_plain *out) BT_MUST_USE;
/* "    const int64_t attrs[] = { ... };" */
void c_plain_attrs(const struct c_plain *, bt_text *out);

/* The functions of several facets, whose blocks may be the same ones. */
struct c_plain_texts {
    bt_arena *arena;
    bt_vec(struct c_functions) of;
};
/* 0: no memory. */
int c_plain_use(struct c_plain_texts *, const bt_plain_facet *);
/* What they call of c_function_blocks is used, and stands before them. */
void c_plain_use_in(struct c_plain_texts *, struct c_functions *);
void c_plain_write(struct c_plain_texts *, bt_text *out);

/* A primitive function that is one call of such an operator. */
struct c_plain_kernel {
    struct c_plain plain;
    const bt_func *primitive;
};
/* *out stays NULL where it is none. */
bt_status c_plain_lower(bt_ctx *, bt_arena *, const bt_func *,
                        struct c_plain_kernel **out,
                        const bt_type **workspace) BT_MUST_USE;
/* The kernel's function; its dims call c_dim_functions. */
bt_status c_plain_kernel_add(bt_ctx *, bt_arena *, const struct c_plain_kernel *,
                             const char *symbol, bt_text *out) BT_MUST_USE;

#endif
