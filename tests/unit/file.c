/* Files: reading, replacing, opening beneath a folder. */
#include "failing_allocator.h"

#include <baton/value.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "value/file.h"

static bt_ctx *ctx;
static char folder[64];

/* Every test works in a folder of its own, which must hold nothing temporary at the
 * end. */
static int setup(void **state)
{
    (void)state;
    bt_registry *r = bt_registry_create(NULL);
    ctx = bt_ctx_create(r);
    bt_registry_unref(r);
    strcpy(folder, "/tmp/baton-test-XXXXXX");
    return !ctx || !mkdtemp(folder);
}

static const char *path_of(const char *name)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_text_addf(&text, "%s/%s", folder, name);
    return bt_text_get(&text);
}

static int remove_all(const char *at)
{
    DIR *d = opendir(at);
    int ntemporary = 0;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        char path[512];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", at, e->d_name);
        ntemporary += strstr(e->d_name, ".tmp") != NULL;
        if (unlink(path) != 0)
            ntemporary += remove_all(path);
    }
    closedir(d);
    rmdir(at);
    return ntemporary;
}

static int teardown(void **state)
{
    (void)state;
    int ntemporary = remove_all(folder);
    bt_ctx_destroy(ctx);
    assert_int_equal(ntemporary, 0);
    return 0;
}

static void assert_content(bt_file *f, const char *bytes, size_t nbytes)
{
    assert_int_equal(f->nbytes, nbytes);
    assert_memory_equal(f->bytes, bytes, nbytes);
    assert_int_equal(((const char *)f->bytes)[nbytes], 0);
    bt_file_close(ctx, f);
}

static void test_what_is_written_reads_back(void **state)
{
    (void)state;
    bt_file *f;
    const char *path = path_of("x.txt");
    assert_ok(ctx, bt_file_write(ctx, path, "one\0two", 7));
    assert_ok(ctx, bt_file_read(ctx, path, &f));
    assert_string_equal(f->path, path);
    assert_content(f, "one\0two", 7);
    assert_ok(ctx, bt_file_write(ctx, path, NULL, 0));
    assert_ok(ctx, bt_file_read(ctx, path, &f));
    assert_content(f, "", 0);
    bt_file_close(ctx, NULL);
}

/* Around the sizes where files are mapped, and where a page has no room for the NUL. */
static void test_large_files_end_in_a_nul_too(void **state)
{
    (void)state;
    size_t sizes[] = { (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20, (3 << 20) + 4095 };
    char *bytes = malloc(4 << 20);
    for (size_t i = 0; i < 4 << 20; i++)
        bytes[i] = (char)(1 + i % 101);
    for (uint32_t i = 0; i < BT_COUNT(sizes); i++) {
        bt_file *f;
        assert_ok(ctx, bt_file_write(ctx, path_of("large"), bytes, sizes[i]));
        assert_ok(ctx, bt_file_read(ctx, path_of("large"), &f));
        assert_content(f, bytes, sizes[i]);
    }
    free(bytes);
}

static void test_files_beyond_the_limit_are_refused(void **state)
{
    (void)state;
    bt_file *f;
    assert_ok(ctx, bt_file_write(ctx, path_of("x"), "0123456789", 10));
    bt_ctx_limits(ctx)->bytes = 10;
    assert_ok(ctx, bt_file_read(ctx, path_of("x"), &f));
    assert_content(f, "0123456789", 10);
    bt_ctx_limits(ctx)->bytes = 9;
    assert_error(bt_file_read(ctx, path_of("x"), &f), BT_ERR_LIMIT, "9 bytes");
    assert_error(bt_file_read(ctx, "/dev/zero", &f), BT_ERR_LIMIT, "9 bytes");
    bt_ctx_limits(ctx)->bytes = 1000000;
    assert_error(bt_file_read(ctx, "/dev/zero", &f), BT_ERR_LIMIT, "1000000 bytes");
}

/* A size of 0 may be a lie: what a kernel makes up on reading has none. */
static void test_files_without_a_size_are_read_to_their_end(void **state)
{
    (void)state;
    bt_file *f;
    assert_ok(ctx, bt_file_read(ctx, "/proc/self/cmdline", &f));
    assert_true(f->nbytes > 0);
    bt_file_close(ctx, f);
    assert_ok(ctx, bt_file_read(ctx, "/dev/null", &f));
    assert_content(f, "", 0);
}

static void test_a_dash_is_standard_input(void **state)
{
    (void)state;
    int ends[2], saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "piped", 5), 5);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    bt_file *f;
    bt_status status = bt_file_read(ctx, "-", &f);
    dup2(saved, STDIN_FILENO);
    close(saved);
    assert_ok(ctx, status);
    assert_content(f, "piped", 5);
}

