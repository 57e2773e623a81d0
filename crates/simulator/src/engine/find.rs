//! Where anvil is. The native binary only: the wrapper that npm puts beside it hides exit codes and signals.

use alloy::node_bindings::Anvil;
use std::{
    env, fmt,
    path::{Path, PathBuf},
};

/// There is no anvil here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct AnvilNotFound {
    tried: Vec<PathBuf>,
}

impl fmt::Display for AnvilNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "anvil not found; looked at")?;
        for path in &self.tried {
            write!(f, " {},", path.display())?;
        }
        write!(
            f,
            " and in PATH. Run `make setup` in the repository, install Foundry, or name the binary in FUSEBOX_ANVIL"
        )
    }
}

/// The anvil to use: `FUSEBOX_ANVIL` if set, else the one that `npm ci` installs here or in a folder above, else the one
/// in `PATH`. It keeps no state on disk.
///
/// # Errors
/// When there is none, with the places that were looked at. A `FUSEBOX_ANVIL` that names no file is never passed over.
pub fn find_anvil() -> Result<Anvil, AnvilNotFound> {
    let here = env::current_dir().unwrap_or_default();
    let found = find(env::var_os("FUSEBOX_ANVIL").map(PathBuf::from), &here, env::var_os("PATH"))?;
    // Each old state is a file of some 200 kB in the home directory, and one that is killed leaves all of them there.
    Ok(Anvil::at(found).args(["--max-persisted-states", "0"]))
}

fn find(
    named: Option<PathBuf>,
    here: &Path,
    path: Option<std::ffi::OsString>,
) -> Result<PathBuf, AnvilNotFound> {
    let mut tried = Vec::new();
    if let Some(named) = named.filter(|named| !named.as_os_str().is_empty()) {
        if named.is_file() {
            return Ok(named);
        }
        return Err(AnvilNotFound { tried: vec![named] });
    }
    for folder in here.ancestors() {
        let installed = folder.join(installed());
        if installed.is_file() {
            return Ok(installed);
        }
        tried.push(installed);
    }
    tried.truncate(1);
    for folder in path.iter().flat_map(env::split_paths) {
        // npm's wrapper lives in .bin folders.
        let found = folder.join(binary());
        if !folder.ends_with(".bin") && found.is_file() {
            return Ok(found);
        }
    }
    Err(AnvilNotFound { tried })
}

/// Where `npm ci` puts it, relative to the repository.
fn installed() -> PathBuf {
    let os = match env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        os => os,
    };
    let arch = match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        arch => arch,
    };
    Path::new("node_modules/@foundry-rs").join(format!("anvil-{os}-{arch}/bin")).join(binary())
}

fn binary() -> String {
    format!("anvil{}", env::consts::EXE_SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn touch(path: &Path) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        path.to_owned()
    }

    #[test]
    fn the_named_one_wins_over_the_installed_one_and_that_over_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let named = touch(&dir.path().join("mine"));
        let in_path = touch(&dir.path().join("bin").join(binary()));
        let path = Some(dir.path().join("bin").into_os_string());
        assert_eq!(find(None, dir.path(), path.clone()).unwrap(), in_path);
        assert_eq!(find(Some(PathBuf::new()), dir.path(), path.clone()).unwrap(), in_path);

        let installed = touch(&dir.path().join(installed()));
        let below = dir.path().join("a/b");
        assert_eq!(find(None, &below, path.clone()).unwrap(), installed);
        assert_eq!(find(Some(named.clone()), &below, path).unwrap(), named);
    }

    #[test]
    fn the_wrapper_of_npm_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let wrapper = touch(&dir.path().join(".bin").join(binary()));
        let path = Some(wrapper.parent().unwrap().as_os_str().to_owned());
        assert!(find(None, dir.path(), path).is_err());
    }

    #[test]
    fn a_named_one_that_is_missing_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let in_path = touch(&dir.path().join(binary()));
        let path = Some(in_path.parent().unwrap().as_os_str().to_owned());
        let error = find(Some("/no/such/anvil".into()), dir.path(), path).unwrap_err().to_string();
        assert!(error.contains("/no/such/anvil"), "{error}");
        assert!(error.contains("FUSEBOX_ANVIL"), "{error}");
    }
}
