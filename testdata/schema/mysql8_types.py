"""Compare rendered DDL with what SQLAlchemy would send to a MySQL 8 server for Airflow's models.

    python mysql8_types.py [ID_COLLATION] < statements.json

Standard input is a JSON array of CREATE TABLE and CREATE INDEX statements. Prints each difference
and ends with status 1 if there is any. ID_COLLATION is the value of
`[database] sql_engine_collation_for_ids`, if not the default one. No server is asked, and Airflow's
own configuration is neither read nor written.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

# What SQLAlchemy and we spell differently and MySQL takes for the same.
SPELLINGS = (
    (r"\bBOOL\b", "BOOLEAN"),
    (r"\s*\(", "("),
    (r"\)\s*", ") "),
    (r"\s+", " "),
    (r" ?, ?", ", "),
)
# The part of a column's definition that comes after its type: these words begin it.
ATTRIBUTES = r"\b(COLLATE \w+|NOT NULL|NULL|DEFAULT (?:'[^']*'|\w+)|AUTO_INCREMENT)"


def main() -> int:
    ours = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as home:
        theirs = list(compiled(Path(home), sys.argv[1] if len(sys.argv) > 1 else "utf8mb3_bin"))
    differences = list(compare(facts(ours), facts(theirs), ""))
    differences += list(unquoted(ours, theirs))
    for difference in differences:
        sys.stdout.write(f"{difference}\n")
    return 1 if differences else 0


def compiled(home: Path, id_collation: str) -> Iterator[str]:
    """What SQLAlchemy's compiler gives for all of Airflow's tables and Alembic's own."""
    # Airflow cannot be imported without a database. A URL of MySQL would make it ask for a driver,
    # and does no more for the collation than to choose the default.
    os.environ["AIRFLOW_HOME"] = str(home)
    os.environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = f"sqlite:///{home / 'unused.db'}"
    os.environ["AIRFLOW__DATABASE__SQL_ENGINE_COLLATION_FOR_IDS"] = id_collation

    from airflow.models import import_all_models
    from airflow.models.base import Base
    from alembic.migration import MigrationContext
    from sqlalchemy.dialects import mysql
    from sqlalchemy.schema import CreateIndex, CreateTable

    import_all_models()
    logging.disable(logging.WARNING)  # Alembic's greetings would go to standard output
    version_table = MigrationContext.configure(dialect_name="mysql")._version
    for table in [*Base.metadata.sorted_tables, version_table]:
        yield str(CreateTable(table).compile(dialect=mysql.dialect()))
        for index in table.indexes:
            yield str(CreateIndex(index).compile(dialect=mysql.dialect()))


def facts(statements: Iterable[str]) -> dict[str, dict[str, str]]:
    """The items of each table, and each index, by name; as text that spellings of a fact share."""
    found: dict[str, dict[str, str]] = {}
    for statement in statements:
        text = normal(statement)
        table = re.fullmatch(r"CREATE TABLE (\S+?)\((.*)\)", text)
        if table:
            found[table[1]] = items(table[2])
        else:
            found[text.split("(")[0]] = {"index": text}
    return found


def items(body: str) -> dict[str, str]:
    """The columns of a table, each with its place, and its constraints."""
    parts = [part.strip() for part in re.split(r",(?![^()]*\))", body)]
    columns = [part.partition(" ") for part in parts if not part.startswith("CONSTRAINT ")]
    constraints = [part.split(" ", 2) for part in parts if part.startswith("CONSTRAINT ")]
    return {
        **{name: f"#{place} {column(rest)}" for place, (name, _, rest) in enumerate(columns)},
        **{name: rest for _, name, rest in constraints},
    }


def column(definition: str) -> str:
    """A column's type and then its attributes, whose order means nothing."""
    attributes = sorted(re.findall(ATTRIBUTES, definition))
    return " | ".join([re.sub(ATTRIBUTES, "", definition).strip(), *attributes])


def normal(statement: str) -> str:
    text = statement.replace("`", "").strip()
    for pattern, replacement in SPELLINGS:
        text = re.sub(pattern, replacement, text)
    # Actions of foreign keys are written in either case.
    return re.sub(r"ON (DELETE|UPDATE) (\w+( null)?)", lambda match: match[0].upper(), text).strip()


def compare(ours: dict, theirs: dict, where: str) -> Iterator[str]:
    for name in sorted(ours.keys() | theirs.keys()):
        mine, other = ours.get(name), theirs.get(name)
        if isinstance(mine, dict) and isinstance(other, dict):
            yield from compare(mine, other, f"{where}{name}.")
        elif mine != other:
            yield f"{where}{name}: ours {mine!r}, SQLAlchemy's {other!r}"


def unquoted(ours: Iterable[str], theirs: Iterable[str]) -> Iterator[str]:
    """Names that SQLAlchemy quotes for MySQL, being reserved, and that we leave bare somewhere."""
    reserved = {name for statement in theirs for name in re.findall(r"`([^`]+)`", statement)}
    for statement in ours:
        bare = re.sub(r"`[^`]*`|'[^']*'|PRIMARY KEY|FOREIGN KEY", "", statement)
        for name in sorted(reserved & set(re.findall(r"[\w.]+", bare))):
            yield f"{name} is not quoted in {statement.splitlines()[0]}"


if __name__ == "__main__":
    sys.exit(main())
