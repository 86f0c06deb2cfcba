/*
 * Index arithmetic by lanes, and reads: an address where elements are neighbours, loads
 * at a stride, else gathers.
 */
#include <stdio.h>

#include "lanes.h"

/* ---- sums ---- */

/* first + lane * coef of all lanes */
static int make_iota(struct cpu_part *p, const bt_node *first, int64_t coef,
                     const struct cpu_value *to, struct cpu_value *out)
{
    bt_graph *g = p->lanes->v->graph;
    struct cpu_call call = { .name = "iota.int64", .naddress = 1, .ninteger = 2 };
    if (!cpu_place(p, BT_INT64, 1, to, out))
        return 0;
    call.at[0] = *out;
    call.integers[0] = bt_node_linear(g, 0, 2, (const bt_node *[]){ first, p->at },
                                      (int64_t[]){ 1, coef });
    call.integers[1] = bt_node_int(g, coef);
    return cpu_emit(p, &call, 1);
}

/* Splits off what the engine computes: *first + lane * *coef. */
static const bt_node *linear_start(struct cpu_part *p, const bt_node *node, int64_t *coef,
                                   uint64_t *rest)
{
    struct cpu_lanes *l = p->lanes;
    bt_graph *g = l->v->graph;
    bt_linear in;
    const bt_node *first;
    bt_node_as_linear(node, &in);
    *coef = 0;
    *rest = 0;
    first = bt_node_int(g, in.constant);
    for (uint32_t i = 0; i < in.n && first; i++) {
        const bt_node *atom = in.atoms[i];
        int is_index = atom->kind == BT_NODE_INDEX && (int64_t)atom->which == l->index;
        if (is_index)
            *coef = in.coefs[i];
        if (is_index || (!cpu_is_varying(l, atom) && cpu_is_integer(atom)))
            first = bt_node_linear(
                g, 0, 2, (const bt_node *[]){ first, is_index ? l->first : atom },
                (int64_t[]){ 1, in.coefs[i] });
        else if (i < 64)
            *rest |= UINT64_C(1) << i;
        else
            cpu_refuse(l->v, "an index has too many terms");
    }
    return l->v->why ? NULL : first;
}

static int add_term(struct cpu_part *p, const bt_node *atom, int64_t coef,
                    struct cpu_value *sum, int *has_sum)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_value term, scaled, number, joined;
    if (!cpu_eval(p, atom, &term))
        return 0;
    scaled = term;
    if (coef != 1) {
        struct cpu_call mul = { .name = term.is_strip ? "mul.int64.s" : "mul.int64",
                                .naddress = 3 };
        if (!cpu_number(p, bt_node_int(v->graph, coef), &number))
            return 0;
        cpu_drop(p, atom);
        if (!cpu_temp_new(p->lanes, BT_INT64, (int)term.is_strip, &scaled))
            return 0;
        mul.at[0] = scaled;
        mul.at[1] = term;
        mul.at[2] = number;
        if (!cpu_emit(p, &mul, (int)term.is_strip))
            return 0;
    }
    if (!*has_sum) {
        *has_sum = 1;
        // what others use stays as it is
        if (coef != 1)
            *sum = scaled;
        else if (!cpu_temp_new(p->lanes, BT_INT64, (int)term.is_strip, sum) ||
                 !cpu_move(p, sum, &term))
            return 0;
        if (coef == 1)
            cpu_drop(p, atom);
        return 1;
    }
    int is_strip = sum->is_strip || scaled.is_strip;
    int is_swapped = !sum->is_strip && scaled.is_strip;
    struct cpu_call add = { .naddress = 3 };
    add.name = sum->is_strip == scaled.is_strip ? "add.int64" : "add.int64.s";
    if (is_strip && !sum->is_strip) {
        if (!cpu_temp_new(p->lanes, BT_INT64, 1, &joined))
            return 0;
    } else {
        joined = *sum;
    }
    add.at[0] = joined;
    add.at[1] = is_swapped ? scaled : *sum;
    add.at[2] = is_swapped ? *sum : scaled;
    if (!cpu_emit(p, &add, is_strip))
        return 0;
    if (coef != 1)
        cpu_temp_free(v, &scaled);
    else
        cpu_drop(p, atom);
    if (joined.temp != sum->temp)
        cpu_temp_free(v, sum);
    *sum = joined;
    return 1;
}

