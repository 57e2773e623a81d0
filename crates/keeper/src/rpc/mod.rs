//! `keeper rpc`: a JSON-RPC endpoint on this machine, and behind it the pool of `fusebox-rpc`.
//!
//! Programs that know one URL get many nodes, with breakers, throttles and failover, and without being told a key.

mod alarm;
mod answer;
mod chains;
mod relay;
mod report;
mod request;
mod server;
mod socket;
mod table;

use crate::{
    Refusal,
    cli::{RpcArgs, RpcCommand, RpcServeArgs},
    config::{Pools, shorthand},
    http::{Door, connections, listen, recorder},
    output::{log, say},
    shutdown,
};
use chains::Chains;
use fusebox_rpc::Rules;
use server::Server;
use std::{env, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// How long an answer may take to be written when its call has ended at its deadline.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long clients have at the end to take their answers, once all of these are there. One that has asked half a question
/// would have been waited for to no purpose.
const LEAVE: Duration = Duration::from_secs(5);

pub(crate) async fn rpc(args: RpcArgs) -> eyre::Result<()> {
    match args.command {
        Some(RpcCommand::Status(args)) => table::status(&args).await,
        None => shutdown::until_stopped(|stop| serve(args.serve, stop)).await,
    }
}

async fn serve(args: RpcServeArgs, stop: CancellationToken) -> eyre::Result<()> {
    if !args.listen.ip().is_loopback() && !args.allow_remote {
        return Err(Refusal::Usage(format!(
            "--listen {} can be reached from other machines, and whoever reaches it uses your keys: add --allow-remote if that is meant",
            args.listen
        ))
        .into());
    }
    let chains = tokio::select! {
        chains = chains(&args) => chains?,
        () = stop.cancelled() => return Ok(()),
    };
    let listener = listen(args.listen).await?;
    let metrics = recorder()?;
    let server = Arc::new(Server::new(chains.clone(), metrics.clone(), stop.clone()));
    let door = Door { hosts: args.allow_host, origins: args.allow_origin, is_read_only: false };
    let address = listener.local_addr()?;
    let router = Arc::clone(&server).router(door);
    let serving = tokio::spawn(connections::serve(listener, router, stop.clone()));
    let quiet = CancellationToken::new();
    let running = tokio::spawn({
        let (chains, quiet) = (chains.clone(), quiet.clone());
        async move { chains.run(&quiet, || metrics.run_upkeep()).await }
    });
    announce(&chains, address);

    let result = tokio::select! {
        () = stop.cancelled() => Ok(()),
        refusal = chains.refused() => Err(refusal.into()),
    };
    stop.cancel();
    drain(&server, serving, chains.longest_call() + LAST_WORDS).await?;
    chains.seal();
    quiet.cancel();
    running.await?;
    result
}

/// Whom to ask: from the command line, else from the file.
async fn chains(args: &RpcServeArgs) -> eyre::Result<Chains> {
    if !args.rpc_url.is_empty() {
        let config = shorthand::config(&args.rpc_url, args.chain).await?;
        return Chains::new(&config, shorthand::PROFILE, Rules::shipped())
            .map_err(|errors| Refusal::Usage(errors.to_string()).into());
    }
    // By hand, since a variable must not stand against --rpc-url as the flag does.
    let file = args.config.clone().or_else(|| env::var_os("KEEPER_CONFIG").map(PathBuf::from));
    let file = file.ok_or_else(|| {
        Refusal::Usage(
            "nobody to ask: give --config FILE, or --rpc-url URL for each node of one chain"
                .to_owned(),
        )
    })?;
    // It may be a pipe into which nobody has written yet.
    let config = {
        let file = file.clone();
        spawn_blocking(move || Pools::read(&file)).await??
    };
    let profile = &args.profile;
    if !config.rpc.profiles.contains_key(profile) {
        let known: Vec<_> = config.rpc.profiles.keys().map(String::as_str).collect();
        let (file, known) = (file.display(), known.join(", "));
        return Err(Refusal::Usage(format!(
            "--profile {profile} is not in {file}; it has {known}"
        ))
        .into());
    }
    let chains =
        Chains::new(&config.rpc, profile, &config.rules).map_err(|errors| config.refuse(errors))?;
    Ok(chains.with_default(args.chain)?)
}

fn announce(chains: &Chains, address: SocketAddr) {
    for (chain, pool) in chains.iter() {
        let path = if chains.default() == Some(chain) { String::new() } else { chain.to_string() };
        let mut names: Vec<String> = Vec::new();
        // One with a WebSocket is there twice.
        for endpoint in pool.status() {
            if !names.iter().any(|name| *name == *endpoint.provider) {
                names.push(endpoint.provider.to_string());
            }
        }
        say(&format!("chain {chain} at http://{address}/{path}: {}", names.join(", ")));
    }
}

/// Lets what is under way end. No call takes longer than its deadline.
async fn drain(server: &Server, serving: JoinHandle<()>, longest: Duration) -> eyre::Result<()> {
    let busy = server.busy();
    if busy > 0 {
        log(&format!("stopping: {busy} under way, {} s for them at most", longest.as_secs()));
    }
    let ended = async {
        server.idle().await;
        let left = timeout(LEAVE, serving).await;
        // What somebody has finished asking meanwhile.
        server.idle().await;
        left.unwrap_or(Ok(()))
    };
    tokio::select! {
        ended = ended => Ok(ended?),
        () = sleep(longest) => {
            log(&format!("stopped with {} under way", server.busy()));
            Ok(())
        }
    }
}
