#include "progress.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 70 }; /* characters: the line must not wrap */

/* Moves to the beginning of the line and erases it. */
static const char clear[] = "\r\033[K";

static void show(void *self, const char *what)
{
    (void)self;
    fprintf(stderr, "%s%.*s%s", clear, MOST, what, strlen(what) > MOST ? "..." : "");
    fflush(stderr);
}

static int is_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

void begin_progress(struct tool *tool)
{
    if (is_terminal())
        bt_ctx_set_progress(tool->ctx, show, NULL);
}

void end_progress(struct tool *tool)
{
    bt_ctx_set_progress(tool->ctx, NULL, NULL);
    clear_progress();
}

void say_progress(const char *format, ...)
{
    char what[2 * MOST];
    va_list list;
    if (!is_terminal())
        return;
    va_start(list, format);
    vsnprintf(what, sizeof(what), format, list);
    va_end(list);
    show(NULL, what);
}

void clear_progress(void)
{
    if (is_terminal())
        fputs(clear, stderr);
}
