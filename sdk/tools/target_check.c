#include "target_check.h"

#include <ctype.h>
#include <string.h>

#include <baton/op.h>
#include <baton/plugin.h>
#include <baton/target.h>

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* The next operator of a pattern: a word before one of "(|?". NULL: there are no more, or
 * no memory. */
static const char *next_op(bt_arena *arena, const char **text)
{
    for (const char *at = *text; *at;) {
        size_t n = 0;
        while (is_word(at[n]))
            n++;
        if (n == 0) {
            at++;
            continue;
        }
        size_t end = n + strspn(at + n, " \t\n");
        *text = at + end;
        if (at[end] && strchr("(|?", at[end]))
            return bt_arena_text(arena, at, n);
        at += end;
    }
    return NULL;
}

/* A pattern with an operator that there is not matches nothing, and nobody would say so. */
static uint32_t check_pattern(struct tool *tool, const char *pattern)
{
    const char *at = pattern, *name;
    uint32_t nfault = 0;
    while ((name = next_op(bt_ctx_scratch(tool->ctx), &at))) {
        const bt_op *op;
        bt_status status = bt_op_get(tool->ctx, name, &op);
        if (!status)
            continue;
        printf("  FAILED  pattern %s: %s\n", pattern, status->message);
        nfault++;
    }
    bt_ctx_clear_diags(tool->ctx);
    return nfault;
}

static uint32_t check_target(struct tool *tool, const char *name)
{
    const char *const *patterns;
    bt_target_use *uses;
    uint32_t n, npattern = 0, nfault = 0;
    bt_status status =
        bt_targets_open(tool->ctx, bt_ctx_scratch(tool->ctx), name, &n, &uses);
    if (status) {
        printf("target %s\n  FAILED  it does not open: %s\n", name, status->message);
        bt_ctx_clear_diags(tool->ctx);
        return 1;
    }
    patterns = uses[0].target->patterns;
    while (patterns && patterns[npattern])
        npattern++;
    printf("target %s: opens, %u patterns\n", name, npattern);
    for (uint32_t i = 0; i < npattern; i++)
        nfault += check_pattern(tool, patterns[i]);
    bt_targets_close(n, uses);
    return nfault;
}

int check_targets(struct tool *tool, const char *plugin, uint32_t *nbroken)
{
    for (uint32_t i = 0; i < bt_provided_len(tool->ctx, "target"); i++) {
        bt_provided item;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, "target", i, &item));
        if (strcmp(bt_plugin_id(item.plugin), plugin) == 0)
            *nbroken += check_target(tool, item.name) > 0;
    }
    return EXIT_OK;
}