int cpu_linear(struct cpu_part *p, const bt_node *node, struct cpu_value *out)
{
    int64_t coef, zero;
    uint64_t rest;
    bt_linear in;
    int has_sum = 0;
    const bt_node *first = linear_start(p, node, &coef, &rest);
    if (!first)
        return 0;
    bt_node_as_linear(node, &in);
    if (coef) {
        has_sum = 1;
        if (!make_iota(p, first, coef, NULL, out))
            return 0;
    }
    for (uint32_t i = 0; i < in.n; i++) {
        if ((rest >> i & 1) && !add_term(p, in.atoms[i], in.coefs[i], out, &has_sum))
            return 0;
    }
    // one integer for all, in an expression that is too large for the engine
    if (!has_sum)
        return cpu_number(p, first, out);
    if (coef || (bt_node_is_const(first, &zero) && zero == 0))
        return 1;
    struct cpu_value number;
    if (!cpu_number(p, first, &number))
        return 0;
    struct cpu_call add = { .name = out->is_strip ? "add.int64.s" : "add.int64",
                            .naddress = 3,
                            .at = { *out, *out, number } };
    int ok = cpu_emit(p, &add, (int)out->is_strip);
    cpu_temp_free(p->lanes->v, &number);
    return ok;
}

/* ---- reads ---- */

int cpu_place_of(struct cpu_part *p, const bt_node *offset, const bt_node **out,
                 int64_t *stride)
{
    uint64_t rest = 0;
    *stride = 0;
    if (!cpu_is_varying(p->lanes, offset)) {
        *out = cpu_as_integer(p, offset);
        return *out != NULL;
    }
    *out = linear_start(p, offset, stride, &rest);
    if (rest)
        *stride = 0;
    return *out && !rest && *stride;
}

static const bt_node *nelem_of(const struct cpu_part *p, uint32_t buffer)
{
    return p->lanes->v->graph->arrays[buffer]->extents[0];
}

/* Whether no lane reads beyond the buffer. */
static int is_inside(const struct cpu_part *p, const bt_node *offset, uint32_t buffer)
{
    const bt_node *nelem = nelem_of(p, buffer);
    if (!p->is_guarded || (offset->low >= 0 && offset->high < nelem->low))
        return 1;
    for (const struct cpu_inside *at = p->inside; at; at = at->next) {
        if (at->offset == offset && at->nelem == nelem)
            return 1;
    }
    return 0;
}

static int add_inside(struct cpu_part *p, const bt_node *node, uint8_t *seen)
{
    if (!node->reads || seen[node->id])
        return 1;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_READ) {
        struct cpu_inside *here = BT_NEW(p->lanes->v->scratch, struct cpu_inside);
        if (!here)
            return 0;
        *here = (struct cpu_inside){ p->inside, node->args[0], nelem_of(p, node->which) };
        p->inside = here;
    }
    // what is selected may be read by some lanes only
    const uint32_t narg = node->kind == BT_NODE_SELECT ? 1 : node->narg;
    for (uint32_t i = 0; i < narg; i++) {
        if (!add_inside(p, node->args[i], seen))
            return 0;
    }
    return 1;
}

int cpu_read_before(struct cpu_part *p, const bt_node *condition)
{
    uint8_t *seen = BT_NEWS(p->lanes->v->scratch, uint8_t, p->lanes->v->graph->nnode + 1);
    return seen && (p->is_guarded || add_inside(p, condition, seen));
}

/* The last element, for lanes that would read beyond; NULL: failure. */
static const bt_node *last_of(struct cpu_part *p, uint32_t buffer)
{
    const bt_node *nelem = nelem_of(p, buffer);
    if (nelem->low > 0)
        return bt_node_linear(p->lanes->v->graph, -1, 1, &nelem, (int64_t[]){ 1 });
    cpu_refuse(p->lanes->v, "some lanes read what may be empty");
    return NULL;
}

static int clamp_strip(struct cpu_part *p, uint32_t buffer, struct cpu_value *index)
{
    static const char *const names[] = { "max.int64.s", "min.int64.s" };
    const bt_node *bounds[] = { bt_node_int(p->lanes->v->graph, 0), last_of(p, buffer) };
    for (int i = 0; i < 2; i++) {
        struct cpu_value bound, clamped;
        if (!bounds[i] || !cpu_number(p, bounds[i], &bound) ||
            !cpu_temp_new(p->lanes, BT_INT64, 1, &clamped))
            return 0;
        struct cpu_call call = { .name = names[i],
                                 .naddress = 3,
                                 .at = { clamped, *index, bound } };
        if (!cpu_emit(p, &call, 1))
            return 0;
        if (i)
            cpu_temp_free(p->lanes->v, index);
        *index = clamped;
    }
    return 1;
}

