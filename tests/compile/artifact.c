/* Artifacts: what is written is what is run, on this machine and others; files. */
#include "artifact_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- what is written is what is run ---- */

static const char *const targets[] = { "reference", "panels", "panels{steps=0}",
                                       "panels.new{steps=2}", "liar, panels, reference" };

static void test_what_is_written_runs(void **state)
{
    (void)state;
    for (size_t i = 0; i < BT_COUNT(targets); i++) {
        bt_compiled *c = compiled_for(targets[i]), *d;
        bt_artifact *a;
        assert_ok(ctx, bt_artifact_write(ctx, c, 0, path));
        assert_true(bt_artifact_is(path));
        assert_ok(ctx, bt_artifact_read(ctx, path, &a));
        uint32_t first = c->ntarget, n = 0; // of those that compute anything
        for (uint32_t k = c->ntarget; k-- > 0;) {
            n += c->loaded[k] != NULL;
            first = c->loaded[k] ? k : first;
        }
        assert_int_equal(a->ntarget, n);
        assert_string_equal(a->targets[0].text, c->targets[first]->text);
        assert_string_equal(a->entry, "main");
        assert_int_equal(a->nkernel, c->nkernel);
        assert_int_equal(a->nconstant, 1);
        assert_int_equal(a->packed_nbytes,
                         bt_tensor_nbytes(bt_const_tensor(input_of(c, 0, 1))));
        assert_int_equal(a->unpacked_nbytes, 8 * 9 * sizeof(float));
        assert_int_equal(a->module->nglobal, 1);
        assert_ok(ctx, bt_artifact_load(ctx, a, NULL, &d));
        assert_int_equal(d->packed_nbytes, a->packed_nbytes);
        assert_int_equal(d->unpacked_nbytes, a->unpacked_nbytes);
        bt_artifact_close(a); // what is loaded holds on to what it needs
        unlink(path);
        check_same(c, d);
        bt_compiled_unref(d);
        bt_compiled_unref(c);
    }
}

static void test_constants_lie_in_the_file(void **state)
{
    (void)state;
    static const char *const forms[] = { "panels", "reference" };
    for (size_t i = 0; i < BT_COUNT(forms); i++) {
        struct bytes b = written_for(forms[i]);
        bt_artifact *a;
        bt_compiled *c;
        assert_ok(ctx, bt_artifact_read(ctx, path, &a));
        assert_ok(ctx, bt_artifact_load(ctx, a, NULL, &c));
        const bt_tensor *constant = bt_const_tensor(input_of(c, 0, 1));
        assert_non_null(constant->owner); // the mapping
        const bt_tensor *bytes = bt_object_as_tensor(constant->owner);
        assert_int_equal(bt_tensor_nbytes(bytes), b.n);
        size_t offset = (size_t)((char *)constant->data - (char *)bytes->data);
        const struct bt__artifact_row *row = row_of(&b, BT__SECTION_CONSTANTS);
        assert_int_equal(offset, row->offset);
        assert_int_equal(bt_tensor_nbytes(constant), row->nbytes);
        assert_int_equal((uintptr_t)constant->data % 64, 0);
        bt_compiled_unref(c);
        bt_artifact_close(a);
        free(b.at);
    }
}

static void test_the_same_module_gives_the_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < BT_COUNT(targets); i++) {
        struct bytes first = written_for(targets[i]), second = written_for(targets[i]);
        bt_artifact *a;
        bt_compiled *c;
        assert_int_equal(first.n, second.n);
        assert_memory_equal(first.at, second.at, first.n);
        // and so does what was read from it
        assert_ok(ctx, bt_artifact_read(ctx, path, &a));
        assert_ok(ctx, bt_artifact_load(ctx, a, NULL, &c));
        bt_artifact_close(a);
        assert_ok(ctx, bt_artifact_write(ctx, c, 0, path));
        bt_compiled_unref(c);
        struct bytes third = read_bytes(path);
        assert_int_equal(first.n, third.n);
        assert_memory_equal(first.at, third.at, first.n);
        free(first.at);
        free(second.at);
        free(third.at);
    }
}

