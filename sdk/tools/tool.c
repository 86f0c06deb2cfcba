#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shown.h"

const char *option_value(const struct tool *tool, const char *name)
{
    for (uint32_t i = tool->ngiven; i-- > 0;) {
        if (strcmp(tool->given[i].option->name, name) == 0)
            return tool->given[i].value;
    }
    return NULL;
}

const char **option_values(const struct tool *tool, const char *name)
{
    uint32_t n = 0;
    const char **values =
        BT_NEWS(bt_ctx_scratch(tool->ctx), const char *, (size_t)tool->ngiven + 1);
    for (uint32_t i = 0; values && i < tool->ngiven; i++) {
        if (strcmp(tool->given[i].option->name, name) == 0)
            values[n++] = tool->given[i].value;
    }
    return n ? values : NULL;
}

void tell_given_twice(const struct tool *tool, const char *const *names)
{
    for (; *names; names++) {
        const char **given = option_values(tool, *names);
        if (given && given[1])
            bt_remark(tool->ctx, BT_REMARK_NOTE,
                      bt_fail(tool->ctx, BT_ERR_ARGUMENT,
                              "--%s is given more than once: the last, %s, counts",
                              *names, option_value(tool, *names)));
    }
}

int option_number(const struct tool *tool, const char *name, int64_t low, int64_t high,
                  int64_t *out)
{
    const char *text = option_value(tool, name);
    char *end;
    if (!text)
        return EXIT_OK;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high)
        return tool_usage(tool, "--%s takes a number from %lld to %lld, not %s", name,
                          (long long)low, (long long)high, text);
    *out = value;
    return EXIT_OK;
}

void print_below(const char *text)
{
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        printf("          %.*s\n", (int)n, text);
    }
}

/* ---- the command line ---- */

static const struct option *find_option(const struct verb *verb, const char *name,
                                        size_t n)
{
    for (const struct option *o = verb->options; o && o->name; o++) {
        if (strlen(o->name) == n && memcmp(o->name, name, n) == 0)
            return o;
    }
    return n == 4 && memcmp(name, "help", 4) == 0 ? &tool_help_option : NULL;
}

static const struct option *find_letter(const struct verb *verb, char letter)
{
    for (const struct option *o = verb->options; o && o->name; o++) {
        if (o->letter == letter)
            return o;
    }
    return letter == 'h' ? &tool_help_option : NULL;
}

static int fail_option(const struct tool *tool, const char *word)
{
    bt_arena *scratch = bt_ctx_scratch(tool->ctx);
    const struct option *all = tool->verb->options;
    size_t n = 0, nword = strcspn(word, "=");
    while (all && all[n].name)
        n++;
    const char **names = BT_NEWS(scratch, const char *, n + 2);
    const char *name = bt_arena_text(scratch, word, nword);
    if (!names || !name)
        return tool_fail(tool, bt_no_memory());
    for (size_t i = 0; i <= n; i++) {
        const struct option *o = i < n ? &all[i] : &tool_help_option;
        if (!(names[i] = tool_text(tool, "--%s", o->name)))
            return tool_fail(tool, bt_no_memory());
    }
    return tool_usage(tool, "there is no option %s%s", name,
                      nword > 2 ? bt_nearest(scratch, name, names) : "");
}

/* --name=value, --name value, -n value, -nvalue. */
static int parse_option(struct tool *tool, int argc, char **argv, int *index)
{
    const char *word = argv[*index], *value = NULL;
    const struct option *option;
    if (word[1] == '-') {
        size_t n = strcspn(word + 2, "=");
        option = find_option(tool->verb, word + 2, n);
        value = word[2 + n] ? word + 2 + n + 1 : NULL;
    } else {
        option = find_letter(tool->verb, word[1]);
        value = word[2] ? word + 2 : NULL;
    }
    if (!option)
        return fail_option(tool, word);
    if (!option->value && value)
        return tool_usage(tool, "--%s takes no value", option->name);
    if (option->value && !value) {
        if (++*index >= argc)
            return tool_usage(tool, "--%s needs %s", option->name, option->value);
        value = argv[*index];
        if (strncmp(value, "--", 2) == 0)
            return tool_usage(tool,
                              "--%s needs %s, not %s: --%s=%s is a value that begins so",
                              option->name, option->value, value, option->name, value);
    }
    tool->given[tool->ngiven++] = (struct given){ option, value ? value : "" };
    return EXIT_OK;
}

