"""What the crates that we build on are: licences, sources, versions.

Known vulnerabilities are not asked about: the database of them is on GitHub, and a check must not need
more of the network than a build does. Where it can be had, `cargo audit` asks.
"""

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from testing.paths import ROOT
from testing.progress import Failure

ALLOWED_LICENCES = frozenset(
    (
        "0BSD",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        # Data only: the certificates of webpki-roots.
        "CDLA-Permissive-2.0",
        "ISC",
        "MIT",
        "MIT-0",
        "Unicode-3.0",
        "Unlicense",
        "Zlib",
    )
)

SOURCE = "registry+https://github.com/rust-lang/crates.io-index"

BANNED = {
    "openssl-sys": "TLS is rustls, so that the binary needs no library of the machine",
    "native-tls": "TLS is rustls, so that the binary needs no library of the machine",
    "serde_yaml": "it is not maintained any more: use saphyr-parser",
    "chrono-tz": "time zones are jiff's",
}

# There are two versions of these, since others have not come to the newer one yet. One that is not
# needed any more has to go from here.
SEVERAL_VERSIONS = frozenset(
    (
        "base64",
        "bit-set",
        "bit-vec",
        "bitflags",
        "block-buffer",
        "cpufeatures",
        "crypto-common",
        "digest",
        "fancy-regex",
        "getrandom",
        "hashbrown",
        "rand",
        "rand_core",
        "sha2",
        "syn",
    )
)


def check(pinned: Sequence[str], target: str) -> None:
    packages = [package for package in _packages(pinned, target) if package["source"]]
    if complaints := [*_licences(packages), *_sources(packages), *_bans(packages), *_versions(packages)]:
        raise Failure("dependencies: " + "; ".join(complaints))


def is_allowed(expression: str) -> bool:
    """Whether a licence expression leaves a choice of licences that are all allowed."""
    # Older crates write "MIT/Apache-2.0".
    words = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))
    allowed, rest = _either(words)
    if rest:
        raise Failure(f"the licence {expression!r} cannot be read")
    return allowed


def _packages(pinned: Sequence[str], target: str) -> list[Mapping]:
    command = ["cargo", "metadata", "--format-version", "1", "--filter-platform", target, *pinned]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if told.returncode != 0:
        raise Failure(f"{' '.join(command)}: {told.stderr.strip()}")
    return json.loads(told.stdout)["packages"]


def _licences(packages: Sequence[Mapping]) -> Iterator[str]:
    for package in packages:
        if not package["license"] or not is_allowed(package["license"]):
            yield f"{_named(package)} has the licence {package['license']!r}, which is not allowed"


def _sources(packages: Sequence[Mapping]) -> Iterator[str]:
    for package in packages:
        if package["source"] != SOURCE:
            yield f"{_named(package)} is from {package['source']}, not from crates.io"


def _bans(packages: Sequence[Mapping]) -> Iterator[str]:
    for package in packages:
        if reason := BANNED.get(package["name"]):
            yield f"{_named(package)} is banned: {reason}"


def _versions(packages: Sequence[Mapping]) -> Iterator[str]:
    versions = defaultdict(list)
    for package in packages:
        versions[package["name"]].append(package["version"])
    several = {name for name, found in versions.items() if len(found) > 1}
    for name in sorted(several - SEVERAL_VERSIONS):
        yield f"there are several versions of {name}: {', '.join(versions[name])}"
    for name in sorted(SEVERAL_VERSIONS - several):
        yield f"there is only one version of {name} now: take it from the list"


def _named(package: Mapping) -> str:
    return f"{package['name']} {package['version']}"


def _either(words: Sequence[str]) -> tuple[bool, Sequence[str]]:
    allowed, words = _all(words)
    while words and words[0] == "OR":
        other, words = _all(words[1:])
        allowed = allowed or other
    return allowed, words


def _all(words: Sequence[str]) -> tuple[bool, Sequence[str]]:
    allowed, words = _one(words)
    while words and words[0] == "AND":
        other, words = _one(words[1:])
        allowed = allowed and other
    return allowed, words


def _one(words: Sequence[str]) -> tuple[bool, Sequence[str]]:
    if words[0] == "(":
        allowed, words = _either(words[1:])
        return allowed, words[1:]
    if words[1:2] == ["WITH"]:
        return " ".join(words[:3]) in ALLOWED_LICENCES, words[3:]
    return words[0] in ALLOWED_LICENCES, words[1:]
