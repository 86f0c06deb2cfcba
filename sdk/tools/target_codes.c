#include "target_codes.h"

#include <math.h>
#include <string.h>

#include <baton/pass.h>

enum { MAX_STEPS = 4 };

/* The network so far: %qN are codes of int8, %vN what they stand for, and what is computed of
 * these is %pN, then %sN, which ends a step. */
struct net {
    uint64_t seed;
    bt_text text;
    uint32_t n; /* of the value that the next step reads */
    int64_t dims[4];
    double scale;  /* of its codes */
    double factor; /* of scales that are no powers of two, else 1 */
};

static uint32_t pick(struct net *net, uint32_t low, uint32_t high)
{
    return low + (uint32_t)(case_draw(&net->seed) >> 33) % (high - low + 1);
}

/* Often as many as fill blocks of layouts, as images are. */
static int64_t pick_channels(struct net *net)
{
    return pick(net, 0, 1) ? 16 : pick(net, 1, 24);
}

static int64_t product(uint32_t rank, const int64_t *dims)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    return n;
}

static void add_dims(struct net *net, uint32_t rank, const int64_t *dims)
{
    for (uint32_t i = 0; i < rank; i++)
        bt_text_addf(&net->text, "%s%d", i ? ", " : "", (int)dims[i]);
}

/* A constant of codes, and what it stands for: %NAMEn. */
static void add_codes(struct net *net, const char *name, const char *dtype, uint32_t rank,
                      const int64_t *dims, double scale)
{
    bt_text_addf(&net->text, "    %%%s%u = qnn.dequantize(const[(", name, net->n);
    add_dims(net, rank, dims);
    bt_text_addf(&net->text, "), %s]{", dtype);
    for (int64_t i = product(rank, dims); i > 0; i--)
        bt_text_addf(&net->text, "%d%s", (int)pick(net, 0, 254) - 127, i > 1 ? ", " : "");
    bt_text_addf(&net->text, "}, %.9gf, %s);\n", scale, rank == 1 ? "0" : "0i8");
}

/* %sN becomes codes, which are the next value. */
static void end_step(struct net *net, double scale)
{
    const uint32_t n = net->n++;
    bt_text_addf(&net->text, "    %%q%u = qnn.quantize(%%s%u, %.9gf, 0i8);\n", n + 1, n,
                 scale);
    bt_text_addf(&net->text, "    %%v%u = qnn.dequantize(%%q%u, %.9gf, 0i8);\n", n + 1,
                 n + 1, scale);
    net->scale = scale;
}

/* %pN is a sum of so many products for each of `outputs`. */
static void end_layer(struct net *net, int64_t outputs, int64_t nproduct, double weight)
{
    const double scale =
        net->scale * weight * exp2(ceil(log2(40 * sqrt((double)nproduct)))) * net->factor;
    add_codes(
        net, "b", "int32", 1, &outputs,
        (double)((float)net->scale * (float)weight)); // as who compares it computes it
    bt_text_addf(&net->text, "    %%s%u = nn.bias_add(%%p%u, %%b%u, axis=1);\n", net->n,
                 net->n, net->n);
    end_step(net, scale);
}

/* ---- steps ---- */

static double scale_of_weights(struct net *net)
{
    return exp2(-(double)pick(net, 4, 8)) * net->factor;
}

static void add_convolution(struct net *net)
{
    const int64_t window = pick(net, 0, 1) ? 3 : 1;
    const int64_t stride = pick(net, 1, 2);
    const int64_t dims[4] = { pick_channels(net), net->dims[1], window, window };
    const double weight = scale_of_weights(net);
    add_codes(net, "w", "int8", 4, dims, weight);
    bt_text_addf(&net->text,
                 "    %%p%u = nn.conv2d(%%v%u, %%w%u, strides=[%d, %d], padding=[%d]);\n",
                 net->n, net->n, net->n, (int)stride, (int)stride, (int)window / 2);
    net->dims[1] = dims[0];
    for (uint32_t i = 2; i < 4; i++)
        net->dims[i] = (net->dims[i] - 1) / stride + 1;
    end_layer(net, dims[0], product(3, &dims[1]), weight);
}

