"""Record which files Airflow takes for DAG files, where their DAGs may come from, and what their source is.

Writes files.jsonl.gz beside this file, one folder per line: first some that are hard on purpose, then random
ones with random ignore files, the same each time. The answers are those of `list_py_file_paths`, of the DAG
processor's `_get_observed_filelocs`, and of `DagCode.get_code_from_file`. Where a pattern
stops Airflow, `rest` is what it finds without the patterns that do.

    <venv>/bin/python testdata/files/record_files.py

Another seed, more folders and another place make a larger comparison, which the same test replays from
files.jsonl.gz:

    <venv>/bin/python testdata/files/record_files.py 7 6000 /tmp/more.jsonl.gz
"""

import base64
import contextlib
import gzip
import json
import logging
import os
import random
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace

import hard_folders
import random_folders

HERE = Path(__file__).resolve().parent
SEED = "20261117"
RANDOM_FOLDERS = "400"


def main(seed: str = SEED, folders: str = RANDOM_FOLDERS, path: str = str(HERE / "files.jsonl.gz")) -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as home:
        for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
            del os.environ[name]
        os.environ |= {
            "AIRFLOW_HOME": home,
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "CRITICAL",
        }
        chance = random.Random(int(seed))
        cases = hard_folders.all_folders()
        cases += [random_folders.folder(chance) for _ in range(int(folders))]
        answers = [case | answer(case, Path(home) / "bundle") for case in cases]
    text = "".join(json.dumps(case, separators=(",", ":")) + "\n" for case in answers)
    recording = Path(path)
    if not recording.exists() or gzip.decompress(recording.read_bytes()) != text.encode():
        # Another zlib may compress the same differently.
        recording.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    failed = sum("error" in case for case in answers)
    found = sum(len(case.get("files", [])) for case in answers)
    print(f"recorded {len(answers)} folders with {found} DAG files; {failed} cannot be listed")


def answer(case: dict, bundle: Path) -> dict:
    """What Airflow makes of a folder."""
    # Airflow reads its settings when it is imported.
    from airflow._shared.module_loading import file_discovery
    from airflow.configuration import conf
    from airflow.models.dagcode import DagCode

    make(case["entries"], bundle)
    conf.set("core", "dag_ignore_file_syntax", case["syntax"])
    warned = Warned()
    file_discovery.log.handlers = [warned]
    file_discovery.log.setLevel(logging.WARNING)
    try:
        found = listing(case, bundle) | {"warned": warned.count}
        if case["with_sources"]:
            found["sources"] = {path: source(DagCode, bundle / path) for path in found["observed"]}
    except RuntimeError as error:
        return {"error": type(error).__name__}
    except Exception as error:
        with without_bad_patterns(file_discovery):
            return {"error": type(error).__name__, "rest": rest(case, bundle)}
    finally:
        shutil.rmtree(bundle)
    return found


def listing(case: dict, bundle: Path) -> dict:
    from airflow.dag_processing.manager import DagFileInfo, DagFileProcessorManager
    from airflow.utils.file import list_py_file_paths

    manager = SimpleNamespace(dag_discovery_safe_mode=case["safe_mode"], log=logging.getLogger("manager"))
    files = [Path(path).relative_to(bundle) for path in list_py_file_paths(bundle, case["safe_mode"])]
    present = {DagFileInfo(rel_path=path, bundle_name="bundle", bundle_path=bundle) for path in files}
    observed = DagFileProcessorManager._get_observed_filelocs(manager, present)
    return {"files": sorted(map(str, files)), "observed": sorted(observed)}


def rest(case: dict, bundle: Path) -> dict | None:
    """What is found without bad patterns; nothing if the folder cannot be listed all the same."""
    try:
        return listing(case, bundle)
    except RuntimeError:
        return None


@contextlib.contextmanager
def without_bad_patterns(file_discovery):
    """Lets patterns that cannot be compiled be passed over."""
    rules = [file_discovery._GlobIgnoreRule, file_discovery._RegexpIgnoreRule]
    compilers = [rule.compile for rule in rules]

    def passing_over(compiler):
        def compile_or_pass(*arguments):
            try:
                return compiler(*arguments)
            except Exception:
                return None

        return compile_or_pass

    for rule, compiler in zip(rules, compilers, strict=True):
        rule.compile = staticmethod(passing_over(compiler))
    try:
        yield
    finally:
        for rule, compiler in zip(rules, compilers, strict=True):
            rule.compile = staticmethod(compiler)


def make(entries: list[dict], bundle: Path) -> None:
    shutil.rmtree(bundle, ignore_errors=True)
    bundle.mkdir()
    for entry in entries:
        path = bundle / entry["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        match entry:
            case {"text": text}:
                path.write_bytes(text.encode())
            case {"base64": content}:
                path.write_bytes(base64.b64decode(content))
            case {"link": target}:
                path.symlink_to(target)
            case _:
                path.mkdir(exist_ok=True)


def source(dag_code, path: Path) -> dict:
    try:
        return {"text": dag_code.get_code_from_file(str(path))}
    except Exception as error:
        return {"error": type(error).__name__}


class Warned(logging.Handler):
    """Counts warnings."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
