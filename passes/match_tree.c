/*
 * match-tree: matches of nested patterns become trees of matches that look at one level.
 *     before
 *         type List { Nil, Cons(int32, List), }
 *         def @main(%l: List, %m: List) {
 *             match ((%l, %m)) {
 *                 (Nil, _) => 0,
 *                 (_, Nil) => 1,
 *                 (Cons(%a, Nil), Cons(%b, _)) => add(%a, %b),
 *                 (Cons(%a, Cons(_, _)), _) => %a,
 *             }
 *         }
 *     after
 *         type List { Nil, Cons(int32, List), }
 *         def @main(%l: List, %m: List) {
 *             %0 = (%l, %m);
 *             %1 = %0.0;
 *             %2 = %0.1;
 *             match (%1) {
 *                 Nil => 0,
 *                 Cons(%a, %3) => match (%2) {
 *                     Nil => 1,
 *                     Cons(%b, _) => match (%3) {
 *                         Nil => add(%a, %b),
 *                         Cons(_, _) => %a,
 *                     },
 *                 },
 *             }
 *         }
 * Afterwards each match is of a data type, each of its patterns is a constructor of
 * variables and wildcards, each constructor stands once, and a wildcard or a variable only
 * at the end. No constructor is looked at twice on the way to a clause. Which part of the
 * value is looked at first: one that the first clause left needs, among these the one that
 * most clauses look at. A clause that several ways lead to becomes a closure that these
 * call, unless it is small, or has variables with dims that only the value shows: then it is
 * copied. A `match?` that no clause fits fails where it finds that out.
 * keeps    every invariant
 * gives    matched
 * source   Maranget 2008, Compiling Pattern Matching to Good Decision Trees
 */
#include <string.h>

#include <baton/pass.h>

#include "flat.h"

enum { MAX_NODES = 1 << 16, MAX_COPIED = 1 };

/* A part of the value that is matched. */
struct part {
    const struct part *tuple; /* whose field it is; NULL: bound by a pattern */
    uint32_t index;
    const char *name;      /* hint */
    int is_bound;          /* a clause has a variable for it */
    const bt_value *value; /* new, once it is built */
};

struct row {
    uint32_t clause;
    const bt_pattern **cells; /* by column; NULL: anything */
    struct part **vars;       /* by parameter of the clause */
};

struct state {
    uint32_t nrow, ncol;
    struct row *rows;
    struct part **columns;
};

struct node;
struct branch {
    const bt_ctor *ctor;  /* NULL: any other */
    struct part **fields; /* NULL: not needed */
    struct node *node;
};
struct node {
    uint32_t nproj;
    struct part **projs; /* to build first */
    struct part *on;     /* NULL: a clause is reached */
    uint32_t nbranch;
    struct branch *branches;
    int is_partial; /* a value may fit no branch */
    struct row row; /* of the clause */
};

struct tree {
    bt_rewrite *rw;
    bt_ctx *ctx;
    bt_store *store;
    bt_builder *b;
    bt_arena *arena;
    const bt_match *match;
    bt_map positions; /* variables -> position in their clause + 1 */
    uint32_t nnode, depth;
    uint32_t *nreach;        /* of each clause */
    const bt_value **joined; /* closures of those that several ways lead to */
};

static bt_status fail_limit(const struct tree *t, const char *what, uint32_t limit)
{
    return bt_fail_at(t->ctx, BT_ERR_LIMIT, t->store, t->match->base.span,
                      "match-tree: the decision tree of this match has %s than %u", what,
                      limit);
}

/* ---- states ---- */

static struct part *new_part(struct tree *t, const struct part *tuple, uint32_t index)
{
    struct part *part = BT_NEW(t->arena, struct part);
    if (part) {
        part->tuple = tuple;
        part->index = index;
    }
    return part;
}

/* Stands for the value, of which the row asks no more than to give it a name. */
static bt_status put_cell(struct tree *t, struct row *row, uint32_t column,
                          struct part *part, const bt_pattern *pattern)
{
    row->cells[column] = pattern && !flat_is_leaf(pattern) ? pattern : NULL;
    if (!pattern || pattern->kind != BT_PATTERN_VAR)
        return NULL;
    uintptr_t position = (uintptr_t)bt_map_find(&t->positions, pattern->var);
    if (!position)
        return bt_fail_at(t->ctx, BT_ERR_INTERNAL, t->store, pattern->span,
                          "a variable of a pattern is no parameter of its clause");
    row->vars[position - 1] = part;
    part->is_bound = 1;
    if (!part->name)
        part->name = pattern->var->base.name;
    return NULL;
}

