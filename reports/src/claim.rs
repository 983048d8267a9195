//! Whose folder it is: a report takes the place of an earlier report, and of nothing else.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use crate::folder::{CHECK_JSON, CHECK_TEXT, JSON, JSON_GZ, JUNIT, SWEEP_CSV, SWEEP_JSON, SWEEP_TEXT, TEXT};
use crate::html::{CASES, CONNECTIONS, DEFECTS, INDEX};

/// Where the frames of a run lie inside the report folder.
pub const FRAMES: &str = "frames";
/// The file by which a report folder is known.
const MARK: &str = ".rocespec-report";
/// What it says to those who open it.
const SAYS: &str = "rocespec writes its reports into this folder: each takes the place of the one before.\n";
/// What a report writes, and the next one replaces.
const NAMES: [&str; 14] = [
    INDEX,
    DEFECTS,
    CASES,
    CONNECTIONS,
    FRAMES,
    JSON,
    JSON_GZ,
    JUNIT,
    TEXT,
    CHECK_JSON,
    CHECK_TEXT,
    SWEEP_JSON,
    SWEEP_CSV,
    SWEEP_TEXT,
];

/// Makes the folder, if need be, and marks it as one for reports.
///
/// # Errors
/// When something there has a name that a report takes and no report was written there before, or is a link. The message
/// says what to do.
pub fn claim(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mark = dir.join(MARK);
    let is_ours = mark.symlink_metadata().is_ok_and(|found| found.is_file());
    for name in NAMES {
        let refuse = |why| {
            let text = format!("{name} is there already, and {why}; choose another folder, or remove it");
            Err(io::Error::new(ErrorKind::AlreadyExists, text))
        };
        match dir.join(name).symlink_metadata() {
            Ok(found) if found.is_symlink() => return refuse("is a link, which a report does not follow"),
            Ok(_) if !is_ours => return refuse("the folder is not marked as one of reports"),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    if !is_ours {
        File::create_new(mark)?.write_all(SAYS.as_bytes())?;
    }
    Ok(())
}

/// Makes a folder inside a [claimed](claim) one, if need be, and removes its files with this ending; others stay.
///
/// # Errors
/// When it cannot be made or a file cannot be removed.
pub fn clear(folder: &Path, ending: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == ending) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Removes what another kind of report has written into a [claimed](claim) folder: files, and folders with those of their
/// files that have this ending. What is not there is passed over.
///
/// # Errors
/// When something that is there cannot be removed.
pub(crate) fn remove(dir: &Path, files: &[&str], folders: &[(&str, &str)]) -> io::Result<()> {
    for file in files {
        match fs::remove_file(dir.join(file)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    for (folder, ending) in folders {
        let folder = dir.join(folder);
        if folder.is_dir() {
            clear(&folder, ending)?;
            // It stays where somebody else has put something into it.
            let _ = fs::remove_dir(&folder);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_files_of_somebody_else_is_refused_and_theirs_stay() {
        for name in NAMES {
            let temp = tempfile::tempdir().unwrap();
            fs::write(temp.path().join(name), "precious").unwrap();
            let error = claim(temp.path()).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("choose another folder"), "{error}");
            assert_eq!(fs::read_to_string(temp.path().join(name)).unwrap(), "precious");
            assert!(!temp.path().join(MARK).exists());
        }
    }

    #[test]
    fn a_marked_folder_is_claimed_again_and_other_files_are_no_hindrance() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("log.txt"), "").unwrap();
        claim(temp.path()).unwrap();
        let frames = temp.path().join(FRAMES);
        fs::create_dir(&frames).unwrap();
        fs::write(frames.join("x.pcapng"), "").unwrap();
        fs::write(frames.join("x.jpg"), "").unwrap();
        claim(temp.path()).unwrap();
        clear(&frames, "pcapng").unwrap();
        assert!(!frames.join("x.pcapng").exists() && frames.join("x.jpg").exists());
    }

    #[test]
    #[cfg(unix)]
    fn a_link_is_refused_even_in_a_marked_folder() {
        let (temp, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        claim(temp.path()).unwrap();
        for name in NAMES {
            std::os::unix::fs::symlink(other.path(), temp.path().join(name)).unwrap();
            assert!(claim(temp.path()).unwrap_err().to_string().contains("link"), "{name}");
            fs::remove_file(temp.path().join(name)).unwrap();
        }
        claim(temp.path()).unwrap();
    }
}
