//! `keeper init`: a file to begin with. It is written once and asks nothing.

use crate::{
    Refusal,
    cli::InitArgs,
    output::{line, say},
};
use std::{fs::File, io::ErrorKind, io::Write as _};

/// Three lines of it have to be edited. It is of chain 1.
const TEMPLATE: &str = include_str!("init.toml");

pub(crate) fn init(args: &InitArgs) -> eyre::Result<()> {
    let path = &args.path;
    let shown = path.display();
    let mut file = File::create_new(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Refusal::Usage(format!(
            "{shown} is there already and is left as it is; give another name, or edit it"
        )),
        _ => Refusal::Usage(format!("{shown} cannot be written: {error}")),
    })?;
    file.write_all(template(args.chain).as_bytes())?;
    file.sync_all()?;
    line(&shown.to_string())?;
    say(&format!(
        "edit its lines marked (1), (2) and (3), then: keeper check --config {shown} --online"
    ));
    Ok(())
}

/// The file for a chain.
fn template(chain: u64) -> String {
    let name = match chain {
        1 => "mainnet".to_owned(),
        chain => format!("chain-{chain}"),
    };
    TEMPLATE
        .replace("profile.default.chain.1.", &format!("profile.default.chain.{chain}."))
        .replace("\nid = 1\n", &format!("\nid = {chain}\n"))
        .replace("deployments/1.json", &format!("deployments/{chain}.json"))
        .replace("chain.mainnet", &format!("chain.{name}"))
}
