//! Sandboxes, the programs that run in them, and what can go wrong.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::setting::Setting;
use crate::clock::Timestamp;
use crate::ids::{SandboxId, VersionId};
use crate::resource::{
    EgressEnforcement, SandboxConnectionSpec, SandboxNetwork, SandboxProfileSpec, SandboxRoute, SandboxTier,
    SecureRuntime,
};

/// Where a sandbox stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SandboxState {
    /// About to be asked for, or asked for without an answer.
    Intent,
    /// Running.
    Live,
    /// To be removed; not yet seen to be gone.
    KillPending,
    /// Seen to be gone.
    Gone,
}

/// A Sandbox, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Sandbox {
    /// Our id; also its label on the server.
    pub id: SandboxId,
    /// Lease epoch of the claim that made it, or took it over.
    pub epoch: u64,
    /// The pinned profile.
    pub profile_version: VersionId,
    /// The pinned connection.
    pub connection_version: VersionId,
    /// Local or remote.
    pub tier: SandboxTier,
    /// Image name.
    pub image: String,
    /// What it may reach.
    pub network: SandboxNetwork,
    /// The hosts of [`SandboxNetwork::Hosts`].
    pub network_hosts: Vec<String>,
    /// Names of the credentials that its programs may use.
    pub credentials: Vec<String>,
    /// Memory limit.
    pub memory_bytes: u64,
    /// Size of `/workspace`.
    pub disk_bytes: u64,
    /// Processes at one time.
    pub pids: u32,
    /// Where it stands.
    pub state: SandboxState,
    /// The server's id of it.
    pub remote_id: Option<String>,
    /// Limits that the server proved to enforce.
    pub enforced: Vec<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When the server removes it by itself: as the server says, and before that by the profile.
    pub expires_at: Option<Timestamp>,
}

/// The server that a sandbox lives on. `Debug` does not show the key.
#[derive(Clone, PartialEq, Eq)]
pub struct SandboxTarget {
    /// Local or remote.
    pub tier: SandboxTier,
    /// Base URL; not used for the local tier.
    pub base_url: String,
    /// API key; not used for the local tier.
    pub api_key: Option<String>,
    /// Allows plain HTTP beyond loopback.
    pub allow_plaintext: bool,
    /// Further hosts that an endpoint may name.
    pub endpoint_hosts: Vec<String>,
    /// Ports that an endpoint may have beside the server's own address; any when there is none.
    pub endpoint_ports: Vec<String>,
    /// With which of these an endpoint's path must begin; any path when there is none.
    pub endpoint_paths: Vec<String>,
    /// How its sandboxes are reached.
    pub route: SandboxRoute,
    /// Whether each sandbox gets a key of its own, which its endpoint then requires.
    pub secure_access: bool,
    /// What the server runs sandboxes with.
    pub secure_runtime: SecureRuntime,
    /// What keeps its sandboxes from the network.
    pub egress: Option<EgressEnforcement>,
}

impl SandboxTarget {
    /// The server of a connection, with its key opened.
    pub fn new(connection: SandboxConnectionSpec, api_key: Option<String>) -> Self {
        let SandboxConnectionSpec {
            tier,
            base_url,
            credential_id: _,
            allow_plaintext,
            endpoint_hosts,
            endpoint_ports,
            endpoint_paths,
            route,
            secure_access,
            secure_runtime,
            egress,
        } = connection;
        Self {
            tier,
            base_url,
            api_key,
            allow_plaintext,
            endpoint_hosts,
            endpoint_ports,
            endpoint_paths,
            route,
            secure_access,
            secure_runtime,
            egress,
        }
    }
}

impl std::fmt::Debug for SandboxTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SandboxTarget").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

/// What is asked of the server.
#[derive(Debug, Clone)]
pub struct SandboxRequest {
    /// Our id.
    pub id: SandboxId,
    /// The server.
    pub target: SandboxTarget,
    /// Image, limits, network and lifetime.
    pub profile: SandboxProfileSpec,
}

/// A sandbox that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSandbox {
    /// Our id.
    pub id: SandboxId,
    /// The server.
    pub target: SandboxTarget,
    /// The server's id of it.
    pub remote_id: String,
    /// Limits that the server proved to enforce.
    pub enforced: Vec<String>,
    /// When the server removes it by itself.
    pub expires_at: Option<Timestamp>,
    /// What its programs get; whoever makes a sandbox leaves it empty, and whoever uses it fills it in.
    pub setting: Setting,
}

/// A program to run in `/workspace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// Python source.
    Python(String),
    /// JavaScript source for Node.
    JavaScript(String),
    /// A shell command line.
    Shell(String),
    /// A page in a browser: as text its document is printed, else a file is made.
    Browse(Page),
}

/// A page, and what is wanted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where it is.
    pub target: PageTarget,
    /// What is wanted.
    pub form: PageForm,
}

impl Page {
    /// The exit code where there is no browser.
    pub const NO_BROWSER: i32 = 127;
    /// The exit code when the page did not load. The error output says why.
    pub const NOT_LOADED: i32 = 69;
    /// The exit code when the page loaded, and what was wanted of it could not be had. The error output says more.
    pub const NOT_TAKEN: i32 = 70;
}

