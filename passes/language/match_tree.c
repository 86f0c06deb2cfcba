/*
 * match-tree: matches of nested patterns become trees of matches that look at one level.
 * Afterwards each match is of a data type, each of its patterns is a constructor of
 * variables and wildcards, each constructor stands once, and a wildcard or a variable only
 * at the end. No constructor is looked at twice on the way to a clause. Which part of the
 * value is looked at first: one that the first clause left needs, among these the one that
 * most clauses look at. A clause that several ways lead to becomes a closure that these
 * call, unless it is small, or has variables with dims that only the value shows: then it is
 * copied. A `match?` that no clause fits fails where it finds that out; what the error says
 * then stands behind it: the constructors that were looked at, and the clauses.
 * keeps    every invariant
 * gives    matched
 * source   Maranget 2008, Compiling Pattern Matching to Good Decision Trees
 */
#include <baton/pass.h>

#include "common/dims.h"
#include "common/stated.h"
#include "language/clause_matrix.h"

enum { MAX_NODES = 1 << 16, MAX_COPIED = 1 };

struct node;
struct branch {
    const bt_ctor *ctor;  /* NULL: any other */
    struct part **fields; /* NULL: not needed */
    struct node *node;
};
struct node {
    part_list projs; /* to build first */
    struct part *on; /* NULL: a clause is reached */
    uint32_t nbranch;
    struct branch *branches;
    const char *otherwise; /* what the error says of a value that fits no branch */
    struct clause_row row; /* of the clause */
};

struct tree {
    bt_rewrite *rw;
    bt_ctx *ctx;
    bt_store *store;
    bt_builder *b;
    bt_arena *arena;
    const bt_match *match;
    struct clauses clauses;
    uint32_t nnode, depth;
    uint32_t *nreach;        /* of each clause */
    const bt_value **joined; /* closures of those that several ways lead to */
    bt_map brought;          /* dims that variables of the clauses bring along */
    int is_brought;
};

static bt_status fail_limit(const struct tree *t, const char *what, uint32_t limit)
{
    return bt_fail_at(t->ctx, BT_ERR_LIMIT, t->store, t->match->base.span,
                      "match-tree: the decision tree of this match has %s than %u", what,
                      limit);
}

/* ---- the tree ---- */

static bt_status build(struct tree *t, const struct clause_matrix *m, struct node **out);

static bt_status end_tree(struct tree *t, const struct part *last, struct node *node)
{
    bt_text text;
    bt_text_init(&text, t->arena);
    BT_TRY(clauses_otherwise(&t->clauses, last, &text));
    node->otherwise = text.at;
    return NULL;
}

static bt_status add_branch(struct tree *t, const struct clause_matrix *m,
                            uint32_t column, const bt_ctor *ctor, struct node *node)
{
    struct branch *branch = &node->branches[node->nbranch];
    const uint32_t nseen = t->clauses.seen.len;
    struct clause_matrix next;
    branch->ctor = ctor;
    BT_TRY(clauses_specialise(&t->clauses, m, column, ctor, &branch->fields, &next));
    if (!next.nrow)
        return end_tree(t, node->on, node);
    node->nbranch++;
    BT_TRY(build(t, &next, &branch->node));
    t->clauses.seen.len = nseen;
    return NULL;
}

/* A branch for each constructor that a row names, one for all others. */
static bt_status add_branches(struct tree *t, const struct clause_matrix *m,
                              uint32_t column, struct node *node)
{
    uint32_t ncovered = 0;
    node->on = m->columns[column];
    node->branches = BT_NEWS(t->arena, struct branch, (size_t)m->nrow + 1);
    if (!node->branches)
        return bt_no_memory();
    for (uint32_t i = 0; i < m->nrow; i++) {
        const bt_pattern *cell = m->rows[i].cells[column];
        int is_known = !cell;
        for (uint32_t k = 0; k < node->nbranch && !is_known; k++)
            is_known = node->branches[k].ctor == cell->ctor;
        if (is_known)
            continue;
        BT_TRY(add_branch(t, m, column, cell->ctor, node));
        ncovered++;
    }
    const bt_adt_def *adt = node->branches[0].ctor->adt;
    return adt->is_extern || ncovered < adt->nctor ? add_branch(t, m, column, NULL, node)
                                                   : NULL;
}

