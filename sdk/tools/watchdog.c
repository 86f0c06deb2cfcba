#include "watchdog.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "crash.h"
#include "tool.h"

/* A signal handler gets no argument of the program's, so these are global. */
static uint32_t limit;
static char what[512];

static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

static void on_alarm(int number)
{
    const bt_running_part *part = crash_part();
    (void)number;
    say(what);
    if (part) {
        say(", in ");
        say(part->what);
        say(" ");
        say(part->name);
    }
    say("\n");
    _exit(EXIT_INPUT);
}

void watchdog_set(uint32_t seconds)
{
    limit = seconds;
}

void watchdog_begin(const char *format, ...)
{
    struct sigaction action = { .sa_handler = on_alarm };
    va_list list;
    size_t n;
    watchdog_end();
    if (!limit)
        return;
    va_start(list, format);
    n = (size_t)snprintf(what, sizeof(what), "error: ");
    n += (size_t)vsnprintf(what + n, sizeof(what) - n, format, list);
    va_end(list);
    if (n < sizeof(what))
        (void)snprintf(what + n, sizeof(what) - n,
                       ": it has not come back for %u s (--timeout)", limit);
    (void)fflush(stdout);
    (void)sigaction(SIGALRM, &action, NULL);
    (void)alarm(limit);
}

void watchdog_end(void)
{
    (void)alarm(0);
    (void)signal(SIGALRM, SIG_DFL);
}
