/*
 * What fuzz_vm starts from: the code of each function of its programs. A file for each.
 *     vm_seeds FOLDER
 */
#include <stdio.h>

#include <baton/plugin.h>

#include "../vm_code.h"

static bt_status write_function(bt_ctx *ctx, const char *folder, uint32_t program,
                                const struct vm_function *f)
{
    char path[4096];
    bt_text bytes;
    const char head[VM_INPUT_HEAD] = { (char)(program << 2), (char)f->number };
    bt_text_init(&bytes, bt_ctx_scratch(ctx));
    bt_text_add(&bytes, head, sizeof(head));
    bt_text_add(&bytes, (const char *)f->words, f->nword * sizeof(*f->words));
    snprintf(path, sizeof(path), "%s/%u.%u", folder, program, f->number);
    return bt_text_get(&bytes) ? bt_file_write(ctx, path, bt_text_get(&bytes), bytes.len)
                               : bt_no_memory();
}

static bt_status write_program(bt_ctx *ctx, const char *folder, uint32_t number)
{
    struct vm_program *program;
    bt_status status = vm_encode_program(ctx, number, &program);
    if (status)
        return status;
    for (uint32_t i = 0; !status && i < program->nfunction; i++)
        status = write_function(ctx, folder, number, program->functions[i]);
    vm_program_unref(program);
    return status;
}

int main(int argc, char **argv)
{
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_status status = ctx && argc > 1 ? NULL : bt_no_memory();
    for (uint32_t i = 0; !status && i < BT_COUNT(vm_programs); i++)
        status = write_program(ctx, argv[1], i);
    if (status)
        fprintf(stderr, "vm_seeds: %s\n", status->message);
    if (ctx)
        bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return status != NULL;
}
