#include "common/retype.h"

bt_status retype_list(const struct retype *r, uint32_t n, const bt_type *const *types,
                      const bt_type ***out, int *same)
{
    *out = BT_NEWS(r->arena, const bt_type *, n);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        BT_TRY(r->map(r->state, types[i], &(*out)[i]));
        *same &= (*out)[i] == types[i];
    }
    return NULL;
}

bt_status retype_parts(const struct retype *r, const bt_type *type, const bt_type **out)
{
    const bt_list_type *list = bt_as_list_type(type);
    const bt_type **at;
    int same = 1;
    *out = type;
    if (!list || (type->kind != BT_TYPE_TUPLE && type->kind != BT_TYPE_REF &&
                  type->kind != BT_TYPE_APPLY))
        return NULL;
    BT_TRY(retype_list(r, list->n, list->at, &at, &same));
    if (same)
        return NULL;
    if (type->kind == BT_TYPE_TUPLE)
        *out = bt_type_tuple(r->store, list->n, at);
    else if (type->kind == BT_TYPE_REF)
        *out = bt_type_ref(r->store, at[0]);
    else
        *out = bt_type_apply(r->store, ((const bt_adt_type *)(const void *)at[0])->def,
                             list->n - 1, at + 1);
    return *out ? NULL : bt_store_why(r->ctx, r->store);
}

/* What looks for functions in the fields of a data type. */
struct search {
    struct retype r;
    bt_map seen;
    const char *pass;
    bt_span span;
};

static bt_status refuse_function(void *state, const bt_type *type, const bt_type **out)
{
    struct search *s = state;
    *out = type;
    if (type->kind == BT_TYPE_FUNC)
        return bt_fail_at(s->r.ctx, BT_ERR_UNSUPPORTED, s->r.store, s->span,
                          "%s: a data type has a field of function type that is no "
                          "parameter of it",
                          s->pass);
    if (bt_map_find(&s->seen, type))
        return NULL;
    if (!bt_map_put(&s->seen, type, s))
        return bt_no_memory();
    return retype_parts(&s->r, type, out);
}

bt_status retype_check_data(bt_ctx *ctx, bt_arena *arena, const bt_module *module,
                            const char *pass)
{
    struct search s = { .r = { ctx, arena, module->store, refuse_function, &s },
                        .pass = pass };
    bt_map_init(&s.seen, arena, 0);
    for (uint32_t i = 0; i < module->nadt; i++) {
        const bt_adt_def *adt = module->adts[i];
        s.span = adt->span;
        for (uint32_t k = 0; k < adt->nctor; k++) {
            const bt_type **same;
            int is_same = 1;
            BT_TRY(retype_list(&s.r, adt->ctors[k]->nfield, adt->ctors[k]->fields, &same,
                               &is_same));
        }
    }
    return NULL;
}
