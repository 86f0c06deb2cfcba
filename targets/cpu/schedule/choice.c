/* What was chosen, in a few words. */
#include "choice.h"

#include <string.h>

static int is_said(const struct cpu_choices *c, uint32_t n, const char *way)
{
    for (uint32_t i = 0; i < n; i++) {
        if (c->all.at[i].is_taken && strcmp(c->all.at[i].way, way) == 0)
            return 1;
    }
    return 0;
}

/* The program of a plugin's way has sums that nobody is told of. */
static const char *program_taken(const struct cpu_choices *c)
{
    for (uint32_t i = 1; i < c->programs.len; i++) {
        if (c->programs.at[i].is_taken)
            return c->programs.at[i].way;
    }
    return NULL;
}

const char *cpu_choices_taken(const struct cpu_choices *c, double *error)
{
    const char *program = program_taken(c);
    bt_text text;
    *error = 0;
    bt_text_init(&text, c->arena);
    if (program)
        bt_text_addf(&text, "way of %s", program);
    for (uint32_t i = 0; !program && i < c->all.len; i++) {
        const struct cpu_choice *choice = &c->all.at[i];
        if (!choice->is_taken)
            continue;
        *error = choice->error > *error ? choice->error : *error;
        if (!is_said(c, i, choice->way))
            bt_text_addf(&text, "%s%s", text.len ? " + " : "", choice->way);
    }
    return text.len || text.failed ? bt_text_get(&text) : "strips";
}
