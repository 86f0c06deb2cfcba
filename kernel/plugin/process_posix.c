/*
 * Running a compiler's program. Its standard input, output and error are files without
 * names, so that neither side waits for the other: the text is there before it starts,
 * what it wrote is read when it is over.
 */
#define _GNU_SOURCE // memfd_create, vfork
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <baton/compiler.h>

#include "base/ctx.h"
#include "plugin/plugins.h"
#include "value/file.h"

#define MAX_MESSAGES  65536u
#define SLICE_MS      50 /* between two looks at a request to stop */
#define USUAL_PATH    "/usr/local/bin:/usr/bin:/bin"
#define CLOSE_ON_EXEC 4 /* CLOSE_RANGE_CLOEXEC */
#define FIRST_FILE    3 /* the standard ones end here */

/* Its standard files, and one where the new process says why the program cannot begin. */
enum { INPUT, OUTPUT, MESSAGES, FAULT, NFILE };

struct run {
    bt_ctx *ctx;
    const bt_process *process;
    bt_arena *arena;
    const char *program; /* path */
    int files[NFILE];
    pid_t pid;
};

static BT_FAILURE bt_status fail_system(bt_ctx *ctx, const char *what)
{
    if (errno == ENOMEM)
        return bt_no_memory();
    return bt_fail(ctx, BT_ERR_IO, "a program cannot be started: %s: %s", what,
                   strerror(errno));
}

/* ---- what it is given ---- */

/* Above the standard ones, which a program may have closed. */
static int new_file(void)
{
    int file = memfd_create("baton-compile", MFD_CLOEXEC);
    if (file < 0 || file >= FIRST_FILE)
        return file;
    int higher = fcntl(file, F_DUPFD_CLOEXEC, FIRST_FILE), reason = errno;
    close(file);
    errno = reason;
    return higher;
}

static bt_status make_files(struct run *run)
{
    for (int i = 0; i < NFILE; i++) {
        run->files[i] = new_file();
        if (run->files[i] < 0)
            return fail_system(run->ctx, "memfd_create");
    }
    if (!bt__file_write_all(run->files[INPUT], run->process->input,
                            run->process->input_nbytes) ||
        lseek(run->files[INPUT], 0, SEEK_SET) != 0)
        return fail_system(run->ctx, "its input cannot be written");
    return NULL;
}

