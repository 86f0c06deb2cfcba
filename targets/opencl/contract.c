/* Which sums are of products, by tiles: their dims. */
#include "contract.h"

/* ---- factors ---- */

/* The read that a factor is, through casts that lose nothing; NULL: something else. */
static const bt_node *factor_of(const bt_node *node, bt_dtype sum)
{
    while (node->kind == BT_NODE_CAST) {
        const bt_dtype from = node->args[0]->dtype;
        if (node->dtype != sum || (sum != BT_FLOAT32 && sum != BT_INT32) ||
            bt_dtype_is_float(from) != bt_dtype_is_float(sum) ||
            BT_DTYPE_BITS(from) > 32 || from == BT_UINT32)
            return NULL;
        node = node->args[0];
    }
    const uint32_t bits = BT_DTYPE_BITS(node->dtype);
    if (node->kind != BT_NODE_READ || bits > 32 || node->dtype == BT_UINT32)
        return NULL;
    return bt_dtype_is_float(node->dtype) == bt_dtype_is_float(sum) ? node : NULL;
}

/* What a sum is computed in: of short floats float, which is rounded when it is stored. */
static bt_dtype type_of(const bt_node *reduce)
{
    const bt_dtype dtype = reduce->args[1]->dtype;
    if (dtype == BT_INT32)
        return BT_INT32;
    return bt_dtype_is_float(dtype) && dtype != BT_FLOAT64 ? BT_FLOAT32 : BT_BOOL;
}

/* ---- places ---- */

/* Whether a place is a sum of indices by numbers. */
static int is_affine(const bt_node *place)
{
    bt_linear l;
    bt_node_as_linear(place, &l);
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.atoms[i]->kind != BT_NODE_INDEX || bt_node_number(l.atoms[i]) >= 0)
            return 0;
    }
    return 1;
}

static int are_affine(const bt_graph *g, const bt_node *read)
{
    const bt_array *array = g->arrays[read->which];
    for (uint32_t i = 0; i < read->narg; i++) {
        if (!is_affine(read->args[i]) || bt_node_number(array->extents[i]) < 0)
            return 0;
    }
    return 1;
}

/* Adds a read's steps for an index: strides are of `extents`. 0: they overflow. */
static int add_steps(const bt_node *read, const int64_t *extents, uint32_t index,
                     int64_t *step, int64_t *at)
{
    int64_t stride = 1;
    *step = *at = 0;
    for (uint32_t i = read->narg; i-- > 0;) {
        bt_linear l;
        int64_t part;
        bt_node_as_linear(read->args[i], &l);
        if (!bt_mul_int64(stride, bt_linear_coef(&l, index), &part) ||
            !bt_add_int64(*step, part, step) ||
            !bt_mul_int64(stride, l.constant, &part) || !bt_add_int64(*at, part, at) ||
            !bt_mul_int64(stride, extents[i], &stride))
            return 0;
    }
    return 1;
}

/* ---- the condition ---- */

static int64_t shared_factor(const bt_linear *l)
{
    int64_t by = 0;
    for (uint32_t i = 0; i < l->n; i++)
        by = bt_gcd_int64(by, l->coefs[i]);
    return by < 0 ? -by : by ? by : 1;
}

static int64_t floor_div(int64_t a, int64_t by)
{
    return (a - bt_mod_int64(a, by)) / by;
}

/* Whether 0 <= term says sign * (place - edge) >= 0. */
static int says(const bt_linear *term, const bt_linear *place, int64_t sign, int64_t edge)
{
    const int64_t by = shared_factor(place), own = shared_factor(term);
    if (term->n != place->n ||
        floor_div(term->constant, own) != floor_div(sign * (place->constant - edge), by))
        return 0;
    for (uint32_t i = 0; i < place->n; i++) {
        if (bt_linear_coef(term, place->atoms[i]->which) / own !=
            sign * place->coefs[i] / by)
            return 0;
    }
    return 1;
}

/* Whether a conjunct keeps an axis of the read in its array, and nothing else. */
static int keeps_inside(const bt_graph *g, const bt_node *read, const bt_node *conjunct)
{
    int64_t zero;
    bt_linear term, place;
    if (conjunct->kind != BT_NODE_SCALAR || conjunct->which != BT_SCALAR_LE ||
        !bt_node_is_const(conjunct->args[0], &zero) || zero != 0 ||
        !is_affine(conjunct->args[1]))
        return 0;
    bt_node_as_linear(conjunct->args[1], &term);
    for (uint32_t i = 0; i < read->narg; i++) {
        const int64_t size = bt_node_number(g->arrays[read->which]->extents[i]);
        bt_node_as_linear(read->args[i], &place);
        if (place.n && (says(&term, &place, 1, 0) || says(&term, &place, -1, size - 1)))
            return 1;
    }
    return 0;
}

