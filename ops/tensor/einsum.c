/*
 * einsum, meshgrid, unravel_index: index notation of users, grids, positions taken apart.
 *     einsum((a, b), equation="ij,jk->ik")    y[i, k] = sum(j: a[i, j] * b[j, k])
 *     meshgrid((x, y), indexing="ij")         x[i, j] = x[i], y[i, j] = y[j]
 *     unravel_index(5, (2, 3))                (1, 2)
 * In an equation each letter is an axis; without "->", the letters that occur once, in
 * alphabetic order, are those of the result. A repeated letter in one operand reads the
 * diagonal. An ellipsis is not supported.
 * source  Relay, operators of the same names; NumPy
 */
#include "formula.h"

#include <string.h>

/* ---- einsum ---- */

struct einsum_attrs {
    const char *equation;
};
static const bt_attr einsum_attrs[] = {
    BT_ATTR(struct einsum_attrs, equation, STRING, NULL,
            "axes of the operands and result"),
    { 0 },
};

/* An equation without spaces, cut up. */
typedef struct equation {
    uint32_t nterm;
    char terms[BT_MAX_RANK][BT_MAX_RANK + 1];
    char result[BT_MAX_RANK + 1];
} equation;

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int add_letter(char *text, char c)
{
    size_t n = strlen(text);
    if (n == BT_MAX_RANK)
        return 0;
    text[n] = c;
    text[n + 1] = '\0';
    return 1;
}

static uint32_t count_letter(const equation *x, char c)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < x->nterm; i++) {
        for (const char *at = x->terms[i]; *at; at++)
            count += *at == c;
    }
    return count;
}

/* NULL, or what is wrong. */
static const char *parse(const char *text, equation *out)
{
    char *term = out->terms[0];
    int has_arrow = 0;
    *out = (equation){ .nterm = 1 };
    for (; *text; text++) {
        if (*text == ' ')
            continue;
        if (*text == '-' && text[1] == '>' && !has_arrow) {
            has_arrow = 1;
            term = out->result;
            text++;
        } else if (*text == ',' && !has_arrow) {
            if (out->nterm == BT_MAX_RANK)
                return "it has too many operands";
            term = out->terms[out->nterm++];
        } else if (!is_letter(*text)) {
            return "it consists of letters, commas and one ->";
        } else if (!add_letter(term, *text)) {
            return "it has too many axes";
        }
    }
    for (int c = 'A'; !has_arrow && c <= 'z'; c++) {
        if (is_letter((char)c) && count_letter(out, (char)c) == 1 &&
            !add_letter(out->result, (char)c))
            return "it has too many axes";
    }
    for (const char *at = out->result; *at; at++) {
        if (strchr(at + 1, *at))
            return "its result has a letter twice";
        if (count_letter(out, *at) == 0)
            return "its result has a letter that no operand has";
    }
    return NULL;
}

static bt_status relate_einsum(bt_solver *s, const bt_relation_call *r)
{
    const struct einsum_attrs *a = r->attrs;
    const bt_tensor_parts *fields;
    const bt_type *extents[128] = { NULL }, *dims[BT_MAX_RANK];
    equation x;
    uint32_t n, rank = 0;
    const char *wrong = parse(a->equation, &x);
    if (wrong)
        return bt_relation_fail(s, r, -1, "equation \"%s\": %s", a->equation, wrong);
    BT_TRY(bt_relation_tensors(s, r, 0, &n, &fields));
    if (n != x.nterm)
        return bt_relation_fail(s, r, 0, "equation \"%s\" has %u operands, data has %u",
                                a->equation, x.nterm, n);
    for (uint32_t i = 0; i < n; i++) {
        if (fields[i].rank != strlen(x.terms[i]))
            return bt_relation_fail(s, r, 0, "field %u has rank %u, \"%s\" has %u axes",
                                    i, fields[i].rank, x.terms[i],
                                    (uint32_t)strlen(x.terms[i]));
        for (uint32_t k = 0; k < fields[i].rank; k++) {
            const bt_type **extent = &extents[(unsigned char)x.terms[i][k]];
            if (*extent)
                BT_TRY(bt_relation_unify(s, r, *extent, fields[i].dims[k],
                                         "axes of one letter"));
            *extent = fields[i].dims[k];
        }
    }
    for (const char *at = x.result; *at; at++)
        dims[rank++] = extents[(unsigned char)*at];
    return bt_relation_result_tensor(s, r, rank, dims, fields[0].dtype);
}