int tool_parse(struct tool *tool, int argc, char **argv)
{
    bt_arena *scratch = bt_ctx_scratch(tool->ctx);
    int only_args = 0;
    tool->args = BT_NEWS(scratch, const char *, (size_t)argc + 1);
    tool->given = BT_NEWS(scratch, struct given, (size_t)argc + 1);
    if (!tool->args || !tool->given)
        return tool_fail(tool, bt_no_memory());
    for (int i = 0; i < argc; i++) {
        if (!only_args && strcmp(argv[i], "--") == 0) {
            only_args = 1;
        } else if (!only_args && argv[i][0] == '-' && argv[i][1]) {
            int code = parse_option(tool, argc, argv, &i);
            if (code)
                return code;
        } else {
            tool->args[tool->narg++] = argv[i];
        }
    }
    if (option_value(tool, "help"))
        return EXIT_OK;
    if (tool->narg < tool->verb->min_arg)
        return tool_usage(tool, "%s is missing", tool->verb->args);
    if (tool->narg > tool->verb->max_arg)
        return tool_usage(tool, "%s is one argument too many",
                          tool->args[tool->verb->max_arg]);
    return EXIT_OK;
}

/* ---- messages ---- */

static const char *text_of(const struct tool *tool, const char *format, va_list list)
    BT_PRINTF(2, 0);
static const char *text_of(const struct tool *tool, const char *format, va_list list)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    bt_text_addv(&text, format, list);
    return bt_text_get(&text);
}

const char *tool_text(const struct tool *tool, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const char *text = text_of(tool, format, list);
    va_end(list);
    return text;
}

int has_suffix(const char *path, const char *suffix)
{
    const size_t n = strlen(path), m = strlen(suffix);
    return n > m && strcmp(path + n - m, suffix) == 0;
}

int tool_usage(const struct tool *tool, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const char *message = text_of(tool, format, list);
    va_end(list);
    if (!message)
        return tool_fail(tool, bt_no_memory());
    int asks = *message && message[strlen(message) - 1] == '?';
    fprintf(stderr, "baton %s: ", tool->verb->name);
    put_shown(stderr, message);
    fprintf(stderr, "%s see baton %s --help\n", asks ? "" : ";", tool->verb->name);
    return EXIT_USAGE;
}

static void print_status(const struct tool *tool, bt_status status)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    if (option_value(tool, "json")) {
        bt_diag_render_json(status, &text);
        bt_text_add(&text, "\n", 1);
    } else {
        bt_diag_render(status, tool->colour, &text);
    }
    const char *rendered = bt_text_get(&text);
    fputs(rendered ? rendered : "error: no memory\n", stderr);
}

/* Whether a message points into what an option was given: the text of "vm{steps=-1}" is
 * called vm in places. */
static int is_of_option(const struct tool *tool, bt_status status)
{
    static const char *const options[] = { "executor", "target" };
    const char *file = status->place.file;
    for (uint32_t i = 0; file && *file && i < BT_COUNT(options); i++) {
        const char *at = option_value(tool, options[i]);
        while (at && (at = strstr(at, file)) && at[strlen(file)] != '{')
            at++;
        if (at)
            return 1;
    }
    return 0;
}

/* Messages about shapes show numbers where the program has names. */
static void print_dims(const struct tool *tool, bt_status status)
{
    const char **dims = option_values(tool, "dim");
    if (!dims || option_value(tool, "json") ||
        (status->code != BT_ERR_SHAPE && status->code != BT_ERR_TYPE))
        return;
    for (uint32_t i = 0; dims[i]; i++) {
        fputs(i ? ", " : "note: given by --dim: ", stderr);
        put_shown(stderr, dims[i]);
    }
    fputs("\n", stderr);
}

