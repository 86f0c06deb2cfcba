/*
 * Who holds objects in the code of a function. A register has one value after another, which
 * have nothing to do with each other: each place that writes it is a holder of its own, and
 * where paths meet on which it was written these are one.
 *
 *     0  tensor v0      holder 1
 *     1  field  v1 v0.  reads 1, which is empty then
 *     2  tensor v0      holder 2
 */
#include <string.h>

#include "bound.h"

struct flow {
    struct bounds *b;
    const struct vm_function *f;
    uint32_t n;      /* holders so far, and one that is never full */
    uint32_t *same;  /* by holder: one that it is the same as, or itself */
    uint32_t *now;   /* by object register: its holder; 0: it is empty */
    uint32_t **at;   /* by word: likewise, where a jump goes to it */
    int is_reached;  /* the instruction */
    uint32_t *words; /* by word: the holder of the register that it names */
};

static uint32_t find_same(struct flow *w, uint32_t holder)
{
    while (w->same[holder] != holder)
        holder = w->same[holder] = w->same[w->same[holder]];
    return holder;
}

static uint32_t add_holder(struct flow *w)
{
    w->same[w->n] = w->n;
    return w->n++;
}

/* What a register has where paths meet. */
static uint32_t join(struct flow *w, uint32_t a, uint32_t b)
{
    if (a && b)
        w->same[find_same(w, a)] = find_same(w, b);
    return a ? a : b;
}

static int meet(struct flow *w, uint32_t to)
{
    if (!w->at[to])
        w->at[to] = BT_NEWS(w->b->arena, uint32_t, w->f->nobject);
    for (uint32_t i = 0; w->at[to] && i < w->f->nobject; i++)
        w->at[to][i] = join(w, w->at[to][i], w->now[i]);
    return w->at[to] != NULL;
}

static int is_left(uint32_t code)
{
    return code != VM_DIMS && code != VM_SHAPE && code != VM_HOLDS && code != VM_SWITCH &&
           code != VM_FATAL;
}

static int is_read(const struct vm_operand *operand)
{
    return strchr("rv", operand->kind) ||
           (operand->kind == 'q' && !(operand->value & (VM_AREA | VM_PLAIN)));
}

uint32_t emptied(const struct vm_function *f, const struct vm_operand *operand,
                 uint32_t code)
{
    const uint32_t reg = operand->value & VM_REGISTER;
    if (code == VM_KILL ||
        (is_read(operand) && is_left(code) && operand->value & VM_LAST))
        return reg < f->nobject ? reg : UINT32_MAX;
    return UINT32_MAX;
}

static int walk(struct flow *w)
{
    const struct vm_function *f = w->f;
    struct vm_decoder d;
    struct vm_operand operand;
    for (uint32_t pc = 0; vm_decode(&d, f->words, f->nword, pc); pc = d.next) {
        uint32_t written = UINT32_MAX;
        for (uint32_t i = 0; w->at[pc] && i < f->nobject; i++)
            w->now[i] = join(w, w->at[pc][i], w->is_reached ? w->now[i] : 0);
        w->is_reached |= w->at[pc] != NULL;
        while (vm_decode_operand(&d, &operand)) {
            const uint32_t reg = operand.value & VM_REGISTER;
            const uint32_t empty = emptied(f, &operand, d.code);
            if (is_read(&operand) && reg < f->nobject)
                w->words[operand.at] = w->now[reg];
            if (empty != UINT32_MAX)
                w->now[empty] = 0;
            if (operand.kind == 'd' && reg < f->nobject)
                written = reg;
            if (operand.kind == 'j' && w->is_reached && !meet(w, operand.value))
                return 0;
        }
        if (written != UINT32_MAX)
            w->words[pc] = w->now[written] = add_holder(w);
        w->is_reached &= !vm_instructions[d.code].ends;
    }
    return 1;
}

int find_holders(struct bounds *b, uint32_t function)
{
    const struct vm_function *f = b->program->functions[function];
    struct flow w = { .b = b, .f = f };
    uint32_t *params = BT_NEWS(b->arena, uint32_t, f->nparam);
    w.same = BT_NEWS(b->arena, uint32_t, (size_t)f->nparam + f->nword + 1);
    w.now = BT_NEWS(b->arena, uint32_t, f->nobject);
    w.at = BT_NEWS(b->arena, uint32_t *, f->nword);
    w.words = BT_NEWS(b->arena, uint32_t, f->nword);
    if (!params || !w.same || !w.now || !w.at || !w.words)
        return 0;
    add_holder(&w);
    for (uint32_t i = 0; i < f->nparam; i++) {
        if (code_is_object(f, f->params[i]))
            params[i] = w.now[f->params[i]] = add_holder(&w);
    }
    w.is_reached = 1;
    if (!walk(&w))
        return 0;
    for (uint32_t i = 0; i < f->nparam; i++)
        params[i] = b->nholder + find_same(&w, params[i]);
    for (uint32_t i = 0; i < f->nword; i++)
        w.words[i] = b->nholder + find_same(&w, w.words[i]);
    b->params[function] = params;
    b->holders[function] = w.words;
    b->nholder += w.n;
    return 1;
}
