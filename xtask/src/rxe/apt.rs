//! A Debian kernel through an apt of our own: the system's configuration, lists and cache stay as they are.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};

use super::needs::KEYRING;
use super::{say, tool};

const LISTS_STAY_FRESH: Duration = Duration::from_secs(24 * 60 * 60);

/// Where Debian is when the system's own sources do not say.
const DEFAULT_MIRROR: &str = "http://deb.debian.org/debian";
const DEFAULT_SECURITY: &str = "http://deb.debian.org/debian-security";

/// Downloads and unpacks the kernel: its image and its modules tree.
pub(super) fn fetch_kernel(base: &Path, version: &str, update: bool) -> Result<(PathBuf, PathBuf)> {
    let release = Release::of(version);
    let apt = Apt::set_up(&base.join("apt").join(release.name()), release)?;
    apt.update_lists(update)?;
    let image = match version {
        "6.1" | "6.12" | "newest" => apt.default_kernel()?,
        exact => format!("linux-image-{}-amd64", exact.trim_end_matches("-amd64")),
    };
    let packages =
        apt.kernel_packages(&image).with_context(|| format!("no {image} in {}", release.suites().0.join(" and ")))?;
    let root = base.join("kernels").join(image.trim_start_matches("linux-image-"));
    for package in &packages {
        apt.unpack(package, &root)?;
    }
    find_kernel(&root, image.trim_start_matches("linux-image-"))
}

/// Which suites to look in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Release {
    Bookworm,
    Trixie,
    Newest,
}

impl Release {
    fn of(version: &str) -> Release {
        match version {
            _ if version.starts_with("6.1.") || version == "6.1" || version.contains("+deb12") => Release::Bookworm,
            _ if version.starts_with("6.12") => Release::Trixie,
            _ => Release::Newest,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Release::Bookworm => "bookworm",
            Release::Trixie => "trixie",
            Release::Newest => "newest",
        }
    }

    /// Suites of the main archive, and of the security archive.
    fn suites(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Release::Bookworm => (&["bookworm", "bookworm-updates"], &["bookworm-security"]),
            Release::Trixie => (&["trixie", "trixie-updates"], &["trixie-security"]),
            Release::Newest => (&["trixie-backports", "sid"], &[]),
        }
    }
}

struct Apt {
    folder: PathBuf,
    release: Release,
}

impl Apt {
    fn set_up(folder: &Path, release: Release) -> Result<Apt> {
        for sub in ["lists/partial", "cache/archives/partial", "parts", "debs"] {
            fs::create_dir_all(folder.join(sub))?;
        }
        fs::write(folder.join("status"), "")?;
        // The highest version wins, also from a suite that apt holds back by default.
        fs::write(folder.join("preferences"), "Package: *\nPin: release *\nPin-Priority: 500\n")?;
        let at = |name: &str| format!("{:?}", folder.join(name).display().to_string());
        // The way to the network (proxies, certificates) is the system's; hooks and pins are not.
        let network = tool::text(Command::new("apt-config").args(["dump", "Acquire"]))?;
        let settings = format!(
            "{network}\nDir::Etc::main {empty};\nDir::Etc::parts {parts};\nDir::Etc::sourcelist {sources};\n\
             Dir::Etc::sourceparts {parts};\nDir::Etc::preferences {pins};\nDir::Etc::preferencesparts {parts};\n\
             Dir::State {here};\nDir::State::lists {lists};\nDir::State::status {status};\nDir::Cache {cache};\n\
             APT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; }};\nAPT::Sandbox::User \"\";\n\
             Acquire::Languages \"none\";\n",
            empty = at("status"),
            pins = at("preferences"),
            parts = at("parts"),
            sources = at("sources.list"),
            here = at(""),
            lists = at("lists"),
            status = at("status"),
            cache = at("cache"),
        );
        fs::write(folder.join("apt.conf"), settings)?;
        let (main, security) = release.suites();
        let mirrors = Mirrors::of_the_system();
        let line = |uri: &str, suite: &&str| format!("deb [target=Packages signed-by={KEYRING}] {uri} {suite} main\n");
        let sources: String = main
            .iter()
            .map(|suite| line(&mirrors.main, suite))
            .chain(security.iter().map(|suite| line(&mirrors.security, suite)))
            .collect();
        let list = folder.join("sources.list");
        if fs::read_to_string(&list).ok().as_ref() != Some(&sources) {
            fs::write(&list, sources)?;
            // Lists of another mirror or suite would be taken for these.
            let _ = fs::remove_file(folder.join("updated"));
        }
        Ok(Apt { folder: folder.to_owned(), release })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("APT_CONFIG", self.folder.join("apt.conf"))
            .env("LC_ALL", "C")
            .current_dir(self.folder.join("debs"));
        command
    }

    fn update_lists(&self, force: bool) -> Result<()> {
        let stamp = self.folder.join("updated");
        let age = fs::metadata(&stamp)
            .and_then(|data| data.modified())
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        if !force && age.is_some_and(|age| age < LISTS_STAY_FRESH) {
            return Ok(());
        }
        say(&format!("fetching the package lists of Debian {}", self.release.suites().0.join(" and ")));
        match tool::output(self.command("apt-get").arg("update")) {
            Ok(_) => fs::write(stamp, "")?,
            // Old lists are good enough, and so is a mirror without one of the suites. Without any, the next step says so.
            Err(error) => say(&format!("not all lists came: {error:#}")),
        }
        Ok(())
    }

    /// The package that `linux-image-amd64` stands for: the build number in its name moves.
    fn default_kernel(&self) -> Result<String> {
        let depends = self.depends("linux-image-amd64").context("no linux-image-amd64: did the package lists come?")?;
        let image = depends.into_iter().find(|package| package.starts_with("linux-image-"));
        image.context("linux-image-amd64 names no kernel")
    }

