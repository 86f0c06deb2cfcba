# The programs among the examples: the commands in their heads run them, interpreted, compiled, and from an artifact for any sizes.
. "$(dirname "$0")/kit.sh"

cp "$here"/../../sdk/examples/programs/*.baton . || exit 1

run() { # NAME NUMBERS: by hand, tanh of what each step takes
    line=$(sed -n 's|^//     baton run|run|p' "$1.baton")
    for executor in interp vm; do
        eval "expect 0 \"\$2\" -- \"\$baton\" $line --executor $executor"
    done
}
run rnn '0\.827986[0-9]*, 0\.88112'
run tree '0\.961396[0-9]*, 0\.761594'

eval "expect 0 -- \"\$baton\" $(sed -n 's|^//     baton compile|compile|p' rnn.baton)"
expect 0 '\[\[0, 0\]\]' -- "$baton" run rnn.bta -i 'xs=0x2xfloat32=0' -i 'w=[[1, 0], [0, 1]]' -i 'u=[[0.5, 0], [0, 0.5]]'
expect 0 '\[\[0\.761594[0-9]*, 0\]\]' -- "$baton" run rnn.bta -i 'xs=[[1, 0]]' -i 'w=[[1, 0], [0, 1]]' -i 'u=[[0.5, 0], [0, 0.5]]'
expect 0 '0\.827986[0-9]*, 0\.88112' -- "$baton" run rnn.bta -i 'xs=[[1, 0], [0, 1], [1, 1]]' -i 'w=[[1, 0], [0, 1]]' -i 'u=[[0.5, 0], [0, 0.5]]'
