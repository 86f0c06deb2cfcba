/* What is left when all is chosen: constants get their values, other buffers go. */
#include <string.h>

#include "lanes.h"

/* ---- constants ---- */

static int is_used(const bt_stmts *block, const struct cpu_constant *c)
{
    int64_t offset;
    for (uint32_t i = 0; i < block->len; i++) {
        const bt_stmt *stmt = block->at[i];
        for (uint32_t k = 0; k < stmt->narg; k++) {
            if (stmt->args[k].is_address && stmt->args[k].buffer == c->buffer &&
                bt_node_is_const(stmt->args[k].value, &offset) && offset == c->offset)
                return 1;
        }
        if (is_used(&stmt->body, c) || is_used(&stmt->otherwise, c))
            return 1;
    }
    return 0;
}

/* As the bits of an integer of its width, or through one. */
static int set_constant(struct cpu_part *p, const struct cpu_constant *c)
{
    struct vectoriser *v = p->lanes->v;
    bt_dtype dtype = c->node->dtype;
    size_t nbytes = bt_dtype_nbytes(dtype);
    struct cpu_value to = { .buffer = c->buffer, .dtype = dtype, .temp = CPU_NO_TEMP };
    struct cpu_call call = { .name = nbytes == 8 ? "iota.int64" : "iota.int32",
                             .naddress = 1,
                             .ninteger = 2 };
    int64_t bits = c->node->value.i;
    to.offset = bt_node_int(v->graph, c->offset);
    if (dtype == BT_FLOAT32) {
        float value = (float)c->node->value.f;
        int32_t word;
        memcpy(&word, &value, sizeof(word));
        bits = word;
    }
    if (nbytes < 4) {
        struct cpu_value number;
        call.name = "iota.int64";
        if (!cpu_temp_new(p->lanes, BT_INT64, 0, &number))
            return 0;
        call.at[0] = number;
        call.integers[0] = bt_node_int(v->graph, bits);
        call.integers[1] = bt_node_int(v->graph, 0);
        int ok = to.offset && cpu_emit(p, &call, 0) && cpu_cast(p, &to, &number);
        cpu_temp_free(v, &number);
        return ok;
    }
    call.at[0] = to;
    call.integers[0] = bt_node_int(v->graph, bits);
    call.integers[1] = bt_node_int(v->graph, 0);
    return to.offset && cpu_emit(p, &call, 0);
}

static int set_constants(struct vectoriser *v, const bt_stmts *body, bt_stmts *to)
{
    struct cpu_lanes l = { .v = v, .index = -1, .most = 1 };
    struct cpu_part p = { .lanes = &l, .to = to };
    p.at = bt_node_int(v->graph, 0);
    p.count = bt_node_int(v->graph, 1);
    for (uint32_t i = 0; i < v->constants.len; i++) {
        if (is_used(body, &v->constants.at[i]) && !set_constant(&p, &v->constants.at[i]))
            return 0;
    }
    return p.at && p.count;
}

int cpu_tidy(struct vectoriser *v, bt_stmts *body)
{
    bt_stmts all = { 0 };
    if (!set_constants(v, body, &all))
        return 0;
    for (uint32_t i = 0; i < body->len; i++) {
        if (!BT_PUSH(v->arena, &all, body->at[i]))
            return 0;
    }
    *body = all;
    return 1;
}
