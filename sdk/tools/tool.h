/* What the verbs of the program `baton` share: options, help, diagnostics, exit codes. */
#ifndef TOOL_H
#define TOOL_H

#include <stdio.h>

#include <baton/baton.h>
#include <baton/plugin.h>

/* EXIT_SIGNAL: and the number of the signal that stopped it, as shells have it. */
enum { EXIT_OK = 0, EXIT_INPUT = 1, EXIT_USAGE = 2, EXIT_FAULT = 3, EXIT_SIGNAL = 128 };

struct option {
    const char *name;  /* "--" and this */
    char letter;       /* "-" and this; 0: none */
    const char *value; /* what it takes, as help names it; NULL: nothing */
    const char *doc;
};

struct tool;

/* What messages of the kernel and of plugins have in them, such as a field of their options, and
 * what it is here. */
struct hint {
    const char *part; /* "`fixed`" */
    const char *note; /* "`fixed` is --fixed NAME" */
};

struct verb {
    const char *name;
    const char *args; /* as usage names them: "MODEL" */
    uint32_t min_arg, max_arg;
    const char *doc;              /* one line */
    const char *details;          /* paragraphs of --help, in lines; NULL: none */
    const char *examples;         /* commands, a line each; NULL: none */
    const struct option *options; /* ended by a zero name; NULL: none */
    const struct hint *hints;     /* ended by a NULL part; NULL: none */
    int (*run)(struct tool *);    /* gives the exit code */
};

struct given {
    const struct option *option;
    const char *value;
};

struct tool {
    bt_ctx *ctx;
    const struct verb *verb;
    uint32_t narg, ngiven;
    const char **args; /* NULL-terminated */
    struct given *given;
    int colour; /* of standard error */
};

/* The last value given, NULL if none; flags give "". */
const char *option_value(const struct tool *, const char *name);
/* All values, NULL-terminated, in the scratch arena; NULL where there is none. */
const char **option_values(const struct tool *, const char *name);
/* Notes which of the names (ended by NULL) are given twice, and what counts. */
void tell_given_twice(const struct tool *, const char *const *names);
/* A number from `low` to `high`; EXIT_USAGE with a message if it is none. *out stays where
 * the option is absent. */
int option_number(const struct tool *, const char *name, int64_t low, int64_t high,
                  int64_t *out);

/* Prints a text indented, each of its lines below the line that it explains. */
void print_below(const char *text);

/* A text in the scratch arena. NULL: no memory. */
const char *tool_text(const struct tool *, const char *format, ...) BT_PRINTF(2, 3);
/* Whether a file's name ends so (".bta"), and has more than that. */
int has_suffix(const char *path, const char *suffix);
/* Splits the command line by the verb's options. */
int tool_parse(struct tool *, int argc, char **argv);
/* A message about the command line, and EXIT_USAGE. */
int tool_usage(const struct tool *, const char *format, ...) BT_PRINTF(2, 3);
/* Prints what was reported and the status, and gives the exit code for it. */
int tool_fail(const struct tool *, bt_status);
/* What plugins provide under a name, the first of a kind; 0: nothing. */
int find_provided(bt_ctx *, const char *kind, const char *name, bt_provided *out);
/* Details with this code: a refusal of a target, a rule that applied. */
uint32_t count_details(bt_ctx *, uint32_t code);
/* Prints what is worth telling though nothing failed. */
void tool_remark(const struct tool *);
/* ---- help.c ---- */
extern const struct option tool_help_option; /* of every verb */
extern const char tool_exit_codes[];         /* what help says of them */
void tool_help(const struct verb *, FILE *);

/* ---- streams ---- */
/* Before anything is opened: closed standard streams stay closed. */
void tool_begin(void);
/* Writes standard output to the end: EXIT_OK, or EXIT_INPUT with a message; without one
 * where its reader has gone. */
int tool_finish(void);

/* The plural's ending: PLURAL(n) after "kernel". */
#define PLURAL(n) ((n) == 1 ? "" : "s")
/* "an" before "optimizer". */
#define ARTICLE(word) (strchr("aeiou", *(word)) ? "an" : "a")

#define TRY_TOOL(tool, expr)                       \
    do {                                           \
        bt_status tool_status = (expr);            \
        if (tool_status)                           \
            return tool_fail((tool), tool_status); \
    } while (0)

#endif
