# For the scripts beside this one: `. "$(dirname "$0")/kit.sh"` gives $baton, $here (this folder), $wrong and $targets (folders of
# plugins), an empty working folder, and
#     expect CODE [TEXT]... -- COMMAND...     runs a command: its exit code and, in what it prints, each TEXT (basic regular expressions)
#     refuse TEXT...                          the last command printed none of them
# At the end of the script its exit code says whether all went as expected.
set -u
here=$(cd "$(dirname "$0")" && pwd)
baton=$1
work=$2
wrong=$3
targets=${4-}
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
unset BATON_PLUGIN_PATH BATON_PLUGIN_USE
faults=0
trap '[ "$faults" = 0 ] || exit 1' EXIT

fault() {
    echo "$1"
    echo "---- it printed:"
    cat out
    faults=$((faults + 1))
}

expect() {
    wanted=$1
    shift
    texts=""
    while [ "$1" != -- ]; do
        texts="$texts$1
"
        shift
    done
    shift
    command="$*"
    "$@" > out 2>&1
    code=$?
    [ "$code" = "$wanted" ] || fault "exit code $code, expected $wanted: $command"
    printf '%s' "$texts" > texts
    while IFS= read -r text; do
        grep -q -e "$text" out || fault "expected \"$text\" of: $command"
    done < texts
}

refuse() {
    for text in "$@"; do
        ! grep -q -e "$text" out || fault "did not expect \"$text\" of: $command"
    done
}
