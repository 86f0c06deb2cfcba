#include "driver.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

/* ---- the library ---- */

static const struct {
    const char *name;
    size_t offset;
} entries[] = {
#define OCL_ENTRY(result, name, parameters) \
    { "cl" #name, offsetof(struct ocl_driver, name) },
#include "entries.def"
};

/* All entry points or none. It is never closed: drivers leave threads behind. */
bt_status ocl_driver_open(bt_ctx *ctx, const char *library, struct ocl_driver *out)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        bt_status status =
            bt_fail(ctx, BT_ERR_UNSUPPORTED, "target opencl: there is no OpenCL here: %s",
                    why ? why : library);
        return bt_note(
            ctx, status, NULL, 0,
            "a loader (Debian: ocl-icd-libopencl1) and a device's driver are "
            "needed when the program runs; pocl-opencl-icd is one for processors");
    }
    for (uint32_t i = 0; i < BT_COUNT(entries); i++) {
        void *entry = dlsym(handle, entries[i].name);
        if (!entry)
            return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                           "target opencl: %s has no function %s, which is of OpenCL 1.2",
                           library, entries[i].name);
        memcpy((char *)out + entries[i].offset, &entry, sizeof(entry));
    }
    return NULL;
}

/* ---- one device ---- */

struct asked {
    const struct ocl_driver *cl;
    cl_device_id device;
    cl_int error; /* the first */
};

static void ask(struct asked *a, cl_uint what, size_t nbytes, void *out)
{
    cl_int error = a->cl->GetDeviceInfo(a->device, what, nbytes, out, NULL);
    a->error = a->error ? a->error : error;
}

static uint64_t ask_ulong(struct asked *a, cl_uint what)
{
    cl_ulong value = 0;
    ask(a, what, sizeof(value), &value);
    return value;
}

static uint32_t ask_uint(struct asked *a, cl_uint what)
{
    cl_uint value = 0;
    ask(a, what, sizeof(value), &value);
    return value;
}

/* A text that is too long is cut. */
static void ask_text(struct asked *a, bt_arena *arena, cl_uint what,
                     char out[OCL_NAME_NBYTES])
{
    size_t nbytes = 0;
    out[0] = 0;
    if (a->cl->GetDeviceInfo(a->device, what, 0, NULL, &nbytes) != CL_SUCCESS || !nbytes)
        return;
    char *text = bt_arena_alloc(arena, nbytes, 1);
    if (!text || a->cl->GetDeviceInfo(a->device, what, nbytes, text, NULL) != CL_SUCCESS)
        return;
    text[nbytes - 1] = 0;
    snprintf(out, OCL_NAME_NBYTES, "%s", text);
}

static int has_extension(struct asked *a, bt_arena *arena, const char *name)
{
    size_t nbytes = 0, n = strlen(name);
    if (a->cl->GetDeviceInfo(a->device, CL_DEVICE_EXTENSIONS, 0, NULL, &nbytes) ||
        !nbytes)
        return 0;
    char *text = bt_arena_alloc(arena, nbytes + 1, 1);
    if (!text ||
        a->cl->GetDeviceInfo(a->device, CL_DEVICE_EXTENSIONS, nbytes, text, NULL))
        return 0;
    for (const char *at = text; (at = strstr(at, name)); at += n) {
        if ((at == text || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0))
            return 1;
    }
    return 0;
}

static uint64_t power_of_two(uint64_t n, uint64_t low, uint64_t high)
{
    uint64_t p = low;
    while (p < n && p < high)
        p *= 2;
    return p;
}

