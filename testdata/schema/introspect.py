"""Print everything that can be found out about a metadata database, as canonical JSON.

    python introspect.py URL

Two databases whose outputs are the same text have the same schema and the same seeded rows.
SQLAlchemy's inspector gives what all databases share; what it does not show comes from each
database's own catalog.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import sqlalchemy
from sqlalchemy import create_engine, func, inspect, select, table, text
from sqlalchemy.engine import Connection, Inspector

Facts = dict[str, Any]

# SQLAlchemy 2.0, which is the newest for Python 3.10, knows no UUID type of MariaDB: Airflow makes CHAR(32)
# there, and can use both. With 2.1 it makes UUID, as Ferroflow always does, and can use nothing else.
MAKES_NO_MARIADB_UUID = sqlalchemy.__version__.startswith("2.0.")
# Tables whose rows are printed; of all the others only the number of rows is.
SEEDED_TABLES = ("alembic_version", "log_template", "slot_pool")
# Columns that hold the time at which the row was written.
TIME_COLUMNS = ("created_at", "updated_at")

POSTGRESQL = {
    "relations": """
        SELECT relname, relkind::text, relpersistence::text, reloptions, relrowsecurity,
            relreplident::text, obj_description(oid, 'pg_class') AS comment,
            (SELECT amname FROM pg_am WHERE oid = relam) AS method
        FROM pg_class WHERE relnamespace = current_schema()::regnamespace ORDER BY relname
        """,
    "columns": """
        SELECT c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod) AS type,
            a.attnotnull, pg_get_expr(d.adbin, d.adrelid) AS "default", a.attidentity::text,
            a.attgenerated::text, a.attstorage::text, a.attcompression::text, l.collname,
            col_description(c.oid, a.attnum) AS comment
        FROM pg_attribute a
        JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        LEFT JOIN pg_collation l ON l.oid = a.attcollation
        WHERE c.relnamespace = current_schema()::regnamespace
            AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY c.relname, a.attnum
        """,
    "constraints": """
        SELECT conrelid::regclass::text AS "table", conname, contype::text, condeferrable,
            condeferred, convalidated, confupdtype::text, confdeltype::text, confmatchtype::text,
            pg_get_constraintdef(oid) AS definition
        FROM pg_constraint WHERE connamespace = current_schema()::regnamespace ORDER BY 1, 2
        """,
    "indexes": """
        SELECT indrelid::regclass::text AS "table", indexrelid::regclass::text AS name,
            indisunique, indisprimary, indisvalid, indnkeyatts,
            pg_get_indexdef(indexrelid) AS definition,
            (SELECT array_agg(o.opcname::text ORDER BY k.n)
             FROM unnest(indclass::oid[]) WITH ORDINALITY k (id, n)
             JOIN pg_opclass o ON o.oid = k.id) AS operator_classes
        FROM pg_index JOIN pg_class c ON c.oid = indrelid
        WHERE c.relnamespace = current_schema()::regnamespace ORDER BY 1, 2
        """,
    "sequences": """
        SELECT c.relname, s.data_type::text, s.start_value, s.min_value, s.max_value,
            s.increment_by, s.cycle, s.cache_size, s.last_value, d.deptype::text AS owned,
            d.refobjid::regclass::text AS owner_table, a.attname AS owner_column
        FROM pg_class c
        JOIN pg_sequences s ON s.schemaname = current_schema() AND s.sequencename = c.relname
        LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
            AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
        LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        WHERE c.relkind = 'S' AND c.relnamespace = current_schema()::regnamespace
        ORDER BY c.relname
        """,
    "types": """
        SELECT t.typname, t.typtype::text,
            (SELECT array_agg(enumlabel::text ORDER BY enumsortorder) FROM pg_enum
             WHERE enumtypid = t.oid) AS labels
        FROM pg_type t
        WHERE t.typnamespace = current_schema()::regnamespace
            AND t.typtype IN ('d', 'e', 'r', 'm')
        ORDER BY t.typname
        """,
    "routines": """
        SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace ORDER BY 1
        """,
    "triggers": """
        SELECT tgrelid::regclass::text AS "table", tgname FROM pg_trigger WHERE NOT tgisinternal
        ORDER BY 1, 2
        """,
    "extensions": "SELECT extname FROM pg_extension ORDER BY extname",
}

MYSQL = {
    "tables": """
        SELECT table_name, table_type, engine, row_format, table_collation, auto_increment,
            create_options, table_comment
        FROM information_schema.tables WHERE table_schema = database() ORDER BY table_name
        """,
    "columns": """
        SELECT table_name, ordinal_position, column_name, column_type, is_nullable,
            column_default, extra, character_set_name, collation_name, datetime_precision,
            column_comment, generation_expression
        FROM information_schema.columns WHERE table_schema = database()
        ORDER BY table_name, ordinal_position
        """,
    "indexes": """
        SELECT table_name, index_name, seq_in_index, non_unique, column_name,
            collation AS direction, sub_part, nullable, index_type, index_comment
        FROM information_schema.statistics WHERE table_schema = database()
        ORDER BY table_name, index_name, seq_in_index
        """,
    "constraints": """
        SELECT table_name, constraint_name, constraint_type
        FROM information_schema.table_constraints WHERE table_schema = database()
        ORDER BY table_name, constraint_name, constraint_type
        """,
    "foreign_keys": """
        SELECT table_name, constraint_name, unique_constraint_name, match_option, update_rule,
            delete_rule, referenced_table_name
        FROM information_schema.referential_constraints WHERE constraint_schema = database()
        ORDER BY table_name, constraint_name
        """,
    "keys": """
        SELECT table_name, constraint_name, ordinal_position, column_name, referenced_table_name,
            referenced_column_name
        FROM information_schema.key_column_usage WHERE table_schema = database()
        ORDER BY table_name, constraint_name, ordinal_position
        """,
    "checks": """
        SELECT constraint_name, check_clause FROM information_schema.check_constraints
        WHERE constraint_schema = database() ORDER BY constraint_name, check_clause
        """,
    "triggers": """
        SELECT event_object_table, trigger_name FROM information_schema.triggers
        WHERE trigger_schema = database() ORDER BY trigger_name
        """,
    "routines": """
        SELECT routine_name FROM information_schema.routines
        WHERE routine_schema = database() ORDER BY routine_name
        """,
}


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    engine = create_engine(sys.argv[1])
    with engine.connect() as connection:
        inspector = inspect(connection)
        names = sorted(inspector.get_table_names())
        facts = {
            "dialect": engine.dialect.name,
            "tables": {name: inspected(inspector, name) for name in names},
            "views": sorted(inspector.get_view_names()),
            "catalog": catalog(connection),
            "rows": {name: rows(connection, name) for name in names},
        }
    json.dump(facts, sys.stdout, indent=1, sort_keys=True, default=str)
    sys.stdout.write("\n")


def inspected(inspector: Inspector, name: str) -> Facts:
    """What SQLAlchemy shows of a table. Only of its columns does the order count."""
    return {
        "columns": [
            column | {"type": type_text(inspector, column)} for column in inspector.get_columns(name)
        ],
        "primary_key": inspector.get_pk_constraint(name),
        "unique": by_text(inspector.get_unique_constraints(name)),
        "checks": by_text(inspector.get_check_constraints(name)),
        "foreign_keys": by_text(inspector.get_foreign_keys(name)),
        "indexes": by_text(
            index | {"dialect_options": index_options(index)} for index in inspector.get_indexes(name)
        ),
        "options": table_options(inspector, name),
    }


def type_text(inspector: Inspector, column: Facts) -> str:
    text = column["type"].compile(dialect=inspector.dialect)
    return "<uuid>" if MAKES_NO_MARIADB_UUID and text in ("UUID", "CHAR(32)") else text


def table_options(inspector: Inspector, name: str) -> Facts | None:
    try:
        return inspector.get_table_options(name)
    except NotImplementedError:  # by PostgreSQL's dialect, before SQLAlchemy 2.1
        return None


def index_options(index: Facts) -> Facts:
    """An index's options, with conditions as text."""
    options = index.get("dialect_options") or {}
    return {key: squeezed(str(value)) for key, value in options.items()}


