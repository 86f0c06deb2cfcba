/* The program `baton`: a verb per file. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <baton/value.h>

#include "crash.h"
#include "shown.h"
#include "verbs.h"

static const struct verb *const verbs[] = {
#define VERB(name) &verb_##name,
#include "verbs.def"
};

static void print_overview(FILE *out)
{
    fprintf(out,
            "usage: baton VERB [ARGUMENT]... [OPTION]...\n\n"
            "Baton reads deep-learning programs, checks, optimises and runs them.\n\n");
    for (uint32_t i = 0; i < BT_COUNT(verbs); i++)
        fprintf(out, "  %-9s  %s\n", verbs[i]->name, verbs[i]->doc);
    fprintf(out,
            "\nbaton VERB --help tells more, baton --version which one this is.\n\n%s\n",
            tool_exit_codes);
}

static const struct verb *find_verb(const char *name)
{
    for (uint32_t i = 0; i < BT_COUNT(verbs); i++) {
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    }
    return NULL;
}

static int fail_verb(bt_ctx *ctx, const char *name)
{
    const char *names[BT_COUNT(verbs) + 1] = { NULL };
    for (uint32_t i = 0; i < BT_COUNT(verbs); i++)
        names[i] = verbs[i]->name;
    const char *near = bt_nearest(bt_ctx_scratch(ctx), name, names);
    fputs("baton: there is no verb ", stderr);
    put_shown(stderr, name);
    fprintf(stderr, "%s%s baton --help lists them\n", near, *near ? "" : ";");
    return EXIT_USAGE;
}

static int run_verb(struct tool *tool, int argc, char **argv)
{
    int code = tool_parse(tool, argc, argv);
    if (code)
        return code;
    if (option_value(tool, "help"))
        tool_help(tool->verb, stdout);
    else
        code = tool->verb->run(tool);
    tool_remark(tool);
    int finished = tool_finish();
    return code ? code : finished;
}

int main(int argc, char **argv)
{
    tool_begin();
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_overview(argc < 2 ? stderr : stdout);
        return argc < 2 ? EXIT_USAGE : tool_finish();
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("baton %s\n", bt_version());
        return tool_finish();
    }
    struct tool tool = { .verb = find_verb(argv[1]),
                         .colour = isatty(STDERR_FILENO) && !getenv("NO_COLOR") };
    tool.ctx = bt_open();
    if (!tool.ctx || bt_file_keep_read(tool.ctx)) {
        fprintf(stderr, "baton: no memory\n");
        return EXIT_FAULT;
    }
    crash_watch(tool.ctx);
    int code =
        tool.verb ? run_verb(&tool, argc - 2, argv + 2) : fail_verb(tool.ctx, argv[1]);
    crash_watch(NULL);
    bt_ctx_destroy(tool.ctx);
    return code;
}