static int all_inside(const bt_graph *g, const bt_node *read, const bt_nodes *conjuncts)
{
    for (uint32_t i = 0; i < conjuncts->len; i++) {
        if (!keeps_inside(g, read, conjuncts->at[i]))
            return 0;
    }
    return 1;
}

/* ---- roles ---- */

/* The extent of an index: an axis of the stage, or a reduced one; 0: not known. */
static int64_t extent_of(const bt_array *stage, const bt_node *reduce, uint32_t index)
{
    const bt_node *extent =
        index < stage->rank ? stage->extents[index]
        : index >= reduce->first && index < reduce->first + reduce->nindex
            ? reduce->args[2 + index - reduce->first]
            : NULL;
    const int64_t n = extent ? bt_node_number(extent) : 0;
    return n > 0 ? n : 0;
}

static int add_dims(const ocl_contraction *c, const bt_array *stage, uint64_t indices,
                    const int64_t *a, const int64_t *b, ocl_dims *out)
{
    for (uint32_t i = 0; i < BT_MAX_INDEX; i++) {
        ocl_dim dim = { .index = i };
        int64_t at;
        if (!(indices >> i & 1))
            continue;
        dim.extent = extent_of(stage, c->reduce, i);
        if (out->n == OCL_DIMS || !dim.extent ||
            !add_steps(c->reads[0], a, i, &dim.a, &at) ||
            (c->reads[1] && !add_steps(c->reads[1], b, i, &dim.b, &at)))
            return 0;
        out->at[out->n++] = dim;
    }
    return 1;
}

/* The longest reduced dim is the innermost one. */
static void sort_terms(ocl_dims *k)
{
    uint32_t best = k->n - 1;
    for (uint32_t i = k->n; i-- > 0;) {
        if (k->at[i].extent > k->at[best].extent)
            best = i;
    }
    const ocl_dim longest = k->at[best];
    for (uint32_t i = best; i + 1 < k->n; i++)
        k->at[i] = k->at[i + 1];
    k->at[k->n - 1] = longest;
}

int64_t ocl_dims_size(const ocl_dims *dims)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < dims->n; i++)
        n *= dims->at[i]
                 .extent; // of an array that there is, or of terms: below BT_MAX_DIM
    return n;
}

/* Where A is read along its axes. */
static int find_margins(const bt_graph *g, ocl_contraction *c)
{
    const bt_node *read = c->reads[0];
    for (uint32_t i = 0; i < read->narg; i++) {
        ocl_margin *m = &c->margins[i];
        bt_linear l;
        bt_node_as_linear(read->args[i], &l);
        m->place = read->args[i];
        m->size = bt_node_number(g->arrays[read->which]->extents[i]);
        int64_t low = l.constant, high = l.constant;
        for (uint32_t k = 0; k < l.n; k++) {
            const int64_t most = l.coefs[k] * l.atoms[k]->high;
            low += most < 0 ? most : 0;
            high += most > 0 ? most : 0;
        }
        m->low = c->is_guarded ? low : 0;
        m->extent = c->is_guarded ? high - low + 1 : m->size;
        if (m->extent > INT32_MAX || m->extent < 1)
            return 0;
    }
    return 1;
}

