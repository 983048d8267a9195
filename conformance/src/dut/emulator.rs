//! The built-in emulator: the reference model as a device, in virtual time.

mod control;
mod notifications;
mod objects;
mod port;
mod translate;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use rocespec_codec::{MacAddr, Mtu, Qpn};
use rocespec_control::{Command, Device, Gid, GidKind, Reply, VERSION};
use rocespec_model::{
    Capabilities, Config, CreditUse, Defect, Defects, Endpoint, GidEntry, Input, Output, Policy, Time,
};

use self::control::Software;
use super::{Addresses, Dut, DutError, Stamped};
use crate::profile::Profile;

/// Time that a frame takes from one end of the wire to the other.
const LATENCY: Duration = Duration::from_micros(1);

const DEVICE: Addresses = Addresses {
    mac: MacAddr([0x02, 0, 0, 0, 0, 0x02]),
    v4: Ipv4Addr::new(10, 0, 0, 2),
    v6: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
};
const TESTER: Addresses = Addresses {
    mac: MacAddr([0x02, 0, 0, 0, 0, 0x01]),
    v4: Ipv4Addr::new(10, 0, 0, 1),
    v6: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
};

/// The emulator behind the [`Dut`] trait.
pub struct Emulator {
    endpoint: Endpoint,
    config: Config,
    now: Time,
    profile: Profile,
    device: Device,
    software: Software,
    /// Who is at the other end of the wire.
    tester: Addresses,
    /// Time that a frame takes from there.
    latency: Duration,
}

/// Packets on their way at once that the capability `pipeline` stands for.
const PIPELINE: u32 = 16;

/// A name that is neither a defect nor a policy of the emulator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the emulator has no defect or policy {name:?}; `rocespec defects` lists them")]
pub struct NoSuchBehaviour {
    /// The name.
    pub name: String,
}

impl Emulator {
    /// An emulator with the behaviours named: defects and at most one policy, separated by commas. An empty text is the
    /// conforming emulator with its plain policy.
    ///
    /// # Errors
    /// A name that is unknown.
    pub fn named(behaviours: &str, profile: Profile) -> Result<Emulator, NoSuchBehaviour> {
        let (policy, defects) = Emulator::behaviours(behaviours)?;
        Ok(Emulator::new(policy, defects, profile))
    }

    /// What [`Emulator::named`] makes of such names.
    ///
    /// # Errors
    /// A name that is unknown.
    pub fn behaviours(behaviours: &str) -> Result<(Policy, Defects), NoSuchBehaviour> {
        let mut defects = Defects::NONE;
        let mut policy = Policy::default();
        for name in behaviours.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match (Defect::from_name(name), Policy::named(name)) {
                (Some(defect), _) => defects = defects.with(defect),
                (None, Some(preset)) => policy = preset,
                (None, None) => return Err(NoSuchBehaviour { name: name.to_owned() }),
            }
        }
        Ok((policy, defects))
    }

    /// An emulator with this policy and these defects.
    pub fn new(policy: Policy, defects: Defects, mut profile: Profile) -> Emulator {
        if policy.credit_use == CreditUse::Kept {
            profile.capabilities.push("credits".to_owned());
        }
        if policy.window >= PIPELINE {
            profile.capabilities.push("pipeline".to_owned());
        }
        let config = Config {
            first_qpn: Qpn::new(0x11),
            policy,
            defects,
            link_speed: profile.link_speed(),
            congestion: port::congestion(&profile),
            pause: port::flow_control(&profile, &[]),
            ..Config::default()
        };
        Emulator::standing(&DEVICE, TESTER, LATENCY, config, profile)
    }

    /// The conforming model at the tester's end of the wire to another device: its peer. It takes what comes at once and
    /// answers at once; its time is that of the device.
    pub(crate) fn peer(here: &Addresses, device: Addresses, qpn: Qpn, profile: Profile) -> Emulator {
        let config = Config { first_qpn: qpn, response_delay: Duration::ZERO, ..Config::default() };
        Emulator::standing(here, device, Duration::ZERO, config, profile)
    }

    /// This emulator, as new, at one place of a wire to another device. What a frame takes on its way is up to the wire.
    #[must_use]
    pub fn facing(self, here: &Addresses, there: Addresses) -> Emulator {
        Emulator::standing(here, there, Duration::ZERO, self.config, self.profile)
    }

    /// This emulator, as new, at a port whose path MTU is at most this.
    #[must_use]
    pub fn with_port_mtu(self, mtu: Mtu) -> Emulator {
        let config = Config { port_mtu: mtu, ..self.config };
        let device = Device { active_mtu: mtu.bytes() as u32, ..self.device };
        Emulator::switched_on(config, self.profile, device, self.tester, self.latency)
    }

    /// Addresses of the place where it stands when nobody says otherwise, and of the place at the other end.
    pub const fn places() -> [Addresses; 2] {
        [DEVICE, TESTER]
    }

    /// Learns where a neighbour is.
    pub(crate) fn meet(&mut self, gid: Ipv6Addr, mac: MacAddr) {
        self.endpoint.add_neighbour(gid, mac);
    }

    fn standing(here: &Addresses, tester: Addresses, latency: Duration, config: Config, profile: Profile) -> Emulator {
        let gids = vec![
            GidEntry { gid: here.v4.to_ipv6_mapped(), kind: rocespec_model::GidKind::RoceV2 },
            GidEntry { gid: here.v6, kind: rocespec_model::GidKind::RoceV2 },
            GidEntry { gid: here.v6, kind: rocespec_model::GidKind::RoceV1 },
        ];
        let named = |(index, entry): (usize, &GidEntry)| Gid {
            index: index as u8,
            gid: entry.gid,
            kind: match entry.kind {
                rocespec_model::GidKind::RoceV1 => GidKind::RoceV1,
                rocespec_model::GidKind::RoceV2 => GidKind::RoceV2,
            },
        };
        let version = env!("CARGO_PKG_VERSION");
        let device = Device {
            version: VERSION,
            agent: format!("rocespec {version}"),
            name: "emulator".to_owned(),
            system: format!("rocespec-model {version}"),
            mac: here.mac.to_string(),
            active_mtu: config.port_mtu.bytes() as u32,
            gids: gids.iter().enumerate().map(named).collect(),
            capabilities: profile.capabilities.clone(),
        };
        let capabilities = Capabilities { flush: true, atomic_write: true };
        let config = Config { mac: here.mac, gids, capabilities, ..config };
        Emulator::switched_on(config, profile, device, tester, latency)
    }

    fn switched_on(config: Config, profile: Profile, device: Device, tester: Addresses, latency: Duration) -> Emulator {
        let endpoint = boot(&config, &tester);
        let software = Software::default();
        Emulator { endpoint, config, now: Time::ZERO, profile, device, software, tester, latency }
    }
}

