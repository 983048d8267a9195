//! From names to devices that stand face to face.

use std::net::{Ipv4Addr, Ipv6Addr};

use anyhow::{Context as _, bail};
use rocespec_control::Gid;

use crate::cli::device::{self, Choice};
use crate::dut::{Addresses, Dut, Emulator, nearest_gid, vm};
use crate::link::End;

/// Kinds of devices that can be named.
const KINDS: [&str; 5] = ["emulator", "rxe", "socket", "exec", "nic"];

/// Is this word a device, and no filter?
pub(super) fn is_device(word: &str) -> bool {
    KINDS.contains(&kind(word))
}

fn kind(name: &str) -> &str {
    name.split(':').next().unwrap_or_default()
}

/// What the name says behind its kind.
fn rest(name: &str) -> &str {
    match name.split_once(':') {
        Some((_, rest)) => rest,
        None if name == "rxe" => "6.1",
        None => "",
    }
}

/// Two devices face to face.
pub(super) struct Couple {
    /// As they are named, A first.
    pub(super) names: [String; 2],
    pub(super) ends: [Box<dyn Dut>; 2],
}

/// Addresses of both ends of a wire, A first.
type Places = [Addresses; 2];

/// Starts two devices. Of the two before, the first one stays up where it is named again.
///
/// An emulator takes the addresses that the other one expects; a guest has those of its `guest.toml`, and those of the tester
/// there when it is the second one; any other device has its own.
pub(super) fn start(names: [&str; 2], before: Option<Couple>) -> anyhow::Result<Couple> {
    let kept = before.and_then(|Couple { names: [was, _], ends: [a, b] }| {
        drop(b);
        (was == names[0] && !a.is_virtual()).then_some(a)
    });
    let mut ends = [kept, None];
    let mut places: Option<Places> = None;
    for end in End::BOTH {
        let (place, name) = (end as usize, names[end as usize]);
        let fixed = match kind(name) {
            "emulator" => continue,
            "rxe" => vm::places(rest(name))?,
            _ => {
                let dut = match ends[place].take() {
                    Some(dut) => dut,
                    None => Choice { dut: name.to_owned(), profile: None, qp: None }.start()?,
                };
                let fixed = places_of(&*dut, end)?;
                ends[place] = Some(dut);
                fixed
            }
        };
        if places.as_ref().is_some_and(|other| *other != fixed) {
            bail!("{}", strangers(names, places.as_ref(), &fixed));
        }
        places = Some(fixed);
    }
    let places = places.unwrap_or_else(Emulator::places);
    let [a, b] = ends;
    let a = a.map_or_else(|| begin(names[0], End::A, &places), Ok)?;
    let b = b.map_or_else(|| begin(names[1], End::B, &places), Ok)?;
    Ok(Couple { names: names.map(str::to_owned), ends: [a, b] })
}

/// Starts an emulator or a guest at this end.
fn begin(name: &str, end: End, places: &Places) -> anyhow::Result<Box<dyn Dut>> {
    if kind(name) == "emulator" {
        let emulator = Emulator::named(rest(name), device::built_in("emulator")?)?;
        return Ok(Box::new(emulator.facing(&places[end as usize], places[end.other() as usize].clone())));
    }
    let (guest, profile) = (rest(name), Choice::rxe_profile(rest(name))?);
    Ok(Box::new(match end {
        End::A => vm::start(guest, profile)?,
        End::B => vm::start_as_tester(guest, profile)?,
    }))
}

/// The ends of the wire as a device has them: its own addresses, and those of the tester that it expects.
fn places_of(dut: &dyn Dut, end: End) -> anyhow::Result<Places> {
    let (device, tester) = (dut.device(), dut.tester());
    let v4 = |gid: &Gid| gid.gid.to_ipv4_mapped();
    let own = Addresses {
        mac: device.mac.parse().ok().with_context(|| format!("{:?} is no MAC address", device.mac))?,
        v4: nearest_gid(device, tester.v4.to_ipv6_mapped(), |gid| v4(gid).is_some())
            .and_then(v4)
            .unwrap_or(Ipv4Addr::UNSPECIFIED),
        v6: nearest_gid(device, tester.v6, |gid| v4(gid).is_none()).map_or(Ipv6Addr::UNSPECIFIED, |gid| gid.gid),
    };
    Ok(match end {
        End::A => [own, tester.clone()],
        End::B => [tester.clone(), own],
    })
}

/// Why two devices cannot meet.
fn strangers(names: [&str; 2], one: Option<&Places>, other: &Places) -> String {
    let told = |places: &Places| {
        let [a, b] = places.each_ref().map(|Addresses { mac, v4, v6 }| format!("{mac}, {v4}, {v6}"));
        format!("A at {a} and B at {b}")
    };
    format!(
        "{} and {} do not expect each other: the first wants {}, the second {}; give each the addresses of the other for \
         those of the tester",
        names[0],
        names[1],
        one.map(told).unwrap_or_default(),
        told(other)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_name_a_kind_are_devices_and_others_are_filters() {
        for device in ["emulator", "emulator:credits-on", "rxe", "rxe:6.1", "exec:python3 x.py", "nic:eth0,agent=h:1"] {
            assert!(is_device(device), "{device}");
        }
        for filter in ["pair/loss", "loss", "rc/requester", "emulators"] {
            assert!(!is_device(filter), "{filter}");
        }
    }

    #[test]
    fn two_emulators_stand_where_the_other_one_looks_for_them() {
        let Couple { ends: [a, b], .. } = start(["emulator", "emulator:credits-on"], None).unwrap();
        let [place_a, place_b] = Emulator::places();
        assert_eq!((a.tester(), b.tester()), (&place_b, &place_a));
        assert_eq!((&a.device().mac, &b.device().mac), (&place_a.mac.to_string(), &place_b.mac.to_string()));
        assert_eq!(places_of(&*a, End::A).unwrap(), [place_a.clone(), place_b.clone()]);
        assert_eq!(places_of(&*b, End::B).unwrap(), [place_a, place_b]);
    }

    #[test]
    fn what_cannot_be_had_says_what_to_do() {
        let error = |names| start(names, None).err().unwrap().to_string();
        assert!(error(["emulator", "rxe:0.0-none"]).contains("cargo xtask rxe 0.0-none"));
        assert!(error(["emulator:no-such-thing", "emulator"]).contains("rocespec defects"));
    }
}
