/* What a schedule chooses from, and what it is to choose: programs for a function, and ways to
 * compute each sum of products in one. */
#ifndef CPU_CHOICE_H
#define CPU_CHOICE_H

#include <string.h>

#include <baton/base.h>

#define CPU_OWN_PROGRAM "cpu" /* the target's, beside those of plugins' ways */

/* A program, or a way to compute one of its sums. */
struct cpu_choice {
    const char *program; /* CPU_OWN_PROGRAM, or the name of a plugin's way */
    uint32_t sum; /* number of the sum in the program, from 1; 0: this is the program */
    const char *way;    /* of a program its name */
    uint32_t is_taken;  /* of all programs, or of all ways of a program's sum, one */
    double ns;          /* estimate, to compare: the same for all machines */
    double measured_ns; /* of the whole function, made so; 0: nobody has measured it */
    double error; /* what the way may change of sums, as a share of the largest; 0: no
                           more than another order of their terms */
};

struct cpu_choices {
    bt_arena *arena;
    bt_vec(struct cpu_choice) all; /* each program, and behind it its sums */
};

/* Whether one of the two is taken instead of the other. */
static inline int cpu_is_rival(const struct cpu_choice *a, const struct cpu_choice *b)
{
    return a->sum == b->sum && (!a->sum || strcmp(a->program, b->program) == 0);
}

/* Of those that exclude each other, how many have an estimate of `most` ns or less. */
uint32_t cpu_count_rivals(const struct cpu_choices *, const struct cpu_choice *rival,
                          double most);
/* The row of the same way to compute the same; NULL: there is none. */
struct cpu_choice *cpu_find_choice(const struct cpu_choices *,
                                   const struct cpu_choice *like);

/* The way that is taken for a program's sum, or by sum 0 the program; NULL: none is. */
static inline const char *cpu_choice_taken(const struct cpu_choices *choices,
                                           const char *program, uint32_t sum)
{
    const struct cpu_choice like = { .program = program, .sum = sum };
    for (uint32_t i = 0; choices && (program || !sum) && i < choices->all.len; i++) {
        const struct cpu_choice *c = &choices->all.at[i];
        if (c->is_taken && cpu_is_rival(c, &like))
            return c->way;
    }
    return NULL;
}

/* The errors of ways (bits.md). */
#define CPU_ERROR_WINOGRAD 2e-5 /* of larger transforms than F(2,3) */
#define CPU_ERROR_HALVES   2e-5
#define CPU_ERROR_BFLOAT16 1e-2

/* What was taken, in a few words: "tiles, turned + lines"; "strips" where there is no sum of
 * products, and which plugin's program it is. NULL: no memory. *error: the largest of these. */
const char *cpu_choices_taken(const struct cpu_choices *, double *error);

/* Whether the row tells something: of the sums those of the program that is taken, and programs if
 * a plugin brings another one. */
int cpu_choice_is_shown(const struct cpu_choices *, const struct cpu_choice *);
/* A line for each such row; tuned: with measured times, NULL: there are none. */
void cpu_choices_print(const struct cpu_choices *, const struct cpu_choices *tuned,
                       bt_text *out);
/* A time, in a column, which what is far larger than times are does not break. */
void cpu_ms_print(int width, double ns, bt_text *out);

#endif
