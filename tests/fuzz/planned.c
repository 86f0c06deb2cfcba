/*
 * The planned program of an artifact, which is not trusted as its kernels are: names,
 * numbers and statements of it are changed. What is accepted is run by executor vm, with few
 * steps: it ends, in a result or an error, and reads and writes nothing that is not its own.
 *
 *     byte 0    the number of the program, twice; plus 1: bindings do not state their types,
 *               so that what changes one type changes those that follow from it
 *     then      edits of 4 bytes: the token (2, low one first), what happens, which way
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <baton/artifact.h>
#include <baton/baton.h>

#include "artifact_file.h"
#include "fuzz.h"
#include "vm_programs.h"

enum { MAX_TEXT = 1 << 16, MAX_EDITS = 16, MAX_ELEMENTS = 1 << 10 };

struct text {
    size_t n;
    char at[MAX_TEXT];
};
struct span {
    size_t at, n;
};

/* ---- edits ---- */

static int is_of_word(char c)
{
    return isalnum((unsigned char)c) || strchr("_.%@\"", c);
}

/* The next token from a place on; n = 0: there is none. */
static struct span token_from(const struct text *t, size_t at)
{
    while (at < t->n && isspace((unsigned char)t->at[at]))
        at++;
    struct span s = { at, at < t->n };
    while (s.n && is_of_word(t->at[at]) && at + s.n < t->n && is_of_word(t->at[at + s.n]))
        s.n++;
    return s;
}

/* What stands in the place of one another. */
static int class_of(char c)
{
    return isalpha((unsigned char)c) || c == '_' ? 'a'
           : isdigit((unsigned char)c)           ? '0'
           : strchr("%@\"", c)                   ? c
                                                 : ',';
}

/* The token of a number; one past the last is the first. */
static struct span token_of(const struct text *t, uint32_t number)
{
    struct span s = token_from(t, 0);
    while (number-- && s.n) {
        s = token_from(t, s.at + s.n);
        if (!s.n)
            s = token_from(t, 0);
    }
    return s;
}

/* The one of its class that is so many behind it. */
static struct span token_like(const struct text *t, struct span token, uint32_t number)
{
    for (struct span s = token;;) {
        s = token_from(t, s.at + s.n);
        if (!s.n)
            s = token_from(t, 0);
        if (class_of(t->at[s.at]) == class_of(t->at[token.at]) && !number--)
            return s; // the token itself, if there is no other
    }
}

static struct span line_of(const struct text *t, size_t at)
{
    const char *end = memchr(t->at + at, '\n', t->n - at);
    const size_t next = end ? (size_t)(end - t->at) + 1 : t->n;
    while (at && t->at[at - 1] != '\n')
        at--;
    return (struct span){ at, next - at };
}

static void put(struct text *t, struct span old, const char *with, size_t n)
{
    const size_t rest = old.at + old.n;
    if (t->n - old.n + n > MAX_TEXT)
        return;
    memmove(t->at + old.at + n, t->at + rest, t->n - rest);
    memcpy(t->at + old.at, with, n);
    t->n = t->n - old.n + n;
}

static void edit(struct text *t, const uint8_t *how)
{
    static const char *const numbers[] = {
        "0",  "1",    "2",     "3",          "64",
        "65", "4096", "65536", "2147483648", "9223372036854775807"
    };
    static struct text copy; // of what is put
    const struct span token = token_of(t, how[0] | (uint32_t)how[1] << 8);
    const uint32_t which = how[3];
    if (!token.n)
        return;
    const struct span line = line_of(t, token.at);
    memcpy(copy.at, t->at, t->n);
    if (how[2] % 4 == 0 && isdigit((unsigned char)t->at[token.at])) {
        const char *number = numbers[which % BT_COUNT(numbers)];
        put(t, token, number, strlen(number));
    } else if (how[2] % 4 < 2) {
        const struct span other = token_like(t, token, which);
        put(t, token, copy.at + other.at, other.n);
    } else if (how[2] % 4 == 2) {
        put(t, (struct span){ line.at, which & 1 ? 0 : line.n }, copy.at + line.at,
            which & 1 ? line.n : 0);
    } else if (line.at + line.n < t->n) {
        const struct span next = line_of(t, line.at + line.n);
        put(t, next, copy.at + line.at, line.n);
        put(t, line, copy.at + next.at, next.n);
    }
}

/* ---- runs ---- */

/* 0: no value of the input's type is known to be small. */
static int set_input(bt_ctx *ctx, bt_program *p, uint32_t i)
{
    const bt_port *port = bt_program_input(p, i);
    size_t n = 1;
    bt_tensor *x;
    if (!port->dtype || port->rank < 0)
        return 0;
    for (int32_t k = 0; k < port->rank && n <= MAX_ELEMENTS; k++)
        n = port->sizes[k] > MAX_ELEMENTS ? SIZE_MAX : n * (size_t)port->sizes[k];
    if (n > MAX_ELEMENTS ||
        bt_tensor_create(ctx, port->dtype, (uint32_t)port->rank, port->sizes, &x))
        return 0;
    for (size_t k = 0; k < n; k++)
        bt_tensor_set(x, (int64_t)k, 2);
    const bt_status status = bt_program_set_at(p, i, &x->base);
    bt_tensor_unref(x);
    FUZZ_CHECK(!status);
    return 1;
}

