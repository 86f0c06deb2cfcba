# Errors in C are constants, behind their place: they have no values of dims and elements.
/CHECK-ERROR/{
s/ = -*[0-9][0-9]*/{{( = -?[0-9]+)?}}/g
s/ do not broadcast: .*/ do not broadcast/
s/ is -*[0-9][0-9]*, but/ is {{[^,]*}}, but/
s/\(.*\)CHECK-ERROR \([0-9]*:[0-9]*\): \(.*\)/\1CHECK-STDERR: :\2: {{(error: )?}}\3\n\1CHECK-EXIT: 1/
}
