# Imports reach libraries of plugins and files of the text's own folder, nothing else, and have limits.
. "$(dirname "$0")/kit.sh"

text() { # FILE LINE...
    file=$1; shift
    { echo '#[version = "baton 0.1"]'; printf '%s\n' "$@"; } > "$file"
}

expect 0 '^prelude  *All of' -- "$baton" list libraries
expect 0 '^list (baton.prelude)' '^import "option"' '^type List\[A\] {' '    Cons(A, List\[A\]),' \
    '^// How many elements there are' '^def @length<A>(%xs: List\[A\]) -> int32$' -- "$baton" list libraries list
expect 1 'there is no library lisp; baton list libraries shows all' -- "$baton" list libraries lisp
expect 0 'library "list"' 'baton.prelude' -- "$baton" plugin why list

# Not by a link, not what is no file, not upwards, not what is not there, not from a text without a folder.
mkdir -p inside
text outside.baton 'def @f() { 1 }'
ln -s ../outside.baton inside/link.baton
mkfifo inside/pipe.baton
for name in link.baton pipe.baton ../outside.baton "$PWD/outside.baton" missing.baton ''; do
    text inside/p.baton "import \"$name\"" 'def @main() { @f() }'
    expect 1 'p.baton:2:8: error: import "' -- "$baton" opt inside/p.baton
done

# A text names what stands beside it, whoever imports it; a file that two texts name differently is one text.
mkdir -p inside/sub/deep
text inside/sub/a.baton 'import "c.baton"' 'import "deep/d.baton"' 'def @a() { (@c(), @d()) }'
text inside/sub/c.baton 'type Two { Two(int32) }' 'def @c() { 3 }'
text inside/sub/deep/d.baton 'import "prelude"' 'def @d() { 4 }'
text inside/p.baton 'import "sub//./c.baton"' 'import "sub/a.baton"' 'def @main() { (@a(), @c()) }'
expect 0 "(3, 4)" -- "$baton" run inside/p.baton --executor interp
(cd inside && expect 0 "(3, 4)" -- "$baton" run p.baton --executor interp)
text inside/sub/deep/d.baton 'import "../c.baton"' 'def @d() { @c() }'
expect 1 'sub/deep/d.baton:2:8: error: import "../c.baton"' 'goes up by ".."' -- "$baton" opt inside/p.baton
text inside/sub/deep/d.baton "import \"$PWD/inside/sub/c.baton\"" 'def @d() { @c() }'
expect 1 'sub/deep/d.baton:2:8: error: import' 'is absolute' -- "$baton" opt inside/p.baton
text inside/sub/c.baton 'import "a.baton"' 'def @c() { 3 }'
expect 1 'go in a circle: inside/sub/c.baton -> inside/sub/a.baton -> inside/sub/c.baton' -- "$baton" opt inside/p.baton

# As many texts as there may be, each imported by the one before it; then one more.
for i in $(seq 1 255); do
    text "t$i.baton" "import \"t$((i + 1)).baton\"" "def @f$i() { @f$((i + 1))() }"
done
text t255.baton 'def @f255() { 255 }'
text chain.baton 'import "t1.baton"' 'def @main() { @f1() }'
expect 0 '255' -- "$baton" run chain.baton --executor interp
text t255.baton 'import "t256.baton"' 'def @f255() { @f256() }'
text t256.baton 'def @f256() { 256 }'
expect 1 't255.baton:2:8: error: import "t256.baton": more than 256 texts' -- "$baton" opt chain.baton

# What is printed stands alone.
text alone.baton 'import "list"' 'def @main() { @length(Cons(1, Nil())) }'
expect 0 -- "$baton" opt alone.baton -o printed.baton
expect 1 -- grep -q import printed.baton
expect 0 'output: int32' -- "$baton" run printed.baton --executor interp

# A plugin of libraries needs no code but its texts; one name from two plugins is an error that names both.
mkdir -p plugins/more
text plugins/more/shout.baton 'def @shout() { 7 }'
cat > plugins/more.baton.json <<'END'
{ "id": "org.example.more", "version": "1.0.0", "license": "MIT", "abi": { "major": 0, "needs": 1, "built": 1 },
  "provides": { "libraries": [ { "name": "shout", "path": "more/shout.baton" } ] } }
END
text p.baton 'import "shout"' 'def @main() { @shout() }'
BATON_PLUGIN_PATH=$PWD/plugins expect 0 '7' -- "$baton" run p.baton --executor interp
expect 0 'has no code' 'ok  *library list' -- "$baton" plugin check baton.prelude

# What no program uses is looked at where a plugin is checked.
text plugins/more/shout.baton 'def @shout() { 7 }' 'def @unused(%x: float32) { add(%x, True) }'
BATON_PLUGIN_PATH=$PWD/plugins expect 0 '7' -- "$baton" run p.baton --executor interp
BATON_PLUGIN_PATH=$PWD/plugins expect 1 'FAILED  library shout' 'shout.baton:3:28: error: add: dtypes of lhs and of rhs' -- \
    "$baton" plugin check org.example.more

# An error in a library says where the program calls it; one of the program's own file is as it was.
cat > calls.baton <<'END'
#[version = "baton 0.1"]
import "list"
def @first(%x: int32, %k: int32) -> int32 {
    if (%k == 0) {
        @hd(@tl(Cons(%x, Nil))) + 1
    } else {
        1 + @first(%x, %k - 1)
    }
}
def @main(%x: int32) { @first(%x, 2) * 2 }
END
for how in '--executor interp' '--executor vm'; do
    expect 1 'list.baton:[0-9:]* error: no clause of this match fits' '^calls.baton:7:13: note: called here' -- \
        "$baton" run calls.baton -i x=3 $how
done
expect 1 '^calls.baton:5:9: note: called here' -- "$baton" run calls.baton -i x=3 --executor interp --passes ''
sed 's/import "list"/type List[A] { Nil, Cons(A, List[A]) } def @tl(%l: List[int32]) { match? (%l) { Cons(_, %r) => %r } } def @hd(%l: List[int32]) { match? (%l) { Cons(%x, _) => %x } }/' \
    calls.baton > own.baton
expect 1 'own.baton:[0-9:]* error: no clause of this match fits' -- "$baton" run own.baton -i x=3
refuse 'called here'
