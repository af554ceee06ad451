//! `ferroflow completion`

use std::io::Write;

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::Shell;

#[derive(Args, Debug)]
#[command(after_help = "To install it, for you alone:
  bash:  ferroflow completion bash > ~/.local/share/bash-completion/completions/ferroflow
  zsh:   ferroflow completion zsh > ~/.zfunc/_ferroflow
         and in ~/.zshrc, before compinit: fpath+=~/.zfunc
  fish:  ferroflow completion fish > ~/.config/fish/completions/ferroflow.fish

To try it, in this shell alone:
  bash:  source <(ferroflow completion bash)
  fish:  ferroflow completion fish | source")]
pub(crate) struct CompletionArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &CompletionArgs, mut command: Command, out: &mut dyn Write) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "ferroflow", &mut script);
    Ok(out.write_all(&script)?)
}
