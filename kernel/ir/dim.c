/* Dims: numbers, opaque dims, sums and products. */
#include "ir/dim.h"

#include <string.h>

const bt_type *bt_dim(bt_store *store, int64_t number)
{
    bt__dim_linear key = { .linear = { .base.kind = BT_TYPE_LINEAR,
                                       .constant = number } };
    return bt__type_intern(store, &key.linear.base);
}

const bt_type *bt_dim_opaque(bt_store *store, const char *name)
{
    bt_opaque_type key = { .base.kind = BT_TYPE_OPAQUE, .number = store->nopaque };
    if (name && !(key.name = bt_name_of(store, name)))
        return bt__refuse(store, NULL);
    const bt_type *opaque = bt__type_fresh(store, &key.base);
    store->nopaque += opaque != NULL;
    return opaque;
}

int bt_dim_is_const(const bt_type *dim, int64_t *out)
{
    const bt_linear_type *linear = (const bt_linear_type *)(const void *)dim;
    if (dim->kind != BT_TYPE_LINEAR || linear->n)
        return 0;
    *out = linear->constant;
    return 1;
}

int bt__dim_is_wildcard(const bt_type *dim)
{
    return dim->kind == BT_TYPE_HOLE &&
           ((const bt_hole_type *)(const void *)dim)->number == 0;
}

int bt__dims_expect(bt_store *store, const bt_type *a, const bt_type *b)
{
    return bt__type_expect(store, a, BT_KIND_DIM) &&
           bt__type_expect(store, b, BT_KIND_DIM);
}

const bt_type *bt__dim_absorb(const bt_type *a, const bt_type *b)
{
    return bt__dim_is_wildcard(a) ? a : bt__dim_is_wildcard(b) ? b : NULL;
}

/* ---- sums ---- */

/* a * x + b * y + constant. */
static const bt_type *combine(bt_store *store, const bt_type *x, int64_t a,
                              const bt_type *y, int64_t b, int64_t constant)
{
    if (!bt__dims_expect(store, x, y))
        return NULL;
    if (bt__dim_absorb(x, y))
        return bt__dim_absorb(x, y);
    bt__sum sum;
    bt__sum_init(&sum, constant);
    bt__sum_add(&sum, x, a);
    bt__sum_add(&sum, y, b);
    return bt__sum_dim(store, &sum);
}

const bt_type *bt_dim_add(bt_store *store, const bt_type *a, const bt_type *b)
{
    return combine(store, a, 1, b, 1, 0);
}

const bt_type *bt_dim_sub(bt_store *store, const bt_type *a, const bt_type *b)
{
    return combine(store, a, 1, b, -1, 0);
}

const bt_type *bt_dim_scale(bt_store *store, const bt_type *dim, int64_t coefficient,
                            int64_t add)
{
    return combine(store, dim, coefficient, dim, 0, add);
}

/* ---- products ---- */

const bt_type *bt__dim_atom(bt_store *store, uint32_t kind, uint32_t n,
                            const bt_type *const *args)
{
    bt__dim_list key = { .list = { .base.kind = kind, .n = n, .at = args } };
    return bt__type_intern(store, &key.list.base);
}

const bt_list_type *bt__dim_args(const bt_type *dim, uint32_t kind)
{
    return dim->kind == kind ? (const bt_list_type *)(const void *)dim : NULL;
}

uint32_t bt__atom_factors(const bt_type *atom, const bt_type **single,
                          const bt_type *const **out)
{
    const bt_list_type *product = bt__dim_args(atom, BT_TYPE_PRODUCT);
    *single = atom;
    *out = product ? product->at : single;
    return product ? product->n : 1;
}

const bt_type *bt__atom_product(bt_store *store, const bt_type *left,
                                const bt_type *right)
{
    const bt_type *one[2], *const *a, *const *b, *factors[BT__DIM_ARGS];
    uint32_t na = bt__atom_factors(left, &one[0], &a);
    uint32_t nb = bt__atom_factors(right, &one[1], &b);
    if (na + nb > BT__DIM_ARGS)
        return bt__refuse(store, "a dim has too many factors");
    for (uint32_t i = 0, j = 0; i + j < na + nb;) {
        int from_a = j == nb || (i < na && a[i]->id <= b[j]->id);
        factors[i + j] = from_a ? a[i] : b[j];
        i += from_a;
        j += !from_a;
    }
    return bt__dim_atom(store, BT_TYPE_PRODUCT, na + nb, factors);
}

/* Adds coefficient * atom * dim. 0: no memory, or refused. */
static int add_product(bt_store *store, bt__sum *sum, const bt_term *term,
                       const bt_type *dim)
{
    bt_dim_sum all;
    int64_t scaled;
    bt_dim_linear(dim, &all);
    for (uint32_t i = 0; i <= all.n; i++) {
        const bt_type *atom = term->atom;
        if (i < all.n && !(atom = bt__atom_product(store, atom, all.terms[i].atom)))
            return 0;
        if (!bt_mul_int64(term->coefficient,
                          i < all.n ? all.terms[i].coefficient : all.constant, &scaled)) {
            bt__refuse(store, "a dim overflows 64 bits");
            return 0;
        }
        bt__sum_add_atom(sum, atom, scaled);
        if (sum->refusal)
            return 1;
    }
    return 1;
}

const bt_type *bt_dim_mul(bt_store *store, const bt_type *a, const bt_type *b)
{
    bt_dim_sum all;
    int64_t number;
    bt__sum sum;
    if (!bt__dims_expect(store, a, b))
        return NULL;
    if (bt__dim_absorb(a, b))
        return bt__dim_absorb(a, b);
    if (bt_dim_is_const(a, &number))
        return bt_dim_scale(store, b, number, 0);
    if (bt_dim_is_const(b, &number))
        return bt_dim_scale(store, a, number, 0);
    bt_dim_linear(a, &all);
    bt__sum_init(&sum, 0);
    bt__sum_add(&sum, b, all.constant);
    for (uint32_t i = 0; i < all.n && !sum.refusal; i++) {
        if (!add_product(store, &sum, &all.terms[i], b))
            return NULL;
    }
    return bt__sum_dim(store, &sum);
}

const bt_type *bt_dim_product(bt_store *store, int64_t times, uint32_t n,
                              const bt_type *const *dims)
{
    const bt_type *product = bt_dim(store, times);
    for (uint32_t i = 0; product && i < n; i++)
        product = bt_dim_mul(store, product, dims[i]);
    return product;
}
