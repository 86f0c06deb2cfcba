# Lists of passes, pipelines and what they are run with: nothing that is asked for is lost.
. "$(dirname "$0")/kit.sh"

cat > p.baton <<'END1'
#[version = "baton 0.1"]

def @main(%x: float32) { add(%x, 1f) }
END1
opt() { # CODE TEXT OPTION...
    code=$1
    text=$2
    shift 2
    expect "$code" "$text" -- "$baton" opt p.baton "$@"
}
opt 2 'require needs passes: give --passes or --pipeline' --require nosuch
opt 2 'disable needs passes' --disable nosuch
opt 2 'set needs passes' --set a=b
opt 2 'dump-after needs passes' --dump-after nosuch
opt 2 'passes and --pipeline are two lists' --passes dead-code --pipeline default
expect 2 'passes and --pipeline are two lists' -- "$baton" run p.baton -i 1 --passes dead-code --pipeline default
opt 2 'send what --print shows to a file' --print cfg -o shown
opt 2 'send what --kernels shows to a file' --kernels lowered -o shown
[ ! -e shown ] || fault "a view was written as a program"
expect 0 -- "$baton" opt p.baton --print anf -o shown
opt 1 'pass "nosuch"' --passes dead-code --require nosuch
opt 1 'no pass "ded-code".*did you mean dead-code\|"ded-code"' --passes dead-code --disable ded-code
opt 1 '"ded-code"' --passes dead-code --dump-before ded-code
opt 1 '"ded-code"' --pipeline default --dump-after ded-code
opt 0 'add' --passes dead-code --dump-after dead-code
opt 1 'data is "NCHW"; a layout such as NCHW8c' --passes 'alter-layout{data=NCHW}'
opt 0 'add' --passes dead-code --dump-after '*'
opt 1 'neither a variable nor an option of a pass named "a"' --passes dead-code --set a=b
expect 2 'PIPELINE is empty' -- "$baton" pipeline check ''
expect 1 'no option "max-byte": it has max-bytes; did you mean max-bytes?' -- "$baton" pipeline check 'fold-constant{max-byte=1}'
expect 1 'is -1, expected at least 0' -- "$baton" pipeline check 'fold-constant{max-bytes=-1}'

# Passes that do not run are told by a check, names of options as they are written.
printf '{ "name": "mine", "sequence": [ "dead-code", "fold-scale-axis", { "sequence": [ "inline" ], "level": 4 } ] }' > mine.json
expect 0 'every pass is known' 'note: fold-scale-axis does not run: it is of level 3, and this is level 2; "level": 3 of the pipeline or --opt-level 3 changes that' \
    'note: a sequence does not run: it is of level 4' -- "$baton" pipeline check mine.json
refuse 'dead-code does not'
expect 0 'every pass is known' -- "$baton" pipeline check mine.json --opt-level 4
refuse note
expect 0 '"max-bytes": 8' -- "$baton" pipeline resolve 'fold-constant{max_bytes=8}'

# Pipelines of another stage.
expect 0 'note: plan-memory finds nothing to plan: it is of lowered programs, which --plan names' -- "$baton" run p.baton -i 1 --pipeline plan
printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(0), float32]) { exp(%%x) }\n' > empty.baton
expect 0 'output: Tensor\[(0), float32\]' -- "$baton" run empty.baton -i x=0xfloat32=1 --target cpu
refuse plan-memory
expect 0 -- "$baton" run p.baton -i 1 --target reference
refuse note
expect 1 'is not computed by a primitive function, as pass fuse-ops makes them, in pipeline fuse or what --fuse names: executor interp' \
    -- "$baton" run p.baton -i 1 --executor graph --target reference --fuse dead-code

# A contribution that cannot work is told with its plugin.
mkdir plugin
contribute() {
    printf '{"id": "org.example.gives", "version": "0.1.0", "license": "Apache-2.0",\n%s "provides": {},\n"contributes": [%s]}\n' \
        '"abi": {"major": 0, "needs": 1, "built": 1},' "$1" > plugin/gives.baton.json
}
BATON_PLUGIN_PATH=$PWD/plugin
export BATON_PLUGIN_PATH
contribute '{"slot": "after-simplify", "pass": "nosuch"}'
cat > with_slot.json <<'END1'
{ "name": "with-slot", "sequence": [ { "slot": "after-simplify" } ] }
END1
expect 1 'nosuch' 'plugin org.example.gives contributes it to the pipeline' -- "$baton" pipeline check with_slot.json
expect 0 'note: no pass is named "nosuch"' 'plugin org.example.gives contributes it to the pipeline.*; the run goes on without it' -- \
    "$baton" run p.baton -i 1
