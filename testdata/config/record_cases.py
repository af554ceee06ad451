"""Record what the installed Airflow answers: to cases.json, lists.json and conversions.json.

A case is a configuration file, some environment variables and the arguments of `airflow config`; the
answer is recorded beside it as {"exit", "stdout", "warned"}. `@ROOT@` stands for a directory made for the
case: it is HOME, and AIRFLOW_HOME is @ROOT@/airflow unless the case says otherwise. A case may say that
ferroflow deliberately answers differently ("ferroflow": {"error" or "stdout", "because"}); that part is
written by hand and kept.

A conversion is a text and what Airflow's typed getters make of it; null where they refuse it.

    <venv>/bin/python testdata/config/record_cases.py            # write
    <venv>/bin/python testdata/config/record_cases.py --check    # compare, exit 1 on drift
    <venv>/bin/python testdata/config/record_cases.py --new      # write, only cases without an answer
"""

import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
AIRFLOW = Path(sys.executable).with_name("airflow")
CONFIG_WARNING = re.compile(r"(category=|\s)(Deprecation|Future|RemovedInAirflow4)Warning\b")
# Airflow writes its log to the same stream as its answer.
LOG_LINE = re.compile(r"(?m)^\d{4}-\d\d-\d\dT[\d:.]+Z \[\w+ *\] .*\n")
# Generated anew by every Airflow process, so nothing to compare.
GENERATED = re.compile(r"(?m)^((?:# )?secret_key = )(?!< hidden >).+$")
# Removed when this process ends.
OWN_HOME = tempfile.TemporaryDirectory()
GETTERS = {"boolean": "getboolean", "integer": "getint", "float": "getfloat", "list": "getlist"}


def main() -> int:
    check = "--check" in sys.argv[1:]
    only_new = "--new" in sys.argv[1:]
    # One after the other, since it sets variables of this process.
    drift = record("conversions.json", convert, check, only_new, workers=1)
    drift += record("cases.json", ask_airflow, check, only_new)
    drift += record("lists.json", ask_airflow, check, only_new)
    print("\n".join(drift) or "no drift" if check else "recorded")
    return 1 if drift else 0


def record(name: str, ask, check: bool, only_new: bool, workers: int = 2) -> list[str]:
    path = HERE / name
    before = path.read_text(encoding="utf-8")
    cases = json.loads(before)
    asked = [case for case in cases if not (only_new and "airflow" in case)]
    with ThreadPoolExecutor(max_workers=workers) as pool:
        for case, answer in zip(asked, pool.map(ask, asked), strict=True):
            case["airflow"] = answer
    after = json.dumps(cases, indent=1, ensure_ascii=False) + "\n"
    if not check:
        path.write_text(after, encoding="utf-8")
        return []
    lines = before.splitlines(), after.splitlines()
    return list(difflib.unified_diff(*lines, "recorded", name, lineterm="", n=8))


def ask_airflow(case: dict) -> dict:
    with tempfile.TemporaryDirectory() as root:
        Path(root, "airflow").mkdir()
        for name, text in {"airflow/airflow.cfg": case.get("file"), **case.get("files", {})}.items():
            if text is not None:
                target = Path(root, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text.replace("@ROOT@", root).encode(case.get("encoding", "utf-8")))
        environment = {
            "PATH": f"{AIRFLOW.parent}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": root,
            "AIRFLOW_HOME": f"{root}/airflow",
            **{name: value.replace("@ROOT@", root) for name, value in case.get("env", {}).items()},
        }
        done = subprocess.run(
            [AIRFLOW, "config", *case["args"]],
            env={name: value for name, value in environment.items() if name not in case.get("unset", [])},
            cwd=root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        stdout = GENERATED.sub(r"\1", LOG_LINE.sub("", done.stdout).replace(root, "@ROOT@"))
        if "--defaults" in case["args"]:
            stdout = without_prose(stdout)
        warned = bool(CONFIG_WARNING.search(done.stderr + done.stdout))
        return {"exit": done.returncode, "stdout": stdout, "warned": warned}


def without_prose(listing: str) -> str:
    """Keep section headers and, of each option, its variable and value: no descriptions, no examples."""
    kept = []
    in_option = False
    for line in listing.splitlines():
        if line.startswith("# Variable: "):
            in_option = True
        if line.startswith("[") or (in_option and line not in ("", "#")):
            kept.append(line)
        if not line:
            in_option = False
    return "\n".join(kept) + "\n"


def convert(case: dict) -> dict:
    conf = airflow_configuration()
    from airflow.exceptions import AirflowConfigException

    os.environ["AIRFLOW__MINE__VALUE"] = case["text"]
    answer = {}
    for kind, getter in GETTERS.items():
        try:
            answer[kind] = getattr(conf, getter)("mine", "value")
        except AirflowConfigException:
            answer[kind] = None
        if isinstance(answer[kind], float):
            answer[kind] = repr(answer[kind])
    return answer


def airflow_configuration():
    """The parser of this process, with nothing configured."""
    if "airflow.configuration" not in sys.modules:
        for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
            del os.environ[name]
        os.environ["AIRFLOW_HOME"] = OWN_HOME.name
    from airflow.configuration import conf

    return conf


if __name__ == "__main__":
    sys.exit(main())
