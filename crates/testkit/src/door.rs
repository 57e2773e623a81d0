//! A place on a port, and what happens to whoever comes.
//!
//! The port is held by a socket that never listens, for as long as the endpoint lives. So a door can be shut, which is
//! a refused connection and nothing that resembles one, and opened again, and nobody else gets the port in between.

use crate::seed::Seed;
use std::{
    future::Future,
    io,
    net::{Ipv4Addr, SocketAddr},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{mpsc, oneshot},
    task::JoinSet,
};

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// What becomes of new connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Door {
    /// They are served.
    #[default]
    Open,
    /// They are refused, as by a machine on which nothing listens.
    Refused,
    /// They are accepted, and nothing follows.
    Silent,
    /// They are accepted, and get bytes that are no protocol.
    Garbage,
    /// After the client's first bytes they get a TLS record with garbage in it; see
    /// [`Node::https_url`](crate::Node::https_url).
    TlsGarbage,
}

/// Serves one connection, to its end.
pub(crate) type Serve =
    Arc<dyn Fn(TcpStream) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// One endpoint. Dropping it closes all that belongs to it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    accepted: Arc<AtomicU64>,
    commands: mpsc::Sender<Command>,
    _task: JoinSet<()>,
}

struct Command {
    door: Door,
    done: oneshot::Sender<io::Result<()>>,
}

impl Endpoint {
    /// Takes a free port of the loopback.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn bind(door: Door, seed: Seed, serve: Serve) -> io::Result<Self> {
        let held = socket(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = held.local_addr()?;
        let listener = listen(address, door)?;
        let (commands, receiver) = mpsc::channel(1);
        let accepted = Arc::<AtomicU64>::default();
        let mut task = JoinSet::new();
        let keeper =
            Doorkeeper { _held: held, address, seed, serve, accepted: Arc::clone(&accepted) };
        task.spawn(keeper.run(door, listener, receiver));
        Ok(Self { address, accepted, commands, _task: task })
    }

    /// Closes every connection; from when it returns, new ones are treated like this.
    ///
    /// # Errors
    /// When the port can't be listened on again.
    pub(crate) async fn set(&self, door: Door) -> io::Result<()> {
        let (done, is_done) = oneshot::channel();
        let gone = || io::Error::other("the endpoint's task has ended");
        self.commands.send(Command { door, done }).await.map_err(|_| gone())?;
        is_done.await.map_err(|_| gone())?
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }
}

fn socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // Lets two sockets have one port, as long as at most one of them listens.
    socket.set_reuseaddr(true)?;
    // BSD's kernels, Apple's among them, ask for this one too. Not tried: no such machine at hand.
    #[cfg(all(unix, not(target_os = "linux")))]
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket)
}

fn listen(address: SocketAddr, door: Door) -> io::Result<Option<TcpListener>> {
    match door {
        Door::Refused => Ok(None),
        _ => socket(address)?.listen(BACKLOG).map(Some),
    }
}

struct Doorkeeper {
    /// Never listens.
    _held: TcpSocket,
    address: SocketAddr,
    seed: Seed,
    serve: Serve,
    accepted: Arc<AtomicU64>,
}

impl Doorkeeper {
    async fn run(
        self,
        mut door: Door,
        mut listener: Option<TcpListener>,
        mut commands: mpsc::Receiver<Command>,
    ) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                command = commands.recv() => {
                    let Some(command) = command else { return };
                    // The old listener first: two can't listen on one port.
                    drop(listener.take());
                    connections.shutdown().await;
                    door = command.door;
                    let result = listen(self.address, door).map(|new| listener = new);
                    // Who asked may have given up waiting.
                    let _ = command.done.send(result);
                }
                stream = accept(listener.as_ref()) => {
                    let number = self.accepted.fetch_add(1, Ordering::Relaxed);
                    match door {
                        Door::Open => connections.spawn((self.serve)(stream)),
                        _ => connections.spawn(mislead(stream, door, self.seed, number)),
                    };
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

/// The next connection; none comes while there is no listener.
async fn accept(listener: Option<&TcpListener>) -> TcpStream {
    let Some(listener) = listener else { return std::future::pending().await };
    // A failure is that of one connection, or of a machine without file descriptors, which may get some back.
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            // Answers are small and waited for.
            let _ = stream.set_nodelay(true);
            return stream;
        }
        tokio::task::yield_now().await;
    }
}

/// Treats a connection as a door that isn't open does. Errors are the client's, who may leave at any time.
async fn mislead(mut stream: TcpStream, door: Door, seed: Seed, number: u64) {
    match door {
        Door::Garbage => {
            // The high bit keeps it from being HTTP by chance.
            let bytes: Vec<u8> = seed.garbage(number, 64).iter().map(|byte| byte | 0x80).collect();
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Door::TlsGarbage => {
            let _ = stream.read(&mut [0; 1024]).await;
            // A handshake record of TLS 1.2, 64 bytes long, in which no handshake is.
            let mut record = vec![0x16, 0x03, 0x03, 0x00, 0x40];
            record.extend(seed.garbage(number, 64).iter().map(|byte| byte | 0x80));
            let _ = stream.write_all(&record).await;
            let _ = stream.shutdown().await;
        }
        Door::Open | Door::Refused | Door::Silent => {}
    }
    // The client shall close first, or see nothing until the door changes.
    while stream.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
}