def by_text(items: Any) -> list[Any]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True, default=str))


def squeezed(sql: str) -> str:
    """A condition without the spaces that mean nothing in it."""
    return re.sub(r"\s*([=<>(),])\s*", r"\1", re.sub(r"\s+", " ", sql)).strip()


def query(connection: Connection, sql: str) -> list[Facts]:
    """The rows of a catalog query as dictionaries with names in lower case."""
    found = connection.exec_driver_sql(sql).mappings()
    return [{name.lower(): value for name, value in row.items()} for row in found]


def rows(connection: Connection, name: str) -> Any:
    """The rows of a seeded table without their times, or the number of another table's."""
    if name not in SEEDED_TABLES:
        return connection.scalar(select(func.count()).select_from(table(name)))
    found = connection.execute(select(text("*")).select_from(table(name)).order_by(text("1")))
    return [
        {key: "<time>" if key in TIME_COLUMNS and value else value for key, value in row.items()}
        for row in found.mappings()
    ]


def catalog(connection: Connection) -> Facts:
    """What the database tells of itself."""
    if connection.dialect.name == "sqlite":
        return sqlite_catalog(connection)
    queries = POSTGRESQL if connection.dialect.name == "postgresql" else MYSQL
    found = {name: query(connection, sql) for name, sql in queries.items()}
    if MAKES_NO_MARIADB_UUID and queries is MYSQL:
        for column in found["columns"]:
            if column["column_type"] in ("uuid", "char(32)"):
                column |= {"column_type": "<uuid>", "character_set_name": None, "collation_name": None}
    return found


