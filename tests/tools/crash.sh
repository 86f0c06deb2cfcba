# A target's code that crashes: the last line names the kernel, and the program ends as it would have.
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
died '^error: target liar{fault="crash"}, kernel fused_negative: the kernel crashed (SIG.*); --check-kernels of baton run may say more$' \
    --target 'liar{fault="crash"},reference'
died '^error: target liar{fault="crash"}, kernel fused_negative: the kernel crashed (SIG.*); buffers\[0\] to buffers\[1\] are what it has$' \
    --target 'liar{fault="crash"},reference' --check-kernels
died ': the kernel crashed (SIGSEGV at address 0x0); buffers\[0\] to buffers\[1\] are what it has$' \
    --target 'liar{fault="third"},reference' --check-kernels

# Elsewhere nothing is said.
expect 0 -- "$baton" run x.baton -i x=random:1 --target liar,reference --check-kernels
refuse crashed
