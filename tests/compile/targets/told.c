/* told: an executor of the tests that says what its options told it. */
#include <baton/executor.h>
#include <baton/op.h>

struct options {
    int64_t number;
};
static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, number, INT, "7", 0, 99, "what it says"),
    { 0 },
};

struct session {
    bt_registry *registry;
    int64_t number;
};

static bt_status open(bt_ctx *ctx, const bt_module *module, const void *given, void **out)
{
    const struct options *o = given;
    struct session *s = bt_alloc(bt_ctx_registry(ctx), sizeof(*s));
    (void)module;
    if (!s)
        return bt_no_memory();
    *s = (struct session){ bt_ctx_registry(ctx), o->number };
    *out = s;
    return NULL;
}

static void close(void *session)
{
    struct session *s = session;
    bt_free(s->registry, s, sizeof(*s));
}

static bt_status call(bt_ctx *ctx, void *session, const char *entry, uint32_t narg,
                      bt_object *const *args, const bt_run_hook *hook, bt_object **result)
{
    const struct session *s = session;
    (void)entry, (void)narg, (void)args, (void)hook, (void)result;
    return bt_fail(ctx, BT_ERR_RUNTIME, "it was told %d", (int)s->number);
}

static const bt_executor executors[] = {
    { .name = "told",
      .doc = "Says what its options told it.",
      .options = options,
      .options_nbytes = sizeof(struct options),
      .open = open,
      .close = close,
      .call = call },
    { 0 },
};

const bt_table bt_tests_compile_targets_told[] = { BT_EXECUTORS(executors), { 0 } };
