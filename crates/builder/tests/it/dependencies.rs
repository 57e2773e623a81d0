//! The core needs no runtime.

use std::process::Command;

#[test]
fn without_net_there_is_no_async_crate() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", "fusebox-builder", "--no-default-features"])
        .args(["--edges", "normal", "--prefix", "none", "--offline", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(tree.contains("fusebox-breaker "), "{tree}");
    let banned = ["tokio", "hyper", "futures", "reqwest", "tower", "mio", "async", "axum"];
    let of = |line: &&str| banned.iter().any(|name| line.starts_with(name));
    assert_eq!(tree.lines().find(of), None, "{tree}");
}
