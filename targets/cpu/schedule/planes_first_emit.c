/* The adjoint of maxima over planes as calls for several planes (planes_first.c). */
#include "planes_first.h"

#include "contract.h"
#include "primitives/planes.h"

static bt_graph *graph_of(const struct cpu_first *f)
{
    return f->nest.loops->graph;
}

/* As many planes at once as stay near, of those that there are. */
static int64_t planes_at_once(const struct cpu_first *f, const struct cpu_config *config)
{
    enum { CALLS = 8, NEAR_NBYTES = 1 << 15, MOST = 16 };
    if (f->nloop == 2)
        return 1;
    const int64_t n = bt_node_number(f->all[f->nloop - 3]->extent);
    const int64_t nbytes = f->axes[0].size * f->axes[1].size * (int64_t)sizeof(float);
    int64_t most = n / (CALLS * (int64_t)config->nthread);
    if (most > MOST)
        most = MOST;
    while (most > 1 && (n % most != 0 || most * nbytes > NEAR_NBYTES))
        most--;
    return most < 1 ? 1 : most;
}

struct made {
    const bt_node *planes; /* numbers of the loops around, for block and plane */
    uint32_t to;           /* what calls give, ... */
    int is_near;           /* ... which is a local, or the result */
    int64_t count;
};

/* With indices of planes as they are for the first one of a block. */
static const bt_node *at_block(const struct cpu_first *f, const bt_node *node,
                               bt_stmt *const *loops, const bt_node *const *numbers)
{
    for (uint32_t i = 0; i + 2 < f->nloop && node; i++)
        node = bt_node_substitute(graph_of(f), node, loops[i]->index, numbers[i]);
    return node;
}

static int emit_call(const struct cpu_first *f, bt_stmts *to, const struct made *m,
                     const bt_node *const *numbers)
{
    bt_graph *g = graph_of(f);
    const struct cpu_window_nest *n = &f->nest;
    const struct cpu_first_axis *y = &f->axes[0], *x = &f->axes[1];
    const bt_node *zero = bt_node_int(g, 0), *plane_g = zero, *plane_x = zero,
                  *plane_y = zero, *at_g = f->store->offset,
                  *row_g = cpu_growth(g, at_g, y->place);
    struct cpu_emitter e = { n->loops, to, 0 };
    if (f->nloop > 2) {
        const uint32_t last = f->nloop - 3;
        plane_g = cpu_growth(g, at_g, f->all[last]);
        plane_x = cpu_growth(g, f->x->args[0], n->all[last]);
        plane_y = cpu_growth(g, n->store->offset, n->all[last]);
    }
    at_g = bt_node_substitute(g, at_g, y->place->index, zero);
    at_g = at_g ? bt_node_substitute(g, at_g, x->place->index, zero) : NULL;
    at_g = at_block(f, at_g, f->all, numbers);
    if (m->is_near) {
        at_g = zero;
        row_g = bt_node_int(g, x->size);
        plane_g = bt_node_int(g, y->size * x->size);
    }
    const bt_node *at_y =
        at_block(f, cpu_first_in_nest(n, n->store->offset), n->all, numbers);
    const struct cpu_address addresses[CPU_FIRST_NPOINTER] = {
        [CPU_FIRST_G] = { m->to, at_g },
        [CPU_FIRST_X] = { f->x->which, at_block(f, cpu_image_of_nest(n, f->x->args[0]),
                                                n->all, numbers) },
        [CPU_FIRST_Y] = { f->y->which, at_y },
        [CPU_FIRST_D] = { f->d->which, at_y },
    };
    const bt_node *integers[CPU_FIRST_NINT] = {
        [CPU_FIRST_PLANES] = bt_node_int(g, m->count),
        [CPU_FIRST_ROWS] = bt_node_int(g, y->windows),
        [CPU_FIRST_COLUMNS] = bt_node_int(g, x->windows),
        [CPU_FIRST_SIDE_Y] = bt_node_int(g, y->side),
        [CPU_FIRST_SIDE_X] = bt_node_int(g, x->side),
        [CPU_FIRST_STEP_Y] = bt_node_int(g, y->step),
        [CPU_FIRST_STEP_X] = bt_node_int(g, x->step),
        [CPU_FIRST_G_PLANE] = plane_g,
        [CPU_FIRST_G_ROW] = row_g,
        [CPU_FIRST_X_PLANE] = plane_x,
        [CPU_FIRST_X_ROW] = cpu_growth(g, f->x->args[0], n->axes[0].tap),
        [CPU_FIRST_Y_PLANE] = plane_y,
        [CPU_FIRST_Y_ROW] = cpu_growth(g, n->store->offset, n->axes[0].out),
        [CPU_FIRST_HEIGHT] = bt_node_int(g, y->size),
        [CPU_FIRST_WIDTH] = bt_node_int(g, x->size),
        [CPU_FIRST_TOP] = bt_node_int(g, y->before),
        [CPU_FIRST_LEFT] = bt_node_int(g, x->before),
    };
    return cpu_emit_call(&e, "planes_first.float32", CPU_FIRST_NPOINTER, addresses,
                         CPU_FIRST_NINT, integers);
}

