# A plugin's code that crashes: the last line names it, and the program ends as it would have.
. "$(dirname "$0")/kit.sh"
BATON_PLUGIN_PATH=$targets
export BATON_PLUGIN_PATH
cat > x.baton <<'END'
#[version = "baton 0.1"]
def @main(%x: Tensor[(2, 3), float32]) { negative(%x) }
END

# died TEXT OPTION...: by a signal, or as a sanitizer ends programs.
died() {
    text=$1
    shift
    "$baton" run x.baton -i x=random:1 "$@" > out 2>&1
    code=$?
    [ "$code" -gt 128 ] || grep -q Sanitizer out || fault "exit code $code, expected a signal: $*"
    grep -q -e "$text" out || fault "expected \"$text\" of: $*"
}
died '^error: target liar{fault="crash"}, kernel fused_negative: the kernel crashed (SIG.*); buffers\[0\] to buffers\[1\] are what it has$' \
    --target 'liar{fault="crash"},reference'
died '^error: target liar{fault="crash"}, kernel fused_negative: the kernel crashed (SIG.*); buffers\[0\] to buffers\[1\] are what it has$' \
    --target 'liar{fault="crash"},reference' --check-kernels
expect 1 'fused_negative writes to a buffer that its call does not have: of 1 inputs and 1 outputs' -- \
    "$baton" run x.baton -i x=random:1 --target 'liar{fault="third"},reference' --check-kernels

# Elsewhere nothing is said.
expect 0 -- "$baton" run x.baton -i x=random:1 --target liar,reference --check-kernels
refuse crashed

# So does what else of a plugin runs: plain C, type relations, hooks, passes, importers.
BATON_PLUGIN_PATH=$wrong
program() { printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(2, 3), float32]) { %s }\n' "$1" > x.baton; }
program 'wrong.crash(%x)'
died '^error: plugin test.wrong, plain C of wrong.crash: it crashed (SIGSEGV at address 0x1)' --passes=
program 'wrong.crash_relate(%x)'
died '^error: plugin test.wrong, the type relation of wrong.crash_relate: it crashed (SIGSEGV at address 0x1)$'
program 'wrong.crash_hook(%x)'
died '^error: plugin test.wrong, the formula hook of wrong.crash_hook: it crashed (SIGSEGV at address 0x1)'
program 'exp(%x)'
died '^error: plugin test.wrong, pass wrong-crash: it crashed (SIG' --passes wrong-crash
cp x.baton x.wrong
"$baton" run x.wrong -i 1 > out 2>&1
grep -q '^error: plugin test.wrong, importer wrong: it crashed (SIG' out || fault "the importer is not named"

# Hooks of a target and threads of its own: the plugin's file and the function, and what Baton had called.
program 'negative(%x)'
died "^error: plugin tests.tools.device.so, function \(enter: .*, called by \)*supports.*SIGSEGV at address 0x0).*, called by pass [a-z-]*\$" \
    --target 'device.claims{crash="supports"},reference'
for function in alloc_block open_queue enqueue_copy wait_for free_block; do
    died "^error: plugin tests.tools.device.so, function $function: it crashed (SIGSEGV at address 0x0)\|, called by $function\$" \
        --target "device{crash=\"$function\"}"
done
died '^error: plugin tests.tools.device.so, a thread of its own, function \(run: it crashed (SIGSEGV at address 0x0), called by \)*work' \
    --target 'device{crash="run"}'
expect 0 -- "$baton" run x.baton -i x=random:1 --target device --check-kernels

