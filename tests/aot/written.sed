/RUN: baton run/{
s/ --executor interp//
s/ --executor vm//
s/ --target [a-z]*//
/--executor/b
s/baton run/baton run --executor written/
}