static int is_program(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

/* Relative folders of PATH are passed over: the current one is never searched. */
static bt_status find_in_path(bt_ctx *ctx, bt_arena *arena, const char *name,
                              const char **out)
{
    const char *path = bt_variable(ctx, "PATH");
    for (path = path ? path : USUAL_PATH;;) {
        size_t n = strcspn(path, ":");
        if (*path == '/') {
            const char *file = bt__format(arena, "%.*s/%s", (int)n, path, name);
            if (!file)
                return bt_no_memory();
            if (is_program(file)) {
                *out = file;
                return NULL;
            }
        }
        if (!path[n])
            return bt_fail(ctx, BT_ERR_PLUGIN, "there is no program %s in PATH", name);
        path += n + 1;
    }
}

bt_status bt_process_find(bt_ctx *ctx, bt_arena *arena, const char *program,
                          const char **out)
{
    struct stat s;
    if (!strchr(program, '/'))
        return find_in_path(ctx, arena, program, out);
    if (stat(program, &s) != 0)
        return bt_fail(ctx, BT_ERR_PLUGIN, "there is no program %s", program);
    if (!is_program(program))
        return bt_fail(ctx, BT_ERR_PLUGIN, "%s is not executable", program);
    *out = program;
    return NULL;
}

/* PATH and little else: what could change a compiler's work is left out. */
static bt_status make_environment(struct run *run, char *out[5])
{
    static const char *const kept[] = { "PATH", "HOME", "TMPDIR" };
    size_t n = 0;
    for (size_t i = 0; i < BT_COUNT(kept); i++) {
        const char *value = bt_variable(run->ctx, kept[i]);
        if (!value && i == 0)
            value = USUAL_PATH;
        const char *line = value ? bt__format(run->arena, "%s=%s", kept[i], value) : NULL;
        if (value && !line)
            return bt_no_memory();
        if (line)
            out[n++] = (char *)(uintptr_t)line;
    }
    out[n++] = (char *)(uintptr_t) "LC_ALL=C";
    out[n] = NULL;
    return NULL;
}

/* ---- starting ---- */

/* The soft limit is below the hard one: its signal says which limit was reached before
 * the process is killed. */
static void limit(int what, uint64_t most)
{
    const struct rlimit rows = { .rlim_cur = most, .rlim_max = most + 1 };
    struct rlimit now;
    if (most == 0 || getrlimit(what, &now) != 0)
        return;
    if (now.rlim_max == RLIM_INFINITY || now.rlim_max > most)
        setrlimit(what, &rows);
}

/* When the program begins. */
static void close_files(void)
{
#if defined(SYS_close_range)
    if (syscall(SYS_close_range, FIRST_FILE, ~0u, CLOSE_ON_EXEC) == 0)
        return;
#endif
    long most = sysconf(_SC_OPEN_MAX);
    for (int i = FIRST_FILE; i < (most > 0 && most < 65536 ? most : 65536); i++)
        fcntl(i, F_SETFD, FD_CLOEXEC);
}

/* In the new process, which still has the memory of the old one: nothing but system
 * calls. Limits are set before the program begins, not while it runs. */
static void become(const struct run *run, char *const *environment)
{
    static const int signals[] = { SIGPIPE, SIGCHLD, SIGXCPU, SIGXFSZ,
                                   SIGINT,  SIGTERM, SIGHUP,  SIGQUIT };
    const bt_process *p = run->process;
    const struct sigaction usual = { .sa_handler = SIG_DFL };
    sigset_t none;
    setpgid(0, 0);
    for (int i = 0; i < FIRST_FILE; i++)
        dup2(run->files[i], i);
    close_files();
    limit(RLIMIT_FSIZE, p->output_nbytes);
    limit(RLIMIT_CPU, p->deadline_ms ? p->deadline_ms / 1000 + 1 : 0);
    limit(RLIMIT_AS, p->memory_nbytes);
    for (size_t i = 0; i < BT_COUNT(signals); i++)
        sigaction(signals[i], &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(run->program, (char *const *)(uintptr_t)p->argv, environment);
}

/* vfork, because fork copies the page tables of what may be gigabytes of weights. No
 * signal handler of the program may run in the new process, so all are blocked. */
static int spawn(struct run *run, char *const *environment)
{
    sigset_t all, before;
    int fault = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = vfork();
    if (pid == 0) {
        become(run, environment);
        const int reason = errno;
        if (pwrite(run->files[FAULT], &reason, sizeof(reason), 0) < 0)
            _exit(126);
        _exit(127);
    }
    if (pid < 0)
        fault = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    run->pid = pid;
    return fault;
}

static bt_status fail_start(const struct run *run, int reason)
{
    if (reason == ENOMEM)
        return bt_no_memory();
    return bt_fail(run->ctx, BT_ERR_PLUGIN, "%s cannot be run: %s", run->program,
                   strerror(reason));
}

static bt_status start(struct run *run)
{
    char *environment[5];
    BT_TRY(bt_process_find(run->ctx, run->arena, run->process->argv[0], &run->program));
    BT_TRY(make_environment(run, environment));
    int fault = spawn(run, environment);
    return fault ? fail_start(run, fault) : NULL;
}

/* ---- waiting ---- */

static int64_t now_ms(void)
{
    return (int64_t)(bt_now_ns() / 1000000);
}

/* Waits for its end at most so long. Without the system's help it looks again and again.
 */
static void wait_a_while(int watch, int64_t ms, int64_t *nap_ns)
{
    if (watch >= 0) {
        struct pollfd event = { .fd = watch, .events = POLLIN };
        poll(&event, 1, (int)ms);
        return;
    }
    nanosleep(&(struct timespec){ .tv_nsec = (long)*nap_ns }, NULL);
    *nap_ns = *nap_ns < 8000000 ? 2 * *nap_ns : *nap_ns;
}

/* 1: it ended; 0: it must be ended. */
static int wait_for_end(struct run *run, int watch, bt_status *fault)
{
    const uint32_t most = run->process->deadline_ms;
    int64_t nap_ns = 100000, deadline = now_ms() + most;
    for (;;) {
        siginfo_t info = { 0 };
        int failed = waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if (failed || info.si_pid == run->pid) // gone: SIGCHLD is ignored
            return 1;
        if (bt_ctx_cancelled(run->ctx)) {
            *fault =
                bt_fail(run->ctx, BT_ERR_CANCELLED, "stopped while %s ran", run->program);
            return 0;
        }
        int64_t left = most ? deadline - now_ms() : SLICE_MS;
        if (left <= 0) {
            *fault = bt_fail(run->ctx, BT_ERR_LIMIT,
                             "%s did not end in %" PRIu32 " ms, and was killed",
                             run->program, most);
            return 0;
        }
        wait_a_while(watch, left < SLICE_MS ? left : SLICE_MS, &nap_ns);
    }
}

static bt_status judge(const struct run *run, int how, bt_process_end *out)
{
    int reason;
    if (pread(run->files[FAULT], &reason, sizeof(reason), 0) == sizeof(reason))
        return fail_start(run, reason);
    if (WIFEXITED(how)) {
        out->exit_code = WEXITSTATUS(how);
        return NULL;
    }
    int signal = WTERMSIG(how);
    if (signal == SIGXCPU)
        return bt_fail(run->ctx, BT_ERR_LIMIT, "%s used more than %" PRIu32 " ms of CPU",
                       run->program, run->process->deadline_ms);
    if (signal == SIGXFSZ)
        return bt_fail(run->ctx, BT_ERR_LIMIT, "%s wrote more than %" PRIu64 " bytes",
                       run->program, run->process->output_nbytes);
    return bt_fail(run->ctx, BT_ERR_PLUGIN, "%s was killed by signal %d (%s)%s",
                   run->program, signal, strsignal(signal),
                   signal == SIGKILL ? ", perhaps for lack of memory" : "");
}

static bt_status finish(struct run *run, bt_process_end *out)
{
    bt_status fault = NULL;
#if defined(SYS_pidfd_open)
    int watch = (int)syscall(SYS_pidfd_open, run->pid, 0);
#else
    int watch = -1;
#endif
    int how = 0, ended = wait_for_end(run, watch, &fault);
    kill(-run->pid, SIGKILL); // the whole group, before its number is free again
    while (waitpid(run->pid, &how, 0) < 0 && errno == EINTR) {
    }
    if (watch >= 0)
        close(watch);
    return ended ? judge(run, how, out) : fault;
}

/* ---- what it gave ---- */

static bt_status collect(const struct run *run, int file, size_t most, bt_text *out)
{
    struct stat s;
    if (fstat(file, &s) != 0)
        return fail_system(run->ctx, "its output cannot be read");
    size_t nbytes = (uint64_t)s.st_size < most ? (size_t)s.st_size : most;
    bt_text_init(out, run->arena);
    if (nbytes == 0)
        return NULL;
    out->at = bt_arena_alloc(run->arena, 1, nbytes + 1);
    if (!out->at)
        return bt_no_memory();
    out->cap = nbytes + 1;
    while (out->len < nbytes) {
        ssize_t n = pread(file, out->at + out->len, nbytes - out->len, (off_t)out->len);
        if (n < 0 && errno != EINTR)
            return fail_system(run->ctx, "its output cannot be read");
        if (n == 0)
            break;
        out->len += n > 0 ? (size_t)n : 0;
    }
    return NULL;
}

bt_status bt_process_run(bt_ctx *ctx, const bt_process *process, bt_arena *arena,
                         bt_process_end *out)
{
    struct run run = {
        .ctx = ctx, .process = process, .arena = arena, .files = { -1, -1, -1, -1 }
    };
    bt_process_end end = { 0 };
    bt_status status = make_files(&run);
    if (!status)
        status = start(&run);
    if (!status)
        status = finish(&run, &end);
    if (!status)
        status = collect(&run, run.files[OUTPUT], SIZE_MAX, &end.output);
    if (!status)
        status = collect(&run, run.files[MESSAGES], MAX_MESSAGES, &end.messages);
    for (int i = 0; i < NFILE; i++) {
        if (run.files[i] >= 0)
            close(run.files[i]);
    }
    BT_TRY(status);
    *out = end;
    return NULL;
}
