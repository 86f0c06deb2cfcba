#include "code.h"

#include <string.h>

#define HEAD "baton opencl 1 "
enum {
    DIGEST_NCHAR = 64,
    HEAD_NBYTES = sizeof(HEAD) - 1 + DIGEST_NCHAR + 1,
    MAX_LAUNCHES = 4096,
    MAX_ARGS = 512,
    MAX_FAULTS = 4096,
    MAX_BUFFERS = 4096,
    MAX_DIMS = 4096,
    MAX_LOCAL = 1 << 16
};

/* ---- writing ---- */

static void put_u32(bt_text *out, uint32_t value)
{
    char bytes[4];
    for (uint32_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(uint8_t)(value >> (8 * i));
    bt_text_add(out, bytes, sizeof(bytes));
}

static void put_i64(bt_text *out, int64_t value)
{
    put_u32(out, (uint32_t)(uint64_t)value);
    put_u32(out, (uint32_t)((uint64_t)value >> 32));
}

static void put_text(bt_text *out, const char *text)
{
    const size_t nbytes = text ? strlen(text) + 1 : 0;
    put_u32(out, (uint32_t)nbytes);
    if (text)
        bt_text_add(out, text, nbytes);
}

static void put_number(bt_text *out, const ocl_number *number)
{
    put_u32(out, number->n);
    for (uint32_t i = 0; i < number->n; i++) {
        put_u32(out, number->steps[i].kind);
        put_u32(out, number->steps[i].which);
        put_i64(out, number->steps[i].value);
    }
}

/* The numbers of a product, in their order. */
enum { PRODUCT_NUMBERS = 13 };
static void product_numbers(const ocl_product *p, int64_t out[PRODUCT_NUMBERS])
{
    const int64_t numbers[PRODUCT_NUMBERS] = { p->batch,
                                               p->m,
                                               p->n,
                                               p->k,
                                               p->a.is_transposed,
                                               p->a.row,
                                               p->a.matrix,
                                               p->b.is_transposed,
                                               p->b.row,
                                               p->b.matrix,
                                               p->c.is_transposed,
                                               p->c.row,
                                               p->c.matrix };
    memcpy(out, numbers, sizeof(numbers));
}

static void put_product(bt_text *out, const ocl_product *product)
{
    int64_t numbers[PRODUCT_NUMBERS];
    put_u32(out, product != NULL);
    if (!product)
        return;
    product_numbers(product, numbers);
    for (uint32_t i = 0; i < PRODUCT_NUMBERS; i++)
        put_i64(out, numbers[i]);
}

static void put_launch(bt_text *out, const ocl_launch *launch)
{
    put_text(out, launch->text);
    put_product(out, launch->product);
    put_u32(out, launch->narg);
    for (uint32_t i = 0; i < launch->narg; i++) {
        put_u32(out, launch->args[i].kind);
        put_u32(out, launch->args[i].index);
        put_number(out, &launch->args[i].number);
    }
    for (uint32_t i = 0; i < 3; i++)
        put_u32(out, launch->local[i]);
    for (uint32_t i = 0; i < 3; i++)
        put_number(out, &launch->groups[i]);
    put_u32(out, launch->local_nbytes);
}

static void put_code(bt_text *out, const struct ocl_code *code)
{
    const ocl_program *p = &code->program;
    put_text(out, code->name);
    put_u32(out, code->ndim);
    put_u32(out, code->nbuffer);
    put_u32(out, p->nfault);
    for (uint32_t i = 0; i < p->nfault; i++) {
        put_text(out, p->faults[i].text);
        put_text(out, p->faults[i].array);
        put_u32(out, p->faults[i].axis);
        put_i64(out, p->faults[i].extent);
    }
    put_u32(out, p->nlaunch);
    for (uint32_t i = 0; i < p->nlaunch; i++)
        put_launch(out, &p->launches[i]);
}

bt_status ocl_code_write(bt_ctx *ctx, bt_arena *arena, const struct ocl_code *code,
                         bt_kernel_code *out)
{
    char digest[DIGEST_NCHAR + 1];
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "%s%*s\n", HEAD, DIGEST_NCHAR, "");
    put_code(&text, code);
    if (!bt_text_get(&text))
        return bt_no_memory();
    bt_digest(text.at + HEAD_NBYTES, text.len - HEAD_NBYTES, digest);
    memcpy(text.at + strlen(HEAD), digest, DIGEST_NCHAR);
    struct ocl_code again; // what cannot be read is not written
    BT_TRY(ocl_code_read(ctx, arena, text.at, text.len, &again));
    *out = (bt_kernel_code){ .form = BT_CODE_BYTES, .at = text.at, .nbytes = text.len };
    return NULL;
}

