/*
 * Run-time values: tensors, tuples, constructors, closures, references. One form for
 * every executor, for constant folding and for applications. All are refcounted objects
 * (atomic), independent of any store.
 */
#ifndef BATON_VALUE_H
#define BATON_VALUE_H

#include <baton/base.h>
#include <baton/convert.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- element types ---- */

/* class << 24 | bits << 16 | lanes. Classes are the codes of DLPack, so that a custom one
 * has a place. 0 = none. */
typedef uint32_t bt_dtype;
#define BT_DTYPE(class_, bits, lanes) \
    ((bt_dtype)(class_) << 24 | (bt_dtype)(bits) << 16 | (bt_dtype)(lanes))
#define BT_DTYPE_CLASS(d) ((d) >> 24)
#define BT_DTYPE_BITS(d)  ((d) >> 16 & 0xffu)
#define BT_DTYPE_LANES(d) ((d)&0xffffu)
enum {
    BT_CLASS_INT = 0,
    BT_CLASS_UINT = 1,
    BT_CLASS_FLOAT = 2,
    BT_CLASS_BFLOAT = 4,
    BT_CLASS_COMPLEX = 5,
    BT_CLASS_BOOL = 6,
    BT_CLASS_FLOAT8_E4M3FN = 10,
    BT_CLASS_FLOAT8_E4M3FNUZ = 11,
    BT_CLASS_FLOAT8_E5M2 = 12,
    BT_CLASS_FLOAT8_E5M2FNUZ = 13,
    BT_CLASS_FLOAT8_E8M0FNU = 14,
    BT_CLASS_FLOAT4_E2M1FN = 17
};
enum {
    BT_CLASS_BITS_INT = 1u << BT_CLASS_INT,
    BT_CLASS_BITS_UINT = 1u << BT_CLASS_UINT,
    BT_CLASS_BITS_FLOAT = 1u << BT_CLASS_FLOAT | 1u << BT_CLASS_BFLOAT |
                          1u << BT_CLASS_FLOAT8_E4M3FN | 1u << BT_CLASS_FLOAT8_E4M3FNUZ |
                          1u << BT_CLASS_FLOAT8_E5M2 | 1u << BT_CLASS_FLOAT8_E5M2FNUZ |
                          1u << BT_CLASS_FLOAT4_E2M1FN,
    BT_CLASS_BITS_BOOL = 1u << BT_CLASS_BOOL,
    BT_CLASS_BITS_INTEGER = BT_CLASS_BITS_INT | BT_CLASS_BITS_UINT,
    BT_CLASS_BITS_NUMBER = BT_CLASS_BITS_INTEGER | BT_CLASS_BITS_FLOAT,
    BT_CLASS_BITS_MOVED = 1u << BT_CLASS_COMPLEX | 1u << BT_CLASS_FLOAT8_E8M0FNU,
    BT_CLASS_BITS_ANY = -1, /* all 32 bits */
    BT_CLASS_BITS_COMPUTED = ~BT_CLASS_BITS_MOVED
};
static inline int bt_dtype_is_float(bt_dtype dtype)
{
    return BT_DTYPE_CLASS(dtype) < 32 &&
           (BT_CLASS_BITS_FLOAT >> BT_DTYPE_CLASS(dtype) & 1);
}
/* A float that is computed in float32 and then rounded: of 16 bits or fewer. */
static inline int bt_dtype_is_small_float(bt_dtype dtype)
{
    return bt_dtype_is_float(dtype) && BT_DTYPE_BITS(dtype) < 32;
}

/* The element types that have storage: with arithmetic BT_BOOL, BT_INT8 ... BT_FLOAT64 and
 * the packed ones, BT_INT4 ..., of which a byte holds several; without it BT_COMPLEX64 ... */
enum {
#define BT_STORED(UPPER, name, class_, bits, c_type) \
    BT_##UPPER = (class_) << 24 | (bits) << 16 | 1,
#define BT_PACKED(UPPER, name, class_, bits, carrier) \
    BT_##UPPER = (class_) << 24 | (bits) << 16 | 1,
#define BT_MOVED(UPPER, name, class_, bits, part) \
    BT_##UPPER = (class_) << 24 | (bits) << 16 | 1,
#include <baton/dtypes.def>
};

/* A number off the front of a text: -1.5e3, inf, nan, whatever the locale of the process.
 * Gives how many bytes it has; 0: none is there. */
BT_API size_t bt_number_read(const char *text, double *out);

