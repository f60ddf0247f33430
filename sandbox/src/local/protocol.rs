//! The protocol between the runtime and `sandbox-init`: one socket pair per operation, length-prefixed frames on it.
//!
//! The runtime keeps a control socket to the init. To start an operation it sends one byte on it, together with one
//! end of a fresh socket pair, and for a command also the write ends of its output pipes. The init forks a helper
//! for each, so an operation that hangs, dies or is stalled by its reader disturbs no other, and back-pressure is
//! the kernel's own. Descriptors travel inwards only; what comes out of a sandbox is bytes. There is one exception:
//! the listening socket of the way out comes with the very first byte, before any code of the sandbox has run.
//!
//! A frame is a big-endian `u32` and as many bytes. The first frame on an operation's socket is a [`Request`], every
//! answer a [`Reply`]. A download's bytes follow raw after its reply; an upload's come as frames, an empty one last.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The byte by which the init says that the sandbox is ready.
pub const READY: u8 = b'H';
/// The byte that carries the descriptors of a new operation.
pub const OPEN: u8 = b'O';
/// The byte that stops every process but the init, and the one that lets them go on. Each is answered by [`READY`].
pub const STOP: u8 = b'S';
pub const GO_ON: u8 = b'G';
/// Longer frames are refused on both sides.
pub const MAX_FRAME_BYTES: usize = 16 * 1024 * 1024;
/// The subcommand under which this program is the first process of a sandbox.
pub const INIT_SUBCOMMAND: &str = "sandbox-init";

/// What the init is told when it starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InitOrder {
    pub limits: InitLimits,
    /// The port on the sandbox's own loopback whose listening socket the init hands over; none without a way out.
    pub proxy_port: Option<u16>,
    /// What the init watches over itself; `None` where the kernel does.
    pub memory: Option<MemoryLimits>,
}

/// How much the processes of a sandbox may hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MemoryLimits {
    /// Memory of their own, all processes together.
    pub memory_bytes: u64,
    /// The size of the storage, whose pages they may map.
    pub storage_bytes: u64,
}

/// Limits that the init puts on itself, and so on everything it starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InitLimits {
    pub open_files: u64,
    pub file_bytes: u64,
    pub processes: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Request {
    Execute(Execute),
    Info { paths: Vec<String> },
    Search { path: String, pattern: String },
    List { path: String, depth: u32 },
    MakeDirectories { entries: BTreeMap<String, Access> },
    RemoveDirectories { paths: Vec<String> },
    RemoveFiles { paths: Vec<String> },
    Move { moves: Vec<Move> },
    Permissions { entries: BTreeMap<String, Access> },
    Replace { entries: BTreeMap<String, Replacement> },
    Read { path: String, lines: Option<Lines> },
    Write { path: String, access: Access },
    Usage { sample_ms: u64 },
}

/// A command to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Execute {
    pub program: Program,
    pub cwd: Option<String>,
    pub create_cwd: bool,
    pub env: BTreeMap<String, String>,
    pub timeout_ms: Option<u64>,
    /// Kill the command's process group when its leader ends.
    pub end_group_with_leader: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// Text for bash, or for sh in an image without bash.
    Shell(String),
    Argv(Vec<String>),
}

/// Lines of a text file, counted from 1.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Lines {
    pub first: u64,
    pub most: Option<u64>,
}

/// Mode (decimal digits that read as octal; 0 leaves it) and owner of a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Access {
    pub mode: Option<u32>,
    pub owner: Option<String>,
    pub group: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Move {
    pub src: String,
    pub dest: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Replacement {
    pub old: String,
    pub new: String,
}

/// What the runtime may say after the request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum FollowUp {
    /// SIGTERM, and SIGKILL after the grace time.
    Interrupt,
    /// SIGKILL at once.
    Kill,
    /// Sends this part of the opened file.
    Range { offset: u64, length: u64 },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    Started { pid: u32 },
    Exited(Exit),
    Done { value: serde_json::Value },
    Failed(Failure),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Processes of the command outlived every attempt to kill them.
    pub survivors: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
}

/// Why an operation failed, as far as the caller's status code depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    NotFound,
    Invalid,
    WorkingDirectory,
    Spawn,
    Other,
}

pub fn write_frame(writer: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    writer.write_all(&header(body.len())?)?;
    writer.write_all(&body)
}

pub fn read_frame<T: DeserializeOwned>(reader: &mut impl Read) -> io::Result<T> {
    Ok(serde_json::from_slice(&read_bytes(reader)?)?)
}

pub fn read_bytes(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    reader.read_exact(&mut length)?;
    let mut body = vec![0; checked(length)?];
    reader.read_exact(&mut body)?;
    Ok(body)
}

pub async fn send(writer: &mut (impl AsyncWriteExt + Unpin), message: &impl Serialize) -> io::Result<()> {
    send_bytes(writer, &serde_json::to_vec(message)?).await
}

pub async fn send_bytes(writer: &mut (impl AsyncWriteExt + Unpin), body: &[u8]) -> io::Result<()> {
    writer.write_all(&header(body.len())?).await?;
    writer.write_all(body).await
}

pub async fn receive<T: DeserializeOwned>(reader: &mut (impl AsyncReadExt + Unpin)) -> io::Result<T> {
    let mut length = [0; 4];
    reader.read_exact(&mut length).await?;
    let mut body = vec![0; checked(length)?];
    reader.read_exact(&mut body).await?;
    Ok(serde_json::from_slice(&body)?)
}

fn header(length: usize) -> io::Result<[u8; 4]> {
    match u32::try_from(length) {
        Ok(short) if length <= MAX_FRAME_BYTES => Ok(short.to_be_bytes()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "frame too long")),
    }
}

fn checked(length: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_FRAME_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "frame too long"));
    }
    Ok(length)
}
