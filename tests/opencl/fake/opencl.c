#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define API                                 __attribute__((visibility("default")))

#define OCL_ENTRY(result, name, parameters) API result cl##name parameters;
#include "entries.def"

static struct fake fake;

API struct fake *fake_state(void);
struct fake *fake_state(void)
{
    return &fake;
}

/* What a call gives. */
static cl_int call(const char *name)
{
    if (fake.only && strcmp(fake.only, name) != 0)
        return CL_SUCCESS;
    const uint32_t n = __atomic_add_fetch(&fake.ncall, 1, __ATOMIC_RELAXED);
    return fake.fail_at && (n == fake.fail_at || (fake.keeps_failing && n > fake.fail_at))
               ? fake.error
               : CL_SUCCESS;
}

#define CALL(name)                       \
    do {                                 \
        const cl_int fails = call(name); \
        if (fails != CL_SUCCESS)         \
            return fails;                \
    } while (0)

/* ---- objects: all of one kind, so that a wrong handle is seen ---- */

enum { CONTEXT = 0x11, QUEUE, MEM, PROGRAM, KERNEL, EVENT };
struct object {
    struct object *before, *next; /* all that live */
    int kind, nref;
    size_t nbytes;
    void *bytes;
    cl_mem cell; /* of a kernel: a cl_mem of 4 bytes among its arguments */
    cl_int state;
    void *host; /* of a copy that is not done: where it goes */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object all = { .before = &all, .next = &all };

static void link_object(struct object *o)
{
    pthread_mutex_lock(&lock);
    o->before = &all;
    o->next = all.next;
    o->next->before = o;
    all.next = o;
    fake.nobject++;
    pthread_mutex_unlock(&lock);
}

static void unlink_object(struct object *o)
{
    pthread_mutex_lock(&lock);
    o->before->next = o->next;
    o->next->before = o->before;
    fake.nobject--;
    pthread_mutex_unlock(&lock);
}

static void *create(const char *name, int kind, size_t nbytes, cl_int *error)
{
    struct object *o = NULL;
    *error = call(name);
    if (*error == CL_SUCCESS && fake.memory && nbytes > fake.memory)
        *error = -4;
    if (*error == CL_SUCCESS && !(o = calloc(1, sizeof(*o))))
        *error = -6;
    if (!o)
        return NULL;
    *o = (struct object){ .kind = kind, .nref = 1, .nbytes = nbytes };
    o->bytes = nbytes ? malloc(nbytes) : NULL;
    link_object(o);
    return o;
}

static struct object *of(void *handle, int kind)
{
    struct object *o = handle;
    if (!o || o->kind != kind)
        abort();
    return o;
}

static cl_int release(void *handle, int kind)
{
    struct object *o = of(handle, kind);
    if (__atomic_sub_fetch(&o->nref, 1, __ATOMIC_ACQ_REL) > 0)
        return CL_SUCCESS;
    unlink_object(o);
    o->kind = 0;
    free(o->bytes);
    free(o);
    return CL_SUCCESS;
}

static void *range(cl_mem mem, size_t at, size_t nbytes)
{
    struct object *o = of(mem, MEM);
    if (at > o->nbytes || nbytes > o->nbytes - at)
        abort();
    return (char *)o->bytes + at;
}

/* Of a command, which is done. */
static cl_int finish(cl_event *out, void *host)
{
    cl_int error = CL_SUCCESS;
    if (!out)
        return CL_SUCCESS;
    struct object *o = create("", EVENT, 0, &error);
    if (!o)
        return error;
    o->host = host;
    o->state = fake.hangs ? 2 : fake.ends_with;
    *out = (cl_event)o;
    return CL_SUCCESS;
}

/* ---- platforms and devices ---- */

static cl_int give(const void *value, size_t nbytes, size_t room, void *out, size_t *size)
{
    if (out && room < nbytes)
        return -30;
    if (out)
        memcpy(out, value, nbytes);
    if (size)
        *size = nbytes;
    return CL_SUCCESS;
}

static cl_int give_text(const char *text, size_t room, void *out, size_t *size)
{
    return give(text, strlen(text) + 1, room, out, size);
}

static cl_int give_ulong(cl_ulong value, size_t room, void *out, size_t *size)
{
    return room >= sizeof(value) ? give(&value, sizeof(value), room, out, size)
                                 : give(&value, room, room, out, size); // little endian
}

cl_int clGetPlatformIDs(cl_uint n, cl_platform_id *out, cl_uint *found)
{
    CALL("GetPlatformIDs");
    *found = !fake.has_no_platform;
    if (n && *found)
        out[0] = (cl_platform_id)&fake;
    return fake.has_no_platform ? -1001 : CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id p, cl_uint what, size_t room, void *out,
                         size_t *size)
{
    (void)p;
    CALL("GetPlatformInfo");
    return give_text(what == CL_PLATFORM_NAME ? "Fake" : "OpenCL 1.2 Fake", room, out,
                     size);
}

cl_int clGetDeviceIDs(cl_platform_id p, cl_bitfield type, cl_uint n, cl_device_id *out,
                      cl_uint *found)
{
    (void)p, (void)type;
    CALL("GetDeviceIDs");
    *found = !fake.has_no_device;
    if (n && *found)
        out[0] = (cl_device_id)&fake;
    return fake.has_no_device ? -1 : CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id d, cl_uint what, size_t room, void *out, size_t *size)
{
    (void)d;
    CALL("GetDeviceInfo");
    switch (what) {
    case CL_DEVICE_NAME: return give_text("fake one", room, out, size);
    case CL_DEVICE_VENDOR: return give_text("nobody", room, out, size);
    case CL_DRIVER_VERSION:
        return give_text(fake.driver ? fake.driver : "1", room, out, size);
    case CL_DEVICE_VERSION:
        return give_text(fake.is_old ? "OpenCL 1.1" : "OpenCL 1.2 fake", room, out, size);
    case CL_DEVICE_EXTENSIONS: return give_text("cl_khr_fp64", room, out, size);
    case CL_DEVICE_TYPE:
        return give_ulong(fake.is_gpu ? CL_DEVICE_TYPE_GPU : CL_DEVICE_TYPE_CPU, room,
                          out, size);
    case CL_DEVICE_COMPILER_AVAILABLE:
        return give_ulong(!fake.has_no_compiler, room, out, size);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: return give_ulong(256, room, out, size);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN: return give_ulong(1024, room, out, size);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
    case CL_DEVICE_GLOBAL_MEM_SIZE: return give_ulong(1 << 28, room, out, size);
    case CL_DEVICE_LOCAL_MEM_SIZE: return give_ulong(32768, room, out, size);
    default: return give_ulong(1, room, out, size);
    }
}

cl_context clCreateContext(const cl_context_properties *p, cl_uint n,
                           const cl_device_id *d,
                           void (*f)(const char *, const void *, size_t, void *),
                           void *self, cl_int *error)
{
    (void)p, (void)n, (void)d, (void)f, (void)self;
    return create("CreateContext", CONTEXT, 0, error);
}

cl_int clReleaseContext(cl_context c)
{
    return release(c, CONTEXT);
}

/* ---- queues, memory, events ---- */

cl_command_queue clCreateCommandQueue(cl_context c, cl_device_id d,
                                      cl_bitfield properties, cl_int *error)
{
    (void)d, (void)properties;
    of(c, CONTEXT);
    return create("CreateCommandQueue", QUEUE, 0, error);
}

cl_int clReleaseCommandQueue(cl_command_queue q)
{
    return release(q, QUEUE);
}

cl_mem clCreateBuffer(cl_context c, cl_bitfield flags, size_t nbytes, void *host,
                      cl_int *error)
{
    (void)flags, (void)host;
    of(c, CONTEXT);
    return create("CreateBuffer", MEM, nbytes, error);
}

cl_int clReleaseMemObject(cl_mem m)
{
    return release(m, MEM);
}

cl_int clWaitForEvents(cl_uint n, const cl_event *events)
{
    CALL("WaitForEvents");
    for (cl_uint i = 0; i < n; i++)
        of(events[i], EVENT);
    return CL_SUCCESS;
}

cl_int clGetEventInfo(cl_event e, cl_uint what, size_t room, void *out, size_t *size)
{
    (void)what;
    CALL("GetEventInfo");
    return give(&of(e, EVENT)->state, sizeof(cl_int), room, out, size);
}

cl_int clGetEventProfilingInfo(cl_event e, cl_uint what, size_t room, void *out,
                               size_t *size)
{
    of(e, EVENT);
    CALL("GetEventProfilingInfo");
    return fake.has_no_profile ? -7 : give_ulong(1000 * (what - 0x1270), room, out, size);
}

cl_int clRetainEvent(cl_event e)
{
    __atomic_add_fetch(&of(e, EVENT)->nref, 1, __ATOMIC_RELAXED);
    return CL_SUCCESS;
}

cl_int clReleaseEvent(cl_event e)
{
    return release(e, EVENT);
}

cl_int clFlush(cl_command_queue q)
{
    of(q, QUEUE);
    CALL("Flush");
    return CL_SUCCESS;
}

cl_int clFinish(cl_command_queue q)
{
    of(q, QUEUE);
    CALL("Finish");
    return CL_SUCCESS;
}

cl_int clEnqueueReadBuffer(cl_command_queue q, cl_mem m, cl_bool blocks, size_t at,
                           size_t nbytes, void *host, cl_uint n, const cl_event *waits,
                           cl_event *out)
{
    (void)blocks, (void)n, (void)waits;
    of(q, QUEUE);
    CALL("EnqueueReadBuffer");
    memcpy(host, range(m, at, nbytes), nbytes);
    return finish(out, host);
}

cl_int clEnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_bool blocks, size_t at,
                            size_t nbytes, const void *host, cl_uint n,
                            const cl_event *waits, cl_event *out)
{
    (void)blocks, (void)n, (void)waits;
    of(q, QUEUE);
    CALL("EnqueueWriteBuffer");
    memcpy(range(m, at, nbytes), host, nbytes);
    return finish(out, NULL);
}

