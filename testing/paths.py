"""Where things are in the repository."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

CACHE = ROOT / ".cache"
LOGS = CACHE / "logs"

# Each is compiled to the .lock beside it.
REQUIREMENTS = ROOT / "python" / "requirements.in"
BUILD_REQUIREMENTS = ROOT / "python" / "build-requirements.in"
LOCK = REQUIREMENTS.with_suffix(".lock")
BUILD_LOCK = BUILD_REQUIREMENTS.with_suffix(".lock")

CARGO_MANIFEST = ROOT / "Cargo.toml"

TESTDATA = ROOT / "testdata"
CRATES = ROOT / "crates"
