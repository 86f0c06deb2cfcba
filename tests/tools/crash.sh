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
