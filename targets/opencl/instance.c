#define _POSIX_C_SOURCE 200809L // sysconf
#include "instance.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "blas.h"
#include "driver.h"
#include "queue.h"

/* ---- opening ---- */

/* Devices that share the memory of the machine, as processors do, may say that all of it is theirs,
 * and more: they get three quarters of what there is. */
static uint64_t budget(const struct ocl_facts *facts, uint64_t wanted)
{
    const long pages = sysconf(_SC_PHYS_PAGES), nbytes = sysconf(_SC_PAGESIZE);
    uint64_t most = facts->nbytes;
    if (facts->is_unified && pages > 0 && nbytes > 0) {
        const uint64_t all = (uint64_t)pages * (uint64_t)nbytes / 4 * 3;
        most = all < most ? all : most;
    }
    return wanted && wanted < most ? wanted : most;
}

/* Processors are faster by kernels of ours. Without CLBlast, or memory, these do as well. */
static void open_blas(struct ocl_instance *o, const char *where)
{
    if (strcmp(where, "off") == 0 || (strcmp(where, "gpu") == 0 && o->facts.is_cpu))
        return;
    o->blas = bt_alloc(o->registry, sizeof(*o->blas));
    if (o->blas && !ocl_blas_open(o->blas)) {
        bt_free(o->registry, o->blas, sizeof(struct ocl_blas));
        o->blas = NULL;
    }
    o->facts.device.has_blas = o->blas != NULL;
}

bt_status ocl_open(bt_ctx *ctx, const struct ocl_wish *wish, struct ocl_instance **out)
{
    cl_platform_id platform;
    cl_int error = CL_SUCCESS;
    if (strlen(wish->cache) >= OCL_PATH_NBYTES)
        return bt_fail(ctx, BT_ERR_ATTRIBUTE,
                       "target opencl: the path of the cache is too long");
    struct ocl_instance *o = bt_alloc(bt_ctx_registry(ctx), sizeof(*o));
    if (!o)
        return bt_no_memory();
    snprintf(o->cache, sizeof(o->cache), "%s", wish->cache);
    o->registry = bt_ctx_registry(ctx);
    bt_status status = ocl_driver_open(ctx, wish->library, &o->cl);
    if (!status)
        status = ocl_device_choose(ctx, &o->cl, wish, &platform, &o->device, &o->facts);
    if (!status) {
        const cl_context_properties properties[] = { CL_CONTEXT_PLATFORM,
                                                     (cl_context_properties)platform, 0 };
        o->context = o->cl.CreateContext(properties, 1, &o->device, NULL, NULL, &error);
        if (!o->context)
            status = ocl_fail(ctx, o, error, "device %s gives no context", o->facts.name);
    }
    if (!status && pthread_mutex_init(&o->lock, NULL) != 0) {
        o->cl.ReleaseContext(o->context);
        status = bt_fail(ctx, BT_ERR_RUNTIME, "target opencl: the system gives no lock");
    }
    if (status) {
        bt_free(o->registry, o, sizeof(*o));
        return status;
    }
    open_blas(o, wish->blas);
    o->timeout_ns = wish->timeout_ns;
    o->budget = budget(&o->facts, wish->budget);
    *out = o;
    return NULL;
}

void ocl_close(struct ocl_instance *o)
{
    ocl_queues_destroy(o);
    if (o->blas && !o->is_hung)
        ocl_blas_forget(o->blas);
    bt_free(o->registry, o->blas, sizeof(struct ocl_blas));
    if (!o->is_hung)
        o->cl.ReleaseContext(o->context);
    pthread_mutex_destroy(&o->lock);
    bt_free(o->registry, o, sizeof(*o));
}

/* ---- errors ---- */

static void lose(struct ocl_instance *o, const char *why)
{
    pthread_mutex_lock(&o->lock);
    if (!o->is_lost)
        snprintf(o->why, sizeof(o->why), "%s", why);
    o->is_lost = 1;
    pthread_mutex_unlock(&o->lock);
}

bt_status ocl_alive(bt_ctx *ctx, struct ocl_instance *o)
{
    pthread_mutex_lock(&o->lock);
    const int is_lost = o->is_lost; // the text does not change once it is
    pthread_mutex_unlock(&o->lock);
    if (!is_lost)
        return NULL;
    bt_status status =
        bt_fail(ctx, BT_ERR_RUNTIME, "target opencl: device %s is lost: %s",
                o->facts.name, o->why);
    return bt_note(ctx, status, NULL, 0, "a program that is opened anew starts afresh");
}

static bt_status fail(bt_ctx *ctx, struct ocl_instance *o, const struct ocl_error *error,
                      uint32_t kind, const char *what)
{
    char why[OCL_WHY_NBYTES];
    snprintf(why, sizeof(why), "%s: %s", what, error->name);
    if (kind == OCL_ERROR_LOST && o->context) {
        lose(o, why);
        BT_TRY(ocl_alive(ctx, o));
    }
    return bt_fail(ctx, kind == OCL_ERROR_MEMORY ? BT_ERR_MEMORY : BT_ERR_RUNTIME,
                   "target opencl: %s", why);
}

bt_status ocl_fail(bt_ctx *ctx, struct ocl_instance *o, cl_int code, const char *format,
                   ...)
{
    const struct ocl_error *error = ocl_error_find(code);
    char what[OCL_WHY_NBYTES / 2];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof(what), format, list);
    va_end(list);
    return fail(ctx, o, error, error->kind, what);
}

bt_status ocl_fail_command(bt_ctx *ctx, struct ocl_instance *o, cl_int code)
{
    const struct ocl_error *error = ocl_error_find(code);
    return fail(ctx, o, error,
                error->kind == OCL_ERROR_MEMORY ? OCL_ERROR_MEMORY : OCL_ERROR_LOST,
                "a command has failed");
}

void ocl_hang(struct ocl_instance *o)
{
    char why[OCL_WHY_NBYTES];
    snprintf(why, sizeof(why),
             "a command is not done after %" PRIu64 " ms (option timeout_ms)",
             o->timeout_ns / 1000000);
    lose(o, why);
    pthread_mutex_lock(&o->lock);
    o->is_hung = 1;
    pthread_mutex_unlock(&o->lock);
}

int ocl_is_hung(struct ocl_instance *o)
{
    pthread_mutex_lock(&o->lock);
    const int is_hung = o->is_hung;
    pthread_mutex_unlock(&o->lock);
    return is_hung;
}
