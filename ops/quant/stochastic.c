/*
 * v = q + u, u the number that random.uniform gives for random.threefry_key(key) at this
 * element's place.
 */
#include "stochastic.h"

#include <stdio.h>

void write_stochastic(bt_formula *f, const bt_type *data, int64_t key)
{
    char words[2][16];
    snprintf(words[0], sizeof(*words), "%u", (unsigned)((uint64_t)key >> 32));
    snprintf(words[1], sizeof(*words), "%u", (unsigned)(uint32_t)key);
    bt_formula_each(f, "axes", 0, bt_formula_rank(f, data), "i# in extent(data, #)");
    bt_formula_position(f, data);
    bt_formula_threefry(f, words[0], words[1], "high[$i]", "low[$i]");
    bt_formula_unit(f, 0);
    bt_formula_add(f, "v: float32[$i] = q[$i] + u[$i];\n");
}
