/* What tests of vectorised programs share: programs by text, the buffers they run on, and
 * a run that looks at each call's room, which all engines must agree with. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdlib.h>

#include "test.h"

#include "engine/bytecode_build.h"
#include "loops_oracle.h"
#include "primitives/callee.h"

static inline bt_ctx *open_ctx(void)
{
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    assert_non_null(ctx);
    bt_registry_unref(registry);
    return ctx;
}

static inline bt_loops *parse_program(bt_ctx *ctx, const char *text)
{
    bt_loops *loops;
    assert_ok(ctx,
              loops_parse(ctx, bt_ctx_scratch(ctx), "test", text, strlen(text), &loops));
    return loops;
}

/* Data of all buffers that are no locals, by number; small integers in floats, so that no
 * order of sums matters. */
struct program_data {
    uint32_t n;
    size_t nbytes[16];
    void *at[16];
};

static inline size_t buffer_nbytes(const bt_loops *loops, uint32_t i)
{
    return (size_t)bt_loops_nelem(loops, i) *
           bt_dtype_nbytes(loops->graph->arrays[i]->dtype);
}

static inline struct program_data make_data(const bt_loops *loops, unsigned seed)
{
    struct program_data d = { .n = loops->graph->narray };
    assert_true(d.n <= 16);
    for (uint32_t i = 0; i < d.n; i++) {
        size_t nbytes = buffer_nbytes(loops, i);
        d.nbytes[i] = nbytes;
        d.at[i] = aligned_alloc(64, (nbytes + 127) & ~(size_t)63);
        assert_non_null(d.at[i]);
        memset(d.at[i], 0x5a, nbytes);
        for (int64_t k = 0; k < bt_loops_nelem(loops, i); k++) {
            int value = (int)((seed + (unsigned)k * 2654435761u) >> 7) % 7 - 3;
            switch (loops->graph->arrays[i]->dtype) {
            case BT_FLOAT32: ((float *)d.at[i])[k] = (float)value; break;
            case BT_INT64: ((int64_t *)d.at[i])[k] = value + 3; break;
            case BT_INT32: ((int32_t *)d.at[i])[k] = value + 3; break;
            case BT_BOOL: ((uint8_t *)d.at[i])[k] = value > 0; break;
            default: break;
            }
        }
    }
    return d;
}

static inline void free_data(struct program_data *d)
{
    for (uint32_t i = 0; i < d->n; i++)
        free(d->at[i]);
}

/* The buffers of which all contents matter: outputs. */
static inline void assert_same_outputs(const bt_loops *loops,
                                       const struct program_data *a,
                                       const struct program_data *b, const char *what)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (loops->roles.at[i] == BT_BUFFER_OUTPUT &&
            memcmp(a->at[i], b->at[i], a->nbytes[i]) != 0)
            fail_msg("%s: %s differs", what, loops->graph->arrays[i]->name);
    }
}

struct caller {
    enum cpu_isa isa;
};

static inline bt_status call_primitive(void *self, const char *name, uint32_t narg,
                                       const struct call_value *args)
{
    const struct caller *c = self;
    const struct cpu_callee *callee = cpu_callee_find(c->isa, name);
    const struct cpu_form *form = callee ? cpu_form_of(callee) : NULL;
    void *p[16];
    int64_t n[16];
    assert_non_null(callee);
    assert_int_equal(narg, form->naddress + form->ninteger);
    for (uint32_t i = 0; i < form->naddress; i++)
        p[i] = args[i].address;
    for (uint32_t i = 0; i < form->ninteger; i++)
        n[i] = args[form->naddress + i].integer;
    assert_int_equal(callee->run(p, n), 0);
    return NULL;
}

/* The program element by element, its calls made; turns of parallel loops in an order by
 * `seed`, 0: their own. */
static inline bt_status run_by_loops(bt_ctx *ctx, const bt_loops *loops, enum cpu_isa isa,
                                     uint64_t seed, struct program_data *d)
{
    struct caller caller = { isa };
    void *data[16];
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        if (loops->roles.at[i] == BT_BUFFER_INPUT ||
            loops->roles.at[i] == BT_BUFFER_OUTPUT)
            data[n++] = d->at[i];
    }
    const struct run_options options = { .seed = seed,
                                         .call = call_primitive,
                                         .self = &caller };
    return loops_run(ctx, loops, data, &options);
}

