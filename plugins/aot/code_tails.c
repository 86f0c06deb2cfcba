/*
 * Functions that call each other in tail position: one function of C, in which such a call
 * is a jump, so that it takes no C stack and no depth. A group is named after its first
 * member.
 */
#include <inttypes.h>

#include "code.h"

struct edge {
    uint32_t from, to;
};
typedef bt_vec(struct edge) edge_list;

static bt_status collect(struct coder *c, edge_list *out)
{
    struct vm_decoder d;
    struct vm_operand operand;
    for (uint32_t i = 0; i < c->program->nfunction; i++) {
        const struct vm_function *f = c->program->functions[i];
        for (uint32_t pc = 0; c->is_reached[i] && vm_decode(&d, f->words, f->nword, pc);
             pc = d.next) {
            const struct edge edge = { i, f->words[pc] >> 8 };
            if (d.code == VM_TAIL_CALL && edge.to != i &&
                !BT_PUSH(c->p->arena, out, edge))
                return bt_no_memory();
            while (vm_decode_operand(&d, &operand))
                ;
        }
    }
    return NULL;
}

/* Marks what a function leads to, or, backwards, what leads to it. */
static void mark(const edge_list *edges, uint32_t first, int is_backwards, uint8_t *marks)
{
    int is_new = 1;
    marks[first] = 1;
    while (is_new) {
        is_new = 0;
        for (uint32_t i = 0; i < edges->len; i++) {
            const struct edge *e = &edges->at[i];
            const uint32_t from = is_backwards ? e->to : e->from;
            const uint32_t to = is_backwards ? e->from : e->to;
            is_new |= marks[from] && !marks[to];
            marks[to] |= marks[from];
        }
    }
}

/* Who is called other than by a jump. */
static void find_called(struct coder *c)
{
    struct vm_decoder d;
    struct vm_operand operand;
    c->is_called[0] = 1;
    for (uint32_t i = 0; i < c->program->nfunction; i++) {
        const struct vm_function *f = c->program->functions[i];
        c->is_called[i] |= c->is_closed[i];
        for (uint32_t pc = 0; c->is_reached[i] && vm_decode(&d, f->words, f->nword, pc);
             pc = d.next) {
            const uint32_t *w = f->words + pc;
            if (d.code == VM_CALL)
                c->is_called[w[1]] = 1;
            else if (d.code == VM_TAIL_CALL)
                c->is_called[w[0] >> 8] |= c->groups[w[0] >> 8] != c->groups[i];
            while (vm_decode_operand(&d, &operand))
                ;
        }
    }
}

bt_status code_find_groups(struct coder *c)
{
    const uint32_t n = c->program->nfunction;
    edge_list edges = { 0 };
    uint8_t *after = BT_NEWS(c->p->arena, uint8_t, n);
    uint8_t *before = BT_NEWS(c->p->arena, uint8_t, n);
    c->groups = BT_NEWS(c->p->arena, uint32_t, n);
    c->is_called = BT_NEWS(c->p->arena, uint8_t, n);
    if (!after || !before || !c->groups || !c->is_called)
        return bt_no_memory();
    BT_TRY(collect(c, &edges));
    for (uint32_t i = 0; i < n; i++)
        c->groups[i] = i;
    for (uint32_t i = 0; i < edges.len; i++) {
        const uint32_t first = edges.at[i].from;
        if (c->groups[first] != first)
            continue; // of a group that was found before
        for (uint32_t k = 0; k < n; k++)
            after[k] = before[k] = 0;
        mark(&edges, first, 0, after);
        mark(&edges, first, 1, before);
        for (uint32_t k = 0; k < n; k++) {
            if (after[k] && before[k])
                c->groups[k] = first;
        }
    }
    find_called(c);
    return NULL;
}

int code_is_alone(const struct coder *c, uint32_t function)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->program->nfunction; i++)
        n += c->groups[i] == c->groups[function];
    return n == 1;
}

const char *code_prefix(struct coder *c, uint32_t function)
{
    return code_is_alone(c, function) ? "" : FORM("f%" PRIu32 "_", function);
}

/* "static int32_t tails3(struct machine *m, uint32_t which, ...)": all parameters of all
 * members. */
void code_tails_head(struct coder *c, uint32_t group)
{
    bt_text_addf(c->out,
                 "static int32_t tails%" PRIu32 "(struct machine *m, uint32_t which",
                 group);
    for (uint32_t k = 0; k < c->program->nfunction; k++) {
        const struct vm_function *f = c->program->functions[k];
        if (c->groups[k] != group)
            continue;
        c->prefix = code_prefix(c, k);
        code_params(c, f);
    }
    bt_text_addf(c->out, ", %s*out)",
                 code_passed(c, c->program->functions[group]->result));
    c->prefix = "";
}

/* A member for those who call it from outside. */
void code_tails_member(struct coder *c, uint32_t function)
{
    const struct vm_function *f = c->program->functions[function];
    const uint32_t group = c->groups[function];
    code_head(c, f);
    bt_text_addf(c->out, "\n{\n    return tails%" PRIu32 "(m, %" PRIu32, group, function);
    for (uint32_t k = 0; k < c->program->nfunction; k++) {
        const struct vm_function *g = c->program->functions[k];
        if (c->groups[k] != group)
            continue;
        for (uint32_t i = 0; i < g->nvar; i++) {
            if (k == function)
                bt_text_addf(c->out, ", d%" PRIu32, i);
            else
                bt_text_addf(c->out, ", UNKNOWN");
        }
        for (uint32_t i = 0; i < g->nparam; i++) {
            const int is_object = code_is_object(g, g->params[i]);
            if (k == function)
                bt_text_addf(c->out, ", %s%" PRIu32, is_object ? "v" : "n", g->params[i]);
            else
                bt_text_addf(c->out, is_object ? ", NULL" : ", 0");
        }
    }
    bt_text_addf(c->out, ", out);\n}\n\n");
}
