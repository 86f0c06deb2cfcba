/* The loader: objects of both compilers, every kind of reference, damage of every kind. */
#define _GNU_SOURCE // syscall
#include "compile.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int64_t (*unary)(int64_t);

static int64_t twice(int64_t x)
{
    return 2 * x;
}
static int64_t offset = 100;

static const bt_symbol symbols[] = {
    { "twice", (bt_function)twice, NULL },
    { "offset", NULL, &offset },
    { 0 },
};

/* A call that is too far, an address of a function, constants, variables, relocated
 * constants, zeros, data from outside. */
static const char text[] =
    "typedef long long i64;\n"
    "i64 twice(i64);\n"
    "extern i64 offset;\n"
    "static const i64 table[4] = { 3, 5, 7, 11 };\n"
    "static const i64 *const rows[2] = { &table[1], &table[3] };\n"
    "i64 counter = 40;\n"
    "static i64 zeros[1000];\n"
    "static i64 next(i64 x) { return x + 1; }\n"
    "i64 (*const functions[2])(i64) = { next, twice };\n"
    "i64 call(i64 x) { return twice(x) + 1; }\n"
    "i64 outside(i64 x) { return offset + x; }\n"
    "i64 lookup(i64 x) { return *rows[x & 1] + table[x & 3]; }\n"
    "i64 count(i64 x) { counter = counter + x; return counter; }\n"
    "i64 zero(i64 x) { zeros[x] = zeros[x] + 1; return zeros[x]; }\n"
    "i64 pointer(i64 x) { i64 (*f)(i64) = twice; return f(x) + functions[1](x); }\n"
    "i64 through(i64 x) { return functions[x & 1](x); }\n";

static int64_t run(const bt_code *code, const char *name, int64_t x)
{
    return ((unary)get(code, name))(x);
}

static void check_code(const bt_code *code)
{
    assert_int_equal(run(code, "call", 20), 41);
    assert_int_equal(run(code, "outside", 5), 105);
    assert_int_equal(run(code, "lookup", 0), 5 + 3);
    assert_int_equal(run(code, "lookup", 3), 11 + 11);
    assert_int_equal(run(code, "count", 2), 42);
    assert_int_equal(run(code, "count", 2), 44);
    assert_int_equal(run(code, "zero", 999), 1);
    assert_int_equal(run(code, "zero", 999), 2);
    assert_int_equal(run(code, "pointer", 10), 40);
    assert_int_equal(run(code, "through", 10), 11);
    assert_int_equal(run(code, "through", 11), 22);
    assert_null(bt_code_find(code, "next"));    // static
    assert_null(bt_code_find(code, "counter")); // data
    assert_null(bt_code_find(code, "nothing"));
}

static void check_compiler(uint32_t index)
{
    bt_ctx *ctx = open_plain();
    need(ctx, compilers[index].name, compilers[index].options);
    bt_code *code =
        build(ctx, compilers[index].name, compilers[index].options, text, symbols);
    check_code(code);
    // Two at once are two.
    bt_code *other =
        build(ctx, compilers[index].name, compilers[index].options, text, symbols);
    assert_int_equal(run(other, "count", 0), 40);
    assert_int_equal(run(code, "count", 0), 44);
    bt_code_unload(code);
    assert_int_equal(run(other, "call", 1), 3);
    bt_ctx_destroy(ctx);
    bt_code_unload(other); // it holds the registry
    bt_code_unload(NULL);
}

static void test_objects_of_tcc_run(void **state)
{
    (void)state;
    check_compiler(0);
}

static void test_objects_of_cc_run(void **state)
{
    (void)state;
    check_compiler(1);
}

/* An object of whichever compiler works. */
static void any_object(bt_ctx *ctx, const char *c, bt_text *out)
{
    need(ctx, NULL, NULL);
    int is_tcc = !bt_c_probe(ctx, "tcc", NULL);
    assert_ok(ctx, try_compile(ctx, is_tcc ? "tcc" : "cc",
                               is_tcc ? NULL : "cache=\"off\"", c, out));
}