/* What is left to multiply: operands, or products of some of them. */
struct product {
    const equation *whole; /* whose axes are known */
    equation x;
    uint32_t number[BT_MAX_RANK]; /* of a term: its operand's, or of a product, from 1 */
    uint32_t is_made[BT_MAX_RANK], nmade;
    const char *dtype; /* of products */
};

/* "x_i in extent(data.0, 0)": the axis of a letter where it occurs first. Letters get a
 * prefix, for a single one may be the name of something else. */
static void write_letter(bt_formula *f, const char *list, const equation *x, char letter)
{
    for (uint32_t i = 0; i < x->nterm; i++) {
        const char *at = strchr(x->terms[i], letter);
        if (!at)
            continue;
        bt_formula_item(f, list, "x_%c in extent(data.%u, %u)", letter, i,
                        (uint32_t)(at - x->terms[i]));
        return;
    }
}

/* Adds `sum(...: a * b * ...)` of the first n terms, over all letters but these. */
static void write_terms(bt_formula *f, const struct product *p, uint32_t n,
                        const char *letters)
{
    int has_sums = 0;
    bt_formula_clear(f, "k");
    bt_formula_clear(f, "terms");
    for (int c = 'A'; c <= 'z'; c++) {
        int is_there = 0;
        for (uint32_t i = 0; is_letter((char)c) && i < n; i++)
            is_there |= strchr(p->x.terms[i], c) != NULL;
        if (!is_there || strchr(letters, c))
            continue;
        has_sums = 1;
        write_letter(f, "k", p->whole, (char)c);
    }
    for (uint32_t i = 0; i < n; i++) {
        bt_formula_clear(f, "at");
        for (const char *at = p->x.terms[i]; *at; at++)
            bt_formula_item(f, "at", "x_%c", *at);
        if (p->is_made[i])
            bt_formula_item(f, "terms", "p%u[$at]", p->number[i]);
        else if (p->whole->nterm > 2)
            bt_formula_item(f, "terms", "%s(data.%u[$at])", p->dtype, p->number[i]);
        else
            bt_formula_item(f, "terms", "data.%u[$at]", p->number[i]);
    }
    bt_formula_add(f, has_sums ? "sum($k: $[ * ]terms)" : "$[ * ]terms");
}

static void swap_terms(struct product *p, uint32_t a, uint32_t b)
{
    struct product old = *p;
    memcpy(p->x.terms[a], old.x.terms[b], sizeof(old.x.terms[b]));
    memcpy(p->x.terms[b], old.x.terms[a], sizeof(old.x.terms[a]));
    p->number[a] = old.number[b];
    p->number[b] = old.number[a];
    p->is_made[a] = old.is_made[b];
    p->is_made[b] = old.is_made[a];
}

/* Letters of the first two terms that others or the result have. 0: too many. */
static int find_letters(const equation *x, char *out)
{
    *out = '\0';
    for (int c = 'A'; c <= 'z'; c++) {
        int is_here =
            is_letter((char)c) && (strchr(x->terms[0], c) || strchr(x->terms[1], c));
        int is_needed = is_here && strchr(x->result, c);
        for (uint32_t i = 2; is_here && i < x->nterm; i++)
            is_needed |= strchr(x->terms[i], c) != NULL;
        if (is_needed && !add_letter(out, (char)c))
            return 0;
    }
    return 1;
}

/* The first term and the next that shares a letter with it become one, an array of its own.
 * 0: that would have too many axes. */
static int write_pair(bt_formula *f, struct product *p)
{
    equation *x = &p->x;
    char letters[BT_MAX_RANK + 1];
    uint32_t other = 1;
    while (other < x->nterm && !strpbrk(x->terms[other], x->terms[0]))
        other++;
    swap_terms(p, 1, other < x->nterm ? other : 1);
    if (!find_letters(x, letters))
        return 0;
    bt_formula_clear(f, "axes");
    for (const char *at = letters; *at; at++)
        write_letter(f, "axes", p->whole, *at);
    bt_formula_add(f, "p%u: %s[$axes] = ", ++p->nmade, p->dtype);
    write_terms(f, p, 2, letters);
    bt_formula_add(f, ";\n");
    memcpy(x->terms[0], letters, sizeof(letters));
    p->number[0] = p->nmade;
    p->is_made[0] = 1;
    swap_terms(p, 1, --x->nterm);
    return 1;
}

/* Sums of products of more than two tensors go by two at a time: of three matrices, two
 * products take n^3 steps each, all at once n^4. */
