/* Memory that faults when anything behind its end is touched. */
#ifndef GUARD_H
#define GUARD_H

#include "test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct guarded {
    unsigned char *base, *end; /* [base, end) is readable and writable */
    size_t nbytes;
};

static inline struct guarded guarded_create(size_t nbytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t whole = (nbytes + page - 1) / page * page;
    const int zero = open("/dev/zero", O_RDWR);
    struct guarded g = { .nbytes = whole + page };
    g.base = mmap(NULL, g.nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
    close(zero);
    assert_true(g.base != MAP_FAILED);
    g.end = g.base + whole;
    assert_int_equal(mprotect(g.end, page, PROT_NONE), 0);
    return g;
}

static inline void guarded_destroy(struct guarded *g)
{
    munmap(g->base, g->nbytes);
}

#endif