static void test_objects_link_with_each_other(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text a, b;
    bt_code *code;
    any_object(ctx, "int g(int); int shared = 5; int f(int x) { return g(x) + 1; }", &a);
    any_object(ctx, "extern int shared; int g(int x) { return shared * x; }", &b);
    const bt_code_object parts[] = { { "a.o", a.at, a.len }, { "b.o", b.at, b.len } };
    assert_ok(ctx, bt_code_load(ctx, 2, parts, NULL, &code));
    assert_int_equal(((int (*)(int))get(code, "f"))(8), 41);
    bt_code_unload(code);
    const bt_code_object same[] = { { "a.o", a.at, a.len }, { "a2.o", a.at, a.len } };
    assert_error(bt_code_load(ctx, 2, same, NULL, &code), BT_ERR_NAME,
                 " is defined twice: by a.o and by a2.o");
    assert_error(bt_code_load(ctx, 0, NULL, NULL, &code), BT_ERR_ARGUMENT,
                 "there is no object");
    bt_ctx_destroy(ctx);
}

static void test_undefined_symbols_are_listed_at_once(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    bt_code *code;
    any_object(ctx,
               "float expf(float); float erff(float); extern int there;\n"
               "float f(float x) { return expf(x) + erff(x) + expf(there); }",
               &object);
    bt_status status = load_object(ctx, &object, NULL, &code);
    assert_error(status, BT_ERR_NAME, "machine code of text.o: nothing defines ");
    assert_non_null(strstr(status->message, "expf"));
    assert_non_null(strstr(status->message, "erff"));
    assert_non_null(strstr(status->message, "there"));
    bt_ctx_destroy(ctx);
}

/* What a compiler puts in for copies and zeros is always there. */
static void test_copies_of_structs_find_memcpy(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    bt_code *code;
    any_object(ctx,
               "struct big { long at[500]; };\n"
               "void *memset(void *, int, unsigned long);\n"
               "int memcmp(const void *, const void *, unsigned long);\n"
               "int f(struct big *to, const struct big *from) { *to = *from;\n"
               "  struct big zero; memset(&zero, 0, sizeof(zero));\n"
               "  return memcmp(&zero, to, sizeof(zero)) != 0; }",
               &object);
    assert_ok(ctx, load_object(ctx, &object, NULL, &code));
    long from[500] = { [499] = 7 }, to[500] = { 0 };
    assert_int_equal(((int (*)(void *, const void *))get(code, "f"))(to, from), 1);
    assert_int_equal(to[499], 7);
    bt_code_unload(code);
    bt_ctx_destroy(ctx);
}

/* ---- the rights of the pages ---- */

/* Of the mapping that holds an address: "r-xp". */
static void rights_of(const void *address, char out[5])
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long from, to;
    char line[512];
    out[0] = 0;
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx %4s", &from, &to, out) == 3 &&
            from <= (uintptr_t)address && (uintptr_t)address < to)
            break;
        out[0] = 0;
    }
    fclose(maps);
}

/* A mapping of code that is writable, or a second view of it that is; "": none. */
static void find_writable_code(char line[512])
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int found = 0;
    assert_non_null(maps);
    while (!found && fgets(line, 512, maps))
        found =
            strstr(line, " rwx") || (strstr(line, "baton-code") && strstr(line, "rw-s"));
    if (!found)
        line[0] = 0;
    fclose(maps);
}

/* What there was when memory was first made executable. */
static struct {
    int is_watched, nseen;
    char line[512];
} moment;

/* In the place of the system's: libbaton's calls come here. */
__attribute__((visibility("default"))) void *mmap(void *at, size_t nbytes, int rights,
                                                  int flags, int file, off_t from)
{
    void *out = (void *)syscall(SYS_mmap, at, nbytes, rights, flags, file, from);
    if (moment.is_watched && (rights & PROT_EXEC) && out != MAP_FAILED && !moment.nseen++)
        find_writable_code(moment.line);
    return out;
}

