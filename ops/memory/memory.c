/*
 * What a lowered function is made of: storage, tensors in it, kernels that run on them.
 *     %s = memory.alloc_storage(size=64*n);
 *     %y = memory.alloc_tensor(%s, offset=64, shape=[2, 3], dtype="float32");
 *     %0 = memory.invoke((%x, %w), (%y,), kernel="fused_nn_dense");
 *     %z = memory.view(%y, shape=[6]);
 *     %1 = memory.copy(%y, %t);
 *     %u = memory.own(%x);
 *     %2 = memory.check(left=3, relation="<=", right=n, of="nn.conv2d", what="the window");
 * They name places and effects; an executor carries them out, no formula computes them.
 * Sizes, offsets and shapes are dims over the parameters of the function.
 * source  Relay VM, section "Memory": alloc_storage, alloc_tensor, invoke_tvm_op, kill
 */

#include <baton/op.h>

/* ---- memory.alloc_storage ---- */

struct storage_attrs {
    const bt_type *size;
    int64_t alignment;
    const char *space;
};
static const bt_attr storage_attrs[] = {
    BT_ATTR(struct storage_attrs, size, DIM, NULL, "bytes"),
    BT_ATTR_RANGE(struct storage_attrs, alignment, INT, "64", 1, 1 << 20,
                  "of its first byte"),
    BT_ATTR(struct storage_attrs, space, STRING, "",
            "the target in whose memory it is, as it was given; empty: the host's"),
    { 0 },
};

/* Whether a dim is less than 0, whatever the values of its variables. */
static int is_negative(const bt_type *dim)
{
    int64_t low, high;
    bt_dim_bounds(dim, &low, &high);
    return high < 0;
}

static bt_status relate_storage(bt_solver *s, const bt_relation_call *r)
{
    const struct storage_attrs *a = r->attrs;
    if (is_negative(a->size))
        return bt_relation_fail(s, r, -1, "size must not be negative");
    return bt_relation_result_tensor(s, r, 1, &a->size,
                                     bt_type_dtype(bt_relation_store(s), BT_UINT8));
}

/* ---- memory.alloc_tensor ---- */

struct tensor_attrs {
    const bt_type *offset, *shape, *dtype;
};
static const bt_attr tensor_attrs[] = {
    BT_ATTR(struct tensor_attrs, offset, DIM, "0", "of its first element, in bytes"),
    BT_ATTR(struct tensor_attrs, shape, SHAPE, NULL, "its dims"),
    BT_ATTR(struct tensor_attrs, dtype, DTYPE, NULL, "its element type"),
    { 0 },
};
static const bt_op_input tensor_inputs[] = {
    { .name = "storage", .type = "uint8[size]", .doc = "what holds its elements" },
    { 0 },
};

static bt_status relate_tensor(bt_solver *s, const bt_relation_call *r)
{
    const struct tensor_attrs *a = r->attrs;
    const bt_shape_type *shape = bt_as_shape_type(a->shape);
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts storage;
    int64_t size, offset, nbytes;
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 1, &storage));
    if (!a->dtype || a->dtype->kind != BT_TYPE_DTYPE || !shape || shape->rest)
        return bt_relation_fail(s, r, -1, "shape and dtype must be stated");
    const bt_dtype_type *dtype = (const bt_dtype_type *)(const void *)a->dtype;
    const bt_type *end = bt_dims_nbytes(store, dtype->dtype, shape->n, shape->dims);
    if (is_negative(a->offset))
        return bt_relation_fail(s, r, -1, "offset must not be negative");
    if (bt_dim_is_const(storage.dims[0], &size) && bt_dim_is_const(a->offset, &offset) &&
        end && bt_dim_is_const(end, &nbytes) && (offset > size || nbytes > size - offset))
        return bt_relation_fail(s, r, 0,
                                "a tensor of %lld bytes at %lld ends beyond its storage "
                                "of %lld",
                                (long long)nbytes, (long long)offset, (long long)size);
    return bt_relation_result_tensor(s, r, shape->n, shape->dims, a->dtype);
}

/* ---- memory.view ---- */

struct view_attrs {
    const bt_type *shape;
};
static const bt_attr view_attrs[] = {
    BT_ATTR(struct view_attrs, shape, SHAPE, NULL, "its dims"),
    { 0 },
};
static const bt_op_input view_inputs[] = {
    { .name = "tensor",
      .type = "t:any[..]",
      .doc = "whose elements it has, in their order" },
    { 0 },
};