cl_int clEnqueueCopyBuffer(cl_command_queue q, cl_mem a, cl_mem b, size_t from, size_t to,
                           size_t nbytes, cl_uint n, const cl_event *waits, cl_event *out)
{
    (void)n, (void)waits;
    of(q, QUEUE);
    CALL("EnqueueCopyBuffer");
    memmove(range(b, to, nbytes), range(a, from, nbytes), nbytes);
    return finish(out, NULL);
}

void *clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool blocks, cl_bitfield flags,
                         size_t at, size_t nbytes, cl_uint n, const cl_event *waits,
                         cl_event *out, cl_int *error)
{
    (void)blocks, (void)flags, (void)n, (void)waits, (void)out;
    of(q, QUEUE);
    *error = call("EnqueueMapBuffer");
    return *error == CL_SUCCESS ? range(m, at, nbytes) : NULL;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue q, cl_mem m, void *at, cl_uint n,
                               const cl_event *waits, cl_event *out)
{
    (void)m, (void)at, (void)n, (void)waits;
    of(q, QUEUE);
    CALL("EnqueueUnmapMemObject");
    return finish(out, NULL);
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue q, cl_uint n, const cl_event *waits,
                                   cl_event *out)
{
    (void)n, (void)waits;
    of(q, QUEUE);
    CALL("EnqueueMarkerWithWaitList");
    return finish(out, NULL);
}

