/* The files of a program. */
#ifndef AOT_WRITE_H
#define AOT_WRITE_H

#include "plan.h"

enum { WEIGHTS_C, WEIGHTS_FILE };

struct output {
    struct plan *plan;
    const char *folder;
    uint32_t weights;        /* WEIGHTS_C or _FILE */
    uint64_t weights_nbytes; /* of the file, or of all arrays */
    const uint64_t *offsets; /* of each constant in the file */
    const char **symbols;    /* ... what its function is called in the program */
    uint32_t nfault;
    const char *library; /* the target whose static library kernels call; NULL: none */
    const char *machine; /* ... what their code needs of a machine; "": not stated */
    bt_map files;        /* by path, their bytes: bt_text * */
    uint32_t is_shared;  /* NAME.so is made of them */
    const char *older;   /* of the program before: its list of files, and what follows */
};

/* Numbers of faults of the entry: those of its kernels come last. Of one with branches,
 * FAULT_CHECK is the first of RUNTIME_FAULTS that runtime.h knows, and those of its code and
 * of its kernels come last. */
enum { FAULT_WORKSPACE = 1, FAULT_SIZE, FAULT_CHECK };
enum { RUNTIME_FAULTS = 5 };

/* NAME.h (write_header.c) */
bt_status write_header(struct output *) BT_MUST_USE;
/* Whether the entry has dims; its parameters of them; the head of its function. */
int is_open(const struct output *);
/* Bytes of the workspace that are enough for any dims; 0: they are no number. */
int find_workspace(const struct plan *, uint64_t *out);
void add_dim_params(const struct output *, bt_text *out);
void call_workspace(const struct plan *, bt_text *out);
void add_prototype(const struct output *, bt_text *out);
/* NAME.c (write_program.c); what the entry's dims must be: `refused`, or NULL for a fault of
 * each, is what it returns else. */
bt_status write_program(struct output *) BT_MUST_USE;
bt_status add_ranges(struct output *, const char *refused, bt_text *out) BT_MUST_USE;
/* The functions of a program with branches (write_code.c), and constants of theirs. */
bt_status write_code(struct output *, bt_text *out) BT_MUST_USE;
bt_status code_constants(struct plan *) BT_MUST_USE;
/* How much memory is enough for every run of one (bound.c); NAME_workspace, which tells it
 * by dims of the entry, and whether there is one (write_bound.c). */
bt_status find_bound(struct output *) BT_MUST_USE;
bt_status write_bound(struct output *, bt_text *out) BT_MUST_USE;
int has_workspace(const struct plan *);
/* Of an entry on values (write_values.c): what the header tells of its types and
 * functions; their text; an example. */
bt_status values_declare(struct output *, bt_text *out) BT_MUST_USE;
bt_status values_define(struct output *, bt_text *out) BT_MUST_USE;
void values_names(const struct plan *, bt_text *out);
/* Whether an argument is an array all the same. */
int values_is_array(const struct plan *, const struct leaf *);
/* Of the example: the call, and its result. */
bt_status values_call(struct output *, bt_text *out) BT_MUST_USE;
bt_status values_print(struct output *, bt_text *out) BT_MUST_USE;
/* "printf(\" %.9g\", (double)": how an element is printed. */
const char *example_print(bt_dtype);
/* Parts of runtime.h and of values.h, which the build makes of them; NULL behind the
 * last. */
extern const char *const runtime_blocks[], *const value_blocks[];
/* NAME_kernels_N.c, baton/kernel.h, baton/plain.h (write_kernels.c) */
bt_status write_kernels(struct output *) BT_MUST_USE;
/* libbaton_TARGET.a, where kernels need it (write_native.c), which native_check finds out */
bt_status write_native(struct output *) BT_MUST_USE;
bt_status native_check(struct output *, uint32_t kernel) BT_MUST_USE;
/* NAME_data.c: constants; or NAME.weights, and the digest of it there (write_data.c) */
bt_status write_data(struct output *) BT_MUST_USE;
/* CMakeLists.txt, main.c (write_example.c); whether the example has aot_is_taken: 0 where
 * the run refuses the dims, which no memory is taken for. */
bt_status write_example(struct output *) BT_MUST_USE;
int may_refuse(const struct plan *);

/* The program that the folder had before (write_older.c): its list of files.
 * remove_older: those that the new one has not. list_files: the head of CMakeLists.txt.
 * is_users: whether main.c is not as it was written.
 * errors BT_ERR_IO: CMakeLists.txt is of something else */
bt_status read_older(struct output *) BT_MUST_USE;
bt_status remove_older(struct output *) BT_MUST_USE;
void list_files(const struct output *, const char *example, bt_text *out);
bt_status is_users(struct output *, const char *example, int *out) BT_MUST_USE;

/* NAME.so (write_shared.c) */
bt_status write_shared(struct output *) BT_MUST_USE;

/* Faults of a launch of a kernel, behind the place of it; the number before the first
 * (write_faults.c). */
bt_status add_kernel_faults(struct output *, uint32_t kernel, bt_span,
                            uint32_t *before) BT_MUST_USE;
/* A file of the folder, whose name is a format; all of them are written, and those of the
 * program before removed, at the end (write_files.c). */
bt_status add_file(struct output *, const bt_text *, const char *format, ...)
    BT_PRINTF(3, 4) BT_MUST_USE;
bt_status write_files(struct output *) BT_MUST_USE;
/* The number of a fault with this text, which stands behind its place in the source. */
bt_status output_fault(struct output *, bt_span, const char *text,
                       uint32_t *number) BT_MUST_USE;
/* Of the array of a constant: its own, or of words that have the same bits. */
const char *constant_type(const bt_tensor *);
/* How many parts the code of the kernels has, each a file, and which one kernel i is in. */
uint32_t count_pieces(const struct output *);
uint32_t piece_of(const struct output *, uint32_t kernel);

#endif