static bt_status relate_view(bt_solver *s, const bt_relation_call *r)
{
    const struct view_attrs *a = r->attrs;
    const bt_shape_type *shape = bt_as_shape_type(a->shape);
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts tensor;
    BT_TRY(bt_relation_tensor(s, r, 0, &tensor));
    if (!shape || shape->rest)
        return bt_relation_fail(s, r, -1, "shape must be stated");
    const bt_type *given = bt_dim_product(store, 1, tensor.rank, tensor.dims),
                  *wanted = bt_dim_product(store, 1, shape->n, shape->dims);
    int64_t ngiven, nwanted;
    if (given && wanted && bt_dim_is_const(given, &ngiven) &&
        bt_dim_is_const(wanted, &nwanted) && ngiven != nwanted)
        return bt_relation_fail(s, r, 0,
                                "a view of %lld elements cannot be of a tensor of %lld",
                                (long long)nwanted, (long long)ngiven);
    return bt_relation_result_tensor(s, r, shape->n, shape->dims, tensor.dtype);
}

/* ---- memory.invoke ---- */

struct invoke_attrs {
    const char *kernel;
    bt_ints aliases, parts;
    int64_t slice;
    const bt_type *dims;
};
static const bt_attr invoke_attrs[] = {
    BT_ATTR(struct invoke_attrs, kernel, STRING, NULL, "its name in the target's code"),
    BT_ATTR(struct invoke_attrs, aliases, INTS, "[]",
            "pairs: which of outs may lie in the bytes of which of ins"),
    BT_ATTR(
        struct invoke_attrs, parts, INTS, "[]",
        "which of ins the only one of outs is made of, one after the other: where they "
        "lie in it like that nothing is left to do"),
    BT_ATTR_RANGE(struct invoke_attrs, slice, INT, "-1", -1, INT64_MAX,
                  "the bytes behind which the only one of ins has the only one of outs: "
                  "where it lies there nothing is left to do; -1: it does not have it"),
    BT_ATTR(struct invoke_attrs, dims, SHAPE, "[]",
            "values of the kernel's dims: those that were open when it was compiled"),
    { 0 },
};
static const bt_op_input invoke_inputs[] = {
    { .name = "ins", .type = "?", .doc = "a tuple of what the kernel reads" },
    { .name = "outs", .type = "?", .doc = "a tuple of tensors that it writes, whole" },
    { .name = "workspace",
      .type = "uint8[size]",
      .doc = "what it has for itself while it runs",
      .is_optional = 1 },
    { 0 },
};

static bt_status relate_invoke(bt_solver *s, const bt_relation_call *r)
{
    const struct invoke_attrs *a = r->attrs;
    uint32_t n[2];
    for (uint32_t i = 0; i < 2; i++) {
        const bt_tensor_parts *tensors;
        BT_TRY(bt_relation_tensors(s, r, i, &n[i], &tensors));
    }
    for (int64_t i = 0; i < a->aliases.n; i++) {
        uint32_t most = i % 2 ? n[0] : n[1];
        if (a->aliases.n % 2 || a->aliases.at[i] < 0 || a->aliases.at[i] >= most)
            return bt_relation_fail(
                s, r, -1,
                "aliases must be pairs of one of %u outs and one of %u "
                "ins",
                n[1], n[0]);
    }
    for (int64_t i = 0; i < a->parts.n; i++) {
        if (n[1] != 1 || a->parts.at[i] < 0 || a->parts.at[i] >= n[0])
            return bt_relation_fail(s, r, -1,
                                    "parts must be of one of outs, and of %u ins", n[0]);
    }
    if (a->slice >= 0 && (n[0] != 1 || n[1] != 1))
        return bt_relation_fail(s, r, -1,
                                "slice must be of one of ins, and of one of outs");
    return bt_relation_result(s, r, bt_type_tuple(bt_relation_store(s), 0, NULL));
}

/* ---- memory.copy ---- */

static const bt_op_input copy_inputs[] = {
    { .name = "from", .type = "t:any[..]", .doc = "whose elements are copied" },
    { .name = "to",
      .type = "t[..]",
      .doc = "a tensor of the same type, which gets them" },
    { 0 },
};

static bt_status relate_copy(bt_solver *s, const bt_relation_call *r)
{
    BT_TRY(bt_relation_unify(s, r, bt_relation_arg(s, r, 0), bt_relation_arg(s, r, 1),
                             "what is copied and where to"));
    return bt_relation_result(s, r, bt_type_tuple(bt_relation_store(s), 0, NULL));
}

/* ---- memory.own ---- */

static const bt_op_input own_inputs[] = {
    { .name = "tensor", .type = "t:any[..]", .doc = "what is to be written to" },
    { 0 },
};

static bt_status relate_own(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts tensor;
    BT_TRY(bt_relation_tensor(s, r, 0, &tensor));
    return bt_relation_result(s, r, bt_relation_arg(s, r, 0));
}