static void test_it_says_who_made_it(void **state)
{
    (void)state;
    char line[64];
    struct bytes b = written_for("panels");
    bt_artifact *a;
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    snprintf(line, sizeof(line), "baton %s\n", bt_version());
    assert_int_equal(strncmp(a->provenance, line, strlen(line)), 0);
    assert_non_null(strstr(a->provenance, "plugin test.targets 0.1.0\n"));
    assert_non_null(strstr(a->provenance, "pipeline 0000000000001234\n"));
    assert_null(strstr(a->provenance, "plugin baton.onnx")); // which nobody opened
    assert_int_equal(a->nsection, BT__SECTION_COUNT - 1);
    assert_string_equal(a->sections[0].name, "program");
    assert_int_equal(a->sections[0].checksum, row_of(&b, 1)->checksum);
    bt_artifact_close(a);
    free(b.at);
}

/* Other versions are remarked on, each with both, and nothing else. */
static void test_versions_are_compared(void **state)
{
    (void)state;
    static const char *const changed[] = { "plugin test.targets 0.1.0\n",
                                           "plugin test.targets 0.0.9\n" };
    char expected[500];
    struct bytes b = written_for("panels");
    bt_artifact *a;
    bt_compiled *c;
    bt_ctx_clear_diags(ctx);
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    assert_ok(ctx, bt_artifact_load(ctx, a, NULL, &c));
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 0);
    bt_compiled_unref(c);
    char *text = strdup(a->provenance), *line = strstr(text, changed[0]);
    assert_non_null(line);
    memcpy(line, changed[1], strlen(changed[1]));
    struct bytes other = with_section(&b, BT__SECTION_PROVENANCE, text, strlen(text));
    bt_artifact_close(a);
    write_bytes(&other);
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    assert_ok(ctx, bt_artifact_load(ctx, a, NULL, &c));
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 1);
    snprintf(
        expected, sizeof(expected),
        "%s was compiled with plugin test.targets 0.0.9 and is run with 0.1.0: compile "
        "it anew to have what changed",
        path);
    assert_string_equal(bt_ctx_remark(ctx, BT_REMARK_NOTE, 0)->message, expected);
    bt_compiled_unref(c);
    bt_artifact_close(a);
    free(text);
    free(other.at);
    free(b.at);
}

/* ---- other machines ---- */

/* A target that says nothing of its code loads what the same build of it wrote. */
static void test_the_build_of_a_plugin_is_checked(void **state)
{
    (void)state;
    static const char plugin[] = " of test.targets";
    struct bytes b = written_for("claim.any");
    const struct bt__artifact_row *row = row_of(&b, BT__SECTION_TARGETS);
    bt_artifact *a;
    bt_compiled *c;
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    const char *line = a->targets[0].compatibility;
    assert_int_equal(strncmp(line, "build ", 6), 0);
    assert_string_equal(line + strlen(line) - strlen(plugin), plugin);
    assert_ok(ctx, bt_artifact_load(ctx, a, NULL, &c));
    bt_compiled_unref(c);
    char *list = malloc(row->nbytes);
    memcpy(list, b.at + row->offset, row->nbytes);
    const char *section = (const char *)b.at + row->offset;
    size_t at = 0; // of the line, in the section
    while (memcmp(section + at, line, strlen(line)) != 0)
        at++;
    list[at + 6] ^= 1;
    struct bytes other = with_section(&b, BT__SECTION_TARGETS, list, row->nbytes);
    bt_artifact_close(a);
    write_bytes(&other);
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    assert_error(bt_artifact_load(ctx, a, NULL, &c), BT_ERR_UNSUPPORTED,
                 "of test.targets\" here: compile it anew");
    bt_artifact_close(a);
    free(list);
    free(other.at);
    free(b.at);
}

static void copy_file(const char *from, const char *to)
{
    struct bytes b = read_bytes(from);
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(b.at, 1, b.n, file), b.n);
    assert_int_equal(fclose(file), 0);
    free(b.at);
}

/* Which build compiles was found when it was opened: its file may be gone by the next time. */
static void test_the_build_of_a_plugin_is_read_once(void **state)
{
    (void)state;
    static const char name[] = "tests.compile.targets";
    char folder[300], manifest[400], binary[400], from[400], builds[2][100];
    snprintf(folder, sizeof(folder), TEST_FOLDER "/build.%d", (int)getpid());
    snprintf(manifest, sizeof(manifest), "%s/%s.baton.json", folder, name);
    snprintf(binary, sizeof(binary), "%s/%s.so", folder, name);
    snprintf(from, sizeof(from), "%s", TEST_TARGETS);
    snprintf(strstr(from, ".baton.json"), sizeof(".so"), ".so");
    assert_int_equal(mkdir(folder, 0755), 0);
    copy_file(TEST_TARGETS, manifest);
    copy_file(from, binary);
    bt_ctx *usual = ctx;
    ctx = open_plugin(manifest, NULL);
    for (size_t i = 0; i < BT_COUNT(builds); i++) {
        bt_artifact *a;
        free(written_for("claim.any").at);
        assert_ok(ctx, bt_artifact_read(ctx, path, &a));
        snprintf(builds[i], sizeof(builds[i]), "%s", a->targets[0].compatibility);
        bt_artifact_close(a);
        unlink(binary);
    }
    assert_string_equal(builds[0], builds[1]);
    bt_ctx_destroy(ctx);
    ctx = usual;
    unlink(manifest);
    rmdir(folder);
}

