#include "blas.h"

#include <dlfcn.h>
#include <string.h>

#define LIBRARY "libclblast.so.1"
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112 };

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define OCL_BLAS(result, name, parameters) \
    { "CLBlast" #name, offsetof(struct ocl_blas, name) },
#include "blas.def"
};

/* It is never closed: it keeps kernels until the process ends. */
int ocl_blas_open(struct ocl_blas *out)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    for (uint32_t i = 0; i < BT_COUNT(functions); i++) {
        void *function = handle ? dlsym(handle, functions[i].name) : NULL;
        if (!function)
            return 0;
        memcpy((char *)out + functions[i].offset, &function, sizeof(function));
    }
    return 1;
}

/* Of the whole process, as what CLBlast keeps is: before version 1.6.1 it is not safe for two
 * threads to meet there. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void ocl_blas_forget(const struct ocl_blas *blas)
{
    pthread_mutex_lock(&lock);
    (void)blas->ClearCache(); // a context of another instance may get the same address
    pthread_mutex_unlock(&lock);
}

static int multiply(const struct ocl_blas *blas, const ocl_product *p,
                    const struct ocl_region m[3], cl_command_queue *queue,
                    cl_event *event)
{
    const int a = p->a.is_transposed ? TRANSPOSED : NOT_TRANSPOSED,
              b = p->b.is_transposed ? TRANSPOSED : NOT_TRANSPOSED;
    const size_t at[3] = { (size_t)m[0].offset / sizeof(float),
                           (size_t)m[1].offset / sizeof(float),
                           (size_t)m[2].offset / sizeof(float) };
    const size_t rows = (size_t)p->m, columns = (size_t)p->n, terms = (size_t)p->k;
    return p->batch == 1
               ? blas->Sgemm(ROW_MAJOR, a, b, rows, columns, terms, 1, m[0].mem, at[0],
                             (size_t)p->a.row, m[1].mem, at[1], (size_t)p->b.row, 0,
                             m[2].mem, at[2], (size_t)p->c.row, queue, event)
               : blas->SgemmStridedBatched(
                     ROW_MAJOR, a, b, rows, columns, terms, 1, m[0].mem, at[0],
                     (size_t)p->a.row, (size_t)p->a.matrix, m[1].mem, at[1],
                     (size_t)p->b.row, (size_t)p->b.matrix, 0, m[2].mem, at[2],
                     (size_t)p->c.row, (size_t)p->c.matrix, (size_t)p->batch, queue,
                     event);
}

bt_status ocl_blas_multiply(bt_ctx *ctx, struct ocl_queue *q, struct ocl_command *c,
                            const ocl_product *p, const struct ocl_region abc[3])
{
    struct ocl_instance *o = q->instance;
    cl_event event = NULL;
    for (uint32_t i = 0; i < 3; i++) {
        if (abc[i].offset % sizeof(float))
            return bt_fail(
                ctx, BT_ERR_ARGUMENT,
                "target opencl: a matrix of floats begins between two of them");
    }
    if (ocl_command_nevent(c)) // it takes no events to wait for
        BT_TRY(ocl_command_mark(ctx, q, c));
    pthread_mutex_lock(&lock);
    const int error = multiply(o->blas, p, abc, &q->at, &event);
    pthread_mutex_unlock(&lock);
    if (error != CL_SUCCESS || !event) // its own errors are below -1000
        return ocl_fail(ctx, o, error,
                        "CLBlast gives status %d for a product of %d x %d x %d", error,
                        (int)p->m, (int)p->n, (int)p->k);
    ocl_command_add_event(q, c, event);
    return NULL;
}
