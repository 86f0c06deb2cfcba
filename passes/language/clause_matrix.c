#include "language/clause_matrix.h"

#include <string.h>

/* ---- rows ---- */

static struct part *new_part(struct clauses *c, const struct part *tuple, uint32_t index)
{
    struct part *part = BT_NEW(c->arena, struct part);
    if (part) {
        part->tuple = tuple;
        part->index = index;
    }
    return part;
}

static bt_status new_fields(struct clauses *c, const struct part *tuple, uint32_t n,
                            struct part ***out)
{
    *out = BT_NEWS(c->arena, struct part *, n);
    for (uint32_t i = 0; *out && i < n; i++) {
        if (!((*out)[i] = new_part(c, tuple, i)))
            return bt_no_memory();
    }
    return *out ? NULL : bt_no_memory();
}

/* Stands for the value, of which the row asks no more than to give it a name. */
static bt_status put_cell(struct clauses *c, struct clause_row *row, uint32_t column,
                          struct part *part, const bt_pattern *pattern)
{
    row->cells[column] = pattern && !bt_pattern_is_leaf(pattern) ? pattern : NULL;
    if (!pattern || pattern->kind != BT_PATTERN_VAR)
        return NULL;
    uintptr_t position = (uintptr_t)bt_map_find(&c->positions, pattern->var);
    if (!position)
        return bt_fail_at(c->ctx, BT_ERR_INTERNAL, c->store, pattern->span,
                          "a variable of a pattern is no parameter of its clause");
    row->vars[position - 1] = part;
    if (!part->is_bound)
        part->var = pattern->var;
    else if (part->var && part->var->base.type != pattern->var->base.type)
        part->var = NULL;
    part->is_bound = 1;
    if (!part->name)
        part->name = pattern->var->base.name;
    return NULL;
}

static bt_status new_matrix(struct clauses *c, uint32_t nrow, uint32_t ncol,
                            struct clause_matrix *out)
{
    *out = (struct clause_matrix){ .ncol = ncol };
    out->rows = BT_NEWS(c->arena, struct clause_row, nrow);
    out->columns = BT_NEWS(c->arena, struct part *, ncol);
    return out->rows && out->columns ? NULL : bt_no_memory();
}

static bt_status new_row(struct clauses *c, uint32_t clause, struct clause_matrix *m,
                         struct clause_row **out)
{
    uint32_t nvar = c->match->clauses[clause]->block->nparam;
    struct clause_row *row = *out = &m->rows[m->nrow++];
    row->clause = clause;
    row->cells = BT_NEWS(c->arena, const bt_pattern *, m->ncol);
    row->vars = BT_NEWS(c->arena, struct part *, nvar);
    return row->cells && row->vars ? NULL : bt_no_memory();
}

/* A row of the next matrix: `old` without its column, then the patterns of the parts. */
static bt_status add_row(struct clauses *c, struct clause_matrix *next,
                         const struct clause_row *old, uint32_t ncol, uint32_t column,
                         uint32_t nfield)
{
    const bt_pattern *pattern = old->cells[column];
    struct clause_row *row;
    BT_TRY(new_row(c, old->clause, next, &row));
    const uint32_t nvar = c->match->clauses[old->clause]->block->nparam;
    if (nvar)
        memcpy(row->vars, old->vars, nvar * sizeof(*row->vars));
    for (uint32_t i = 0, k = 0; i < ncol; i++) {
        if (i != column)
            row->cells[k++] = old->cells[i];
    }
    for (uint32_t i = 0; i < nfield; i++)
        BT_TRY(put_cell(c, row, ncol - 1 + i, next->columns[ncol - 1 + i],
                        pattern ? pattern->at[i] : NULL));
    return NULL;
}

/* Fields that no row looks at or names are not needed. */
static void drop_unused(const struct clause_matrix *next, uint32_t first, uint32_t nfield,
                        struct part **fields)
{
    for (uint32_t f = 0; f < nfield; f++) {
        int is_used = fields[f]->is_bound;
        for (uint32_t i = 0; i < next->nrow; i++)
            is_used |= next->rows[i].cells[first + f] != NULL;
        if (!is_used)
            fields[f] = NULL;
    }
}

/* ctor NULL and nfield 0: by one that no row names; with nfield: it is a tuple. */
static bt_status replace_column(struct clauses *c, const struct clause_matrix *m,
                                uint32_t column, const bt_ctor *ctor, uint32_t nfield,
                                struct part **fields, struct clause_matrix *next)
{
    BT_TRY(new_matrix(c, m->nrow, m->ncol - 1 + nfield, next));
    for (uint32_t i = 0, k = 0; i < m->ncol; i++) {
        if (i != column)
            next->columns[k++] = m->columns[i];
    }
    for (uint32_t i = 0; i < nfield; i++)
        next->columns[m->ncol - 1 + i] = fields[i];
    for (uint32_t i = 0; i < m->nrow; i++) {
        const bt_pattern *cell = m->rows[i].cells[column];
        int fits = !cell || (cell->kind == BT_PATTERN_TUPLE ? !ctor && nfield == cell->n
                                                            : cell->ctor == ctor);
        if (fits)
            BT_TRY(add_row(c, next, &m->rows[i], m->ncol, column, nfield));
    }
    drop_unused(next, m->ncol - 1, nfield, fields);
    return NULL;
}

static bt_status see(struct clauses *c, const struct part *part, const bt_ctor *ctor,
                     uint32_t nfield, struct part **fields)
{
    const struct part_seen seen = { part, ctor, nfield, fields };
    return BT_PUSH(c->arena, &c->seen, seen) ? NULL : bt_no_memory();
}

