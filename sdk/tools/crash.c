#include "crash.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <baton/compiled.h>
#include <baton/plugin.h>

#include "crash_place.h"
#include "tool.h"

static const struct {
    int number, has_address;
    const char *name;
} signals[] = {
    { SIGSEGV, 1, "SIGSEGV" }, { SIGBUS, 1, "SIGBUS" },   { SIGFPE, 0, "SIGFPE" },
    { SIGILL, 0, "SIGILL" },   { SIGABRT, 0, "SIGABRT" },
};

/* A signal handler gets no argument of the program's, so these are global. */
static bt_ctx *volatile watched;
static struct sigaction before[BT_COUNT(signals)];
static char stack[1 << 16];              // the thread's own may be what overflowed
static volatile sig_atomic_t is_looking; // at the stack, which may be what is broken

/* A line of text that is built without allocating or locking. */
struct line {
    char at[1024];
    size_t n;
};

static void put(struct line *line, const char *text)
{
    for (; *text && line->n < sizeof(line->at); text++)
        line->at[line->n++] = *text;
}

static void put_number(struct line *line, uint64_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof(digits) - 1;
    digits[at] = 0;
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    put(line, digits + at);
}

/* ": WHAT crashed (SIGSEGV at address 0x10)" */
static void put_signal(struct line *line, const char *what, uint32_t which,
                       const siginfo_t *info)
{
    put(line, ": ");
    put(line, what);
    put(line, " crashed (");
    put(line, signals[which].name);
    // 0x80 and more: the system does not know it
    if (signals[which].has_address && info->si_code > 0 && info->si_code < 0x80) {
        put(line, " at address 0x");
        put_number(line, (uintptr_t)info->si_addr, 16);
    }
    put(line, ")");
}

static void tell_kernel(const bt_running_kernel *running, uint32_t which,
                        const siginfo_t *info)
{
    struct line line = { .n = 0 };
    put(&line, "error: target ");
    put(&line, running->target);
    put(&line, ", kernel ");
    put(&line, running->kernel);
    put_signal(&line, "the kernel", which, info);
    if (running->nbuffer) {
        put(&line, "; buffers[0] to buffers[");
        put_number(&line, running->nbuffer - 1, 10);
        put(&line, "] are what it has");
    } else {
        put(&line, "; --check-kernels of baton run may say more");
    }
    put(&line, "\n");
    (void)!write(STDERR_FILENO, line.at, line.n);
}

static void put_part(struct line *line, const bt_running_part *part)
{
    put(line, part->what);
    put(line, " ");
    put(line, part->name);
}

static void tell_part(const bt_running_part *part, uint32_t which, const siginfo_t *info)
{
    struct line line = { .n = 0 };
    put(&line, "error: plugin ");
    put(&line, part->plugin ? bt_plugin_id(part->plugin) : "?");
    put(&line, ", ");
    put_part(&line, part);
    put_signal(&line, "it", which, info);
    if (part->around) {
        put(&line, ", called by ");
        put_part(&line, part->around);
    }
    put(&line, "\n");
    (void)!write(STDERR_FILENO, line.at, line.n);
}

/* Other functions of plugins, by the stack: hooks of targets, threads of their own. 0: it
 * crashed in none, or in the part's own plugin. */
static int tell_place(const bt_running_part *part, uint32_t which, const siginfo_t *info)
{
    struct line line = { .n = 0 };
    struct crash_place place;
    const char *manifest = part && part->plugin ? bt_plugin_manifest(part->plugin) : NULL;
    // whoever holds a lock of the loader may be what crashed; a watchdog would say otherwise
    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(10);
    is_looking = 1;
    int is_found = crash_place_find(&place, manifest) && (!part || place.is_called);
    is_looking = 0;
    if (!is_found)
        return 0;
    put(&line, "error: plugin ");
    put(&line, place.object);
    put(&line, place.is_thread ? ", a thread of its own" : "");
    put(&line, *place.function ? ", function " : "");
    put(&line, place.function);
    put_signal(&line, "it", which, info);
    put(&line, *place.from ? ", called by " : "");
    put(&line, place.from);
    if (part) {
        put(&line, ", called by ");
        put_part(&line, part);
    }
    put(&line, "\n");
    (void)!write(STDERR_FILENO, line.at, line.n);
    return 1;
}

/* Pages of a mapped file that are no more. What a run was to write is written whole or not
 * at all, so nothing is left to be done. */
static void end_if_shortened(const siginfo_t *info)
{
    static char path[512];
    struct line line = { .n = 0 };
    if (info->si_code != BUS_ADRERR || !crash_file(info->si_addr, path, sizeof(path)))
        return;
    put(&line, "error: ");
    put(&line, path);
    put(&line, ": it was made shorter while it was in use; a model's files and artifacts "
               "must stay as they are until the program that uses them has ended\n");
    (void)!write(STDERR_FILENO, line.at, line.n);
    _exit(EXIT_INPUT);
}

/* A fault comes again when the handler returns, and then does what it did before; what was
 * sent is sent again. */
static void on_crash(int number, siginfo_t *info, void *machine)
{
    bt_ctx *ctx = watched;
    const bt_running_kernel *running = ctx ? bt_ctx_running(ctx) : NULL;
    const bt_running_part *part = ctx ? bt_ctx_running_part(ctx) : NULL;
    (void)machine;
    if (number == SIGBUS)
        end_if_shortened(info);
    for (uint32_t i = 0; i < BT_COUNT(signals); i++) {
        if (signals[i].number != number)
            continue;
        if (running)
            tell_kernel(running, i, info);
        else if ((is_looking || !tell_place(part, i, info)) && part)
            tell_part(part, i, info);
        (void)sigaction(number, &before[i], NULL);
    }
    watched = NULL;
    if (info->si_code <= 0)
        (void)raise(number);
}

const bt_running_part *crash_part(void)
{
    bt_ctx *ctx = watched;
    return ctx ? bt_ctx_running_part(ctx) : NULL;
}

void crash_watch(bt_ctx *ctx)
{
    static const stack_t spare = { .ss_sp = stack, .ss_size = sizeof(stack) };
    struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    int is_first = ctx && !watched;
    watched = ctx;
    if (!is_first)
        return;
    crash_place_prepare();
    action.sa_sigaction = on_crash;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaltstack(&spare, NULL);
    for (uint32_t i = 0; i < BT_COUNT(signals); i++)
        (void)sigaction(signals[i].number, &action, &before[i]);
}
