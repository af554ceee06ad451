"""What is typed about connections, and how templates are rendered."""

FORMATS = ("table", "json", "yaml", "plain")
LOG = ["event", "dag_id", "task_id", "logical_date", "owner"]
CONNECTION = [
    "conn_id", "conn_type", "description", "host", "schema", "login", "password", "port", "extra",
    "is_encrypted", "is_extra_encrypted", "team_name",
]  # fmt: skip
AFTER = {"connection": CONNECTION, "log": LOG}


def add(conn_id: str, *arguments: str) -> list[str]:
    return ["connections", "add", conn_id, *arguments]


def by_uri(conn_id: str, uri: str, *arguments: str) -> list[str]:
    return add(conn_id, "--conn-uri", uri, *arguments)


def shown(*arguments: str) -> list[list[str]]:
    return [["connections", *arguments, "-o", output] for output in FORMATS]


SOME = [
    by_uri("store", "postgresql://me:s3cret%2F%40@Store.example:5433/sales%2Fnorth?sslmode=require&n=5"),
    by_uri("bare", "google-cloud-platform://"),
    add("mail", "--conn-json", '{"conn_type": "smtp", "host": "mail", "port": 25, "login": "ä b", "password":'
        ' "p@ss:word/ü", "schema": "a/b", "description": "the post",'
        ' "extra": {"timeout": 5, "api_key": "hidden-key", "more": {"token": "t", "x": [1, null]}}}'),
]  # fmt: skip

ADDING = [
    {
        "name": "connections add",
        "steps": [
            *SOME,
            add(
                "typed",
                "--conn-type",
                "smtp",
                "--conn-host",
                "mail",
                "--conn-port",
                "25",
                "--conn-login",
                "ä b",
                "--conn-password",
                "p@ss:word/ü",
                "--conn-schema",
                "a/b",
                "--conn-description",
                "the post",
                "--conn-extra",
                '{"timeout": 5, "api_key": "hidden-key", "x": [{"note": "p@ss:word/ü"}]}',
            ),
            add("unknown", "--conn-type", "nonsense", "--conn-host", "h"),
            add(
                "json",
                "--conn-json",
                '{"conn_type": "my-type", "host": "h", "port": "99", "login": "",'
                ' "password": "long-password", "description": "as JSON",'
                ' "extra": {"b": 1, "a": "é", "note": "has long-password in it"}}',
                "--conn-description",
                "not this",
            ),
            add("json_text", "--conn-json", '{"conn_type": "postgresql", "extra": "{\\"x\\": \\"y\\"}"}'),
            by_uri(
                "in_uri",
                "http://https://me:pw@Host.example:8443/path?a=1&b=text&c=",
                "--conn-description",
                "d",
            ),
            by_uri("whole", "x://h/?__extra__=%7B%22a%22%3A+%7B%22b%22%3A+1%7D%7D"),
            by_uri("overridden", "x://h?a=1", "--conn-extra", '{"b": 2}'),
            by_uri("emptied", "x://h?a=1", "--conn-extra", ""),
            by_uri("socket", "postgres://u@%2FRun%2FPg/db"),
            by_uri("ipv6", "x://u:@[::1]:80"),
            by_uri("port_only", "x://:77"),
            by_uri("fragment", "x://h/p#f?a=b"),
            by_uri("plus", "aws+s3.x-y://:only%25@"),
            by_uri("dots.and-dashes_1", "x://"),
            by_uri("store", "x://h"),
            add("a b", "--conn-type", "generic"),
            add("a..b", "--conn-type", "generic"),
            add("x" * 201, "--conn-type", "generic"),
            add("none"),
            add("both", "--conn-uri", "x://h", "--conn-json", "{}"),
            by_uri("no_scheme", "nonsense"),
            by_uri("too_many", "a://b://c://d"),
            by_uri("bad_port", "x://h:port"),
            by_uri("bad_extra", "x://h?__extra__=nonsense"),
            by_uri("mixed", "x://h", "--conn-host", "other"),
            by_uri("mixed", "x://h", "--conn-login", ""),
            add("mixed", "--conn-json", '{"conn_type": "x"}', "--conn-extra", "{}"),
            add("mixed", "--conn-json", '{"conn_type": "x"}', "--conn-port", "1"),
            add("bad_json", "--conn-json", "[1]"),
            add("bad_json", "--conn-json", '{"host": "h"}'),
            add("bad_json", "--conn-json", '{"conn_type": "x", "port": "many"}'),
            add("bad_json", "--conn-json", '{"conn_type": "x", "nonsense": 1}'),
            add("bad_extra", "--conn-type", "generic", "--conn-extra", "nonsense"),
            add("bad_extra", "--conn-type", "generic", "--conn-extra", "[1]"),
            ["connections", "add"],
        ],
        "after": AFTER,
    },
    # Where Airflow cannot read it, it notes nothing in its log.
    {"name": "connections add, no JSON", "steps": [add("bad_json", "--conn-json", "{nonsense")]},
    {
        "name": "connections list, get, delete",
        "steps": [
            *shown("list"),
            by_uri("port_only", "x://:77"),
            by_uri("plain", "x://me:pw@h:1/s"),
            *shown("list", "--show-values", "--hide-sensitive"),
            *SOME,
            by_uri("in_uri", "http://https://me:pw@Host.example:8443/path?a=1&b=text&c="),
            by_uri("flat", "my-type://me@h/?a=b+c&d=%26"),
            *shown("list"),
            *shown("list", "--show-values"),
            ["connections", "list", "--hide-sensitive"],
            ["connections", "list", "-o", "nonsense"],
            *shown("get", "mail"),
            *shown("get", "store"),
            ["connections", "get", "bare", "--color", "off"],
            ["connections", "get", "nonsense"],
            {
                "arguments": ["connections", "get", "store", "-o", "json"],
                "environment": {"AIRFLOW_CONN_STORE": "x-y://of-the:environment@h"},
            },
            {
                "arguments": ["connections", "get", "other", "-o", "json"],
                "environment": {"AIRFLOW_CONN_OTHER": '{"conn_type": "x", "extra": {"a": 1}}'},
            },
            ["connections", "delete", "flat"],
            ["connections", "delete", "flat"],
            ["connections", "delete", "store", "--color", "on"],
            ["connections", "test", "mail"],
            {
                "arguments": ["connections", "test", "nonsense"],
                "environment": {"AIRFLOW__CORE__TEST_CONNECTION": "Enabled"},
            },
            {
                "arguments": ["connections", "test", "bare"],
                "environment": {"AIRFLOW__CORE__TEST_CONNECTION": "Enabled"},
            },
        ],
        "after": AFTER,
    },
    {
        "name": "connections create-default-connections",
        "steps": [
            by_uri("aws_default", "mine://stays"),
            ["connections", "create-default-connections"],
        ],
        "after": AFTER,
    },
]