static void try_file(bt_ctx *ctx, const char *path)
{
    const bt_program_options options = { .executor = "vm{steps=100,stack=65536}" };
    bt_program *p;
    bt_status status = bt_program_open(ctx, path, &options, &p);
    fuzz_check_status(ctx, status);
    if (status)
        return;
    int has_all = 1;
    for (uint32_t i = 0; has_all && i < bt_program_ninput(p); i++)
        has_all = set_input(ctx, p, i);
    // twice: what a session keeps is used again
    for (uint32_t i = 0; has_all && i < 2; i++)
        fuzz_check_status(ctx, bt_program_run(p));
    bt_program_close(p);
}

static void try_program(bt_registry *r, const struct bytes *artifact,
                        const struct text *program)
{
    static int fd = -1;
    char path[64];
    struct bytes b = with_section(artifact, BT__SECTION_PROGRAM, program->at, program->n);
    bt_ctx *ctx = fuzz_context(r);
    if (fd < 0)
        fd = memfd_create("artifact", 0);
    FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0);
    FUZZ_CHECK(pwrite(fd, b.at, b.n, 0) == (ssize_t)b.n);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    try_file(ctx, path);
    bt_ctx_destroy(ctx);
    free(b.at);
}

/* ---- artifacts ---- */

struct artifact {
    struct bytes bytes;
    struct text texts[2]; /* the program without spans; and without types of bindings */
};

static bt_status write_artifact(bt_ctx *ctx, uint32_t number, const char *path,
                                struct bytes *out)
{
    bt_compiled *compiled;
    BT_TRY(vm_compile_program(ctx, number, &compiled));
    const bt_status status = bt_artifact_write(ctx, compiled, 0, path);
    *out = read_bytes(path);
    bt_compiled_unref(compiled);
    return status;
}

static bt_status print_program(bt_ctx *ctx, const char *path, bt_text *out)
{
    bt_artifact *artifact;
    BT_TRY(bt_artifact_read(ctx, path, &artifact));
    const bt_status status = bt_print(ctx, artifact->module, NULL, out);
    bt_artifact_close(artifact);
    return status;
}

/* From "%0: TYPE = ..." to "%0 = ...". */
static void copy_untyped(const char *from, struct text *to)
{
    for (const char *end; *from; from = end + 1) {
        const char *name = from + strspn(from, " "), *colon, *is;
        end = from + strcspn(from, "\n");
        colon = name + strcspn(name, ":\n");
        is = strstr(colon, " = ");
        if (*name != '%' || !is || is > end)
            colon = is = from;
        if (strncmp(from, "#[typed]", 8) != 0) {
            memcpy(to->at + to->n, from, (size_t)(colon - from));
            to->n += (size_t)(colon - from);
            memcpy(to->at + to->n, is, (size_t)(end + 1 - is));
            to->n += (size_t)(end + 1 - is);
        }
    }
}

static void make_artifact(bt_registry *r, uint32_t number, struct artifact *out)
{
    char folder[] = "/tmp/baton_fuzz_planned_XXXXXX", path[64];
    bt_ctx *ctx = bt_ctx_create(r);
    bt_text text;
    FUZZ_CHECK(ctx && mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/a", folder);
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_status status = write_artifact(ctx, number, path, &out->bytes);
    if (!status)
        status = print_program(ctx, path, &text);
    FUZZ_CHECK(!unlink(path) && !rmdir(folder) && !status);
    FUZZ_CHECK(bt_text_get(&text) && text.len <= MAX_TEXT);
    out->texts[0].n = text.len;
    memcpy(out->texts[0].at, bt_text_get(&text), text.len);
    copy_untyped(bt_text_get(&text), &out->texts[1]);
    bt_ctx_destroy(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    static bt_registry *r; // operators take long to list, programs to compile
    static struct artifact artifacts[BT_COUNT(vm_programs)];
    static struct text text;
    if (!r) {
        r = fuzz_registry(FUZZ_PLUGINS);
        for (uint32_t i = 0; i < BT_COUNT(artifacts); i++)
            make_artifact(r, i, &artifacts[i]);
    }
    const uint32_t head = nbytes ? *bytes : 0;
    const struct artifact *artifact = &artifacts[(head >> 1) % BT_COUNT(artifacts)];
    text.n = artifact->texts[head & 1].n;
    memcpy(text.at, artifact->texts[head & 1].at, text.n);
    for (size_t i = 1, n = 0; i + 4 <= nbytes && n < MAX_EDITS; i += 4, n++)
        edit(&text, bytes + i);
    try_program(r, &artifact->bytes, &text);
    return 0;
}
