/* Loop programs: making them. */
#include "compute/loops.h"

#include <ctype.h>
#include <string.h>

#include "compute/lex.h"

struct bt__loops *bt__loops_create(bt_ctx *ctx, bt_arena *arena, const char *name)
{
    struct bt__loops *loops = BT_NEW(arena, struct bt__loops);
    if (!loops)
        return NULL;
    *loops = (struct bt__loops){ .ctx = ctx, .arena = arena };
    loops->name = bt__loops_word(arena, name);
    loops->graph = bt__graph_create(ctx, arena);
    return loops->graph && loops->name ? loops : NULL;
}

const char *bt__loops_word(bt_arena *arena, const char *name)
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

bt_status bt__loops_why(const struct bt__loops *loops)
{
    return loops->graph->status ? loops->graph->status : bt_no_memory();
}

int bt__loops_add_buffer(struct bt__loops *loops, uint32_t role, const char *name,
                         bt_dtype dtype, int64_t nelem, uint32_t *out)
{
    bt__graph *g = loops->graph;
    const bt__node **extent = BT_NEWS(loops->arena, const bt__node *, 1);
    if (!extent || !(extent[0] = bt__node_int(g, nelem)) ||
        !BT_PUSH(loops->arena, &loops->roles, role))
        return 0;
    return bt__graph_add_array(
        g,
        &(struct bt__array){ .name = name, .dtype = dtype, .rank = 1, .extents = extent },
        out);
}

int64_t bt__loops_nelem(const struct bt__loops *loops, uint32_t buffer)
{
    return loops->graph->arrays[buffer].extents[0]->value.i;
}

bt__stmt *bt__stmt_add(struct bt__loops *loops, bt__stmts *to, uint32_t kind)
{
    bt__stmt *stmt = BT_NEW(loops->arena, bt__stmt);
    if (!stmt || !BT_PUSH(loops->arena, to, stmt))
        return NULL;
    stmt->kind = kind;
    return stmt;
}

const bt__node *bt__loops_read(struct bt__loops *loops, uint32_t buffer,
                               const bt__node *offset)
{
    return bt__node_read(loops->graph, buffer, loops->graph->arrays[buffer].dtype, 1,
                         &offset);
}
