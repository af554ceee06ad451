"""The program with a guard taken out, to see that the checks notice.

Each patch says in its head what it breaks and, after `Expected:`, which check must be violated by that.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from together.checks import Verdict

ROOT = Path(__file__).resolve().parents[2]
PATCHES = Path(__file__).with_name("breakages")


def prove(names: Sequence[str], happen: Callable[[str], Verdict]) -> int:
    """Lets it happen with each of the broken programs, or with the named ones."""
    patches = {patch.stem: patch for patch in sorted(PATCHES.glob("*.patch"))}
    if unknown := set(names) - set(patches):
        raise SystemExit(f"no such breakage: {', '.join(unknown)}; there are: {', '.join(patches)}")
    place = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "breakages"
    missed = 0
    for name in names or patches:
        text = patches[name].read_text()
        expected = text.split("Expected: ", 1)[1].splitlines()[0]
        print(f"{name}: {text.splitlines()[0]}", flush=True)
        verdict = happen(str(_build(patches[name], patches.values(), place)))
        is_noticed = any(violated.startswith(expected) for violated in verdict.violations)
        print(f"{name}: {expected} is {'noticed' if is_noticed else 'NOT NOTICED'}", flush=True)
        missed += not is_noticed
    return 1 if missed else 0


def _build(patch: Path, patches: Sequence[Path], place: Path) -> Path:
    """Builds a copy of the tree with one patch, in a folder that stays for the next one."""
    tree = place / "tree"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy2(ROOT / name, tree / name)
    # What another patch has changed has its old date again, and would be taken for built.
    for one in patches:
        for line in one.read_text().splitlines():
            if line.startswith("+++ b/"):
                (tree / line.removeprefix("+++ b/")).touch()
    subprocess.run(["patch", "-p1", "--no-backup-if-mismatch", "-i", patch], cwd=tree, check=True)
    environment = os.environ | {"CARGO_TARGET_DIR": str(place / "target")}
    subprocess.run(["cargo", "build", "--package", "ferroflow"], cwd=tree, env=environment, check=True)
    built = place / patch.stem
    shutil.copy2(place / "target" / "debug" / "ferroflow", built)
    return built
