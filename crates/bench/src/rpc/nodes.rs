//! Nodes on a runtime of their own.

use fusebox_testkit::{Node, NodeBuilder, StartError};
use tokio::runtime::{Builder, Handle, Runtime};

/// Where nodes run. It ends with this.
#[derive(Debug)]
pub struct Farm(Option<Runtime>);

impl Farm {
    /// # Errors
    ///
    /// The machine has no thread left.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self(Some(Builder::new_multi_thread().worker_threads(1).enable_all().build()?)))
    }

    /// Starts a node here.
    ///
    /// # Errors
    ///
    /// As [`NodeBuilder::start`].
    pub async fn start(&self, node: NodeBuilder) -> Result<Node, StartError> {
        let started = self.handle().spawn(node.start());
        started.await.expect("starting a node neither panics nor is cancelled")
    }

    fn handle(&self) -> &Handle {
        self.0.as_ref().expect("it is there until it is dropped").handle()
    }
}

impl Drop for Farm {
    fn drop(&mut self) {
        // A runtime that waits for its threads must not be dropped inside another one.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
