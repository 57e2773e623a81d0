//! Looking into a store, or changing a little in it, while its keeper runs or is down.

use crate::{
    Refusal,
    cli::StoreArgs,
    config,
    fold::now_ms,
    report::{self, Breaker, Found},
    store::Store,
};
use tokio::task::spawn_blocking;

/// Where the store is.
async fn url(args: &StoreArgs) -> eyre::Result<String> {
    if let Some(store) = &args.store {
        return Ok(store.clone());
    }
    let Some(path) = args.file.found() else {
        return Err(Refusal::Usage(
            "which store? Give --store sqlite:FILE, or --config FILE: there is no keeper.toml here"
                .to_owned(),
        )
        .into());
    };
    // It may be a pipe into which nobody has written yet.
    let store = spawn_blocking(move || config::store(&path)).await??;
    Ok(store.url.expose().to_owned())
}

/// The store, to read from.
///
/// # Errors
/// A [`Refusal`] where there is none, or one of another version.
pub(crate) async fn read(args: &StoreArgs) -> eyre::Result<Store> {
    Ok(Store::read_only(&url(args).await?).await?)
}

/// The store, for one small change.
///
/// # Errors
/// As [`read`].
pub(crate) async fn beside(args: &StoreArgs) -> eyre::Result<Store> {
    Ok(Store::beside(&url(args).await?).await?)
}

/// The breakers with this key or label, at least one.
///
/// # Errors
/// [`Refusal::Usage`] where there is none.
pub(crate) async fn breakers(store: &Store, name: &str) -> eyre::Result<Vec<Breaker>> {
    match report::find(store, name, now_ms() / 1_000).await? {
        Found::Breakers(breakers) => Ok(breakers),
        Found::Nothing(some) => Err(nothing(name, &some).into()),
    }
}

pub(crate) fn nothing(name: &str, some: &[Breaker]) -> Refusal {
    let names = some.iter().map(|one| one.label.as_deref().unwrap_or(&one.key));
    let names = names.collect::<Vec<_>>().join(", ");
    Refusal::Usage(match names.is_empty() {
        true => format!("there is no breaker `{name}`: none is known yet"),
        false => format!(
            "there is no breaker `{name}`; there are {names}, and what else keeper status shows"
        ),
    })
}