static void test_missing_files_and_folders_are_named(void **state)
{
    (void)state;
    bt_file *f;
    const char *path = path_of("none");
    bt_status status = bt_file_read(ctx, path, &f);
    assert_error(status, BT_ERR_IO, "cannot be opened: No such file");
    assert_string_equal(status->place.file, path);
    assert_error(bt_file_read(ctx, folder, &f), BT_ERR_IO, "is a folder");
    assert_error(bt_file_write(ctx, folder, "x", 1), BT_ERR_IO, "is a folder");
    assert_error(bt_file_write(ctx, path_of("none/x"), "x", 1), BT_ERR_IO,
                 "cannot be written");
}

static void test_a_request_to_stop_ends_reading(void **state)
{
    (void)state;
    bt_file *f;
    bt_ctx_cancel(ctx);
    assert_error(bt_file_read(ctx, "/dev/zero", &f), BT_ERR_CANCELLED, "/dev/zero");
    bt_ctx_clear_diags(ctx);
    assert_false(bt_ctx_cancelled(ctx));
}

static void test_what_was_read_is_known_by_any_name(void **state)
{
    (void)state;
    char path[4096];
    bt_file *f;
    snprintf(path, sizeof(path), "%s", path_of("x"));
    assert_ok(ctx, bt_file_write(ctx, path, "read", 4));
    assert_ok(ctx, bt_file_read(ctx, path, &f));
    bt_file_close(ctx, f);
    assert_false(bt_file_is_read(ctx, path)); // nobody has asked for that
    assert_ok(ctx, bt_file_keep_read(ctx));
    assert_false(bt_file_is_read(ctx, path_of("missing")));
    assert_ok(ctx, bt_file_read(ctx, path, &f));
    bt_file_close(ctx, f);
    assert_true(bt_file_is_read(ctx, path));
    assert_int_equal(symlink(path, path_of("link")), 0);
    assert_true(bt_file_is_read(ctx, path_of("link")));
    assert_ok(ctx, bt_file_write(ctx, path, "another", 7));
    assert_false(bt_file_is_read(ctx, path));
}

/* ---- writing ---- */

static void test_replacing_keeps_the_mode_and_the_open_file(void **state)
{
    (void)state;
    const char *path = path_of("x");
    struct stat s;
    char old[4] = { 0 };
    assert_ok(ctx, bt_file_write(ctx, path, "old", 3));
    assert_int_equal(chmod(path, 0640), 0);
    int fd = open(path, O_RDONLY);
    assert_ok(ctx, bt_file_write(ctx, path, "new", 3));
    assert_int_equal(read(fd, old, 3), 3);
    close(fd);
    assert_string_equal(old, "old");
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0640);
}

/* self: what the content has to be. */
static bt_status look(bt_ctx *c, const char *written, const void *self)
{
    bt_file *f;
    BT_TRY(bt_file_read(c, written, &f));
    const int is_equal = strcmp(f->bytes, self) == 0;
    bt_file_close(c, f);
    return is_equal ? NULL
                    : bt_fail(c, BT_ERR_FORMAT, "%s was wanted", (const char *)self);
}

static void test_what_a_check_refuses_replaces_nothing(void **state)
{
    (void)state;
    const char *path = path_of("x");
    bt_file *f;
    assert_ok(ctx, bt_file_write(ctx, path, "old", 3));
    const bt__file_part part = { "new", 3 };
    assert_error(bt__file_write_parts(ctx, path, 1, &part, look, "better"), BT_ERR_FORMAT,
                 "better was wanted");
    assert_ok(ctx, bt_file_read(ctx, path, &f));
    assert_content(f, "old", 3);
    assert_ok(ctx, bt__file_write_parts(ctx, path, 1, &part, look, "new"));
    assert_ok(ctx, bt_file_read(ctx, path, &f));
    assert_content(f, "new", 3);
}