static int find_dims(const bt_graph *g, const bt_array *stage, ocl_contraction *c)
{
    const bt_node *second = c->reads[1];
    const uint64_t axes = stage->rank ? UINT64_MAX >> (BT_MAX_INDEX - stage->rank) : 0;
    const uint64_t a = c->reads[0]->free, b = second ? second->free : 0;
    const uint64_t reduced = (UINT64_MAX >> (BT_MAX_INDEX - c->reduce->nindex))
                             << c->reduce->first;
    int64_t as[BT_MAX_RANK] = { 0 }, bs[BT_MAX_RANK] = { 0 }, step, total = 1;
    for (uint32_t i = 0; i < c->reads[0]->narg; i++)
        as[i] = c->margins[i].extent;
    for (uint32_t i = 0; second && i < second->narg; i++)
        bs[i] = bt_node_number(g->arrays[second->which]->extents[i]);
    for (uint32_t i = 0; i < c->reads[0]->narg; i++) {
        if (!bt_mul_int64(total, as[i], &total))
            return 0;
    }
    if (total > INT32_MAX || !add_steps(c->reads[0], as, 0, &step, &c->a_at) ||
        (second && !add_steps(second, bs, 0, &step, &c->b_at)))
        return 0;
    for (uint32_t i = 0, stride = 1; i < c->reads[0]->narg; i++) {
        const uint32_t axis = c->reads[0]->narg - 1 - i;
        c->a_at -= c->margins[axis].low * (int64_t)stride;
        stride *= (uint32_t)as[axis];
    }
    return add_dims(c, stage, a & b & axes, as, bs, &c->batch) &&
           add_dims(c, stage, a & ~b & axes, as, bs, &c->m) &&
           add_dims(c, stage, b & ~a & axes, as, bs, &c->n) &&
           add_dims(c, stage, a & (second ? b : a) & reduced, as, bs, &c->k) && c->k.n;
}

/* ---- the sum of a stage ---- */

/* The only reduction of a stage; NULL: none, or several. */
static const bt_node *find_sum(const bt_node *node, uint32_t *n)
{
    const bt_node *found = NULL;
    if (!node->reduces)
        return NULL;
    if (node->kind == BT_NODE_REDUCE) {
        ++*n;
        return node;
    }
    for (uint32_t i = 0; i < node->narg; i++) {
        const bt_node *inner = find_sum(node->args[i], n);
        found = inner ? inner : found;
    }
    return found;
}

/* What surrounds the sum is computed where it is: it reads where nothing is to be checked, and of
 * arrays that are not much greater. */
static int is_plain(const bt_node *node, const bt_node *sum)
{
    if (node == sum || !node->reads)
        return 1;
    for (uint32_t i = 0; i < node->narg; i++) {
        const bt_node *arg = node->args[i];
        if (!is_plain(arg, sum) ||
            (node->kind == BT_NODE_READ &&
             (arg->reads || (arg->kind != BT_NODE_CONST && arg->kind != BT_NODE_INDEX))))
            return 0;
    }
    return 1;
}

static const bt_node *replaced(bt_graph *g, const bt_node *node, const bt_node *from,
                               const bt_node *to)
{
    if (node == from)
        return to;
    if (!node->reduces)
        return node;
    const bt_node **args = BT_NEWS(g->arena, const bt_node *, node->narg);
    for (uint32_t i = 0; args && i < node->narg; i++) {
        args[i] = replaced(g, node->args[i], from, to);
        if (!args[i])
            return NULL;
    }
    return args ? bt_node_again(g, node, node->first, args) : NULL;
}

/* The stage reads its sums from an array of their own, which stands for them in the text. */
static bt_status set_apart(struct ocl_maker *m, uint32_t stage, ocl_contraction *c)
{
    bt_graph *g = m->graph;
    bt_array *array = g->arrays[stage];
    const bt_array sums = {
        .name = "sums", .dtype = c->dtype, .rank = array->rank, .extents = array->extents
    };
    const bt_node *indices[BT_MAX_RANK];
    if (!bt_graph_add_array(g, &sums, &c->sums))
        return g->status ? g->status : bt_no_memory();
    for (uint32_t i = 0; i < array->rank; i++)
        indices[i] = bt_node_index(g, i, array->extents[i]);
    const bt_node *sum = bt_node_read(g, c->sums, c->dtype, array->rank, indices);
    sum = sum && sum->dtype != c->reduce->dtype ? bt_node_cast(g, c->reduce->dtype, sum)
                                                : sum;
    array->body = sum ? replaced(g, array->body, c->reduce, sum) : NULL;
    return array->body ? NULL : g->status ? g->status : bt_no_memory();
}

/* A and B: of a product of two reads, or of one read; 0: something else is reduced. */
static int find_factors(const bt_graph *g, ocl_contraction *c)
{
    const bt_node *body = c->reduce->args[1];
    if (c->dtype == BT_BOOL)
        return 0;
    if (body->kind == BT_NODE_SCALAR && body->which == BT_SCALAR_MUL) {
        c->reads[0] = factor_of(body->args[0], body->dtype);
        c->reads[1] = factor_of(body->args[1], body->dtype);
        return c->reduce->which == BT_REDUCER_SUM && c->reads[0] && c->reads[1] &&
               are_affine(g, c->reads[0]) && are_affine(g, c->reads[1]);
    }
    c->reads[0] = factor_of(body, body->dtype);
    return (c->reduce->which == BT_REDUCER_SUM || c->reduce->which == BT_REDUCER_MAX ||
            c->reduce->which == BT_REDUCER_MIN) &&
           c->reads[0] && are_affine(g, c->reads[0]);
}

