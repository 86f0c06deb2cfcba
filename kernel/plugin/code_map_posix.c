/*
 * Memory for machine code that is never writable and executable at once, not even for a
 * moment and not by two mappings, so that it can be had where the system forbids that
 * (MemoryDenyWriteExecute, PR_SET_MDWE): one file without a name, mapped once to be
 * written and once to be used.
 */
#define _GNU_SOURCE // memfd_create
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plugin/code.h"

#define MAX_NBYTES ((size_t)1 << 30) /* relative addresses reach 2 GiB */

static BT_FAILURE bt_status refused(bt_ctx *ctx, const char *what)
{
    if (errno == ENOMEM)
        return bt_no_memory();
    return bt_fail(ctx, BT_ERR_IO, "the system gives no memory for machine code: %s: %s",
                   what, strerror(errno));
}

/* Start and end of each part. 0: beyond the limit */
static int lay_out(const size_t nbytes[BT__ELF_NSEGMENT], bt__mapping *m)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (uint32_t i = BT__ELF_CODE; i < BT__ELF_NSEGMENT; i++) {
        if (nbytes[i] > MAX_NBYTES)
            return 0;
        m->start[i] = m->nbytes;
        m->nbytes += (nbytes[i] + page - 1) / page * page;
        m->end[i] = m->nbytes;
    }
    if (m->nbytes == 0) // an empty text is a text
        m->nbytes = m->end[BT__ELF_DATA] = page;
    return m->nbytes <= MAX_NBYTES;
}

bt_status bt__mapping_create(bt_ctx *ctx, const size_t nbytes[BT__ELF_NSEGMENT],
                             bt__mapping *out)
{
    bt__mapping m = { .file = -1 };
    if (!lay_out(nbytes, &m))
        return bt_fail(ctx, BT_ERR_LIMIT,
                       "machine code and its data exceed the limit of %zu bytes",
                       MAX_NBYTES);
    m.file = memfd_create("baton-code", MFD_CLOEXEC);
    if (m.file < 0)
        return refused(ctx, "memfd_create");
    if (ftruncate(m.file, (off_t)m.nbytes) != 0) {
        bt_status status = refused(ctx, "ftruncate");
        bt__mapping_destroy(&m);
        return status;
    }
    void *write = mmap(NULL, m.nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, m.file, 0);
    m.write = write == MAP_FAILED ? NULL : write;
    m.nwrite = m.nbytes;
    // Reserves the addresses of the code; its pages are mapped when it is complete.
    void *base = m.write ? mmap(NULL, m.nbytes, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                         : MAP_FAILED;
    m.base = base == MAP_FAILED ? NULL : base;
    if (!m.base) {
        bt_status status = refused(ctx, "mmap");
        bt__mapping_destroy(&m);
        return status;
    }
    *out = m;
    return NULL;
}

bt_status bt__mapping_seal(bt_ctx *ctx, bt__mapping *m)
{
    static const int rights[BT__ELF_NSEGMENT] = {
        [BT__ELF_CODE] = PROT_READ | PROT_EXEC,
        [BT__ELF_CONST] = PROT_READ,
        [BT__ELF_DATA] = PROT_READ | PROT_WRITE,
    };
    // The writable mapping is gone before the code becomes executable.
    munmap(m->write, m->nwrite);
    m->write = NULL;
    for (uint32_t i = BT__ELF_CODE; i < BT__ELF_NSEGMENT; i++) {
        size_t start = m->start[i], n = m->end[i] - start;
        // Private: what the code writes is this process's own, also after a fork.
        if (n > 0 && mmap(m->base + start, n, rights[i], MAP_PRIVATE | MAP_FIXED, m->file,
                          (off_t)start) == MAP_FAILED) {
            bt_status status =
                refused(ctx, i == BT__ELF_CODE ? "mmap of executable pages" : "mmap");
            bt__mapping_destroy(m);
            return status;
        }
    }
    close(m->file);
    m->file = -1;
    return NULL;
}

void bt__mapping_destroy(bt__mapping *m)
{
    if (m->write)
        munmap(m->write, m->nwrite);
    if (m->base)
        munmap(m->base, m->nbytes);
    if (m->file >= 0)
        close(m->file);
    *m = (bt__mapping){ .file = -1 };
}