def sqlite_catalog(connection: Connection) -> Facts:
    master = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    objects = query(connection, master)
    tables = {item["name"]: item["sql"] for item in objects if item["type"] == "table"}
    indexes = {item["name"]: item["sql"] or "" for item in objects if item["type"] == "index"}
    counters = "SELECT name, seq FROM sqlite_sequence ORDER BY name"
    return {
        "objects": [{key: item[key] for key in ("type", "name", "tbl_name")} for item in objects],
        "tables": {name: sqlite_table(connection, name, sql) for name, sql in tables.items()},
        "conditions": {
            name: squeezed(re.split(r"\bWHERE\b", sql, maxsplit=1, flags=re.IGNORECASE)[-1])
            for name, sql in indexes.items()
            if re.search(r"\bWHERE\b", sql, re.IGNORECASE)
        },
        "counters": query(connection, counters) if "sqlite_sequence" in tables else [],
    }


def sqlite_table(connection: Connection, name: str, sql: str) -> Facts:
    def pragma(what: str, argument: str = name) -> list[Facts]:
        return query(connection, f'PRAGMA {what}("{argument}")')

    # Numbers that SQLite gives by the order of creation mean nothing.
    indexes = [
        {key: row[key] for key in ("name", "unique", "origin", "partial")} for row in pragma("index_list")
    ]
    return {
        "kind": [{key: row[key] for key in ("type", "wr", "strict")} for row in pragma("table_list")],
        "autoincrement": bool(re.search(r"\bAUTOINCREMENT\b", sql, re.IGNORECASE)),
        "columns": pragma("table_xinfo"),
        "collations": sqlite_collations(sql),
        "foreign_keys": by_text(
            {key: value for key, value in row.items() if key != "id"} for row in pragma("foreign_key_list")
        ),
        "deferrable": re.findall(r"(?:NOT )?DEFERRABLE(?: INITIALLY \w+)?", sql, re.IGNORECASE),
        "indexes": by_text(index | {"columns": pragma("index_xinfo", index["name"])} for index in indexes),
    }


def sqlite_collations(sql: str) -> dict[str, str]:
    """The collations that columns ask for: no pragma tells that of a column without an index."""
    body = sql[sql.index("(") + 1 : sql.rindex(")")]
    column = re.compile(r'\s*"?(\w+)"?\s.*\bCOLLATE\s+"?(\w+)', re.IGNORECASE | re.DOTALL)
    found = (column.match(item) for item in re.split(r",(?![^()]*\))", body))
    return {match[1]: match[2] for match in found if match}


if __name__ == "__main__":
    main()
