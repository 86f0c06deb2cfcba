# Help: every verb has its line in the overview and a page that fits 80 columns, with columns that are aligned;
# its examples work.
. "$(dirname "$0")/kit.sh"

expect 0 'usage: baton VERB' '^Exit codes: 0 done' -- "$baton" --help
! grep -n '.\{81\}' out || fault "baton --help is wider than 80 columns"
verbs=$(sed -n 's/^  \([a-z]*\)  .*/\1/p' out)
expect 2 'usage: baton VERB' -- "$baton"
[ "$(sed -n 's/^  \([a-z]*\)  .*/\1/p' out)" = "$verbs" ] || fault "baton alone and baton --help list other verbs"
for verb in run compile bench info opt import pipeline plugin list compare filecheck; do
    case " $(echo $verbs) " in *" $verb "*) ;; *) fault "$verb is not in the overview" ;; esac
done
for verb in $verbs; do
    expect 0 "^usage: baton $verb .*\[OPTION\]\.\.\.\$" '^Options:$' '  -h, --help ' '^Exit codes: 0 done' -- "$baton" "$verb" --help
    ! grep -n '.\{81\}' out || fault "$verb --help is wider than 80 columns"
    ! grep -n "$(printf '[\033\t]\\| $')" out || fault "$verb --help has colours, tabs or blanks at the end"
    cp out help
    # What options mean begins in one column.
    ends=$(sed -n '/^Options:/,/^$/p' out | awk '/^   *-/ { s = substr($0, 9); n = index(s, "  "); while (substr(s, n, 1) == " ") n++; print n }' | sort -u)
    [ "$(echo "$ends" | wc -l)" = 1 ] || fault "$verb --help is not aligned: columns $ends"
    wrapped=$(sed -n '/^Options:/,/^$/p' out | awk '/^   *[^- ]/ { match($0, "[^ ]"); print RSTART - 8 }' | sort -u)
    [ -z "$wrapped" ] || [ "$wrapped" = "$ends" ] || fault "$verb --help has lines that go on elsewhere: $wrapped, not $ends"
    sed -n '/^Examples/,/^$/s/^  //p' help > commands
    [ -s commands ] || case $verb in import | filecheck) ;; *) fault "$verb --help has no examples" ;; esac
    rm -rf digits && cp -r "$here/../../sdk/examples/digits" .
    while read -r command; do
        (cd digits && PATH=$(dirname "$baton"):$PATH && eval "$command") > out 2>&1 || fault "an example of $verb fails: $command"
    done < commands
    expect 2 "baton $verb: there is no option --no-such-thing; see baton $verb --help" -- "$baton" "$verb" --no-such-thing
done
expect 2 'there is no verb nothing; baton --help lists them' -- "$baton" nothing
expect 2 'there is no verb benhc; did you mean bench?' -- "$baton" benhc
expect 2 'there is no verb plugins; did you mean plugin?' -- "$baton" plugins
expect 2 'there is no option --targe; did you mean --target, --trace or --tune? see baton run --help' -- "$baton" run p.baton --targe=cpu
expect 2 'there is no option --treads; did you mean --threads? see baton bench --help' -- "$baton" bench p.baton --treads 2
expect 2 'there is no option --hlep; did you mean --help?' -- "$baton" list --hlep
expect 2 'there is no option -x; see' -- "$baton" run p.baton -x
expect 0 '^baton [0-9]' -- "$baton" --version
