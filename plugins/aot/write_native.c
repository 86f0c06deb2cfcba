/* Static libraries of targets, for kernels that call functions of theirs. */
#include "write.h"

#include <string.h>

#include <baton/compiler.h>

bt_status native_check(struct output *o, uint32_t kernel)
{
    const bt_compiled *c = o->plan->compiled;
    const bt_target_use *use = c->targets[c->kernels[kernel]->target];
    if (!c->codes[kernel]->own_nbytes || o->library == use->target->name)
        return NULL;
    if (o->library)
        return bt_fail(o->plan->ctx, BT_ERR_UNSUPPORTED,
                       "aot: kernels need the libraries of target %s and of target %s: "
                       "compile for one of them, or for one and c",
                       o->library, use->target->name);
    o->library = use->target->name;
    o->machine = c->compatibility[c->kernels[kernel]->target];
    return NULL;
}

bt_status write_native(struct output *o)
{
    const struct plan *p = o->plan;
    const char *path;
    bt_file *file;
    bt_text name, bytes;
    if (!o->library)
        return NULL;
    bt_text_init(&name, p->arena);
    bt_text_init(&bytes, p->arena);
    bt_text_addf(&name, "native/libbaton_%s.a", o->library);
    if (!bt_text_get(&name))
        return bt_no_memory();
    BT_TRY(bt_library_file(p->ctx, p->arena, name.at, &path));
    bt_status status = bt_file_read(p->ctx, path, &file);
    if (status)
        return bt_fail(p->ctx, BT_ERR_UNSUPPORTED,
                       "aot: kernels of target %s need its static library, which is not "
                       "installed (%s): with --target c they need none",
                       o->library, status->message);
    bt_text_add(&bytes, file->bytes, file->nbytes);
    bt_file_close(p->ctx, file);
    return add_file(o, &bytes, "libbaton_%s.a", o->library);
}
