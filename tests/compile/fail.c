/*
 * What compilers do when something fails: programs that are missing, crash, hang or lie
 * (shell scripts in their place), and caches that cannot be used or trusted.
 */
#include "compile.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char simple[] = "int f(int x) { return x + 1; }\n";

/* ---- files ---- */

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* A script of this test's own; the option that names it. */
static const char *script(const char *name, const char *body, mode_t mode)
{
    static char option[600];
    char path[300], text[2048];
    snprintf(path, sizeof(path), TEST_FOLDER "/%s.%d", name, (int)getpid());
    snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", body);
    write_file(path, text, mode);
    snprintf(option, sizeof(option), "helper=\"%s\"", path);
    return option;
}

static void remove_script(const char *name)
{
    char path[300];
    snprintf(path, sizeof(path), TEST_FOLDER "/%s.%d", name, (int)getpid());
    unlink(path);
}

/* ---- the helper of tcc ---- */

static void check_helper(const char *body, mode_t mode, const char *more, uint32_t code,
                         const char *part)
{
    bt_ctx *ctx = open_plain();
    bt_text object;
    char options[700];
    snprintf(options, sizeof(options), "%s%s", script("helper", body, mode), more);
    bt_status status = try_compile(ctx, "tcc", options, simple, &object);
    remove_script("helper");
    assert_error(status, code, part);
    bt_ctx_destroy(ctx);
}

static void test_a_missing_helper_is_named(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    assert_error(
        try_compile(ctx, "tcc", "helper=\"/nowhere/baton-tcc\"", simple, &object),
        BT_ERR_PLUGIN,
        "tcc: there is no program /nowhere/baton-tcc: it is built where libtcc "
        "is there (package libtcc-dev)");
    assert_error(bt_c_probe(ctx, "tcc", "helper=\"/nowhere/baton-tcc\""), BT_ERR_PLUGIN,
                 "there is no program");
    bt_ctx_destroy(ctx);
}

static void test_a_helper_that_is_not_executable_is_named(void **state)
{
    (void)state;
    check_helper("exit 0", 0644, "", BT_ERR_PLUGIN, "is not executable");
}

static void test_a_helper_that_is_no_program_is_named(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    char path[300], options[400];
    snprintf(path, sizeof(path), TEST_FOLDER "/garbage.%d", (int)getpid());
    snprintf(options, sizeof(options), "helper=\"%s\"", path);
    write_file(path, "\177ELF is not enough", 0755);
    bt_status status = try_compile(ctx, "tcc", options, simple, &object);
    unlink(path);
    assert_error(status, BT_ERR_PLUGIN, "cannot be run");
    bt_ctx_destroy(ctx);
}

static void test_a_helper_that_is_killed_says_by_what(void **state)
{
    (void)state;
    check_helper("kill -9 $$", 0755, "", BT_ERR_PLUGIN,
                 "was killed by signal 9 (Killed), perhaps for lack of memory");
    check_helper("kill -11 $$", 0755, "", BT_ERR_PLUGIN, "was killed by signal 11");
}

/* The programs that it started go with it. */
static void test_a_helper_that_hangs_is_killed_with_its_children(void **state)
{
    (void)state;
    char path[300], body[700];
    snprintf(path, sizeof(path), TEST_FOLDER "/child.%d", (int)getpid());
    snprintf(body, sizeof(body), "sleep 1000 & echo $! > %s; wait", path);
    check_helper(body, 0755, ", deadline_ms=1500", BT_ERR_LIMIT,
                 "did not end in 1500 ms, and was killed");
    FILE *file = fopen(path, "r");
    int child = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &child), 1);
    fclose(file);
    unlink(path);
    int alive = 1;
    for (int i = 0; alive && i < 200; i++) { // until whoever inherits it sees its end
        char stat_path[64], state_letter = 'Z';
        snprintf(stat_path, sizeof(stat_path), "/proc/%d/stat", child);
        file = fopen(stat_path, "r");
        if (file && fscanf(file, "%*d %*s %c", &state_letter) != 1)
            state_letter = 'Z';
        if (file)
            fclose(file);
        alive = state_letter != 'Z' && kill(child, 0) == 0;
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    assert_false(alive);
}

