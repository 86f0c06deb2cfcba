/* Tuning records: what is read of a file, however it was damaged, and what is added to it. */
#include "formula.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <baton/value.h>

#include "records.h"

static char path[300];

static int setup(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), TEST_FOLDER "/records.%d", (int)getpid());
    unlink(path);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static struct cpu_record record_of(const char *function, const char *const *ways)
{
    return (struct cpu_record){ "machine", function, "f", 2, ways };
}

/* Adds records f0, f1, ... from number `first` on. */
static void add(struct world *w, uint32_t first, uint32_t n)
{
    static const char *const ways[] = { "tiles", "winograd F(4,3)" };
    for (uint32_t i = first; i < first + n; i++) {
        char function[20];
        snprintf(function, sizeof(function), "f%u", i);
        struct cpu_record record = record_of(function, ways);
        assert_ok(w->ctx, cpu_records_add(w->ctx, bt_ctx_scratch(w->ctx), path, &record));
    }
}

static struct cpu_records read_all(struct world *w)
{
    struct cpu_records records;
    assert_ok(w->ctx, cpu_records_read(w->ctx, bt_ctx_scratch(w->ctx), path, &records));
    return records;
}

static void test_what_is_added_is_found(void **state)
{
    (void)state;
    struct world w = world_open();
    assert_int_equal(read_all(&w).all.len, 0);
    add(&w, 0, 3);
    const struct cpu_records records = read_all(&w);
    assert_int_equal(records.all.len, 3);
    assert_int_equal(records.ndamaged, 0);
    const struct cpu_record *r = cpu_records_find(&records, "machine", "f1");
    assert_non_null(r);
    assert_int_equal(r->nway, 2);
    assert_string_equal(r->ways[1], "winograd F(4,3)");
    assert_null(cpu_records_find(&records, "another", "f1"));
    assert_null(cpu_records_find(&records, "machine", "f3"));
    world_close(&w);
}

/* Who measured first is right: all others compile what that one did. */
static void test_the_first_record_stays(void **state)
{
    (void)state;
    struct world w = world_open();
    static const char *const ways[] = { "lines", "lines" };
    struct cpu_record record = record_of("f0", ways);
    add(&w, 0, 1);
    assert_ok(w.ctx, cpu_records_add(w.ctx, bt_ctx_scratch(w.ctx), path, &record));
    assert_string_equal(record.ways[0], "tiles");
    assert_int_equal(read_all(&w).all.len, 1);
    world_close(&w);
}

/* Whatever bit of a file is another one, and wherever it ends: no record differs from one that was
 * written. */
static void test_damage_makes_no_records(void **state)
{
    (void)state;
    struct world w = world_open();
    bt_file *file;
    uint32_t nrefused = 0;
    add(&w, 0, 2);
    assert_ok(w.ctx, bt_file_read(w.ctx, path, &file));
    const size_t n = file->nbytes;
    char *text = malloc(n);
    assert_non_null(text);
    for (size_t i = 0; i < 9 * n; i++) {
        struct cpu_records records;
        memcpy(text, file->bytes, n);
        if (i < 8 * n)
            text[i / 8] ^= (char)(1 << i % 8);
        const void *mark = bt_arena_mark(bt_ctx_scratch(w.ctx));
        bt_status status = cpu_records_parse(w.ctx, bt_ctx_scratch(w.ctx), path, text,
                                             i < 8 * n ? n : i - 8 * n, &records);
        if (status) {
            assert_int_equal(status->code, BT_ERR_FORMAT);
            nrefused++;
        }
        for (uint32_t k = 0; !status && k < records.all.len; k++) {
            const struct cpu_record *r = &records.all.at[k];
            assert_string_equal(r->machine, "machine");
            assert_true(strcmp(r->function, "f0") == 0 || strcmp(r->function, "f1") == 0);
            assert_string_equal(r->ways[0], "tiles");
            assert_string_equal(r->ways[1], "winograd F(4,3)");
        }
        if (!status && i < 8 * n) {
            assert_true(records.all.len <= 1);
            assert_true(records.ndamaged > 0);
        }
        bt_arena_release(bt_ctx_scratch(w.ctx), mark);
    }
    assert_true(nrefused >= 8 * strlen("baton.cpu.tune 1"));
    free(text);
    bt_file_close(w.ctx, file);
    world_close(&w);
}

static void test_other_files_stay(void **state)
{
    (void)state;
    struct world w = world_open();
    static const char *const ways[] = { "tiles", "tiles" };
    static const char *const texts[] = { "a letter\n", "baton.cpu.tune 2\n",
                                         "baton.cpu.tune" };
    for (size_t i = 0; i < BT_COUNT(texts); i++) {
        struct cpu_record record = record_of("f", ways);
        bt_file *file;
        assert_ok(w.ctx, bt_file_write(w.ctx, path, texts[i], strlen(texts[i])));
        assert_error(cpu_records_add(w.ctx, bt_ctx_scratch(w.ctx), path, &record),
                     BT_ERR_FORMAT, "tuning records");
        assert_ok(w.ctx, bt_file_read(w.ctx, path, &file));
        assert_int_equal(file->nbytes, strlen(texts[i]));
        bt_file_close(w.ctx, file);
    }
    world_close(&w);
}

static void test_processes_lose_none(void **state)
{
    (void)state;
    enum { NPROCESS = 6, NRECORD = 20 };
    for (uint32_t i = 0; i < NPROCESS; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct world w = world_open();
            add(&w, i * NRECORD, NRECORD);
            world_close(&w);
            _exit(0);
        }
    }
    for (uint32_t i = 0; i < NPROCESS; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    struct world w = world_open();
    const struct cpu_records records = read_all(&w);
    assert_int_equal(records.all.len, NPROCESS * NRECORD);
    assert_int_equal(records.ndamaged, 0);
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_what_is_added_is_found, setup, teardown),
    cmocka_unit_test_setup_teardown(test_the_first_record_stays, setup, teardown),
    cmocka_unit_test_setup_teardown(test_damage_makes_no_records, setup, teardown),
    cmocka_unit_test_setup_teardown(test_other_files_stay, setup, teardown),
    cmocka_unit_test_setup_teardown(test_processes_lose_none, setup, teardown),
};
TEST_MAIN(tests)
