/* Statements by lanes: each for all lanes, then the next. */
#include "lanes.h"

/* ---- where they store ---- */

/* The strip that a private local has become. */
static int own_strip(struct cpu_part *p, uint32_t buffer, const bt_node *offset,
                     struct cpu_value *out)
{
    struct cpu_lanes *l = p->lanes;
    struct cpu_value *own = &l->own[buffer];
    if (!own->dtype && !cpu_strips_new(l, l->v->graph->arrays[buffer]->dtype,
                                       bt_loops_nelem(l->v->loops, buffer), own))
        return 0;
    *out = *own;
    out->temp = CPU_NO_TEMP;
    const bt_node *element = cpu_as_integer(p, offset);
    out->offset =
        element ? bt_node_linear(l->v->graph, 0, 1, &element, (int64_t[]){ l->most })
                : NULL;
    return out->offset != NULL;
}

int cpu_target_of(struct cpu_part *p, uint32_t buffer, const bt_node *offset,
                  struct cpu_value *out, int64_t *stride)
{
    struct cpu_lanes *l = p->lanes;
    if (cpu_is_own(l, buffer)) {
        *stride = 1;
        if (cpu_is_varying(l, offset))
            return cpu_refuse(l->v, "lanes choose from their own locals");
        return own_strip(p, buffer, offset, out);
    }
    *out = (struct cpu_value){ .buffer = buffer,
                               .dtype = l->v->graph->arrays[buffer]->dtype,
                               .temp = CPU_NO_TEMP };
    if (!cpu_place_of(p, offset, &out->offset, stride))
        return l->v->why || l->v->graph->status
                   ? 0
                   : cpu_refuse(l->v, "lanes store where data say");
    out->is_strip = *stride != 0;
    return 1;
}

/* ---- stores ---- */

/* Lanes that the mask leaves out keep what they have. */
static int store_masked(struct cpu_part *p, const bt_node *value,
                        const struct cpu_value *to)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_value made;
    if (!cpu_temp_new(p->lanes, to->dtype, 1, &made) || !cpu_eval_into(p, value, &made))
        return 0;
    struct cpu_call call = { .name = cpu_strip_name(v, "select", to->dtype, ""),
                             .naddress = 4,
                             .at = { *to, *p->mask, made, *to } };
    int ok = call.name && cpu_emit(p, &call, 1);
    cpu_temp_free(v, &made);
    return ok;
}

static int store_at_stride(struct cpu_part *p, const bt_node *value,
                           const struct cpu_value *to, int64_t stride)
{
    struct vectoriser *v = p->lanes->v;
    char name[] = "store.?";
    struct cpu_value from, made, first = *to;
    name[6] = (char)('0' + bt_dtype_nbytes(to->dtype));
    if (!cpu_eval(p, value, &from) || !cpu_convert(p, to->dtype, 1, &from, &made))
        return 0;
    first.is_strip = 0;
    first.offset =
        bt_node_linear(v->graph, 0, 2, (const bt_node *[]){ to->offset, p->at },
                       (int64_t[]){ 1, stride });
    struct cpu_call call = { .name = name,
                             .naddress = 2,
                             .ninteger = 1,
                             .at = { first, made },
                             .integers = { bt_node_int(v->graph, stride) } };
    int ok = first.offset && cpu_emit(p, &call, 1);
    if (made.temp != from.temp)
        cpu_temp_free(v, &made);
    return ok;
}

static int store_rows(struct cpu_part *p, const bt_stmt *stmt,
                      const struct cpu_rows *rows)
{
    struct cpu_value from, made,
        to = { .buffer = stmt->buffer,
               .dtype = p->lanes->v->graph->arrays[stmt->buffer]->dtype,
               .temp = CPU_NO_TEMP };
    if (p->mask)
        return cpu_refuse(p->lanes->v, "some lanes store in rows");
    int ok = cpu_eval(p, stmt->value, &from) &&
             cpu_convert(p, to.dtype, 1, &from, &made) &&
             cpu_emit_rows(p, 1, rows, &to, &made);
    if (ok && made.temp != from.temp)
        cpu_temp_free(p->lanes->v, &made);
    return ok;
}