static void test_a_helper_that_gives_nothing_is_told_from_one_that_fails(void **state)
{
    (void)state;
    check_helper("exit 0", 0755, "", BT_ERR_PLUGIN,
                 "tcc: text.c: the helper program gave no object");
    check_helper("exit 1", 0755, "", BT_ERR_PLUGIN,
                 "tcc failed on text.c without saying why");
    check_helper("echo something is wrong >&2; exit 1", 0755, "", BT_ERR_PLUGIN,
                 "tcc failed on text.c: something is wrong");
    check_helper("echo 'tcc: error: is ill' >&2; exit 1", 0755, "", BT_ERR_PLUGIN,
                 "tcc failed on text.c: is ill");
    check_helper("echo 'text.c:1: error: no' >&2; exit 1", 0755, "", BT_ERR_SYNTAX, "no");
}

static void test_garbage_is_no_object(void **state)
{
    (void)state;
    check_helper("echo garbage", 0755, "", BT_ERR_PLUGIN,
                 "the helper program gave 8 bytes that are no object");
    bt_ctx *ctx = open_plain();
    bt_text object;
    bt_code *code;
    assert_ok(ctx,
              try_compile(ctx, "tcc", script("helper", "printf '\\177ELF1234567'", 0755),
                          simple, &object));
    remove_script("helper");
    assert_error(load_object(ctx, &object, NULL, &code), BT_ERR_FORMAT, "is no ELF file");
    bt_ctx_destroy(ctx);
}

static void test_the_helper_sees_neither_files_nor_environment(void **state)
{
    (void)state;
    assert_int_equal(dup2(STDERR_FILENO, 77), 77);
    setenv("SECRET", "x", 1);
    check_helper("[ -e /proc/self/fd/77 ] && exec echo open >&2\n"
                 "[ -z \"$SECRET\" ] || exec echo told >&2\n"
                 "echo \"closed, $LC_ALL\" >&2; exit 1",
                 0755, "", BT_ERR_PLUGIN, "tcc failed on text.c: closed, C");
    close(77);
    unsetenv("SECRET");
}

static void test_the_helper_gets_the_text_as_it_is(void **state)
{
    (void)state;
    check_helper("while read -r line; do echo \"$line\" >&2; done; exit 1", 0755, "",
                 BT_ERR_PLUGIN, "tcc failed on text.c: #line 1 \"text.c\"");
}

static void *cancel_soon(void *ctx)
{
    nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
    bt_ctx_cancel(ctx);
    return NULL;
}

static void test_a_request_to_stop_ends_it(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    pthread_t thread;
    const char *options = script("helper", "exec sleep 1000", 0755);
    assert_ok(ctx, bt_c_probe(ctx, "tcc", options));
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, ctx), 0);
    bt_status status = try_compile(ctx, "tcc", options, simple, &object);
    pthread_join(thread, NULL);
    remove_script("helper");
    assert_error(status, BT_ERR_CANCELLED, "stopped while ");
    bt_ctx_destroy(ctx);
}

static void test_signals_that_are_ignored_do_not_disturb(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    need(ctx, "tcc", NULL);
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    assert_ok(ctx, try_compile(ctx, "tcc", NULL, simple, &object));
    signal(SIGCHLD, before);
    bt_ctx_destroy(ctx);
}

/* ---- libtcc's own ends ---- */

static void test_lack_of_memory_is_told(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    need(ctx, "tcc", NULL);
    assert_error(try_compile(ctx, "tcc", "memory_mb=64",
                             "char large[400000000] = { 1 };\n", &object),
                 BT_ERR_LIMIT, "tcc: text.c: no memory: the option memory_mb allows 64");
    bt_ctx_destroy(ctx);
}

static void test_a_crash_of_libtcc_is_a_status(void **state)
{
    (void)state;
    enum { N = 400000 };
    bt_ctx *ctx = open_plain();
    bt_text object;
    need(ctx, "tcc", NULL);
    char *text = malloc(2 * N + 32);
    assert_non_null(text);
    size_t n = (size_t)sprintf(text, "int x = ");
    memset(text + n, '(', N);
    text[n + N] = '1';
    memset(text + n + N + 1, ')', N);
    strcpy(text + n + 2 * N + 1, ";\n");
    bt_status status = try_compile(ctx, "tcc", NULL, text, &object);
    free(text);
    assert_non_null(status);
    assert_true(status->code == BT_ERR_PLUGIN || status->code == BT_ERR_SYNTAX ||
                status->code == BT_ERR_LIMIT);
    // and it works on
    assert_ok(ctx, try_compile(ctx, "tcc", NULL, simple, &object));
    bt_ctx_destroy(ctx);
}

