#include "unmatched.h"

#include "clause_matrix.h"
#include "misfit.h"

struct walk {
    struct clauses clauses;
    bt_map objects; /* of parts */
};

static bt_status put_fields(struct walk *w, uint32_t first)
{
    for (uint32_t i = first; i < w->clauses.seen.len; i++) {
        const struct part_seen *seen = &w->clauses.seen.at[i];
        const bt_object *object = bt_map_find(&w->objects, seen->part);
        const bt_adt *adt = bt_object_as_adt(object);
        const bt_tuple *tuple = bt_object_as_tuple(object);
        bt_object *const *fields = adt ? adt->fields : tuple ? tuple->fields : NULL;
        const uint32_t nfield = adt ? adt->nfield : tuple ? tuple->nfield : 0;
        for (uint32_t k = 0; k < nfield && k < seen->nfield; k++) {
            if (seen->fields[k] && !bt_map_put(&w->objects, seen->fields[k], fields[k]))
                return bt_no_memory();
        }
    }
    return NULL;
}

/* The constructor that made the value, where a row looks for it. */
static const bt_ctor *find_ctor(const struct clause_matrix *m, uint32_t column,
                                const bt_adt *adt)
{
    for (uint32_t i = 0; i < m->nrow; i++) {
        const bt_pattern *cell = m->rows[i].cells[column];
        if (cell && cell->ctor && cell->ctor->tag == adt->tag &&
            cell->ctor->nfield == adt->nfield)
            return cell->ctor;
    }
    return NULL;
}

/* The part after which no clause is left. */
static bt_status find_last(struct walk *w, const struct part **last)
{
    struct clause_matrix now, next;
    BT_TRY(clauses_begin(&w->clauses, &now));
    *last = w->clauses.whole;
    for (; now.nrow; now = next) {
        struct part **fields;
        uint32_t column, first = w->clauses.seen.len;
        BT_TRY(clauses_choose(&w->clauses, &now, NULL, &column));
        BT_TRY(put_fields(w, first));
        if (column == now.ncol)
            return bt_fail(w->clauses.ctx, BT_ERR_INTERNAL,
                           "the value of a match is not of its type");
        *last = now.columns[column];
        const bt_adt *adt = bt_object_as_adt(bt_map_find(&w->objects, *last));
        const bt_ctor *ctor = adt ? find_ctor(&now, column, adt) : NULL;
        first = w->clauses.seen.len;
        BT_TRY(clauses_specialise(&w->clauses, &now, column, ctor, &fields, &next));
        BT_TRY(put_fields(w, first));
    }
    return NULL;
}

bt_status unmatched_text(bt_ctx *ctx, const bt_store *store, const bt_match *match,
                         bt_object *data, bt_text *out)
{
    struct part whole = { 0 };
    struct walk w = { .clauses = { .ctx = ctx,
                                   .store = store,
                                   .arena = bt_ctx_scratch(ctx),
                                   .match = match,
                                   .whole = &whole } };
    const struct part *last;
    bt_text otherwise;
    bt_map_init(&w.objects, w.clauses.arena, 0);
    bt_text_init(&otherwise, w.clauses.arena);
    if (!bt_map_put(&w.objects, &whole, data))
        return bt_no_memory();
    BT_TRY(find_last(&w, &last));
    BT_TRY(clauses_otherwise(&w.clauses, last, &otherwise));
    const bt_adt *adt = bt_object_as_adt(bt_map_find(&w.objects, last));
    misfit_text(otherwise.at, adt ? adt->name : "_", adt ? adt->nfield : 0, out);
    return bt_text_get(out) ? NULL : bt_no_memory();
}