static void test_code_is_never_writable_and_data_never_executable(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    bt_code *code;
    char rights[5];
    any_object(ctx,
               "static const int fixed[2] = { 4, 5 }; int variable = 6;\n"
               "const int *f(void) { return fixed; }\n"
               "int *g(void) { return &variable; }",
               &object);
    moment.is_watched = 1;
    assert_ok(ctx, load_object(ctx, &object, NULL, &code));
    moment.is_watched = 0;
    assert_int_equal(moment.nseen, 1);
    assert_string_equal(moment.line, "");
    find_writable_code(moment.line);
    assert_string_equal(moment.line, "");
    bt_function f = get(code, "f");
    const void *address;
    memcpy(&address, &f, sizeof(address));
    rights_of(address, rights);
    assert_string_equal(rights, "r-xp");
    int *variable = ((int *(*)(void))get(code, "g"))();
    rights_of(variable, rights);
    assert_string_equal(rights, "rw-p");
    assert_int_equal(++*variable, 7);
    assert_int_equal(((const int *(*)(void))f)()[1], 5);
    bt_code_unload(code);
    bt_ctx_destroy(ctx);
}

#if !defined(PR_SET_MDWE)
#define PR_SET_MDWE 65
#endif

/* As under systemd's MemoryDenyWriteExecute. */
static void test_code_loads_where_writing_and_executing_is_denied(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    any_object(ctx, "int f(int x) { return x + 1; }", &object);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bt_code *code;
        if (prctl(PR_SET_MDWE, 1, 0, 0, 0) != 0)
            _exit(77);
        bt_status status = load_object(ctx, &object, NULL, &code);
        if (status)
            fprintf(stderr, "%s\n", status->message);
        _exit(status ? 1 : ((int (*)(int))bt_code_find(code, "f"))(41) == 42 ? 0 : 2);
    }
    int how = 0;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    bt_ctx_destroy(ctx);
    assert_true(WIFEXITED(how));
    if (WEXITSTATUS(how) == 77) {
        printf("skipped: this kernel has no PR_SET_MDWE\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(how), 0);
}

/* ---- damage ---- */

/* Loads a copy in a block of just its size; nothing is run. */
static bt_status load_copy(bt_ctx *ctx, const char *bytes, size_t nbytes)
{
    char *copy = malloc(nbytes ? nbytes : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, nbytes);
    const bt_code_object part = { "damaged.o", copy, nbytes };
    bt_code *code = NULL;
    bt_status status = bt_code_load(ctx, 1, &part, symbols, &code);
    free(copy);
    if (!status)
        bt_code_unload(code);
    return status;
}

static void check_damage(uint32_t index)
{
    bt_ctx *ctx = open_plain();
    bt_text object;
    uint32_t nrefused = 0, n = 0;
    need(ctx, compilers[index].name, compilers[index].options);
    assert_ok(ctx, try_compile(ctx, compilers[index].name, compilers[index].options, text,
                               &object));
    for (size_t i = 0; i < object.len; i += i < 64 ? 1 : 13)
        assert_non_null(load_copy(ctx, object.at, i));
    for (size_t i = 0; i < object.len; i++) {
        char kept = object.at[i];
        object.at[i] = (char)(kept ^ (1 << i % 8));
        bt_status status = load_copy(ctx, object.at, object.len);
        if (status && status->code != BT_ERR_FORMAT &&
            status->code != BT_ERR_UNSUPPORTED && status->code != BT_ERR_NAME &&
            status->code != BT_ERR_LIMIT)
            fail_msg("byte %zu: %s", i, status->message);
        nrefused += status != NULL;
        n++;
        object.at[i] = kept;
        bt_ctx_clear_diags(ctx);
    }
    assert_true(nrefused > 50 && nrefused < n); // both happen
    assert_ok(ctx, load_copy(ctx, object.at, object.len));
    bt_ctx_destroy(ctx);
}

static void test_damaged_objects_of_tcc_are_refused(void **state)
{
    (void)state;
    check_damage(0);
}

static void test_damaged_objects_of_cc_are_refused(void **state)
{
    (void)state;
    check_damage(1);
}

static void test_what_is_no_object_for_this_machine_is_named(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    any_object(ctx, text, &object);
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)object.at;
    assert_error(load_copy(ctx, "", 0), BT_ERR_FORMAT, "damaged.o is no ELF file");
    assert_error(load_copy(ctx, "#!/bin/sh\n", 10), BT_ERR_FORMAT, "is no ELF file");
    header->e_machine = EM_AARCH64;
    assert_error(load_copy(ctx, object.at, object.len), BT_ERR_UNSUPPORTED,
                 "is for aarch64, this machine is x86_64");
    header->e_machine = EM_X86_64;
    header->e_type = ET_DYN;
    assert_error(load_copy(ctx, object.at, object.len), BT_ERR_UNSUPPORTED,
                 "expected a relocatable object");
    bt_ctx_destroy(ctx);
}

