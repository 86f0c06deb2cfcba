/*
 * v = q + u(i), i the row-major position: u is what the 24 upper bits of the first word of
 * threefry2x32-20(key, i) are of 2^24. It is computed on uint32, so targets have the same bits.
 * source  Salmon, Moraes, Dror, Shaw 2011: Parallel random numbers: as easy as 1, 2, 3
 */
#include "stochastic.h"

enum { ROUNDS = 20 };

void write_stochastic(bt_formula *f, uint32_t rank, int64_t key)
{
    static const uint32_t rotations[] = { 13, 15, 26, 6, 17, 29, 16, 24 };
    const uint32_t low = (uint32_t)key, high = (uint32_t)((uint64_t)key >> 32),
                   keys[3] = { low, high, low ^ high ^ UINT32_C(0x1BD11BDA) };
    bt_formula_clear(f, "all");
    for (uint32_t i = 0; i < rank; i++)
        bt_formula_item(f, "all", "i%u in extent(data, %u)", i, i);
    bt_formula_add(f, "at: int64[$all] = 0");
    for (uint32_t i = 0; i < rank; i++) {
        bt_formula_add(f, " + i%u", i);
        for (uint32_t k = i + 1; k < rank; k++)
            bt_formula_add(f, "*extent(data, %u)", k);
    }
    bt_formula_add(f,
                   ";\na0: uint32[$i] = uint32(at[$i]) + %lu;\n"
                   "b0: uint32[$i] = uint32(shift_right(at[$i], 32)) + %lu;\n",
                   (unsigned long)keys[0], (unsigned long)keys[1]);
    for (uint32_t r = 0; r < ROUNDS; r++) {
        const uint32_t turn = rotations[r % 8], next = r / 4 + 1;
        unsigned long more[2] = { 0, 0 };
        if (r % 4 == 3) { // the key once more
            more[0] = keys[next % 3];
            more[1] = (uint32_t)(keys[(next + 1) % 3] + next);
        }
        bt_formula_add(f,
                       "a%u: uint32[$i] = a%u[$i] + b%u[$i] + %lu;\n"
                       "b%u: uint32[$i] = bit_xor(bit_or(shift_left(b%u[$i], %u), "
                       "shift_right(b%u[$i], %u)), a%u[$i] - %lu) + %lu;\n",
                       r + 1, r, r, more[0], r + 1, r, turn, r, 32 - turn, r + 1, more[0],
                       more[1]);
    }
    bt_formula_add(f,
                   "v: float32[$i] = q[$i] + float32(shift_right(a%d[$i], 8)) / "
                   "16777216;\n",
                   ROUNDS);
}