/* ---- errors in the text ---- */

static void test_errors_have_their_line_and_column(void **state)
{
    (void)state;
    static const char wrong[] = "int f(int x)\n{\n    int y = x + sigmod;\n"
                                "    return y;\n}\n";
    bt_ctx *ctx = open_plain();
    bt_text object;
    for (size_t i = 0; i < BT_COUNT(compilers); i++) {
        need(ctx, compilers[i].name, compilers[i].options);
        bt_status status =
            try_compile(ctx, compilers[i].name, compilers[i].options, wrong, &object);
        assert_error(status, BT_ERR_SYNTAX, "'sigmod' undeclared");
        assert_string_equal(status->place.file, "text.c");
        assert_int_equal(status->place.line, 3);
        assert_int_equal(status->place.column, 17);
        assert_int_equal(status->place.width, 6);
        assert_string_equal(status->place.text, "    int y = x + sigmod;");
    }
    bt_ctx_destroy(ctx);
}

static void test_every_error_of_cc_is_a_note(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    need(ctx, "cc", "cache=\"off\"");
    bt_status status = try_compile(ctx, "cc", "cache=\"off\"",
                                   "int a = b;\nint c = d;\nint e = f;\n", &object);
    assert_error(status, BT_ERR_SYNTAX, "'b' undeclared");
    uint32_t n = 1;
    for (const bt_diag *note = status->note; note; note = note->note)
        assert_int_equal(note->place.line, ++n);
    assert_int_equal(n, 3);
    bt_ctx_destroy(ctx);
}

static void test_names_of_texts_may_hold_anything(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    for (size_t i = 0; i < BT_COUNT(compilers); i++) {
        const bt_c_source source = { .name = "a \"quoted\\name\" of %s: error: it",
                                     .text = "int x = ;\n",
                                     .nbytes = 10 };
        bt_text object;
        need(ctx, compilers[i].name, compilers[i].options);
        bt_text_init(&object, bt_ctx_scratch(ctx));
        assert_non_null(
            bt_c_compile(ctx, compilers[i].name, compilers[i].options, &source, &object));
    }
    const bt_c_source nul = { .name = "nul", .text = "int\0 x;", .nbytes = 7 };
    bt_text object;
    bt_text_init(&object, bt_ctx_scratch(ctx));
    assert_error(bt_c_compile(ctx, "tcc", NULL, &nul, &object), BT_ERR_SYNTAX,
                 "there is a NUL byte");
    bt_ctx_destroy(ctx);
}

static void test_system_headers_are_not_found(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    for (size_t i = 0; i < BT_COUNT(compilers); i++) {
        need(ctx, compilers[i].name, compilers[i].options);
        assert_error(try_compile(ctx, compilers[i].name, compilers[i].options,
                                 "#include <stdio.h>\n", &object),
                     BT_ERR_SYNTAX, "stdio.h");
    }
    bt_ctx_destroy(ctx);
}

static void test_unknown_compilers_and_options_are_named(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    assert_error(try_compile(ctx, "tc", NULL, simple, &object), BT_ERR_NAME,
                 "no compiler is named \"tc\"; did you mean cc or tcc");
    assert_error(try_compile(ctx, "tcc", "deadline=1", simple, &object), BT_ERR_ATTRIBUTE,
                 "deadline");
    assert_error(try_compile(ctx, "tcc", "deadline_ms=0", simple, &object),
                 BT_ERR_ATTRIBUTE, "deadline_ms");
    bt_ctx_destroy(ctx);
}

/* ---- cc ---- */

static void test_an_absent_cc_is_named(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    assert_error(
        try_compile(ctx, "cc", "command=\"no-such-compiler -m64\"", simple, &object),
        BT_ERR_PLUGIN,
        "cc: there is no program no-such-compiler in PATH: install a C compiler");
    assert_error(try_compile(ctx, "cc", "command=\" \"", simple, &object),
                 BT_ERR_ATTRIBUTE, "the option command is empty");
    assert_error(
        try_compile(ctx, "cc", "command=\"true\", cache=\"off\"", simple, &object),
        BT_ERR_PLUGIN, "gave no object");
    bt_ctx_destroy(ctx);
}