static void test_the_machine_is_checked(void **state)
{
    (void)state;
    static const struct {
        const char *target, *written, *read, *why; /* NULL: it runs */
    } rows[] = {
        { "panels", "m2", "m2", NULL },
        { "panels", "m2", "m3",
          "its code needs \"m2\", and target panels offers \"m3\" here" },
        { "panels", "m2", NULL, "offers \"\" here: compile it anew" },
        { "panels", NULL, "m3", NULL },
        { "panels.new", "m2", "m3", NULL },
        { "panels.new", "m2", "m1", "panels.new: m2 is above m1" },
    };
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        bt_artifact *a;
        bt_compiled *c;
        unsetenv("PANELS_MACHINE");
        if (rows[i].written)
            setenv("PANELS_MACHINE", rows[i].written, 1);
        free(written_for(rows[i].target).at);
        unsetenv("PANELS_MACHINE");
        if (rows[i].read)
            setenv("PANELS_MACHINE", rows[i].read, 1);
        assert_ok(ctx, bt_artifact_read(ctx, path, &a)); // to tell of it needs no machine
        assert_string_equal(a->targets[0].compatibility,
                            rows[i].written ? rows[i].written : "");
        bt_status status = bt_artifact_load(ctx, a, NULL, &c);
        if (rows[i].why)
            assert_error(status, BT_ERR_UNSUPPORTED, rows[i].why);
        else
            assert_ok(ctx, status);
        if (!status)
            bt_compiled_unref(c);
        bt_artifact_close(a);
    }
}

static void test_a_target_that_is_missing_is_named(void **state)
{
    (void)state;
    static const char text[] = "main\0\0"
                               "0\0"
                               "0\0"
                               "panel\0";
    struct bytes b = written_for("panels"),
                 other = with_section(&b, BT__SECTION_TARGETS, text, sizeof(text));
    bt_artifact *a;
    bt_compiled *c;
    write_bytes(&other);
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    assert_error(bt_artifact_load(ctx, a, NULL, &c), BT_ERR_NAME,
                 "no target is named \"panel\"; did you mean panels");
    bt_artifact_close(a);
    free(other.at);
    free(b.at);
}

/* ---- files ---- */

static void test_files_that_cannot_be(void **state)
{
    (void)state;
    bt_artifact *a;
    bt_compiled *c = compiled_for("panels");
    assert_error(bt_artifact_write(ctx, c, 0, "/dev/full"), BT_ERR_IO, "No space left");
    assert_error(bt_artifact_write(ctx, c, 0, "/proc/nowhere/x"), BT_ERR_IO,
                 "cannot be written");
    assert_error(bt_artifact_write(ctx, c, 0, "/"), BT_ERR_IO, "is a folder");
    assert_error(bt_artifact_read(ctx, "/", &a), BT_ERR_IO, "found a folder");
    assert_error(bt_artifact_read(ctx, "/dev/null", &a), BT_ERR_IO,
                 "found a pipe or a device");
    assert_error(bt_artifact_read(ctx, "/nowhere", &a), BT_ERR_IO, "cannot be opened");
    assert_false(bt_artifact_is("/nowhere"));
    assert_false(bt_artifact_is("/"));
    // a pipe that nobody writes to does not stop it
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_error(bt_artifact_read(ctx, path, &a), BT_ERR_IO, "found a pipe or a device");
    assert_false(bt_artifact_is(path));
    bt_compiled_unref(c);
}

static void test_a_folder_that_is_read_only_keeps_what_it_has(void **state)
{
    (void)state;
    char folder[320], file[340];
    bt_compiled *c = compiled_for("panels");
    snprintf(folder, sizeof(folder), "%s.folder", path);
    snprintf(file, sizeof(file), "%s/a", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_ok(ctx, bt_artifact_write(ctx, c, 0, file));
    struct bytes before = read_bytes(file);
    assert_int_equal(chmod(folder, 0500), 0);
    bt_status status = bt_artifact_write(ctx, c, 0, file);
    if (geteuid() != 0) // whom no mode stops
        assert_error(status, BT_ERR_IO, "cannot be written: Permission denied");
    struct bytes after = read_bytes(file);
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.at, after.at, before.n);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(folder), 0); // and nothing temporary is left
    free(before.at);
    free(after.at);
    bt_compiled_unref(c);
}

