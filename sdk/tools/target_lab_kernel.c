/* How a kernel comes to be in the lab: of programs that are drawn, the first function that the
 * target takes as one kernel. What its functions give has to outlive what they were given. */
#include "target_lab.h"

#include <string.h>

#include <baton/compute.h>

#include "target_codes.h"
#include "target_fault.h"
#include "target_program.h"
#include "watchdog.h"

enum { NETWORKS = 32, MAX_NBYTES = 1 << 21, DRAFT_NBYTES = 1 << 16 };

/* ---- what a target gives stays ---- */

/* A call that has returned has left its frames to others. */
static void scribble(void)
{
    volatile unsigned char room[1 << 14];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0xa5;
}

/* Whether what a function gave is there when others have been called since. */
static int stays(struct lab *lab, const void *at, size_t nbytes)
{
    void (*volatile call)(void) = scribble; // or it would have the caller's frame
    void *copy = bt_arena_alloc(lab->arena, nbytes + 1, 1);
    if (!copy || !nbytes)
        return 1;
    memcpy(copy, at, nbytes);
    call();
    return memcmp(copy, at, nbytes) == 0;
}

static void check_lowered(struct lab *lab, const bt_kernel *k)
{
    if (!stays(lab, k->in, k->nin * sizeof(k->in[0])) ||
        !stays(lab, k->out, k->nout * sizeof(k->out[0])))
        target_fault(lab->arena, &lab->fault,
                     "what `lower` gives changes when it has returned: the buffers of a "
                     "kernel (in, out) live in the arena, or are static");
}

static void check_code(struct lab *lab, const bt_kernel_code *code)
{
    if (!stays(lab, code->at, code->nbytes))
        target_fault(lab->arena, &lab->fault,
                     "the code of a kernel changes when `compile` has returned: what "
                     "bt_kernel_code.at points to lives in the arena");
}

/* ---- a kernel ---- */

static int is_tried(const bt_type *type)
{
    const int64_t nbytes = bt_type_nbytes(type);
    return bt_as_tensor_type(type) && nbytes > 0 && nbytes <= MAX_NBYTES;
}

/* Where a function comes of `lower`, which a compilation drops before its code. It lies in one
 * piece, so that this can be written over. */
struct draft {
    bt_arena *arena;
    void *at;
};

static bt_status open_draft(struct lab *lab, struct draft *out)
{
    out->arena = bt_arena_create(bt_ctx_registry(lab->ctx));
    out->at = out->arena ? bt_arena_alloc(out->arena, DRAFT_NBYTES, 1) : NULL;
    if (!out->at) {
        bt_arena_destroy(out->arena);
        out->arena = NULL;
        return bt_no_memory();
    }
    bt_arena_release(out->arena, NULL); // the arena goes on where it began
    return NULL;
}

static bt_status note_refused(struct lab *lab, const bt_func *func, const char *what,
                              bt_status status)
{
    bt_text text;
    if (!status || status->code == BT_ERR_MEMORY)
        return status;
    bt_text_init(&text, lab->arena);
    bt_text_addf(&text, "%s of @%s: %s", what, func->name ? func->name : "?",
                 status->message);
    lab->refused = bt_text_get(&text);
    return status;
}

/* The kernel without what `lower` has allocated, but for its content. */
static bt_status keep_kernel(struct lab *lab, const bt_kernel *from, bt_kernel **out)
{
    bt_kernel *kernel = BT_NEW(lab->arena, bt_kernel);
    bt_kernel_buffer *buffers =
        BT_NEWS(lab->arena, bt_kernel_buffer, (size_t)from->nin + from->nout);
    if (!kernel || !buffers)
        return bt_no_memory();
    *kernel = *from;
    if (from->nin)
        memcpy(buffers, from->in, from->nin * sizeof(*buffers));
    if (from->nout)
        memcpy(buffers + from->nin, from->out, from->nout * sizeof(*buffers));
    kernel->in = buffers;
    kernel->out = buffers + from->nin;
    *out = kernel;
    return NULL;
}

/* Its kernels, where it is one kernel on tensors of known sizes. */
static bt_status lower(struct lab *lab, const bt_func *func, const struct draft *draft)
{
    const bt_target *target = lab->use->target;
    bt_lowering lowering = { 0 };
    bt_kernel *kernel;
    int64_t size;
    lab->kernel = NULL;
    if (bt_target_supports(lab->ctx, lab->use, func))
        return NULL;
    BT_TRY(note_refused(
        lab, func, "`lower`",
        target->lower(lab->ctx, lab->use->instance, draft->arena, func, &lowering)));
    if (lowering.nkernel != 1 || lowering.ntemp || func->nvar)
        return NULL;
    check_lowered(lab, lowering.kernels[0]);
    BT_TRY(keep_kernel(lab, lowering.kernels[0], &kernel));
    kernel->name = "checked";
    kernel->primitive = func;
    if (lab->fault || kernel->nin > LAB_BUFFERS || kernel->nout != 1 ||
        !is_tried(func->result) || bt_type_nbytes(func->result) < lab->least ||
        (kernel->workspace && !bt_dim_is_const(kernel->workspace, &size)))
        return NULL;
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        if (!is_tried(func->block->params[i]->base.type))
            return NULL;
    }
    lab->kernel = kernel;
    return NULL;
}