/* Messages name fields, which applications set: here options do. */
static void print_hints(const struct tool *tool, bt_status status)
{
    const struct hint *hint = tool->verb ? tool->verb->hints : NULL;
    for (; hint && hint->part && !option_value(tool, "json"); hint++) {
        if (strstr(status->message, hint->part))
            fprintf(stderr, "note: %s\n", hint->note);
    }
}

int tool_fail(const struct tool *tool, bt_status status)
{
    int listed = 0;
    uint32_t nreport = bt_ctx_nreport(tool->ctx),
             limit = bt_ctx_limits(tool->ctx)->errors;
    for (uint32_t i = 0; i < nreport && i < limit; i++) {
        print_status(tool, bt_ctx_report(tool->ctx, i));
        listed |= bt_ctx_report(tool->ctx, i) == status;
    }
    if (nreport > limit)
        fprintf(stderr, "and %u more errors\n", nreport - limit);
    if (!listed)
        print_status(tool, status);
    print_dims(tool, status);
    print_hints(tool, status);
    // memory that a program asks for has the place where it does
    return status->code == BT_ERR_INTERNAL ||
                   (status->code == BT_ERR_MEMORY && !status->place.file)
               ? EXIT_FAULT
           : is_of_option(tool, status) ? EXIT_USAGE
                                        : EXIT_INPUT;
}

int find_provided(bt_ctx *ctx, const char *kind, const char *name, bt_provided *out)
{
    for (uint32_t i = 0; i < bt_provided_len(ctx, kind); i++) {
        if (!bt_provided_at(ctx, kind, i, out) && strcmp(out->name, name) == 0)
            return 1;
    }
    return 0;
}

uint32_t count_details(bt_ctx *ctx, uint32_t code)
{
    bt_status detail;
    uint32_t n = 0;
    for (uint32_t i = 0; (detail = bt_ctx_remark(ctx, BT_REMARK_DETAIL, i)); i++)
        n += detail->code == code;
    return n;
}

void tool_remark(const struct tool *tool)
{
    for (uint32_t i = 0; !option_value(tool, "json"); i++) {
        bt_status remark = bt_ctx_remark(tool->ctx, BT_REMARK_NOTE, i);
        if (!remark)
            return;
        if (remark->place.file) {
            put_shown(stderr, remark->place.file);
            if (remark->place.line)
                fprintf(stderr, ":%u:%u", remark->place.line, remark->place.column);
            fputs(": ", stderr);
        }
        fputs("note: ", stderr);
        put_shown(stderr, remark->message);
        for (const bt_diag *note = remark->note; note; note = note->note) {
            fputs("\n    ", stderr);
            put_shown(stderr, note->message);
        }
        fputs("\n", stderr);
    }
}

/* ---- standard streams ---- */

void tool_begin(void)
{
    // A file must not take the place of a stream that is closed; what is opened here can
    // only fail in the use that the stream is for.
    static const int modes[] = { O_WRONLY, O_RDONLY, O_RDONLY };
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            (void)open("/dev/null", modes[fd]);
    }
    shown_begin();
    // a reader that closes the pipe early, or a limit of a file's size, is an error of the write
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

/* Whether the reader of standard output has gone, such as head or a pager. */
static int is_left(void)
{
    struct pollfd output = { .fd = STDOUT_FILENO, .events = POLLOUT };
    return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

int tool_finish(void)
{
    errno = 0;
    int failed = fflush(stdout) != 0;
    int why = errno;
    if (!failed && !ferror(stdout))
        return EXIT_OK;
    if (!is_left())
        fprintf(stderr, "baton: standard output cannot be written%s%s\n",
                failed && why ? ": " : "", failed && why ? strerror(why) : "");
    return EXIT_INPUT;
}
