/*
 * random.threefry_key, random.threefry_split, random.threefry_fold_in,
 * random.threefry_generate: keys, and the words that they stand for.
 *     block(key, n)     two words, Threefry-2x32-20 of the key and the counter n, 64 bits
 *     threefry_key      the upper and the lower half of a seed
 *     threefry_split    row i: block(key, i)
 *     threefry_fold_in  block(key, data), so row i of a split is i folded in
 *     threefry_generate of 64 bits block(key, i), i the row-major position; of 32 the two
 *                       words xored, of fewer the lower bits of that
 * A key is a value, which operators read and none changes: drawn twice from, it gives the same
 * twice. So a key is for one use; several come from it by split and fold_in.
 * Words are those of jax.random (threefry2x32, partitionable) for the same key; of a negative
 * seed of less than 64 bits the upper half is its sign here, and 0 there.
 * Relay's threefry_split and threefry_generate have keys uint64[10] and words of 64 bits; what
 * draws gives a new key beside the numbers. Here it gives the numbers alone: what draws by one
 * key is independent of all else, is computed together with it, in any order, or again.
 * source  Salmon, Moraes, Dror, Shaw 2011; Claessen, Palka 2013: Splittable pseudorandom number
 *         generators; jax.random
 */
#include "draw.h"

/* ---- keys ---- */

static const bt_type *key_type(bt_store *store)
{
    const bt_type *two = bt_dim(store, 2),
                  *shape = two ? bt_type_shape(store, 1, &two) : NULL,
                  *dtype = bt_type_dtype(store, BT_UINT32);
    return shape && dtype ? bt_type_tensor(store, shape, dtype) : NULL;
}

static bt_status relate_key(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts seed;
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 0, &seed));
    return bt_relation_result(s, r, key_type(bt_relation_store(s)));
}

static bt_status relate_fold_in(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts data;
    BT_TRY(key_relate(s, r));
    BT_TRY(bt_relation_tensor_rank(s, r, 1, 0, &data));
    return bt_relation_result(s, r, key_type(bt_relation_store(s)));
}

static void write_fold_in(bt_formula *f, const bt_formula_call *call)
{
    (void)call;
    bt_formula_clear(f, "i");
    bt_formula_clear(f, "axes");
    bt_formula_threefry(f, "key[0]", "key[1]", "uint32(shift_right(int64(data[]), 32))",
                        "uint32(data[])");
    bt_formula_add(f, "y: uint32[j in 2] = select(j == 0, word0[], word1[])");
}

/* ---- split ---- */

struct split_attrs {
    const bt_type *num;
};
static const bt_attr split_attrs[] = {
    BT_ATTR(struct split_attrs, num, DIM, "2", "how many keys"),
    { 0 },
};

static bt_status relate_split(bt_solver *s, const bt_relation_call *r)
{
    const struct split_attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    const bt_type *dims[2] = { a->num, bt_dim(store, 2) },
                  *dtype = bt_type_dtype(store, BT_UINT32);
    BT_TRY(key_relate(s, r));
    return dims[1] && dtype ? bt_relation_result_tensor(s, r, 2, dims, dtype)
                            : bt_no_memory();
}

static void write_split(bt_formula *f, const bt_formula_call *call)
{
    (void)call;
    bt_formula_item(f, "i", "i");
    bt_formula_item(f, "axes", "i in num");
    bt_formula_threefry(f, "key[0]", "key[1]", "uint32(shift_right(i, 32))", "uint32(i)");
    bt_formula_add(f, "y: uint32[i in num, j in 2] = select(j == 0, word0[i], word1[i])");
}

/* ---- words ---- */

struct generate_attrs {
    const bt_type *shape, *dtype;
};
static const bt_attr generate_attrs[] = {
    BT_ATTR(struct generate_attrs, shape, SHAPE, NULL, "the shape of the result"),
    BT_ATTR(struct generate_attrs, dtype, DTYPE, "uint32",
            "uint8, uint16, uint32 or uint64"),
    { 0 },
};

static bt_status relate_generate(bt_solver *s, const bt_relation_call *r)
{
    const struct generate_attrs *a = r->attrs;
    bt_dtype dtype = ((const bt_dtype_type *)(const void *)a->dtype)->dtype;
    if (a->dtype->kind != BT_TYPE_DTYPE)
        return bt_relation_wait(s);
    if (dtype != BT_UINT8 && dtype != BT_UINT16 && dtype != BT_UINT32 &&
        dtype != BT_UINT64)
        return bt_relation_fail(
            s, r, -1,
            "words are uint8, uint16, uint32 or uint64, which `dtype` "
            "is not");
    return key_relate_drawn(s, r, a->shape, a->dtype);
}

