/* Estimates: they grow with the work, and say nothing where nothing is known. It needs no device. */
#include "setup.h"

#include "cost.h"
#include "instance.h"

static bt_cost cost_of(const struct ocl_facts *facts, int64_t n)
{
    struct ocl_instance instance = { .facts = *facts };
    bt_module *module, *typed;
    bt_cost cost;
    char text[256];
    snprintf(text, sizeof(text),
             "#[version = \"baton 0.1\"]\n\ndef @main(%%x: Tensor[(%d, %d), float32]) {\n"
             "    nn.relu(nn.dense(%%x, %%x))\n}\n",
             (int)n, (int)n);
    assert_ok(ctx, bt_parse(ctx, "test", NULL, text, strlen(text), &module));
    assert_ok(ctx, bt_infer(ctx, module, &typed));
    assert_ok(ctx, ocl_cost(ctx, &instance, bt_module_find(typed, "main")->func, &cost));
    bt_module_unref(typed);
    bt_module_unref(module);
    return cost;
}

static void test_a_cost_grows_with_the_work(void **state)
{
    (void)state;
    for (uint32_t is_cpu = 0; is_cpu < 2; is_cpu++) {
        const struct ocl_facts facts = {
            .is_cpu = is_cpu, .nunit = 8, .mhz = 2000, .device = { .lanes = 8 }
        };
        double last = 0;
        for (int64_t n = 16; n <= 1024; n *= 4) {
            const bt_cost cost = cost_of(&facts, n);
            assert_true(cost.ns > last && cost.ns < 1e9);
            assert_true(cost.confidence > 0 && cost.confidence < 0.5);
            last = cost.ns;
        }
    }
}

static void test_more_units_are_faster(void **state)
{
    struct ocl_facts facts = {
        .is_cpu = 1, .nunit = 2, .mhz = 2000, .device = { .lanes = 8 }
    };
    const double before = cost_of(&facts, 1024).ns;
    (void)state;
    facts.nunit = 16;
    assert_true(cost_of(&facts, 1024).ns < before / 4);
}

static void test_of_a_device_without_cycles_nothing_is_known(void **state)
{
    const struct ocl_facts facts = { .is_cpu = 1, .nunit = 2, .device = { .lanes = 8 } };
    (void)state;
    assert_true(cost_of(&facts, 64).confidence == 0);
}

static const struct CMUnitTest tests[] = {
    TEST(test_a_cost_grows_with_the_work),
    TEST(test_more_units_are_faster),
    TEST(test_of_a_device_without_cycles_nothing_is_known),
};
TEST_MAIN(tests)
