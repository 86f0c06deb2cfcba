/* Tuning records: what is read of a file, however it was damaged, and what is added to it. */
#include "formula.h"

#include <stdlib.h>
#include <sys/stat.h>
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

static const struct cpu_choice some[] = {
    { .program = "cpu", .way = "cpu", .is_taken = 1 },
    { .program = "cpu", .sum = 1, .way = "tiles", .measured_ns = 1250 },
    { .program = "cpu",
      .sum = 1,
      .way = "winograd F(4,3)",
      .is_taken = 1,
      .measured_ns = 1000 },
};

static struct cpu_record record_of(const char *function)
{
    return (struct cpu_record){ "machine", function, "f", BT_COUNT(some), some };
}

static void check_some(const struct cpu_record *r)
{
    assert_int_equal(r->nchoice, BT_COUNT(some));
    for (size_t i = 0; i < BT_COUNT(some); i++) {
        assert_string_equal(r->choices[i].program, some[i].program);
        assert_string_equal(r->choices[i].way, some[i].way);
        assert_int_equal(r->choices[i].sum, some[i].sum);
        assert_int_equal(r->choices[i].is_taken, some[i].is_taken);
        assert_float_equal(r->choices[i].measured_ns, some[i].measured_ns, 0);
    }
}

/* Adds records f0, f1, ... from number `first` on. */
static void add(struct world *w, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++) {
        char function[20];
        snprintf(function, sizeof(function), "f%u", i);
        struct cpu_record record = record_of(function);
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
    check_some(r);
    assert_null(cpu_records_find(&records, "another", "f1"));
    assert_null(cpu_records_find(&records, "machine", "f3"));
    world_close(&w);
}

/* Who measured first is right: all others compile what that one did. */
static void test_the_first_record_stays(void **state)
{
    (void)state;
    struct world w = world_open();
    struct cpu_record record = record_of("f0");
    record.nchoice = 1;
    add(&w, 0, 1);
    assert_ok(w.ctx, cpu_records_add(w.ctx, bt_ctx_scratch(w.ctx), path, &record));
    check_some(&record);
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
            check_some(r);
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
    static const char *const texts[] = { "a letter\n", "baton.cpu.tune 1\n",
                                         "baton.cpu.tune", "baton.cpu.tune 2\r\n",
                                         "baton.cpu.tune 2\t3\n" };
    for (size_t i = 0; i < BT_COUNT(texts); i++) {
        struct cpu_record record = record_of("f");
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

/* Fields that are none, with a digest that is right. */
static void test_a_record_has_its_form(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "m\tf",
        "m\tf\tname",
        "m\tf\tname\t",
        "m\tf\tname\tcpu\t0\tcpu\t0",
        "m\tf\tname\tcpu\t0\tcpu\t0\t2",
        "m\tf\tname\tcpu\t-1\tcpu\t0\t1",
        "m\tf\tname\tcpu\t\tcpu\t0\t1",
        "m\tf\tname\tcpu\t99999999999999999999999\tcpu\t0\t1",
        "m\tf\tname\tcpu\t0\tcpu\t1e9\t1",
        "m\tf\tname\tcpu\t0\tcpu\t9999999999999999999\t1",
        "m\tf\tname\tcpu\t0\tcpu\t0\t1\t",
        "m\tf\tname\tcpu\t0\tcpu\t0\t1\tcpu",
    };
    struct world w = world_open();
    for (size_t i = 0; i < BT_COUNT(wrong); i++) {
        struct cpu_records records;
        char text[300], digest[65];
        bt_digest(wrong[i], strlen(wrong[i]), digest);
        snprintf(text, sizeof(text), "baton.cpu.tune 2\n%s\t%s\n", digest, wrong[i]);
        assert_ok(w.ctx, cpu_records_parse(w.ctx, bt_ctx_scratch(w.ctx), path, text,
                                           strlen(text), &records));
        assert_int_equal(records.all.len, 0);
        assert_int_equal(records.ndamaged, 1);
    }
    world_close(&w);
}

/* A line that was not written to its end stays what it is, and takes no other one with it. */
static void test_half_a_line_is_ended(void **state)
{
    (void)state;
    struct world w = world_open();
    struct stat whole;
    add(&w, 0, 2);
    assert_int_equal(stat(path, &whole), 0);
    assert_int_equal(truncate(path, whole.st_size - 9), 0);
    assert_int_equal(read_all(&w).all.len, 1);
    add(&w, 1, 2);
    const struct cpu_records records = read_all(&w);
    assert_int_equal(records.all.len, 3);
    assert_int_equal(records.ndamaged, 1);
    check_some(cpu_records_find(&records, "machine", "f1"));
    world_close(&w);
}

static void test_what_is_no_file_or_too_large_is_refused(void **state)
{
    (void)state;
    struct world w = world_open();
    struct cpu_record record = record_of("f");
    bt_arena *arena = bt_ctx_scratch(w.ctx);
    bt_status status = cpu_records_add(w.ctx, arena, TEST_FOLDER, &record);
    assert_non_null(status);
    assert_int_equal(status->code, BT_ERR_IO);
    add(&w, 0, 1);
    assert_int_equal(truncate(path, INT64_C(17) << 20), 0);
    assert_error(cpu_records_add(w.ctx, arena, path, &record), BT_ERR_LIMIT,
                 "is larger than files of tuning records are");
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
    cmocka_unit_test_setup_teardown(test_a_record_has_its_form, setup, teardown),
    cmocka_unit_test_setup_teardown(test_half_a_line_is_ended, setup, teardown),
    cmocka_unit_test_setup_teardown(test_what_is_no_file_or_too_large_is_refused, setup,
                                    teardown),
    cmocka_unit_test_setup_teardown(test_processes_lose_none, setup, teardown),
};
TEST_MAIN(tests)