static bt_status new_state(struct tree *t, uint32_t nrow, uint32_t ncol,
                           struct state *out)
{
    *out = (struct state){ .ncol = ncol };
    out->rows = BT_NEWS(t->arena, struct row, nrow);
    out->columns = BT_NEWS(t->arena, struct part *, ncol);
    return out->rows && out->columns ? NULL : bt_no_memory();
}

/* A row of the next state: `old` without its column, then the patterns of the parts. */
static bt_status add_row(struct tree *t, struct state *next, const struct row *old,
                         uint32_t ncol, uint32_t column, uint32_t nfield)
{
    uint32_t nvar = t->match->clauses[old->clause]->block->nparam;
    struct row *row = &next->rows[next->nrow++];
    const bt_pattern *pattern = old->cells[column];
    row->clause = old->clause;
    row->cells = BT_NEWS(t->arena, const bt_pattern *, next->ncol);
    row->vars = BT_NEWS(t->arena, struct part *, nvar);
    if (!row->cells || !row->vars)
        return bt_no_memory();
    if (nvar)
        memcpy(row->vars, old->vars, nvar * sizeof(*row->vars));
    for (uint32_t i = 0, k = 0; i < ncol; i++) {
        if (i != column)
            row->cells[k++] = old->cells[i];
    }
    for (uint32_t i = 0; i < nfield; i++)
        BT_TRY(put_cell(t, row, ncol - 1 + i, next->columns[ncol - 1 + i],
                        pattern ? pattern->at[i] : NULL));
    return NULL;
}

/* The rows that a value may still fit whose part in this column is made by `ctor`; ctor
 * NULL and nfield 0: by one that no row names; else it is a tuple. */
static bt_status specialise(struct tree *t, const struct state *s, uint32_t column,
                            const bt_ctor *ctor, uint32_t nfield, struct part **fields,
                            struct state *next)
{
    BT_TRY(new_state(t, s->nrow, s->ncol - 1 + nfield, next));
    for (uint32_t i = 0, k = 0; i < s->ncol; i++) {
        if (i != column)
            next->columns[k++] = s->columns[i];
    }
    for (uint32_t i = 0; i < nfield; i++)
        next->columns[s->ncol - 1 + i] = fields[i];
    for (uint32_t i = 0; i < s->nrow; i++) {
        const bt_pattern *cell = s->rows[i].cells[column];
        int fits = !cell || (cell->kind == BT_PATTERN_TUPLE ? !ctor && nfield == cell->n
                                                            : cell->ctor == ctor);
        if (fits)
            BT_TRY(add_row(t, next, &s->rows[i], s->ncol, column, nfield));
    }
    return NULL;
}

/* ---- the tree ---- */

static bt_status build(struct tree *t, const struct state *s, struct node **out);

/* One that the first row looks at, and most others. s->ncol: it looks at none. */
static uint32_t choose_column(const struct state *s)
{
    uint32_t best = s->ncol, most = 0;
    for (uint32_t c = 0; c < s->ncol; c++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < s->nrow; i++)
            n += s->rows[i].cells[c] != NULL;
        if (s->rows[0].cells[c] && n > most) {
            best = c;
            most = n;
        }
    }
    return best;
}

/* Fields that no row looks at or names are not bound. */
static void drop_unused(const struct state *next, uint32_t first, uint32_t nfield,
                        struct part **fields)
{
    for (uint32_t f = 0; f < nfield; f++) {
        int is_used = fields[f]->is_bound;
        for (uint32_t i = 0; i < next->nrow; i++) {
            const struct row *row = &next->rows[i];
            is_used |= row->cells[first + f] != NULL;
        }
        if (!is_used)
            fields[f] = NULL;
    }
}

static bt_status new_fields(struct tree *t, const struct part *tuple, uint32_t n,
                            struct part ***out)
{
    *out = BT_NEWS(t->arena, struct part *, n);
    for (uint32_t i = 0; *out && i < n; i++) {
        if (!((*out)[i] = new_part(t, tuple, i)))
            return bt_no_memory();
    }
    return *out ? NULL : bt_no_memory();
}

