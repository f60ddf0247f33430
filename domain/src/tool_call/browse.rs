//! Opens a page in the browser of the sandbox: its text for the model, a picture or a PDF as an artifact.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use url::Url;

use super::arguments::Fault;
use super::collect::Outputs;
use super::fields::Fields;
use super::files::Hands;
use super::model::{ToolCall, ToolCallState, ToolResult};
use super::output::CappedOutput;
use super::page_text::page_text;
use super::path::{OUTPUTS, file_path, output_path};
use super::program::{program_result, run_lent, time_limit};
use crate::agent::Claim;
use crate::resource::SandboxNetwork;
use crate::sandbox::{Exit, LiveSandbox, OutputSink, OutputStream, Page, PageForm, PageTarget, Program, SandboxError};

const MAX_URL_BYTES: usize = 2048;
/// Bytes of a page's document that are taken.
const MAX_DOCUMENT_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of a page's text that the model gets to read: from the start and from the end.
const TEXT_HEAD_BYTES: usize = 20 * 1024;
const TEXT_TAIL_BYTES: usize = 4 * 1024;
/// Bytes of the browser's own words, told when it fails.
const MAX_COMPLAINT_BYTES: usize = 2 * 1024;
const SIDES: std::ops::RangeInclusive<u64> = 200..=4000;

pub(super) fn parse(fields: &mut Fields) -> Result<Page, Fault> {
    let target = match (fields.optional_text("url")?, fields.optional_text("path")?) {
        (Some(url), None) => PageTarget::Url(checked_url(&url)?),
        (None, Some(path)) => PageTarget::File(file_path("path", &path)?),
        _ => return Err(Fault::invalid("url: exactly one of url and path is needed. Give one of them.")),
    };
    let form = fields.optional_text("as")?.unwrap_or_else(|| "text".to_owned());
    let save_as = fields.optional_text("save_as")?;
    let side = |number: Option<u64>, usual: u32| number.and_then(|number| u32::try_from(number).ok()).unwrap_or(usual);
    let (width, height) = (fields.integer("width", SIDES)?, fields.integer("height", SIDES)?);
    let form = match (form.as_str(), save_as) {
        ("text", None) => PageForm::Text,
        ("text", Some(_)) => {
            return Err(Fault::invalid("save_as: a text is not saved. Leave it out, or write_file it."));
        }
        ("screenshot", name) => {
            PageForm::Screenshot { path: place(name, ".png")?, width: side(width, 1280), height: side(height, 800) }
        }
        ("pdf", name) => PageForm::Pdf { path: place(name, ".pdf")? },
        _ => return Err(Fault::invalid("as: must be text, screenshot or pdf. Leave it out for text.")),
    };
    Ok(Page { target, form })
}

/// Where the page is put. The browser goes by the end of the name.
fn place(name: Option<String>, end: &str) -> Result<String, Fault> {
    let path = output_path("save_as", &name.unwrap_or_else(|| format!("page{end}")))?;
    let name = path.strip_suffix(end);
    if name.is_none_or(|name| name.ends_with('/')) {
        return Err(Fault::invalid(format!("save_as: must end in {end}. Give a name such as page{end}.")));
    }
    Ok(path)
}

/// The address as a browser understands it. One that it does not understand it would take for words to search for.
fn checked_url(url: &str) -> Result<String, Fault> {
    let parsed = Some(url).filter(|url| url.len() <= MAX_URL_BYTES).and_then(|url| Url::parse(url).ok());
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    let is_plain = |url: &Url| url.username().is_empty() && url.password().is_none();
    let is_given_so = url.chars().all(|c| !c.is_control() && !c.is_whitespace());
    match parsed.filter(|url| is_web(url) && is_plain(url) && is_given_so) {
        Some(url) => Ok(url.into()),
        None => Err(Fault::invalid(
            "url: must be an http or https address, with a host and without a user name. Give one such as \
             https://example.com/a.",
        )),
    }
}

/// The host of an address that was checked.
fn host_of(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(str::to_owned)
}

pub(super) async fn browse(
    claim: &Claim,
    call: &ToolCall,
    page: &Page,
    sandbox: &LiveSandbox,
) -> (Result<ToolResult, SandboxError>, Outputs) {
    (open(claim, call, page, sandbox).await, Outputs::default())
}

