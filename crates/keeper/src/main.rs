//! The binary `keeper`: settings in, exit code out.

use clap::Parser;
use fusebox_keeper::{Cli, execute, exit_code, report};
use std::process::ExitCode;
use tokio::runtime::Runtime;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = Runtime::new().map_err(Into::into).and_then(|runtime| {
        let result = runtime.block_on(execute(cli));
        // A thread that waits for the address of a name, or for whoever reads its output, is not waited for.
        runtime.shutdown_background();
        result
    });
    if let Err(error) = &result {
        report(error);
    }
    exit_code(&result)
}