/* "float32", "int8", "bool", "bfloat16", "float8_e5m2", "float32x4", "class7_8" of a class
 * without a name here; 0 if `name` is none. */
BT_API bt_dtype bt_dtype_parse(const char *name, size_t nbytes);
/* Writes the name into `out`, cut to `size`, and returns out. */
BT_API const char *bt_dtype_name(bt_dtype, char *out, size_t size);
#define BT_DTYPE_NAME_SIZE 28
/* The least and the greatest number of an integer type, or of BT_BOOL; the greatest of uint64 is
 * given by its bits, -1. */
BT_API void bt_dtype_limits(bt_dtype, int64_t *low, int64_t *high);
/* Bytes of one element in memory; 0 of a packed type, and of one without storage. */
BT_API size_t bt_dtype_nbytes(bt_dtype);
/* Bits of one element in memory; 0 of a type without storage. */
BT_API uint32_t bt_dtype_nbits(bt_dtype);
BT_API int bt_dtype_is_stored(bt_dtype);
/* Whether a byte holds several elements. */
BT_API int bt_dtype_is_packed(bt_dtype);
/* The type of whole bytes in which a packed one is computed; that of the parts of one that is
 * only moved; any other type itself. */
BT_API bt_dtype bt_dtype_carrier(bt_dtype);
/* Whether elements are moved and cast, but not computed with: complex numbers and powers of
 * two. */
static inline int bt_dtype_is_moved(bt_dtype dtype)
{
    return BT_DTYPE_CLASS(dtype) < 32 &&
           (BT_CLASS_BITS_MOVED >> BT_DTYPE_CLASS(dtype) & 1);
}
/* Whether numbers need not be whole: of floats, and of types that are moved. */
static inline int bt_dtype_is_real(bt_dtype dtype)
{
    return bt_dtype_is_float(dtype) || bt_dtype_is_moved(dtype);
}
/* Numbers that an element consists of: two of a complex one. */
static inline uint32_t bt_dtype_nparts(bt_dtype dtype)
{
    return BT_DTYPE_CLASS(dtype) == BT_CLASS_COMPLEX ? 2 : 1;
}
/* Bytes of so many elements. 0: more than an int64 counts. */
BT_API int bt_elements_nbytes(bt_dtype, int64_t nelem, int64_t *out);
/* Of a float, from 1 to the next number, and the greatest number; 0 of other types. */
BT_API double bt_dtype_epsilon(bt_dtype);
BT_API double bt_dtype_most(bt_dtype);

/* ---- objects ---- */

enum {
    BT_OBJECT_TENSOR,
    BT_OBJECT_TUPLE,
    BT_OBJECT_ADT,
    BT_OBJECT_CLOSURE,
    BT_OBJECT_REF
};

/* The head of every run-time value. */
typedef struct bt_object {
    uint32_t kind;
    uint32_t nref; /* atomic; use bt_object_ref and bt_object_unref */
    bt_registry *registry;
    void (*destroy)(struct bt_object *); /* frees the object once nref reached 0 */
} bt_object;

BT_API bt_object *bt_object_ref(const bt_object *);
/* Accepts NULL. Frees long chains (lists of a million cells) without recursion. */
BT_API void bt_object_unref(const bt_object *);

#define BT_MAX_RANK 32

/* Strides count elements. Data of a tensor made by Baton is aligned to 64 bytes and row
 * major. Elements of a packed type are counted from the lowest bits of `data`. */
typedef struct bt_tensor {
    bt_object base;
    bt_dtype dtype;
    uint32_t rank;
    const int64_t *dims;
    const int64_t *strides; /* never NULL */
    void *data;             /* address of element 0; may be NULL when nelem == 0 */
    int64_t nelem;
    bt_object *owner; /* what keeps the data alive: NULL when the tensor itself does */
} bt_tensor;

typedef struct bt_tuple {
    bt_object base;
    uint32_t nfield;
    bt_object *const *fields;
} bt_tuple;

/* Constructor `tag` of an algebraic data type; tags count from 0 in the order of
 * definition. */
typedef struct bt_adt {
    bt_object base;
    uint32_t tag, nfield;
    const char *name; /* of the constructor, for printing; owned by the object */
    bt_object *const *fields;
} bt_adt;

/* `code` belongs to the executor that made it. */
typedef struct bt_closure {
    bt_object base;
    /* identity of the owner: a closure cannot be called by another one. It is held, so that
     * no later owner has the same; `code` may be gone. */
    const bt_object *executor;
    const void *code;
    uint32_t ncapture;
    bt_object **captures;
} bt_closure;

