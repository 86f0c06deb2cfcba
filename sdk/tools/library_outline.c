/* What a library defines, as its text says it: imports, types, heads of functions. */
#include "library_outline.h"

#include <string.h>

#include <baton/value.h>

#include "library_check.h"

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

static void print_outline(const char *text)
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
            const char *end = end_of(line);
            int with_comment = comment && !starts(line, "import ");
            printf("%s%.*s%.*s\n", starts(line, "import ") ? "" : "\n",
                   with_comment ? (int)(line - comment) : 0, with_comment ? comment : "",
                   (int)(end - line), line);
        }
        comment = NULL;
    }
}

int print_library(struct tool *tool, const bt_provided *item)
{
    bt_file *file;
    const char *path = library_path(tool, item);
    if (!path)
        return EXIT_OK;
    TRY_TOOL(tool, bt_file_read(tool->ctx, path, &file));
    const char *text =
        bt_arena_text(bt_ctx_scratch(tool->ctx), (const char *)file->bytes, file->nbytes);
    bt_file_close(tool->ctx, file);
    if (!text)
        return tool_fail(tool, bt_no_memory());
    print_outline(text);
    return EXIT_OK;
}
