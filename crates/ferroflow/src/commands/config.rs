//! `ferroflow config`: what is configured, and where

use std::io::Write;

use anyhow::Result;
use clap::{Args, Subcommand};
use ferroflow_config::{Configuration, Environment, Listing};

use crate::output::note;

const LOOKUP_ORDER: &str = "\
An option is looked up in this order; the first place that has it wins:

  1. the environment variable AIRFLOW__SECTION__KEY
  2. for sensitive options, the output of the command in AIRFLOW__SECTION__KEY_CMD
  3. for sensitive options, the secrets backend, by the name in AIRFLOW__SECTION__KEY_SECRET
  4. `key = value` below `[section]` in airflow.cfg
  5. for sensitive options, the output of the command in `key_cmd` in airflow.cfg
  6. for sensitive options, the secrets backend, by the name in `key_secret` in airflow.cfg
  7. the default of Airflow 3.3.2

A secrets backend is Python, which ferroflow cannot ask: where [secrets] backend is set, 3 and 6 are errors, and \
where it is not they have no effect.

airflow.cfg is the file that AIRFLOW_CONFIG names, or else the one in AIRFLOW_HOME, which is ~/airflow unless set. \
It need not exist, unless AIRFLOW_CONFIG names it, and is never written.";

#[derive(Debug, Subcommand)]
#[command(after_help = LOOKUP_ORDER)]
pub(crate) enum ConfigCommand {
    /// Print the value of one option
    ///
    /// It is printed as it is, secrets too. A former name of an option gives the value of the option it became.
    /// An option that does not exist or has no value is an error.
    ///
    /// Example: ferroflow config get-value core parallelism
    #[command(verbatim_doc_comment)]
    GetValue {
        /// Section, without brackets: core, database, scheduler …
        section: String,
        /// Name of the option, in any case
        option: String,
    },
    /// List all options in the form of airflow.cfg
    ///
    /// Without --show-values only the names are listed, since values may be secrets.
    ///
    /// Example: ferroflow config list --section scheduler --show-values --include-sources
    #[command(verbatim_doc_comment)]
    List(ListArgs),
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ListArgs {
    /// Show the defaults, whatever is configured, commented out and with their environment variables
    #[arg(short = 'a', long)]
    defaults: bool,
    /// Show values, secrets too unless --hide-sensitive is given
    #[arg(long)]
    show_values: bool,
    /// Show `< hidden >` in place of passwords, keys and the like
    #[arg(long)]
    hide_sensitive: bool,
    /// Only this section, without brackets
    #[arg(long, value_name = "SECTION")]
    section: Option<String>,
    /// Tell of each option where its value comes from: default, airflow.cfg, env var, cmd
    #[arg(short = 's', long)]
    include_sources: bool,
    /// Tell of each option which environment variable sets it
    #[arg(short = 'V', long)]
    include_env_vars: bool,
    /// Put a # before every option, to start a new airflow.cfg from
    #[arg(short = 'c', long)]
    comment_out_everything: bool,
}

/// Runs the command; what was asked for goes to `out`, warnings to standard error.
pub(crate) fn run(command: &ConfigCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let configuration = Configuration::load(environment)?;
    for warning in configuration.warnings() {
        note(&format_args!("warning: {warning}"))?;
    }
    match command {
        ConfigCommand::GetValue { section, option } => get_value(&configuration, section, option, out),
        ConfigCommand::List(args) => list(&configuration, args, out),
    }
}

fn get_value(configuration: &Configuration, section: &str, option: &str, out: &mut dyn Write) -> Result<()> {
    if let Some((new_section, new_option)) = configuration.renamed(section, option) {
        note(&format_args!("warning: [{section}] {option} is now [{new_section}] {new_option}"))?;
    }
    writeln!(out, "{}", configuration.require(section, option)?.text)?;
    Ok(())
}

fn list(configuration: &Configuration, args: &ListArgs, out: &mut dyn Write) -> Result<()> {
    if !args.show_values {
        note(&"values are not shown; add --show-values to see them, secrets included")?;
    }
    let listing = Listing {
        section: args.section.clone(),
        defaults: args.defaults,
        show_values: args.show_values,
        include_sources: args.include_sources,
        include_env_vars: args.include_env_vars,
        hide_sensitive: args.hide_sensitive,
        comment_out_everything: args.comment_out_everything,
    };
    writeln!(out, "{}", listing.render(configuration)?)?;
    Ok(())
}
