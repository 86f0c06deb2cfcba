/*
 * What is used of OpenCL 1.2: types, constants and entry points, by the Khronos specification. The
 * library is opened when an instance is, so that neither it nor its headers are needed before.
 */
#ifndef OPENCL_CL_H
#define OPENCL_CL_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint, cl_bool;
typedef uint64_t cl_ulong, cl_bitfield;
typedef intptr_t cl_context_properties;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;

enum {
    CL_SUCCESS = 0,
    CL_COMPLETE = 0,

    CL_PLATFORM_VERSION = 0x0901,
    CL_PLATFORM_NAME = 0x0902,
    CL_CONTEXT_PLATFORM = 0x1084,

    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_MAX_CLOCK_FREQUENCY = 0x100C,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_ENDIAN_LITTLE = 0x1026,
    CL_DEVICE_AVAILABLE = 0x1027,
    CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
    CL_DEVICE_NAME = 0x102B,
    CL_DEVICE_VENDOR = 0x102C,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
    CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT = 0x103A,

    CL_DEVICE_TYPE_CPU = 1 << 1,
    CL_DEVICE_TYPE_GPU = 1 << 2,
    CL_FP_FMA = 1 << 5,
    CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 1 << 7,

    CL_QUEUE_PROFILING_ENABLE = 1 << 1,
    CL_MEM_READ_WRITE = 1 << 0,
    CL_MEM_ALLOC_HOST_PTR = 1 << 4,
    CL_MAP_READ = 1 << 0,
    CL_MAP_WRITE = 1 << 1,

    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_KERNEL_NUM_ARGS = 0x1191,
    CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
    CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    CL_PROFILING_COMMAND_QUEUED = 0x1280,
    CL_PROFILING_COMMAND_START = 0x1282,
    CL_PROFILING_COMMAND_END = 0x1283
};
enum { CL_DEVICE_TYPE_ALL = -1 }; /* all bits */

/* A driver's entry points, each by its name without "cl": a member for each row of entries.def. */
struct ocl_driver {
#define OCL_ENTRY(result, name, parameters) result(*name) parameters;
#include "entries.def"
};

#endif