static void test_devices_are_written_to_not_replaced(void **state)
{
    (void)state;
    struct stat s;
    assert_ok(ctx, bt_file_write(ctx, "/dev/null", "x", 1));
    assert_int_equal(stat("/dev/null", &s), 0);
    assert_true(S_ISCHR(s.st_mode));
    assert_error(bt_file_write(ctx, "/dev/full", "x", 1), BT_ERR_IO, "No space left");
}

static void test_a_long_name_is_written(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    bt_file *f;
    assert_ok(ctx, bt_file_write(ctx, path_of(name), "x", 1));
    assert_ok(ctx, bt_file_read(ctx, path_of(name), &f));
    assert_content(f, "x", 1);
}

/* ---- folders ---- */

static void test_folders_are_made_with_those_above_them(void **state)
{
    (void)state;
    assert_ok(ctx, bt_folder_make(ctx, path_of("a/b/c/")));
    assert_ok(ctx, bt_folder_make(ctx, path_of("a/b")));
    assert_ok(ctx, bt_file_write(ctx, path_of("a/b/c/x"), "x", 1));
    assert_ok(ctx, bt_folder_make(ctx, path_of("a//d")));
    assert_ok(ctx, bt_file_write(ctx, path_of("a/d/x"), "x", 1));
    assert_ok(ctx, bt_folder_make(ctx, "/"));
    assert_error(bt_folder_make(ctx, ""), BT_ERR_IO, "No such file");
    assert_error(bt_folder_make(ctx, path_of("a/b/c/x")), BT_ERR_IO, "Not a directory");
    assert_error(bt_folder_make(ctx, path_of("a/b/c/x/d")), BT_ERR_IO, "Not a directory");
}

/* ---- beneath a folder ---- */

static void make_tree(void)
{
    assert_int_equal(mkdir(path_of("in"), 0755), 0);
    assert_int_equal(mkdir(path_of("in/sub"), 0755), 0);
    assert_ok(ctx, bt_file_write(ctx, path_of("in/sub/x"), "inside", 6));
    assert_ok(ctx, bt_file_write(ctx, path_of("secret"), "secret", 6));
}

static void test_files_beneath_a_folder_are_read(void **state)
{
    (void)state;
    static const char *const names[] = { "sub/x", "./sub/x", "sub//x", "sub/./x" };
    make_tree();
    for (uint32_t i = 0; i < BT_COUNT(names); i++) {
        bt_file *f;
        assert_ok(ctx, bt_file_read_beneath(ctx, path_of("in"), names[i], &f));
        assert_content(f, "inside", 6);
    }
}

static void refuse_beneath(const char *name, const char *part)
{
    bt_file *f;
    assert_error(bt_file_read_beneath(ctx, path_of("in"), name, &f), BT_ERR_IO, part);
}

static void test_nothing_outside_the_folder_is_read(void **state)
{
    (void)state;
    make_tree();
    assert_int_equal(symlink("../secret", path_of("in/link")), 0);
    assert_int_equal(symlink("..", path_of("in/up")), 0);
    assert_int_equal(symlink("sub", path_of("in/down")), 0);
    assert_int_equal(link(path_of("secret"), path_of("in/hard")), 0);
    assert_int_equal(mkfifo(path_of("in/pipe"), 0644), 0);
    refuse_beneath("", "is empty");
    refuse_beneath("/etc/passwd", "absolute");
    refuse_beneath(path_of("in/sub/x"), "absolute");
    refuse_beneath("../secret", "\"..\"");
    refuse_beneath("sub/../../secret", "\"..\"");
    refuse_beneath("sub/..", "\"..\"");
    refuse_beneath("link", "symbolic link");
    refuse_beneath("up/secret", "up/secret");
    refuse_beneath("down/x", "down/x");
    refuse_beneath("hard", "hard link");
    refuse_beneath("pipe", "no regular file");
    refuse_beneath("sub", "no regular file");
    refuse_beneath("sub/", "sub/");
    refuse_beneath(".", "no regular file");
    refuse_beneath("sub/x/", "sub/x/");
    refuse_beneath("none", "No such file");
}

