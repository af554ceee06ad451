//! What `ferroflow variables` and `ferroflow pools` do beyond what was recorded.

use ferroflow_testkit::Server;
use serde_json::json;

use crate::cli::site::Site;

/// Airflow makes dates of them, which a variable cannot hold.
#[tokio::test]
async fn dates_in_yaml_stay_texts() {
    let site = Site::on(Server::Sqlite).await;
    site.write("a.yaml", "day: 2020-01-02\n'yes': {at: 2020-01-02 03:04:05}\n");
    let told = site.run(&["variables", "import", "a.yaml"]).expect_success();
    assert_eq!(told, "2 of 2 variables successfully updated.\n");
    assert_eq!(site.run(&["variables", "get", "day"]).expect_success(), "2020-01-02\n");
    site.write("bad.yaml", "fine: 1\nno: 2\n");
    let refused = site.run(&["variables", "import", "bad.yaml"]);
    assert!(refused.stderr.contains("bad.yaml: line 2: a key means false; put it in quotes"), "{refused:?}");
    assert_eq!(site.rows("variable", &json!([["key", "VARCHAR(250)"]])).await.len(), 2);
}

#[tokio::test]
async fn an_unknown_name_is_told_with_near_names() {
    let site = Site::on(Server::Sqlite).await;
    site.run(&["variables", "set", "region", "north"]).expect_success();
    for (arguments, told) in [
        (&["variables", "get", "regin"][..], "Variable regin does not exist.; did you mean region?"),
        (&["pools", "get", "narow"], "Pool narow does not exist; did you mean narrow?"),
        (&["pools", "delete", "nothing like it"], "`ferroflow pools list` shows"),
    ] {
        let refused = site.run(arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(refused.stderr.contains(told), "{arguments:?}: {}", refused.stderr);
    }
}

/// Values are encrypted where there is a key, and are no secret to who has it; the audit log never has them.
#[tokio::test]
async fn values_are_encrypted_and_not_logged() {
    let site = Site::on(Server::Sqlite).await;
    let key = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3Igc2VjcmV0cyE=";
    let run = |arguments: &[&str]| {
        let mut command = site.program.command(arguments);
        ferroflow_testkit::finish(command.env("AIRFLOW__CORE__FERNET_KEY", key), "").expect_success()
    };
    run(&["variables", "set", "region", "north-by-northwest"]);
    let columns = json!([["val", "TEXT"], ["is_encrypted", "BOOLEAN"]]);
    let rows = site.rows("variable", &columns).await;
    assert!(rows[0][0].as_str().unwrap().starts_with("gAAAA"), "{rows:?}");
    assert_eq!(rows[0][1], "true");
    assert_eq!(run(&["variables", "get", "region"]), "north-by-northwest\n");
    assert!(run(&["variables", "list", "--show-values"]).contains("north-by-northwest"));
    let logged = site.rows("log", &json!([["extra", "TEXT"]])).await;
    assert_eq!(logged.len(), 1, "{logged:?}");
    assert!(!logged[0].to_string().contains("northwest"), "{logged:?}");
}