contribute '{"slot": "after-simplfy", "pass": "dead-code"}, {"slot": "after-simplify", "pass": "dead-cod"}, {"slot": "after-simplify", "pass": "dead-code"}'
expect 1 '^  FAILED  no pipeline has slot after-simplfy; did you mean after-simplify?$' '^  FAILED  no pass is named "dead-cod"; did you mean dead-code?$' \
    '^  ok      its step is known, and runs in its place$' -- "$baton" plugin check org.example.gives
for pipeline in '' '--pipeline default'; do
    expect 0 "note: plugin org.example.gives contributes to slot after-simplfy, which no pipeline has; did you mean after-simplify?: it is not run (.*gives" \
        -- "$baton" run p.baton -i 1 $pipeline
done
expect 0 'note: plugin org.example.gives contributes to slot after-simplfy, which no pipeline has' -- "$baton" opt p.baton --pipeline default
expect 0 -- "$baton" opt p.baton --passes dead-code
refuse note
contribute '{"slot": "after-simplify", "pass": "fold-constant", "options": {"max-byte": 3}}'
expect 1 'fold-constant has no option "max-byte"' -- "$baton" plugin check org.example.gives
# What does not fit is left out of a run, and so is what is refused with its whole manifest.
for wrong_step in '"pass": "fold-constant", "options": {"max-bytes": "much"} @ expected an integer, found `much`' \
    '"sequence": [ "dead-code", {"pass": "fold-constant", "options": {"max-bytes": -1}} ] @ is -1, expected at least 0'; do
    contribute '{"slot": "after-simplify", "pass": "dead-code"}, {"slot": "after-simplify", '"${wrong_step%% @*}"'}'
    expect 0 "gives.baton.json:3:.*: note: .*${wrong_step##*@ }" \
        'plugin org.example.gives contributes it to the pipeline (.*; the run goes on without it' '  2f$' -- "$baton" run p.baton -i 1
    expect 0 'dead-code' 'note: ' -- "$baton" pipeline resolve with_slot.json
    [ "$(grep -c '"pass": "dead-code"' out)" = 1 ] || fault "of two contributions the wrong one is left out whole"
    refuse '"pass": "fold-constant"'
    expect 1 "${wrong_step##*@ }" -- "$baton" plugin check org.example.gives
done
contribute '{"slot": "after-simplify", "pass": "fold-constant", "optoins": {"max-bytes": 3}}'
expect 0 'note: /contributes/0/optoins: unknown field "optoins": .*did you mean options?' \
    'plugin org.example.gives is refused: what it contributes to pipelines is not run (.*gives.baton.json)' -- "$baton" run p.baton -i 1
BATON_PLUGIN_PATH=$PWD/plugin:$wrong
contribute '{"slot": "after-simplify", "pass": "wrong-needs"}'
expect 0 'note: wrong-needs needs wings, which no pass gives' 'plugin org.example.gives contributes it .*; the run goes on without it' '  2f$' -- \
    "$baton" run p.baton -i 1
expect 1 'wrong-needs needs wings' -- "$baton" plugin check org.example.gives
# One that fails on programs is found by a check; for others its plugin is named.
contribute '{"slot": "after-simplify", "pass": "wrong-fails"}'
expect 1 '^  FAILED  wrong as ever$' -- "$baton" plugin check org.example.gives
expect 1 'in pass wrong-fails, run [0-9]* of the pipeline default' 'note: plugin org.example.gives contributes it to the pipeline (.*)$' -- \
    "$baton" run p.baton -i 1
rm -rf broken && mkdir broken && cp "$wrong"/tests.tools.wrong.baton.json broken && : > broken/tests.tools.wrong.so
contribute '{"slot": "after-simplify", "pass": "wrong-old"}'
BATON_PLUGIN_PATH=$PWD/plugin:$PWD/broken
expect 0 'note: .*tests.tools.wrong.so' 'plugin org.example.gives contributes it .*; the run goes on without it' '  2f$' -- "$baton" run p.baton -i 1
BATON_PLUGIN_PATH=$PWD/plugin:$wrong

# A pass that gives back a value from before it ran: found where it stands in a slot, and at the end of opt.
cat > old.baton <<'END1'
#[version = "baton 0.1"]
def @main(%x: float32) { nn.relu(exp(negative(exp(add(%x, 1f))))) }
END1
for command in "run old.baton -i 1" "opt old.baton --pipeline default" "opt old.baton --passes wrong-old,dead-code"; do
    expect 1 'which is not bound before it' '^note: in pass wrong-old, run ' -- "$baton" $command
