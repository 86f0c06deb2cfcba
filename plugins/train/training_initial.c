/* Values that parameters begin with, and the order of samples: what a seed decides. */
#include "training.h"

#include <math.h>
#include <string.h>

#include <baton/op.h>

/* Mixes all bits (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t bits_of(uint64_t seed, uint64_t stream, uint64_t index)
{
    return mix(mix(mix(seed) ^ stream) ^ index);
}

static double uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (double)(bits_of(seed, stream, index) >> 11) * 0x1p-53;
}

/* Fisher and Yates. */
void initial_order(uint64_t seed, int64_t epoch, int64_t n, int64_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        const uint64_t bits = bits_of(seed, ~(uint64_t)epoch, (uint64_t)i);
        const int64_t k = (int64_t)(bits % (uint64_t)(i + 1)), kept = out[i];
        out[i] = out[k];
        out[k] = kept;
    }
}

/* Whether it multiplies what a norm gives: such a factor begins as 1. */
static int is_factor(const struct bt_training *t, uint32_t param)
{
    const bt_block *block = bt_module_find(t->model, "train.model")->func->block;
    const bt_value *value = &block->params[t->ninput + param]->base;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        for (uint32_t k = 0; call && call->op && k < call->narg; k++) {
            if (call->args[k] == value && call->op->inputs &&
                strcmp(call->op->inputs[k].name, "gamma") == 0)
                return 1;
        }
    }
    return 0;
}

/* Uniform, with the variance that keeps what a relu passes on as large as what it gets (He et
 * al. 2015); a tensor with one axis, which is added or multiplies, as if it were not there. */
void initial_value(const struct bt_training *t, uint32_t param, bt_tensor *out)
{
    float *at = out->data;
    int64_t nin = 1;
    for (uint32_t i = 1; i < out->rank; i++)
        nin *= out->dims[i];
    const double most = sqrt(6.0 / (double)(nin > 0 ? nin : 1));
    const float start = out->rank < 2 && is_factor(t, param) ? 1 : 0;
    for (int64_t i = 0; i < out->nelem; i++) {
        const double u = uniform(t->options.seed, param, (uint64_t)i);
        at[i] = out->rank < 2 ? start : (float)((2 * u - 1) * most);
    }
}