/* ---- programs ---- */

cl_program clCreateProgramWithSource(cl_context c, cl_uint n, const char **texts,
                                     const size_t *sizes, cl_int *error)
{
    (void)n, (void)texts, (void)sizes;
    of(c, CONTEXT);
    fake.nsource++;
    return create("CreateProgramWithSource", PROGRAM, 0, error);
}

cl_program clCreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *devices,
                                     const size_t *sizes, const unsigned char **binaries,
                                     cl_int *state, cl_int *error)
{
    (void)n, (void)devices, (void)state;
    of(c, CONTEXT);
    if (sizes[0] != strlen("a binary") || memcmp(binaries[0], "a binary", sizes[0]) != 0)
        abort(); // as drivers do
    fake.nbinary++;
    return create("CreateProgramWithBinary", PROGRAM, 0, error);
}

cl_int clReleaseProgram(cl_program p)
{
    return release(p, PROGRAM);
}

cl_int clBuildProgram(cl_program p, cl_uint n, const cl_device_id *devices,
                      const char *options, void (*f)(cl_program, void *), void *self)
{
    (void)n, (void)devices, (void)options, (void)f, (void)self;
    of(p, PROGRAM);
    CALL("BuildProgram");
    return fake.build_log ? -11 : CL_SUCCESS;
}