/* A program as bytecode, its buffers in their own order. */
static inline bt_status build_bytecode(bt_ctx *ctx, const bt_loops *loops,
                                       enum cpu_isa isa, const struct bytecode **out)
{
    static const uint32_t places[16] = { 0, 1, 2,  3,  4,  5,  6,  7,
                                         8, 9, 10, 11, 12, 13, 14, 15 };
    const struct bytecode_source source = { .loops = loops,
                                            .n = loops->body.len,
                                            .stmts = loops->body.at,
                                            .name = loops->name,
                                            .isa = isa,
                                            .alternates = 1, // as no result depends on it
                                            .nbuffer = loops->graph->narray,
                                            .places = places };
    return bytecode_build(ctx, bt_ctx_scratch(ctx), &source, out);
}

/* Programs written by hand that have all that programs may have. */
static const char *const programs[] = {
    // a chain of strips, blocks of which the last is short
    "loops chain {\n"
    "    in a0: float32[1000]\n"
    "    in a1: float32[1000]\n"
    "    out s0: float32[1000]\n"
    "    local t0: float32[256]\n"
    "    parallel i0 in 4 {\n"
    "        mul.float32(&t0[0], &a0[256*i0], &a1[256*i0], min(256, -256*i0 + 1000))\n"
    "        add.float32(&s0[256*i0], &t0[0], &a1[256*i0], min(256, -256*i0 + 1000))\n"
    "    }\n"
    "}\n",
    // loops in loops, with two phases that run once and a temp between
    "loops nest {\n"
    "    in a0: float32[60]\n"
    "    out s0: float32[12]\n"
    "    temp t0: float32[60]\n"
    "    local t1: float32[4]\n"
    "    for i0 in 3 {\n"
    "        for i1 in 4 {\n"
    "            copy.4(&t0[5*i0 + 15*i1], &a0[20*i0 + 5*i1], 5)\n"
    "        }\n"
    "    }\n"
    "    parallel i0 in 3 {\n"
    "        for i1 in 4 {\n"
    "            fill.float32(&t1[i1], &a0[0], 1)\n"
    "            for i2 in 5 {\n"
    "                add.float32(&t1[i1], &t1[i1], &t0[5*i0 + 15*i1 + i2], 1)\n"
    "            }\n"
    "            copy.4(&s0[4*i0 + i1], &t1[i1], 1)\n"
    "        }\n"
    "    }\n"
    "}\n",
    // conditions, what is read to decide, an index that is data
    "loops conditions {\n"
    "    in a0: float32[64]\n"
    "    in a1: int64[8]\n"
    "    in a2: bool[8]\n"
    "    out s0: float32[64]\n"
    "    for i0 in 8 {\n"
    "        check (a1[i0] < 8) : a0 axis 0 of 8\n"
    "        if a2[i0] {\n"
    "            copy.4(&s0[8*i0], &a0[8*a1[i0]], 8)\n"
    "        } else {\n"
    "            fill.float32(&s0[8*i0], &a0[i0 + floordiv(i0, 3)], 8)\n"
    "            if (floordiv(i0, 2) == 2) {\n"
    "                neg.float32(&s0[8*i0], &s0[8*i0], max(0, -i0 + 9))\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "}\n",
    // integers that are computed: divisions, small types, selects that read one side
    "loops integers {\n"
    "    in a0: int64[32]\n"
    "    in a1: int32[32]\n"
    "    out s0: int64[32]\n"
    "    out s1: int64[32]\n"
    "    for i0 in 8 {\n"
    "        for i1 in 4 {\n"
    "            iota.int64(&s0[4*i0 + i1], 1, mod((7*i0 + i1), 5), (2*i0 - i1))\n"
    "            iota.int64(&s1[4*i0 + i1], 1, int64(a1[4*i0 + i1]), 1)\n"
    "        }\n"
    "        iota.int64(&s1[4*i0], 1, select((i0 < 5), a0[4*i0], i0), 3)\n"
    "    }\n"
    "}\n",
};

#endif
