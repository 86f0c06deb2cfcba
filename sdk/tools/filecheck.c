/*
 * baton filecheck: runs the commands that a test file states and checks what they print.
 *     // RUN: baton opt --passes=fold-constant %s
 *     // CHECK: multiply(%x, 3f)
 * RUN: runs this program with those words (no shell; '...' groups words; %s is the file,
 * %d its folder). Several lines run one after another; what they print is checked
 * together.
 */
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs.h"

extern char **environ;

enum { CHECK, CHECK_NEXT, CHECK_NOT, CHECK_ERROR, CHECK_EXIT, CHECK_STDERR };

typedef bt_vec(const char *) line_list;
typedef bt_vec(char *) word_list;

struct directive {
    uint32_t kind, line;
    const char *text;
    uint32_t error_line, error_column; /* CHECK_ERROR */
};

struct test {
    struct tool *tool;
    bt_arena *arena;
    const char *path, *folder;
    line_list runs;
    bt_vec(struct directive) directives;
    line_list output, errors;
    int exit_code;   /* of the last command that failed; 128 and the signal's number */
    int signal;      /* that killed a command; 0: none */
    int wanted_exit; /* -1: 0, or 1 where errors are checked */
};

/* ---- the file ---- */

static const struct word {
    const char *text;
    uint32_t kind;
} words[] = {
    { "CHECK:", CHECK },           { "CHECK-NEXT:", CHECK_NEXT },
    { "CHECK-NOT:", CHECK_NOT },   { "CHECK-ERROR ", CHECK_ERROR },
    { "CHECK-EXIT:", CHECK_EXIT }, { "CHECK-STDERR:", CHECK_STDERR },
};

static const char *trim(bt_arena *arena, const char *text, size_t n)
{
    while (n && (*text == ' ' || *text == '\t')) {
        text++;
        n--;
    }
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\r'))
        n--;
    return bt_arena_text(arena, text, n);
}

/* "3:14: expected ..." */
static int parse_place(struct directive *d)
{
    char *end;
    d->error_line = (uint32_t)strtoul(d->text, &end, 10);
    if (*end != ':')
        return 0;
    d->error_column = (uint32_t)strtoul(end + 1, &end, 10);
    if (*end != ':')
        return 0;
    d->text = end + 1 + strspn(end + 1, " ");
    return 1;
}

/* A line holds the text; {{...}} in it is a POSIX extended regular expression. NULL: no
 * memory. */
static const char *to_regex(bt_arena *arena, const char *text)
{
    bt_text out;
    bt_text_init(&out, arena);
    while (*text) {
        const char *end = strncmp(text, "{{", 2) == 0 ? strstr(text, "}}") : NULL;
        if (end) {
            bt_text_addf(&out, "(%.*s)", (int)(end - text - 2), text + 2);
            text = end + 2;
            continue;
        }
        if (strchr("\\^$.[]()*+?{}|", *text))
            bt_text_add(&out, "\\", 1);
        bt_text_add(&out, text++, 1);
    }
    return bt_text_get(&out);
}

/* A malformed pattern would match nothing, so that CHECK-NOT would always pass. */
static int check_regex(struct test *test, const struct directive *d)
{
    regex_t regex;
    char why[128];
    if (!strstr(d->text, "{{"))
        return EXIT_OK;
    const char *pattern = to_regex(test->arena, d->text);
    if (!pattern)
        return tool_fail(test->tool, bt_no_memory());
    int fault = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (!fault) {
        regfree(&regex);
        return EXIT_OK;
    }
    regerror(fault, &regex, why, sizeof(why));
    fprintf(stderr, "%s:%u: no regular expression between {{ and }}: %s: %s\n",
            test->path, d->line, d->text, why);
    return EXIT_INPUT;
}