static bt_status add_branch(struct tree *t, const struct state *s, uint32_t column,
                            const bt_ctor *ctor, struct node *node)
{
    struct branch *branch = &node->branches[node->nbranch];
    uint32_t nfield = ctor ? ctor->nfield : 0;
    struct state next;
    branch->ctor = ctor;
    BT_TRY(new_fields(t, NULL, nfield, &branch->fields));
    BT_TRY(specialise(t, s, column, ctor, nfield, branch->fields, &next));
    if (!next.nrow) {
        node->is_partial = 1;
        return NULL;
    }
    node->nbranch++;
    drop_unused(&next, s->ncol - 1, nfield, branch->fields);
    return build(t, &next, &branch->node);
}

/* A branch for each constructor that a row names, one for all others. */
static bt_status add_branches(struct tree *t, const struct state *s, uint32_t column,
                              struct node *node)
{
    uint32_t ncovered = 0;
    node->on = s->columns[column];
    node->branches = BT_NEWS(t->arena, struct branch, (size_t)s->nrow + 1);
    if (!node->branches)
        return bt_no_memory();
    for (uint32_t i = 0; i < s->nrow; i++) {
        const bt_pattern *cell = s->rows[i].cells[column];
        int is_known = !cell;
        for (uint32_t k = 0; k < node->nbranch && !is_known; k++)
            is_known = node->branches[k].ctor == cell->ctor;
        if (is_known)
            continue;
        BT_TRY(add_branch(t, s, column, cell->ctor, node));
        ncovered++;
    }
    const bt_adt_def *adt = node->branches[0].ctor->adt;
    return adt->is_extern || ncovered < adt->nctor ? add_branch(t, s, column, NULL, node)
                                                   : NULL;
}

/* Tuples of the first row are taken apart. */
static bt_status take_apart(struct tree *t, struct state *s, struct node *node,
                            uint32_t *column)
{
    bt_vec(struct part *) projs = { 0 };
    for (;;) {
        const bt_pattern *cell;
        struct part **fields;
        struct state next;
        *column = choose_column(s);
        cell = *column < s->ncol ? s->rows[0].cells[*column] : NULL;
        if (!cell || cell->kind != BT_PATTERN_TUPLE)
            break;
        BT_TRY(new_fields(t, s->columns[*column], cell->n, &fields));
        BT_TRY(specialise(t, s, *column, NULL, cell->n, fields, &next));
        drop_unused(&next, s->ncol - 1, cell->n, fields);
        *s = next;
        for (uint32_t i = 0; i < cell->n; i++) {
            if (fields[i] && !BT_PUSH(t->arena, &projs, fields[i]))
                return bt_no_memory();
        }
    }
    node->nproj = projs.len;
    node->projs = projs.at;
    return NULL;
}

static bt_status build(struct tree *t, const struct state *s, struct node **out)
{
    struct state now = *s;
    uint32_t column, limit = bt_ctx_limits(t->ctx)->depth;
    struct node *node = *out = BT_NEW(t->arena, struct node);
    if (!node)
        return bt_no_memory();
    if (++t->nnode > MAX_NODES)
        return fail_limit(t, "more nodes", MAX_NODES);
    if (t->depth >= limit)
        return fail_limit(t, "more levels", limit);
    BT_TRY(take_apart(t, &now, node, &column));
    if (column == now.ncol) {
        node->row = now.rows[0];
        t->nreach[node->row.clause]++;
        return NULL;
    }
    t->depth++;
    BT_TRY(add_branches(t, &now, column, node));
    t->depth--;
    return NULL;
}

static bt_status build_tree(struct tree *t, struct part *whole, struct node **out)
{
    struct state s;
    uint32_t n = t->match->nclause;
    BT_TRY(new_state(t, n, 1, &s));
    s.columns[0] = whole;
    for (uint32_t i = 0; i < n; i++) {
        const bt_clause *clause = t->match->clauses[i];
        struct row *row = &s.rows[s.nrow++];
        row->clause = i;
        row->cells = BT_NEWS(t->arena, const bt_pattern *, 1);
        row->vars = BT_NEWS(t->arena, struct part *, clause->block->nparam);
        if (!row->cells || !row->vars)
            return bt_no_memory();
        for (uint32_t k = 0; k < clause->block->nparam; k++) {
            if (!bt_map_put(&t->positions, clause->block->params[k],
                            (void *)(uintptr_t)(k + 1)))
                return bt_no_memory();
        }
        BT_TRY(put_cell(t, row, 0, whole, clause->pattern));
    }
    return build(t, &s, out);
}

/* ---- clauses that several ways lead to ---- */

