"""What the programs of gradients.py learn for real, tried on samples that they do not learn from: learned.py BATON LEARNS NAME STEPS PERCENT
    names     name_rnn.baton from nine tenths of all surnames: the language of the others
    phrases   tree_lstm_gradients.baton from short phrases and sentences of SST: whether other sentences are felt to be positive
"""
import collections
import os
import random
import subprocess
import sys
import tempfile

import gradients

RATE, LONGEST, NPHRASE, NSENTENCE = 0.2, 15, 26000, 6000


def write(path, samples):
    with open(path, "w", encoding="utf-8") as file:
        for sample, label in samples:
            file.write(f"{label} {len(sample)} {' '.join(map(str, sample))}\n")


def names():
    all_names = [name for name in gradients.all_names() if name[0]]
    random.Random(1).shuffle(all_names)
    n = len(all_names) * 9 // 10
    return all_names[:n], all_names[n:]


def phrases_of(line):
    """(words, and -1 behind two parts that are joined; label) of each part of a sentence, which comes last."""
    words, at, open_parts, out = line.replace("(", " ( ").replace(")", " ) ").split(), 0, [], []
    while at < len(words):
        if words[at] == "(":
            open_parts.append((int(words[at + 1]), []))
            at += 1
        elif words[at] == ")":
            label, parts = open_parts.pop()
            code = parts[0] if len(parts) == 1 else parts[0] + parts[1] + [-1]
            out.append((code, label))
            if open_parts:
                open_parts[-1][1].append(code)
        else:
            open_parts[-1][1].append([words[at]])
        at += 1
    return out


def read_sentences(name):
    with open(os.path.join(gradients.harness.shared_folder("data", "sst"), name), encoding="utf-8") as file:
        return [phrases_of(line) for line in file]


def phrases():
    """Neutral ones are left out. Words that are often felt to be something have rows of the table, others one together."""
    learned = read_sentences("train.txt")
    felt = collections.Counter(code[0] for sentence in learned for code, label in sentence if len(code) == 1 and label != 2)
    rows = {word: 1 + i for i, (word, _) in enumerate(felt.most_common(gradients.ROWS - 1))}

    def coded(samples):
        return [([-1 if word == -1 else rows.get(word, 0) for word in code], int(label > 2)) for code, label in samples if label != 2]

    short = coded(part for sentence in learned for part in sentence[:-1] if len(part[0]) <= LONGEST)
    whole = coded(sentence[-1] for sentence in learned)
    for samples in short, whole:
        random.Random(1).shuffle(samples)
    samples = short[:NPHRASE] + whole[:NSENTENCE]
    random.Random(2).shuffle(samples)
    return samples, coded(sentence[-1] for sentence in read_sentences("test.txt"))


def main():
    learns, name, steps, percent = os.path.abspath(sys.argv[2]), *sys.argv[3:]
    read, program = {"names": (names, "name_rnn.baton"), "phrases": (phrases, "tree_lstm_gradients.baton")}[name]
    learned, others = read()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write("learned", learned)
        write("others", others)
        code = subprocess.run([learns, os.path.join(gradients.here, program), "learned", steps, str(RATE), "others", percent], check=False).returncode
        os.chdir("/")
    return code


if __name__ == "__main__":
    sys.exit(main())
