/*
 * How large blocks of a run's memory are, the same on all machines. Executor aot copies this
 * into programs, before runtime.h, and counts by it how much memory is enough (bound.c).
 */

/* HEAD stands for the size of an object without axes and fields. */
enum { LISTS = 168, HEAD = 48 };

/* Bytes of the blocks of a list: steps of 64 up to 512, then four to each power of two. */
static uint64_t block_size(uint32_t list)
{
    const uint32_t power = list < 8u ? 0u : (list - 8u) / 4u;
    return list < 8u ? 64u * (list + UINT64_C(1))
                     : (UINT64_C(512) << power) +
                           (UINT64_C(128) << power) * ((list - 8u) % 4u + 1u);
}

/* The list of the smallest blocks that have so many bytes; LISTS: there is none. */
static uint32_t block_list(uint64_t nbytes)
{
    uint32_t list = 0;
    while (list < LISTS && block_size(list) < nbytes)
        list++;
    return list;
}

/* What an object takes before its elements, with so many axes or fields. */
static uint64_t block_head(uint32_t n)
{
    return (HEAD + n * UINT64_C(8) + 63u) / 64u * 64u;
}