static int do_store(struct cpu_part *p, const bt_stmt *stmt)
{
    struct cpu_lanes *l = p->lanes;
    struct cpu_value to;
    struct cpu_rows rows;
    int64_t stride;
    if (!cpu_is_own(l, stmt->buffer) && cpu_rows_of(p, stmt->offset, &rows))
        return store_rows(p, stmt, &rows);
    if (!cpu_target_of(p, stmt->buffer, stmt->offset, &to, &stride))
        return 0;
    if (l->index >= 0 && stride == 0)
        return cpu_refuse(l->v, "all lanes store in one place");
    if (p->mask && stride != 1)
        return cpu_refuse(l->v, "some lanes store at a stride");
    // those that the mask leaves out are written too, with what they have
    if (p->mask && !cpu_is_own(l, stmt->buffer) &&
        (stmt->offset->low < 0 ||
         stmt->offset->high >= l->v->graph->arrays[stmt->buffer]->extents[0]->low))
        return cpu_refuse(l->v, "some lanes store where others may not");
    if (stride != 0 && stride != 1)
        return store_at_stride(p, stmt->value, &to, stride);
    return p->mask ? store_masked(p, stmt->value, &to)
                   : cpu_eval_into(p, stmt->value, &to);
}

/* ---- checks ---- */

static int do_check(struct cpu_part *p, const bt_stmt *stmt)
{
    struct cpu_lanes *l = p->lanes;
    struct vectoriser *v = l->v;
    struct cpu_value all, each, full;
    if (p->mask)
        return cpu_refuse(v, "some lanes are checked");
    bt_stmt *check = BT_NEW(v->arena, bt_stmt);
    if (!check)
        return 0;
    *check = *stmt;
    if (!cpu_is_varying(l, stmt->condition)) {
        check->condition = cpu_as_integer(p, stmt->condition);
        return check->condition && BT_PUSH(v->arena, p->to, check);
    }
    struct cpu_value yes;
    if (!cpu_temp_new(l, BT_BOOL, 0, &all) ||
        !cpu_constant_new(v, bt_node_bool(v->graph, 1), &yes) ||
        !cpu_eval(p, stmt->condition, &each) ||
        !cpu_convert(p, BT_BOOL, 1, &each, &full) || !cpu_move(p, &all, &yes))
        return 0;
    struct cpu_call call = { .name = "reduce_all.bool",
                             .naddress = 2,
                             .at = { all, full } };
    if (!cpu_emit(p, &call, 1))
        return 0;
    check->condition = bt_loops_read(v->loops, all.buffer, all.offset);
    cpu_temp_free(v, &all);
    return check->condition && BT_PUSH(v->arena, p->to, check);
}

/* ---- conditions ---- */

/* Executes both branches for all lanes; a mask selects what each lane keeps. */
static int do_masked(struct cpu_part *p, const bt_stmt *stmt)
{
    struct cpu_lanes *l = p->lanes;
    struct vectoriser *v = l->v;
    struct cpu_part own, some;
    bt_map uses;
    struct cpu_value mask, other;
    if (!cpu_temp_new(l, BT_BOOL, 1, &mask) ||
        !cpu_statement_open(p, &own, &uses, 1, &stmt->condition) ||
        !cpu_eval_into(&own, stmt->condition, &mask))
        return 0;
    cpu_part_close(&own);
    other = mask;
    if (stmt->otherwise.len) {
        struct cpu_call call = { .name = "not.bool", .naddress = 2 };
        if (!cpu_temp_new(l, BT_BOOL, 1, &other))
            return 0;
        call.at[0] = other;
        call.at[1] = mask;
        if (!cpu_emit(p, &call, 1))
            return 0;
    }
    for (int i = 0; i < 2; i++) {
        const bt_stmts *branch = i ? &stmt->otherwise : &stmt->body;
        const struct cpu_value *which = i ? &other : &mask;
        if (!branch->len)
            continue;
        if (p->mask) {
            struct cpu_call call = { .name = "and.bool",
                                     .naddress = 3,
                                     .at = { *which, *which, *p->mask } };
            if (!cpu_emit(p, &call, 1))
                return 0;
        }
        some = *p;
        some.mask = which;
        if (!cpu_read_before(&some, stmt->condition))
            return 0;
        some.is_guarded = 1;
        if (!cpu_do_block(&some, branch))
            return 0;
    }
    if (stmt->otherwise.len)
        cpu_temp_free(v, &other);
    cpu_temp_free(v, &mask);
    return 1;
}

static int do_range(struct cpu_part *p, const bt_stmts *block, const bt_node *low,
                    const bt_node *high)
{
    struct cpu_part some;
    return !block->len || (cpu_part_narrow(p, low, high, &some) &&
                           (!some.to || cpu_do_block(&some, block)));
}