    /// The image's package and those that hold parts of it (since 7.x image and modules are apart).
    fn kernel_packages(&self, image: &str) -> Result<BTreeSet<String>> {
        let mut packages = BTreeSet::new();
        let mut queue = VecDeque::from([image.to_owned()]);
        while let Some(package) = queue.pop_front() {
            let parts = self.depends(&package)?.into_iter();
            queue.extend(parts.filter(|part| part.starts_with("linux-binary-") || part.starts_with("linux-modules-")));
            packages.insert(package);
        }
        Ok(packages)
    }

    /// Names that the newest version of a package depends on.
    fn depends(&self, package: &str) -> Result<Vec<String>> {
        let depends = self.field(package, "Depends: ")?;
        let names = depends.split([',', '|']).filter_map(|one| one.split_whitespace().next());
        Ok(names.map(str::to_owned).collect())
    }

    /// A line of the newest version's description; empty if it has none.
    fn field(&self, package: &str, label: &str) -> Result<String> {
        let shown = tool::text(self.command("apt-cache").args(["show", "--no-all-versions", package]))?;
        Ok(shown.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_default().to_owned())
    }

    /// Downloads a package and unpacks it into `root`, unless that is done.
    fn unpack(&self, package: &str, root: &Path) -> Result<()> {
        let version = self.field(package, "Version: ")?;
        let done = root.join(format!("{package}_{version}.unpacked"));
        if done.exists() {
            return Ok(());
        }
        say(&format!("fetching {package}"));
        tool::output(self.command("apt-get").args(["download", package]))?;
        // Colons of a version are escaped in the file's name.
        let deb = self.folder.join("debs").join(format!("{package}_{}_amd64.deb", version.replace(':', "%3a")));
        fs::create_dir_all(root)?;
        tool::output(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(root))?;
        fs::write(done, "")?;
        // Unpacked it is several times its size: one copy is enough.
        let _ = fs::remove_file(deb);
        Ok(())
    }
}

fn find_kernel(root: &Path, release: &str) -> Result<(PathBuf, PathBuf)> {
    let pick = |candidates: &[String]| candidates.iter().map(|path| root.join(path)).find(|path| path.exists());
    let trees = [format!("usr/lib/modules/{release}"), format!("lib/modules/{release}")];
    let images = [
        format!("boot/vmlinuz-{release}"),
        format!("usr/lib/modules/{release}/vmlinuz"),
        format!("lib/modules/{release}/vmlinuz"),
    ];
    match (pick(&images), pick(&trees)) {
        (Some(image), Some(tree)) => Ok((image, tree)),
        (None, _) => bail!("no kernel image in {}", root.display()),
        (_, None) => bail!("no modules in {}", root.display()),
    }
}

/// Where this system gets its Debian packages.
#[derive(Debug, PartialEq, Eq)]
struct Mirrors {
    main: String,
    security: String,
}

impl Mirrors {
    fn of_the_system() -> Mirrors {
        let folder = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = folder.collect();
        files.sort();
        files.insert(0, "/etc/apt/sources.list".into());
        let texts: Vec<String> = files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
        Mirrors::in_sources(&texts)
    }

    /// Reads both forms of sources: one line each, and stanzas.
    fn in_sources(texts: &[String]) -> Mirrors {
        let words = || {
            let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim);
            let lines =
                lines.filter(|line| line.starts_with("deb ") || line.starts_with("deb\t") || line.starts_with("URIs:"));
            lines.flat_map(str::split_whitespace)
        };
        // A mirror of Debian keeps Debian's folder names; other vendors' repositories do not have them.
        let named = |folder: &str| {
            let mut uris = words().filter(|word| word.contains(":/") && !word.starts_with("cdrom:"));
            uris.find(|uri| uri.trim_end_matches('/').rsplit('/').next() == Some(folder)).map(str::to_owned)
        };
        Mirrors {
            main: named("debian").unwrap_or_else(|| DEFAULT_MIRROR.to_owned()),
            security: named("debian-security").unwrap_or_else(|| DEFAULT_SECURITY.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_the_systems_own() {
        let lines = "# deb http://commented.example/debian bookworm main\n\
                     deb http://other.example/vendor stable main\n\
                     deb [arch=amd64] http://near.example/mirror/debian/ bookworm main\n";
        let stanzas = "Types: deb\nURIs: http://near.example/debian-security\nSuites: bookworm-security\n";
        let mirrors = Mirrors::in_sources(&[lines.to_owned(), stanzas.to_owned()]);
        assert_eq!(mirrors.main, "http://near.example/mirror/debian/");
        assert_eq!(mirrors.security, "http://near.example/debian-security");
    }

    #[test]
    fn without_debian_sources_the_public_mirror_serves() {
        let mirrors = Mirrors::in_sources(&["deb http://archive.example/ubuntu noble main".to_owned()]);
        assert_eq!(mirrors, Mirrors { main: DEFAULT_MIRROR.to_owned(), security: DEFAULT_SECURITY.to_owned() });
    }

    #[test]
    fn a_version_names_its_release() {
        assert_eq!(Release::of("6.1"), Release::Bookworm);
        assert_eq!(Release::of("6.1.0-47"), Release::Bookworm);
        assert_eq!(Release::of("6.12"), Release::Trixie);
        assert_eq!(Release::of("6.12.117+deb13"), Release::Trixie);
        assert_eq!(Release::of("newest"), Release::Newest);
        assert_eq!(Release::of("7.3.4+deb13"), Release::Newest);
    }
}
