/* What a library defines, as its text says it: imports, types, heads of functions. */
#include "library_outline.h"

#include <string.h>

static int starts(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

/* A definition begins a line and stands to the `{` of its body, or, of a type, to the `}`
 * behind its constructors. */
static const char *end_of(const char *line)
{
    size_t rest = strlen(line);
    if (starts(line, "type ")) {
        const char *close = strchr(line, '}');
        return close ? close + 1 : line + rest;
    }
    size_t n = strcspn(line, starts(line, "def ") ? "{" : "\n");
    while (n && strchr(" \n", line[n - 1]))
        n--;
    return line + n;
}

static void each_definition(const char *text, const bt_provided *library,
                            definition_fn *see, void *self)
{
    const char *comment = NULL; // the lines of it that stand right above
    for (const char *line = text, *next; *line; line = next) {
        size_t nbytes = strcspn(line, "\n");
        next = line + nbytes + (line[nbytes] != 0);
        if (starts(line, "//")) {
            comment = comment ? comment : line;
            continue;
        }
        if (starts(line, "def ") || starts(line, "type ") || starts(line, "import ")) {
            const struct definition d = { comment ? comment : line, line, end_of(line) };
            see(self, library, &d);
        }
        comment = NULL;
    }
}

int library_each(struct tool *tool, const bt_provided *item, definition_fn *see,
                 void *self)
{
    const char *text;
    TRY_TOOL(tool, bt_provided_text(tool->ctx, bt_ctx_scratch(tool->ctx), item, &text));
    each_definition(text, item, see, self);
    return EXIT_OK;
}

static void print_definition(void *self, const bt_provided *library,
                             const struct definition *d)
{
    (void)self, (void)library;
    if (starts(d->head, "import "))
        printf("%.*s\n", (int)(d->end - d->head), d->head);
    else
        printf("\n%.*s\n", (int)(d->end - d->comment), d->comment);
}

int print_library(struct tool *tool, const bt_provided *item)
{
    return library_each(tool, item, print_definition, NULL);
}
