/* Loops, which the program IR has as functions that call themselves: what Loop, Scan and
 * recurrent layers share. */
#ifndef ONNX_LOOP_H
#define ONNX_LOOP_H

#include "arith.h"

/* What one iteration gives. The arrays have room. */
struct step {
    const bt_value *condition; /* whether to go on; NULL: yes */
    const bt_value **states;
    const bt_value **rows; /* an element of each collected sequence */
};

struct loop {
    const bt_value *trips; /* how many iterations at most, int64[]; NULL: any number */
    const bt_value *condition; /* whether to begin, bool[]; NULL: yes */
    uint32_t nstate, nrow;
    const bt_value *const *states; /* at the begin */
    const uint8_t *prepends;       /* per sequence: each row goes before; NULL: after */
    /* Converts the body once, for iteration `i`, into the innermost open block. */
    void (*body)(bt_onnx_node *, void *self, const bt_value *i,
                 const bt_value *const *states, struct step *out);
    void *self;
};

/* The states at the end, then the sequences, rows along axis 0. */
void emit_loop(bt_onnx_node *, const struct loop *, const bt_value **states,
               const bt_value **sequences);

#endif
