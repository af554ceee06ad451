//! What a column may be spoilt with, by its type.

use ferroflow_testkit::Server;

/// What each of its values is called, and how SQL writes it.
pub(crate) type Values = Vec<(&'static str, &'static str)>;

/// The values for a column of a type, as the database calls it. What a column does not admit is refused when it is
/// written.
pub(crate) fn of_type(server: Server, type_name: &str) -> Values {
    let type_name = type_name.to_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| type_name.contains(word));
    let mut values = vec![("nothing", "NULL")];
    values.extend(if is(&["json"]) {
        json(server)
    } else if is(&["timestamp", "datetime"]) {
        times(server)
    } else if is(&["char", "text"]) {
        texts(server)
    } else if is(&["bool", "tinyint"]) {
        flags(server)
    } else if is(&["int"]) {
        numbers(server)
    } else if is(&["uuid"]) {
        vec![
            ("nobody's id", "'00000000-0000-0000-0000-000000000000'"),
            ("a dangling id", "'0191e8a0-0000-7000-8000-000000000000'"),
        ]
    } else if is(&["float", "double", "real"]) {
        fractions(server)
    } else {
        vec![
            ("no bytes", "''"),
            ("other bytes", if server == Server::Postgres { "'\\x00ff80'" } else { "X'00ff80'" }),
        ]
    });
    values
}

fn json(server: Server) -> Values {
    let mut values = vec![
        ("null", "'null'"),
        ("a list", "'[]'"),
        ("a text", "'\"x\"'"),
        ("a number", "'-1'"),
        ("an object", "'{}'"),
    ];
    if server == Server::Sqlite {
        values.extend([
            ("NaN", "'{\"x\": NaN, \"y\": [-Infinity]}'"),
            ("NaN alone", "'NaN'"),
            ("no JSON", "'{\"x\": '"),
            ("infinity", "9e999"),
            ("bytes", "X'00ff'"),
        ]);
    }
    values.push((
        "a megabyte",
        match server {
            Server::Sqlite => "'\"' || printf('%.*c', 1000000, 'x') || '\"'",
            Server::Postgres => "CAST('\"' || repeat('x', 1000000) || '\"' AS json)",
            Server::MariaDb => "CONCAT('\"', REPEAT('x', 1000000), '\"')",
        },
    ));
    values
}

fn times(server: Server) -> Values {
    let mut values = vec![
        ("the first day", "'0001-01-01 00:00:00'"),
        ("the last day", "'9999-12-31 23:59:59.999999'"),
        ("long ago", "'1970-01-02 00:00:00'"),
        ("soon", "'2037-12-31 00:00:00'"),
    ];
    match server {
        Server::Sqlite => values.extend([
            ("no time", "'tomorrow'"),
            ("no text", "17"),
            ("an empty text", "''"),
            ("a later time in another form", "'2024-01-04T00:00:00+02:00'"),
            ("bytes", "X'00'"),
        ]),
        Server::Postgres => values.extend([("infinity", "'infinity'"), ("minus infinity", "'-infinity'")]),
        Server::MariaDb => {}
    }
    values
}

fn texts(server: Server) -> Values {
    let mut values = vec![
        ("an unknown word", "'shutdown'"),
        ("an empty text", "''"),
        ("NaN", "'NaN'"),
        ("a negative number", "'-1'"),
        ("an odd text", "'a''b\"%_{{ x }}\u{1F4A5}'"),
        ("JSON", "'{\"x\": 1}'"),
        ("null", "'null'"),
        ("another word", "'dataset_triggered'"),
        ("a dangling id", "'0191e8a0000070008000000000004242'"),
    ];
    if server == Server::Sqlite {
        values.push(("bytes", "X'00ff'"));
    }
    values.push((
        "a megabyte",
        match server {
            Server::Sqlite => "printf('%.*c', 1000000, 'x')",
            Server::Postgres => "repeat('x', 1000000)",
            Server::MariaDb => "REPEAT('x', 1000000)",
        },
    ));
    values
}

fn flags(server: Server) -> Values {
    let mut values = vec![("true", "TRUE"), ("false", "FALSE")];
    if server == Server::Sqlite {
        values.extend([("a word", "'maybe'"), ("a number", "-7"), ("bytes", "X'00ff'")]);
    }
    values
}

fn numbers(server: Server) -> Values {
    let mut values = vec![
        ("less than nothing", "-1"),
        ("zero", "0"),
        ("the largest", "2147483647"),
        ("the smallest", "-2147483648"),
        ("a dangling id", "424242"),
    ];
    if server == Server::Sqlite {
        values.extend([
            ("a word", "'many'"),
            ("a fraction", "1.5"),
            ("too large", "9223372036854775807"),
            ("bytes", "X'00ff'"),
        ]);
    }
    values
}

fn fractions(server: Server) -> Values {
    let mut values = vec![("less than nothing", "-1"), ("a large one", "1e37")];
    match server {
        Server::Sqlite => values.extend([("a word", "'x'"), ("infinity", "9e999")]),
        Server::Postgres => values.extend([("NaN", "'NaN'"), ("infinity", "'Infinity'")]),
        Server::MariaDb => {}
    }
    values
}