async fn open(claim: &Claim, call: &ToolCall, page: &Page, sandbox: &LiveSandbox) -> Result<ToolResult, SandboxError> {
    if let Some(refused) = refused(claim, page) {
        return Ok(refused);
    }
    let context = claim.call_context();
    let hands = Hands { claim, sandbox };
    if let PageTarget::File(path) = &page.target {
        hands.regular(path).await?;
    }
    if let Some(path) = page.form.path() {
        hands.directory_or_nothing(OUTPUTS).await?;
        hands.writable(path).await?;
    }
    if let (PageTarget::File(path), PageForm::Screenshot { .. } | PageForm::Pdf { .. }) = (&page.target, &page.form)
        && claim.ports.sandboxes.read_file(&context, sandbox, path, MAX_DOCUMENT_BYTES as u64).await?.is_none()
    {
        // A secret in a text is found and taken out; in a picture of it nobody finds one.
        let message = format!("{path} is larger than 8 MiB; browse a smaller page");
        return Ok(ToolResult::ended(ToolCallState::Failed, "FILE_TOO_LARGE", message));
    }
    let document = Document::default();
    let limit = time_limit(claim);
    let program = Program::Browse(page.clone());
    let end = run_lent(claim, call, &program, limit, sandbox, &document).await?;
    let failed = |code, message: String| Ok(ToolResult::ended(ToolCallState::Failed, code, message));
    match (end.exit, page.form.path()) {
        (Exit::Code(0), None) => Ok(document.result()),
        (Exit::Code(0), Some(path)) => match claim.ports.sandboxes.entry(&context, sandbox, path).await? {
            Some(file) => Ok(ToolResult::succeeded(format!("Saved {path}, {} bytes.", file.byte_size))),
            None => failed("PAGE_NOT_TAKEN", format!("the browser made {path}, and it went away")),
        },
        (Exit::Code(Page::NO_BROWSER), _) => Err(SandboxError::image_lacks("chromium")),
        (Exit::Code(Page::NOT_LOADED), _) => {
            let why = document.complaint();
            let message = format!(
                "the page was not loaded ({why}): its host does not exist, cannot be reached from the sandbox, or sent no \
                 page. Look at the address, or browse another page."
            );
            failed("PAGE_NOT_LOADED", message)
        }
        (Exit::Code(_), path) => {
            let made = path.map_or_else(|| "no document".to_owned(), |path| format!("no file {path}"));
            failed("PAGE_NOT_TAKEN", format!("the browser made {made}\n{}", document.complaint()))
        }
        (Exit::TimedOut, _) => {
            let message = format!(
                "the page was not done after {} ms, the time limit. A page that opens a dialogue never is, nor an address \
                 whose answer is a file to download: fetch such a file with a program.\n{}",
                limit.as_millis(),
                document.complaint()
            );
            failed("TIMED_OUT", message)
        }
        (exit, _) => Ok(program_result(claim, sandbox, exit, document.complaint(), limit)),
    }
}

/// A page that the profile's network cannot reach is not asked for.
fn refused(claim: &Claim, page: &Page) -> Option<ToolResult> {
    let PageTarget::Url(url) = &page.target else { return None };
    let profile = &claim.pinned.get()?.sandbox.as_ref()?.profile;
    let host = host_of(url)?;
    let is_reachable = match profile.network {
        SandboxNetwork::None => false,
        SandboxNetwork::Hosts => profile.network_hosts.iter().any(|listed| is_listed(listed, &host)),
        // What of it is private is refused on the way.
        SandboxNetwork::Public => true,
    };
    (!is_reachable).then(|| {
        let message =
            format!("the network of the sandbox profile does not reach {host}; browse a file below /workspace");
        ToolResult::ended(ToolCallState::Failed, "NETWORK_NOT_ALLOWED", message)
    })
}

/// Whether an entry of the profile is for this host.
fn is_listed(listed: &str, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    match listed.strip_prefix('*') {
        Some(suffix) => host.strip_suffix(suffix).is_some_and(|name| !name.is_empty()),
        None => host == listed,
    }
}

/// The document that the browser prints, and what it says beside.
#[derive(Default)]
struct Document(Mutex<Printed>);

#[derive(Default)]
struct Printed {
    document: String,
    complaint: String,
}

