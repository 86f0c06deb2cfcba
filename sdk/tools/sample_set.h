/*
 * Samples of a program's inputs in a folder, in order of the files' names:
 *     NAME.npy     of a program with one input: one sample, or several along the first axis
 *     NAME.npz     one of each input by its name, likewise
 *     other files  IDX, as MNIST has it, of a program with one input
 * Files are read when a sample of them is asked for, and kept until one of another is.
 */
#ifndef SAMPLE_SET_H
#define SAMPLE_SET_H

#include "tool.h"

struct sample_set;

/* Looks at all files. `factor`: numbers are multiplied by it.
 * errors  BT_ERR_IO; BT_ERR_FORMAT: a file is none of these; BT_ERR_ARGUMENT: it does not
 *         fit the inputs, or there is none */
bt_status sample_set_open(bt_ctx *, const char *folder, const bt_program *, double factor,
                          struct sample_set **out) BT_MUST_USE;
void sample_set_close(struct sample_set *); /* accepts NULL */
int64_t sample_set_len(const struct sample_set *);
/* Sets all inputs to sample `index`. */
bt_status sample_set_give(struct sample_set *, int64_t index, bt_program *) BT_MUST_USE;

/* One file by itself: .npy, or IDX. */
bt_status sample_array_read(bt_ctx *, const char *path, bt_tensor **out) BT_MUST_USE;
/* "float32[2, 3]", for messages. */
const char *type_text(bt_arena *, const bt_tensor *);

#endif
