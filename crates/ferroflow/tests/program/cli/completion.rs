//! Scripts that let shells complete.

use std::process::Command;

use ferroflow_testkit::{Program, finish};

fn script(shell: &str) -> String {
    let program = Program::new(env!("CARGO_BIN_EXE_ferroflow"));
    program.run(&["completion", shell]).expect_success()
}

#[test]
fn bash_takes_the_script_and_completes() {
    for (words, completed) in [
        ("dags tr", "trigger"),
        ("backfill c", "create"),
        ("db clean --skip", "--skip-archive"),
        ("assets details -o y", "yaml"),
    ] {
        let last = words.rsplit(' ').next().unwrap();
        let asked = format!(
            "{}\nCOMP_WORDS=(ferroflow {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _ferroflow ferroflow '{last}' \"${{COMP_WORDS[COMP_CWORD-1]}}\"\necho \"${{COMPREPLY[@]}}\"",
            script("bash")
        );
        let mut bash = Command::new("bash");
        let told = finish(bash.args(["--norc", "--noprofile", "-eu", "-s"]), &asked);
        assert_eq!((told.code, told.stdout.trim()), (Some(0), completed), "{words}: {}", told.stderr);
    }
}

#[test]
fn every_shell_has_a_script_and_others_are_refused() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(script(shell).contains("backfill"), "{shell}");
    }
    let program = Program::new(env!("CARGO_BIN_EXE_ferroflow"));
    assert_eq!(program.run(&["completion", "cmd"]).code, Some(2));
    let help = program.run(&["completion", "--help"]).expect_success();
    assert!(help.contains("bash-completion/completions/ferroflow"), "{help}");
}