static int open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) != -1;
    return n;
}

static void test_no_descriptor_is_left_open(void **state)
{
    (void)state;
    int before = open_files();
    bt_file *f;
    make_tree();
    assert_ok(ctx, bt_file_read_beneath(ctx, path_of("in"), "sub/x", &f));
    bt_file_close(ctx, f);
    refuse_beneath("sub/../x", "\"..\"");
    refuse_beneath("none/x", "No such file");
    refuse_beneath("sub", "no regular file");
    assert_error(bt_file_read(ctx, folder, &f), BT_ERR_IO, "is a folder");
    assert_int_equal(open_files(), before);
}

/* ---- tensors within ---- */

/* A file of 2 MiB, which is mapped; byte i is i. */
static bt_file *bytes_file(void)
{
    static uint8_t bytes[2 << 20];
    const char *path = path_of("numbers");
    bt_file *f;
    for (uint32_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)i;
    assert_ok(ctx, bt_file_write(ctx, path, bytes, sizeof(bytes)));
    assert_ok(ctx, bt_file_read(ctx, path, &f));
    assert_true(f->is_mapped);
    return f;
}

static void test_a_tensor_lies_in_its_file(void **state)
{
    (void)state;
    bt_file *f = bytes_file();
    bt_tensor *t, *copy;
    const int64_t dims[2] = { 2, 3 };
    const char *bytes = f->bytes;
    assert_ok(ctx, bt_file_tensor(ctx, f, BT_UINT32, 2, dims, 8, &t));
    assert_ptr_equal(t->data, bytes + 8);
    assert_ok(ctx, bt_file_tensor(ctx, f, BT_UINT32, 2, dims, 9, &copy));
    assert_ptr_not_equal(copy->data, bytes + 9);
    bt_file_close(ctx, f); // t keeps it open
    assert_int_equal(bt_tensor_get_int(t, 5), 0x1f1e1d1c);
    assert_int_equal(bt_tensor_get_int(copy, 0), 0x0c0b0a09);
    bt_tensor_unref(t);
    bt_tensor_unref(copy);
}

/* As a file may have it behind other things: nothing of a large one is copied before it is
 * needed. */
static void test_a_large_tensor_lies_at_any_byte(void **state)
{
    (void)state;
    enum { N = 1 << 18 };
    bt_file *f = bytes_file();
    bt_tensor *t, *view, *dense, *same;
    const int64_t n = N, square[2] = { 512, 512 }, turned[2] = { 1, 512 };
    const char *bytes = f->bytes;
    assert_ok(ctx, bt_file_tensor(ctx, f, BT_UINT32, 1, &n, 9, &t));
    bt_file_close(ctx, f);
    assert_ptr_equal(t->data, bytes + 9);
    assert_false(bt_tensor_is_dense(t));
    assert_int_equal(bt_tensor_get_int(t, 1), 0x100f0e0d);
    assert_ok(ctx, bt_tensor_cast(ctx, t, BT_INT64, &same));
    assert_int_equal(bt_tensor_get_int(same, N - 1), 0x08070605);
    bt_tensor_unref(same);
    assert_ok(ctx, bt_tensor_dense(ctx, t, &dense));
    assert_int_equal((uintptr_t)dense->data % 64, 0);
    assert_memory_equal(dense->data, bytes + 9, 4 * N);
    assert_ok(ctx, bt_tensor_view(ctx, t, 2, square, turned, 0, &view));
    assert_ok(ctx, bt_tensor_dense(ctx, view, &same));
    for (int64_t i = 0; i < 512; i++)
        assert_int_equal(bt_tensor_get_int(same, 512 * i + 3),
                         bt_tensor_get_int(t, 3 * 512 + i));
    bt_tensor_unref(t);
    bt_tensor_unref(view);
    bt_tensor_unref(dense);
    bt_tensor_unref(same);
}

