//! Over TLS, with a root of one's own.
//!
//! Whom a machine trusts, its store of roots says, and on Linux the variable `SSL_CERT_FILE` in its place. A variable is a
//! matter of a whole process, so the one that trusts is started for it.

use std::process::Command;
use std::sync::Arc;

use fusebox_rpc::{Category, ManualTime, Pool, PoolError};
use fusebox_testkit::Node;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::heard::Heard;
use super::support::{ask, call, error, events, node, passing, pool};

const MARK: &str = "MARKERt1s";

/// What the process that trusts is told: where to ask.
const PLACE: &str = "FUSEBOX_TEST_TLS";

/// A node behind TLS.
struct Secure {
    /// Host and port.
    place: String,
    /// Its root, in PEM.
    root: String,
    _node: Node,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Secure {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A node whose certificate is for this name, or address.
async fn secure(name: &str) -> Secure {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &root).unwrap();
    let chain = vec![CertificateDer::from(leaf)];
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let acceptor = TlsAcceptor::from(Arc::new(config.with_single_cert(chain, key).unwrap()));
    let node = node().start().await.unwrap();
    let behind = node.url().trim_start_matches("http://").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let task = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                // Whoever does not trust us leaves.
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut node = TcpStream::connect(behind).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut node).await;
            });
        }
    });
    Secure { place, root: root.pem(), _node: node, task }
}

fn providers(place: &str) -> [Value; 2] {
    let at = |key: &str, scheme: &str| {
        let headers = json!({ "authorization": format!("Bearer {MARK}") });
        json!({ "name": "a", key: format!("{scheme}://{place}/{MARK}?{MARK}"), "headers": headers })
    };
    [at("http", "https"), at("ws", "wss")]
}

fn one(provider: Value) -> (ManualTime, Pool) {
    let time = ManualTime::new();
    let pool = pool(&time).provider_with(provider).build().unwrap();
    (time, pool)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_in_ssl_cert_file_is_trusted_over_https_and_wss() {
    if let Ok(place) = std::env::var(PLACE) {
        for provider in providers(&place) {
            let (_, pool) = one(provider);
            assert_eq!(call(&pool).await.unwrap(), "0x");
            assert_eq!(ask(&pool, "eth_blockNumber", json!([])).await.unwrap(), "0x64");
        }
        return;
    }
    let secure = secure("127.0.0.1").await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("root.pem");
    std::fs::write(&file, &secure.root).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    let me = concat!(module_path!(), "::a_root_in_ssl_cert_file_is_trusted_over_https_and_wss");
    let me = me.split_once("::").unwrap().1;
    child.args(["--exact", me]).env("SSL_CERT_FILE", file).env(PLACE, &secure.place);
    let child = tokio::task::spawn_blocking(move || child.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_told_and_tells_nothing() {
    let heard = Heard::default();
    let _listening = heard.listen();
    let secure = secure("127.0.0.1").await;
    for provider in providers(&secure.place) {
        let (time, pool) = one(provider);
        let failed = passing(&time, call(&pool)).await;
        let mut shown = format!("{failed:?} {:?} {pool:?} {:?}", events(&pool), pool.status());
        let failed = error(failed);
        shown += &failed.to_string();
        let PoolError::Exhausted { attempts } = failed else { panic!("{failed}") };
        for attempt in attempts {
            assert_eq!(attempt.category, Category::Network);
            assert_eq!(&*attempt.reason, "its certificate is not trusted");
        }
        shown += &heard.text();
        assert!(shown.contains("its certificate is not trusted"));
        assert!(!shown.to_lowercase().contains(&MARK.to_lowercase()), "{shown}");
    }
}
