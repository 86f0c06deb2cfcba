/* Instruction sets. */
#define _GNU_SOURCE
#include "primitives/isa.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

static void test_names_lead_to_their_sets(void **state)
{
    (void)state;
    for (int i = 0; i < CPU_ISA_COUNT; i++)
        assert_int_equal(cpu_isa_find(cpu_isa_name((enum cpu_isa)i)), i);
    assert_int_equal(cpu_isa_find("avx"), -1);
    assert_int_equal(cpu_isa_find(""), -1);
}

#if defined(__x86_64__) && defined(__linux__)
/* The system's own list of what the processor has, with a space around each word. 0: it has none. */
static int read_flags(char *line, int nbytes)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    int is_found = 0;
    while (file && !is_found && fgets(line, nbytes, file))
        is_found = strncmp(line, "flags\t", 6) == 0;
    if (file)
        fclose(file);
    if (is_found)
        line[strlen(line) - 1] = ' ';
    return is_found;
}

static int has_all(const char *line, const char *const *words)
{
    char word[32];
    for (; *words; words++) {
        snprintf(word, sizeof(word), " %s ", *words);
        if (!strstr(line, word))
            return 0;
    }
    return 1;
}

static void test_the_machine_runs_what_the_system_says_it_has(void **state)
{
    static const char *const words[CPU_ISA_COUNT][8] = {
        [CPU_ISA_AVX2] = { "avx2", "fma", "f16c" },
        [CPU_ISA_AVX512] = { "avx512f", "avx512bw", "avx512dq", "avx512vl" },
        [CPU_ISA_AVX512BF16] = { "avx512_bf16" },
        [CPU_ISA_AMX] = { "amx_tile", "amx_bf16" },
    };
    char line[8192];
    int widest = CPU_ISA_PORTABLE;
    (void)state;
    if (!read_flags(line, sizeof(line))) {
        print_message("/proc/cpuinfo has no flags\n");
        skip();
    }
    while (widest + 1 < CPU_ISA_COUNT && has_all(line, words[widest + 1]))
        widest++;
    // of AMX the system has the last word
    if (widest != CPU_ISA_AMX || cpu_isa_of_machine() != CPU_ISA_AVX512BF16)
        assert_int_equal(cpu_isa_of_machine(), widest);
    for (int isa = 0; isa < CPU_ISA_AMX; isa++)
        assert_int_equal(cpu_isa_request((enum cpu_isa)isa), isa <= widest);
}

/* Whether this process has leave to use AMX. */
static int has_leave(void)
{
    enum { PERMITTED = 0x1022, TILE_DATA = 18 };
    uint64_t given = 0;
    return syscall(SYS_arch_prctl, PERMITTED, &given) == 0 && (given >> TILE_DATA & 1);
}

static void test_leave_to_use_amx_is_asked_for_by_a_request_alone(void **state)
{
    (void)state;
    if (cpu_isa_chosen(NULL) != CPU_ISA_AMX) {
        assert_false(cpu_isa_request(CPU_ISA_AMX));
        print_message("this machine has no AMX\n");
        skip();
    }
    assert_false(has_leave());
    for (int i = 0; i < 2; i++) {
        const int is_given = cpu_isa_request(CPU_ISA_AMX);
        assert_int_equal(is_given, has_leave());
    }
}
#endif

static void test_a_wish_narrows_the_set(void **state)
{
    (void)state;
    setenv("BATON_CPU", "portable", 1); // only who asks for variables heeds it
    assert_int_equal(cpu_isa_chosen(NULL), cpu_isa_of_machine());
    unsetenv("BATON_CPU");
    assert_int_equal(cpu_isa_chosen("portable"), CPU_ISA_PORTABLE);
    assert_int_equal(cpu_isa_chosen(cpu_isa_name(CPU_ISA_COUNT - 1)),
                     cpu_isa_of_machine());
    assert_int_equal(cpu_isa_chosen("nosuch"), cpu_isa_of_machine());
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names_lead_to_their_sets),
#if defined(__x86_64__) && defined(__linux__)
    cmocka_unit_test(test_the_machine_runs_what_the_system_says_it_has),
    cmocka_unit_test(test_leave_to_use_amx_is_asked_for_by_a_request_alone),
#endif
    cmocka_unit_test(test_a_wish_narrows_the_set),
};
TEST_MAIN(tests)
