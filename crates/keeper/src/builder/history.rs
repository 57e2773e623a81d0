//! `keeper builder history`: a list of missed slots, from a node, for replay.
//!
//! A node that does not have a block answers as for a slot without one. So each block must have the one before as its parent,
//! or the node has forgotten something, and nothing is written.

use super::{live_args::HistoryArgs, proxy::nodes};
use crate::{
    Refusal,
    output::{log, say},
};
use eyre::WrapErr as _;
use fusebox_builder::{Api, Root, Seen};
use futures_util::{StreamExt as _, stream};
use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    pin::pin,
};
use tokio_util::sync::CancellationToken;

/// Requests at once: a node of one's own is not hurt by these.
const AT_ONCE: usize = 16;
/// Slots from one note of the progress to the next.
const STEP: u64 = 256;

pub(super) async fn history(args: HistoryArgs, stop: CancellationToken) -> eyre::Result<()> {
    let HistoryArgs { beacon_node, from, to, out } = args;
    if from > to {
        return Err(Refusal::Usage(format!("--from {from} is after --to {to}")).into());
    }
    let api = nodes(&[beacon_node])?.pop().ok_or_else(|| Refusal::Usage("no node".to_owned()))?;
    let head = api
        .block("head")
        .await
        .map_err(|error| Refusal::Unreachable(format!("{}: {error}", api.name())))?;
    let head = head.map_or(0, |head| head.slot);
    if head < to {
        return Err(
            Refusal::No(format!("the node's head is in slot {head}, before --to {to}")).into()
        );
    }
    let progress = progress_file(&out);
    let mut next = match resume(&progress, from, to) {
        Some(next) if out.exists() => next,
        _ => {
            fs::write(&out, "slot,relayed_block_forked\n")
                .wrap_err_with(|| format!("cannot write {}", out.display()))?;
            from
        }
    };
    let mut last = before(&api, next).await?;
    while next <= to {
        let end = to.min(next.saturating_add(STEP - 1));
        let missed = tokio::select! {
            missed = step(&api, next, end, &mut last) => missed?,
            () = stop.cancelled() => {
                say("stopped: the same command goes on from here");
                return Ok(());
            }
        };
        let mut file = OpenOptions::new().append(true).open(&out)?;
        file.write_all(missed.as_bytes())?;
        file.sync_data()?;
        next = end + 1;
        fs::write(&progress, format!("{from} {to} {next} {}", file.metadata()?.len()))?;
        log(&format!("slot {end}: {} %", (next - from) * 100 / (to - from + 1)));
    }
    fs::remove_file(&progress).ok();
    Ok(())
}

fn progress_file(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".progress");
    name.into()
}

/// The slot to go on from, of the same range; what was written after that note is cut off.
fn resume(progress: &Path, from: u64, to: u64) -> Option<u64> {
    let text = fs::read_to_string(progress).ok()?;
    let numbers: Vec<u64> = text.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [was_from, was_to, next, length] = numbers[..] else { return None };
    if (was_from, was_to) != (from, to) {
        return None;
    }
    let out = progress.with_extension("");
    OpenOptions::new().write(true).open(out).ok()?.set_len(length).ok()?;
    Some(next)
}

/// The root of the last block before a slot; none where the slot's own block has to tell.
async fn before(api: &Api, slot: u64) -> eyre::Result<Option<Root>> {
    let Some(slot) = slot.checked_sub(1) else { return Ok(None) };
    Ok(block(api, slot).await?.map(|block| block.root))
}

/// The lines of missed slots from one to another.
async fn step(api: &Api, from: u64, to: u64, last: &mut Option<Root>) -> eyre::Result<String> {
    let asked = stream::iter(from..=to).map(|slot| async move { (slot, block(api, slot).await) });
    let mut asked = pin!(asked.buffered(AT_ONCE));
    let mut lines = String::new();
    while let Some((slot, block)) = asked.next().await {
        match block? {
            Some(block) => {
                check(api, slot, &block, *last).await?;
                *last = Some(block.root);
            }
            None => {
                let orphan = api
                    .has_header_at(slot)
                    .await
                    .map_err(|error| unreachable(api, slot, &error))?;
                lines.push_str(&format!("{slot},{}\n", u8::from(orphan)));
            }
        }
    }
    Ok(lines)
}

async fn check(api: &Api, slot: u64, block: &Seen, last: Option<Root>) -> eyre::Result<()> {
    let forgotten = || {
        let name = api.name();
        Refusal::No(format!(
            "{name} does not have all blocks before slot {slot}: ask a node that has the whole history"
        ))
    };
    match (last, block.parent) {
        (Some(last), Some(parent)) if last == parent => Ok(()),
        (Some(_), _) => Err(forgotten().into()),
        // The first one of the range: its parent must be there, and lie before the range.
        (None, Some(parent)) if slot > 0 => {
            let parent = api
                .block(&parent.to_string())
                .await
                .map_err(|error| unreachable(api, slot, &error))?;
            parent.map(drop).ok_or_else(|| forgotten().into())
        }
        (None, _) => Ok(()),
    }
}

async fn block(api: &Api, slot: u64) -> eyre::Result<Option<Seen>> {
    api.block(&slot.to_string()).await.map_err(|error| unreachable(api, slot, &error))
}

fn unreachable(api: &Api, slot: u64, error: &fusebox_builder::ApiError) -> eyre::Report {
    Refusal::Unreachable(format!(
        "{}, slot {slot}: {error}; the same command goes on from here",
        api.name()
    ))
    .into()
}