done
BATON_PLUGIN_PATH=$PWD/plugin
contribute '{"slot": "after-simplify", "repeat": {"max": 2}}'
expect 0 'org.example.gives.*refused' 'field "sequence" is missing: what to repeat' -- "$baton" plugin list
expect 0 'every pass is known' -- "$baton" pipeline check with_slot.json
unset BATON_PLUGIN_PATH

# Test files.
cat > bad_regex.baton <<'END1'
// RUN: baton opt %s
#[version = "baton 0.1"]
def @main(%x: float32) { add(%x, 1f) }
// CHECK-NOT: {{[a}}
END1
expect 1 'bad_regex.baton:4: no regular expression between' -- "$baton" filecheck bad_regex.baton
cat > bad_run.baton <<'END1'
// RUN: cat %s
// CHECK: x
END1
expect 1 'RUN: must begin with baton: cat' -- "$baton" filecheck bad_run.baton

# Continuations nest: what to do where there are too many calls.
awk 'BEGIN { print "#[version = \"baton 0.1\"]\ndef @f(%x: float32) { add(%x, 1f) }\ndef @main(%x: float32) {\n    %a0 = @f(%x);"
    for (i = 1; i < 300; i++) printf "    %%a%d = @f(%%a%d);\n", i, i - 1
    print "    %a299\n}" }' > calls.baton
expect 1 'calls.baton:[0-9]*:5: error: blocks are nested deeper than' 'note: what comes behind a call .*a part of @main as a function of its own' -- \
    "$baton" opt calls.baton --passes to-cps

# Functions and loops are put in place only as far as blocks can nest: the rest of the calls stays, and the program runs.
awk 'BEGIN { print "#[version = \"baton 0.1\"]"
    for (i = 0; i < 300; i++) printf "def @g%d(%%i: int32, %%x: int32) -> int32 { if (%%i > %d) { @g%d(%%i, %%x) + 1 } else { %%x } }\n", i, i, i + 1
    print "def @g300(%i: int32, %x: int32) -> int32 { %x }\ndef @main(%i: int32) { @g0(%i, 5) }" }' > chain.baton
expect 0 '@g[0-9]*(' -- "$baton" opt chain.baton --passes 'inline{all=True}, inline{all=True}, inline{all=True}'
expect 0 '^  305$' -- "$baton" run chain.baton --executor vm --target reference -i i=400
awk 'BEGIN { print "#[version = \"baton 0.1\"]"
    print "def @loop(%i: int32, %x: float32) -> float32 { if (less(%i, 64)) { @loop(add(%i, 1), exp(%x)) } else { %x } }"
    printf "def @main(%%c: bool, %%x: float32) { "
    for (i = 0; i < 150; i++) printf "if (%%c) { "
    printf "@loop(0, %%x)"
    for (i = 0; i < 150; i++) printf " } else { %%x }"
    print " }" }' > loops.baton
expect 0 '@loop(0, %x)' -- "$baton" opt loops.baton --passes 'unroll{max-trips=64, max-bindings=65536}'

# Memory that no pass has planned may be got behind a branch.
cat > branch.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim>(%x: Tensor[(n), int32], %k: int32) {
    let %y = if (%k > 0) { %x } else { %x * 2 };
    (%y, full(-7, shape=[n, 2]))
}
END
for target in reference cpu; do
    expect 0 '^  \[\[-7, -7\]\]$' -- "$baton" run branch.baton --executor vm --target $target --no-specialise -i 'x=[1]' -i k=1 --plan ''
done

# In 16 bits a classifier says what it says in 32, on every executor.
digits=$here/../../sdk/examples/digits/digits.baton
expect 0 '^scores: ' -- "$baton" run "$digits" -i image=random:1 -o high
for dtype in bfloat16 float16; do
    for by in interp 'graph --target cpu'; do
        expect 0 '^scores: ' -- "$baton" run "$digits" -i image=random:1 -o low --executor $by \
            --passes "default, mixed-precision{dtype=\"$dtype\"}, fold-constant, dead-code"
        expect 0 'equal within tolerance' -- "$baton" compare low high --rtol 0.001
    done
done
expect 1 'dtype' -- "$baton" opt "$digits" --passes 'mixed-precision{dtype="int8"}'
for list in always follow never; do
    expect 1 'nn.conv9' 'nn.conv2d' -- "$baton" opt "$digits" --passes "mixed-precision{$list=[\"nn.dense\", \"nn.conv9\"]}"
done
expect 0 -- "$baton" opt "$digits" --passes 'mixed-precision{never=["nn.dense", "nn.conv2d"]}'
