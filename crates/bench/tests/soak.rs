//! The soak in its short form: what ten minutes must not leave behind, half a minute must not either.

use std::process::Command;

#[test]
fn half_a_minute_of_faults_leaves_nothing_behind() {
    let output = Command::new(env!("CARGO_BIN_EXE_soak-rpc"))
        .args(["--seconds", "30", "--rate", "200"])
        .output()
        .unwrap();
    let (table, said) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{table}\n{said}");
    assert!(said.contains("SOAK_SEED="), "to see the same again: {said}");
}
