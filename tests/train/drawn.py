"""What training draws, in NumPy: Threefry's words, the key of a step, the order of samples."""
import os
import sys

import kit

sys.path.insert(0, os.path.join(kit.here, "..", "conform"))
from types import SimpleNamespace

import numpy
import reference
from reference import random

numpy.seterr(over="ignore")  # words wrap
NONE = SimpleNamespace(dtypes=["uint32", "int64"])


def fold(key, data):
    return random.fold_in(NONE, key, data)


def seed_key(seed):
    return numpy.array([seed >> 32, seed % 2 ** 32], numpy.uint32)


def order(seed, epoch, n):
    """As @train.order."""
    return random.permutation(NONE, fold(fold(seed_key(seed), -2), epoch), numpy.arange(n))


def dropped(seed, run, number, shape, rate):
    """The mask of the dropout of this number in a batch, as train-mode has it."""
    key = fold(fold(seed_key(seed), run), number)
    return (random.unit(key, shape, "float32") >= numpy.float32(rate)).astype(numpy.float64)


def initial(seed, param, kind, shape, **how):
    """As @train.initial draws parameter `param`."""
    how = {"in_axis": 1, "out_axis": 0, **how}
    key = fold(fold(seed_key(seed), -1), param)
    return reference.FUNCTIONS[f"random.{kind}"](SimpleNamespace(shape=shape, dtype="float32", dtypes=["uint32"], **how), key)
