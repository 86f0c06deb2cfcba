/* Programs that were built, kept in a folder: what is not as it was written never reaches the
 * driver. */
#define _XOPEN_SOURCE 700 // nftw
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit.h"

#include "fake.h"

static struct fake *fake;
static char folder[] = "/tmp/baton-opencl-XXXXXX";
static char path[400]; /* of the one program there */

static int open_fake(void **state)
{
    fake = fake_find(FAKE);
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
    if (!fake || setup(state) || !mkdtemp(folder))
        return -1;
    arena = bt_arena_create(registry);
    open_as((struct ocl_wish){ .library = FAKE, .cache = folder });
    return arena && device ? 0 : -1;
}

static int drop(const char *name, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(name);
}

static int close_fake(void **state)
{
    ocl_close(device);
    bt_arena_destroy(arena);
    (void)nftw(folder, drop, 8, FTW_DEPTH | FTW_PHYS);
    return teardown(state);
}

#define ON_FAKE(name) cmocka_unit_test_setup_teardown(name, open_fake, close_fake)

/* Loads, of what is said: "text", "binary", or "binary, text" where the first is refused. */
static void load_of(const char *what)
{
    const uint32_t nsource = fake->nsource, nbinary = fake->nbinary;
    ocl_unload(load_square());
    const int text = fake->nsource > nsource, binary = fake->nbinary > nbinary;
    assert_string_equal(text && binary ? "binary, text" : text ? "text" : "binary", what);
}

static uint32_t count_files(void)
{
    DIR *open = opendir(folder);
    uint32_t n = 0;
    for (const struct dirent *e; (e = readdir(open));) {
        n += e->d_name[0] != '.';
        if (e->d_name[0] != '.')
            snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
    }
    closedir(open);
    return n;
}

static size_t read_file(char *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    const size_t n = fread(bytes, 1, room, file);
    fclose(file);
    return n;
}

static void write_file(const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void test_a_program_is_built_once(void **state)
{
    (void)state;
    struct stat s;
    load_of("text");
    assert_int_equal(count_files(), 1);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    load_of("binary");
    fake->driver = "2"; // of another driver it is another program
    ocl_close(device);
    open_as((struct ocl_wish){ .library = FAKE, .cache = folder });
    load_of("text");
    assert_int_equal(count_files(), 2);
    load_of("binary");
}

static void test_without_a_cache_each_load_builds(void **state)
{
    (void)state;
    ocl_close(device);
    open_as((struct ocl_wish){ .library = FAKE, .cache = "off" });
    load_of("text");
    load_of("text");
    assert_int_equal(count_files(), 0);
}

static void test_a_damaged_program_is_built_again(void **state)
{
    (void)state;
    char bytes[1000];
    load_of("text");
    (void)count_files();
    const size_t n = read_file(bytes, sizeof(bytes));
    assert_true(n > 70 && n < sizeof(bytes));
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 1;
        write_file(bytes, n);
        bytes[i] ^= 1;
        load_of("text");
        write_file(bytes, i);
        load_of("text");
        bt_ctx_clear_diags(ctx);
    }
    load_of("binary"); // the last one was written again
}

static void test_what_others_may_write_is_not_used(void **state)
{
    (void)state;
    load_of("text");
    (void)count_files();
    assert_int_equal(chmod(path, 0620), 0);
    load_of("text"); // which puts one that is right in its place
    load_of("binary");
    assert_int_equal(chmod(folder, 0777), 0);
    load_of("text");
    load_of("text");
    assert_int_equal(chmod(folder, 0700), 0);
    load_of("binary");
    assert_true(bt_ctx_nremark(ctx, BT_REMARK_NOTE) > 0);
}

static void test_what_somebody_else_owns_is_not_used(void **state)
{
    (void)state;
    load_of("text");
    (void)count_files();
    if (chown(path, 65534, (gid_t)-1) != 0) {
        print_message("skipped: files are given away by root alone\n");
        skip();
    }
    load_of("text");
    load_of("binary");
    assert_int_equal(chown(folder, 65534, (gid_t)-1), 0);
    load_of("text");
    assert_int_equal(chown(folder, geteuid(), (gid_t)-1), 0);
}

static void test_a_link_is_not_followed(void **state)
{
    (void)state;
    char other[420];
    load_of("text");
    (void)count_files();
    snprintf(other, sizeof(other), "%s/.other", folder);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    load_of("text");
}

static void test_a_binary_that_the_driver_refuses_is_built_again(void **state)
{
    (void)state;
    load_of("text");
    fake->only = "CreateProgramWithBinary";
    fake->fail_at = fake->ncall + 1;
    fake->error = -42;
    load_of("binary, text");
    load_of("binary");
}

static const struct CMUnitTest tests[] = {
    ON_FAKE(test_a_program_is_built_once),
    ON_FAKE(test_without_a_cache_each_load_builds),
    ON_FAKE(test_a_damaged_program_is_built_again),
    ON_FAKE(test_what_others_may_write_is_not_used),
    ON_FAKE(test_what_somebody_else_owns_is_not_used),
    ON_FAKE(test_a_link_is_not_followed),
    ON_FAKE(test_a_binary_that_the_driver_refuses_is_built_again),
};

TEST_MAIN(tests)