static void write_einsum(bt_formula *f, const bt_formula_call *call)
{
    const struct einsum_attrs *a = call->attrs;
    const bt_type *first = bt_as_tuple_type(call->args[0])->at[0];
    const bt_dtype dtype = bt_tensor_dtype(first);
    equation x;
    const char *wrong = parse(a->equation, &x);
    if (wrong) {
        bt_formula_fail(f, BT_ERR_INTERNAL, "%s", wrong);
        return;
    }
    struct product p = { .whole = &x, .x = x, .dtype = "t" };
    // products of short floats keep what would be rounded away
    if (((1u << BT_DTYPE_CLASS(dtype)) & BT_CLASS_BITS_FLOAT) &&
        BT_DTYPE_BITS(dtype) < 32)
        p.dtype = "float32";
    for (uint32_t i = 0; i < x.nterm; i++)
        p.number[i] = i;
    while (p.x.nterm > 2 && write_pair(f, &p))
        ;
    bt_formula_clear(f, "axes");
    for (const char *at = x.result; *at; at++)
        write_letter(f, "axes", &x, *at);
    bt_formula_add(f, "y: t[$axes] = t(");
    write_terms(f, &p, p.x.nterm, x.result);
    bt_formula_add(f, ")");
}

/* ---- meshgrid ---- */

struct mesh_attrs {
    const char *indexing;
};
static const bt_attr mesh_attrs[] = {
    BT_ATTR_CHOICE(struct mesh_attrs, indexing, "ij", "ij|xy",
                   "xy: the first two axes change places"),
    { 0 },
};

/* The axis of the result along which operand i runs. */
static uint32_t mesh_axis(const struct mesh_attrs *a, uint32_t n, uint32_t i)
{
    return strcmp(a->indexing, "xy") == 0 && n >= 2 && i < 2 ? 1 - i : i;
}

static bt_status relate_mesh(bt_solver *s, const bt_relation_call *r)
{
    const struct mesh_attrs *a = r->attrs;
    const bt_tensor_parts *fields;
    bt_store *store = bt_relation_store(s);
    const bt_type *dims[BT_MAX_RANK], *grids[BT_MAX_RANK];
    uint32_t n;
    BT_TRY(bt_relation_tensors(s, r, 0, &n, &fields));
    if (n == 0 || n > BT_MAX_RANK)
        return bt_relation_fail(s, r, 0, "expects 1 to %d tensors, found %u", BT_MAX_RANK,
                                n);
    for (uint32_t i = 0; i < n; i++) {
        const bt_type **dim = &dims[mesh_axis(a, n, i)];
        if (fields[i].rank > 1)
            return bt_relation_fail(s, r, 0, "field %u has rank %u, expected 0 or 1", i,
                                    fields[i].rank);
        *dim = fields[i].rank ? fields[i].dims[0] : bt_dim(store, 1);
        if (!*dim)
            return bt_relation_result(s, r, NULL);
    }
    const bt_type *shape = bt_type_shape(store, n, dims);
    const bt_type *grid = shape ? bt_type_tensor(store, shape, fields[0].dtype) : NULL;
    if (!grid)
        return bt_relation_result(s, r, NULL);
    for (uint32_t i = 0; i < n; i++)
        grids[i] = grid;
    const bt_type *tuple = bt_type_tuple(store, n, grids);
    return bt_relation_result(s, r, tuple);
}

static void write_mesh(bt_formula *f, const bt_formula_call *call)
{
    const struct mesh_attrs *a = call->attrs;
    const bt_list_type *fields = bt_as_tuple_type(call->args[0]);
    for (uint32_t k = 0; k < fields->n; k++) {
        uint32_t j = mesh_axis(a, fields->n, k); // swapping twice is no change
        if (bt_formula_rank(f, fields->at[j]))
            bt_formula_item(f, "y", "i%u in extent(data.%u, 0)", j, j);
        else
            bt_formula_item(f, "y", "i%u in 1", j);
    }
    for (uint32_t i = 0; i < fields->n; i++) {
        bt_formula_clear(f, "at");
        bt_formula_each(f, "at", i, i + (bt_formula_rank(f, fields->at[i]) > 0), "i#");
        bt_formula_add(f, "y%u: t[$y] = data.%u[$at]; ", i, i);
    }
    bt_formula_each(f, "results", 0, fields->n, "y#");
    bt_formula_add(f, "-> $results");
}

