"""Record the facts about every configuration option of the installed Airflow.

Writes crates/ferroflow-config/defaults/airflow-<version>.json: for each option its default, whether it is
sensitive and which layer of Airflow's defaults it comes from, plus the renames, replaced values and closed
sets of choices that Airflow keeps in code. Facts only: descriptions and examples are left out.

    <venv>/bin/python testdata/config/record_defaults.py            # write
    <venv>/bin/python testdata/config/record_defaults.py --check    # compare, exit 1 on drift
"""

import difflib
import json
import os
import re
import sys
import tempfile
from pathlib import Path

DEFAULTS_DIR = Path(__file__).resolve().parents[2] / "crates/ferroflow-config/defaults"


def main() -> int:
    with tempfile.TemporaryDirectory() as home:
        isolate_from_the_callers_configuration(home)
        import airflow
        from airflow import configuration

        text = render(facts(configuration, home))
        target = DEFAULTS_DIR / f"airflow-{airflow.__version__}.json"
    if "--check" not in sys.argv[1:]:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return 0
    recorded = target.read_text(encoding="utf-8") if target.exists() else ""
    lines = recorded.splitlines(), text.splitlines()
    diff = list(difflib.unified_diff(*lines, "recorded", "airflow", lineterm=""))
    print("\n".join(diff) or f"{target.name}: no drift")
    return 1 if diff else 0


def isolate_from_the_callers_configuration(home: str) -> None:
    for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
        del os.environ[name]
    os.environ["AIRFLOW_HOME"] = home


def facts(configuration, home: str) -> dict:
    conf = configuration.conf
    return {
        "renamed": [
            [section, key, old_section, old_key, since]
            for (section, key), (old_section, old_key, since) in conf.deprecated_options.items()
        ],
        "replaced_values": [
            [section, key, re.sub(r"\\(.)", r"\1", old.pattern), new]
            for section, keys in conf.deprecated_values.items()
            for key, (old, new) in keys.items()
        ],
        "choices": [[section, key, list(choices)] for (section, key), choices in conf.enums_options.items()],
        "sections": {
            section: {
                key: option_facts(configuration, home, section, key, option)
                for key, option in description["options"].items()
            }
            for section, description in conf.configuration_description.items()
        },
    }


def option_facts(configuration, home: str, section: str, key: str, option: dict) -> dict:
    conf = configuration.conf
    fact = {}
    default = conf.get_default_value(section, key)
    if default is not None:
        fact["default"] = default.replace(home, "{AIRFLOW_HOME}")
        if default == configuration.SECRET_KEY:
            fact["default"] = "{SECRET_KEY}"
    layer = layer_of(conf, section, key)
    if layer != "core":
        fact["layer"] = layer
    if option.get("sensitive"):
        fact["sensitive"] = True
    return fact


def layer_of(conf, section: str, key: str) -> str:
    """Which of the three sets of defaults holds the value; for an option without one, which describes it."""
    for layer, values in [
        ("core", conf._default_values),
        ("provider", conf._provider_metadata_config_fallback_default_values),
        ("fallback", conf._provider_cfg_config_fallback_default_values),
    ]:
        if values.has_option(section, key):
            return layer
    described = conf._configuration_description.get(section, {}).get("options", {})
    return "core" if key in described else "provider"


def render(document: dict) -> str:
    """One option, rename or choice per line, so that drift reads well in a diff."""

    def line(value) -> str:
        return json.dumps(value, ensure_ascii=False)

    def rows(values) -> str:
        return ",\n".join(f"    {line(value)}" for value in values)

    sections = ",\n".join(
        f"    {line(section)}: {{\n"
        + ",\n".join(f"      {line(key)}: {line(option)}" for key, option in options.items())
        + "\n    }"
        for section, options in document["sections"].items()
    )
    return (
        "{\n"
        + "".join(
            f'  "{name}": [\n{rows(document[name])}\n  ],\n'
            for name in ("renamed", "replaced_values", "choices")
        )
        + f'  "sections": {{\n{sections}\n  }}\n}}\n'
    )


if __name__ == "__main__":
    sys.exit(main())
