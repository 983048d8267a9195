//! Byte streams to a device and its agent: unix sockets and TCP.

use std::io::{Read, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connected stream.
#[derive(Debug)]
pub(crate) enum Stream {
    /// A unix socket.
    Unix(UnixStream),
    /// A TCP connection.
    Tcp(TcpStream),
}

impl Stream {
    pub(crate) fn try_clone(&self) -> Result<Stream> {
        match self {
            Stream::Unix(stream) => stream.try_clone().map(Stream::Unix),
            Stream::Tcp(stream) => stream.try_clone().map(Stream::Tcp),
        }
    }

    /// Longest wait of a read. `None` is without end.
    pub(crate) fn set_read_timeout(&self, limit: Option<Duration>) -> Result<()> {
        match self {
            Stream::Unix(stream) => stream.set_read_timeout(limit),
            Stream::Tcp(stream) => stream.set_read_timeout(limit),
        }
    }

    /// Longest wait of a write. `None` is without end.
    pub(crate) fn set_write_timeout(&self, limit: Option<Duration>) -> Result<()> {
        match self {
            Stream::Unix(stream) => stream.set_write_timeout(limit),
            Stream::Tcp(stream) => stream.set_write_timeout(limit),
        }
    }

    /// Ends both directions, also for those who wait.
    pub(crate) fn shutdown(&self) -> Result<()> {
        match self {
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(bytes),
            Stream::Tcp(stream) => stream.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Stream::Unix(stream) => stream.flush(),
            Stream::Tcp(stream) => stream.flush(),
        }
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Stream {
        Stream::Unix(stream)
    }
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Stream {
        // An order is small and its answer is waited for.
        let _ = stream.set_nodelay(true);
        Stream::Tcp(stream)
    }
}
