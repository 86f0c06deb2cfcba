/* An OpenCL library without a device, for what devices do that break: what a call of it gives is
 * said beforehand. Memory is the host's, copies are done at once, kernels do nothing. */
#ifndef OPENCL_FAKE_H
#define OPENCL_FAKE_H

#include <dlfcn.h>
#include <string.h>

#include "cl.h"

enum { FAKE_MAX_BINARY = 256 };

struct fake {
    uint32_t fail_at;       /* the call, counted from 1, that fails; 0: none */
    const char *only;       /* NULL, or the entry point whose calls count */
    cl_int error;           /* ... what with */
    uint32_t keeps_failing; /* 1: all calls behind it, too */
    uint32_t hangs;         /* 1: no command ends; */
    cl_int ends_with;       /* else it ends so: 0, or an error */
    cl_int fault;           /* what a kernel stores into its last cl_mem of 4 bytes */
    uint32_t has_no_device, has_no_platform;
    uint32_t is_gpu, is_old, has_no_compiler, has_no_profile;
    const char *build_log; /* not NULL: builds fail with it */
    const char *driver;    /* its version; NULL: "1" */
    uint64_t memory;       /* 0: any */
    /* what has happened */
    uint32_t ncall, nobject;   /* calls that count; objects that live */
    uint32_t nsource, nbinary; /* programs made of text, of a binary */
    uint32_t nlaunch;
};

/* The one of the library, which has it by the name "fake_state"; all is 0. NULL: there is no such
 * library. */
typedef struct fake *fake_state_fn(void);
static inline struct fake *fake_find(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *symbol = handle ? dlsym(handle, "fake_state") : NULL;
    fake_state_fn *find;
    if (!symbol)
        return NULL;
    memcpy(&find, &symbol, sizeof(find));
    memset(find(), 0, sizeof(struct fake));
    return find();
}

#endif
