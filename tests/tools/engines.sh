# Target cpu with compilers of C that are missing, die, hang or lie: the engine that was asked for says what happened; `auto` goes to
# bytecode, which gives the same numbers, and `baton info` tells why. Caches that cannot be used or trusted change nothing but time.
. "$(dirname "$0")/kit.sh"
digits=$here/../../sdk/examples/digits/digits.baton
unset BATON_CACHE XDG_CACHE_HOME
HOME=$work/home
export HOME

# run_by ENGINE OPTIONS: the digits by an engine, with options of its compiler.
run_by() {
    quoted=$(printf '%s' "$2" | sed 's/"/\\"/g')
    "$baton" run "$digits" --target "cpu{engine=\"$1\", compiler=\"$quoted\", threads=1}" -i image=random:1
}
info_by() {
    quoted=$(printf '%s' "$2" | sed 's/"/\\"/g')
    "$baton" info "$digits" --target "cpu{engine=\"$1\", compiler=\"$quoted\", threads=1}"
}
expect 0 '^scores: ' -- run_by bytecode ''
cp out expected
same() {
    cmp -s out expected || fault "other numbers than bytecode's: $command"
}

# program BODY: a script in the place of a compiler.
program() {
    printf '#!/bin/sh\n%s\n' "$1" > program
    chmod +x program
}
# not_tcc MESSAGE [OPTION]: the program in the place of baton-tcc.
not_tcc() {
    options="helper=\"$work/program\"${2:-}"
    expect 1 "^error: .*$1" -- run_by tcc "$options"
    expect 0 "engine: bytecode, as tcc does not work: .*$1" -- info_by auto "$options"
    expect 0 -- run_by auto "$options"
    same
}
# not_cc MESSAGE [OPTION]: the program in the place of the system's compiler, with the cache off.
not_cc() {
    expect 1 "error: .*$1" -- run_by cc "command=\"$work/program\", cache=\"off\"${2:-}"
}

# ---- baton-tcc ----
rm -f program
not_tcc 'there is no program .*/program: it is built where libtcc is there'
printf 'no script' > program
not_tcc 'is not executable'
chmod +x program
not_tcc 'cannot be run'
program 'kill -9 $$'
not_tcc 'was killed by signal 9 (Killed)'
program 'head -c 100 > /dev/null; kill -11 $$'
not_tcc 'was killed by signal 11'
program 'exec sleep 1000'
not_tcc 'did not end in 300 ms, and was killed' ', deadline_ms=300'
program 'while :; do :; done'
not_tcc 'did not end in 300 ms, and was killed' ', deadline_ms=300'
program 'exec tail /dev/zero' # until its own limit
not_tcc 'tcc failed on kernels: .*memory' ', memory_mb=64'
program 'exec head -c 40000000 /dev/zero'
not_tcc 'wrote more than 16777216 bytes' ', memory_mb=16'
program 'exec <&- >&- 2>&-'
not_tcc 'tcc: kernels: the helper program gave no object'
program 'echo garbage'
not_tcc 'gave 8 bytes that are no object'
program 'head -c 3 /dev/zero; exit 3'
not_tcc 'tcc failed on kernels without saying why'
program "printf '\\177ELF1234567'"
not_tcc 'object tcc is no ELF file'
program 'echo "int f(void) { return 0; }" | cc -x c -c -o /proc/self/fd/1 -'
command -v cc > /dev/null && not_tcc 'its object has no kernel_0'

# ---- the system's compiler ----
rm -f program
not_cc 'there is no program .*/program: install a C compiler'
expect 1 'there is no program no-such-compiler in PATH' -- run_by cc 'command="no-such-compiler"'
program 'kill -9 $$'
not_cc 'was killed by signal 9 (Killed)'
program 'exec sleep 1000'
not_cc 'did not end in 300 ms, and was killed' ', deadline_ms=300'
program 'echo "cc1: out of memory allocating 65536 bytes" >&2; exit 1'
not_cc 'no memory: the option memory_mb allows 4096 MiB'
program 'echo "kernels:7: error: it cannot be" >&2; exit 1'
not_cc 'it cannot be'
program 'exit 1'
not_cc 'cc failed on kernels without saying why'
program 'exit 0'
not_cc 'gave no object'
program 'echo garbage'
not_cc 'gave 8 bytes that are no object'
program "printf '\\177ELF1234567'"
not_cc 'object cc is no ELF file'

# ---- the cache ----
command -v cc > /dev/null || exit 0
cached() { # CACHE: runs right, whatever there is to say of the cache
    expect 0 -- run_by cc "cache=\"$1\""
    grep -v '^note: .*: compiled without the cache' out > numbers
    cmp -s numbers expected || fault "other numbers than bytecode's: $command"
}
said() {
    grep -q -e "$1" out || fault "expected \"$1\" of: $command"
}
cached "$work/cache"
refuse 'without the cache'
[ "$(ls "$work/cache" | wc -l)" = 2 ] || fault "two objects, of what packs the weights and of the program, found: $(ls "$work/cache")"
entry=$(ls -S "$work/cache" | head -n 1)
size=$(wc -c < "$work/cache/$entry")
cached "$work/cache"
refuse 'without the cache'

cp "cache/$entry" whole
printf x | dd of="cache/$entry" bs=1 seek=$((size / 2)) conv=notrunc 2> /dev/null
cached "$work/cache"
said 'is damaged: compiled without the cache'
cached "$work/cache" # and put right
refuse 'without the cache'
for n in 0 40 80 $((size - 1)); do
    head -c $n whole > "cache/$entry"
    cached "$work/cache"
    said 'is damaged: compiled without the cache'
done
chmod g+w "cache/$entry"
cached "$work/cache"
said 'may be written by others: compiled without the cache'
rm -f "cache/$entry" && ln -s ../whole "cache/$entry"
cached "$work/cache"
said 'compiled without the cache'
rm -f "cache/$entry" && mkfifo "cache/$entry"
cached "$work/cache"
said 'is not a file: compiled without the cache'
rm -f "cache/$entry"
chmod g+w cache
cached "$work/cache"
said 'may be written by others: compiled without the cache'
chmod 0700 cache
cached /dev/full
said 'compiled without the cache'
cached /proc/nowhere
said 'compiled without the cache'
if [ "$(id -u)" = 0 ]; then # who may write everywhere, and give files away
    cached "$work/cache"
    chown 12345 "cache/$entry"
    cached "$work/cache"
    said 'belongs to somebody else: compiled without the cache'
    chown 12345 cache
    cached "$work/cache"
    said 'belongs to somebody else: compiled without the cache'
else
    rm -f "cache/$entry" && chmod 0500 cache
    cached "$work/cache"
    said 'Permission denied: compiled without the cache'
    chmod 0700 cache
fi
# A disk without room is in tests/compile/fail.c.
