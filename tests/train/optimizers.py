"""Optimizers, schedules, clipping and parts of batches, 20 steps each, against formulas in NumPy: optimizers.py BATON"""
import math
import os
import sys
import tempfile

import numpy

import kit

NSTEP = 20
RATE = 0.05


def gradient(x, y, w, b):
    """Of the mean of squares."""
    d = 2 * (x @ w.T + b - y) / y.size
    return [d.T @ x, d.sum(0)]


def sgd(o):
    def step(w, g, state, t, rate):
        return w - rate * (g + o.get("decay", 0) * w)
    return step


def momentum(o):
    def step(w, g, state, t, rate):
        state[0] = o.get("momentum", 0.9) * state[0] + g + o.get("decay", 0) * w
        return w - rate * state[0]
    return step


def nesterov(o):
    def step(w, g, state, t, rate):
        g = g + o.get("decay", 0) * w
        mu = o.get("momentum", 0.9)
        state[0] = mu * state[0] + g
        return w - rate * (g + mu * state[0])
    return step


def rmsprop(o):
    def step(w, g, state, t, rate):
        g = g + o.get("decay", 0) * w
        beta = o.get("beta", 0.99)
        state[0] = beta * state[0] + (1 - beta) * g * g
        return w - rate * g / (numpy.sqrt(state[0]) + o.get("epsilon", 1e-8))
    return step


def direction(o, g, state, t, epsilon=1e-8):
    beta1, beta2 = o.get("beta1", 0.9), o.get("beta2", 0.999)
    state[0] = beta1 * state[0] + (1 - beta1) * g
    state[1] = beta2 * state[1] + (1 - beta2) * g * g
    return (state[0] / (1 - beta1 ** t)) / (numpy.sqrt(state[1] / (1 - beta2 ** t)) + o.get("epsilon", epsilon))


def adam(o):
    def step(w, g, state, t, rate):
        return w - rate * direction(o, g + o.get("decay", 0) * w, state, t)
    return step


def adamw(o):
    def step(w, g, state, t, rate):
        return w - rate * (direction(o, g, state, t) + o.get("decay", 0.01) * w)
    return step


def lamb(o):
    def step(w, g, state, t, rate):
        u = direction(o, g, state, t, 1e-6) + o.get("decay", 0.01) * w
        a, b = numpy.sqrt((w * w).sum()), numpy.sqrt((u * u).sum())
        return w - rate * (a / b if a > 0 and b > 0 else 1) * u
    return step


def constant(o):
    return lambda t: 1


def linear(o):
    last = o.get("last", 0)
    return lambda t: 1 + (last - 1) * min((t - 1) / NSTEP, 1)


def cosine(o):
    warm, last = o.get("warm", 0), o.get("last", 0)

    def factor(t):
        part = min(max((t - 1 - warm) / max(NSTEP - warm, 1), 0), 1)
        return min(t / max(warm, 1), 1) * (last + (1 - last) * 0.5 * (1 + math.cos(math.pi * part)))
    return factor


def steps(o):
    return lambda t: o.get("factor", 0.1) ** ((t - 1) // o.get("every", 1000))


def root(o):
    warm = o.get("warm", 1000)
    return lambda t: min(t / warm, math.sqrt(warm / t))


def named(function, options):
    text = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"{function.__name__}{{{text}}}" if text else function.__name__


def expected(x, y, w, b, optimizer, options, schedule, schedule_options, clip):
    step, factor = optimizer(options), schedule(schedule_options)
    values = [w.astype(numpy.float64), b.astype(numpy.float64)]
    states = [[numpy.zeros_like(v), numpy.zeros_like(v)] for v in values]
    for t in range(1, NSTEP + 1):
        gradients = gradient(x, y, *values)
        if clip:
            norm = math.sqrt(sum((g * g).sum() for g in gradients))
            gradients = [g * min(1, clip / norm) for g in gradients]
        rate = options["rate"] * factor(t)
        values = [step(v, g, s, t, rate) for v, g, s in zip(values, gradients, states)]
    return values


def cases():
    """Optimizer, options, schedule, options, clip, parts of a batch."""
    for optimizer in [sgd, momentum, nesterov, rmsprop, adam, adamw, lamb]:
        yield optimizer, {"rate": RATE}, constant, {}, 0, 1
        yield optimizer, {"rate": RATE, "decay": 0.1}, constant, {}, 0, 1
    yield momentum, {"rate": RATE, "momentum": 0.5}, constant, {}, 0, 1
    yield nesterov, {"rate": RATE, "momentum": 0.5}, constant, {}, 0, 1
    yield rmsprop, {"rate": RATE, "beta": 0.8, "epsilon": 0.01}, constant, {}, 0, 1
    for optimizer in [adam, adamw, lamb]:
        yield optimizer, {"rate": RATE, "beta1": 0.5, "beta2": 0.8, "epsilon": 0.01}, constant, {}, 0, 1
    for schedule, options in [(linear, {}), (linear, {"last": 0.5}), (cosine, {}), (cosine, {"warm": 5, "last": 0.1}),
                              (steps, {"every": 6, "factor": 0.5}), (root, {"warm": 4})]:
        yield sgd, {"rate": RATE}, schedule, options, 0, 1
    for optimizer in [sgd, adam]:
        yield optimizer, {"rate": RATE}, constant, {}, 0.3, 1
        yield optimizer, {"rate": RATE}, constant, {}, 100, 1
        yield optimizer, {"rate": RATE}, constant, {}, 0, 2
        yield optimizer, {"rate": RATE}, constant, {}, 0.3, 4


def check(runs, index, case):
    optimizer, options, schedule, schedule_options, clip, nmicro = case
    random = numpy.random.default_rng(index)
    n = 8 * nmicro
    x, y = random.normal(size=(n, 4)).astype(numpy.float32), random.normal(size=(n, 3)).astype(numpy.float32)
    w, b = random.normal(size=(3, 4)).astype(numpy.float32), random.normal(size=3).astype(numpy.float32)
    numpy.savez("data.npz", x=x, labels=y)
    kit.write_tensors("start.safetensors", {"w": w, "b": b})
    args = ["linear.baton", "--data", "data.npz", "--loss", "squares", "--optimizer", named(optimizer, options), "--schedule",
            named(schedule, schedule_options), "--epochs", NSTEP, "--batch", n, "--initialise", "start.safetensors", "-o", f"run{index}"]
    if clip:
        args += ["--clip", clip]
    done = runs.train(*args)
    if done.returncode:
        return
    tensors, notes = kit.read_tensors(runs.last(f"run{index}"))
    runs.check(notes["step"] == str(NSTEP), f"{args}: {notes['step']} steps")
    want = expected(x, y, w, b, optimizer, options, schedule, schedule_options, clip)
    for name, value in zip(["w", "b"], want):
        error = numpy.abs(tensors[name] - value).max() / numpy.abs(value).max()
        runs.check(error < 2e-5, f"{named(optimizer, options)}, {named(schedule, schedule_options)}, clip {clip}, {nmicro} parts: "
                                 f"{name} differs by {error:.3g}")


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        kit.write("linear.baton", kit.LINEAR)
        for index, case in enumerate(cases()):
            check(runs, index, case)
        os.chdir("/")
    runs.end()


main()
