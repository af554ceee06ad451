"""Where things are in the repository."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

CACHE = ROOT / ".cache"
LOGS = CACHE / "logs"

REQUIREMENTS = ROOT / "python" / "requirements.in"
LOCK = ROOT / "python" / "requirements.lock"

TESTDATA = ROOT / "testdata"
CRATES = ROOT / "crates"
