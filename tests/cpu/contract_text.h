/* The schedule of a contraction, as text. */
#ifndef CPU_CONTRACT_TEXT_H
#define CPU_CONTRACT_TEXT_H

#include "contraction.h"

#include <baton/loops.h>

#include "compute/formula/call.h"
#include "schedule/contract.h"

static void check_text_for(enum cpu_isa isa, const struct contraction *c,
                           const char *expected)
{
    struct world w = world_open();
    struct formula f = { .text = c->text };
    bt_tensor *in[4];
    bt_loops *loops;
    bt_text text;
    uint32_t n = 0;
    for (; n < 4 && c->inputs[n].name; n++) {
        const struct input *i = &c->inputs[n];
        f.inputs[n] = (bt_op_input){ .name = i->name, .type = i->type };
        in[n] = tensor_new(&w, i->dtype, i->rank, i->dims);
    }
    bt_compute *compute = make(&w, &f, n, in);
    bt_arena *arena = bt_arena_create(w.registry);
    assert_ok(w.ctx,
              cpu_contract(w.ctx, arena,
                           &(struct cpu_config){
                               .isa = isa, .nthread = 1, .is_constant = c->is_constant },
                           "test", compute->graph, NULL, &loops));
    bt_text_init(&text, arena);
    assert_ok(w.ctx, bt_loops_print(loops, &text));
    assert_string_equal(bt_text_get(&text), expected);
    bt_arena_destroy(arena);
    bt_compute_destroy(compute);
    for (uint32_t i = 0; i < n; i++)
        bt_tensor_unref(in[i]);
    world_close(&w);
}

static void check_text(const struct contraction *c, const char *expected)
{
    check_text_for(CPU_ISA_PORTABLE, c, expected);
}

/* Dims of -1 are one with these values. */
static void check_open_text(const struct contraction *c, const bt_type_param *values,
                            uint32_t nthread, const char *expected)
{
    struct world w = world_open();
    const bt_type *open = bt_type_var(w.store, values, bt_name_of(w.store, "n"));
    struct formula f = { .text = c->text };
    const bt_type *types[4], *dims[6];
    uint32_t n = 0;
    for (; n < 4 && c->inputs[n].name; n++) {
        const struct input *in = &c->inputs[n];
        for (uint32_t i = 0; i < in->rank; i++)
            dims[i] = in->dims[i] < 0 ? open : bt_dim(w.store, in->dims[i]);
        f.inputs[n] = (bt_op_input){ .name = in->name, .type = in->type };
        types[n] = bt_type_tensor(w.store, bt_type_shape(w.store, in->rank, dims),
                                  bt_type_dtype(w.store, in->dtype));
    }
    bt_op op = formula_op(&f);
    const bt_formula_call call = {
        .op = &op, .narg = n, .args = types, .result = any_result(&w, 1)
    };
    bt_arena *arena = bt_arena_create(w.registry);
    bt_graph *graph;
    bt_loops *loops;
    bt_text text;
    assert_ok(w.ctx, bt__call_compose(w.ctx, arena, &call, &graph));
    assert_ok(w.ctx, bt__graph_open(w.ctx, arena, &call, NULL, graph, &graph));
    assert_ok(w.ctx, cpu_contract(w.ctx, arena,
                                  &(struct cpu_config){ .isa = CPU_ISA_PORTABLE,
                                                        .nthread = nthread },
                                  "test", graph, NULL, &loops));
    bt_text_init(&text, arena);
    assert_ok(w.ctx, bt_loops_print(loops, &text));
    assert_string_equal(bt_text_get(&text), expected);
    bt_arena_destroy(arena);
    world_close(&w);
}

#endif