static int read_directive(struct test *test, const char *text, size_t n, uint32_t line)
{
    for (uint32_t i = 0; i < BT_COUNT(words); i++) {
        size_t length = strlen(words[i].text);
        if (n < length || memcmp(text, words[i].text, length) != 0)
            continue;
        struct directive d = { .kind = words[i].kind, .line = line };
        d.text = trim(test->arena, text + length, n - length);
        if (!d.text || !BT_PUSH(test->arena, &test->directives, d))
            return tool_fail(test->tool, bt_no_memory());
        int code = check_regex(test, &d);
        if (code)
            return code;
        struct directive *last = &test->directives.at[test->directives.len - 1];
        if (d.kind == CHECK_EXIT)
            test->wanted_exit = atoi(d.text);
        if (d.kind == CHECK_ERROR && !parse_place(last)) {
            fprintf(stderr, "%s:%u: CHECK-ERROR needs a place: CHECK-ERROR 3:14: text\n",
                    test->path, line);
            return EXIT_USAGE;
        }
        return EXIT_OK;
    }
    if (n > 4 && memcmp(text, "RUN:", 4) == 0) {
        const char *command = trim(test->arena, text + 4, n - 4);
        if (!command || !BT_PUSH(test->arena, &test->runs, command))
            return tool_fail(test->tool, bt_no_memory());
    }
    return EXIT_OK;
}

/* Directives stand in comments: "// WORD:". */
static int read_test(struct test *test, const char *text, size_t nbytes)
{
    uint32_t line = 1;
    for (const char *at = text, *end = text + nbytes; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        size_t blank = strspn(at, " \t");
        if (blank + 3 < n && memcmp(at + blank, "// ", 3) == 0) {
            int code = read_directive(test, at + blank + 3, n - blank - 3, line);
            if (code)
                return code;
        }
        at += n + 1;
    }
    if (test->runs.len && test->directives.len)
        return EXIT_OK;
    fprintf(stderr, "%s: no `// RUN:` line, or nothing to check\n", test->path);
    return EXIT_USAGE;
}

/* ---- commands ---- */

/* The next word: '...' in it keeps blanks. *command moves behind it; NULL: no memory. */
static char *take_word(struct test *test, const char **command)
{
    bt_text word;
    int is_quoted = 0;
    bt_text_init(&word, test->arena);
    bt_text_add(&word, "", 0);
    const char *c = *command;
    for (; *c && (is_quoted || *c != ' '); c++) {
        if (*c == '\'')
            is_quoted = !is_quoted;
        else if (*c == '%' && (c[1] == 's' || c[1] == 'd'))
            bt_text_addf(&word, "%s", *++c == 's' ? test->path : test->folder);
        else
            bt_text_add(&word, c, 1);
    }
    *command = c;
    if (word.failed)
        return NULL;
    return word.at ? word.at : bt_arena_alloc(test->arena, 1, 1);
}

static char **split(struct test *test, const char *command)
{
    word_list argv = { 0 };
    for (command += strspn(command, " "); *command; command += strspn(command, " ")) {
        char *word = take_word(test, &command);
        if (!word || !BT_PUSH(test->arena, &argv, word))
            return NULL;
    }
    return BT_PUSH(test->arena, &argv, NULL) ? argv.at : NULL;
}

/* All of a pipe's or file's bytes, cut into lines behind those of `list`. */
static int read_lines(struct test *test, int fd, line_list *lines)
{
    char buffer[4096];
    ssize_t n;
    bt_text text;
    bt_text_init(&text, test->arena);
    lseek(fd, 0, SEEK_SET);
    while ((n = read(fd, buffer, sizeof(buffer))) > 0)
        bt_text_add(&text, buffer, (size_t)n);
    if (text.failed)
        return 0;
    for (char *at = text.at; at && *at;) {
        char *stop = strchr(at, '\n');
        if (stop)
            *stop = 0;
        if (!BT_PUSH(test->arena, lines, at))
            return 0;
        at = stop ? stop + 1 : NULL;
    }
    return 1;
}