/* ---- columns ---- */

bt_status clauses_begin(struct clauses *c, struct clause_matrix *out)
{
    uint32_t n = c->match->nclause;
    bt_map_init(&c->positions, c->arena, 0);
    BT_TRY(new_matrix(c, n, 1, out));
    out->columns[0] = c->whole;
    for (uint32_t i = 0; i < n; i++) {
        const bt_clause *clause = c->match->clauses[i];
        struct clause_row *row;
        BT_TRY(new_row(c, i, out, &row));
        for (uint32_t k = 0; k < clause->block->nparam; k++) {
            if (!bt_map_put(&c->positions, clause->block->params[k],
                            (void *)(uintptr_t)(k + 1)))
                return bt_no_memory();
        }
        BT_TRY(put_cell(c, row, 0, c->whole, clause->pattern));
    }
    return NULL;
}

static uint32_t choose_column(const struct clause_matrix *m)
{
    uint32_t best = m->ncol, most = 0;
    for (uint32_t c = 0; c < m->ncol; c++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < m->nrow; i++)
            n += m->rows[i].cells[c] != NULL;
        if (m->rows[0].cells[c] && n > most) {
            best = c;
            most = n;
        }
    }
    return best;
}

bt_status clauses_choose(struct clauses *c, struct clause_matrix *m, part_list *fields,
                         uint32_t *column)
{
    for (;;) {
        *column = choose_column(m);
        const bt_pattern *cell = *column < m->ncol ? m->rows[0].cells[*column] : NULL;
        struct part **at;
        struct clause_matrix next;
        if (!cell || cell->kind != BT_PATTERN_TUPLE)
            return NULL;
        BT_TRY(new_fields(c, m->columns[*column], cell->n, &at));
        BT_TRY(replace_column(c, m, *column, NULL, cell->n, at, &next));
        BT_TRY(see(c, m->columns[*column], NULL, cell->n, at));
        *m = next;
        for (uint32_t i = 0; fields && i < cell->n; i++) {
            if (at[i] && !BT_PUSH(c->arena, fields, at[i]))
                return bt_no_memory();
        }
    }
}

bt_status clauses_specialise(struct clauses *c, const struct clause_matrix *m,
                             uint32_t column, const bt_ctor *ctor, struct part ***fields,
                             struct clause_matrix *out)
{
    uint32_t nfield = ctor ? ctor->nfield : 0;
    BT_TRY(new_fields(c, NULL, nfield, fields));
    BT_TRY(replace_column(c, m, column, ctor, nfield, *fields, out));
    return ctor ? see(c, m->columns[column], ctor, nfield, *fields) : NULL;
}

/* ---- no row is left ---- */

enum { MAX_SHOWN = 8, MAX_LENGTH = 400 };

static void print_pattern(const bt_pattern *pattern, size_t limit, bt_text *out)
{
    if (pattern->kind == BT_PATTERN_VAR && pattern->var->base.name)
        bt_text_addf(out, "%%%s", pattern->var->base.name);
    else if (pattern->kind == BT_PATTERN_CTOR)
        bt_text_addf(out, "%s", pattern->ctor->name);
    else if (pattern->kind != BT_PATTERN_TUPLE)
        bt_text_addf(out, "_");
    if (!pattern->n)
        return;
    for (uint32_t i = 0; i < pattern->n && out->len < limit; i++) {
        bt_text_addf(out, i ? ", " : "(");
        print_pattern(pattern->at[i], limit, out);
    }
    bt_text_addf(out, ")");
}

static void print_clauses(const bt_match *match, bt_text *out)
{
    const size_t limit = out->len + MAX_LENGTH;
    bt_text_addf(out, match->nclause ? "; its clauses are " : "; it has no clauses");
    for (uint32_t i = 0; i < match->nclause && i < MAX_SHOWN; i++) {
        bt_text_addf(out, i ? ", " : "");
        print_pattern(match->clauses[i]->pattern, limit, out);
    }
    if (match->nclause > MAX_SHOWN)
        bt_text_addf(out, " and %u more", match->nclause - MAX_SHOWN);
}

/* What has been seen of a part; it nests no deeper than the patterns. */
static void print_part(const struct clauses *c, const struct part *part,
                       const struct part *last, bt_text *out)
{
    const struct part_seen *seen = NULL;
    for (uint32_t i = 0; part && i < c->seen.len; i++) {
        if (c->seen.at[i].part == part)
            seen = &c->seen.at[i];
    }
    if (!seen)
        bt_text_addf(out, part && part == last ? "*" : "_");
    if (!seen)
        return;
    bt_text_addf(out, "%s", seen->ctor ? seen->ctor->name : "");
    for (uint32_t i = 0; i < seen->nfield; i++) {
        bt_text_addf(out, i ? ", " : "(");
        print_part(c, seen->fields[i], last, out);
    }
    bt_text_addf(out, seen->nfield ? ")" : "");
}

bt_status clauses_otherwise(const struct clauses *c, const struct part *last,
                            bt_text *out)
{
    if (c->match->otherwise && *c->match->otherwise) {
        bt_text_addf(out, "%s", c->match->otherwise);
    } else {
        bt_text_addf(out, "no clause of this match fits the value ");
        print_part(c, c->whole, last, out);
        print_clauses(c->match, out);
    }
    return bt_text_get(out) ? NULL : bt_no_memory();
}
