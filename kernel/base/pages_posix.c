/* Large pages, where a system gives them to those who ask. */
#define _DEFAULT_SOURCE // madvise
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ctx.h"

void bt__memory_large(void *block, size_t nbytes)
{
#if defined(MADV_HUGEPAGE)
    enum { LARGE_NBYTES = 2 * 1024 * 1024 }; // what a page has then, mostly
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t skipped = (page - (uintptr_t)block % page) % page;
    if (nbytes >= LARGE_NBYTES)
        (void)madvise((char *)block + skipped, (nbytes - skipped) / page * page,
                      MADV_HUGEPAGE);
#else
    (void)block, (void)nbytes;
#endif
}
