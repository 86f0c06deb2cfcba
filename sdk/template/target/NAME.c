/*
 * @name@: a target to begin with. It claims dense layers of float32, with bias and relu where they are there, and computes
 * them in plain C; everything else is left to the target behind it in the list, as in --target @name@,cpu.
 *
 *     pass partition   asks for patterns, supports        %y = @@name@_nn_dense_nn_relu(%x, %w);
 *     bt_compile       lower, then compile                code of all layers, as bytes
 *     the executor     load, then launch or enqueue       on the machine that runs it
 */
@own@#include <pthread.h>
#include <string.h>

#include <baton/op.h>
#include <baton/target.h>

/* What the code holds of a layer: y[m, n] = relu(sum(k: x[m, k] * w[n, k]) + b[n]). */
struct layer {
    int64_t m, n, k, has_bias, has_relu;
};

/* ---- what it takes ---- */

/* <baton/pass.h> describes the form; a call with "?" may be absent. Programs come here
 * optimised: a bias is added by add, which pass canonicalize makes of nn.bias_add. */
static const char *const patterns[] = { "nn.relu?(add?(nn.dense(*, *), *))", NULL };

static bt_status refuse(bt_ctx *ctx, const char *why)
{
    return bt_fail(ctx, BT_ERR_UNSUPPORTED, "%s", why);
}

/* A call of `op` on the value before it. */
static const bt_call *next_call(const bt_block *block, uint32_t *at, const char *op)
{
    const bt_call *call = *at < block->nbinding ? bt_as_op_call(block->bindings[*at], op) : NULL;
    if (!call || (*at > 0 && call->args[0] != block->bindings[*at - 1]))
        return NULL;
    ++*at;
    return call;
}

/* A float32 tensor of known size that is a parameter. Its dims are logical: a target that sets reads_layouts finds it in
 * memory by bt_type_layout, of which this one knows none. */
static int is_param(const bt_block *block, uint32_t index, const bt_value *value, uint32_t rank, int64_t *dims)
{
    uint32_t found;
    return index < block->nparam && value == &block->params[index]->base && bt_tensor_dtype(value->type) == BT_FLOAT32 &&
           !bt_type_layout(value->type) && bt_tensor_static(value->type, &found, dims) && found == rank;
}

/* Attributes are read by name, lists as their operators expand them; of an nn.conv2d:
 *     int64_t strides[2], padding[4];
 *     if (!bt_call_ints(conv, "strides", 2, strides) || !bt_call_ints(conv, "padding", 4, padding))
 *         return refuse(ctx, "...");
 * A primitive function's parameters are what stands for * in the pattern: x, w, b. Whatever is not as it should be is refused:
 * also functions that no pattern made come here. */
static bt_status read_layer(bt_ctx *ctx, const bt_func *func, struct layer *out)
{
    const bt_block *block = func->block;
    uint32_t at = 0;
    int64_t x[BT_MAX_RANK], w[BT_MAX_RANK], b[BT_MAX_RANK];
    const bt_call *dense = next_call(block, &at, "nn.dense"), *bias = next_call(block, &at, "add"),
                  *relu = next_call(block, &at, "nn.relu");
    if (!dense || at != block->nbinding || block->result != block->bindings[at - 1])
        return refuse(ctx, "it takes a dense layer, with bias and relu where they are there");
    if (!is_param(block, 0, dense->args[0], 2, x) || !is_param(block, 1, dense->args[1], 2, w))
        return refuse(ctx, "data and weight must be two float32 matrices");
    *out = (struct layer){ .m = x[0], .n = w[0], .k = x[1], .has_bias = bias != NULL, .has_relu = relu != NULL };
    if (bias && (!is_param(block, 2, bias->args[1], 1, b) || b[0] != out->n || bias->base.type != dense->base.type))
        return refuse(ctx, "the bias must be a float32 vector, a number for each row of weight");
    return bt_tensor_dtype(func->result) == BT_FLOAT32 && !bt_type_layout(func->result)
               ? NULL
               : refuse(ctx, "it computes float32 only, row major");
}

static bt_status supports(bt_ctx *ctx, void *self, const bt_func *func)
{
    struct layer layer;
    (void)self;
    return read_layer(ctx, func, &layer);
}

/* ---- kernels and their code ---- */

