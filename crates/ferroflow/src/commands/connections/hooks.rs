//! What Python knows of connections: it is started for each question.

use anyhow::Context as _;
use ferroflow_operations::OperationError;
use ferroflow_operations::connection::{Answering, Hooks, Tested, UsualConnection};
use ferroflow_python::ForkServer;
use ferroflow_python::connections::ConnectionTypes;
use ferroflow_python::helper::HelperError;

use crate::session::Session;

pub(super) struct PythonHooks<'s>(pub(super) &'s Session);

impl Hooks for PythonHooks<'_> {
    fn types(&self) -> Answering<'_, Vec<String>> {
        Box::pin(async move {
            let server = self.start().await?;
            answered(&server, ConnectionTypes::new(server.clone()).names().await).await
        })
    }

    fn usual(&self) -> Answering<'_, Vec<UsualConnection>> {
        Box::pin(async move {
            let server = self.start().await?;
            answered(&server, ConnectionTypes::new(server.clone()).usual().await).await
        })
    }

    fn test<'a>(&'a self, conn_id: &'a str) -> Answering<'a, Tested> {
        Box::pin(async move {
            let server = self.start().await?;
            answered(&server, ConnectionTypes::new(server.clone()).test(conn_id).await).await
        })
    }
}

impl PythonHooks<'_> {
    async fn start(&self) -> Result<ForkServer, OperationError> {
        let started = self.0.start_python().await.context("connections are known to Python alone");
        started.map_err(|error| OperationError::UserCode(error.into()))
    }
}

async fn answered<T>(server: &ForkServer, answer: Result<T, HelperError>) -> Result<T, OperationError> {
    server.stop().await;
    answer.map_err(|error| OperationError::UserCode(error.into()))
}
