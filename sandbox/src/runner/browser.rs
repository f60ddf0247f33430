//! The command-mode browser: headless Chromium opens one page, and prints its document or leaves a file.
//!
//! Chromium's own sandbox needs namespaces that a sandbox does not give, so it is off: the sandbox around it is ours. Its
//! profile lies in the directory of the run and goes with it.

use domain::sandbox::{Page, PageForm, PageTarget};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::WORKSPACE;

/// How far the clock of a page may run before it is taken: timers of scripts fire at once.
const VIRTUAL_TIME: &str = "--virtual-time-budget=10000";
/// The browser asks nobody for the time or for parts of itself: a page is what is reached, and nothing beside it.
const NO_QUERIES: &str = "--disable-features=NetworkTimeServiceQuerying,OptimizationHints,OptimizationHintsFetching";
const NO_UPDATES: &str = "--component-updater=url-source=http://127.0.0.1:9/";
const FLAGS: [&str; 16] = [
    "--headless=new",
    "--no-sandbox",
    "--no-zygote",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--mute-audio",
    VIRTUAL_TIME,
    NO_QUERIES,
    NO_UPDATES,
];
/// What stands around the browser.
const SCRIPT: &str = include_str!("browse.sh");
/// The browser, as images name it.
pub(super) const CHROMIUM: &str = "chromium";
/// What would mean something else in the path of an address.
const IN_PATHS: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'#').add(b'?').add(b'"').add(b'<').add(b'>').add(b'\\');

/// Program and arguments for a page; the profile and what the browser makes go into `dir`. The document is asked for in
/// every form, since an error page is told by it.
pub(super) fn arguments(page: &Page, dir: &str) -> Vec<String> {
    let to = match &page.form {
        PageForm::Text => String::new(),
        PageForm::Screenshot { path, .. } | PageForm::Pdf { path } => format!("{WORKSPACE}/{path}"),
    };
    let codes = [("NO_BROWSER", Page::NO_BROWSER), ("NOT_LOADED", Page::NOT_LOADED), ("NOT_TAKEN", Page::NOT_TAKEN)];
    let script = codes.iter().fold(SCRIPT.to_owned(), |script, (name, code)| script.replace(name, &code.to_string()));
    let mut arguments: Vec<_> = ["/bin/sh", "-c", &script, "sh", dir, &to, CHROMIUM].map(str::to_owned).into();
    arguments.extend(FLAGS.map(str::to_owned));
    arguments.push(format!("--user-data-dir={dir}/profile"));
    arguments.push("--dump-dom".to_owned());
    match &page.form {
        PageForm::Text => {}
        PageForm::Screenshot { width, height, .. } => {
            arguments.push(format!("--window-size={width},{height}"));
            arguments.push(format!("--screenshot={dir}/page.png"));
        }
        PageForm::Pdf { .. } => {
            arguments.push("--no-pdf-header-footer".to_owned());
            arguments.push(format!("--print-to-pdf={dir}/page.pdf"));
        }
    }
    arguments.push(match &page.target {
        PageTarget::Url(url) => url.clone(),
        PageTarget::File(path) => format!("file://{WORKSPACE}/{}", utf8_percent_encode(path, IN_PATHS)),
    });
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_opened_under_its_exact_name() {
        let page = Page { target: PageTarget::File("a b/50%#?.html".to_owned()), form: PageForm::Text };
        let arguments = arguments(&page, "/tmp/vitrine/x");
        assert_eq!(arguments[3..7], ["sh", "/tmp/vitrine/x", "", "chromium"]);
        assert_eq!(arguments.last().map(String::as_str), Some("file:///workspace/a%20b/50%25%23%3F.html"));
        assert!(arguments.contains(&"--user-data-dir=/tmp/vitrine/x/profile".to_owned()));
    }

    #[test]
    fn each_form_asks_for_its_file() {
        let asked = |form| arguments(&Page { target: PageTarget::Url("https://a/".to_owned()), form }, "/tmp/x");
        let picture = asked(PageForm::Screenshot { path: "outputs/p.png".to_owned(), width: 640, height: 480 });
        assert_eq!(picture[5], "/workspace/outputs/p.png");
        assert!(picture.contains(&"--screenshot=/tmp/x/page.png".to_owned()));
        assert!(picture.contains(&"--window-size=640,480".to_owned()));
        let pdf = asked(PageForm::Pdf { path: "outputs/p.pdf".to_owned() });
        assert_eq!(pdf[5], "/workspace/outputs/p.pdf");
        assert!(pdf.contains(&"--print-to-pdf=/tmp/x/page.pdf".to_owned()));
    }
}