static void add_pool(struct net *net)
{
    const int64_t window = net->dims[2] > 1 && net->dims[3] > 1 ? 2 : 1;
    bt_text_addf(
        &net->text,
        "    %%s%u = nn.max_pool2d(%%v%u, pool_size=[%d, %d], strides=[1, 1]);\n", net->n,
        net->n, (int)window, (int)window);
    net->dims[2] -= window - 1;
    net->dims[3] -= window - 1;
    end_step(net, net->scale);
}

/* A value and itself; or its positive part. */
static void add_elements(struct net *net)
{
    if (pick(net, 0, 1)) {
        bt_text_addf(&net->text, "    %%s%u = add(%%v%u, %%v%u);\n", net->n, net->n,
                     net->n);
        end_step(net, 2 * net->scale);
    } else {
        bt_text_addf(&net->text, "    %%s%u = nn.relu(%%v%u);\n", net->n, net->n);
        end_step(net, net->scale);
    }
}

static void add_dense(struct net *net)
{
    const int64_t dims[2] = { pick(net, 1, 24), product(3, &net->dims[1]) };
    const double weight = scale_of_weights(net);
    add_codes(net, "w", "int8", 2, dims, weight);
    bt_text_addf(&net->text, "    %%p%u = nn.dense(nn.batch_flatten(%%v%u), %%w%u);\n",
                 net->n, net->n, net->n);
    end_layer(net, dims[0], dims[1], weight);
}

bt_status target_codes_draw(bt_arena *arena, uint64_t seed, struct rule_program *out)
{
    struct net net = { .seed = seed, .scale = 0.0625 };
    *out = (struct rule_program){ .nparam = 1 };
    net.factor = seed % 2 ? 1.1 : 1;
    net.dims[0] = pick(&net, 0, 1) ? 4 : pick(&net, 1, 3);
    net.dims[1] = pick_channels(&net);
    net.dims[2] = pick(&net, 1, 7);
    net.dims[3] = pick(&net, 1, 7);
    out->params[0] = (struct case_leaf){ .dtype = BT_INT8, .rank = 4 };
    memcpy(out->params[0].dims, net.dims, sizeof(net.dims));
    bt_text_init(&net.text, arena);
    bt_text_addf(&net.text, "#[version = \"baton 0.1\"]\n\ndef @main(%%q0: Tensor[(");
    add_dims(&net, 4, net.dims);
    bt_text_addf(&net.text, "), int8]) {\n    %%v0 = qnn.dequantize(%%q0, %.9gf, 0i8);\n",
                 net.scale);
    const uint32_t nstep = pick(&net, 1, MAX_STEPS);
    for (uint32_t i = 0; i < nstep; i++) {
        switch (pick(&net, 0, 4)) {
        case 0: add_pool(&net); break;
        case 1: add_elements(&net); break;
        default: add_convolution(&net); break;
        }
    }
    if (pick(&net, 0, 1))
        add_dense(&net);
    bt_text_addf(&net.text, "    %%q%u\n}\n", net.n);
    out->text = bt_text_get(&net.text);
    return out->text ? NULL : bt_no_memory();
}

bt_status target_codes_read(bt_ctx *ctx, const char *text, const bt_targets *targets,
                            bt_module **out)
{
    const bt_pipeline_options options = { .level = -1, .targets = targets };
    bt_pipeline *pipeline;
    bt_module *typed;
    BT_TRY(rule_program_read(ctx, text, &typed));
    bt_status status = bt_pipeline_read(ctx, "default", &pipeline);
    if (!status) {
        status = bt_pipeline_run(ctx, pipeline, &options, typed, out);
        bt_pipeline_destroy(pipeline);
    }
    bt_module_unref(typed);
    return status;
}