/* Those that hold for ranges of lanes, then the rest. */
static int do_ranges(struct cpu_part *p, const bt_stmt *stmt,
                     const struct cpu_split *split)
{
    bt_graph *g = p->lanes->v->graph;
    const bt_node *low, *high, *end = bt_node_scalar(g, BT_SCALAR_ADD, p->at, p->count);
    struct cpu_part some;
    bt_stmt rest = { .kind = BT_STMT_IF, .body = stmt->body };
    if (!end)
        return 0;
    if (!split->ranges.len && !split->others.len)
        return cpu_do_block(p, &stmt->body);
    if (!split->ranges.len)
        return do_masked(p, stmt);
    if (!cpu_split_range(p, split, &low, &high))
        return 0;
    if (!split->others.len)
        return do_range(p, &stmt->body, low, high) &&
               do_range(p, &stmt->otherwise, p->at, low) &&
               do_range(p, &stmt->otherwise, high, end);
    rest.condition = bt_node_bool(g, 1);
    for (uint32_t i = 0; i < split->others.len; i++)
        rest.condition = bt_node_and(g, rest.condition, split->others.at[i]);
    return rest.condition && cpu_part_narrow(p, low, high, &some) &&
           (!some.to || do_masked(&some, &rest));
}

static int do_if(struct cpu_part *p, const bt_stmt *stmt)
{
    struct cpu_split split;
    struct cpu_part own, yes, no;
    bt_map uses;
    bt_stmt inner = *stmt;
    if (bt_node_is_false(stmt->condition))
        return cpu_do_block(p, &stmt->otherwise);
    if (!cpu_split(p, stmt->condition, &split))
        return 0;
    int nkind = (split.same.len > 0) + (split.ranges.len > 0) + (split.others.len > 0);
    if (stmt->otherwise.len && (nkind > 1 || split.others.len))
        return do_masked(p, stmt);
    if (!split.same.len)
        return do_ranges(p, stmt, &split);
    if (!cpu_statement_open(p, &own, &uses, split.same.len, split.same.at))
        return 0;
    const bt_node *condition = cpu_split_same(&own, &split);
    if (!condition || !cpu_part_if(p, condition, &yes, &no))
        return 0;
    cpu_part_close(&own);
    inner.otherwise = (bt_stmts){ 0 };
    return do_ranges(&yes, &inner, &split) && cpu_do_block(&no, &stmt->otherwise);
}

/* ---- all ---- */

static int do_for(struct cpu_part *p, const bt_stmt *stmt)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_part body = *p;
    int is_done;
    if (!cpu_do_window(p, stmt, &is_done) || is_done)
        return is_done && !v->why;
    if (!cpu_do_rows(p, stmt, &is_done) || is_done)
        return is_done && !v->why;
    bt_stmt *loop = bt_stmt_add(v->loops, p->to, BT_STMT_FOR);
    if (!loop)
        return 0;
    loop->index = stmt->index;
    loop->extent = stmt->extent;
    body.to = &loop->body;
    return cpu_do_block(&body, &stmt->body);
}

static int do_leaf(struct cpu_part *p, const bt_stmt *stmt)
{
    const bt_node *roots[4] = { stmt->value, stmt->offset, stmt->condition,
                                stmt->position };
    uint32_t n = 0;
    struct cpu_part own;
    bt_map uses;
    for (uint32_t i = 0; i < BT_COUNT(roots); i++) {
        if (roots[i])
            roots[n++] = roots[i];
    }
    int ok = cpu_statement_open(p, &own, &uses, n, roots) &&
             (stmt->kind == BT_STMT_STORE   ? do_store(&own, stmt)
              : stmt->kind == BT_STMT_CHECK ? do_check(&own, stmt)
                                            : cpu_do_take(&own, stmt));
    cpu_part_close(&own);
    return ok;
}

int cpu_do_block(struct cpu_part *p, const bt_stmts *block)
{
    for (uint32_t i = 0; i < block->len; i++) {
        const bt_stmt *stmt = block->at[i];
        int ok = stmt->kind == BT_STMT_FOR  ? do_for(p, stmt)
                 : stmt->kind == BT_STMT_IF ? do_if(p, stmt)
                 : stmt->kind == BT_STMT_CALL
                     ? cpu_refuse(p->lanes->v,
                                  "a loop around a call is done iteration by iteration")
                     : do_leaf(p, stmt);
        if (!ok)
            return 0;
    }
    return 1;
}