static void read_numbers(struct asked *a, bt_arena *arena, struct ocl_facts *f)
{
    const uint64_t type = ask_ulong(a, CL_DEVICE_TYPE);
    const uint64_t floats = ask_ulong(a, CL_DEVICE_SINGLE_FP_CONFIG);
    size_t group = 0;
    ask(a, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(group), &group);
    f->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
    f->is_unified = ask_uint(a, CL_DEVICE_HOST_UNIFIED_MEMORY);
    f->rounds_correctly = (floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    f->align = power_of_two(ask_uint(a, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8, 64, 1 << 20);
    f->largest = ask_ulong(a, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    f->nbytes = ask_ulong(a, CL_DEVICE_GLOBAL_MEM_SIZE);
    f->group = group;
    f->nunit = ask_uint(a, CL_DEVICE_MAX_COMPUTE_UNITS);
    f->mhz = ask_uint(a, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    f->device =
        (ocl_device){ .is_cpu = f->is_cpu,
                      .has_double = (uint32_t)has_extension(a, arena, "cl_khr_fp64"),
                      .has_fma = (floats & CL_FP_FMA) != 0,
                      .lanes = ask_uint(a, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT),
                      .local_nbytes = ask_ulong(a, CL_DEVICE_LOCAL_MEM_SIZE) };
}

/* NULL, or why the device cannot be used. */
static const char *read_facts(const struct ocl_driver *cl, bt_arena *arena,
                              cl_device_id device, struct ocl_facts *f)
{
    struct asked a = { cl, device, CL_SUCCESS };
    int major = 0, minor = 0;
    ask_text(&a, arena, CL_DEVICE_NAME, f->name);
    ask_text(&a, arena, CL_DEVICE_VENDOR, f->vendor);
    ask_text(&a, arena, CL_DRIVER_VERSION, f->driver);
    ask_text(&a, arena, CL_DEVICE_VERSION, f->version);
    read_numbers(&a, arena, f);
    if (a.error)
        return "its driver does not say what it is";
    if (sscanf(f->version, "OpenCL %d.%d", &major, &minor) != 2 || major < 1 ||
        (major == 1 && minor < 2))
        return "it has no OpenCL 1.2";
    return !ask_uint(&a, CL_DEVICE_AVAILABLE)            ? "it is not available"
           : !ask_uint(&a, CL_DEVICE_COMPILER_AVAILABLE) ? "it has no compiler"
           : !ask_uint(&a, CL_DEVICE_ENDIAN_LITTLE)      ? "it is big-endian"
           : !f->largest || !f->group                    ? "it has no memory"
                                                         : NULL;
}

/* ---- which one ---- */

struct found {
    cl_platform_id platform;
    cl_device_id device;
    struct ocl_facts facts;
    const char *fault; /* why it cannot be used */
};

static void platform_text(const struct ocl_driver *cl, bt_arena *arena,
                          cl_platform_id platform, cl_uint what,
                          char out[OCL_NAME_NBYTES])
{
    size_t nbytes = 0;
    out[0] = 0;
    if (cl->GetPlatformInfo(platform, what, 0, NULL, &nbytes) != CL_SUCCESS || !nbytes)
        return;
    char *text = bt_arena_alloc(arena, nbytes, 1);
    if (!text || cl->GetPlatformInfo(platform, what, nbytes, text, NULL) != CL_SUCCESS)
        return;
    text[nbytes - 1] = 0;
    snprintf(out, OCL_NAME_NBYTES, "%s", text);
}

static void find_devices(const struct ocl_driver *cl, bt_arena *arena,
                         cl_platform_id platform, const char *wanted, struct found *found,
                         uint32_t *n)
{
    char name[OCL_NAME_NBYTES];
    cl_device_id devices[MAX_DEVICES];
    cl_uint ndevice = 0;
    platform_text(cl, arena, platform, CL_PLATFORM_NAME, name);
    if (!strstr(name, wanted) ||
        cl->GetDeviceIDs(platform, (cl_bitfield)CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices,
                         &ndevice) != CL_SUCCESS)
        return;
    for (cl_uint i = 0; i < ndevice && i < MAX_DEVICES && *n < MAX_DEVICES; i++) {
        struct found *f = &found[(*n)++];
        *f = (struct found){ .platform = platform, .device = devices[i] };
        f->fault = read_facts(cl, arena, devices[i], &f->facts);
        platform_text(cl, arena, platform, CL_PLATFORM_VERSION, f->facts.platform);
    }
}

/* Which of them is asked for: by number, by a part of its name, or the first that is no
 * processor. -1: none. */
static int64_t pick(const struct found *found, uint32_t n, const char *wanted)
{
    char *end;
    const unsigned long number = strtoul(wanted, &end, 10);
    int64_t any = -1;
    if (*wanted && !*end)
        return number < n && !found[number].fault ? (int64_t)number : -1;
    for (uint32_t i = 0; i < n; i++) {
        if (found[i].fault || !strstr(found[i].facts.name, wanted))
            continue;
        if (*wanted || !found[i].facts.is_cpu)
            return i;
        any = any < 0 ? i : any;
    }
    return any;
}

static bt_status none(bt_ctx *ctx, const struct found *found, uint32_t n,
                      const struct ocl_wish *wish)
{
    bt_status status;
    if (!n && !*wish->platform)
        status = bt_fail(ctx, BT_ERR_UNSUPPORTED,
                         "target opencl: %s is there, but no driver with a device; "
                         "Debian's pocl-opencl-icd is one for processors",
                         wish->library);
    else
        status = bt_fail(ctx, BT_ERR_UNSUPPORTED,
                         "target opencl: no device that can be used is called by "
                         "platform=\"%s\", device=\"%s\"",
                         wish->platform, wish->device);
    for (uint32_t i = 0; i < n; i++)
        status =
            bt_note(ctx, status, NULL, 0, "device %u: %s%s%s", i, found[i].facts.name,
                    found[i].fault ? ": " : "", found[i].fault ? found[i].fault : "");
    return status;
}

bt_status ocl_device_choose(bt_ctx *ctx, const struct ocl_driver *cl,
                            const struct ocl_wish *wish, cl_platform_id *platform,
                            cl_device_id *out, struct ocl_facts *facts)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint nplatform = 0;
    uint32_t n = 0;
    bt_status status = NULL;
    struct found *found = BT_NEWS(scratch, struct found, MAX_DEVICES);
    if (!found)
        return bt_no_memory();
    if (cl->GetPlatformIDs(MAX_PLATFORMS, platforms, &nplatform) != CL_SUCCESS)
        nplatform = 0;
    for (cl_uint i = 0; i < nplatform && i < MAX_PLATFORMS; i++)
        find_devices(cl, scratch, platforms[i], wish->platform, found, &n);
    const int64_t which = pick(found, n, wish->device);
    if (which < 0) {
        status = none(ctx, found, n, wish);
    } else {
        *platform = found[which].platform;
        *out = found[which].device;
        *facts = found[which].facts;
    }
    bt_arena_release(scratch, mark);
    return status;
}

/* ---- errors ---- */

const struct ocl_error *ocl_error_find(cl_int error)
{
    static const struct ocl_error errors[] = {
#define OCL_ERROR(code, name, kind) { code, OCL_ERROR_##kind, name " (" #code ")" },
#include "errors.def"
    };
    static const struct ocl_error other = { 0, OCL_ERROR_OTHER,
                                            "an error that OpenCL 1.2 does not name" };
    for (uint32_t i = 0; i < BT_COUNT(errors); i++) {
        if (errors[i].code == error)
            return &errors[i];
    }
    return &other;
}