impl Document {
    fn result(&self) -> ToolResult {
        let printed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = CappedOutput::new(TEXT_HEAD_BYTES, TEXT_TAIL_BYTES);
        text.push(&page_text(&printed.document));
        let truncated = text.omitted_bytes() > 0 || printed.document.len() >= MAX_DOCUMENT_BYTES;
        let text = text.text();
        ToolResult {
            truncated,
            ..ToolResult::succeeded(if text.is_empty() { "(the page has no text)" } else { &text })
        }
    }

    fn complaint(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).complaint.clone()
    }
}

#[async_trait]
impl OutputSink for Document {
    async fn output(&self, stream: OutputStream, text: &str) {
        let mut printed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, most) = match stream {
            OutputStream::Stdout => (&mut printed.document, MAX_DOCUMENT_BYTES),
            OutputStream::Stderr => (&mut printed.complaint, MAX_COMPLAINT_BYTES),
        };
        let room = most.saturating_sub(kept.len());
        kept.push_str(&text[..text.floor_char_boundary(room)]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::parse_strict;
    use super::*;

    fn parsed(arguments: &str) -> Result<Page, Fault> {
        let mut fields = Fields::new(parse_strict(arguments).unwrap());
        let page = parse(&mut fields)?;
        fields.end().map(|()| page)
    }

    #[test]
    fn a_page_is_an_address_or_a_file_and_is_taken_in_one_form() {
        let page = parsed(r#"{"path":"report/index.html"}"#).unwrap();
        assert_eq!(page, Page { target: PageTarget::File("report/index.html".to_owned()), form: PageForm::Text });
        let page = parsed(r#"{"url":"https://example.com:8443/a?b","as":"screenshot","save_as":"a.png","width":400}"#);
        let form = PageForm::Screenshot { path: "outputs/a.png".to_owned(), width: 400, height: 800 };
        assert_eq!(page.unwrap().form, form);
        for bad in [
            r#"{}"#,
            r#"{"url":"https://a/","path":"b"}"#,
            r#"{"url":"file:///etc/passwd"}"#,
            r#"{"url":"chrome://settings"}"#,
            r#"{"url":"https://user@a/"}"#,
            r#"{"url":"https://"}"#,
            r#"{"url":"https://a/ b"}"#,
            r#"{"path":"../a"}"#,
            r#"{"path":"a","as":"gif"}"#,
            r#"{"path":"a","as":"pdf","save_as":"b/c.pdf"}"#,
            r#"{"path":"a","save_as":"c.txt"}"#,
            r#"{"path":"a","as":"screenshot","save_as":"page"}"#,
            r#"{"path":"a","as":"screenshot","save_as":"page.pdf"}"#,
            r#"{"path":"a","as":"pdf","save_as":".pdf"}"#,
            r#"{"path":"a","width":5}"#,
        ] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_star_stands_for_every_name_below_and_not_for_the_name() {
        for (listed, host, is) in [
            ("example.com", "Example.com", true),
            ("example.com", "www.example.com", false),
            ("*.example.com", "www.example.com", true),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "evilexample.com", false),
        ] {
            assert_eq!(is_listed(listed, host), is, "{listed} {host}");
        }
    }

    #[test]
    fn addresses_are_read_as_a_browser_reads_them() {
        for (url, read, host) in [
            ("https://example.com/a@b", "https://example.com/a@b", "example.com"),
            ("HTTP://Example.com:80?x", "http://example.com/?x", "example.com"),
            ("https://good.com\\@evil.com/", "https://good.com/@evil.com/", "good.com"),
            ("http://[::1]:8080/", "http://[::1]:8080/", "[::1]"),
            ("http://0x7f.1/", "http://127.0.0.1/", "127.0.0.1"),
        ] {
            let checked = checked_url(url).unwrap();
            assert_eq!((checked.as_str(), host_of(&checked).as_deref()), (read, Some(host)), "{url}");
        }
        // A browser would ask its search engine for these.
        for url in [
            "https://evil.com@good.com/",
            "ftp://example.com",
            "http://a.example.org:99999/secret",
            "http://a<b.example.org/",
            "http://[zz]/",
            "https://a.example.org:abc/",
            "http://%zz/",
            "http://a^b.org/",
            "http://a|b/",
            "http:///",
        ] {
            assert!(checked_url(url).is_err(), "{url}");
        }
    }
}