/* A mutable cell. Cells are the only way to a cycle; a session frees unreachable ones. */
typedef struct bt_heap bt_heap;
typedef struct bt_ref {
    bt_object base;
    bt_object *content;         /* NULL once its heap is gone */
    struct bt_ref *prev, *next; /* of the heap that lists it */
    uint32_t mark;
    bt_heap *heap; /* NULL once that is gone */
} bt_ref;

/* Checked downcasts: NULL if it is something else. */
BT_API const bt_tensor *bt_object_as_tensor(const bt_object *);
BT_API const bt_tuple *bt_object_as_tuple(const bt_object *);
BT_API const bt_adt *bt_object_as_adt(const bt_object *);
BT_API const bt_closure *bt_object_as_closure(const bt_object *);
BT_API bt_ref *bt_object_as_ref(const bt_object *);

/* ---- tensors ---- */

/* A new tensor, zeroed. dims are copied; each >= 0.
 * errors  BT_ERR_ARGUMENT, BT_ERR_LIMIT (limits.bytes), BT_ERR_MEMORY
 * owns  caller unrefs */
BT_API bt_status bt_tensor_create(bt_ctx *, bt_dtype, uint32_t rank, const int64_t *dims,
                                  bt_tensor **out) BT_MUST_USE;
/* The same with elements of any value, for who writes all of them. */
BT_API bt_status bt_tensor_create_raw(bt_ctx *, bt_dtype, uint32_t rank,
                                      const int64_t *dims, bt_tensor **out) BT_MUST_USE;
/* A tensor over the caller's row-major memory, which must outlive it. */
BT_API bt_status bt_tensor_wrap(bt_ctx *, bt_dtype, uint32_t rank, const int64_t *dims,
                                void *data, bt_tensor **out) BT_MUST_USE;
/* A view of `owner`'s data with other dims and strides, starting `offset_nelem` elements
 * in; keeps owner alive. Checked: every element lies within owner. */
BT_API bt_status bt_tensor_view(bt_ctx *, const bt_tensor *owner, uint32_t rank,
                                const int64_t *dims, const int64_t *strides,
                                int64_t offset_nelem, bt_tensor **out) BT_MUST_USE;
/* Row-major, contiguous, aligned to its elements: `tensor` itself with one more reference,
 * or a copy. Views and large tensors of mapped files need not be so. */
BT_API bt_status bt_tensor_dense(bt_ctx *, const bt_tensor *,
                                 bt_tensor **out) BT_MUST_USE;
BT_API int bt_tensor_is_dense(const bt_tensor *);
/* As kernels take it: dense, at a multiple of 64 bytes. */
BT_API bt_status bt_tensor_plain(bt_ctx *, const bt_tensor *,
                                 bt_tensor **out) BT_MUST_USE;
BT_API int bt_tensor_is_plain(const bt_tensor *);
/* Whether a byte may belong to an element of both, by the first and the last ones. */
BT_API int bt_tensor_overlaps(const bt_tensor *, const bt_tensor *);
/* A tensor of rank 0, the value converted as by bt_tensor_set. */
BT_API bt_status bt_tensor_scalar(bt_ctx *, bt_dtype, double value,
                                  bt_tensor **out) BT_MUST_USE;
BT_API bt_status bt_tensor_scalar_int(bt_ctx *, bt_dtype, int64_t value,
                                      bt_tensor **out) BT_MUST_USE;
/* Converts elements as the scalar operator cast does: float to integer truncates,
 * saturates and NaN gives 0; integer to integer wraps; to float rounds once, to nearest
 * even, where what is beyond a float of 8 bits gives its greatest number; to bool is nonzero. */
BT_API bt_status bt_tensor_cast(bt_ctx *, const bt_tensor *, bt_dtype,
                                bt_tensor **out) BT_MUST_USE;
static inline bt_tensor *bt_tensor_ref(const bt_tensor *t)
{
    return (bt_tensor *)(void *)bt_object_ref(&t->base);
}
static inline void bt_tensor_unref(const bt_tensor *t)
{
    bt_object_unref(t ? &t->base : NULL);
}
/* Of its elements, if it is dense. */
BT_API size_t bt_tensor_nbytes(const bt_tensor *);
/* Elements of a type that files do not name, float8_e5m2 or int4, from a tensor that has
 * their bits: of that type, or bytes; of floats of 8 bits in the shape that is there, of a
 * packed type in this one. NULL as *out: it is no such type, or has another size. */