fn boot(config: &Config, tester: &Addresses) -> Endpoint {
    let mut endpoint = Endpoint::new(config.clone());
    endpoint.add_neighbour(tester.v4.to_ipv6_mapped(), tester.mac);
    endpoint.add_neighbour(tester.v6, tester.mac);
    endpoint
}

impl Dut for Emulator {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn prepare(&mut self, needs: &[String]) {
        self.endpoint.set_flow_control(port::flow_control(&self.profile, needs));
    }

    fn control(&mut self, command: &Command) -> Result<Reply, DutError> {
        Ok(control::carry_out(&mut self.endpoint, &self.device, &mut self.software, command)?)
    }

    fn transmit(&mut self, frame: &[u8]) -> Result<(), DutError> {
        self.now = self.now + self.latency;
        self.endpoint.handle(self.now, Input::Frame(frame));
        Ok(())
    }

    fn advance(&mut self, until: Time, seen: &mut dyn FnMut(Stamped<'_>)) -> Result<Time, DutError> {
        loop {
            let mut any = false;
            while let Some(output) = self.endpoint.poll_output(self.now) {
                match output {
                    Output::Frame(frame) => {
                        any = true;
                        seen(Stamped { time: self.now, frame: &frame });
                    }
                    Output::Event(event) => self.software.note(event),
                }
            }
            match self.endpoint.next_timeout().filter(|next| *next <= until) {
                _ if any => return Ok(self.now),
                Some(next) => {
                    self.now = self.now.max(next);
                    self.endpoint.handle(self.now, Input::Timeout);
                }
                None if self.now >= until => return Ok(self.now),
                None => self.now = until,
            }
        }
    }

    fn now(&self) -> Time {
        self.now
    }

    fn is_virtual(&self) -> bool {
        true
    }

    fn next_timeout(&self) -> Option<Time> {
        self.endpoint.next_timeout()
    }

    fn tester(&self) -> &Addresses {
        &self.tester
    }

    /// Its clock begins anew as well: nothing tells it from one that was never used.
    fn restart(&mut self) -> Result<(), DutError> {
        self.endpoint = boot(&self.config, &self.tester);
        self.software = Software::default();
        self.now = Time::ZERO;
        Ok(())
    }

    fn twin(&self) -> Option<Box<dyn Dut>> {
        let (config, profile, device) = (self.config.clone(), self.profile.clone(), self.device.clone());
        Some(Box::new(Emulator::switched_on(config, profile, device, self.tester.clone(), self.latency)))
    }
}