/* Changes every relocation of type `from`. Tables need not be aligned. */
static void change_relocations(bt_text *object, uint32_t from, uint32_t to)
{
    Elf64_Ehdr header;
    memcpy(&header, object->at, sizeof(header));
    for (uint32_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        Elf64_Rela row;
        memcpy(&section, object->at + header.e_shoff + i * sizeof(section),
               sizeof(section));
        for (size_t at = 0; section.sh_type == SHT_RELA && at < section.sh_size;
             at += sizeof(row)) {
            char *bytes = object->at + section.sh_offset + at;
            memcpy(&row, bytes, sizeof(row));
            if (ELF64_R_TYPE(row.r_info) == from)
                row.r_info = ELF64_R_INFO(ELF64_R_SYM(row.r_info), to);
            memcpy(bytes, &row, sizeof(row));
        }
    }
}

static void test_other_relocations_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        const char *part;
    } rows[] = {
        { R_X86_64_32S, "relocation R_X86_64_32S (compile with -fPIC) is not handled" },
        { R_X86_64_TPOFF32, "R_X86_64_TPOFF32 (thread-local data)" },
        { R_X86_64_COPY, "relocation of type 5 is not handled" },
    };
    bt_ctx *ctx = open_plain();
    bt_text object;
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        any_object(ctx, text, &object);
        change_relocations(&object, R_X86_64_PLT32, rows[i].type);
        assert_error(load_copy(ctx, object.at, object.len), BT_ERR_UNSUPPORTED,
                     rows[i].part);
    }
    bt_ctx_destroy(ctx);
}

/* Kinds of sections that only cc makes. */
static void test_sections_that_are_not_handled_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *c, *part;
    } rows[] = {
        { "__thread int x = 1; int f(void) { return x; }", "thread-local data" },
        { "int n; __attribute__((constructor)) void f(void) { n = 1; }",
          "section .init_array: functions that run at the start" },
        { "__asm__(\".section wx,\\\"awx\\\"\\n.quad 1\\n\"); int f(void) { return 1; }",
          "section wx: is to be written and executed" },
    };
    bt_ctx *ctx = open_plain();
    bt_text object;
    bt_code *code;
    need(ctx, "cc", "cache=\"off\"");
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        assert_ok(ctx, try_compile(ctx, "cc", "cache=\"off\"", rows[i].c, &object));
        assert_error(load_object(ctx, &object, NULL, &code), BT_ERR_UNSUPPORTED,
                     rows[i].part);
    }
    bt_ctx_destroy(ctx);
}

static void test_more_memory_than_addresses_reach_is_refused(void **state)
{
    (void)state;
    bt_ctx *ctx = open_plain();
    bt_text object;
    bt_code *code;
    need(ctx, "cc", "cache=\"off\"");
    assert_ok(ctx,
              try_compile(ctx, "cc", "cache=\"off\"",
                          "char a[3ul << 30]; char *f(void) { return a; }", &object));
    assert_error(load_object(ctx, &object, NULL, &code), BT_ERR_LIMIT,
                 "exceed the limit of 1073741824 bytes");
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_objects_of_tcc_run),
    cmocka_unit_test(test_objects_of_cc_run),
    cmocka_unit_test(test_objects_link_with_each_other),
    cmocka_unit_test(test_undefined_symbols_are_listed_at_once),
    cmocka_unit_test(test_copies_of_structs_find_memcpy),
    cmocka_unit_test(test_code_is_never_writable_and_data_never_executable),
    cmocka_unit_test(test_code_loads_where_writing_and_executing_is_denied),
    cmocka_unit_test(test_damaged_objects_of_tcc_are_refused),
    cmocka_unit_test(test_damaged_objects_of_cc_are_refused),
    cmocka_unit_test(test_what_is_no_object_for_this_machine_is_named),
    cmocka_unit_test(test_other_relocations_are_refused_by_name),
    cmocka_unit_test(test_sections_that_are_not_handled_are_named),
    cmocka_unit_test(test_more_memory_than_addresses_reach_is_refused),
};
TEST_MAIN(tests)
