/* What is said of a match that finds no clause. */
#include "misfit.h"

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

static void print_clauses(const bt_match *match, bt_text *out)
{
    bt_text_addf(out, match->nclause ? "; its clauses are " : "; it has no clauses");
    for (uint32_t i = 0; i < match->nclause && i < MAX_SHOWN; i++) {
        bt_text_addf(out, i ? ", " : "");
        print_pattern(match->clauses[i]->pattern, out);
    }
    if (match->nclause > MAX_SHOWN)
        bt_text_addf(out, " and %u more", match->nclause - MAX_SHOWN);
}

static const char *const begin = "no clause of this match fits the value ";

void misfit_text(const bt_match *match, const bt_object *data, bt_text *out)
{
    bt_text_addf(out, "%s", begin);
    print_shape(data, MAX_DEPTH, out);
    print_clauses(match, out);
}

void misfit_ctor_text(const bt_match *match, const bt_ctor *ctor, bt_text *out)
{
    bt_text_addf(out, "%s%s", begin, ctor->name);
    for (uint32_t i = 0; i < ctor->nfield && out->len < MAX_LENGTH; i++)
        bt_text_addf(out, i ? ", _" : "(_");
    bt_text_addf(out, ctor->nfield ? ")" : "");
    print_clauses(match, out);
}
