/* Rows of what there is to choose, and what was chosen in a few words. */
#include "choice.h"

#include <string.h>

uint32_t cpu_count_rivals(const struct cpu_choices *c, const struct cpu_choice *rival,
                          double most)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->all.len; i++)
        n += cpu_is_rival(&c->all.at[i], rival) && c->all.at[i].ns <= most;
    return n;
}

struct cpu_choice *cpu_find_choice(const struct cpu_choices *c,
                                   const struct cpu_choice *like)
{
    for (uint32_t i = 0; i < c->all.len; i++) {
        if (cpu_is_rival(&c->all.at[i], like) && strcmp(c->all.at[i].way, like->way) == 0)
            return &c->all.at[i];
    }
    return NULL;
}

/* Whether the row is a sum's of this program, and taken. */
static int is_of(const struct cpu_choice *c, const char *program)
{
    return c->sum && c->is_taken && strcmp(c->program, program) == 0;
}

static int is_said(const struct cpu_choices *c, uint32_t n, const struct cpu_choice *like)
{
    for (uint32_t i = 0; i < n; i++) {
        if (is_of(&c->all.at[i], like->program) &&
            strcmp(c->all.at[i].way, like->way) == 0)
            return 1;
    }
    return 0;
}

const char *cpu_choices_taken(const struct cpu_choices *c, double *error)
{
    const char *program = cpu_choice_taken(c, NULL, 0);
    bt_text text;
    *error = 0;
    bt_text_init(&text, c->arena);
    if (program && strcmp(program, CPU_OWN_PROGRAM) != 0)
        bt_text_addf(&text, "way of %s", program);
    for (uint32_t i = 0; program && i < c->all.len; i++) {
        const struct cpu_choice *choice = &c->all.at[i];
        if (!is_of(choice, program))
            continue;
        *error = choice->error > *error ? choice->error : *error;
        if (!is_said(c, i, choice))
            bt_text_addf(&text, "%s%s", text.len ? " + " : "", choice->way);
    }
    return text.len || text.failed ? bt_text_get(&text) : "strips";
}