static void write_generate(bt_formula *f, const bt_formula_call *call)
{
    draw_write_shaped(f, call->result);
    if (bt_tensor_dtype(call->result) == BT_UINT64)
        bt_formula_add(f, "y: uint64[$i] = bit_or(shift_left(uint64(word0[$i]), 32), "
                          "uint64(word1[$i]))");
    else
        bt_formula_add(f, "y: dtype[$i] = dtype(bit_xor(word0[$i], word1[$i]))");
}

/* ---- rows ---- */

static const bt_op_input seed_in[] = {
    { .name = "seed", .type = "s:integer[]", .doc = "a number" },
    { 0 },
};
static const bt_op_input key_in[] = { KEY_INPUT, { 0 } };
static const bt_op_input fold_in[] = {
    KEY_INPUT,
    { .name = "data", .type = "s:integer[]", .doc = "a number, such as that of a step" },
    { 0 },
};

// clang-format off
static const bt_op ops[] = {
    {
        .name = "random.threefry_key", .revision = 1, .source = "Relay, random.threefry_key; jax.random.key",
        .doc = "The key of a seed: its upper and its lower 32 bits.",
        .inputs = seed_in, .relate = relate_key,
        .formula = "y: uint32[j in 2] = select(j == 0, uint32(shift_right(int64(seed[]), 32)), uint32(seed[]))",
        .facets = BT_FACET_ROWS(BT_CASES(
            "int32[] = 5 -> [0, 5]\n"
            "int64[] = -4000000000000000000..4000000000000000000\n"
            "uint64[] = 0..9000000000000000000\n"
            "int8[] = -128..127")),
    },
    {
        .name = "random.threefry_split", .revision = 1, .source = "Relay, random.threefry_split; jax.random.split",
        .doc = "Keys from a key, one a row, each independent of the others.",
        .inputs = key_in, .attrs = split_attrs, .attrs_nbytes = sizeof(struct split_attrs),
        .relate = relate_split, .write_formula = write_split,
        .facets = BT_FACET_ROWS(BT_CASES(
            "uint32[2] = [0, 42] -> [[1832780943, 270669613], [64467757, 2916123636]]\n"
            "uint32[2] = 0..4294967295 | num=3\n"
            "uint32[2] = [0, 0] | num=0")),
    },
    {
        .name = "random.threefry_fold_in", .revision = 1, .source = "jax.random.fold_in",
        .doc = "A key from a key and a number: of another number another key.",
        .inputs = fold_in, .relate = relate_fold_in, .write_formula = write_fold_in,
        .facets = BT_FACET_ROWS(BT_CASES(
            "uint32[2] = [0, 0], int32[] = 0 -> [1797259609, 2579123966]\n"
            "uint32[2] = [4294967295, 4294967295], int32[] = 7 -> [921105589, 916768269]\n"
            "uint32[2] = 0..4294967295, uint64[] = 0..9\n"
            "uint32[2] = 0..4294967295, int8[] = -9..9")),
    },
    {
        .name = "random.threefry_generate", .revision = 1, .source = "Relay, random.threefry_generate; jax.random.bits",
        .doc = "Random words by a key: every number of an unsigned type equally often.",
        .inputs = key_in, .attrs = generate_attrs, .attrs_nbytes = sizeof(struct generate_attrs),
        .relate = relate_generate, .write_formula = write_generate,
        .facets = BT_FACET_ROWS(BT_CASES(
            "uint32[2] = [0, 0] | shape=[] -> 4070199207\n"
            "uint32[2] = [0, 0] | shape=[], dtype=\"uint64\" -> 7719171245655871230\n"
            "uint32[2] = 0..4294967295 | shape=[2, 3]\n"
            "uint32[2] = 0..4294967295 | shape=[5, 2, 3], dtype=\"uint8\"\n"
            "uint32[2] = 0..4294967295 | shape=[40], dtype=\"uint16\"\n"
            "uint32[2] = 0..4294967295 | shape=[0, 3], dtype=\"uint64\"\n"
            "uint32[2] = 0..4294967295 | shape=[37], dtype=\"uint64\"")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_random_threefry[] = { BT_OPS(ops), { 0 } };
