/* One facet that outranks the operator's own, one that ties with it, one that it
 * lacks. */
#include <baton/op.h>

static const bt_cases_facet better = { "float32[7]" }, equal = { "float32[8]" };
static const struct {
    int64_t number;
} colour = { 42 };

static const bt_facet facets[] = {
    { .op = "test.twice",
      .facet = "cases",
      .priority = 5,
      .table_nbytes = sizeof(better),
      .table = &better },
    { .op = "test.zero",
      .facet = "cases",
      .table_nbytes = sizeof(equal),
      .table = &equal },
    { .op = "test.zero",
      .facet = "test.colour",
      .table_nbytes = sizeof(colour),
      .table = &colour },
    { 0 },
};
extern const bt_table bt_tests_plugin_more_more[];
const bt_table bt_tests_plugin_more_more[] = { BT_FACETS(facets), { 0 } };
