"""Folders that are hard on purpose: archives, links, odd names and odd bytes."""

import base64
import io
import zipfile

DAG = "from airflow import DAG\n"
NO_DAG = "print('hello')\n"


def all_folders() -> list[dict]:
    kinds = (archives, names, encodings, links, loop, twice, ignored_link, to_the_root, ignores)
    cases = []
    for entries in [kind() for kind in kinds]:
        for syntax in ("glob", "regexp"):
            for safe_mode in (True, False):
                cases.append(
                    {"syntax": syntax, "safe_mode": safe_mode, "with_sources": True, "entries": entries}
                )
    return cases


def text(path: str, content: str = DAG) -> dict:
    return {"path": path, "text": content}


def content(path: str, content: bytes) -> dict:
    return {"path": path, "base64": base64.b64encode(content).decode()}


def link(path: str, target: str) -> dict:
    return {"path": path, "link": target}


def archive(members: dict, method: int = zipfile.ZIP_DEFLATED, comment: bytes = b"") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as written:
        for name, inside in members.items():
            info = zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0))
            info.compress_type = method
            written.writestr(info, inside)
        written.comment = comment
    return made.getvalue()


def archives() -> list[dict]:
    members = {
        "dag.py": DAG,
        "helper.py": NO_DAG,
        "deep/er/dag.py": DAG,
        "notes.txt": DAG,
        "folder/": "",
        "./dot.py": DAG,
        "a//b.py": DAG,
        "up/../c.py": DAG,
        "é.py": "# airflow dag é\r\nx = 1\rlast\n",
        "latin.py": "# airflow dag é".encode("latin-1"),
        "empty.py": "",
    }
    plain = archive(members)
    return [
        content("plain.zip", plain),
        content("stored.zip", archive(members, zipfile.ZIP_STORED)),
        content("commented.zip", archive(members, comment=b"PK" * 300)),
        content("zero_comment.zip", archive(members, comment=b"ends in\0\0")),
        content("prepended.zip", b"#!/usr/bin/env python\n" + plain),
        content("trailing.zip", plain + b"\n"),
        content("upper.ZIP", plain),
        content("no_suffix", plain),
        content("named.py", plain),
        content("sub/.py", plain),
        content("nothing.zip", archive({})),
        content("half.zip", plain[: len(plain) // 2]),
        content("only_the_end.zip", b"PK\x05\x06" + b"\0" * 18),
        content("bad_end.zip", b"PK\x05\x06" + b"\x01" * 18),
        content("short.zip", b"PK\x05\x06"),
        content("locator.zip", b"x" * 60 + b"PK\x06\x07" + b"\0" * 16 + b"PK\x05\x06" + b"\0" * 18),
        content("near_locator.zip", b"PK\x06\x07" + b"\0" * 16 + b"PK\x05\x06" + b"\0" * 18),
        text("words.zip"),
        text("folder.zip/dag.py"),
        text("x.zip/y.zip/dag.py"),
    ]


def names() -> list[dict]:
    return [
        text("a.py"),
        text("A.PY"),
        text(".py"),
        text(".hidden.py"),
        text("..py"),
        text("a.py.bak"),
        text("a.pyc"),
        text("py"),
        text("with space.py"),
        text("line\nbreak.py"),
        text("é.py"),
        text("__pycache__/a.py"),
        text("folder.py/a.py"),
        text("folder.py/b/c/d/e/f.py"),
        {"path": "empty"},
        text("no_dag.py", NO_DAG),
        text("empty.py", ""),
        text("late.py", " " * 200_000 + "AIRFLOW aSSet"),
        text("across.py", " " * 65_533 + "airflow" + " " * 65_530 + "dag"),
        text("split.py", "air flow dag"),
    ]


def encodings() -> list[dict]:
    return [
        content("latin.py", "# -*- coding: latin-1 -*-\n# airflow dag é\n".encode("latin-1")),
        content("mark.py", "\ufeff# airflow dag\n".encode()),
        content("utf16.py", "# airflow dag\n".encode("utf-16")),
        content("zeros.py", b"# airflow dag\0\n"),
        content("breaks.py", b"# airflow\r\n# dag\r\r\n\n# end\r"),
        text("unicode.py", "# airflow dag \u2028 \x0b \x85 \U0001f600\n"),
    ]


def links() -> list[dict]:
    return [
        text("real.py"),
        link("linked.py", "real.py"),
        link("broken.py", "nowhere.py"),
        link("itself.py", "itself.py"),
        link("linked_folder", "outside"),
        text("data/..v1/a.py"),
        link("data/current", "..v1"),
        text(".airflowignore", "..v1\nouts\n"),
    ]


def loop() -> list[dict]:
    return [text("a.py"), text("x/b.py"), link("x/again", "../x")]


def twice() -> list[dict]:
    return [text("x/b.py"), link("y", "x")]


def ignored_link() -> list[dict]:
    return [text("x/b.py"), link("x/again", "../x"), text(".airflowignore", "again\n")]


def to_the_root() -> list[dict]:
    return [text("a.py"), link("up", ".")]


def ignores() -> list[dict]:
    return [
        text(".airflowignore", "skipped.*\nskipped/\n!kept.py\n/b.py\nx/a.py\ndir#1/\nfoo/ # why\n\\#\n"),
        text("b.py"),
        text("x/b.py"),
        text("x/a.py"),
        text("x/x/a.py"),
        text("x/.airflowignore", "*.py\n/x\n"),
        text("x/x/.airflowignore", "!a.py\n"),
        text("skipped/kept.py"),
        text("skipped/a.py"),
        text("dir#1/a.py"),
        text("dir/a.py"),
        text("foo/a.py"),
        text("y/foo"),
        text("y/.airflowignore/a.py"),
        content("z/.airflowignore", "\ufeffa.py\nb.py\n".encode()),
        text("z/a.py"),
        text("z/b.py"),
    ]