BT_API bt_status bt_tensor_of_bits(bt_ctx *, const bt_tensor *bits, bt_dtype,
                                   uint32_t rank, const int64_t *dims,
                                   bt_tensor **out) BT_MUST_USE;
/* Element by row-major position, whatever the strides. 64-bit integers are exact by the
 * _int form; the _index form is for those that are positions or extents: a uint64 beyond int64
 * is INT64_MAX by it, not a number below 0. */
BT_API double bt_tensor_get(const bt_tensor *, int64_t position);
BT_API int64_t bt_tensor_get_int(const bt_tensor *, int64_t position);
BT_API int64_t bt_tensor_get_index(const bt_tensor *, int64_t position);
BT_API void bt_tensor_set(bt_tensor *, int64_t position, double);
BT_API void bt_tensor_set_int(bt_tensor *, int64_t position, int64_t);

/* Differences of two tensors, for tests and `baton compare`. */
typedef struct bt_tensor_difference {
    int64_t ndifferent; /* elements outside the tolerance, or where only one is NaN */
    int64_t first;      /* row-major position of the first of them, -1 if none */
    double max_absolute, max_relative;
    double max_ulp;        /* floats only */
    double max_to_largest; /* max |a - b| / max |b|, of finite elements */
} bt_tensor_difference;
/* The largest magnitude of its finite elements; 0: it has none. */
BT_API double bt_tensor_largest(const bt_tensor *);
/* errors  BT_ERR_TYPE when dtype or shape differ. |a - b| <= absolute + relative * |b|;
 *         NaN equals NaN. */
BT_API bt_status bt_tensor_compare(bt_ctx *, const bt_tensor *a, const bt_tensor *b,
                                   double relative, double absolute,
                                   bt_tensor_difference *out) BT_MUST_USE;

/* ---- the other values ---- */

/* These take new references to what they are given. */
BT_API bt_status bt_tuple_create(bt_ctx *, uint32_t nfield, bt_object *const *fields,
                                 bt_tuple **out) BT_MUST_USE;
BT_API bt_status bt_adt_create(bt_ctx *, uint32_t tag, const char *name, uint32_t nfield,
                               bt_object *const *fields, bt_adt **out) BT_MUST_USE;
BT_API bt_status bt_closure_create(bt_ctx *, bt_object *executor, const void *code,
                                   uint32_t ncapture, bt_object *const *captures,
                                   bt_closure **out) BT_MUST_USE;

/* Where an executor's references live, used by one thread at a time. collect frees those
 * that are reachable neither from the roots nor from an object that someone still holds.
 * References may outlive the heap: destroy empties those still alive, so that cycles
 * are freed too. */
BT_API bt_heap *bt_heap_create(bt_registry *); /* NULL: no memory */
BT_API void bt_heap_destroy(bt_heap *);        /* accepts NULL */
/* A cell with this content, and another content: both take references. */
BT_API bt_status bt_ref_create(bt_ctx *, bt_heap *, bt_object *content,
                               bt_ref **out) BT_MUST_USE;
BT_API void bt_ref_write(bt_ref *, bt_object *content);
/* Cells alive now; a session collects when this has doubled since the last time. */
BT_API uint64_t bt_heap_nref(const bt_heap *);
BT_API bt_status bt_heap_collect(bt_ctx *, bt_heap *, uint32_t nroot,
                                 bt_object *const *roots) BT_MUST_USE;

/* One line for people: "(1, 2f)", "Cons(1, Nil)", tensors as nested brackets. Cut to
 * `max_nelem` elements of each tensor and as many objects. */
BT_API void bt_object_print(const bt_object *, uint32_t max_nelem, bt_text *out);
/* A tensor's type, as programs write it: "Tensor[(2, 3), float32]", "float32". */
BT_API void bt_tensor_print_type(const bt_tensor *, bt_text *out);

/* ---- files and other libraries ---- */

/* npy 1.0-3.0, little and big endian, C and Fortran order. `place` names the file in
 * messages.
 * errors  BT_ERR_FORMAT, BT_ERR_UNSUPPORTED, BT_ERR_LIMIT */
BT_API bt_status bt_npy_read(bt_ctx *, const char *place, const void *bytes,
                             size_t nbytes, bt_tensor **out) BT_MUST_USE;
/* Appends the file's bytes. bfloat16 has no npy type and is written as V2; nor has a float of
 * 8 bits, which is written as V1 and comes back as uint8. */
BT_API bt_status bt_npy_write(bt_ctx *, const bt_tensor *, bt_text *out) BT_MUST_USE;

