/* Loops: making them. */
#include <baton/loops.h>

#include "compute/graph/graph.h"

#include <ctype.h>
#include <string.h>

#include "compute/formula/lex.h"

bt_loops *bt_loops_create(bt_ctx *ctx, bt_arena *arena, const char *name)
{
    bt_loops *loops = BT_NEW(arena, bt_loops);
    if (!loops)
        return NULL;
    *loops = (bt_loops){ .ctx = ctx, .arena = arena };
    loops->name = bt_loops_word(arena, name);
    loops->graph = bt_graph_create(ctx, arena);
    return loops->graph && loops->name ? loops : NULL;
}

const char *bt_loops_word(bt_arena *arena, const char *name)
{
    bt_text word;
    size_t n = strlen(name);
    bt_text_init(&word, arena);
    struct bt__token token = bt__token_read(name, n, 0);
    if (token.kind == BT__TOKEN_NAME && token.place.width == n)
        return name;
    for (size_t i = 0; i < n; i++) {
        int is_plain =
            isalnum((unsigned char)name[i]) && (i || !isdigit((unsigned char)name[0]));
        bt_text_add(&word, is_plain ? &name[i] : "_", 1);
    }
    return n ? bt_text_get(&word) : "_";
}

bt_status bt_loops_why(const bt_loops *loops)
{
    if (loops->graph->status)
        return loops->graph->status;
    if (bt_arena_has_failed(loops->arena) || bt_arena_has_failed(loops->graph->arena) ||
        bt_arena_has_failed(bt_ctx_scratch(loops->ctx)))
        return bt_no_memory();
    return bt_fail(loops->ctx, BT_ERR_UNSUPPORTED,
                   "%s: no loops were made of it, and no step says why", loops->name);
}

int bt_loops_add_buffer(bt_loops *loops, uint32_t role, const char *name, bt_dtype dtype,
                        const bt_node *nelem, uint32_t *out)
{
    bt_graph *g = loops->graph;
    const bt_node **extent = BT_NEWS(loops->arena, const bt_node *, 1);
    if (!extent || !nelem || !BT_PUSH(loops->arena, &loops->roles, role))
        return 0;
    extent[0] = nelem;
    return bt_graph_add_array(
        g, &(bt_array){ .name = name, .dtype = dtype, .rank = 1, .extents = extent },
        out);
}

int64_t bt_loops_nelem(const bt_loops *loops, uint32_t buffer)
{
    return bt_node_number(loops->graph->arrays[buffer]->extents[0]);
}

bt_stmt *bt_stmt_add(bt_loops *loops, bt_stmts *to, uint32_t kind)
{
    bt_stmt *stmt = BT_NEW(loops->arena, bt_stmt);
    if (!stmt || !BT_PUSH(loops->arena, to, stmt))
        return NULL;
    stmt->kind = kind;
    return stmt;
}

const bt_node *bt_loops_read(bt_loops *loops, uint32_t buffer, const bt_node *offset)
{
    return bt_node_read(loops->graph, buffer, loops->graph->arrays[buffer]->dtype, 1,
                        &offset);
}
