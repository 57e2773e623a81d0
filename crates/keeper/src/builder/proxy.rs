//! `keeper builder watch` and `proxy`: a process of its own, without a database, so that a validator's way to its builders
//! shares no fate with the rest of the keeper.

use super::{
    listen,
    live_args::{LiveArgs, MOST_NODES, ProxyArgs, ServeArgs, WatchArgs},
};
use crate::{
    Refusal,
    http::recorder,
    output::{line, say},
    systemd::{Note, notify},
};
use eyre::WrapErr as _;
use fusebox_builder::{
    Api, Live, LiveOptions, Paths, Recorder, Sidecar, SidecarOptions, Token, Told, Transition,
    Upstream, WallClock, WatchError, Why,
};
use fusebox_rpc::SecretUrl;
use std::{env, fs, net::SocketAddr, path::Path, sync::Arc};
use tokio::{net::TcpListener, sync::broadcast::error::RecvError, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// The variable with the token; a flag would show it to every user of the machine.
const TOKEN: &str = "KEEPER_BUILDER_ADMIN_TOKEN";

pub(super) async fn watch(args: WatchArgs, stop: CancellationToken) -> eyre::Result<()> {
    run(args.live, args.serve, None, stop).await
}

pub(super) async fn proxy(args: ProxyArgs, stop: CancellationToken) -> eyre::Result<()> {
    let upstream = upstream(&args.upstream.upstream)?;
    run(args.live, args.serve, Some(upstream), stop).await
}

/// What comes from the command line, checked.
pub(super) fn upstream(url: &SecretUrl) -> Result<Upstream, Refusal> {
    Upstream::new(url.expose()).map_err(|error| Refusal::Usage(format!("--upstream: {error}")))
}

/// The nodes of the command line.
pub(super) fn nodes(urls: &[SecretUrl]) -> Result<Vec<Api>, Refusal> {
    if urls.len() > MOST_NODES {
        let given = urls.len();
        return Err(Refusal::Usage(format!("--beacon-node: {given} given, {MOST_NODES} at most")));
    }
    let api = |url: &SecretUrl| Api::new(url.expose());
    let nodes: Result<_, _> = urls.iter().map(api).collect();
    nodes.map_err(|error| Refusal::Usage(format!("--beacon-node: {error}")))
}

pub(super) fn live(args: &LiveArgs, nodes: &[Api], recorder: Option<Recorder>) -> Arc<Live> {
    let options = LiveOptions {
        policy: args.policy.clone(),
        recovery: args.recovery,
        start: args.start.into(),
        on_unknown: args.on_unknown.into(),
    };
    Live::new(options, Arc::new(WallClock), nodes.iter().map(Api::name).collect(), recorder)
}

async fn run(
    args: LiveArgs,
    serve: ServeArgs,
    upstream: Option<Upstream>,
    stop: CancellationToken,
) -> eyre::Result<()> {
    for at in [Some(serve.listen), serve.admin_listen].into_iter().flatten() {
        if !at.ip().is_loopback() && !serve.allow_remote {
            return Err(Refusal::Usage(format!(
                "{at} can be reached from other machines: add --allow-remote if that is meant"
            ))
            .into());
        }
    }
    let token = token(serve.admin_token_file.as_deref())?;
    let nodes = nodes(&args.beacon_node)?;
    let listener = listen_at(serve.listen).await?;
    let admin = match serve.admin_listen {
        Some(at) => Some(listen_at(at).await?),
        None => None,
    };
    let metrics = recorder()?;
    let record = serve.record.as_deref().map(|path| {
        Recorder::new(path).wrap_err_with(|| format!("cannot write {}", path.display()))
    });
    let live = live(&args, &nodes, record.transpose()?);
    let told = live.subscribe();
    let forwards = upstream.is_some();
    let options = SidecarOptions {
        live: Arc::clone(&live),
        upstream,
        token,
        metrics: Box::new(move || metrics.render()),
    };
    let paths = match (forwards, &admin) {
        (false, _) => Paths::Own,
        (true, None) => Paths::All,
        (true, Some(_)) => Paths::Builder,
    };
    let sidecar = Sidecar::new(options, paths);
    let what = if forwards { "builder API" } else { "status" };
    say(&format!("{what} at http://{}, policy {}", listener.local_addr()?, args.policy));
    let mut serving = JoinSet::new();
    if let Some(admin) = admin {
        say(&format!("status at http://{}", admin.local_addr()?));
        serving.spawn(listen::serve(admin, sidecar.with_paths(Paths::Own), stop.clone()));
    }
    serving.spawn(listen::serve(listener, sidecar.clone(), stop.clone()));
    notify(Note::Ready);
    let result = tokio::select! {
        ended = fusebox_builder::watch(Arc::clone(&live), nodes) => ended.map_err(refused),
        ended = print(told, serve.json) => ended,
        () = stop.cancelled() => Ok(()),
    };
    notify(Note::Stopping);
    stop.cancel();
    if sidecar.submits() > 0 {
        say(&format!("stopping: {} signed blocks under way", sidecar.submits()));
    }
    while serving.join_next().await.is_some() {}
    live.stop_recording();
    result
}

/// [`Refusal::Identity`]: nodes that cannot be watched together.
pub(super) fn refused(error: WatchError) -> eyre::Report {
    Refusal::Identity(error.to_string()).into()
}

/// A port that is taken is no fault of the command line: it may be free in a moment, and a service is started again.
async fn listen_at(at: SocketAddr) -> eyre::Result<TcpListener> {
    TcpListener::bind(at).await.wrap_err_with(|| format!("cannot listen at {at}"))
}

fn token(file: Option<&Path>) -> Result<Option<Token>, Refusal> {
    let (from, text) = match file {
        Some(file) => {
            let name = file.display();
            check_private(file)?;
            let text = fs::read_to_string(file);
            (name.to_string(), text.map_err(|error| Refusal::Usage(format!("{name}: {error}")))?)
        }
        None => match env::var(TOKEN) {
            Ok(text) if !text.is_empty() => (TOKEN.to_owned(), text),
            _ => return Ok(None),
        },
    };
    let token = Token::new(&text);
    token.map(Some).map_err(|error| Refusal::Usage(format!("{from}: {error}")))
}

#[cfg(unix)]
fn check_private(file: &Path) -> Result<(), Refusal> {
    use std::os::unix::fs::PermissionsExt as _;
    let name = file.display();
    let metadata =
        fs::metadata(file).map_err(|error| Refusal::Usage(format!("{name}: {error}")))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(Refusal::Usage(format!("{name} can be read by others: chmod 600 {name}")));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_file: &Path) -> Result<(), Refusal> {
    Ok(())
}

/// Prints what comes of it, until nothing does any more.
async fn print(mut told: tokio::sync::broadcast::Receiver<Told>, json: bool) -> eyre::Result<()> {
    loop {
        match told.recv().await {
            Ok(Told::Transition(transition)) if json => {
                line(&serde_json::json!({ "transition": transition }).to_string())?;
            }
            Ok(Told::Transition(transition)) => line(&words(&transition))?,
            Ok(Told::Slot(decision)) if json => line(&serde_json::to_string(&decision)?)?,
            Ok(Told::Late(slot, root)) => {
                say(&format!("slot {slot}: block {root} came after the trip and changes nothing"));
            }
            Ok(_) => {}
            Err(RecvError::Lagged(lost)) => say(&format!("{lost} lines were not printed in time")),
            Err(RecvError::Closed) => return Ok(()),
        }
    }
}

fn words(transition: &Transition) -> String {
    let Transition { slot, from, to, cause, value, limit, .. } = transition;
    let cause = match cause {
        Why::Decided(cause) => cause.name(),
        Why::Restart => "restart",
        Why::Admin(action) => action.name(),
        Why::Expired => "expired",
    };
    let numbers = match (value, limit) {
        (Some(value), Some(limit)) => format!(" ({value}, limit {limit})"),
        _ => String::new(),
    };
    format!("slot {slot}: {from} to {to}: {cause}{numbers}")
}
