/* random.permutation in plain C: compiled into its evaluator, and copied into the text of
 * programs that are written as C, function by function, with a blank line between two and no
 * other. */
#ifndef OPS_RANDOM_PLAIN_PERMUTATION_H
#define OPS_RANDOM_PLAIN_PERMUTATION_H

#include <baton/plain.h>

/* Both words of Threefry-2x32-20, the first one above. */
static inline uint64_t plain_threefry(const uint32_t *key, uint64_t counter)
{
    static const uint8_t turns[8] = { 13, 15, 26, 6, 17, 29, 16, 24 };
    const uint32_t keys[3] = { key[0], key[1], key[0] ^ key[1] ^ UINT32_C(0x1BD11BDA) };
    uint32_t a = (uint32_t)(counter >> 32) + keys[0], b = (uint32_t)counter + keys[1], r;
    for (r = 0; r < 20; r++) {
        const uint32_t turn = turns[r % 8], n = r / 4 + 1;
        a += b;
        b = (b << turn | b >> (32 - turn)) ^ a;
        if (r % 4 == 3) {
            a += keys[n % 3];
            b += keys[(n + 1) % 3] + n;
        }
    }
    return (uint64_t)a << 32 | b;
}

/* A number below `bound`, each equally often: words of the last, incomplete round are thrown
 * away. */
static inline int64_t plain_below(const uint32_t *key, uint64_t *counter, uint64_t bound)
{
    const uint64_t rest = (0 - bound) % bound;
    uint64_t word;
    do {
        word = plain_threefry(key, (*counter)++);
    } while (word < rest);
    return (int64_t)(word % bound);
}

static inline void plain_exchange(uint8_t *a, uint8_t *b, int64_t nbytes)
{
    int64_t i;
    for (i = 0; i < nbytes; i++) {
        const uint8_t byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
}

/* Inputs are the key and what is put in another order. */
static int32_t plain_permutation(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in + 1, *out = call->out;
    const uint32_t *key = (const uint32_t *)call->in->data;
    uint8_t *rows = (uint8_t *)out->data;
    uint64_t counter = 0;
    int64_t nbytes = in->nbytes, i;
    uint32_t k;
    if (call->is_sizing) {
        for (k = 0; k < in->rank; k++)
            out->dims[k] = in->dims[k];
        return 0;
    }
    for (k = 1; k < in->rank; k++)
        nbytes *= in->dims[k];
    for (i = 0; i < in->dims[0] * nbytes; i++)
        rows[i] = ((const uint8_t *)in->data)[i];
    for (i = in->dims[0] - 1; i > 0; i--) {
        const int64_t j = plain_below(key, &counter, (uint64_t)i + 1);
        if (j != i)
            plain_exchange(rows + i * nbytes, rows + j * nbytes, nbytes);
    }
    return 0;
}

#endif
