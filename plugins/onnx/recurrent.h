/* One step of a recurrent layer: what RNN, GRU and LSTM make of a state. */
#ifndef ONNX_RECURRENT_H
#define ONNX_RECURRENT_H

#include "arith.h"

enum cell_kind { CELL_RNN, CELL_GRU, CELL_LSTM };

/* An activation function by its name in ONNX, with its numbers. */
struct activation {
    const char *name;
    double alpha, beta;
};

/* A layer in one direction; g gates, h hidden elements. */
struct cell {
    enum cell_kind kind;
    int64_t hidden;
    const bt_value *input;      /* [g*h, x], weighs the data of a step */
    const bt_value *input_bias; /* [g*h], of that; NULL: none */
    const bt_value *recurrent;  /* [g*h, h] */
    const bt_value *bias;       /* [g*h], of the recurrent part; NULL: none is left */
    const bt_value *peephole;   /* [3*h], of input, output and forget gate; NULL: none */
    struct activation functions[3];
    double clip;             /* bounds what goes into activations; 0: nothing does */
    int couples;             /* LSTM: the forget gate is what the input gate leaves */
    int linear_before_reset; /* GRU: the reset gate follows the product with `recurrent` */
};

/* How many gates lie one after the other in the weights. */
uint32_t cell_gates(enum cell_kind);
/* States are [b, h]: h, and of LSTM c. x: the step's data, [b, x]. */
void cell_step(bt_onnx_node *, const struct cell *, const bt_value *x,
               const bt_value *const *states, const bt_value **next);
/* Whether the function takes alpha, beta, and what they are where nothing is stated. The
 * node fails for a name that is not known. */
void activation_defaults(bt_onnx_node *, struct activation *, int *takes_alpha,
                         int *takes_beta);

#endif
