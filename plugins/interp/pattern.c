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
