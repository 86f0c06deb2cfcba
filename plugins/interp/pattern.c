#include "pattern.h"

/* Patterns nest no deeper than the text or builder that made them, which is limited. */
int pattern_matches(const bt_pattern *pattern, bt_object *object, bt_object **bound,
                    uint32_t *next)
{
    bt_object *const *fields = NULL;
    uint32_t nfield = 0;
    if (pattern->kind == BT_PATTERN_WILDCARD)
        return 1;
    if (pattern->kind == BT_PATTERN_VAR) {
        bound[(*next)++] = object;
        return 1;
    }
    if (pattern->kind == BT_PATTERN_CTOR) {
        const bt_adt *adt = bt_object_as_adt(object);
        if (!adt || adt->tag != pattern->ctor->tag)
            return 0;
        fields = adt->fields;
        nfield = adt->nfield;
    } else {
        const bt_tuple *tuple = bt_object_as_tuple(object);
        if (!tuple)
            return 0;
        fields = tuple->fields;
        nfield = tuple->nfield;
    }
    for (uint32_t i = 0; i < pattern->n && i < nfield; i++) {
        if (!pattern_matches(pattern->at[i], fields[i], bound, next))
            return 0;
    }
    return nfield == pattern->n;
}

/* ---- what does not fit ---- */

enum { MAX_SHOWN = 8, MAX_LENGTH = 400, MAX_DEPTH = 3 };

static void print_pattern(const bt_pattern *pattern, bt_text *out)
{
    if (pattern->kind == BT_PATTERN_VAR && pattern->var->base.name)
        bt_text_addf(out, "%%%s", pattern->var->base.name);
    else if (pattern->kind == BT_PATTERN_CTOR)
        bt_text_addf(out, "%s", pattern->ctor->name);
    else if (pattern->kind != BT_PATTERN_TUPLE)
        bt_text_addf(out, "_");
    if (!pattern->n)
        return;
    for (uint32_t i = 0; i < pattern->n && out->len < MAX_LENGTH; i++) {
        bt_text_addf(out, i ? ", " : "(");
        print_pattern(pattern->at[i], out);
    }
    bt_text_addf(out, ")");
}

/* Constructors, some levels deep; what else it holds is `_`. */
static void print_shape(const bt_object *object, uint32_t depth, bt_text *out)
{
    const bt_adt *adt = bt_object_as_adt(object);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    uint32_t nfield = adt ? adt->nfield : tuple ? tuple->nfield : 0;
    bt_object *const *fields = adt ? adt->fields : tuple ? tuple->fields : NULL;
    bt_text_addf(out, "%s", adt ? adt->name : tuple ? "" : "_");
    if (!nfield)
        return;
    for (uint32_t i = 0; i < nfield && out->len < MAX_LENGTH; i++) {
        bt_text_addf(out, i ? ", " : "(");
        if (depth)
            print_shape(fields[i], depth - 1, out);
        else
            bt_text_addf(out, "_");
    }
    bt_text_addf(out, ")");
}

void pattern_misfit(const bt_match *match, const bt_object *data, bt_text *out)
{
    bt_text_addf(out, "no clause of this match fits the value ");
    print_shape(data, MAX_DEPTH, out);
    bt_text_addf(out, match->nclause ? "; its clauses are " : "; it has no clauses");
    for (uint32_t i = 0; i < match->nclause && i < MAX_SHOWN; i++) {
        bt_text_addf(out, i ? ", " : "");
        print_pattern(match->clauses[i]->pattern, out);
    }
    if (match->nclause > MAX_SHOWN)
        bt_text_addf(out, " and %u more", match->nclause - MAX_SHOWN);
}
