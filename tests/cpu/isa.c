/* Instruction sets. */
#include "primitives/isa.h"
#include "test.h"

#include <stdlib.h>

static void test_names_lead_to_their_sets(void **state)
{
    (void)state;
    for (int i = 0; i < CPU_ISA_COUNT; i++)
        assert_int_equal(cpu_isa_find(cpu_isa_name((enum cpu_isa)i)), i);
    assert_int_equal(cpu_isa_find("avx"), -1);
    assert_int_equal(cpu_isa_find(""), -1);
}

static void test_the_machine_runs_one_of_them(void **state)
{
    (void)state;
    assert_in_range(cpu_isa_of_machine(), CPU_ISA_PORTABLE, CPU_ISA_COUNT - 1);
}

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
    cmocka_unit_test(test_the_machine_runs_one_of_them),
    cmocka_unit_test(test_a_wish_narrows_the_set),
};
TEST_MAIN(tests)
