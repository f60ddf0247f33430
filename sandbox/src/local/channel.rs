//! The runtime's side of the control socket: it opens operations inside a sandbox.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::Mode;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg, sockopt,
};
use rustix::pipe::{PipeFlags, pipe_with};
use serde_json::Value;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, UnixStream};

use super::error::ApiError;
use super::protocol::{self, OPEN, READY, Reply, Request};

/// The control socket of one sandbox.
pub struct Channel {
    control: UnixStream,
    /// Words that the init has yet to answer; one that nobody waits for any more is answered all the same.
    unanswered: AtomicUsize,
}

impl Channel {
    pub fn new(control: std::os::unix::net::UnixStream) -> io::Result<Self> {
        control.set_nonblocking(true)?;
        Ok(Self { control: UnixStream::from_std(control)?, unanswered: AtomicUsize::new(0) })
    }

    /// Returns when the init has said that it is ready; an error means that it will never be.
    pub async fn ready(&mut self) -> io::Result<()> {
        match self.control.read_u8().await? {
            READY => Ok(()),
            other => Err(io::Error::other(format!("unexpected first byte {other}"))),
        }
    }

    /// The same for a sandbox with a way out: its listening socket comes along.
    pub async fn ready_with_listener(&mut self, port: u16) -> io::Result<TcpListener> {
        let receive = || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let mut byte = [0];
            let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
            let received = recvmsg(&self.control, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags)?;
            let rights = ancillary.drain().find_map(|message| match message {
                RecvAncillaryMessage::ScmRights(mut rights) => rights.next(),
                _ => None,
            });
            Ok((received.bytes, byte[0], rights))
        };
        match self.control.async_io(Interest::READABLE, receive).await? {
            (1, READY, Some(listener)) => checked_listener(listener, port),
            _ => Err(io::Error::other("the init did not hand over a listening socket")),
        }
    }

    /// Tells the init a word and returns when it has done it. One at a time. When this is given up meanwhile, the init
    /// does it later all the same.
    pub async fn tell(&self, word: u8) -> io::Result<()> {
        self.send_word(word).await?;
        // It answers in the order of the words, so the last answer is that to this one.
        while self.unanswered.load(Ordering::Acquire) > 0 {
            let receive = || {
                let mut answer = [0];
                let (received, _) = rustix::net::recv(&self.control, &mut answer, RecvFlags::DONTWAIT)?;
                if (received, answer) != (1, [READY]) {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                self.unanswered.fetch_sub(1, Ordering::AcqRel);
                Ok(())
            };
            self.control.async_io(Interest::READABLE, receive).await?;
        }
        Ok(())
    }

    /// Tells the init a word, whose answer the next [`Self::tell`] waits for.
    pub async fn send_word(&self, word: u8) -> io::Result<()> {
        let send = || {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            rustix::net::send(&self.control, &[word], flags)?;
            self.unanswered.fetch_add(1, Ordering::AcqRel);
            Ok(())
        };
        self.control.async_io(Interest::WRITABLE, send).await
    }

    /// Opens an operation and sends its request.
    pub async fn open(&self, request: &Request) -> io::Result<UnixStream> {
        self.hand_over(request, &[]).await
    }

    /// Carries out an operation that has one answer.
    pub async fn ask(&self, request: &Request) -> Result<Value, ApiError> {
        let mut operation = self.open(request).await?;
        answer(&mut operation).await
    }

    /// Opens a command that writes its standard output and error into these.
    pub async fn execute(&self, request: &Request, output: &[OwnedFd; 2]) -> io::Result<UnixStream> {
        self.hand_over(request, output).await
    }

    async fn hand_over(&self, request: &Request, pipes: &[OwnedFd]) -> io::Result<UnixStream> {
        let (own, inner) = std::os::unix::net::UnixStream::pair()?;
        own.set_nonblocking(true)?;
        let mut own = UnixStream::from_std(own)?;
        let descriptors: Vec<_> = std::iter::once(inner.as_fd()).chain(pipes.iter().map(AsFd::as_fd)).collect();
        let send = || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            sendmsg(&self.control, &[IoSlice::new(&[OPEN])], &mut ancillary, flags).map_err(io::Error::from)
        };
        self.control.async_io(Interest::WRITABLE, send).await?;
        drop(inner);
        // A helper that could not be started answers without reading; its answer tells more than this error.
        let _ = protocol::send(&mut own, request).await;
        Ok(own)
    }
}

/// A pipe for the output of a command, which holds its end for writing alone once that was handed over and dropped here.
pub fn output_pipe() -> io::Result<(pipe::Receiver, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    // The command has another user id and may open its own output again, as /dev/stderr.
    rustix::fs::fchmod(&writer, Mode::from_raw_mode(0o666))?;
    Ok((pipe::Receiver::from_owned_fd(reader)?, writer))
}

fn checked_listener(descriptor: OwnedFd, port: u16) -> io::Result<TcpListener> {
    let is_listening = sockopt::socket_acceptconn(&descriptor)?;
    let listener = std::net::TcpListener::from(descriptor);
    let expected = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    if !is_listening || listener.local_addr()? != expected {
        return Err(io::Error::other("the init handed over another socket than it should"));
    }
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// Reads the one answer of an operation.
pub async fn answer(operation: &mut UnixStream) -> Result<Value, ApiError> {
    match protocol::receive::<Reply>(operation).await? {
        Reply::Done { value } => Ok(value),
        Reply::Failed(failure) => Err(ApiError::from_failure(failure)),
        Reply::Started { .. } | Reply::Exited(_) => Err(ApiError::runtime("unexpected answer")),
    }
}
