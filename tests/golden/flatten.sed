/RUN: baton run/{
/--executor/b
s/ --passes ''//
s/baton run/baton run --pipeline flatten/
}