static void test_what_is_forgotten_is_read_again(void **state)
{
    (void)state;
    bt_file *f = bytes_file();
    bt_tensor *t, *other;
    assert_ok(ctx, bt_file_tensor(ctx, f, BT_UINT8, 1, &(int64_t){ 1 << 20 }, 100, &t));
    assert_ok(ctx, bt_tensor_scalar_int(ctx, BT_INT64, 7, &other));
    bt_file_close(ctx, f);
    bt_tensor_forget(t);
    bt_tensor_forget(other); // lies in no file
    assert_int_equal(bt_tensor_get_int(t, 0), 100);
    assert_int_equal(bt_tensor_get_int(t, (1 << 20) - 1), 99);
    assert_int_equal(bt_tensor_get_int(other, 0), 7);
    bt_tensor_unref(t);
    bt_tensor_unref(other);
}

static void test_a_tensor_beyond_its_file_is_refused(void **state)
{
    (void)state;
    bt_file *f = bytes_file();
    bt_tensor *t;
    const int64_t n = 4;
    assert_ok(ctx, bt_file_tensor(ctx, f, BT_INT32, 1, &n, (2 << 20) - 16, &t));
    bt_tensor_unref(t);
    assert_error(bt_file_tensor(ctx, f, BT_INT32, 1, &n, (2 << 20) - 12, &t),
                 BT_ERR_FORMAT, "has 2097152 bytes");
    assert_error(bt_file_tensor(ctx, f, BT_INT32, 1, &n, SIZE_MAX - 3, &t), BT_ERR_FORMAT,
                 "has 2097152 bytes");
    bt_file_close(ctx, f);
}

/* ---- failing allocation ---- */

static int use_files(const bt_allocator *allocator)
{
    bt_registry *r = failing_registry(allocator);
    bt_ctx *own = r ? bt_ctx_create(r) : NULL;
    bt_file *f = NULL, *g = NULL, *h = NULL;
    const char *path = path_of("failing");
    int succeeded = own && ok_or_no_memory(bt_file_write(own, path, "content", 7)) &&
                    ok_or_no_memory(bt_file_read(own, path, &f)) &&
                    ok_or_no_memory(bt_file_read_beneath(own, folder, "failing", &g)) &&
                    ok_or_no_memory(bt_file_read(own, "/proc/self/status", &h));
    if (own) {
        bt_file_close(own, f);
        bt_file_close(own, g);
        bt_file_close(own, h);
    }
    bt_ctx_destroy(own);
    bt_registry_unref(r);
    return succeeded;
}

static void test_each_failing_allocation_is_reported(void **state)
{
    (void)state;
    int before = open_files();
    fail_each_allocation(use_files);
    assert_int_equal(open_files(), before);
}

static const struct CMUnitTest tests[] = {
    TEST(test_what_is_written_reads_back),
    TEST(test_large_files_end_in_a_nul_too),
    TEST(test_files_beyond_the_limit_are_refused),
    TEST(test_files_without_a_size_are_read_to_their_end),
    TEST(test_a_dash_is_standard_input),
    TEST(test_missing_files_and_folders_are_named),
    TEST(test_a_request_to_stop_ends_reading),
    TEST(test_what_was_read_is_known_by_any_name),
    TEST(test_replacing_keeps_the_mode_and_the_open_file),
    TEST(test_what_a_check_refuses_replaces_nothing),
    TEST(test_devices_are_written_to_not_replaced),
    TEST(test_a_long_name_is_written),
    TEST(test_folders_are_made_with_those_above_them),
    TEST(test_files_beneath_a_folder_are_read),
    TEST(test_nothing_outside_the_folder_is_read),
    TEST(test_no_descriptor_is_left_open),
    TEST(test_a_tensor_lies_in_its_file),
    TEST(test_a_large_tensor_lies_at_any_byte),
    TEST(test_what_is_forgotten_is_read_again),
    TEST(test_a_tensor_beyond_its_file_is_refused),
    TEST(test_each_failing_allocation_is_reported),
};
TEST_MAIN(tests)