struct exchange {
    const bt_node *from, *to;
};

static const bt_node *exchange(void *self, const bt_node *node)
{
    const struct exchange *e = self;
    return node == e->from ? e->to : node;
}

const bt_node *cpu_first_with(const struct cpu_first *f, const bt_node *sum)
{
    struct exchange e = { f->sum, sum };
    const bt_by_node by = { f->nest.loops, exchange, &e };
    return sum ? bt_node_change(&by, f->store->value) : NULL;
}

/* What is made of what came together, for each place of a block's planes. */
static int emit_rest(const struct cpu_first *f, bt_stmts *to, const struct made *m,
                     const bt_node *const *numbers)
{
    bt_loops *loops = f->nest.loops;
    bt_graph *g = loops->graph;
    const struct cpu_first_axis *y = &f->axes[0], *x = &f->axes[1];
    const bt_node *own[CPU_NEST_LOOPS] = { NULL }, *plane = NULL;
    for (uint32_t i = 0; i + 2 < f->nloop; i++)
        own[i] = numbers[i];
    if (m->count > 1) {
        uint64_t used = 0;
        uint32_t fresh = 0;
        for (uint32_t i = 0; i < f->nloop; i++)
            used |= bt_index_bit(f->all[i]->index);
        while (used & bt_index_bit(fresh))
            fresh++;
        bt_stmt *loop = bt_stmt_add(loops, to, BT_STMT_FOR);
        if (!loop)
            return 0;
        loop->index = fresh;
        loop->extent = bt_node_int(g, m->count);
        plane = bt_node_index(g, fresh, loop->extent);
        own[f->nloop - 3] = cpu_plus(g, own[f->nloop - 3], plane);
        to = &loop->body;
    }
    bt_stmt *rows = bt_stmt_add(loops, to, BT_STMT_FOR);
    bt_stmt *columns = rows ? bt_stmt_add(loops, &rows->body, BT_STMT_FOR) : NULL;
    bt_stmt *store = columns ? bt_stmt_add(loops, &columns->body, BT_STMT_STORE) : NULL;
    if (!store)
        return 0;
    rows->index = y->place->index;
    rows->extent = y->place->extent;
    columns->index = x->place->index;
    columns->extent = x->place->extent;
    const bt_node *at =
        cpu_along_int(g, bt_node_index(g, columns->index, columns->extent),
                      bt_node_index(g, rows->index, rows->extent), x->size);
    if (plane)
        at = cpu_along_int(g, at, plane, y->size * x->size);
    store->buffer = f->store->buffer;
    store->value = cpu_first_with(f, at ? bt_loops_read(loops, m->to, at) : NULL);
    store->value = at_block(f, store->value, f->all, own);
    store->offset = at_block(f, f->store->offset, f->all, own);
    return store->value && store->offset;
}

int cpu_first_replace(const struct cpu_first *f, uint32_t which,
                      const struct cpu_config *config)
{
    bt_loops *loops = f->nest.loops;
    bt_graph *g = loops->graph;
    bt_stmts made = { 0 }, *to = &made;
    const bt_node *numbers[CPU_NEST_LOOPS] = { NULL };
    struct made m = { .to = f->store->buffer,
                      .is_near = f->sum != f->store->value,
                      .count = planes_at_once(f, config) };
    if (m.is_near &&
        !cpu_emit_buffer(loops, BT_BUFFER_LOCAL, BT_FLOAT32,
                         bt_node_int(g, m.count * f->axes[0].size * f->axes[1].size),
                         &m.to))
        return 0;
    for (uint32_t i = 0; i + 2 < f->nloop; i++) {
        bt_stmt *loop = bt_stmt_add(loops, to, BT_STMT_FOR);
        const int64_t by = i + 3 == f->nloop ? m.count : 1;
        if (!loop)
            return 0;
        loop->index = f->all[i]->index;
        loop->extent =
            by == 1 ? f->all[i]->extent : cpu_ceildiv(g, f->all[i]->extent, by);
        loop->is_parallel = i == 0;
        numbers[i] = loop->extent ? bt_node_index(g, loop->index, loop->extent) : NULL;
        numbers[i] = numbers[i] ? cpu_scaled(g, numbers[i], by) : NULL;
        if (!numbers[i])
            return 0;
        to = &loop->body;
    }
    if (!emit_call(f, to, &m, numbers) || (m.is_near && !emit_rest(f, to, &m, numbers)))
        return 0;
    const bt_stmts none = { 0 };
    return bt_stmts_replace(loops, &loops->body, which, &none) &&
           bt_stmts_replace(loops, &loops->body, which, &made);
}