/* Whether a copy is no larger than a call. */
static int is_small(const bt_block *block)
{
    return block->nbinding == 0 ||
           (block->nbinding <= MAX_COPIED && !bt_value_nregion(block->bindings[0]) &&
            bt_as_call(block->bindings[0]));
}

static int can_join(const struct tree *t, const bt_block *block)
{
    int has = (int)(t->match->base.type->has & BT_HAS_OPAQUE);
    for (uint32_t i = 0; i < block->nparam; i++)
        has |= (int)(block->params[i]->base.type->has & BT_HAS_OPAQUE);
    return !has;
}

/* fn (variables) { what the clause does } */
static bt_status join(struct tree *t, const bt_block *block, const bt_value **out)
{
    const bt_param **params = BT_NEWS(t->arena, const bt_param *, block->nparam);
    const bt_type **types = BT_NEWS(t->arena, const bt_type *, block->nparam);
    const bt_func *now;
    const bt_value *result;
    const char *name = "clause";
    bt_func func = { .result = t->match->base.type };
    if (!params || !types)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++)
        types[i] = block->params[i]->base.type;
    bt_func_type fields = { .narg = block->nparam,
                            .args = types,
                            .result = t->match->base.type };
    const bt_type *type = bt_type_func(t->store, &fields);
    if (!type)
        return bt_store_why(t->ctx, t->store);
    BT_TRY(bt_build_closures(t->b, 1, &name, &type, out));
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(bt_build_param(t->b, block->params[i]->base.name, types[i], &params[i]));
    BT_TRY(bt_block_begin(t->b, block->nparam, params));
    BT_TRY(bt_rewrite_inline(t->rw, block, block->nparam, (const bt_value *const *)params,
                             &result));
    BT_TRY(bt_block_end(t->b, result, &func.block));
    BT_TRY(bt_func_create(t->ctx, t->store, &func, &now));
    return bt_build_closure_body(t->b, *out, now);
}

static bt_status join_all(struct tree *t)
{
    for (uint32_t i = 0; i < t->match->nclause; i++) {
        const bt_block *block = t->match->clauses[i]->block;
        if (t->nreach[i] > 1 && !is_small(block) && can_join(t, block))
            BT_TRY(join(t, block, &t->joined[i]));
    }
    return NULL;
}

/* ---- the new matches ---- */

static bt_status emit(struct tree *t, const struct node *node, const bt_value **out);

static bt_status emit_clause(struct tree *t, const struct row *row, const bt_value **out)
{
    const bt_block *block = t->match->clauses[row->clause]->block;
    const bt_value **args = BT_NEWS(t->arena, const bt_value *, block->nparam);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++)
        args[i] = row->vars[i]->value;
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .callee = t->joined[row->clause],
                     .narg = block->nparam,
                     .args = args };
    return call.callee ? bt_build_call(t->b, &call, out)
                       : bt_rewrite_inline(t->rw, block, block->nparam, args, out);
}

struct given {
    struct tree *t;
    const bt_adt_def *adt;
    const bt_type *const *terms;
};

/* `?` in a field: a dim that each value brings along. */
static const bt_type *field_leaf(bt_subst *subst, const bt_type *leaf)
{
    const struct given *given = subst->state;
    if (leaf->kind == BT_TYPE_HOLE)
        return bt_dim_opaque(given->t->store, NULL);
    for (uint32_t i = 0; i < given->adt->nvar; i++) {
        if (given->adt->vars[i] == leaf)
            return given->terms[i];
    }
    return NULL;
}

static bt_status bind_field(struct tree *t, const bt_value *data, const bt_ctor *ctor,
                            uint32_t field, struct part *part, const bt_param **out)
{
    const bt_list_type *apply = bt_as_apply_type(data->type);
    struct given given = { .t = t, .adt = ctor->adt, .terms = apply->at + 1 };
    bt_subst subst = { .leaf = field_leaf, .state = &given };
    const bt_type *type = bt_type_subst(t->store, &subst, ctor->fields[field]);
    if (!type)
        return bt_store_why(t->ctx, t->store);
    BT_TRY(bt_build_param(t->b, part->name, type, out));
    part->value = &(*out)->base;
    return NULL;
}

