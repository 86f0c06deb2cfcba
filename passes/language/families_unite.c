/* One family for types of functions that differ by dims alone, where one of them has open
 * dims: its data type has a parameter for each dim in which they differ. */
#include "language/families.h"
#include "language/families_dims.h"

static bt_status unite(struct defun *d, struct dims_group *g)
{
    const struct dims_map m = families_map(d);
    struct family *family = g->made = BT_NEW(d->arena, struct family);
    if (!family)
        return bt_no_memory();
    bt_map_init(&family->by_name, d->arena, 1);
    BT_TRY(dims_unify(&m, g->types.len, g->types.at, &family->dims));
    family->type = bt_as_func_type(family->dims.type);
    for (uint32_t i = 0; i < g->types.len; i++) {
        const struct family *one = bt_map_find(&d->families, g->types.at[i]);
        for (uint32_t k = 0; k < one->makers.len; k++) {
            struct maker *maker = one->makers.at[k];
            if (bt_map_find(&family->by_name, maker->global))
                continue;
            if (!bt_map_put(&family->by_name, maker->global, maker) ||
                !BT_PUSH(d->arena, &family->makers, maker))
                return bt_no_memory();
        }
    }
    return NULL;
}

bt_status families_unite(struct defun *d)
{
    const struct dims_map m = families_map(d);
    bt_map groups;
    struct dims_group **of = BT_NEWS(d->arena, struct dims_group *, d->families.len);
    if (!of)
        return bt_no_memory();
    bt_map_init(&groups, d->arena, 0);
    for (uint32_t i = 0; i < d->families.len; i++)
        BT_TRY(dims_group_add(&m, &groups, d->families.at[i].key, &of[i]));
    for (uint32_t i = 0; i < d->families.len; i++) {
        struct family *family = d->families.at[i].value;
        if (of[i]->is_open && of[i]->made) {
            d->families.at[i].value = of[i]->made;
            continue;
        }
        if (of[i]->is_open) {
            BT_TRY(unite(d, of[i]));
            d->families.at[i].value = family = of[i]->made;
            if (!bt_map_put(&d->united, of[i]->key, family))
                return bt_no_memory();
        }
        if (!BT_PUSH(d->arena, &d->all, family))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < d->all.len; i++) {
        for (uint32_t k = 0; k < d->all.at[i]->makers.len; k++)
            BT_TRY(families_fields(d, d->all.at[i], d->all.at[i]->makers.at[k]));
    }
    return NULL;
}

bt_status families_dims(struct defun *d, const struct family *family, const bt_type *type,
                        const bt_type *const **out)
{
    const struct dims_map m = families_map(d);
    return dims_arguments(&m, &family->dims, type, out);
}