static void exchange(ocl_contraction *c)
{
    const bt_node *first = c->reads[0];
    c->reads[0] = c->reads[1];
    c->reads[1] = first;
}

/* Steps of the last axis in A and B; 0: it is in neither, or short. */
static int find_last(const bt_array *stage, const ocl_contraction *c, ocl_dim *out)
{
    const ocl_dims *of[] = { &c->batch, &c->m };
    for (uint32_t k = 0; k < BT_COUNT(of); k++) {
        for (uint32_t i = 0; i < of[k]->n; i++) {
            *out = of[k]->at[i];
            if (out->index + 1 == stage->rank)
                return out->extent >= OCL_LEAST_LANES;
        }
    }
    return 0;
}

/* Sums that lanes along the last axis take; more terms would lose digits in one chain. */
enum { MAX_TERMS = 4096, MAX_STEP = 4 };
static int is_by_lines(const struct ocl_maker *m, const bt_array *stage,
                       const ocl_contraction *c)
{
    ocl_dim last;
    return m->device->is_cpu && c->dtype == BT_FLOAT32 && c->n.n == 0 &&
           find_last(stage, c, &last) && last.a > 0 && last.a <= MAX_STEP &&
           (last.b == 0 || last.b == 1) && ocl_dims_size(&c->k) <= MAX_TERMS;
}

bt_status ocl_contraction_of(struct ocl_maker *m, uint32_t stage, ocl_contraction *c,
                             ocl_contract_fn **launch)
{
    bt_graph *g = m->graph;
    const bt_array *array = g->arrays[stage];
    const uint64_t axes = array->rank ? UINT64_MAX >> (BT_MAX_INDEX - array->rank) : 0;
    uint64_t own = 0;
    uint32_t nreduce = 0;
    bt_nodes conjuncts = { 0 };
    *c = (ocl_contraction){ .reduce = find_sum(array->body, &nreduce) };
    *launch = NULL;
    if (nreduce != 1 || !is_plain(array->body, c->reduce))
        return NULL;
    c->dtype = type_of(c->reduce);
    if (!find_factors(g, c))
        return NULL;
    if (!bt_node_conjuncts(m->arena, c->reduce->args[0], &conjuncts))
        return bt_no_memory();
    c->is_guarded = c->is_copied = conjuncts.len > 0;
    // A is what is read beyond its ends; B is a constant, where one is
    if (c->reads[1] && (!all_inside(g, c->reads[0], &conjuncts) ||
                        (!c->is_guarded && ocl_is_constant(m, c->reads[0]->which) &&
                         !ocl_is_constant(m, c->reads[1]->which))))
        exchange(c);
    if (!all_inside(g, c->reads[0], &conjuncts) || !find_margins(g, c) ||
        !find_dims(g, array, c))
        return NULL;
    for (uint32_t i = 0; i < array->rank; i++)
        own |= bt_node_number(array->extents[i]) == 1 ? 0 : bt_index_bit(i);
    const uint64_t met = c->reads[0]->free | (c->reads[1] ? c->reads[1]->free : 0);
    if ((met & axes) != (own & axes))
        return NULL;
    *launch = ocl_is_product(m, array, c) ? ocl_contract_product
              : c->reads[1] && c->n.n     ? ocl_contract_tiles
              : is_by_lines(m, array, c)  ? ocl_contract_lines
                                          : NULL;
    // vectors are of floats, and those of every second element end behind it
    if (*launch == ocl_contract_lines) {
        ocl_dim last;
        if ((find_last(array, c, &last) && last.a == 2) ||
            g->arrays[c->reads[0]->which]->dtype != BT_FLOAT32)
            c->is_copied = 1;
        if (c->reads[1] && g->arrays[c->reads[1]->which]->dtype != BT_FLOAT32)
            *launch = NULL;
    }
    sort_terms(&c->k);
    return *launch ? set_apart(m, stage, c) : NULL;
}
