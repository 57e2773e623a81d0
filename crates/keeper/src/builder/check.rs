//! `keeper builder check`: everything that the sidecar stands on, asked once.

use super::{
    live_args::CheckArgs,
    proxy::{live, nodes, refused, upstream},
};
use crate::{Refusal, output::line};
use fusebox_builder::{Clock as _, Live, WallClock};
use std::{sync::Arc, time::Duration};
use tokio::time::{sleep, timeout};

/// What a node's tree takes at the most, and a moment.
const PATIENCE: Duration = Duration::from_secs(15);
const UPSTREAM_TIME: Duration = Duration::from_secs(2);

pub(super) async fn check(args: CheckArgs) -> eyre::Result<()> {
    let apis = nodes(&args.live.beacon_node)?;
    upstream(&args.upstream.upstream)?;
    let (mut well, mut reached) = (true, false);
    for api in &apis {
        let said = match api.is_well().await {
            Ok(is_well) => {
                reached = true;
                well &= is_well;
                if is_well {
                    "well".to_owned()
                } else {
                    "not well: syncing, optimistic or without execution client".to_owned()
                }
            }
            Err(error) => {
                well = false;
                error.to_string()
            }
        };
        line(&format!("beacon node {}: {said}", api.name()))?;
    }
    let said = ask_upstream(args.upstream.upstream.expose()).await;
    well &= said == Ok(());
    line(&format!("upstream: {}", said.as_ref().map_or_else(String::as_str, |()| "well")))?;
    if !reached {
        return Err(Refusal::Unreachable("no beacon node can be asked".to_owned()).into());
    }
    let live = live(&args.live, &apis, None);
    let ready = async {
        while !live.is_ready() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        ended = fusebox_builder::watch(Arc::clone(&live), apis) => ended.map_err(refused)?,
        ended = timeout(PATIENCE, ready) => well &= ended.is_ok(),
    }
    well &= decision(&live)?;
    if well { Ok(()) } else { Err(Refusal::No("not everything is well".to_owned()).into()) }
}

/// What would be answered now.
fn decision(live: &Live) -> eyre::Result<bool> {
    let Some(network) = live.network() else {
        line("decision: unknown, since no node tells the network")?;
        return Ok(false);
    };
    let genesis = i64::try_from(network.genesis.saturating_mul(1_000)).unwrap_or(i64::MAX);
    let slot = network.clock.slot_at(WallClock.unix_ms().saturating_sub(genesis));
    let answer = live.ask(slot);
    let word = if answer.forward { "forward" } else { "refuse" };
    line(&format!("clock: slot {slot}"))?;
    line(&format!("decision: {word}, cause {}", answer.cause.name()))?;
    Ok(answer.forward)
}

async fn ask_upstream(url: &str) -> Result<(), String> {
    let client = reqwest::Client::builder().timeout(UPSTREAM_TIME).no_proxy().build();
    let client = client.map_err(|error| error.without_url().to_string())?;
    let status = client.get(format!("{}/eth/v1/builder/status", url.trim_end_matches('/'))).send();
    match status.await {
        Ok(response) if response.status().is_success() => Ok(()),
        Ok(response) => Err(format!("status {}", response.status().as_u16())),
        Err(error) if error.is_timeout() => Err("no answer in time".to_owned()),
        Err(_) => Err("cannot be reached".to_owned()),
    }
}
