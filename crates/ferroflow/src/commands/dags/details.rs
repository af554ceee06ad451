//! `ferroflow dags details`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_operations::dag;

use super::{VerboseArgs, detail};
use crate::commands::operations;
use crate::output::{Cell, Format, OutputArgs, Records};
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
pub(crate) struct DetailsArgs {
    /// The DAG
    dag_id: String,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

pub(super) fn run(args: &DetailsArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    let dag = block_on(async {
        let operations = operations::open(session).await?;
        Ok(dag::details(&operations, &args.dag_id).await?)
    })?;
    let fields = detail::of_row(&dag, session.settings.api.secret_key.as_ref());
    let records = match args.output.output {
        Format::Table | Format::Plain => {
            let rows = fields.into_iter().map(|(name, value)| vec![Cell::from(name), value]).collect();
            Records::new(vec!["property_name", "property_value"], rows)
        }
        Format::Json | Format::Yaml => {
            let (names, values) = fields.into_iter().unzip();
            Records::new(names, vec![values])
        }
    };
    Ok(records.print(args.output.output, out)?)
}