# Hooks of derivatives while a plugin is checked: of its own operator, and of one of another plugin that it gives a facet.
mkdir hooks
cat > hooks/hooks.baton.json <<'END'
{ "id": "org.example.hooks", "version": "1.0.0", "license": "Apache-2.0", "doc": "Hooks.", "abi": { "major": 0, "needs": 1, "built": 1 }, "sources": [ "hooks.c" ] }
END
# hooks BODY OPERATOR: the operator `example.square`, and OPERATOR's facet `gradient`, whose hook has that body
hooks() {
    cat > hooks/hooks.c <<END
#include <baton/op.h>
static bt_status hook(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    $1
}
static const bt_op_input inputs[] = { { .name = "x", .type = "t:float[..]" }, { 0 } };
static const bt_op ops[] = {
    { .name = "example.square", .revision = 1, .doc = "A square.", .inputs = inputs, .relation = "Identity",
      .formula = "y: t[..] = x[..] * x[..]", .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3]")) },
    { 0 },
};
static const bt_gradient_facet gradient = { .vjp = hook };
static const bt_facet facets[] = {
    { .facet = "gradient", .op = "$2", .priority = 10, .table_nbytes = sizeof(gradient), .table = &gradient },
    { 0 },
};
const bt_table bt_hooks_hooks[] = { BT_OPS(ops), BT_FACETS(facets), { 0 } };
END
    expect 0 -- "$baton" plugin describe "$work/hooks/hooks.baton.json" --write
}
BATON_PLUGIN_PATH=$work/hooks
for name in example.square tanh; do
    hooks '*(volatile char *)(unsigned long)c->nin = 0; (void)b, (void)to; return 0;' $name
    "$baton" plugin check org.example.hooks > out 2>&1
    code=$?
    [ "$code" -gt 128 ] || grep -q Sanitizer out || fault "exit code $code, expected a signal: the hook of $name"
    grep -q "^error: plugin org.example.hooks, the vjp hook of $name: it crashed (SIGSEGV at address 0x1)" out ||
        fault "the hook of $name is not named"
    grep -q "^$name\$" out || fault "what was tried before a crash is not told"
done

# One that gives something else than the derivative is found on the cases of the operator.
hooks 'to[0] = c->seeds[0]; (void)b; return 0;' tanh
expect 1 '^tanh$' 'vjp: along a direction the adjoint of input 0 (data) comes to ' '^2 operators, 1 with faults' -- "$baton" plugin check org.example.hooks
expect 1 '^tanh$' '^1 operator, 1 with faults' -- "$baton" plugin check org.example.hooks tanh
hooks 'return bt_formula_vjp(b, c, to);' tanh
expect 0 '^tanh$' '^2 operators, 0 with faults' -- "$baton" plugin check org.example.hooks
hooks 'return bt_formula_vjp(b, c, to);' no.such
expect 1 'FAILED  facet gradient: no op is named "no.such"' '^1 operator, 0 with faults; 1 case, 0 failed$' '^1 fault in what it provides besides operators$' -- \
    "$baton" plugin check org.example.hooks
hooks 'return bt_formula_vjp(b, c, to);' tanh
expect 1 'plugin org.example.hooks has no operator sin, and adds to none of this name' -- "$baton" plugin check org.example.hooks sin

# One that does not come back, leaves a block open, or fails: the hook, the operator and the call are named.
hooks 'for (volatile int i = 0; c; i++) {} (void)b, (void)to; return 0;' tanh
expect 1 'error: operator tanh, case float32.*: it has not come back for 1 s (--timeout), in the vjp hook of tanh' -- \
    "$baton" plugin check org.example.hooks tanh --timeout 1
hooks 'BT_TRY(bt_block_begin(b, 0, NULL)); to[0] = c->seeds[0]; return 0;' tanh
expect 1 'the vjp hook of tanh: a block is left open: bt_block_end ends what bt_block_begin began' -- "$baton" plugin check org.example.hooks tanh
hooks '(void)to, (void)c; return bt_fail(bt_builder_ctx(b), BT_ERR_ARGUMENT, "it does not want to");' tanh
expect 1 'the vjp hook of tanh: it does not want to' -- "$baton" plugin check org.example.hooks tanh
hooks 'for (unsigned i = 0; i < 8; i++) to[i] = c->seeds[0]; (void)b; return 0;' tanh
expect 1 'the vjp hook of tanh: it writes behind the values that it is to give' -- "$baton" plugin check org.example.hooks tanh
hooks 'to[0] = (const bt_value *)4096; (void)b, (void)c; return 0;' tanh
"$baton" plugin check org.example.hooks tanh > out 2>&1
grep -q '^error: plugin org.example.hooks, the vjp hook of tanh: it crashed (SIGSEGV' out || fault "a value that is none is not named"
