"""Random small folders with random ignore files."""

import random


def words(text: str) -> list[str]:
    return text.split()


FOLDERS = ["a", "b", "ab", "a b", "d.py", "é", "c-d", "x", "..x", "n\n"]
FILES = [
    *words("a.py b.py ab.py !a.py [a].py é.py *.py \\a.py &.py -.py ]a.py ^.py a.PY a.txt .py #a.py a{2}.py"),
    *["aa.py", "x.py", "~.py", "a b.py", " a.py", "a.py ", "b\n.py"],
]
GLOB_PIECES = [
    *words("a b ab x é n a.py b.py *.py * ** ? ?? . .py - & py d.py {2} ! # ( ) $ ^ |"),
    *words("[ab] [!a] [^b] [a-c] [a-] [-a] []a] [!]a] [ ] [] [!] [z-a] [[] [a&&b] [a--b] [~~a] [!a]* [+-9]"),
    *words(r"[^/] [\a] \* \a \! \["),
    "\\",
    *[" ", "  ", "\\ ", "\t", "\u3000", "\x1c", " #c", "\n", "\r\n", "\r"],
]
REGEXP_PIECES = [
    *words(r"a b ab x é py / \. . .* .+ a? a* b+ a+? a*+ ^ $ | * + ? - & ~ ! # _"),
    *words(r"(a) (?:b) (a|b) (?P<n>a) (?P=n) \1 (?=a) (?!a) (?<=a) (?<!a) (?>a) (?<n>a) (?(1)a|b) ( )"),
    *words("(?i) (?x) (?m) (?s) (?u) (?a) (?L) (?i:A) (?-i:a)"),
    *words(r"[ab] [^a] [a-c] []a] [^]a] [a-] [[a] [a&&b] [\d] [\w.] [^\s] [\]a] [z-a] [ ]"),
    *words("{ } {2} {,2} {1,} {2,1} {,} a{2} a{,2}"),
    *words(r"\d \D \w \W \s \S \b \B \A \Z \z \p \n \x61 \u0061 \141 \0 \- \/ \é \_"),
    "\\",
    *[" ", " #c", "\r\n"],
]
DAG = "from airflow import DAG\n"
CONTENTS = [DAG, DAG, DAG, DAG, "", "import airflow\n", "AIRFLOW ASSET"]


def folder(chance: random.Random) -> dict:
    syntax = chance.choice(["glob", "glob", "regexp"])
    folders = [""]
    for _ in range(chance.randint(0, 5)):
        parent = chance.choice(folders)
        name = chance.choice(FOLDERS)
        path = f"{parent}/{name}" if parent else name
        if path not in folders and path.count("/") < 4:
            folders.append(path)
    entries = {path: {} for path in folders if path}
    for _ in range(chance.randint(3, 14)):
        parent = chance.choice(folders)
        path = f"{parent}/{chance.choice(FILES)}" if parent else chance.choice(FILES)
        entries.setdefault(path, {"text": chance.choice(CONTENTS)})
    for parent in folders if chance.random() < 0.3 else [""]:
        text = "".join(line(chance, syntax) for _ in range(chance.randint(1, 4)))
        entries[f"{parent}/.airflowignore" if parent else ".airflowignore"] = {"text": text}
    return {
        "syntax": syntax,
        "safe_mode": chance.random() < 0.5,
        "with_sources": False,
        "entries": [{"path": path} | entry for path, entry in entries.items()],
    }


def line(chance: random.Random, syntax: str) -> str:
    if syntax == "regexp":
        return "".join(chance.choice(REGEXP_PIECES) for _ in range(chance.randint(1, 4))) + "\n"
    # Half of the patterns are ordinary ones: the others often match nothing.
    if chance.random() < 0.5:
        return ordinary(chance) + chance.choice(["\n", "\n", " # why\n", "\r\n"])
    parts = chance.choice([1, 1, 2, 3])
    segments = [
        "".join(chance.choice(GLOB_PIECES) for _ in range(chance.randint(0, 2))) for _ in range(parts)
    ]
    return (
        chance.choice(["", "", "", "!", "/", "!/"]) + "/".join(segments) + chance.choice(["\n", "\n", "/\n"])
    )


def ordinary(chance: random.Random) -> str:
    names = ["*.py", "a*", "?.py", "[ab].py", "**", "*", *FOLDERS[:5], *FILES[:4]]
    segments = [chance.choice(names) for _ in range(chance.choice([1, 1, 2, 3]))]
    return chance.choice(["", "", "!", "/", "**/"]) + "/".join(segments) + chance.choice(["", "", "/", "/**"])