static int temporary(void)
{
    char name[] = "/tmp/baton-filecheck-XXXXXX";
    int fd = mkstemp(name);
    if (fd >= 0)
        unlink(name);
    return fd;
}

static int spawn(char **argv, int out, int err, int *status)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    if (posix_spawn_file_actions_init(&actions))
        return 0;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, err, 2);
    int failed = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return !failed && waitpid(pid, status, 0) == pid;
}

static int run_command(struct test *test, const char *command)
{
    char **argv = split(test, command);
    if (!argv)
        return tool_fail(test->tool, bt_no_memory());
    if (!argv[0] || strcmp(argv[0], "baton") != 0) {
        fprintf(stderr, "%s: RUN: must begin with baton: %s\n", test->path, command);
        return EXIT_INPUT;
    }
    int out = temporary(), err = temporary(), status = 0, ok = 0;
    if (out < 0 || err < 0 || !spawn(argv, out, err, &status))
        fprintf(stderr, "%s: cannot run %s: %s\n", test->path, command, strerror(errno));
    else
        ok = read_lines(test, out, &test->output) && read_lines(test, err, &test->errors);
    if (out >= 0)
        close(out);
    if (err >= 0)
        close(err);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    test->signal = WIFSIGNALED(status) ? WTERMSIG(status) : test->signal;
    test->exit_code = code ? code : test->exit_code;
    return ok ? EXIT_OK : EXIT_FAULT;
}

/* ---- checks ---- */

