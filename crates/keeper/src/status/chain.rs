//! Breakers as their storage words have them, at one block.

use super::fail_on;
use crate::{
    Refusal,
    cli::StatusArgs,
    node::{Endpoints, Unanswered, explain, transport_error},
    output::{self, Clock},
    target::{Key, Listed, Slot, Target, word},
};
use alloy::{eips::BlockId, primitives::B256, providers::Provider};
use comfy_table::{Table, presets};
use fusebox_bindings::{State, TRIP_AT_ONCE, Word};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::Serialize;

/// Words asked for at once.
const AT_ONCE: usize = 64;

/// A breaker at a block.
#[derive(Debug)]
struct Row {
    listed: Listed,
    word: Word,
    state: State,
}

/// What `--json` prints of it.
#[derive(Debug, Serialize)]
struct Json<'a> {
    key: String,
    label: Option<&'a str>,
    contract: String,
    breaker: B256,
    state: String,
    /// Unix seconds; absent while closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<u64>,
    failures: u16,
    threshold: u16,
    reopens: u8,
    block: u64,
}

pub(super) async fn status(args: StatusArgs) -> eyre::Result<()> {
    let (urls, _) = args.node.urls();
    if urls.is_empty() {
        return Err(Refusal::Usage("which node? Give --rpc-url URL".to_owned()).into());
    }
    let endpoints = Endpoints::new(&urls)?;
    let target = Target::new(args.target.watch.clone(), args.target.deployment.as_deref())?;
    let (rows, clock) = read(&endpoints, &target, &args).await.map_err(|error| {
        if let Some(Unanswered(reason)) = error.downcast_ref() {
            return Refusal::Unreachable(reason.clone()).into();
        }
        match transport_error(&error) {
            Some(cause) => Refusal::Unreachable(format!("no answer: {}", explain(cause))).into(),
            None => error,
        }
    })?;
    if args.json {
        let documents: Vec<_> = rows.iter().map(|row| json(row, &clock)).collect();
        output::document(&documents)?;
    } else {
        output::line(&table(&rows, &clock).trim_fmt())?;
    }
    let states: Vec<_> =
        rows.iter().map(|row| (row.listed.name(), row.state.to_string())).collect();
    Ok(fail_on(&args, states.iter().map(|(name, state)| (name.as_str(), state.as_str())))?)
}

async fn read(
    endpoints: &Endpoints,
    target: &Target,
    args: &StatusArgs,
) -> eyre::Result<(Vec<Row>, Clock)> {
    let resolved = target.resolve(endpoints, args.node.chain).await?;
    let nodes = &resolved.nodes;
    for left_out in &*nodes.left_out {
        output::say(&format!("warning: {left_out}: it is not used"));
    }
    if let Some(silent) = resolved.silent.first() {
        return Err(Refusal::Configuration(format!(
            "{silent} does not list its breakers, so it is no ICircuitBreaker; name its slots in a deployment file"
        ))
        .into());
    }
    let latest = nodes.any.get_block(BlockId::latest()).await?;
    let header = latest.ok_or_else(|| eyre::eyre!("the node has no latest block"))?.header;
    let clock = Clock { block: header.number, time: header.timestamp };

    let rows = wanted(&resolved.breakers, args.key.as_deref())?.into_iter().map(async |listed| {
        let Key { contract, breaker, .. } = listed.key;
        let word = word(nodes, &listed.key, header.hash).await?;
        let state = word.state(header.timestamp).map_err(|_| {
            Refusal::Configuration(format!(
                "there is no breaker at slot {} of {contract}: its word has failure threshold 0; is the deployment file current?",
                Slot(breaker)
            ))
        })?;
        eyre::Ok(Row { listed, word, state })
    });
    Ok((stream::iter(rows).buffered(AT_ONCE).try_collect().await?, clock))
}

/// All breakers, or the one of this key or label.
fn wanted(breakers: &[Listed], key: Option<&str>) -> Result<Vec<Listed>, Refusal> {
    let Some(key) = key else { return Ok(breakers.to_vec()) };
    let names = breakers.iter().map(Listed::name).collect::<Vec<_>>().join(", ");
    let found: Vec<_> = breakers.iter().filter(|listed| listed.is(key)).cloned().collect();
    if found.is_empty() {
        return Err(Refusal::Usage(format!("there is no breaker `{key}`; there are {names}")));
    }
    Ok(found)
}

impl Listed {
    fn name(&self) -> String {
        self.label.clone().unwrap_or_else(|| self.key.to_string())
    }

    fn is(&self, wanted: &str) -> bool {
        self.label.as_deref() == Some(wanted) || self.key.to_string().eq_ignore_ascii_case(wanted)
    }
}

fn json<'a>(Row { listed, word, state }: &'a Row, clock: &Clock) -> Json<'a> {
    Json {
        key: listed.key.to_string(),
        label: listed.label.as_deref(),
        contract: listed.key.contract.to_string(),
        breaker: listed.key.breaker,
        state: state.to_string(),
        retry_at: (*state != State::Closed).then(|| word.retry_at()),
        failures: word.failure_count(),
        threshold: word.failure_threshold(),
        reopens: word.reopen_count(),
        block: clock.block,
    }
}

fn table(rows: &[Row], clock: &Clock) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["BREAKER", "STATE", "FAILURES", "RETRY IN", "REOPENS", "KEY"]);
    for Row { listed, word, state } in rows {
        table.add_row([
            listed.label.clone().unwrap_or_else(|| "–".to_owned()),
            state.to_string(),
            failures(word.failure_count(), word.failure_threshold()),
            match state {
                State::Open => clock.until(word.retry_at()),
                State::HalfOpen => "now".to_owned(),
                _ => "–".to_owned(),
            },
            word.reopen_count().to_string(),
            listed.key.to_string(),
        ]);
    }
    table
}

/// The count and its threshold. A trip at once fills the count, which then is no number of failures.
fn failures(count: u16, threshold: u16) -> String {
    match count {
        TRIP_AT_ONCE if threshold < TRIP_AT_ONCE => {
            format!("{count}/{threshold} (tripped at once)")
        }
        _ => format!("{count}/{threshold}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_count_is_a_trip_at_once_below_the_largest_threshold() {
        assert_eq!(failures(3, 3), "3/3");
        assert_eq!(failures(65534, 3), "65534/3");
        assert_eq!(failures(65535, 3), "65535/3 (tripped at once)");
        assert_eq!(failures(65535, 65534), "65535/65534 (tripped at once)");
        assert_eq!(failures(65535, 65535), "65535/65535");
    }
}
