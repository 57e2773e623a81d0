//! `keeper init`: a file to begin with. It is written once and asks nothing.

use crate::{
    Refusal,
    cli::InitArgs,
    output::{line, say},
};
use std::{fs::File, io::ErrorKind, io::Write as _};

/// Three lines of it have to be edited.
pub(crate) const TEMPLATE: &str = include_str!("init.toml");

pub(crate) fn init(args: &InitArgs) -> eyre::Result<()> {
    let path = &args.path;
    let shown = path.display();
    let mut file = File::create_new(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Refusal::Usage(format!(
            "{shown} is there already and is left as it is; give another name, or edit it"
        )),
        _ => Refusal::Usage(format!("{shown} cannot be written: {error}")),
    })?;
    file.write_all(TEMPLATE.as_bytes())?;
    file.sync_all()?;
    line(&shown.to_string())?;
    say(&format!(
        "edit its lines marked (1), (2) and (3), then: keeper check --config {shown} --online"
    ));
    Ok(())
}