/// Where a page is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageTarget {
    /// At an http or https address.
    Url(String),
    /// In a file below `/workspace`.
    File(String),
}

/// What is wanted of a page. Paths are below `/workspace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageForm {
    /// Its text.
    Text,
    /// A picture of what a window of this size shows.
    Screenshot {
        /// Where the PNG file goes.
        path: String,
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// All of it as a PDF file.
    Pdf {
        /// Where the file goes.
        path: String,
    },
}

impl PageForm {
    /// The file that is made; None for a text.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Text => None,
            Self::Screenshot { path, .. } | Self::Pdf { path } => Some(path),
        }
    }
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// Killed by a signal or for want of memory.
    Killed,
    /// Its time ran out.
    TimedOut,
    /// We stopped it.
    Interrupted,
    /// It never started; the text says why.
    NotStarted(String),
    /// It was stopped: it wrote a line that the server sends in one piece, and that is longer than is read.
    LineTooLong,
    /// The connection broke and the server does not know; it may have run in part.
    Unknown,
}

/// How a program ended, and what that means for what comes after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramEnd {
    /// How it ended.
    pub exit: Exit,
    /// Something of it may still run: its sandbox was given up, for nothing else may run beside it.
    pub sandbox_lost: bool,
    /// Its output as it was, when it was no text and could be had whole.
    pub raw: Option<RawOutput>,
    /// The streams that are left out of `raw` because they hold a credential's value.
    pub raw_withheld: Vec<OutputStream>,
    /// Bytes at the end of its output that nobody has kept, so that they were not told.
    pub dropped_bytes: u64,
}

impl ProgramEnd {
    /// It ended in this way, nothing of it is left, and its output was told as it was.
    pub const fn of(exit: Exit) -> Self {
        Self { exit, sandbox_lost: false, raw: None, raw_withheld: Vec::new(), dropped_bytes: 0 }
    }
}

/// The bytes of a program's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawOutput {
    /// Standard output.
    pub stdout: Bytes,
    /// Standard error.
    pub stderr: Bytes,
}

/// Which stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A file found in `outputs/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedFile {
    /// Path below `outputs/`.
    pub name: String,
    /// Its bytes.
    pub bytes: Bytes,
}

/// What a collection found in `outputs/`.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    /// The files that were new or changed, and fit.
    pub files: Vec<CollectedFile>,
    /// How many more were new or changed, and did not fit.
    pub left_out: usize,
    /// Whether more lies there than could be listed.
    pub is_cut: bool,
    /// How many more were new or changed, and hold a credential's value.
    pub withheld: usize,
    /// What else is there and was not taken; each entry is told once for each reason.
    pub refused: Vec<RefusedOutput>,
}

/// An entry in `outputs/` that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedOutput {
    /// Its path below `outputs/`, as far as it can be told.
    pub name: String,
    /// Why it is not taken.
    pub why: WhyRefused,
}

/// Why an entry in `outputs/` is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyRefused {
    /// A link, which may lead anywhere.
    Link,
    /// A pipe, socket or device.
    Special,
    /// A name that is no UTF-8, or that the protocol cannot ask for.
    Name,
    /// A file that the server does not read, or a directory that it does not list.
    Unreadable,
    /// A file that was written to while it was read.
    Changing,
}

impl WhyRefused {
    /// In words, for a message.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Link => "a link",
            Self::Special => "no regular file",
            Self::Name => "a name that cannot be passed on",
            Self::Unreadable => "it cannot be read",
            Self::Changing => "it changed while it was read",
        }
    }
}

/// Why there is no sandbox to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotCreated {
    /// What went wrong.
    pub error: SandboxError,
    /// Whether one may have been made all the same, and must be seen to be gone.
    pub may_exist: bool,
}

impl NotCreated {
    /// The server has not seen the request, or has said no.
    pub const fn nothing_made(error: SandboxError) -> Self {
        Self { error, may_exist: false }
    }
}

impl From<SandboxError> for NotCreated {
    /// As long as nobody knows better, one may be there.
    fn from(error: SandboxError) -> Self {
        Self { error, may_exist: true }
    }
}

/// Why a sandbox did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct SandboxError {
    /// Stable code (`SANDBOX_UNAVAILABLE`, `LIMIT_NOT_ENFORCEABLE`, ...).
    pub code: &'static str,
    /// For people; bounded, no secret.
    pub message: String,
    /// Whether the sandbox itself can be used no longer.
    pub sandbox_lost: bool,
}

impl SandboxError {
    /// Code of a call for a file or directory that the server did not do: its permissions, or what lies on the way to it,
    /// do not allow it.
    pub const PATH_NOT_ACCESSIBLE: &str = "PATH_NOT_ACCESSIBLE";
    /// Code of the reading of a file that holds a credential's value.
    pub const SECRET_IN_FILE: &str = "SECRET_IN_FILE";

    /// The image does not have a program that is needed.
    pub fn image_lacks(program: &str) -> Self {
        let image = if program == "chromium" { "vitrine/browser" } else { "vitrine/code" };
        let message = format!(
            "the image of the sandbox profile has no {program} that runs; choose an image that has it, such as {image}"
        );
        Self { code: "spec_refused", message, sandbox_lost: false }
    }
}