static int holds(struct test *test, const char *line, const char *text)
{
    regex_t regex;
    if (!strstr(text, "{{"))
        return strstr(line, text) != NULL;
    const char *pattern = to_regex(test->arena, text);
    if (!pattern || regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
        return 0;
    int found = regexec(&regex, line, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static const char *const kinds[] = { "CHECK",       "CHECK-NEXT", "CHECK-NOT",
                                     "CHECK-ERROR", "CHECK-EXIT", "CHECK-STDERR" };

static int fail(const struct test *test, const struct directive *d, const char *why)
{
    fprintf(stderr, "%s:%u: %s: %s: %s\n", test->path, d->line, kinds[d->kind], why,
            d->text);
    return 0;
}

/* An error line begins with "FILE:LINE:COLUMN: error: ". */
static int check_error(struct test *test, const struct directive *d)
{
    bt_text head;
    bt_text_init(&head, test->arena);
    bt_text_addf(&head, ":%u:%u: error: ", d->error_line, d->error_column);
    for (uint32_t i = 0; !head.failed && i < test->errors.len; i++) {
        const char *at = strstr(test->errors.at[i], head.at);
        if (at && holds(test, at + head.len, d->text))
            return 1;
    }
    return fail(test, d, "no such error at that place");
}

/* What is printed there besides errors; a line behind the last one checked. */
static int check_stderr(struct test *test, const struct directive *d, uint32_t *at)
{
    while (*at < test->errors.len) {
        if (holds(test, test->errors.at[(*at)++], d->text))
            return 1;
    }
    return fail(test, d, "not on standard error, behind what was checked before");
}

/* Forbidden texts between two lines of the output. */
static int check_nots(struct test *test, uint32_t first, uint32_t last, uint32_t from,
                      uint32_t to)
{
    for (uint32_t i = first; i < last; i++) {
        const struct directive *d = &test->directives.at[i];
        for (uint32_t line = from; d->kind == CHECK_NOT && line < to; line++) {
            if (holds(test, test->output.at[line], d->text))
                return fail(test, d, test->output.at[line]);
        }
    }
    return 1;
}

static int check_all(struct test *test)
{
    uint32_t at = 0, pending = 0, error_at = 0;
    for (uint32_t i = 0; i < test->directives.len; i++) {
        const struct directive *d = &test->directives.at[i];
        if (d->kind == CHECK_ERROR && !check_error(test, d))
            return 0;
        if (d->kind == CHECK_STDERR && !check_stderr(test, d, &error_at))
            return 0;
        if (d->kind > CHECK_NEXT)
            continue;
        uint32_t found = at;
        while (found < test->output.len && !holds(test, test->output.at[found], d->text))
            found++;
        if (found == test->output.len)
            return fail(test, d, "not found behind what was checked before");
        if (d->kind == CHECK_NEXT && found != at)
            return fail(test, d, "not on the next line, but later");
        if (!check_nots(test, pending, i, at, found))
            return 0;
        pending = i;
        at = found + 1;
    }
    return check_nots(test, pending, test->directives.len, at, test->output.len);
}

static void print_output(const struct test *test)
{
    fprintf(stderr, "---- standard output ----\n");
    for (uint32_t i = 0; i < test->output.len; i++)
        fprintf(stderr, "%s\n", test->output.at[i]);
    if (test->signal)
        fprintf(stderr, "---- standard error, killed by signal %d ----\n", test->signal);
    else
        fprintf(stderr, "---- standard error, exit code %d ----\n", test->exit_code);
    for (uint32_t i = 0; i < test->errors.len; i++)
        fprintf(stderr, "%s\n", test->errors.at[i]);
}

static int check_exit(const struct test *test)
{
    int wanted = test->wanted_exit;
    for (uint32_t i = 0; wanted < 0 && i < test->directives.len; i++) {
        if (test->directives.at[i].kind == CHECK_ERROR)
            wanted = EXIT_INPUT;
    }
    wanted = wanted < 0 ? EXIT_OK : wanted;
    if (test->exit_code == wanted && !test->signal)
        return 1;
    if (test->signal) {
        fprintf(stderr, "%s: killed by signal %d, exit code %d is expected\n", test->path,
                test->signal, wanted);
        return 0;
    }
    fprintf(stderr, "%s: exit code %d where %d is expected\n", test->path,
            test->exit_code, wanted);
    return 0;
}

static int run_test(struct tool *tool, const bt_file *file)
{
    const char *slash = strrchr(file->path, '/');
    struct test test = { .tool = tool,
                         .arena = bt_ctx_scratch(tool->ctx),
                         .path = file->path,
                         .wanted_exit = -1 };
    test.folder =
        slash ? bt_arena_text(test.arena, file->path, (size_t)(slash - file->path)) : ".";
    if (!test.folder)
        return tool_fail(tool, bt_no_memory());
    int code = read_test(&test, file->bytes, file->nbytes);
    for (uint32_t i = 0; !code && i < test.runs.len; i++)
        code = run_command(&test, test.runs.at[i]);
    if (code)
        return code;
    int as_expected = check_exit(&test);
    if (check_all(&test) && as_expected)
        return EXIT_OK;
    print_output(&test);
    return EXIT_INPUT;
}

static int run(struct tool *tool)
{
    bt_file *file;
    TRY_TOOL(tool, bt_file_read(tool->ctx, tool->args[0], &file));
    int code = run_test(tool, file);
    bt_file_close(tool->ctx, file);
    return code;
}

static const struct option options[] = { { 0 } };

const struct verb verb_filecheck = {
    .name = "filecheck",
    .args = "FILE",
    .min_arg = 1,
    .max_arg = 1,
    .doc = "Run the commands stated in a test file and check their output.",
    // clang-format off
    .details = "// RUN: baton ...          run this; %s is the file, %d its folder; no shell\n"
               "// CHECK: text             a line behind the last checked one holds text\n"
               "// CHECK-NEXT: text        the very next line holds it\n"
               "// CHECK-NOT: text         no line up to the next checked one holds it\n"
               "// CHECK-ERROR 3:14: text  an error at that line and column says it; exit code 1\n"
               "// CHECK-EXIT: N           the exit code\n"
               "// CHECK-STDERR: text      the like of CHECK for standard error\n"
               "{{...}} in a text is a POSIX extended regular expression.",
    // clang-format on
    .options = options,
    .run = run,
};