/* Members that are stored or deflated. Entries keep the file's order. */
typedef struct bt_npz_entry {
    const char *name; /* without ".npy" */
    bt_tensor *tensor;
} bt_npz_entry;
typedef struct bt_npz {
    uint32_t len;
    bt_npz_entry *at;
} bt_npz;
BT_API bt_status bt_npz_read(bt_ctx *, const char *place, const void *bytes,
                             size_t nbytes, bt_npz **out) BT_MUST_USE;
/* A new one of these entries: copies the names, takes references to the tensors. */
BT_API bt_status bt_npz_create(bt_ctx *, uint32_t len, const bt_npz_entry *,
                               bt_npz **out) BT_MUST_USE;
BT_API bt_status bt_npz_write(bt_ctx *, uint32_t len, const bt_npz_entry *,
                              bt_text *out) BT_MUST_USE;
BT_API void bt_npz_destroy(bt_ctx *, bt_npz *); /* unrefs the tensors; accepts NULL */

/* Files: read whole (at most limits.bytes, and 256 MiB of a pipe or a device, which may
 * have no end), replaced atomically (temporary, fsync, rename; a symbolic link is
 * replaced, not followed; temporary files of writers that were killed are removed); a
 * device or a pipe is written to. Reading "-" reads standard input. Large files are
 * mapped: they must not be changed or shortened while they, or tensors within, are in
 * use. */
typedef struct bt_file {
    const char *path;
    const void *bytes; /* followed by a NUL */
    size_t nbytes;
    uint32_t is_mapped;
} bt_file;
/* errors  BT_ERR_IO, BT_ERR_LIMIT, BT_ERR_CANCELLED */
BT_API bt_status bt_file_read(bt_ctx *, const char *path, bt_file **out) BT_MUST_USE;
BT_API void bt_file_close(bt_ctx *, bt_file *); /* accepts NULL */
/* From now on the context keeps which files it reads, for a program that replaces files: it grows
 * with each. */
BT_API bt_status bt_file_keep_read(bt_ctx *) BT_MUST_USE;
/* Whether it has read, since then, the regular file that is now there, by any of its names, as a
 * model, its weights, or anything else. */
BT_API int bt_file_is_read(bt_ctx *, const char *path);
/* A tensor of the bytes from `offset` on, row major, in the machine's byte order. It lies
 * in the file, not to be written to, and keeps it open; a small one that is not aligned to
 * its elements is a copy, a large one bt_tensor_dense copies when it is needed.
 * errors  BT_ERR_FORMAT: the file ends before; BT_ERR_ARGUMENT, BT_ERR_LIMIT */
BT_API bt_status bt_file_tensor(bt_ctx *, bt_file *, bt_dtype, uint32_t rank,
                                const int64_t *dims, size_t offset,
                                bt_tensor **out) BT_MUST_USE;
/* What was read of a tensor that lies in a mapped file leaves memory until it is read
 * again: for whoever made something else of it. Of any other tensor nothing is forgotten. */
BT_API void bt_tensor_forget(const bt_tensor *);
BT_API bt_status bt_file_write(bt_ctx *, const char *path, const void *bytes,
                               size_t nbytes) BT_MUST_USE;
/* Makes a folder, and those above it, where they are missing. errors  BT_ERR_IO */
BT_API bt_status bt_folder_make(bt_ctx *, const char *path) BT_MUST_USE;
/* Opens `name` inside `folder` only: no "..", no absolute path, no symbolic link on the
 * way, a regular file that has no second name (hard link) elsewhere. */
BT_API bt_status bt_file_read_beneath(bt_ctx *, const char *folder, const char *name,
                                      bt_file **out) BT_MUST_USE;

/* DLPack 1, versioned: `struct DLManagedTensorVersioned` of <dlpack/dlpack.h>, declared
 * here as opaque. From: takes the producer's tensor and calls its deleter when done; on
 * an error the tensor stays the caller's. Memory that is flagged read-only, or not
 * aligned to its elements, is copied. To: the result is flagged read-only, since values
 * are shared.
 * errors  BT_ERR_UNSUPPORTED: other version, device or element type. */
struct DLManagedTensorVersioned;
BT_API bt_status bt_tensor_from_dlpack(bt_ctx *, struct DLManagedTensorVersioned *,
                                       bt_tensor **out) BT_MUST_USE;
BT_API bt_status bt_tensor_to_dlpack(bt_ctx *, const bt_tensor *,
                                     struct DLManagedTensorVersioned **out) BT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
