/*
 * Threefry-2x32-20 in index notation: random words by a key and a counter, on uint32.
 *     a, b = high + key0, low + key1
 *     20 rounds of   a = a + b; b = rotated(b, turn) ^ a
 *     behind each fourth one the next two of key0, key1, key0 ^ key1 ^ PARITY are added
 * source  Salmon, Moraes, Dror, Shaw 2011: Parallel random numbers: as easy as 1, 2, 3
 */
#include <baton/op.h>

enum { ROUNDS = 20, TURNS = 8 };

void bt_formula_threefry(bt_formula *f, const char *key0, const char *key1,
                         const char *high, const char *low)
{
    static const uint32_t turns[TURNS] = { 13, 15, 26, 6, 17, 29, 16, 24 };
    static const char *const keys[3] = { "key0", "key1", "key2" };
    bt_formula_add(f,
                   "key0: uint32[] = %s;\nkey1: uint32[] = %s;\n"
                   "key2: uint32[] = bit_xor(bit_xor(key0[], key1[]), 466688986);\n"
                   "a0: uint32[$axes] = %s + key0[];\nb0: uint32[$axes] = %s + key1[];\n",
                   key0, key1, high, low);
    uint32_t n = 0; // a and b are written again and again
    for (uint32_t r = 0; r < ROUNDS; r++, n++) {
        const uint32_t turn = turns[r % TURNS], times = r / 4 + 1;
        bt_formula_add(f,
                       "a%u: uint32[$i] = a%u[$i] + b%u[$i];\n"
                       "b%u: uint32[$i] = bit_xor(bit_or(shift_left(b%u[$i], %u), "
                       "shift_right(b%u[$i], %u)), a%u[$i]);\n",
                       n + 1, n, n, n + 1, n, turn, n, 32 - turn, n + 1);
        if (r % 4 < 3)
            continue;
        n++;
        bt_formula_add(f,
                       "a%u: uint32[$i] = a%u[$i] + %s[];\n"
                       "b%u: uint32[$i] = b%u[$i] + (%s[] + %u);\n",
                       n + 1, n, keys[times % 3], n + 1, n, keys[(times + 1) % 3], times);
    }
    bt_formula_add(f, "word0: uint32[$i] = a%u[$i];\nword1: uint32[$i] = b%u[$i];\n", n,
                   n);
}

/* Whether positions need one word. */
static int is_short(const bt_shape_type *shape)
{
    int64_t extent, count = 1;
    for (uint32_t k = 0; k < shape->n; k++) {
        if (!bt_dim_is_const(shape->dims[k], &extent))
            return 0;
        if (extent > 0 && count > UINT32_MAX / extent)
            return 0;
        count *= extent > 0 ? extent : 1;
    }
    return 1;
}

void bt_formula_position(bt_formula *f, const bt_type *tensor)
{
    const uint32_t rank = bt_formula_rank(f, tensor);
    bt_formula_clear(f, "i");
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_add(f, "place: int64[$axes] = 0;\nat: int64[$axes] = 0");
    for (uint32_t k = 0; k < rank; k++) {
        bt_formula_clear(f, "behind");
        bt_formula_item(f, "behind", "i%u", k);
        bt_formula_each(f, "behind", k + 1, rank, "extent(place, #)");
        bt_formula_add(f, " + $[*]behind");
    }
    bt_formula_add(f, ";\nlow: uint32[$i] = uint32(at[$i]);\nhigh: uint32[$axes] = %s;\n",
                   bt_tensor_shape(tensor) && is_short(bt_tensor_shape(tensor))
                       ? "uint32(0)"
                       : "uint32(shift_right(at[$i], 32))");
}

void bt_formula_unit(bt_formula *f, int is_double)
{
    // as many bits as the fraction of a float has: each number is exact, and none is 1
    if (is_double)
        bt_formula_add(f,
                       "u: float64[$i] = float64(bit_or(shift_left(uint64(word0[$i]), "
                       "20), shift_right(uint64(word1[$i]), 12))) / 4503599627370496;\n");
    else
        bt_formula_add(f, "u: float32[$i] = float32(shift_right(bit_xor(word0[$i], "
                          "word1[$i]), 9)) / 8388608;\n");
}