static bt_status emit_branch(struct tree *t, const bt_value *data,
                             const struct branch *branch, bt_clause *out)
{
    uint32_t nfield = branch->ctor ? branch->ctor->nfield : 0, nparam = 0;
    const bt_param **params = BT_NEWS(t->arena, const bt_param *, nfield);
    const bt_pattern **at = BT_NEWS(t->arena, const bt_pattern *, nfield);
    const bt_value *result;
    bt_pattern pattern = { .kind = branch->ctor ? BT_PATTERN_CTOR : BT_PATTERN_WILDCARD,
                           .ctor = branch->ctor,
                           .n = nfield,
                           .at = at,
                           .span = t->match->base.span };
    if (!params || !at)
        return bt_no_memory();
    for (uint32_t i = 0; i < nfield; i++) {
        bt_pattern field = { .kind = BT_PATTERN_WILDCARD };
        if (branch->fields[i]) {
            BT_TRY(
                bind_field(t, data, branch->ctor, i, branch->fields[i], &params[nparam]));
            field = (bt_pattern){ .kind = BT_PATTERN_VAR, .var = params[nparam++] };
        }
        if (!(at[i] = bt_pattern_create(t->store, &field)))
            return bt_no_memory();
    }
    if (!(out->pattern = bt_pattern_create(t->store, &pattern)))
        return bt_no_memory();
    BT_TRY(bt_block_begin(t->b, nparam, params));
    BT_TRY(emit(t, branch->node, &result));
    return bt_block_end(t->b, result, &out->block);
}

static bt_status emit(struct tree *t, const struct node *node, const bt_value **out)
{
    for (uint32_t i = 0; i < node->nproj; i++) {
        struct part *part = node->projs[i];
        BT_TRY(bt_build_proj(t->b, part->tuple->value, part->index, &part->value));
    }
    if (!node->on)
        return emit_clause(t, &node->row, out);
    bt_clause *clauses = BT_NEWS(t->arena, bt_clause, node->nbranch);
    const bt_value *data = node->on->value;
    if (!clauses)
        return bt_no_memory();
    for (uint32_t i = 0; i < node->nbranch; i++)
        BT_TRY(emit_branch(t, data, &node->branches[i], &clauses[i]));
    return bt_build_match(t->b, data, node->nbranch, clauses, node->is_partial, out);
}

static bt_status rewrite_match(bt_rewrite *rw, const bt_match *match,
                               const bt_value **out)
{
    struct part whole = { 0 };
    struct node *root;
    struct tree t = { .rw = rw,
                      .ctx = bt_rewrite_ctx(rw),
                      .b = bt_rewrite_builder(rw),
                      .arena = bt_rewrite_call(rw)->scratch,
                      .match = match };
    if (!match->nclause || flat_is_match(match))
        return NULL;
    t.store = bt_builder_store(t.b);
    t.nreach = BT_NEWS(t.arena, uint32_t, match->nclause);
    t.joined = BT_NEWS(t.arena, const bt_value *, match->nclause);
    if (!t.nreach || !t.joined)
        return bt_no_memory();
    bt_map_init(&t.positions, t.arena, 0);
    BT_TRY(bt_rewrite_operand(rw, match->data, &whole.value));
    BT_TRY(build_tree(&t, &whole, &root));
    BT_TRY(join_all(&t));
    return emit(&t, root, out);
}

static const bt_rewriter rewriter = { .match_ = rewrite_match };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "match-tree",
        .doc = "Matches of nested patterns become trees of matches that look at one "
               "level.\n"
               "before\n"
               "    type List { Nil, Cons(int32, List), }\n"
               "    def @main(%l: List, %m: List) {\n"
               "        match ((%l, %m)) {\n"
               "            (Nil, _) => 0,\n"
               "            (_, Nil) => 1,\n"
               "            (Cons(%a, Nil), Cons(%b, _)) => add(%a, %b),\n"
               "            (Cons(%a, Cons(_, _)), _) => %a,\n"
               "        }\n"
               "    }\n"
               "after\n"
               "    type List { Nil, Cons(int32, List), }\n"
               "    def @main(%l: List, %m: List) {\n"
               "        %0 = (%l, %m);\n"
               "        %1 = %0.0;\n"
               "        %2 = %0.1;\n"
               "        match (%1) {\n"
               "            Nil => 0,\n"
               "            Cons(%a, %3) => match (%2) {\n"
               "                Nil => 1,\n"
               "                Cons(%b, _) => match (%3) {\n"
               "                    Nil => add(%a, %b),\n"
               "                    Cons(_, _) => %a,\n"
               "                },\n"
               "            },\n"
               "        }\n"
               "    }",
        .level = 0,
        .keeps = "*",
        .gives = "matched",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_match_tree[] = { BT_PASSES(passes), { 0 } };
