#include "target_program.h"

enum { MAX_TRIES = 400 };

/* As the left side of a rule: what may be absent is there, `*` has names. */
static const char *rule_of(bt_arena *arena, const char *pattern)
{
    bt_text out;
    char name = 'a';
    bt_text_init(&out, arena);
    for (const char *c = pattern; *c; c++) {
        if (*c == '*')
            bt_text_addf(&out, "%c", name < 'z' ? name++ : name);
        else if (*c != '?')
            bt_text_add(&out, c, 1);
    }
    return bt_text_get(&out);
}

bt_status target_program_draw(bt_ctx *ctx, bt_arena *arena, struct target_draw *draw,
                              struct rule_program *out)
{
    static const char *const simple[] = { "nn.relu(*)",  "exp(*)",         "add(*, *)",
                                          "negative(*)", "nn.dense(*, *)", NULL };
    const char *const *patterns =
        draw->target->patterns ? draw->target->patterns : simple;
    uint32_t n = 0;
    while (patterns[n])
        n++;
    *out = (struct rule_program){ 0 };
    while (n && !out->text && draw->ntried < MAX_TRIES) {
        const uint32_t i = draw->ntried++;
        const char *rule = rule_of(arena, patterns[i % n]);
        if (!rule)
            return bt_no_memory();
        BT_TRY(rule_program_make(ctx, arena, rule, i / n, case_draw(&draw->seed),
                                 draw->extents, out));
    }
    return NULL;
}