/* ---- unravel_index ---- */

static bt_status relate_unravel(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts indices, shape;
    const bt_type *dims[BT_MAX_RANK + 1];
    BT_TRY(bt_relation_tensor(s, r, 0, &indices));
    BT_TRY(bt_relation_tensor_rank(s, r, 1, 1, &shape));
    if (indices.rank == BT_MAX_RANK)
        return bt_relation_fail(s, r, 0, "the result would have too many dims");
    dims[0] = shape.dims[0];
    for (uint32_t k = 0; k < indices.rank; k++)
        dims[k + 1] = indices.dims[k];
    return bt_relation_result_tensor(s, r, indices.rank + 1, dims, indices.dtype);
}

/* ---- rows ---- */

static const bt_op_input einsum_in[] = {
    { .name = "data", .type = "(t:number[..]*)", .doc = "the operands" },
    { 0 },
};
static const bt_op_input mesh_in[] = {
    { .name = "data", .type = "(t:any[..]*)", .doc = "tensors of rank 0 or 1" },
    { 0 },
};
static const bt_op_input unravel_in[] = {
    { .name = "indices", .type = "t:integer[..]", .doc = "row-major positions" },
    { .name = "shape",
      .type = "u:integer[n]",
      .doc = "the shape that they are positions in" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "einsum",
        .revision = 1,
        .doc = "Sums products of tensors, as an equation of axes says.\n"
               "Axes of one letter agree; the result has the axes after the arrow. Of "
               "more than two\n"
               "tensors the first and the next that shares a letter with it are summed "
               "first.",
        .source = "Relay, einsum; NumPy einsum",
        .inputs = einsum_in,
        .attrs = einsum_attrs,
        .attrs_nbytes = sizeof(struct einsum_attrs),
        .relate = relate_einsum,
        .write_formula = write_einsum,
        .facets = BT_FACET_ROWS(BT_CASES(
            "(float32[2, 3], float32[3, 4]) | equation=\"ij,jk->ik\"\n"
            "(float32[2, 3], float32[3]) | equation=\"ij,j\"\n"
            "(int32[3, 3]) | equation=\"ii->i\"\n(float32[2, 3]) | equation=\"ij->\"\n"
            "(float32[2, 3, 4], float32[2, 4, 3], float32[2]) | "
            "equation=\"bij,bji,b->b\"\n"
            "(float32[2, 3], float32[4, 5], float32[3, 4]) | equation=\"ij,kl,jk->il\"\n"
            "(float16[2], float16[3, 4], float16[2, 3]) | equation=\"i,jk,ij->k\"\n"
            "(int32[2], int32[3], int32[4]) | equation=\"i,j,k->kji\"\n"
            "(float32[], float32[2]) | equation=\",a->a\"")),
    },
    {
        .name = "meshgrid",
        .revision = 1,
        .doc = "Spreads tensors of rank 1 over a grid, each along its own axis.\n"
               "A tuple of as many tensors, one axis for each.",
        .source = "Relay, meshgrid; NumPy meshgrid",
        .inputs = mesh_in,
        .attrs = mesh_attrs,
        .attrs_nbytes = sizeof(struct mesh_attrs),
        .relate = relate_mesh,
        .write_formula = write_mesh,
        .facets = BT_FACET_ROWS(
            BT_CASES("(float32[2], float32[3])\n"
                     "(int8[2], int8[3], int8[4]) | indexing=\"xy\"\n"
                     "(float32[], float32[2])\n(bool[3]) | indexing=\"xy\"\n"
                     "(float32[0], float32[2])")),
    },
    {
        .name = "unravel_index",
        .revision = 1,
        .doc = "Takes row-major positions apart into one index for each axis.\n"
               "A new first axis runs over the axes of the shape.",
        .source = "Relay, unravel_index; NumPy unravel_index",
        .inputs = unravel_in,
        .relate = relate_unravel,
        .formula = "inner: int64[d in n] = prod(k in n | k > d: index(shape[k])); "
                   "y: t[d in n, ..] = t(mod(floordiv(index(indices[..]), inner[d]), "
                   "index(shape[d])))",
        .facets = BT_FACET_ROWS(BT_CASES(
            "int32[4] = 0..23, int64[3] = 3..4\nint64[] = 0..5, int32[2] = 3..3\n"
            "uint8[2, 2] = 0..7, int32[1] = 8..8\nint32[0], int32[2]")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_einsum[] = { BT_OPS(ops), { 0 } };
