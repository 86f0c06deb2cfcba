/* What the operator nn.batch_norm_training and its adjoint share. */
#ifndef OPS_NN_NORM_TRAINING_ADJOINT_H
#define OPS_NN_NORM_TRAINING_ADJOINT_H

#include <baton/op.h>

struct norm_training_attrs {
    int64_t axis;
    double epsilon;
    int64_t center, scale;
    double momentum;
    int64_t unbiased;
};

extern const bt_gradient_facet norm_training_gradient;

#endif