/* ---- reading ---- */

struct reader {
    bt_arena *arena;
    const unsigned char *at, *end;
    uint32_t ndim, nbuffer, nfault;
    const char *fault; /* the first */
};

static void refuse(struct reader *r, const char *fault)
{
    r->fault = r->fault ? r->fault : fault;
    r->at = r->end;
}

static uint32_t get_u32(struct reader *r)
{
    uint32_t value = 0;
    if (r->end - r->at < 4) {
        refuse(r, "it ends too early");
        return 0;
    }
    for (uint32_t i = 0; i < 4; i++)
        value |= (uint32_t)*r->at++ << (8 * i);
    return value;
}

static int64_t get_i64(struct reader *r)
{
    const uint64_t low = get_u32(r);
    return (int64_t)(low | (uint64_t)get_u32(r) << 32);
}

/* A number of things, each of some bytes at least. */
static uint32_t get_count(struct reader *r, uint32_t most, uint32_t nbytes,
                          const char *fault)
{
    const uint32_t n = get_u32(r);
    if (n <= most && n <= (size_t)(r->end - r->at) / nbytes)
        return n;
    refuse(r, fault);
    return 0;
}

static const char *get_text(struct reader *r)
{
    const uint32_t n = get_u32(r);
    const char *text = (const char *)r->at;
    if (n == 0)
        return NULL;
    if (n > (size_t)(r->end - r->at) || memchr(text, 0, n) != text + n - 1) {
        refuse(r, "a text has no end");
        return NULL;
    }
    r->at += n;
    return text;
}

static ocl_number get_number(struct reader *r)
{
    ocl_number number = { get_count(r, OCL_MAX_STEPS, 16, "a number has too many steps"),
                          NULL };
    ocl_step *steps = BT_NEWS(r->arena, ocl_step, number.n);
    number.steps = steps;
    for (uint32_t i = 0; steps && i < number.n; i++) {
        steps[i].kind = get_u32(r);
        steps[i].which = get_u32(r);
        steps[i].value = get_i64(r);
    }
    if (steps && number.n && !ocl_number_is_valid(&number, r->ndim))
        refuse(r, "a number cannot be computed");
    if (!steps)
        refuse(r, "no memory");
    return number;
}

static ocl_arg get_arg(struct reader *r)
{
    ocl_arg arg = { .kind = get_u32(r) };
    arg.index = get_u32(r);
    arg.number = get_number(r);
    if (arg.kind > OCL_ARG_LONG ||
        (arg.kind == OCL_ARG_BUFFER && arg.index >= r->nbuffer) ||
        (arg.kind == OCL_ARG_FAULT && !r->nfault) ||
        ((arg.kind == OCL_ARG_INT || arg.kind == OCL_ARG_LONG) && !arg.number.n))
        refuse(r, "an argument is none");
    return arg;
}

static int is_matrix(const ocl_matrices *m, int64_t rows, int64_t columns)
{
    const int64_t row = m->is_transposed ? rows : columns;
    return m->is_transposed <= 1 && m->row >= row && m->row <= INT32_MAX &&
           m->matrix >= 0 && m->matrix <= INT32_MAX;
}

static ocl_matrices get_matrices(struct reader *r)
{
    const int64_t is_transposed = get_i64(r);
    ocl_matrices m = { 0 };
    m.is_transposed =
        is_transposed == 0 || is_transposed == 1 ? (uint32_t)is_transposed : 2;
    m.row = get_i64(r);
    m.matrix = get_i64(r);
    return m;
}

static const ocl_product *get_product(struct reader *r)
{
    ocl_product *p = BT_NEW(r->arena, ocl_product);
    if (get_u32(r) == 0 || !p)
        return NULL;
    int64_t *sizes[] = { &p->batch, &p->m, &p->n, &p->k };
    for (uint32_t i = 0; i < 4; i++) {
        *sizes[i] = get_i64(r);
        if (*sizes[i] < 1 || *sizes[i] > INT32_MAX)
            refuse(r, "a product has no sizes");
    }
    p->a = get_matrices(r);
    p->b = get_matrices(r);
    p->c = get_matrices(r);
    if (!is_matrix(&p->a, p->m, p->k) || !is_matrix(&p->b, p->k, p->n) ||
        !is_matrix(&p->c, p->m, p->n) || p->c.is_transposed)
        refuse(r, "a product's matrices overlap themselves");
    return p;
}

