/* Rows of what there is to choose, and what was chosen in a few words. */
#include "choice.h"

#include <inttypes.h>
#include <math.h>
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

/* ---- as lines ---- */

void cpu_ms_print(int width, double ns, bt_text *out)
{
    if (ns < 1e10)
        bt_text_addf(out, "%*.*f ms", width, ns < 1e3 ? 6 : 4, ns * 1e-6);
    else
        bt_text_addf(out, "%*.2g ms", width, ns * 1e-6);
}

static void print_choice(const struct cpu_choice *c, const struct cpu_choices *tuned,
                         bt_text *out)
{
    const struct cpu_choice *same = tuned ? cpu_find_choice(tuned, c) : NULL;
    bt_text_addf(out, "  ");
    cpu_ms_print(10, c->ns, out);
    if (same && same->measured_ns > 0)
        bt_text_addf(out, ", %.4f ms measured", same->measured_ns * 1e-6);
    bt_text_addf(out, "%s\n",
                 !c->is_taken ? ""
                 : tuned      ? "  taken, by its record"
                              : "  taken");
}

int cpu_choice_is_shown(const struct cpu_choices *choices, const struct cpu_choice *c)
{
    const char *program = cpu_choice_taken(choices, NULL, 0);
    return c->sum ? program && strcmp(c->program, program) == 0
                  : cpu_count_rivals(choices, c, INFINITY) > 1;
}

void cpu_choices_print(const struct cpu_choices *choices, const struct cpu_choices *tuned,
                       bt_text *out)
{
    for (uint32_t i = 0; i < choices->all.len; i++) {
        const struct cpu_choice *c = &choices->all.at[i];
        if (c->sum || !cpu_choice_is_shown(choices, c))
            continue;
        bt_text_addf(out, "way of %-20s", c->way);
        print_choice(c, tuned, out);
    }
    for (uint32_t i = 0; i < choices->all.len; i++) {
        const struct cpu_choice *c = &choices->all.at[i];
        if (!c->sum || !cpu_choice_is_shown(choices, c))
            continue;
        if (cpu_count_rivals(choices, c, INFINITY) < 2) {
            bt_text_addf(out, "sum %-3" PRIu32 "  %s, the only way here\n", c->sum,
                         c->way);
            continue;
        }
        bt_text_addf(out, "sum %-3" PRIu32 "  %-18s", c->sum, c->way);
        print_choice(c, tuned, out);
    }
}