/* A cache of the test's own, and a compiler that counts. */
struct cached {
    bt_ctx *ctx;
    char folder[300], log[320], command[320], options[1200];
};

static void remove_all(const char *folder)
{
    char path[700];
    DIR *at = opendir(folder);
    for (struct dirent *e; at && (e = readdir(at));) {
        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (at)
        closedir(at);
    rmdir(folder);
}

static void begin(struct cached *c)
{
    char text[800];
    c->ctx = open_plain();
    need(c->ctx, "cc", "cache=\"off\"");
    snprintf(c->folder, sizeof(c->folder), TEST_FOLDER "/cache.%d", (int)getpid());
    snprintf(c->log, sizeof(c->log), TEST_FOLDER "/log.%d", (int)getpid());
    snprintf(c->command, sizeof(c->command), TEST_FOLDER "/cc.%d", (int)getpid());
    snprintf(text, sizeof(text),
             "#!/bin/sh\ncase \"$*\" in *-c*) echo x >> %s;; esac\nexec cc \"$@\"\n",
             c->log);
    write_file(c->command, text, 0755);
    write_file(c->log, "", 0644);
    remove_all(c->folder);
    snprintf(c->options, sizeof(c->options), "command=\"%s\", cache=\"%s\"", c->command,
             c->folder);
}

static void end(struct cached *c)
{
    remove_all(c->folder);
    unlink(c->log);
    unlink(c->command);
    bt_ctx_destroy(c->ctx);
}

/* How often the compiler compiled. */
static long ncompiled(const struct cached *c)
{
    struct stat s;
    assert_int_equal(stat(c->log, &s), 0);
    return (long)s.st_size / 2;
}

static void compile_and_run(const struct cached *c, const char *text, int x, int y)
{
    bt_code *code = build(c->ctx, "cc", c->options, text, NULL);
    assert_int_equal(((int (*)(int))get(code, "f"))(x), y);
    bt_code_unload(code);
}

/* The one object in the cache. */
static void find_entry(const struct cached *c, char out[700])
{
    DIR *at = opendir(c->folder);
    int n = 0;
    assert_non_null(at);
    for (struct dirent *e; (e = readdir(at));) {
        if (e->d_name[0] != '.') {
            snprintf(out, 700, "%s/%s", c->folder, e->d_name);
            n++;
        }
    }
    closedir(at);
    assert_int_equal(n, 1);
}

static void check_note(const struct cached *c, const char *part)
{
    bt_status r;
    for (uint32_t i = 0; (r = bt_ctx_remark(c->ctx, BT_REMARK_NOTE, i)); i++) {
        if (strstr(r->message, part)) {
            bt_ctx_clear_diags(c->ctx);
            return;
        }
    }
    fail_msg("no note says \"%s\"", part);
}

static void test_what_was_compiled_is_not_compiled_again(void **state)
{
    (void)state;
    struct cached c;
    struct stat s;
    begin(&c);
    compile_and_run(&c, simple, 1, 2);
    assert_int_equal(ncompiled(&c), 1);
    compile_and_run(&c, simple, 1, 2);
    assert_int_equal(ncompiled(&c), 1);
    compile_and_run(&c, "int f(int x) { return x + 2; }\n", 1, 3);
    assert_int_equal(ncompiled(&c), 2);
    assert_int_equal(stat(c.folder, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    assert_int_equal(bt_ctx_nremark(c.ctx, BT_REMARK_NOTE), 0);
    end(&c);
}

static void test_the_environment_names_the_cache(void **state)
{
    (void)state;
    struct cached c;
    begin(&c);
    snprintf(c.options, sizeof(c.options), "command=\"%s\"", c.command);
    setenv("BATON_CACHE", c.folder, 1);
    compile_and_run(&c, simple, 1, 2);
    compile_and_run(&c, simple, 1, 2);
    assert_int_equal(ncompiled(&c), 1);
    setenv("BATON_CACHE", "off", 1);
    compile_and_run(&c, simple, 1, 2);
    assert_int_equal(ncompiled(&c), 2);
    unsetenv("BATON_CACHE");
    end(&c);
}

static void test_a_damaged_entry_is_compiled_anew(void **state)
{
    (void)state;
    struct cached c;
    char path[700];
    struct stat s;
    begin(&c);
    compile_and_run(&c, simple, 1, 2);
    find_entry(&c, path);
    assert_int_equal(stat(path, &s), 0);
    for (off_t at = 0; at < s.st_size; at += s.st_size / 7) {
        char byte;
        int file = open(path, O_RDWR);
        assert_true(file >= 0);
        assert_int_equal(pread(file, &byte, 1, at), 1);
        byte ^= 4;
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
        close(file);
        long before = ncompiled(&c);
        compile_and_run(&c, simple, 1, 2);
        assert_int_equal(ncompiled(&c), before + 1);
        check_note(&c, "is damaged: compiled without the cache");
        compile_and_run(&c, simple, 1, 2); // mended
        assert_int_equal(ncompiled(&c), before + 1);
    }
    assert_int_equal(truncate(path, 20), 0);
    compile_and_run(&c, simple, 1, 2);
    check_note(&c, "is damaged");
    end(&c);
}

static void test_entries_that_others_may_write_are_not_used(void **state)
{
    (void)state;
    struct cached c;
    char path[700], other[720];
    begin(&c);
    compile_and_run(&c, simple, 1, 2);
    find_entry(&c, path);
    assert_int_equal(chmod(path, 0666), 0);
    compile_and_run(&c, simple, 1, 2);
    check_note(&c, "may be written by others");
    assert_int_equal(ncompiled(&c), 2);
    compile_and_run(&c, simple, 1, 2); // it was replaced
    assert_int_equal(ncompiled(&c), 2);
    snprintf(other, sizeof(other), "%s.moved", path);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    compile_and_run(&c, simple, 1, 2);
    assert_int_equal(ncompiled(&c), 3);
    bt_ctx_clear_diags(c.ctx);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, 0), 0);
        compile_and_run(&c, simple, 1, 2);
        check_note(&c, "belongs to somebody else");
        assert_int_equal(ncompiled(&c), 4);
    }
    end(&c);
}