static int are_matrices(const ocl_launch *launch)
{
    for (uint32_t i = 0; i < launch->narg; i++) {
        if (launch->args[i].kind != OCL_ARG_BUFFER &&
            launch->args[i].kind != OCL_ARG_WORKSPACE)
            return 0;
    }
    return launch->narg == 3;
}

static void get_launch(struct reader *r, ocl_launch *launch)
{
    uint64_t group = 1;
    launch->text = get_text(r);
    launch->product = get_product(r);
    launch->narg = get_count(r, MAX_ARGS, 12, "a launch has too many arguments");
    ocl_arg *args = BT_NEWS(r->arena, ocl_arg, launch->narg);
    launch->args = args;
    for (uint32_t i = 0; args && i < launch->narg; i++)
        args[i] = get_arg(r);
    for (uint32_t i = 0; i < 3; i++) {
        launch->local[i] = get_u32(r);
        group *= launch->local[i] <= MAX_LOCAL ? launch->local[i] : 0;
    }
    for (uint32_t i = 0; i < 3; i++) {
        launch->groups[i] = get_number(r);
        group *= launch->groups[i].n ? 1 : 0;
    }
    launch->local_nbytes = get_u32(r);
    if (!args || (launch->product ? launch->text || !are_matrices(launch)
                                  : !launch->text || !*launch->text))
        refuse(r, "a launch has no kernel, or a product not three matrices");
    if (group == 0 || group > MAX_LOCAL)
        refuse(r, "a launch has no groups, or such of too many work-items");
}

static void get_code(struct reader *r, struct ocl_code *code)
{
    ocl_program *p = &code->program;
    code->name = get_text(r);
    code->ndim = r->ndim = get_u32(r);
    code->nbuffer = r->nbuffer = get_u32(r);
    if (!code->name || code->ndim > MAX_DIMS || code->nbuffer > MAX_BUFFERS)
        refuse(r, "the kernel has no name, or too many dims or buffers");
    p->nfault = r->nfault =
        get_count(r, MAX_FAULTS, 20, "the kernel has too many faults");
    bt_fault *faults = BT_NEWS(r->arena, bt_fault, p->nfault);
    for (uint32_t i = 0; faults && i < p->nfault; i++) {
        faults[i].text = get_text(r);
        faults[i].array = get_text(r);
        faults[i].axis = get_u32(r);
        faults[i].extent = get_i64(r);
        if (!faults[i].text && !faults[i].array)
            refuse(r, "a fault says nothing");
    }
    p->nlaunch = get_count(r, MAX_LAUNCHES, 40, "the kernel has too many launches");
    ocl_launch *launches = BT_NEWS(r->arena, ocl_launch, p->nlaunch);
    for (uint32_t i = 0; launches && i < p->nlaunch; i++)
        get_launch(r, &launches[i]);
    p->faults = faults;
    p->launches = launches;
    if (!faults || !launches)
        refuse(r, "no memory");
    if (r->at != r->end)
        refuse(r, "something stands behind its end");
}

bt_status ocl_code_read(bt_ctx *ctx, bt_arena *arena, const void *bytes, size_t nbytes,
                        struct ocl_code *out)
{
    const char *head = bytes;
    char digest[DIGEST_NCHAR + 1];
    struct reader r = { .arena = arena };
    if (nbytes < HEAD_NBYTES || memcmp(head, HEAD, strlen(HEAD)) != 0)
        return bt_fail(ctx, BT_ERR_FORMAT,
                       "target opencl: code that does not begin with \"%s\"", HEAD);
    bt_digest(head + HEAD_NBYTES, nbytes - HEAD_NBYTES, digest);
    if (memcmp(head + strlen(HEAD), digest, DIGEST_NCHAR) != 0 ||
        head[HEAD_NBYTES - 1] != '\n')
        return bt_fail(ctx, BT_ERR_FORMAT,
                       "target opencl: code is damaged: its digest is another");
    r.at = (const unsigned char *)head + HEAD_NBYTES;
    r.end = (const unsigned char *)head + nbytes;
    get_code(&r, out);
    if (bt_arena_has_failed(arena))
        return bt_no_memory();
    return r.fault ? bt_fail(ctx, BT_ERR_FORMAT, "target opencl: code of %s: %s",
                             out->name ? out->name : "a kernel", r.fault)
                   : NULL;
}
