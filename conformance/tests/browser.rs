//! The HTML report in a real browser, without a window: `cargo test -p rocespec --test browser -- --ignored`.
//!
//! The browser is the first of chromium, chromium-browser and google-chrome that is installed, or what `ROCESPEC_BROWSER`
//! names. Where there is none, the tests say so and pass.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rocespec_reports::examination::{Examination, Findings};

/// A browser that hangs is ended after this long.
const PATIENCE: Duration = Duration::from_secs(60);

struct Browser {
    program: String,
    /// Asks for a colour scheme.
    scheme: &'static str,
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
        Some(Browser {
            program: program?,
            scheme: "--blink-settings=preferredColorScheme=1",
            folder: tempfile::tempdir().unwrap(),
        })
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
            .arg(self.scheme)
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

    /// What `script` puts into the title of the page, once the bytes of what failed are unpacked.
    fn ask(&self, file: &Path, fragment: &str, script: &str) -> String {
        let page = std::fs::read_to_string(file).unwrap();
        let with = file.with_file_name("asked.html");
        // The browser's clock is virtual and unpacking takes real time: each look spends some.
        let asking = format!(
            "<script>(function ask(left) {{ for (var i = 0; i !== 3e6; i++) {{}} \
             var waits = left && document.querySelector('[data-broken]') && !document.querySelector('.bytes'); \
             if (waits) {{ setTimeout(ask, 20, left - 1); return; }} \
             setTimeout(function () {{ {script} }}, 300) }})(150)</script></body>"
        );
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

/// The report of a device that repeats a NAK, and the pages of an area that has failures and of one that has none.
fn report(folder: &Path) -> (PathBuf, PathBuf, PathBuf) {
    let words = ["run", "rc/responder/psn-gap", "icrc", "--dut", "emulator:repeats-gap-nak", "--report", "report"];
    let output =
        Command::new(env!("CARGO_BIN_EXE_rocespec")).args(words).current_dir(folder).output().expect("a report");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report = folder.join("report");
    (report.join("index.html"), report.join("cases/rc.responder.html"), report.join("cases/icrc.html"))
}

/// The report of an examination of captures: its first page and the page of a connection.
fn examination(folder: &Path) -> (PathBuf, PathBuf) {
    let page = include_str!("../../docs/check-schema.md");
    let example = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let mut examination: Examination = serde_json::from_str(example).unwrap();
    let connections = &mut examination.files[0].connections;
    let page = format!("connections/1-{}.html", connections[0].number);
    let mut quiet = connections[0].clone();
    (quiet.number, quiet.findings, quiet.transport) = (4, Findings::default(), "UC".to_owned());
    quiet.sent[0].packets = 9_999;
    connections.push(quiet);
    rocespec_reports::folder::write_examination(&examination, folder).unwrap();
    (folder.join("index.html"), folder.join(page))
}

#[test]
#[ignore = "needs a browser"]
fn the_table_of_connections_is_sorted_by_a_click_on_its_head() {
    let Some(browser) = Browser::find() else { return };
    let temp = tempfile::tempdir().unwrap();
    let (index, _) = examination(temp.path());
    let order = |clicks: &str| {
        let script = format!(
            "var heads = Array.from(document.querySelectorAll('[data-sortable] th button')); \
             var click = name => heads.find(head => head.textContent === name).click(); {clicks}; \
             document.title = Array.from(document.querySelectorAll('[data-sortable] tbody tr'), \
             row => row.cells[0].textContent).join(' ') + ' ' + \
             Array.from(document.querySelectorAll('[aria-sort]'), head => head.getAttribute('aria-sort'))"
        );
        browser.ask(&index, "", &script)
    };
    assert_eq!(order(""), "3 4 ", "the worst first");
    assert_eq!(order("click('Packets')"), "4 3 descending");
    assert_eq!(order("click('Packets'); click('Packets')"), "3 4 ascending");
    assert_eq!(order("click('Packets'); click('Type')"), "3 4 ascending");
}

#[test]
#[ignore = "needs a browser"]
fn a_flag_of_the_picture_leads_to_its_finding() {
    let Some(browser) = Browser::find() else { return };
    let temp = tempfile::tempdir().unwrap();
    let (_, connection) = examination(temp.path());
    let follow = "var flag = document.querySelectorAll('.sequence .flag')[1]; location.hash = flag.getAttribute('href'); \
                  setTimeout(() => { var finding = document.querySelector(location.hash); \
                  document.title = finding.open + ' ' + finding.querySelector('summary').textContent }, 500)";
    let title = browser.ask(&connection, "", follow);
    assert!(title.starts_with("true rc.responder.ack-psn must"), "{title}");
}

#[test]
#[ignore = "needs a browser"]
fn the_table_of_cases_follows_the_address() {
    let Some(browser) = Browser::find() else { return };
    let temp = tempfile::tempdir().unwrap();
    let (index, ..) = report(temp.path());
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
    let (index, ..) = report(temp.path());
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
    let (_, failed, _) = report(temp.path());
    let first = "document.querySelector('.bytes .run').focus(); \
                 document.title = document.querySelector('.bytes .told').textContent";
    assert!(browser.ask(&failed, "", first).starts_with("eth.dst 02:"), "the bytes of the frame that failed are there");
    let next = "var runs = document.querySelectorAll('.bytes .run'); runs[0].focus(); \
                runs[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true})); \
                document.title = (document.activeElement === runs[1]) + ' ' + \
                document.querySelector('.bytes .told').textContent";
    assert!(browser.ask(&failed, "", next).starts_with("true eth.src 02:"));
    let mouse = "var bytes = document.querySelector('.bytes'); \
                 var row = Array.from(bytes.querySelectorAll('tr')).find(row => row.cells[0].textContent === 'psn'); \
                 row.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})); \
                 document.title = Array.from(bytes.querySelectorAll('.run.lit'), run => run.textContent).join(' ')";
    assert_eq!(browser.ask(&failed, "", mouse), "00 00 01");
}

#[test]
#[ignore = "needs a browser"]
fn a_packet_of_the_ladder_shows_its_bytes_and_the_keyboard_finds_back() {
    let Some(browser) = Browser::find() else { return };
    let temp = tempfile::tempdir().unwrap();
    let (.., passed) = report(temp.path());
    let follow = "var link = document.querySelector('.ladder a'); location.hash = link.getAttribute('href'); \
                  setTimeout(() => { var panel = document.activeElement; \
                  var seen = panel.className + ', ' + panel.querySelector('h4').textContent; \
                  panel.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true})); \
                  document.title = seen + ', ' + (document.activeElement === link) + ', ' + \
                  document.querySelectorAll('.bytes').length }, 500)";
    let title = browser.ask(&passed, "", follow);
    assert!(title.starts_with("bytes docked, #1 → SEND_ONLY") && title.ends_with(", true, 0"), "{title}");
}

#[test]
#[ignore = "needs a browser"]
fn the_address_of_a_case_opens_it_and_paper_shows_every_case() {
    let Some(browser) = Browser::find() else { return };
    let temp = tempfile::tempdir().unwrap();
    let (.., passed) = report(temp.path());
    let open = "document.title = Array.from(document.querySelectorAll('details[open]'), one => one.id).join(' ')";
    assert!(!browser.ask(&passed, "", open).contains("bad["), "what passed is closed");
    let id = "bad[ip=v4,start_psn=0x000000]";
    let opened = browser.ask(&passed, id, open);
    assert!(opened.starts_with("in-") && opened.contains(id), "{opened}");
    let print = "var closed = () => document.querySelectorAll('details:not([open])').length; var before = closed(); \
                 dispatchEvent(new Event('beforeprint')); var during = closed(); \
                 dispatchEvent(new Event('afterprint')); document.title = [before === closed(), before > 0, during].join(' ')";
    assert_eq!(browser.ask(&passed, "", print), "true true 0");
    let paper = temp.path().join("paper.pdf");
    browser.start(&[&format!("--print-to-pdf={}", paper.display())], &address(&passed));
    let paper = std::fs::read(&paper).unwrap();
    assert!(paper.starts_with(b"%PDF"));
    let sheets = paper.windows(11).filter(|at| at == b"/Type /Page").count();
    assert!(sheets > 10, "{sheets} sheets cannot hold the ladders of 19 cases");
}

#[test]
#[ignore = "needs a browser"]
fn pages_fit_narrow_windows() {
    let Some(browser) = Browser::find() else { return };
    let temp = tempfile::tempdir().unwrap();
    let (index, failed, passed) = report(temp.path());
    let (captures, connection) = examination(&temp.path().join("captures"));
    let wide = "document.title = document.documentElement.scrollWidth - document.documentElement.clientWidth";
    for page in [&index, &failed, &passed, &captures, &connection] {
        let asked = browser.ask(page, "", wide);
        assert_eq!(asked, "0", "{} is wider than its window", page.display());
        let asked = page.with_file_name("asked.html");
        let words = ["--dump-dom", "--window-size=500,900"];
        let narrow = String::from_utf8(browser.start(&words, &address(&asked))).unwrap();
        assert!(narrow.contains("<title>0</title>"), "{} is wider than a narrow window", page.display());
    }
}

/// Puts into the title every text that is too faint for its ground: less than 4.5 to 1, as WCAG 2 asks at level AA.
const FAINT: &str = "
    var canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    var rgba = color => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
        return Array.from(canvas.getImageData(0, 0, 1, 1).data); };
    var light = color => color.slice(0, 3).map(c => c / 255)
        .map(c => c <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    var ground = element => { for (; element; element = element.parentElement) {
        var color = rgba(getComputedStyle(element).backgroundColor); if (color[3] === 255) { return color; } }
        return rgba('Canvas'); };
    document.querySelectorAll('details').forEach(one => { one.open = true; });
    var texts = Array.from(document.querySelectorAll('main *, header *, footer, footer *')).filter(element =>
        Array.from(element.childNodes).some(node => node.nodeType === 3 && node.textContent.trim()) &&
        element.getClientRects().length && !element.closest('script, noscript, title'));
    var faint = texts.filter(element => { var style = getComputedStyle(element);
        var front = light(rgba(element.closest('svg') ? style.fill : style.color)), back = light(ground(element));
        return (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05) < 4.5; });
    document.title = texts.length > 50 ? faint.slice(0, 5).map(one => one.outerHTML).join(' ') || 'none' : 'few texts';";

#[test]
#[ignore = "needs a browser"]
fn every_text_stands_out_in_light_and_dark() {
    let Some(browser) = Browser::find() else { return };
    let temp = tempfile::tempdir().unwrap();
    let (index, failed, _) = report(temp.path());
    let (captures, connection) = examination(&temp.path().join("captures"));
    for page in [&index, &failed, &captures, &connection] {
        assert_eq!(browser.ask(page, "", FAINT), "none", "{} in light", page.display());
        let ground = "document.title = getComputedStyle(document.body).backgroundColor";
        let light = browser.ask(page, "", ground);
        let dark = Browser { scheme: "--blink-settings=preferredColorScheme=0", ..Browser::find().unwrap() };
        assert_ne!(light, dark.ask(page, "", ground), "{}", page.display());
        assert_eq!(dark.ask(page, "", FAINT), "none", "{} in dark", page.display());
    }
}

#[test]
#[ignore = "needs a browser"]
fn whatever_takes_the_keyboard_shows_it() {
    let Some(browser) = Browser::find() else { return };
    let temp = tempfile::tempdir().unwrap();
    let (index, failed, _) = report(temp.path());
    let (captures, connection) = examination(&temp.path().join("captures"));
    let unseen = "var all = Array.from(document.querySelectorAll('a, button, summary, input, select, [tabindex=\"0\"]')) \
                  .filter(one => one.checkVisibility()); \
                  var unseen = all.filter(one => { one.focus({focusVisible: true}); \
                  return document.activeElement !== one || getComputedStyle(one).outlineStyle === 'none'; }); \
                  document.title = all.length > 9 ? unseen.length : 'few'";
    for page in [&index, &failed, &captures, &connection] {
        assert_eq!(browser.ask(page, "", unseen), "0", "{}", page.display());
    }
}
