//! What a measurement ends with.
#![expect(clippy::print_stdout, reason = "this is the output module")]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use crate::about::Bound;

/// Prints a page, writes it where that is wanted, and says whether every bound is met.
///
/// # Errors
/// When it cannot be written, with where.
pub fn publish(
    page: &str,
    path: Option<impl AsRef<Path>>,
    bounds: &[Bound],
) -> Result<ExitCode, Box<dyn Error>> {
    println!("{page}");
    if let Some(path) = path {
        let path = path.as_ref();
        std::fs::write(path, page)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        println!("written to {}", path.display());
    }
    let is_met = bounds.iter().all(Bound::is_met);
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_bound_is_a_failure_and_the_page_is_written_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        for (seen, code) in [(1, ExitCode::FAILURE), (0, ExitCode::SUCCESS)] {
            let path = folder.path().join(seen.to_string());
            let ended = publish("page", Some(&path), &[Bound::exactly("x", seen, 0)]).unwrap();
            assert_eq!(ended, code);
            assert_eq!(std::fs::read_to_string(path).unwrap(), "page");
        }
        let nowhere = folder.path().join("no/such");
        let error = publish("page", Some(&nowhere), &[]).unwrap_err().to_string();
        assert!(error.contains("no/such"), "{error}");
    }
}
