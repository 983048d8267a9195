//! The HTML report in a real browser, without a window: `cargo test -p rocespec --test browser -- --ignored`.
//!
//! The browser is the first of chromium, chromium-browser and google-chrome that is installed, or what `ROCESPEC_BROWSER`
//! names. Where there is none, the tests say so and pass.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A browser that hangs is ended after this long.
const PATIENCE: Duration = Duration::from_secs(60);

struct Browser {
    program: String,
    folder: tempfile::TempDir,
}

impl Browser {
    fn find() -> Option<Browser> {
        let named = std::env::var("ROCESPEC_BROWSER").ok();
        let usual = ["chromium", "chromium-browser", "google-chrome"].map(str::to_owned);
        let answers = |program: &String| {
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
        };
        let program = named.into_iter().chain(usual).find(answers);
        if program.is_none() {
            eprintln!("SKIPPED: no browser is installed; `apt-get install chromium` brings one");
        }
        Some(Browser { program: program?, folder: tempfile::tempdir().unwrap() })
    }

    fn start(&self, words: &[&str], address: &str) -> Vec<u8> {
        let out = self.folder.path().join("out");
        let mut browser = Command::new(&self.program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--virtual-time-budget=5000",
            ])
            .arg(format!("--user-data-dir={}", self.folder.path().join("profile").display()))
            .args(words)
            .arg(address)
            .stdout(std::fs::File::create(&out).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        let ended = loop {
            if let Some(status) = browser.try_wait().unwrap() {
                break status.success();
            }
            if started.elapsed() > PATIENCE {
                browser.kill().unwrap();
                browser.wait().unwrap();
                break false;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(ended, "{} {words:?} {address}", self.program);
        std::fs::read(&out).unwrap()
    }

    /// The page as it stands once its script has run.
    fn page(&self, file: &Path, fragment: &str) -> String {
        String::from_utf8(self.start(&["--dump-dom"], &format!("{}#{fragment}", address(file)))).unwrap()
    }

    /// What `script` puts into the title of the page.
    fn ask(&self, file: &Path, fragment: &str, script: &str) -> String {
        let page = std::fs::read_to_string(file).unwrap();
        let with = file.with_file_name("asked.html");
        let asking = format!("<script>setTimeout(function () {{ {script} }}, 100)</script></body>");
        std::fs::write(&with, page.replace("</body>", &asking)).unwrap();
        let page = self.page(&with, fragment);
        let title = page.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
        title.unwrap_or_default().to_owned()
    }
}

fn address(file: &Path) -> String {
    let mut out = "file://".to_owned();
    for byte in file.to_str().unwrap().bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(byte as char),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The report of a device that repeats a NAK, and the page of a case that fails.
fn report(folder: &Path) -> (PathBuf, PathBuf) {
    let words = ["run", "rc/responder/psn-gap", "icrc", "--dut", "emulator:repeats-gap-nak", "--report", "report"];
    let output =
        Command::new(env!("CARGO_BIN_EXE_rocespec")).args(words).current_dir(folder).output().expect("a report");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report = folder.join("report");
    let case = report.join("cases/rc.responder.psn-gap[ip=v4,start_psn=0x000000].html");
    (report.join("index.html"), case)
}

#[test]
#[ignore = "needs a browser"]
fn the_table_of_cases_follows_the_address() {
    let Some(browser) = Browser::find() else { return };
    let temp = tempfile::tempdir().unwrap();
    let (index, _) = report(temp.path());
    let shown = "document.title = document.querySelector('#filter [role=status]').textContent + ', ' + \
                 Array.from(document.querySelectorAll('tr.case')).filter(row => row.offsetParent).length";
    let all = browser.ask(&index, "", shown);
    let (first, total) = all.split_once(" of ").unwrap();
    assert_eq!(total, format!("{first} shown, {first}"), "{all}");
    assert_eq!(browser.ask(&index, "verdict=FAIL", shown).split(' ').next(), Some("3"));
    assert_eq!(browser.ask(&index, "verdict=FAIL&area=icrc", shown).split(' ').next(), Some("0"));
    assert_ne!(browser.ask(&index, "area=rc%2Fresponder", shown).split(' ').next(), Some("0"));
    assert_eq!(browser.ask(&index, "text=no such case", shown).split(' ').next(), Some("0"));
}

#[test]
#[ignore = "needs a browser"]
fn a_choice_in_the_form_filters_and_changes_the_address() {
    let Some(browser) = Browser::find() else { return };
    let temp = tempfile::tempdir().unwrap();
    let (index, _) = report(temp.path());
    let choose = "var form = document.getElementById('filter'); form.elements.verdict.value = 'FAIL'; \
                  form.dispatchEvent(new Event('input', {bubbles: true})); \
                  document.title = location.hash + ' ' + form.querySelector('[role=status]').textContent";
    let title = browser.ask(&index, "", choose);
    assert!(title.starts_with("#verdict=FAIL 3 of "), "{title}");
}

#[test]
#[ignore = "needs a browser"]
fn bytes_name_their_fields_by_mouse_and_by_keyboard() {
    let Some(browser) = Browser::find() else { return };
    let temp = tempfile::tempdir().unwrap();
    let (_, case) = report(temp.path());
    let first = "var packet = document.getElementById('frame-1'); packet.querySelector('.run').focus(); \
                 document.title = packet.open + ' ' + packet.querySelector('.told').textContent";
    assert!(browser.ask(&case, "frame-1", first).starts_with("true eth.dst 02:"), "a link opens the packet");
    let next = "var runs = document.querySelectorAll('#frame-1 .run'); runs[0].focus(); \
                runs[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true})); \
                document.title = (document.activeElement === runs[1]) + ' ' + \
                document.querySelector('#frame-1 .told').textContent";
    assert!(browser.ask(&case, "frame-1", next).starts_with("true eth.src 02:"));
    let mouse = "var row = Array.from(document.querySelectorAll('#frame-1 tr')).find(row => \
                 row.cells[0].textContent === 'psn'); \
                 row.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})); \
                 document.title = Array.from(document.querySelectorAll('#frame-1 .run.lit')).map(run => \
                 run.textContent).join(' ')";
    assert_eq!(browser.ask(&case, "frame-1", mouse), "00 00 00");
}

#[test]
#[ignore = "needs a browser"]
fn pages_fit_narrow_windows() {
    let Some(browser) = Browser::find() else { return };
    let temp = tempfile::tempdir().unwrap();
    let (index, case) = report(temp.path());
    let wide = "document.title = document.documentElement.scrollWidth - document.documentElement.clientWidth";
    for page in [&index, &case] {
        let words = ["--dump-dom", "--window-size=500,900"];
        let asked = browser.ask(page, "", wide);
        assert_eq!(asked, "0", "{} is wider than its window", page.display());
        let asked = page.with_file_name("asked.html");
        let narrow = String::from_utf8(browser.start(&words, &address(&asked))).unwrap();
        assert!(narrow.contains("<title>0</title>"), "{} is wider than a narrow window", page.display());
    }
}

#[test]
#[ignore = "needs a browser"]
fn pages_can_be_seen_in_light_and_dark_and_be_printed() {
    let Some(browser) = Browser::find() else { return };
    let temp = tempfile::tempdir().unwrap();
    let (_, case) = report(temp.path());
    let picture = temp.path().join("picture.png");
    let target = format!("--screenshot={}", picture.display());
    browser.start(&[&target], &address(&case));
    let light = std::fs::read(&picture).unwrap();
    browser.start(&[&target, "--blink-settings=preferredColorScheme=0"], &address(&case));
    let dark = std::fs::read(&picture).unwrap();
    assert!(light.starts_with(b"\x89PNG") && dark.starts_with(b"\x89PNG"));
    assert_ne!(light, dark);
    let paper = temp.path().join("paper.pdf");
    browser.start(&[&format!("--print-to-pdf={}", paper.display())], &address(&case));
    assert!(std::fs::read(&paper).unwrap().starts_with(b"%PDF"));
}