GOOD_YAML = """
# comment
store:
  conn_type: my-type
  host: &host h.example
  port: 5_432
  extra: {a: yes, b: [1, 0x1f, 010, 1.5, ~, 'yes', 1e3, 12:30], c: "\\u00e4"}
second:
  conn_type: x
  host: *host
  extra_dejson:
    text: |
      two
      lines
third: x-y://me:pw@h:1/s?a=b
fourth: [x://in.a.list]
none: []
"""

FILES = [
    {
        "name": "connections import and export",
        "files": {
            "good.json": '{"a": {"conn_type": "my-type", "host": "h", "port": 5, "login": "l", "password":'
            ' "p", "schema": "s", "description": "d", "extra": {"x": [1, "ä"]}},'
            ' "b": "x-y://u:p@h/?a=1", "c": {"uri": "z://h"}, "d": ["x://one"], "e": [],'
            ' "f": {"conn_type": "x", "conn_id": "f", "extra": "{\\"k\\": 1}"}, "a b": "x://h",'
            ' "g": {"conn_type": ""}}',
            "again.json": '{"a": {"conn_type": "other"}, "b": "other://h", "new": "x://h"}',
            "good.yaml": GOOD_YAML,
            "good.yml": "only: x://h\n",
            "good.env": "# comment\n\nenv_one=my-type://u:p%40@h:1/s?a=b\nenv_two=x://h?a=b=c\n",
            "twice.env": "a=x://1\na=x://2\n",
            "no_sign.env": "a\n",
            "no_key.env": "=x\n",
            "no_value.env": "a=\n",
            "twice.json": '{"a": ["x://1", "x://2"]}',
            "broken.json": "{",
            "empty.json": "",
            "list.json": "[]",
            "number.json": '{"a": 5}',
            "keys.json": '{"a": {"conn_type": "x", "nonsense": 1}}',
            "mismatch.json": '{"a": {"conn_type": "x", "conn_id": "b"}}',
            "both.json": '{"a": {"conn_type": "x", "extra": "{}", "extra_dejson": {}}}',
            "mixed.json": '{"a": {"uri": "x://h", "host": "h"}}',
            "extra.json": '{"fine": "x://h", "a": {"conn_type": "x", "extra": "nonsense"}}',
            "broken.yaml": "a: [1\n",
            "words.yaml": "only words\n",
            "empty.yaml": "",
            "words.txt": "a=x://1",
        },
        "steps": [
            ["connections", "export", "-"],
            *SOME,
            ["connections", "import", "good.json"],
            ["connections", "import", "again.json"],
            ["connections", "import", "again.json", "--overwrite"],
            ["connections", "import", "good.yaml", "--overwrite"],
            ["connections", "import", "good.yml"],
            ["connections", "import", "good.env"],
            *[
                ["connections", "import", name]
                for name in (
                    "twice.env",
                    "no_sign.env",
                    "no_key.env",
                    "no_value.env",
                    "twice.json",
                    "broken.json",
                    "empty.json",
                    "list.json",
                    "number.json",
                    "keys.json",
                    "mismatch.json",
                    "both.json",
                    "mixed.json",
                    "extra.json",
                    "broken.yaml",
                    "words.yaml",
                    "empty.yaml",
                    "words.txt",
                    "missing.json",
                )
            ],
            {"arguments": ["connections", "export", "out.json"], "writes": "out.json"},
            {"arguments": ["connections", "export", "out.yaml"], "writes": "out.yaml"},
            {"arguments": ["connections", "export", "out.env"], "writes": "out.env"},
            {
                "arguments": ["connections", "export", "j.env", "--serialization-format", "json"],
                "writes": "j.env",
            },
            {
                "arguments": ["connections", "export", "u.env", "--serialization-format", "uri"],
                "writes": "u.env",
            },
            {"arguments": ["connections", "export", "plain", "--file-format", "env"], "writes": "plain"},
            {"arguments": ["connections", "export", "older", "--format", "json"], "writes": "older"},
            ["connections", "export", "-"],
            ["connections", "export", "-", "--file-format", "env"],
            ["connections", "export", "-", "--file-format", "env", "--serialization-format", "json"],
            ["connections", "export", "out.txt"],
            ["connections", "export", "out.json", "--serialization-format", "json"],
            ["connections", "export", "-", "--serialization-format", "uri"],
            ["connections", "export", "-", "--format", "json", "--file-format", "json"],
            ["connections", "export", "-", "--file-format", "nonsense"],
        ],
        "after": AFTER,
    },
    {
        "name": "variables import of YAML",
        "files": {
            "good.yaml": "a: text\nb: {value: 5, description: five}\nc:\n- 1\n- yes\n- ~\nd: 'no'\ne: off\n"
            "f: 0o17\ng: 1.50\nh: !!str 12\ni: &x {k: v}\nj: {<<: *x, l: m}\nk: |\n  two\n  lines\nl:\n",
            "good.yml": "z: 1\n",
            "broken.yaml": "a: [1\n",
            "empty.yaml": "",
            "list.yaml": "- 1\n",
        },
        "steps": [
            ["variables", "import", "good.yaml"],
            ["variables", "import", "good.yml", "-a", "fail"],
            ["variables", "import", "broken.yaml"],
            ["variables", "import", "empty.yaml"],
            ["variables", "import", "list.yaml"],
            ["variables", "list", "--show-values", "-o", "json"],
        ],
        "after": {"variable": ["key", "val", "description", "is_encrypted", "team_name"], "log": LOG},
    },
]


def render(*arguments: str) -> list[str]:
    return ["tasks", "render", *arguments]


RENDERING = [
    {
        "name": "tasks render",
        "steps": [
            render("daily", "begin", "2020-01-02"),
            render("rendering", "many", "2021-02-03"),
            ["variables", "set", "folder", "here"],
            ["variables", "set", "password", "not-masked"],
            by_uri("store", "x://h"),
            render("rendering", "many", "2021-02-03T04:05:06"),
            render("rendering", "secret", "2021-02-03"),
            render("rendering", "several", "2021-02-03", "--map-index", "1"),
            render("rendering", "function", "2021-02-03"),
            render("mapped", "each", "three", "--map-index", "2"),
            render("daily", "left", "2020-01-02"),
            render("rendering", "broken", "2021-02-03"),
            render("nonsense", "many", "2021-02-03"),
            render("rendering", "many", "no such run"),
            render("rendering", "many"),
        ],
    }
]

ALL = [*ADDING, *FILES, *RENDERING]