/* What `lower` has made goes. */
static void check_apart(struct lab *lab, const bt_kernel_code *code,
                        const struct draft *draft)
{
    void *copy = bt_arena_alloc(lab->arena, code->nbytes + 1, 1);
    if (!copy || !code->nbytes || lab->fault)
        return;
    memcpy(copy, code->at, code->nbytes);
    memset(draft->at, 0xa5, DRAFT_NBYTES);
    if (memcmp(copy, code->at, code->nbytes) != 0)
        target_fault(
            lab->arena, &lab->fault,
            "the code of a kernel is what `lower` has allocated, which goes before "
            "the code does: `compile` copies what bt_kernel_code.at points to into "
            "the arena that it is given");
}

/* Bytes may come from a file that has been cut. */
static bt_status check_cut(struct lab *lab, const bt_kernel_code *code)
{
    bt_kernel_code cut = *code;
    const bt_kernel_code *given = &cut;
    void *loaded = NULL;
    cut.nbytes = cut.own_nbytes = 0;
    bt_status status =
        lab->use->target->load(lab->ctx, lab->use->instance, 1, &given, &loaded);
    if (!status)
        target_fault(
            lab->arena, &lab->fault,
            "`load` takes code of 0 bytes: bytes come from files, and their sizes "
            "are checked before they are read");
    if (!status && loaded)
        lab->use->target->unload(loaded);
    return status && status->code == BT_ERR_MEMORY ? status : NULL;
}

static bt_status load(struct lab *lab, const struct draft *draft)
{
    const bt_target *target = lab->use->target;
    bt_kernel_code *code = BT_NEW(lab->arena, bt_kernel_code);
    if (!code)
        return bt_no_memory();
    BT_TRY(note_refused(lab, lab->kernel->primitive, "`compile`",
                        target->compile(lab->ctx, lab->use->instance, lab->arena,
                                        BT_CODE_ANY, 1, &lab->kernel, &code)));
    check_code(lab, code);
    check_apart(lab, code, draft);
    if (!target->load || lab->fault)
        return NULL; // the library calls it
    const bt_kernel_code *made = code;
    BT_TRY(check_cut(lab, code));
    BT_TRY(
        note_refused(lab, lab->kernel->primitive, "`load`",
                     target->load(lab->ctx, lab->use->instance, 1, &made, &lab->loaded)));
    if (!lab->loaded)
        target_fault(lab->arena, &lab->fault,
                     "`load` has no error and gives nothing: *loaded is not NULL");
    return NULL;
}

/* A primitive function of the program that the target takes; lab->kernel NULL: none. */
static bt_status find_kernel(struct lab *lab, const char *text, int is_codes)
{
    const bt_targets only = { .nref = 1, .n = 1, .at = &lab->use };
    const bt_compile_options options = { .opened = &only };
    bt_module *typed, *fused;
    struct draft draft;
    if (is_codes ? target_codes_read(lab->ctx, text, &only, &typed)
                 : rule_program_read(lab->ctx, text, &typed))
        return NULL;
    bt_status status = bt_fuse(lab->ctx, typed, &options, &fused);
    bt_module_unref(typed);
    if (status)
        return NULL;
    status = open_draft(lab, &draft);
    for (uint32_t i = 0; !status && !lab->kernel && i < fused->nglobal; i++) {
        const bt_func *func = fused->globals[i]->func;
        if (func && bt_func_is_primitive(func))
            status = lower(lab, func, &draft);
    }
    if (!status && lab->kernel)
        status = load(lab, &draft);
    bt_arena_destroy(draft.arena);
    if (status)
        lab->kernel = NULL;
    if (lab->kernel) {
        lab->module = fused;
        return NULL;
    }
    bt_module_unref(fused);
    return status && status->code == BT_ERR_MEMORY ? status : NULL;
}

static bt_status try_text(struct lab *lab, const struct rule_program *program,
                          int is_codes)
{
    lab_watch(lab, "a compilation of a program");
    bt_status status = find_kernel(lab, program->text, is_codes);
    watchdog_end();
    BT_TRY(status);
    bt_ctx_clear_diags(lab->ctx);
    return NULL;
}

bt_status lab_make_kernel(struct lab *lab)
{
    struct target_draw draw = { .target = lab->use->target,
                                .seed = 1,
                                .extents = lab->extents };
    struct rule_program program = { .text = "" };
    while (!lab->kernel && !lab->fault && program.text) {
        BT_TRY(target_program_draw(lab->ctx, lab->arena, &draw, &program));
        if (program.text)
            BT_TRY(try_text(lab, &program, 0));
    }
    for (uint64_t i = 0; !lab->kernel && !lab->fault && i < NETWORKS; i++) {
        BT_TRY(target_codes_draw(lab->arena, i, &program));
        BT_TRY(try_text(lab, &program, 1));
    }
    return NULL;
}

void lab_free_kernel(struct lab *lab)
{
    lab_watch(lab, "unload");
    if (lab->loaded)
        lab->use->target->unload(lab->loaded);
    watchdog_end();
    bt_module_unref(lab->module);
}
