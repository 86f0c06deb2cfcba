/* NAME_kernels_N.c and the headers that they include. */
#include "write.h"

#include <inttypes.h>
#include <string.h>

#include <baton/compiler.h>

static int same_piece(const struct output *o, uint32_t a, uint32_t b)
{
    const bt_kernel_code *x = o->plan->compiled->codes[a],
                         *y = o->plan->compiled->codes[b];
    return x->at == y->at && x->nbytes == y->nbytes;
}

/* Of the kernels before it. */
static uint32_t first_of_piece(const struct output *o, uint32_t kernel)
{
    uint32_t first = 0;
    while (!same_piece(o, first, kernel))
        first++;
    return first;
}

uint32_t piece_of(const struct output *o, uint32_t kernel)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < first_of_piece(o, kernel); i++)
        n += first_of_piece(o, i) == i;
    return n;
}

uint32_t count_pieces(const struct output *o)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->plan->compiled->nkernel; i++)
        n += first_of_piece(o, i) == i;
    return n;
}

/* The target's text, with names of functions that no other program of the same process
 * has. */
static bt_status write_piece(struct output *o, uint32_t kernel)
{
    const bt_compiled *c = o->plan->compiled;
    bt_text text;
    bt_text_init(&text, o->plan->arena);
    for (uint32_t i = 0; i < c->nkernel; i++) {
        if (same_piece(o, i, kernel))
            bt_text_addf(&text, "#define %s %s\n", c->codes[i]->symbol, o->symbols[i]);
    }
    bt_text_add(&text, c->codes[kernel]->at, c->codes[kernel]->nbytes);
    return add_file(o, &text, "%s_kernels_%" PRIu32 ".c", o->plan->name,
                    piece_of(o, kernel));
}

/* A header of the kernel that generated C includes. */
static bt_status copy_header(struct output *o, const char *name)
{
    const char *path;
    bt_text from;
    bt_file *file;
    bt_text text;
    bt_text_init(&from, o->plan->arena);
    bt_text_addf(&from, "include/%s", name);
    if (!bt_text_get(&from))
        return bt_no_memory();
    BT_TRY(bt_library_file(o->plan->ctx, o->plan->arena, from.at, &path));
    BT_TRY(bt_file_read(o->plan->ctx, path, &file));
    bt_text_init(&text, o->plan->arena);
    bt_text_add(&text, file->bytes, file->nbytes);
    bt_file_close(o->plan->ctx, file);
    return add_file(o, &text, "%s", name);
}

bt_status write_kernels(struct output *o)
{
    for (uint32_t i = 0; i < o->plan->compiled->nkernel; i++) {
        if (first_of_piece(o, i) == i)
            BT_TRY(write_piece(o, i));
    }
    BT_TRY(copy_header(o, "baton/kernel.h"));
    return copy_header(o, "baton/plain.h");
}