static void test_folders_that_cannot_be_used_are_done_without(void **state)
{
    (void)state;
    struct cached c;
    char file[320];
    begin(&c);
    assert_int_equal(mkdir(c.folder, 0777), 0);
    assert_int_equal(chmod(c.folder, 0777), 0);
    compile_and_run(&c, simple, 1, 2);
    check_note(&c, "may be written by others: compiled without the cache");
    assert_int_equal(chmod(c.folder, 0500), 0);
    compile_and_run(&c, simple, 1, 2);
    if (geteuid() != 0) // who may write everywhere
        check_note(&c, "Permission denied");
    assert_int_equal(chmod(c.folder, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(c.folder, 12345, 0), 0);
        compile_and_run(&c, simple, 1, 2);
        check_note(&c, "belongs to somebody else");
        assert_int_equal(chown(c.folder, 0, 0), 0);
    }
    snprintf(c.options, sizeof(c.options), "command=\"%s\", cache=\"/proc/nowhere\"",
             c.command);
    compile_and_run(&c, simple, 1, 2);
    check_note(&c, "compiled without the cache");
    snprintf(c.options, sizeof(c.options), "command=\"%s\", cache=\"relative\"",
             c.command);
    compile_and_run(&c, simple, 1, 2);
    check_note(&c, "is not an absolute path");
    snprintf(file, sizeof(file), "%s", c.log);
    snprintf(c.options, sizeof(c.options), "command=\"%s\", cache=\"%s\"", c.command,
             file);
    compile_and_run(&c, simple, 1, 2);
    check_note(&c, "compiled without the cache");
    end(&c);
}

/* A file system without room is a limit on the size of files here. */
static void test_a_full_cache_is_done_without(void **state)
{
    (void)state;
    struct cached c;
    char text[3000];
    struct rlimit before, small;
    begin(&c);
    size_t n = (size_t)snprintf(text, sizeof(text),
                                "const char large[20000] = { 1 };\n%s", simple);
    assert_true(n < sizeof(text));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 8192;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bt_text object;
    bt_code *code;
    bt_status status = try_compile(c.ctx, "cc", c.options, text, &object);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_ok(c.ctx, status);
    assert_ok(c.ctx, load_object(c.ctx, &object, NULL, &code));
    assert_int_equal(((int (*)(int))get(code, "f"))(1), 2);
    bt_code_unload(code);
    check_note(&c, "File too large: compiled without the cache");
    DIR *at = opendir(c.folder);
    assert_non_null(at);
    for (struct dirent *e; (e = readdir(at));) // nothing half is left
        assert_true(strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0);
    closedir(at);
    end(&c);
}

