/* Calls of strips, and the memory they work on. */
#include <string.h>

#include "lanes.h"

int cpu_refuse(struct vectoriser *v, const char *why)
{
    v->why = why;
    return 0;
}

/* ---- names ---- */

const char *cpu_strip_name(struct vectoriser *v, const char *name, bt_dtype dtype,
                           const char *suffix)
{
    char buffer[BT_DTYPE_NAME_SIZE];
    bt_text text;
    bt_text_init(&text, v->scratch);
    bt_text_addf(&text, "%s.%s%s", name, bt_dtype_name(dtype, buffer, sizeof(buffer)),
                 suffix);
    return bt_text_get(&text);
}

/* ---- calls ---- */

static int set_address(struct cpu_part *p, const struct cpu_value *value,
                       bt_call_arg *out)
{
    out->is_address = 1;
    out->buffer = value->buffer;
    out->value = !value->is_strip
                     ? value->offset
                     : bt_node_linear(p->lanes->v->graph, 0, 2,
                                      (const bt_node *[]){ value->offset, p->at },
                                      (int64_t[]){ 1, 1 });
    return out->value != NULL;
}

int cpu_emit(struct cpu_part *p, const struct cpu_call *call, int is_strip)
{
    struct vectoriser *v = p->lanes->v;
    const struct cpu_callee *row = call->name ? cpu_row_of(v->config, call->name) : NULL;
    uint32_t narg = call->naddress + 1 + call->ninteger;
    if (call->name && !row)
        return cpu_refuse(v, "there is no strip for one of its operators");
    bt_stmt *stmt = row ? bt_stmt_add(v->loops, p->to, BT_STMT_CALL) : NULL;
    if (!stmt)
        return 0;
    stmt->callee = row->name;
    stmt->narg = narg;
    stmt->args = BT_NEWS(v->arena, bt_call_arg, narg);
    if (!stmt->args)
        return 0;
    for (uint32_t i = 0; i < call->naddress; i++) {
        if (!set_address(p, &call->at[i], &stmt->args[i]))
            return 0;
    }
    stmt->args[call->naddress].value = is_strip ? p->count : bt_node_int(v->graph, 1);
    for (uint32_t i = 0; i < call->ninteger; i++)
        stmt->args[call->naddress + 1 + i].value = call->integers[i];
    for (uint32_t i = 0; i < narg; i++) {
        if (!stmt->args[i].value)
            return 0;
    }
    return 1;
}

/* ---- temps ---- */

static int new_buffer(struct vectoriser *v, uint32_t role, char kind, bt_dtype dtype,
                      int64_t nelem, uint32_t *out)
{
    bt_text name;
    bt_text_init(&name, v->arena);
    bt_text_addf(&name, "%c%u", kind, v->graph->narray);
    return bt_text_get(&name) &&
           bt_loops_add_buffer(v->loops, role, bt_text_get(&name), dtype,
                               bt_node_int(v->graph, nelem), out);
}

static int grow_buffer(struct vectoriser *v, uint32_t buffer, int64_t nelem)
{
    const bt_node **extent = BT_NEWS(v->arena, const bt_node *, 1);
    if (bt_loops_nelem(v->loops, buffer) >= nelem)
        return 1;
    if (!extent || !(extent[0] = bt_node_int(v->graph, nelem)))
        return 0;
    v->graph->arrays[buffer]->extents = extent;
    return 1;
}

int cpu_temp_new(struct cpu_lanes *l, bt_dtype dtype, int is_strip, struct cpu_value *out)
{
    struct vectoriser *v = l->v;
    struct cpu_temp *temp = NULL;
    int64_t nelem = is_strip ? l->most : 1;
    if (is_strip && l->is_bare)
        return cpu_refuse(v, "long strips have no temporaries");
    for (uint32_t i = 0; i < v->temps.len && !temp; i++) {
        struct cpu_temp *t = &v->temps.at[i];
        if (!t->is_taken && t->dtype == dtype && t->is_strip == (uint32_t)is_strip)
            temp = t;
    }
    if (!temp) {
        struct cpu_temp made = { .is_strip = (uint32_t)is_strip, .dtype = dtype };
        if (!new_buffer(v, BT_BUFFER_LOCAL, is_strip ? 'v' : 'u', dtype, nelem,
                        &made.buffer) ||
            !BT_PUSH(v->scratch, &v->temps, made))
            return 0;
        temp = &v->temps.at[v->temps.len - 1];
    }
    if (!grow_buffer(v, temp->buffer, nelem))
        return 0;
    temp->is_taken = 1;
    *out = (struct cpu_value){ .is_strip = (uint32_t)is_strip,
                               .buffer = temp->buffer,
                               .dtype = dtype,
                               .offset = bt_node_int(v->graph, 0),
                               .temp = (int32_t)(temp - v->temps.at) };
    return out->offset != NULL;
}

