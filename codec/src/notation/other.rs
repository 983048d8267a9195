//! Frames that are no RoCE packets, as lines: MAC control by its fields, the others by their bytes.

use core::fmt;

use super::scope::Scope;
use super::text::{Names, SHORT};
use crate::eth::{Ethernet, MIN_FRAME};
use crate::frame::Frame;
use crate::mac_control::{Control, ETHERTYPE_MAC_CONTROL, MAC_CONTROL_DESTINATION, MacControl, Pfc};

/// Writes the line.
pub(super) fn print(
    f: &mut fmt::Formatter<'_>,
    frame: &Frame<'_>,
    scope: &Scope<'_>,
    names: &Names<'_>,
) -> fmt::Result {
    if let Frame::MacControl(control) = frame {
        return mac_control(f, control, scope, names);
    }
    if let Frame::Other(bytes) = frame
        && let Ok(eth) = Ethernet::read(bytes)
        && eth.ethertype == ETHERTYPE_MAC_CONTROL
    {
        return mac_control(f, &MacControl::read(eth, bytes), scope, names);
    }
    raw(f, frame, names)
}

fn raw(f: &mut fmt::Formatter<'_>, frame: &Frame<'_>, names: &Names<'_>) -> fmt::Result {
    let len = frame.encoded_len();
    f.write_str(if len == 0 { "raw" } else { "raw " })?;
    if names.elided && len > SHORT {
        let mut crc = crc32fast::Hasher::new();
        frame.pieces(&mut |bytes| crc.update(bytes));
        return write!(f, "{len}B~{:08x}", crc.finalize());
    }
    let mut done = Ok(());
    frame.pieces(&mut |bytes| {
        for byte in bytes {
            done = done.and_then(|()| write!(f, "{byte:02x}"));
        }
    });
    done
}

fn mac_control(
    f: &mut fmt::Formatter<'_>,
    frame: &MacControl<'_>,
    scope: &Scope<'_>,
    names: &Names<'_>,
) -> fmt::Result {
    match &frame.control {
        Control::Pause(pause) => write!(f, "PAUSE quanta={}", pause.quanta)?,
        Control::Pfc(pfc) => write_pfc(f, pfc)?,
        Control::Other(bytes) => {
            f.write_str("MAC_CONTROL data=")?;
            names.bytes(f, bytes)?;
        }
    }
    if frame.eth.dst != MAC_CONTROL_DESTINATION {
        write!(f, " eth.dst={}", frame.eth.dst)?;
    }
    if frame.eth.src != scope.base.eth.src {
        write!(f, " eth.src={}", frame.eth.src)?;
    }
    for (tag, name) in frame.eth.tags.iter().zip(["vlan", "vlan2"]) {
        write!(f, " {name}.id={}", tag.tci & 0xfff)?;
        if tag.tci >> 13 != 0 {
            write!(f, " {name}.pcp={}", tag.tci >> 13)?;
        }
        if tag.tci & 0x1000 != 0 {
            write!(f, " {name}.dei")?;
        }
        if tag.tpid != 0x8100 {
            write!(f, " {name}.tpid={:#x}", tag.tpid)?;
        }
    }
    let ordinary = match frame.control {
        Control::Other(_) => 0,
        _ => MIN_FRAME.saturating_sub(frame.len() - frame.padding.len()),
    };
    if frame.padding.len() != ordinary || frame.padding.iter().any(|byte| *byte != 0) {
        f.write_str(" trailer=")?;
        names.bytes(f, frame.padding)?;
    }
    Ok(())
}

fn write_pfc(f: &mut fmt::Formatter<'_>, pfc: &Pfc) -> fmt::Result {
    f.write_str("PFC ")?;
    let priorities = u8::try_from(pfc.vector).ok().filter(|priorities| *priorities != 0);
    match priorities {
        Some(priorities) => {
            let mut between = "prio=";
            for priority in (0..8).filter(|priority| priorities >> priority & 1 == 1) {
                write!(f, "{between}{priority}")?;
                between = ",";
            }
        }
        None => write!(f, "vector={:#x}", pfc.vector)?,
    }
    let low = pfc.vector as u8;
    let quanta = pfc.timers.get(low.trailing_zeros() as usize).copied().unwrap_or(0);
    if pfc.timers == Pfc::new(low, quanta).timers {
        return write!(f, " quanta={quanta}");
    }
    let mut between = " quanta=";
    for timer in pfc.timers {
        write!(f, "{between}{timer}")?;
        between = ",";
    }
    Ok(())
}