/* ---- memory.check ---- */

struct check_attrs {
    const bt_type *left;
    const char *relation;
    const bt_type *right;
    const char *of, *what;
};
static const bt_attr check_attrs[] = {
    BT_ATTR(struct check_attrs, left, DIM, NULL, "a dim"),
    BT_ATTR(struct check_attrs, relation, STRING, NULL,
            "==, <=, multiple (left is one of right) or broadcasts (or left is 1)"),
    BT_ATTR(struct check_attrs, right, DIM, NULL, "the dim that it is compared with"),
    BT_ATTR(struct check_attrs, of, STRING, NULL, "whose check it is, as errors begin"),
    BT_ATTR(struct check_attrs, what, STRING, "", "what its relation calls the two"),
    { 0 },
};

static bt_status relate_check(bt_solver *s, const bt_relation_call *r)
{
    bt_check check;
    const char *of;
    if (bt_check_read(r->op, r->attrs, &check, &of))
        return bt_relation_result(s, r, bt_type_tuple(bt_relation_store(s), 0, NULL));
    return bt_relation_fail(s, r, -1, "relation must be ==, <=, multiple or broadcasts");
}

/* ---- memory.kill ---- */

static const bt_op_input kill_inputs[] = {
    { .name = "storage", .type = "uint8[size]", .doc = "not read or written afterwards" },
    { 0 },
};

static bt_status relate_kill(bt_solver *s, const bt_relation_call *r)
{
    return bt_relation_result(s, r, bt_type_tuple(bt_relation_store(s), 0, NULL));
}

static const bt_op ops[] = {
    {
        .name = "memory.alloc_storage",
        .revision = 1,
        .doc = "Storage of a number of bytes.",
        .source = "Relay VM, memory.alloc_storage",
        .effects = BT_EFFECT_ALLOCATES,
        .attrs = storage_attrs,
        .attrs_nbytes = sizeof(struct storage_attrs),
        .relate = relate_storage,
    },
    {
        .name = "memory.alloc_tensor",
        .revision = 1,
        .doc = "A tensor in storage, its elements undefined.",
        .source = "Relay VM, memory.alloc_tensor",
        .effects = BT_EFFECT_ALLOCATES,
        .inputs = tensor_inputs,
        .attrs = tensor_attrs,
        .attrs_nbytes = sizeof(struct tensor_attrs),
        .relate = relate_tensor,
    },
    {
        .name = "memory.view",
        .revision = 1,
        .doc = "A tensor in the bytes of another.",
        .source = "Relay VM, vm.reshape_tensor",
        .effects = BT_EFFECT_ALLOCATES, // a place, as memory.alloc_tensor makes one
        .inputs = view_inputs,
        .attrs = view_attrs,
        .attrs_nbytes = sizeof(struct view_attrs),
        .relate = relate_view,
    },
    {
        .name = "memory.invoke",
        .revision = 1,
        .doc = "Runs a kernel of a target.",
        .source = "Relay VM, vm.invoke_tvm_op",
        .effects = BT_EFFECT_READS | BT_EFFECT_WRITES,
        .inputs = invoke_inputs,
        .attrs = invoke_attrs,
        .attrs_nbytes = sizeof(struct invoke_attrs),
        .relate = relate_invoke,
    },
    {
        .name = "memory.copy",
        .revision = 1,
        .doc = "Copies a tensor's elements into another, from space to space.",
        .source = "Relay VM, device_copy",
        .effects = BT_EFFECT_READS | BT_EFFECT_WRITES,
        .inputs = copy_inputs,
        .relate = relate_copy,
    },
    {
        .name = "memory.own",
        .revision = 1,
        .doc = "The tensor itself where nobody else holds it, else a copy of it.",
        .source = "Ullrich, de Moura: \"Counting Immutable Beans\", 2019",
        .effects = BT_EFFECT_ALLOCATES,
        .inputs = own_inputs,
        .relate = relate_own,
    },
    {
        .name = "memory.check",
        .revision = 1,
        .doc = "Fails where a relation of dims does not hold, before any kernel runs.",
        .source = "Relay's shape functions, which assert what types cannot tell",
        .effects = BT_EFFECT_WRITES, // nobody uses its result
        .attrs = check_attrs,
        .attrs_nbytes = sizeof(struct check_attrs),
        .relate = relate_check,
    },
    {
        .name = "memory.kill",
        .revision = 1,
        .doc = "Ends the life of storage.",
        .source = "Relay VM, memory.kill",
        .effects = BT_EFFECT_WRITES,
        .inputs = kill_inputs,
        .relate = relate_kill,
    },
    { 0 },
};
const bt_table bt_ops_memory_memory[] = { BT_OPS(ops), { 0 } };