cl_int clGetProgramInfo(cl_program p, cl_uint what, size_t room, void *out, size_t *size)
{
    of(p, PROGRAM);
    CALL("GetProgramInfo");
    if (what == CL_PROGRAM_BINARIES)
        memcpy(*(unsigned char **)out, "a binary", strlen("a binary"));
    return what == CL_PROGRAM_BINARIES ? CL_SUCCESS
                                       : give_ulong(strlen("a binary"), room, out, size);
}

cl_int clGetProgramBuildInfo(cl_program p, cl_device_id d, cl_uint what, size_t room,
                             void *out, size_t *size)
{
    (void)d, (void)what;
    of(p, PROGRAM);
    CALL("GetProgramBuildInfo");
    return give_text(fake.build_log ? fake.build_log : "", room, out, size);
}

cl_kernel clCreateKernel(cl_program p, const char *name, cl_int *error)
{
    (void)name;
    of(p, PROGRAM);
    return create("CreateKernel", KERNEL, 0, error);
}

cl_int clReleaseKernel(cl_kernel k)
{
    return release(k, KERNEL);
}

cl_int clSetKernelArg(cl_kernel k, cl_uint at, size_t nbytes, const void *value)
{
    cl_mem mem;
    (void)at;
    CALL("SetKernelArg");
    memcpy(&mem, value, sizeof(mem) < nbytes ? sizeof(mem) : nbytes);
    if (at == 4) // of the kernel of kit.h: where its fault goes
        of(k, KERNEL)->cell = mem;
    return CL_SUCCESS;
}

cl_int clGetKernelInfo(cl_kernel k, cl_uint what, size_t room, void *out, size_t *size)
{
    (void)what;
    of(k, KERNEL);
    CALL("GetKernelInfo");
    return give_ulong(7, room, out, size); // the parameters of the kernel of kit.h
}

cl_int clGetKernelWorkGroupInfo(cl_kernel k, cl_device_id d, cl_uint what, size_t room,
                                void *out, size_t *size)
{
    (void)d, (void)what;
    of(k, KERNEL);
    CALL("GetKernelWorkGroupInfo");
    return give_ulong(256, room, out, size);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint rank,
                              const size_t *offset, const size_t *global,
                              const size_t *local, cl_uint n, const cl_event *waits,
                              cl_event *out)
{
    (void)rank, (void)offset, (void)n, (void)waits;
    of(q, QUEUE);
    CALL("EnqueueNDRangeKernel");
    for (uint32_t i = 0; i < 3; i++) {
        if (global[i] % local[i] != 0)
            abort();
    }
    fake.nlaunch++;
    if (fake.fault)
        memcpy(range(of(k, KERNEL)->cell, 0, sizeof(cl_int)), &fake.fault,
               sizeof(cl_int));
    return finish(out, NULL);
}
