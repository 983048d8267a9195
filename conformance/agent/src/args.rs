//! Command line.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Drives an RDMA device through libibverbs on the orders of rocespec.
///
/// Speaks rocespec's control protocol, one JSON object per line, on a serial port or a TCP socket. One tester at a time;
/// what a tester made is destroyed when it goes. Stops on the command `shutdown`.
#[derive(Debug, clap::Parser)]
#[command(name = "rocespec-agent", version, max_term_width = 120)]
#[command(group = clap::ArgGroup::new("stream").required(true).args(["serial", "virtio", "listen"]))]
#[command(after_help = "Examples:
  rocespec-agent --device rxe0 --virtio control
  rocespec-agent --device mlx5_0 --listen 192.0.2.1:4792 --token \"$(cat token)\"")]
pub(crate) struct Args {
    /// RDMA device, as `rdma link` or `ibv_devices` name it
    #[arg(long, value_name = "NAME")]
    pub(crate) device: String,

    /// Port of the device
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) port: u8,

    /// Speak on this character device
    #[arg(long, value_name = "PATH")]
    pub(crate) serial: Option<PathBuf>,

    /// Speak on the virtio-serial port of this name, as the host called it
    #[arg(long, value_name = "NAME")]
    pub(crate) virtio: Option<String>,

    /// Listen on this address, and on no other
    #[arg(long, value_name = "ADDR:PORT", requires = "token")]
    pub(crate) listen: Option<SocketAddr>,

    /// Secret that a tester must name in its `hello`
    #[arg(long, value_name = "TOKEN", env = "ROCESPEC_TOKEN", hide_env_values = true,
          value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) token: Option<String>,
}
