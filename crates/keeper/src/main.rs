//! The binary `keeper`: settings in, exit code out.

use clap::Parser;
use fusebox_keeper::{Cli, exit_code, report};
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let result = fusebox_keeper::execute(Cli::parse()).await;
    if let Err(error) = &result {
        report(error);
    }
    exit_code(&result)
}