/* One kernel for each function: it reads all inputs and writes the output. */
static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *func, bt_lowering *out)
{
    static const bt_kernel_buffer in[] = { { BT_BUFFER_INPUT, 0 }, { BT_BUFFER_INPUT, 1 }, { BT_BUFFER_INPUT, 2 } },
                                  result[] = { { BT_BUFFER_OUTPUT, 0 } };
    struct layer *layer = BT_NEW(arena, struct layer);
    bt_kernel *kernel = bt_lowering_add(out, arena);
    (void)self;
    if (!layer || !kernel)
        return bt_no_memory();
    BT_TRY(read_layer(ctx, func, layer));
    *kernel = (bt_kernel){ .nin = layer->has_bias ? 3 : 2, .in = in, .nout = 1, .out = result, .content = layer };
    return NULL;
}

/* The code of each kernel as bytes, which load gets back. */
static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form, uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    (void)ctx, (void)self, (void)form;
    for (uint32_t i = 0; i < n; i++) {
        struct layer *layer = BT_NEW(arena, struct layer); /* what lower made goes before the code does */
        if (!layer)
            return bt_no_memory();
        *layer = *(const struct layer *)kernels[i]->content;
        *out[i] = (bt_kernel_code){ .form = BT_CODE_BYTES, .at = layer, .nbytes = sizeof(*layer) };
    }
    return NULL;
}

/* ---- running ---- */

struct loaded {
    bt_registry *registry;
    size_t nbytes;
    struct layer layers[];
};

/* The bytes may come from a file. */
static bt_status load(bt_ctx *ctx, void *self, uint32_t n, const bt_kernel_code *const *codes, void **out)
{
    size_t room = sizeof(struct loaded) + n * sizeof(struct layer);
    (void)self;
    for (uint32_t i = 0; i < n; i++)
        if (codes[i]->nbytes != sizeof(struct layer))
            return bt_fail(ctx, BT_ERR_FORMAT, "@name@: the code of kernel %u has another size than a layer", i);
    struct loaded *l = bt_alloc(bt_ctx_registry(ctx), room);
    if (!l)
        return bt_no_memory();
    *l = (struct loaded){ bt_ctx_registry(ctx), room };
    for (uint32_t i = 0; i < n; i++)
        memcpy(&l->layers[i], codes[i]->at, sizeof(struct layer));
    *out = l;
    return NULL;
}

static void unload(void *loaded)
{
    struct loaded *l = loaded;
    bt_free(l->registry, l, l->nbytes);
}

/* 0: it was asked to stop. What the device computes; buffers are x, w, b where there is a bias, y. */
static int compute(const struct layer *d, void *const *buffers, const uint32_t *stop)
{
    const float *x = buffers[0], *w = buffers[1], *b = d->has_bias ? buffers[2] : NULL;
    float *y = buffers[d->has_bias ? 3 : 2];
    for (int64_t i = 0; i < d->m; i++) {
        if (stop && *(const volatile uint32_t *)stop)
            return 0;
        for (int64_t j = 0; j < d->n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < d->k; k++)
                sum += (double)x[i * d->k + k] * (double)w[j * d->k + k];
            float value = (float)sum + (b ? b[j] : 0);
            y[i * d->n + j] = d->has_relu && value < 0 ? 0 : value;
        }
    }
    return 1;
}

