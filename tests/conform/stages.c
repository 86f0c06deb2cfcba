/*
 * A formula is a row of stages. Each reads inputs and stages before it by `..`, is a sum over
 * their last axis, or reads such a sum beside what it was made of. Some are too dear to be
 * computed again where they are read, and are arrays of their own; some are results.
 */
#include "stages.h"

#include "cases.h"

enum { MAX_STAGE = 4, MAX_ARRAY = STAGES_MAX_INPUT + MAX_STAGE };

struct maker {
    uint64_t random;
    uint32_t narray, ninput;
    char names[MAX_ARRAY];     /* a, b, ... of inputs; p, q, ... of stages */
    uint32_t ranks[MAX_ARRAY]; /* at least */
    int of_sum[MAX_ARRAY];     /* the array whose last axis it has no more, or -1 */
    bt_text text;
};

static uint32_t draw(struct maker *m, uint32_t below)
{
    return (uint32_t)(case_draw(&m->random) >> 33) % below;
}

static int add_array(struct maker *m, char name, uint32_t rank, int of_sum)
{
    m->names[m->narray] = name;
    m->ranks[m->narray] = rank;
    m->of_sum[m->narray] = of_sum;
    return (int)m->narray++;
}

/* More often one of the last. */
static uint32_t draw_array(struct maker *m)
{
    const uint32_t a = draw(m, m->narray), b = draw(m, m->narray);
    return a > b ? a : b;
}

static const char *draw_function(struct maker *m)
{
    static const char *const functions[] = { "", "", "exp", "abs", "tanh" };
    return functions[draw(m, BT_COUNT(functions))];
}

static void add_pointwise(struct maker *m, char name)
{
    static const char *const operators[] = { "+", "*", "-" };
    uint32_t n = 2 + draw(m, 2), rank = 0;
    bt_text_addf(&m->text, "%c: float32[..] = ", name);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t of = draw_array(m);
        bt_text_addf(&m->text, "%s%s(%c[..])", i ? operators[draw(m, 3)] : "",
                     draw_function(m), m->names[of]);
        rank = m->ranks[of] > rank ? m->ranks[of] : rank;
    }
    (void)add_array(m, name, rank, -1);
}

static int add_sum(struct maker *m, char name)
{
    const uint32_t of = draw_array(m);
    if (m->ranks[of] < 1)
        return 0;
    bt_text_addf(&m->text, "%c: float32[..] = %s(j: %c[.., j])", name,
                 draw(m, 2) ? "sum" : "max", m->names[of]);
    (void)add_array(m, name, m->ranks[of] - 1, (int)of);
    return 1;
}

static int add_beside_sum(struct maker *m, char name)
{
    const uint32_t sum = draw_array(m);
    if (m->of_sum[sum] < 0)
        return 0;
    const uint32_t of = (uint32_t)m->of_sum[sum];
    bt_text_addf(&m->text, "%c: float32[.., j] = %c[.., j] - %s(%c[..])", name,
                 m->names[of], draw_function(m), m->names[sum]);
    (void)add_array(m, name, m->ranks[of], -1);
    return 1;
}

static void add_stage(struct maker *m, char name)
{
    const uint32_t kind = draw(m, 6);
    if ((kind == 0 && add_sum(m, name)) || (kind == 1 && add_beside_sum(m, name)))
        return;
    add_pointwise(m, name);
}

static const char *make_case(struct maker *m, bt_arena *arena)
{
    static const int64_t sizes[] = { 1, 2, 2, 3, 5, 7 };
    bt_text text;
    bt_text_init(&text, arena);
    for (uint32_t i = 0; i < m->ninput; i++) {
        bt_text_addf(&text, "%sfloat32[", i ? ", " : "");
        for (uint32_t a = 0; a < m->ranks[i]; a++)
            bt_text_addf(&text, "%s%lld", a ? ", " : "",
                         (long long)sizes[draw(m, BT_COUNT(sizes))]);
        bt_text_addf(&text, "]");
    }
    return bt_text_get(&text);
}

bt_status stages_make(bt_arena *arena, uint64_t seed, struct stages *out)
{
    struct maker m = { .random = seed };
    const uint32_t nstage = 2 + draw(&m, MAX_STAGE - 1);
    bt_text_init(&m.text, arena);
    *out = (struct stages){ .op = { .name = "random.stages", .revision = 1 } };
    m.ninput = 2 + draw(&m, STAGES_MAX_INPUT - 1);
    for (uint32_t i = 0; i < m.ninput; i++) {
        static const char *const names[] = { "a", "b", "c", "d" };
        (void)add_array(&m, *names[i], draw(&m, 3), -1);
        out->inputs[i] = (bt_op_input){ .name = names[i], .type = "float32[..]" };
    }
    for (uint32_t i = 0; i < nstage; i++) {
        bt_text_addf(&m.text, "%s", i ? "; " : "");
        add_stage(&m, (char)('p' + i));
    }
    if (draw(&m, 3) == 0)
        bt_text_addf(&m.text, " -> %c, %c", 'p' + (int)nstage - 1,
                     'p' + (int)draw(&m, nstage - 1));
    out->op.formula = bt_text_get(&m.text);
    out->text = make_case(&m, arena);
    return out->op.formula && out->text ? NULL : bt_no_memory();
}