static void test_a_file_above_the_limit_is_refused(void **state)
{
    (void)state;
    struct bytes b = written_for("panels");
    bt_artifact *a;
    bt_ctx_limits(ctx)->bytes = b.n - 1;
    assert_error(bt_artifact_read(ctx, path, &a), BT_ERR_LIMIT, "exceeds the limit of");
    free(b.at);
}

/* ---- processes ---- */

/* Of the mapping of `path`: KiB that this process shares with others, and has alone. */
static void count_pages(long *shared, long *own)
{
    char line[600];
    int is_it = 0;
    FILE *file = fopen("/proc/self/smaps", "r");
    *shared = *own = 0;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        long n;
        if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
            is_it = strstr(line, path) != NULL;
        if (is_it && sscanf(line, "Shared_Clean: %ld", &n) == 1)
            *shared += n;
        if (is_it && sscanf(line, "Private_Dirty: %ld", &n) == 1)
            *own += n;
    }
    fclose(file);
}

/* A child that has the artifact open says so, and waits for our end. */
static void hold(int ready, int wait)
{
    char byte = 0;
    bt_artifact *a;
    if (!bt_artifact_read(ctx, path, &a) && write(ready, &byte, 1) == 1 &&
        read(wait, &byte, 1) == 0)
        _exit(0);
    _exit(1);
}

static void test_processes_share_the_constants(void **state)
{
    (void)state;
    int ready[2], end[2], code;
    long shared, own;
    char byte;
    bt_artifact *a;
    struct bytes b = written_for("reference");
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(end), 0);
    pid_t child = fork();
    if (child == 0) {
        close(end[1]);
        hold(ready[1], end[0]);
    }
    close(end[0]);
    assert_true(child > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    count_pages(&shared, &own);
    assert_true(shared * 1024 >= (long)b.n); // all of it, in whole pages
    assert_int_equal(own, 0);
    close(end[1]);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    bt_artifact_close(a);
    free(b.at);
}

/* ---- time ---- */

/* A chain of layers whose text is long and whose weights are small. */
static void test_a_hundred_kernels_load(void **state)
{
    (void)state;
    static char text[1 << 16];
    bt_compiled *c, *d;
    bt_artifact *a;
    int n = snprintf(text, sizeof(text),
                     "def @main(%%x: Tensor[(2, 9), float32]) {\n"
                     "    %%v0 = nn.dense(%%x, " WEIGHT ");\n");
    for (int i = 1; i < 100; i++)
        n +=
            snprintf(text + n, sizeof(text) - (size_t)n,
                     "    %%v%d = nn.dense(%%v%d, const[(%d, %d), float32]{0.125 ..});\n",
                     i, i - 1, 8 + i, 7 + i);
    snprintf(text + n, sizeof(text) - (size_t)n, "    %%v99\n}\n");
    assert_ok(ctx, compile_text(ctx, text, "panels", &c));
    assert_ok(ctx, bt_artifact_write(ctx, c, 0, path));
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    assert_ok(ctx, bt_artifact_load(ctx, a, NULL, &d));
    assert_int_equal(d->nkernel, 100);
    check_same(c, d);
    bt_artifact_close(a);
    bt_compiled_unref(d);
    bt_compiled_unref(c);
}

static const struct CMUnitTest tests[] = {
    TEST(test_what_is_written_runs),
    TEST(test_constants_lie_in_the_file),
    TEST(test_the_same_module_gives_the_same_bytes),
    TEST(test_it_says_who_made_it),
    TEST(test_versions_are_compared),
    TEST(test_the_build_of_a_plugin_is_checked),
    TEST(test_the_build_of_a_plugin_is_read_once),
    TEST(test_the_machine_is_checked),
    TEST(test_a_target_that_is_missing_is_named),
    TEST(test_files_that_cannot_be),
    TEST(test_a_folder_that_is_read_only_keeps_what_it_has),
    TEST(test_a_file_above_the_limit_is_refused),
    TEST(test_processes_share_the_constants),
    TEST(test_a_hundred_kernels_load),
};
TEST_MAIN(tests)