static int gather(struct cpu_part *p, const bt_node *node, const struct cpu_value *to,
                  struct cpu_value *out)
{
    struct vectoriser *v = p->lanes->v;
    const bt_node *offset = node->args[0];
    char name[] = "gather.?";
    struct cpu_value index, whole = { .buffer = node->which, .dtype = node->dtype };
    whole.offset = bt_node_int(v->graph, 0);
    if (!whole.offset || !cpu_eval(p, offset, &index))
        return 0;
    int is_clamped = !is_inside(p, offset, node->which);
    if (is_clamped && !clamp_strip(p, node->which, &index))
        return 0;
    cpu_drop(p, offset);
    name[7] = (char)('0' + bt_dtype_nbytes(node->dtype));
    if (!cpu_place(p, node->dtype, 1, to, out))
        return 0;
    struct cpu_call call = { .name = name, .naddress = 3, .at = { *out, whole, index } };
    if (!cpu_emit(p, &call, 1))
        return 0;
    if (is_clamped)
        cpu_temp_free(v, &index);
    return 1;
}

/* The same number from lane to lane, which may be known at the call only: *first + lane *
 * *stride. */
static int open_place_of(struct cpu_part *p, const bt_node *offset, const bt_node **first,
                         const bt_node **stride)
{
    const struct cpu_lanes *l = p->lanes;
    bt_graph *g = l->v->graph;
    const uint32_t index = (uint32_t)l->index;
    const bt_node *lane = bt_node_index(g, index, bt_node_int(g, BT_MAX_DIM));
    const bt_node *next = bt_node_linear(g, 1, 1, &lane, (int64_t[]){ 1 });
    *stride = bt_node_scalar(g, BT_SCALAR_SUB, bt_node_substitute(g, offset, index, next),
                             bt_node_substitute(g, offset, index, lane));
    if (!*stride || cpu_is_varying(p->lanes, *stride) || !cpu_is_integer(*stride))
        return 0;
    *first = cpu_at_first(p->lanes, offset);
    // what reads a local of each lane differs from lane to lane without its index
    return *first && !cpu_is_varying(p->lanes, *first) && cpu_is_integer(*first);
}

static int load(struct cpu_part *p, const struct cpu_value *from, const bt_node *stride,
                const struct cpu_value *to, struct cpu_value *out)
{
    bt_graph *g = p->lanes->v->graph;
    char name[] = "load.?";
    struct cpu_value first = *from;
    name[5] = (char)('0' + bt_dtype_nbytes(from->dtype));
    first.is_strip = 0;
    first.offset = bt_node_scalar(g, BT_SCALAR_ADD, from->offset,
                                  bt_node_scalar(g, BT_SCALAR_MUL, p->at, stride));
    if (!first.offset || !cpu_place(p, from->dtype, 1, to, out))
        return 0;
    struct cpu_call call = { .name = name,
                             .naddress = 2,
                             .ninteger = 1,
                             .at = { *out, first },
                             .integers = { stride } };
    return cpu_emit(p, &call, 1);
}

/* ---- rows ---- */

/* index / columns or index % columns: by which number; 0: neither. */
static int64_t divisor_of(const struct cpu_lanes *l, const bt_node *atom)
{
    int64_t by;
    return atom->kind == BT_NODE_SCALAR &&
                   (atom->which == BT_SCALAR_FLOORDIV || atom->which == BT_SCALAR_MOD) &&
                   atom->args[0]->kind == BT_NODE_INDEX &&
                   (int64_t)atom->args[0]->which == l->index &&
                   bt_node_is_const(atom->args[1], &by) && by > 1 && l->most % by == 0
               ? by
               : 0;
}