int cpu_strips_new(struct cpu_lanes *l, bt_dtype dtype, int64_t nelem,
                   struct cpu_value *out)
{
    int64_t total;
    if (nelem == 1)
        return cpu_temp_new(l, dtype, 1, out);
    *out = (struct cpu_value){ .is_strip = 1, .dtype = dtype, .temp = CPU_NO_TEMP };
    out->offset = bt_node_int(l->v->graph, 0);
    if (!bt_mul_int64(nelem, l->most, &total) || total > 16 * CPU_STRIP_NELEM)
        return cpu_refuse(l->v, "a local is too large for each lane to have one");
    return out->offset &&
           new_buffer(l->v, BT_BUFFER_LOCAL, 'v', dtype, total, &out->buffer);
}

void cpu_temp_free(struct vectoriser *v, const struct cpu_value *value)
{
    if (value->temp >= 0)
        v->temps.at[value->temp].is_taken = 0;
}

/* ---- constants ---- */

/* They stand in buffers of all threads, by dtype; vectorise_tidy.c fills them. */
int cpu_constant_new(struct vectoriser *v, const bt_node *node, struct cpu_value *out)
{
    struct cpu_constant made = { .node = node };
    int is_known = 0;
    if (!node)
        return 0;
    for (uint32_t i = 0; i < v->constants.len; i++) {
        struct cpu_constant *c = &v->constants.at[i];
        if (c->node == node) {
            made = *c;
            is_known = 2;
            break;
        }
        if (c->node->dtype == node->dtype) {
            made.buffer = c->buffer;
            made.offset = c->offset + 1;
            is_known = 1;
        }
    }
    if ((!is_known &&
         !new_buffer(v, BT_BUFFER_TEMP, 'c', node->dtype, 1, &made.buffer)) ||
        (is_known == 1 && !grow_buffer(v, made.buffer, made.offset + 1)) ||
        (is_known < 2 && !BT_PUSH(v->scratch, &v->constants, made)))
        return 0;
    *out = (struct cpu_value){ .buffer = made.buffer,
                               .dtype = node->dtype,
                               .offset = bt_node_int(v->graph, made.offset),
                               .temp = CPU_NO_TEMP };
    return out->offset != NULL;
}

/* ---- moving ---- */

int cpu_number(struct cpu_part *p, const bt_node *node, struct cpu_value *out)
{
    struct cpu_call call = { .name = "iota.int64", .naddress = 1, .ninteger = 2 };
    if (!node || node->kind == BT_NODE_CONST)
        return cpu_constant_new(p->lanes->v, node, out);
    if (!cpu_temp_new(p->lanes, BT_INT64, 0, out))
        return 0;
    call.at[0] = *out;
    call.integers[0] = node;
    call.integers[1] = bt_node_int(p->lanes->v->graph, 0);
    return cpu_emit(p, &call, 0);
}

int cpu_move(struct cpu_part *p, const struct cpu_value *to, const struct cpu_value *from)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_call call = { .naddress = 2, .at = { *to, *from } };
    char name[16];
    if (to->buffer == from->buffer && to->offset == from->offset &&
        to->is_strip == from->is_strip)
        return 1;
    if (to->is_strip == from->is_strip) {
        size_t nbytes = bt_dtype_nbytes(to->dtype);
        memcpy(name, "copy.?", sizeof("copy.?"));
        name[5] = (char)('0' + nbytes);
        call.name = name;
    } else {
        call.name = cpu_strip_name(v, "fill", to->dtype, "");
    }
    return call.name && cpu_emit(p, &call, (int)to->is_strip);
}

int cpu_cast(struct cpu_part *p, const struct cpu_value *to, const struct cpu_value *from)
{
    char suffix[BT_DTYPE_NAME_SIZE + 1] = ".";
    bt_dtype_name(to->dtype, suffix + 1, BT_DTYPE_NAME_SIZE);
    struct cpu_call call = { .name =
                                 cpu_strip_name(p->lanes->v, "cast", from->dtype, suffix),
                             .naddress = 2,
                             .at = { *to, *from } };
    return call.name && cpu_emit(p, &call, (int)to->is_strip);
}

int cpu_convert(struct cpu_part *p, bt_dtype dtype, int is_strip,
                const struct cpu_value *from, struct cpu_value *out)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_value value = *from;
    if (from->dtype != dtype &&
        (!cpu_temp_new(p->lanes, dtype, (int)from->is_strip, &value) ||
         !cpu_cast(p, &value, from)))
        return 0;
    *out = value;
    if (!is_strip || value.is_strip)
        return 1;
    if (!cpu_temp_new(p->lanes, dtype, 1, out) || !cpu_move(p, out, &value))
        return 0;
    if (from->dtype != dtype)
        cpu_temp_free(v, &value);
    return 1;
}