static bt_status build(struct tree *t, const struct clause_matrix *m, struct node **out)
{
    struct clause_matrix now = *m;
    uint32_t column, limit = bt_ctx_limits(t->ctx)->depth;
    struct node *node = *out = BT_NEW(t->arena, struct node);
    if (!node)
        return bt_no_memory();
    if (++t->nnode > MAX_NODES)
        return fail_limit(t, "more nodes", MAX_NODES);
    if (t->depth >= limit)
        return fail_limit(t, "more levels", limit);
    BT_TRY(clauses_choose(&t->clauses, &now, &node->projs, &column));
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
    struct clause_matrix all;
    t->clauses = (struct clauses){ .ctx = t->ctx,
                                   .store = t->store,
                                   .arena = t->arena,
                                   .match = t->match,
                                   .whole = whole };
    BT_TRY(clauses_begin(&t->clauses, &all));
    if (all.nrow)
        return build(t, &all, out);
    *out = BT_NEW(t->arena, struct node);
    if (!*out)
        return bt_no_memory();
    (*out)->on = whole;
    return end_tree(t, whole, *out);
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

static bt_status emit_clause(struct tree *t, const struct clause_row *row,
                             const bt_value **out)
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

/* The dims of a field, where some say `?`. */
struct field_dims {
    struct tree *tree;
    dims_of_type stated; /* by place; none: nothing is */
    uint32_t next;
};

static const bt_type *find_brought(bt_subst *subst, const bt_type *leaf)
{
    struct tree *t = subst->state;
    t->is_brought |= bt_map_find(&t->brought, leaf) != NULL;
    return NULL;
}

/* Whether a variable of a clause brings a dim along, or one that it is computed from. */
static bt_status is_brought(struct tree *t, const bt_type *dim, int *out)
{
    bt_subst subst = { .leaf = find_brought, .state = t };
    t->is_brought = 0;
    if (!bt_type_subst(t->store, &subst, dim))
        return bt_store_why(t->ctx, t->store);
    *out = t->is_brought || dim->has & BT_HAS_HOLE;
    return NULL;
}

static bt_status learn_brought(struct tree *t)
{
    const struct copy c = { .ctx = t->ctx, .store = t->store, .arena = t->arena };
    bt_map_init(&t->brought, t->arena, 0);
    for (uint32_t i = 0; i < t->match->nclause; i++)
        BT_TRY(stated_brought(t->rw, &c, t->match->clauses[i]->block, NULL, &t->brought));
    return NULL;
}

/* `?` in a field: a dim that each value brings along, unless it is stated to be one of those
 * before. */
static bt_status field_dim(void *state, const bt_type *dim, const bt_type **out)
{
    struct field_dims *f = state;
    const uint32_t place = f->next++;
    const bt_type *stated = place < f->stated.len ? f->stated.at[place] : dim;
    *out = dim;
    if (!(dim->has & BT_HAS_HOLE))
        return NULL;
    int is_new;
    BT_TRY(is_brought(f->tree, stated, &is_new));
    *out = is_new ? bt_dim_opaque(f->tree->store, NULL) : stated;
    return *out ? NULL : bt_store_why(f->tree->ctx, f->tree->store);
}

static bt_status open_field(struct tree *t, const struct part *part, const bt_type *field,
                            const bt_type **out)
{
    struct field_dims f = { .tree = t };
    const struct dims_map m = { t->ctx, t->arena, t->store, field_dim, &f };
    dims_of_type dims = { 0 };
    *out = field;
    if (!(field->has & BT_HAS_HOLE))
        return NULL;
    if (part->var) {
        const bt_type *stated;
        BT_TRY(bt_rewrite_stated(t->rw, &part->var->base, &stated));
        BT_TRY(dims_list(&m, stated, &f.stated));
        BT_TRY(dims_list(&m, field, &dims));
        if (dims.len != f.stated.len)
            f.stated.len = 0;
    }
    return dims_replace(&m, field, out);
}

static bt_status bind_field(struct tree *t, const bt_value *data, const bt_ctor *ctor,
                            uint32_t field, struct part *part, const bt_param **out)
{
    const bt_list_type *apply = bt_as_apply_type(data->type);
    const bt_type *type = bt_ctor_field_type(t->store, ctor, field, apply->at + 1);
    if (!type)
        return bt_store_why(t->ctx, t->store);
    BT_TRY(open_field(t, part, type, &type));
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
    for (uint32_t i = 0; i < node->projs.len; i++) {
        struct part *part = node->projs.at[i];
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
    return bt_build_match(t->b, data, node->nbranch, clauses, node->otherwise, out);
}

/* A `match?` gets its text while its clauses are those of the source. */
static int is_done(const bt_match *match)
{
    return (!match->nclause || bt_match_is_flat(match)) &&
           (!match->otherwise || *match->otherwise);
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
    if (is_done(match))
        return NULL;
    t.store = bt_builder_store(t.b);
    t.nreach = BT_NEWS(t.arena, uint32_t, match->nclause);
    t.joined = BT_NEWS(t.arena, const bt_value *, match->nclause);
    if (!t.nreach || !t.joined)
        return bt_no_memory();
    BT_TRY(bt_rewrite_operand(rw, match->data, &whole.value));
    BT_TRY(learn_brought(&t));
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

const bt_table bt_passes_language_match_tree[] = { BT_PASSES(passes), { 0 } };