int cpu_rows_of(struct cpu_part *p, const bt_node *offset, struct cpu_rows *out)
{
    const struct cpu_lanes *l = p->lanes;
    bt_graph *g = l->v->graph;
    int64_t along = 0;
    bt_linear in;
    bt_node_as_linear(offset, &in);
    *out = (struct cpu_rows){ .first = bt_node_int(g, in.constant) };
    for (uint32_t i = 0; i < in.n && out->first; i++) {
        const bt_node *atom = in.atoms[i];
        const int64_t by = divisor_of(l, atom);
        if (by && out->columns && by != out->columns)
            return 0;
        if (by)
            out->columns = by;
        if (by && atom->which == BT_SCALAR_FLOORDIV)
            out->row = in.coefs[i];
        else if (by)
            out->step = in.coefs[i];
        else if (atom->kind == BT_NODE_INDEX && (int64_t)atom->which == l->index)
            along = in.coefs[i];
        else if (cpu_is_varying(p->lanes, atom) || !cpu_is_integer(atom))
            return 0;
        else
            out->first = bt_node_linear(g, 0, 2, (const bt_node *[]){ out->first, atom },
                                        (int64_t[]){ 1, in.coefs[i] });
    }
    int64_t whole;
    if (!out->columns || !bt_mul_int64(along, out->columns, &whole) ||
        !bt_add_int64(out->row, whole, &out->row) ||
        !bt_add_int64(out->step, along, &out->step))
        return 0;
    // strips begin with a row
    const bt_node *row =
        bt_node_scalar(g, BT_SCALAR_FLOORDIV, l->first, bt_node_int(g, out->columns));
    out->first = out->first && row
                     ? bt_node_linear(g, 0, 2, (const bt_node *[]){ out->first, row },
                                      (int64_t[]){ 1, out->row })
                     : NULL;
    return out->first != NULL;
}

int cpu_emit_rows(struct cpu_part *p, int is_store, const struct cpu_rows *rows,
                  const struct cpu_value *of, const struct cpu_value *strip)
{
    bt_graph *g = p->lanes->v->graph;
    struct cpu_value first = *of;
    first.is_strip = 0;
    first.offset = rows->first;
    char name[16];
    snprintf(name, sizeof(name), "%s_rows.%u", is_store ? "store" : "load",
             (unsigned)bt_dtype_nbytes(of->dtype));
    struct cpu_call call = { .name = name,
                             .naddress = 2,
                             .ninteger = 4,
                             .at = { *strip, first },
                             .integers = { bt_node_int(g, rows->columns),
                                           bt_node_int(g, rows->row),
                                           bt_node_int(g, rows->step), p->at } };
    if (is_store) {
        call.at[0] = first;
        call.at[1] = *strip;
    }
    return cpu_emit(p, &call, 1);
}

/* ---- all ---- */

/* An element for all; guarded, some element. */
static int read_one(struct cpu_part *p, const bt_node *node, struct cpu_value *out)
{
    bt_graph *g = p->lanes->v->graph;
    const bt_node *offset = cpu_as_integer(p, node->args[0]);
    if (offset && !is_inside(p, offset, node->which))
        offset = bt_node_scalar(
            g, BT_SCALAR_MAX, bt_node_int(g, 0),
            bt_node_scalar(g, BT_SCALAR_MIN, offset, last_of(p, node->which)));
    *out = (struct cpu_value){
        .buffer = node->which, .dtype = node->dtype, .offset = offset, .temp = CPU_NO_TEMP
    };
    return offset != NULL;
}

int cpu_read(struct cpu_part *p, const bt_node *node, const struct cpu_value *to,
             struct cpu_value *out)
{
    struct cpu_lanes *l = p->lanes;
    const bt_node *offset = node->args[0];
    int64_t stride;
    if (!cpu_is_varying(l, node))
        return read_one(p, node, out);
    if (cpu_is_own(l, node->which)) {
        if (!cpu_target_of(p, node->which, offset, out, &stride))
            return 0;
        return stride == 1 ? 1 : cpu_refuse(l->v, "lanes choose from their own locals");
    }
    *out = (struct cpu_value){
        .is_strip = 1, .buffer = node->which, .dtype = node->dtype, .temp = CPU_NO_TEMP
    };
    if (!is_inside(p, offset, node->which))
        return gather(p, node, to, out);
    const bt_node *step = NULL;
    struct cpu_rows rows;
    if (cpu_rows_of(p, offset, &rows)) {
        const struct cpu_value from = *out;
        return cpu_place(p, from.dtype, 1, to, out) &&
               cpu_emit_rows(p, 0, &rows, &from, out);
    }
    if (cpu_place_of(p, offset, &out->offset, &stride))
        step = bt_node_int(l->v->graph, stride);
    else if (l->v->why || !open_place_of(p, offset, &out->offset, &step))
        return l->v->why || l->v->graph->status ? 0 : gather(p, node, to, out);
    if (stride == 1)
        return 1;
    struct cpu_value from = *out;
    return load(p, &from, step, to, out);
}