@host@/* Called from several threads at once: a launch keeps nothing. A device with queues has open_queue, enqueue and wait in its
@host@ * place, as `baton plugin new target --memory own` writes them; one for open dims sets takes_dims, as examples/targets/device.c. */
@host@static bt_status launch(bt_ctx *ctx, void *loaded, uint32_t kernel, const bt_kernel_call *call)
@host@{
@host@    const struct loaded *l = loaded;
@host@    return compute(&l->layers[kernel], call->buffers, call->stop) ? NULL : bt_fail(ctx, BT_ERR_CANCELLED, "cancelled");
@host@}
@host@
@own@/* ---- memory of its own ---- */
@own@
@own@/* What a driver gives for memory of the device: a handle, of which only copies and kernels know where its bytes are. Here they
@own@ * are the host's after all. Both are called from several threads at once. */
@own@struct block {
@own@    bt_registry *registry;
@own@    size_t nbytes;
@own@    char bytes[];
@own@};
@own@
@own@static bt_status alloc_block(bt_ctx *ctx, void *self, uint64_t nbytes, void **out)
@own@{
@own@    const size_t room = sizeof(struct block) + (size_t)nbytes;
@own@    struct block *block = room > nbytes ? bt_alloc(bt_ctx_registry(ctx), room) : NULL; /* else it has wrapped */
@own@    (void)self;
@own@    if (!block)
@own@        return bt_no_memory();
@own@    *block = (struct block){ .registry = bt_ctx_registry(ctx), .nbytes = room };
@own@    *out = block;
@own@    return NULL;
@own@}
@own@
@own@static void free_block(void *self, void *opaque)
@own@{
@own@    struct block *block = opaque;
@own@    (void)self;
@own@    bt_free(block->registry, block, block->nbytes);
@own@}
@own@
@own@/* One side of a copy is an address of the host's memory, or both are blocks. */
@own@static char *side(const bt_buffer *b)
@own@{
@own@    return b->is_own ? ((struct block *)b->block)->bytes + b->offset : (char *)b->block + b->offset;
@own@}
@own@
@own@/* ---- a queue: a thread that does one command after the other, as a driver's would ---- */
@own@
@own@struct command {
@own@    struct command *next;
@own@    const struct layer *layer; /* NULL: a copy from buffers[0] to buffers[1] */
@own@    char *buffers[4];
@own@    size_t nbytes;
@own@    const uint32_t *stop;
@own@    bt_order order;    /* its queue and times; what it waits for may go when the call has returned: */
@own@    bt_event waits[8]; /* ... these stay */
@own@};
@own@
@own@struct queue {
@own@    bt_registry *registry;
@own@    pthread_t thread;
@own@    pthread_mutex_t lock;
@own@    pthread_cond_t moved;
@own@    struct command *first, **last;
@own@    uint64_t given, done, failed; /* values: a command's is how many there were with it; failed 0: none has */
@own@    int is_closing;
@own@};
@own@
@own@/* Waits until the counter has reached the value; the first value that failed, 0: none up to there. */
@own@static uint64_t reach(struct queue *q, uint64_t value)
@own@{
@own@    pthread_mutex_lock(&q->lock);
@own@    while (q->done < value)
@own@        pthread_cond_wait(&q->moved, &q->lock);
@own@    const uint64_t failed = q->failed <= value ? q->failed : 0;
@own@    pthread_mutex_unlock(&q->lock);
@own@    return failed;
@own@}
@own@
@own@/* 0: it fails, as the command before it or one that it waits for has. */
@own@static int run(struct queue *q, const struct command *c)
@own@{
@own@    int ok = !q->failed;
@own@    for (uint32_t i = 0; i < c->order.nwait; i++)
@own@        ok = reach((struct queue *)c->waits[i].queue, c->waits[i].value) == 0 && ok;
@own@    const uint64_t begin = bt_now_ns();
@own@    if (ok && !c->layer)
@own@        memmove(c->buffers[1], c->buffers[0], c->nbytes);
@own@    ok = ok && (!c->layer || compute(c->layer, (void *const *)c->buffers, c->stop));
@own@    if (c->order.times)
@own@        *c->order.times = (bt_times){ begin, bt_now_ns() };
@own@    return ok;
@own@}
@own@
@own@static void *work(void *self)
@own@{
@own@    struct queue *q = (struct queue *)self;
@own@    pthread_mutex_lock(&q->lock);
@own@    for (;;) {
@own@        while (!q->first && !q->is_closing)
@own@            pthread_cond_wait(&q->moved, &q->lock);
@own@        struct command *c = q->first;
@own@        if (!c)
@own@            break;
@own@        pthread_mutex_unlock(&q->lock);
@own@        const int ok = run(q, c);
@own@        pthread_mutex_lock(&q->lock);
@own@        q->done++;
@own@        q->failed = q->failed || ok ? q->failed : q->done;
@own@        q->first = c->next;
@own@        q->last = q->first ? q->last : &q->first;
@own@        bt_free(q->registry, c, sizeof(*c));
@own@        pthread_cond_broadcast(&q->moved);
@own@    }
@own@    pthread_mutex_unlock(&q->lock);
@own@    return NULL;
@own@}
@own@
@own@static bt_status open_queue(bt_ctx *ctx, void *self, void **out)
@own@{
@own@    struct queue *q = bt_alloc(bt_ctx_registry(ctx), sizeof(*q));
@own@    (void)self;
@own@    if (!q)
@own@        return bt_no_memory();
@own@    *q = (struct queue){ .registry = bt_ctx_registry(ctx), .last = &q->first };
@own@    pthread_mutex_init(&q->lock, NULL);
@own@    pthread_cond_init(&q->moved, NULL);
@own@    *out = q;
@own@    if (!pthread_create(&q->thread, NULL, work, q))
@own@        return NULL;
@own@    pthread_cond_destroy(&q->moved);
@own@    pthread_mutex_destroy(&q->lock);
@own@    bt_free(q->registry, q, sizeof(*q));
@own@    return bt_fail(ctx, BT_ERR_RUNTIME, "@name@: no thread for a queue");
@own@}
@own@
@own@/* All of its commands are done, or it has failed. */
@own@static void close_queue(void *opaque)
@own@{
@own@    struct queue *q = opaque;
@own@    pthread_mutex_lock(&q->lock);
@own@    q->is_closing = 1;
@own@    pthread_cond_broadcast(&q->moved);
@own@    pthread_mutex_unlock(&q->lock);
@own@    pthread_join(q->thread, NULL);
@own@    pthread_cond_destroy(&q->moved);
@own@    pthread_mutex_destroy(&q->lock);
@own@    bt_free(q->registry, q, sizeof(*q));
@own@}
@own@
@own@static bt_status put(bt_ctx *ctx, const struct command *what, uint64_t *value)
@own@{
@own@    struct queue *q = what->order.queue;
@own@    if (what->order.nwait > BT_COUNT(what->waits))
@own@        return bt_fail(ctx, BT_ERR_LIMIT, "@name@: a command waits for %u events", what->order.nwait);
@own@    struct command *c = bt_alloc(q->registry, sizeof(*c));
@own@    if (!c)
@own@        return bt_no_memory();
@own@    *c = *what;
@own@    for (uint32_t i = 0; i < c->order.nwait; i++)
@own@        c->waits[i] = c->order.waits[i];
@own@    pthread_mutex_lock(&q->lock);
@own@    *value = ++q->given;
@own@    *q->last = c;
@own@    q->last = &c->next;
@own@    pthread_cond_broadcast(&q->moved);
@own@    pthread_mutex_unlock(&q->lock);
@own@    return NULL;
@own@}
@own@
@own@static bt_status enqueue(bt_ctx *ctx, void *loaded, uint32_t kernel, const bt_kernel_call *call, const bt_order *order,
@own@                         uint64_t *value)
@own@{
@own@    struct command c = { .layer = &((struct loaded *)loaded)->layers[kernel], .stop = call->stop, .order = *order };
@own@    for (uint32_t i = 0; i < call->nbuffer; i++)
@own@        c.buffers[i] = ((struct block *)call->buffers[i])->bytes + (call->offsets ? call->offsets[i] : 0);
@own@    return put(ctx, &c, value);
@own@}
@own@
@own@static bt_status enqueue_copy(bt_ctx *ctx, void *self, const bt_buffer *to, const bt_buffer *from, const bt_order *order,
@own@                              uint64_t *value)
@own@{
@own@    const struct command c = { .buffers = { side(from), side(to) }, .nbytes = to->nbytes, .order = *order };
@own@    (void)self;
@own@    return put(ctx, &c, value);
@own@}
@own@
@own@static bt_status wait_for(bt_ctx *ctx, void *queue, uint64_t value, uint64_t *failed)
@own@{
@own@    const uint64_t first = reach(queue, value);
@own@    *failed = first ? first : *failed;
@own@    return first ? bt_fail(ctx, bt_ctx_cancelled(ctx) ? BT_ERR_CANCELLED : BT_ERR_RUNTIME, "a command has failed") : NULL;
@own@}
@own@
/* State, what options said or a handle of a device, comes from .open, and goes by .close. */
static const bt_target targets[] = {
    {
        .name = "@name@",
        .doc = "Dense layers in plain C.",
        .supports = supports,
        .lower = lower,
        .compile = compile,
        .load = load,
        .unload = unload,
@host@        .launch = launch,
        .patterns = patterns,
@own@        .alloc = alloc_block,
@own@        .free = free_block,
@own@        .open_queue = open_queue,
@own@        .close_queue = close_queue,
@own@        .enqueue = enqueue,
@own@        .enqueue_copy = enqueue_copy,
@own@        .wait = wait_for,
@own@        .tells_times = 1,
    },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_TARGETS(targets), { 0 } };