static void test_the_oldest_make_room(void **state)
{
    (void)state;
    struct cached c;
    char old[700], path[700];
    begin(&c);
    compile_and_run(&c, simple, 1, 2);
    snprintf(old, sizeof(old), "%s/%064d", c.folder, 7);
    write_file(old, "", 0600);
    assert_int_equal(truncate(old, 1 << 20), 0);
    const struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    assert_int_equal(utimensat(AT_FDCWD, old, long_ago, 0), 0);
    snprintf(path, sizeof(path), ", cache_mb=1");
    strncat(c.options, path, sizeof(c.options) - strlen(c.options) - 1);
    compile_and_run(&c, "int f(int x) { return x + 2; }\n", 1, 3);
    assert_int_not_equal(access(old, F_OK), 0);
    compile_and_run(&c, simple, 1, 2); // the younger one stayed
    assert_int_equal(ncompiled(&c), 2);
    end(&c);
}

struct worker {
    const struct cached *c;
    int failed;
};

static void *work(void *self)
{
    struct worker *w = self;
    bt_ctx *ctx = bt_ctx_create(bt_ctx_registry(w->c->ctx));
    for (int i = 0; ctx && i < 5; i++) {
        bt_text object;
        char text[100];
        snprintf(text, sizeof(text), "int f(int x) { return x + %d; }\n", i);
        bt_code *code = NULL;
        w->failed |= try_compile(ctx, "cc", w->c->options, text, &object) ||
                     load_object(ctx, &object, NULL, &code) ||
                     ((int (*)(int))bt_code_find(code, "f"))(1) != 1 + i;
        bt_code_unload(code);
    }
    w->failed |= !ctx || bt_ctx_nremark(ctx, BT_REMARK_NOTE);
    bt_ctx_destroy(ctx);
    return NULL;
}

static void test_threads_share_the_cache(void **state)
{
    (void)state;
    struct cached c;
    pthread_t threads[4];
    struct worker workers[4];
    begin(&c);
    for (int i = 0; i < 4; i++) {
        workers[i] = (struct worker){ &c, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_false(workers[i].failed);
    }
    end(&c);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_missing_helper_is_named),
    cmocka_unit_test(test_a_helper_that_is_not_executable_is_named),
    cmocka_unit_test(test_a_helper_that_is_no_program_is_named),
    cmocka_unit_test(test_a_helper_that_is_killed_says_by_what),
    cmocka_unit_test(test_a_helper_that_hangs_is_killed_with_its_children),
    cmocka_unit_test(test_a_helper_that_gives_nothing_is_told_from_one_that_fails),
    cmocka_unit_test(test_garbage_is_no_object),
    cmocka_unit_test(test_the_helper_sees_neither_files_nor_environment),
    cmocka_unit_test(test_the_helper_gets_the_text_as_it_is),
    cmocka_unit_test(test_a_request_to_stop_ends_it),
    cmocka_unit_test(test_signals_that_are_ignored_do_not_disturb),
    cmocka_unit_test(test_lack_of_memory_is_told),
    cmocka_unit_test(test_a_crash_of_libtcc_is_a_status),
    cmocka_unit_test(test_errors_have_their_line_and_column),
    cmocka_unit_test(test_every_error_of_cc_is_a_note),
    cmocka_unit_test(test_names_of_texts_may_hold_anything),
    cmocka_unit_test(test_system_headers_are_not_found),
    cmocka_unit_test(test_unknown_compilers_and_options_are_named),
    cmocka_unit_test(test_an_absent_cc_is_named),
    cmocka_unit_test(test_what_was_compiled_is_not_compiled_again),
    cmocka_unit_test(test_the_environment_names_the_cache),
    cmocka_unit_test(test_a_damaged_entry_is_compiled_anew),
    cmocka_unit_test(test_entries_that_others_may_write_are_not_used),
    cmocka_unit_test(test_folders_that_cannot_be_used_are_done_without),
    cmocka_unit_test(test_a_full_cache_is_done_without),
    cmocka_unit_test(test_the_oldest_make_room),
    cmocka_unit_test(test_threads_share_the_cache),
};
TEST_MAIN(tests)
