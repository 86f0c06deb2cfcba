/* Programs that reach what executor vm does, compiled for target reference: fuzz_vm replaces
 * their code, fuzz_planned changes what their artifacts hold. */
#ifndef FUZZ_VM_PROGRAMS_H
#define FUZZ_VM_PROGRAMS_H

#include <string.h>

#include <baton/compiled.h>
#include <baton/ir.h>

/* All take @main(%x: Tensor[(3), float32], %n: int64). */
static const char *const vm_programs[] = {
    // calls, recursion, data, closures, references, scalars
    "#[version = \"baton 0.1\"]\n"
    "type L { Nil, Cons(int64, L), }\n"
    "def @upto(%n: int64) -> L {\n"
    "    if (less(%n, 1i64)) { Nil } else { Cons(%n, @upto(subtract(%n, 1i64))) }\n"
    "}\n"
    "def @add(%a: int64, %b: int64) -> int64 { add(%a, %b) }\n"
    "def @fold(%f: fn (int64) -> int64, %l: L, %s: int64) -> int64 {\n"
    "    match (%l) { Nil => %s, Cons(%x, %r) => @fold(%f, %r, add(%s, %f(%x))), }\n"
    "}\n"
    "def @main(%x: Tensor[(3), float32], %n: int64) -> (int64, float32, int64, bool) {\n"
    "    %c = ref(%n);\n"
    "    %f = fn (%y: int64) -> int64 { @add(%n, %y) };\n"
    "    %s = @fold(%f, @upto(%n), 0i64);\n"
    "    %w = ref_write(%c, %s);\n"
    "    %t = (%s, sum(exp(%x)));\n"
    "    (%t.0, %t.1, ref_read(%c), less(cast(%n, dtype=\"float32\"), %t.1))\n"
    "}\n",
    // kernels with known and open dims, tensors in data, dims that a run finds out
    "#[version = \"baton 0.1\"]\n"
    "type T { Leaf, Node(T, Tensor[(3), float32], T), }\n"
    "def @grow(%x: Tensor[(3), float32], %n: int64) -> T {\n"
    "    if (less(%n, 1i64)) { Leaf }\n"
    "    else { Node(@grow(tanh(%x), subtract(%n, 1i64)), exp(%x), Leaf) }\n"
    "}\n"
    "def @sum(%t: T, %s: Tensor[(3), float32]) -> Tensor[(3), float32] {\n"
    "    match (%t) { Leaf => %s, Node(%l, %x, %r) => add(@sum(%l, %x), @sum(%r, %s)), "
    "}\n"
    "}\n"
    "def @all<n: Dim>(%x: Tensor[(n), float32]) -> Tensor[(n), float32] {\n"
    "    if (less(sum(%x), 1f)) { exp(%x) } else { multiply(%x, %x) }\n"
    "}\n"
    "def @main(%x: Tensor[(3), float32], %n: int64) {\n"
    "    %t = @sum(@grow(%x, %n), %x);\n"
    "    (@all(concatenate((%t, %x))), argwhere(%t))\n"
    "}\n",
    // a loop that writes rows in place, of tensors that are carried and seen in other shapes
    "#[version = \"baton 0.1\"]\n"
    "def @rows(%i: int64, %n: int64, %s: Tensor[(4, 3), float32],\n"
    "          %x: Tensor[(3), float32]) -> Tensor[(4, 3), float32] {\n"
    "    if (less(%i, %n)) {\n"
    "        %row = reshape(nn.softmax(take(%s, %i, axis=0)), newshape=[1, 3]);\n"
    "        %s1 = scatter_nd(%s, reshape(add(%i, 1i64), newshape=[1, 1]), %row);\n"
    "        @rows(add(%i, 1i64), %n, %s1, tanh(%x))\n"
    "    } else { add(%s, %x) }\n"
    "}\n"
    "def @main(%x: Tensor[(3), float32], %n: int64) {\n"
    "    %s = @rows(0i64, %n, broadcast_to(exp(%x), shape=[4, 3]), %x);\n"
    "    (%s, sum(reshape(%s, newshape=[12])), nn.dense(%s, %s))\n"
    "}\n",
};

static inline bt_status vm_compile_typed(bt_ctx *ctx, const bt_module *typed,
                                         bt_compiled **out)
{
    const bt_compile_options options = { .targets = "reference",
                                         .entry = "main",
                                         .has_control_flow = 1 };
    bt_module *fused;
    BT_TRY(bt_fuse(ctx, typed, &options, &fused));
    bt_status status = bt_compile(ctx, fused, &options, out);
    bt_module_unref(fused);
    return status;
}

static inline bt_status vm_compile_program(bt_ctx *ctx, uint32_t number,
                                           bt_compiled **out)
{
    const char *text = vm_programs[number];
    bt_module *parsed, *typed;
    BT_TRY(bt_parse(ctx, "fuzz", NULL, text, strlen(text), &parsed));
    bt_status status = bt_infer(ctx, parsed, &typed);
    bt_module_unref(parsed);
    BT_TRY(status);
    status = vm_compile_typed(ctx, typed, out);
    bt_module_unref(typed);
    return status;
}

#endif
