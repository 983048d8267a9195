//! Every layer by the names of its fields, for dumps and comparisons.

use super::{FIELDS, Kind, Value};
use crate::arp::Arp;
use crate::datagram::Datagram;
use crate::eth::Ethernet;
use crate::frame::{Frame, Roce};
use crate::lldp::{Cee, CeeFeature, Dcbx, Ets, Lldp, Tlv, TlvValue};
use crate::mac_control::{Control, MacControl};
use crate::mad::{IpCm, Mad, MadField, Message};
use crate::nd::Neighbor;
use crate::net::Net;
use crate::udp::Udp;

/// What is called for each field: its name, what its values are, and its value.
pub type Visit<'v> = dyn FnMut(&'static str, Kind, Value<'_>) + 'v;

/// A layer, or a frame, whose fields have names.
///
/// Fields come in a fixed order. A name comes once, but for the entries of DCBX tables, which come one after the other.
pub trait Walk {
    /// Calls `visit` for each field.
    fn walk(&self, visit: &mut Visit<'_>);
}

fn uint(visit: &mut Visit<'_>, name: &'static str, kind: Kind, value: impl Into<u64>) {
    visit(name, kind, Value::Uint(value.into()));
}

impl Walk for Frame<'_> {
    /// TLVs of LLDP are walked one by one, see [`Lldp::tlvs`]. A frame that cannot be read has one field, `raw`.
    fn walk(&self, visit: &mut Visit<'_>) {
        match self {
            Frame::Roce(packet) => packet.walk(visit),
            Frame::MacControl(control) => control.walk(visit),
            Frame::Arp(arp) => arp.walk(visit),
            Frame::Neighbor(neighbor) => neighbor.walk(visit),
            Frame::Lldp(lldp) => lldp.walk(visit),
            Frame::Datagram(datagram) => datagram.walk(visit),
            Frame::Usnic(bytes) | Frame::Other(bytes) => visit("raw", Kind::Bytes, Value::Bytes(bytes)),
        }
    }
}

impl Walk for Roce<'_> {
    fn walk(&self, visit: &mut Visit<'_>) {
        for field in FIELDS {
            if let Some(value) = (field.get)(self) {
                visit(field.name, field.kind, value);
            }
        }
    }
}

impl Walk for Ethernet {
    fn walk(&self, visit: &mut Visit<'_>) {
        const TAGS: [[&str; 4]; 2] =
            [["vlan.id", "vlan.pcp", "vlan.dei", "vlan.tpid"], ["vlan2.id", "vlan2.pcp", "vlan2.dei", "vlan2.tpid"]];
        visit("eth.dst", Kind::Mac, Value::Mac(self.dst));
        visit("eth.src", Kind::Mac, Value::Mac(self.src));
        for (tag, [id, pcp, dei, tpid]) in self.tags.iter().zip(TAGS) {
            uint(visit, id, Kind::Decimal(12), tag.tci & 0xfff);
            uint(visit, pcp, Kind::Decimal(3), tag.tci >> 13);
            uint(visit, dei, Kind::Flag, tag.tci >> 12 & 1);
            uint(visit, tpid, Kind::Hex(16), tag.tpid);
        }
        uint(visit, "eth.type", Kind::Hex(16), self.ethertype);
    }
}

impl Walk for Net<'_> {
    fn walk(&self, visit: &mut Visit<'_>) {
        match self {
            Net::V4(ip) => {
                visit("ip.src", Kind::Address, Value::V4(ip.src));
                visit("ip.dst", Kind::Address, Value::V4(ip.dst));
                uint(visit, "ip.version", Kind::Decimal(4), ip.version);
                uint(visit, "ip.dscp", Kind::Decimal(6), ip.tos >> 2);
                uint(visit, "ip.ecn", Kind::Ecn, ip.tos & 3);
                uint(visit, "ip.ttl", Kind::Decimal(8), ip.ttl);
                uint(visit, "ip.proto", Kind::Decimal(8), ip.protocol);
                uint(visit, "ip.id", Kind::Hex(16), ip.id);
                uint(visit, "ip.reserved", Kind::Flag, ip.flags_offset >> 15);
                uint(visit, "ip.df", Kind::Flag, ip.flags_offset >> 14 & 1);
                uint(visit, "ip.mf", Kind::Flag, ip.flags_offset >> 13 & 1);
                uint(visit, "ip.offset", Kind::Decimal(13), ip.flags_offset & 0x1fff);
                visit("ip.options", Kind::Bytes, Value::Bytes(ip.options));
                uint(visit, "ip.ihl", Kind::Decimal(4), ip.ihl);
                uint(visit, "ip.len", Kind::Decimal(16), ip.total_len);
                uint(visit, "ip.checksum", Kind::Hex(16), ip.checksum);
            }
            Net::V6(ip) | Net::Grh(ip) => {
                visit("ip.src", Kind::Address, Value::V6(ip.src));
                visit("ip.dst", Kind::Address, Value::V6(ip.dst));
                uint(visit, "ip.version", Kind::Decimal(4), ip.version);
                uint(visit, "ip.dscp", Kind::Decimal(6), ip.traffic_class >> 2);
                uint(visit, "ip.ecn", Kind::Ecn, ip.traffic_class & 3);
                uint(visit, "ip.ttl", Kind::Decimal(8), ip.hop_limit);
                uint(visit, "ip.proto", Kind::Decimal(8), ip.next_header);
                uint(visit, "ip.flow", Kind::Hex(20), ip.flow_label);
                uint(visit, "ip.len", Kind::Decimal(16), ip.payload_len);
            }
        }
    }
}

impl Walk for Udp {
    fn walk(&self, visit: &mut Visit<'_>) {
        uint(visit, "udp.sport", Kind::Decimal(16), self.sport);
        uint(visit, "udp.dport", Kind::Decimal(16), self.dport);
        uint(visit, "udp.len", Kind::Decimal(16), self.len);
        uint(visit, "udp.checksum", Kind::Hex(16), self.checksum);
    }
}

impl Walk for MacControl<'_> {
    fn walk(&self, visit: &mut Visit<'_>) {
        const TIMERS: [&str; 8] =
            ["quanta0", "quanta1", "quanta2", "quanta3", "quanta4", "quanta5", "quanta6", "quanta7"];
        self.eth.walk(visit);
        if let Some(opcode) = self.control.opcode() {
            uint(visit, "opcode", Kind::Hex(16), opcode);
        }
        match self.control {
            Control::Pause(pause) => uint(visit, "quanta", Kind::Decimal(16), pause.quanta),
            Control::Pfc(pfc) => {
                uint(visit, "vector", Kind::Hex(16), pfc.vector);
                for (name, timer) in TIMERS.into_iter().zip(pfc.timers) {
                    uint(visit, name, Kind::Decimal(16), timer);
                }
            }
            Control::Other(bytes) => visit("data", Kind::Bytes, Value::Bytes(bytes)),
        }
        visit("trailer", Kind::Bytes, Value::Bytes(self.padding));
    }
}

impl Walk for Arp<'_> {
    fn walk(&self, visit: &mut Visit<'_>) {
        self.eth.walk(visit);
        uint(visit, "operation", Kind::Decimal(16), self.operation);
        visit("sender_mac", Kind::Mac, Value::Mac(self.sender_mac));
        visit("sender_ip", Kind::Address, Value::V4(self.sender_ip));
        visit("target_mac", Kind::Mac, Value::Mac(self.target_mac));
        visit("target_ip", Kind::Address, Value::V4(self.target_ip));
        visit("trailer", Kind::Bytes, Value::Bytes(self.trailer));
    }
}

impl Walk for Neighbor<'_> {
    fn walk(&self, visit: &mut Visit<'_>) {
        self.eth.walk(visit);
        Net::V6(self.ip).walk(visit);
        uint(visit, "type", Kind::Decimal(8), self.message as u8);
        uint(visit, "code", Kind::Decimal(8), self.code);
        uint(visit, "checksum", Kind::Hex(16), self.checksum);
        uint(visit, "flags", Kind::Hex(32), self.flags);
        visit("target", Kind::Address, Value::V6(self.target));
        if let Some(link) = self.link {
            uint(visit, "link.kind", Kind::Decimal(8), link.kind);
            visit("link.mac", Kind::Mac, Value::Mac(link.mac));
        }
        visit("options", Kind::Bytes, Value::Bytes(self.options));
        visit("trailer", Kind::Bytes, Value::Bytes(self.trailer));
    }
}

impl Walk for Datagram<'_> {
    fn walk(&self, visit: &mut Visit<'_>) {
        self.eth.walk(visit);
        self.net.walk(visit);
        if let Some(fragment) = self.fragment {
            uint(visit, "fragment.offset", Kind::Decimal(16), fragment.offset as u64);
            uint(visit, "fragment.more", Kind::Flag, fragment.more);
            uint(visit, "fragment.id", Kind::Hex(32), fragment.id);
        }
        if let Some(udp) = self.udp {
            udp.walk(visit);
        }
        visit("data", Kind::Bytes, Value::Bytes(self.payload));
    }
}

impl Walk for Lldp<'_> {
    /// The Ethernet header alone: each [`Tlv`] is walked on its own.
    fn walk(&self, visit: &mut Visit<'_>) {
        self.eth.walk(visit);
    }
}

impl Walk for Tlv<'_> {
    fn walk(&self, visit: &mut Visit<'_>) {
        uint(visit, "type", Kind::Decimal(7), self.kind);
        if let Some(dcbx) = self.dcbx() {
            return dcbx.walk(visit);
        }
        match self.read() {
            TlvValue::End => {}
            TlvValue::ChassisId { subtype, id } | TlvValue::PortId { subtype, id } => {
                uint(visit, "subtype", Kind::Decimal(8), subtype);
                visit("id", Kind::Bytes, Value::Bytes(id));
            }
            TlvValue::TimeToLive(seconds) => uint(visit, "seconds", Kind::Decimal(16), seconds),
            TlvValue::Capabilities { able, enabled } => {
                uint(visit, "able", Kind::Hex(16), able);
                uint(visit, "enabled", Kind::Hex(16), enabled);
            }
            TlvValue::Organization { oui, subtype, info } => {
                visit("oui", Kind::Bytes, Value::Bytes(&oui));
                uint(visit, "subtype", Kind::Decimal(8), subtype);
                visit("info", Kind::Bytes, Value::Bytes(info));
            }
            TlvValue::PortDescription(value)
            | TlvValue::SystemName(value)
            | TlvValue::SystemDescription(value)
            | TlvValue::ManagementAddress(value)
            | TlvValue::Other(value) => visit("value", Kind::Bytes, Value::Bytes(value)),
        }
    }
}

impl Walk for Ets {
    fn walk(&self, visit: &mut Visit<'_>) {
        uint(visit, "ets.flags", Kind::Hex(8), self.flags);
        visit("ets.classes", Kind::Bytes, Value::Bytes(&self.classes));
        visit("ets.bandwidth", Kind::Bytes, Value::Bytes(&self.bandwidth));
        visit("ets.selection", Kind::Bytes, Value::Bytes(&self.selection));
    }
}

impl Walk for Dcbx<'_> {
    /// What a CEE TLV holds that cannot be read is left out.
    fn walk(&self, visit: &mut Visit<'_>) {
        match self {
            Dcbx::EtsConfiguration(ets) | Dcbx::EtsRecommendation(ets) => {
                let is_recommended = matches!(self, Dcbx::EtsRecommendation(_));
                uint(visit, "ets.recommendation", Kind::Flag, is_recommended);
                ets.walk(visit);
            }
            Dcbx::Pfc(pfc) => {
                uint(visit, "pfc.willing", Kind::Flag, pfc.willing);
                uint(visit, "pfc.mbc", Kind::Flag, pfc.mbc);
                uint(visit, "pfc.resv", Kind::Hex(2), pfc.reserved);
                uint(visit, "pfc.capability", Kind::Decimal(4), pfc.capability);
                uint(visit, "pfc.enabled", Kind::Hex(8), pfc.enabled);
            }
            Dcbx::Applications(table) => {
                uint(visit, "app.resv", Kind::Hex(8), table.reserved);
                for application in table.iter() {
                    uint(visit, "app.priority", Kind::Decimal(3), application.priority);
                    uint(visit, "app.selector", Kind::Decimal(3), application.selector.0);
                    uint(visit, "app.protocol", Kind::Hex(16), application.protocol);
                }
            }
            Dcbx::Cee(inside) => inside.clone().filter_map(Result::ok).for_each(|cee| cee.walk(visit)),
        }
    }
}

impl Walk for CeeFeature {
    fn walk(&self, visit: &mut Visit<'_>) {
        uint(visit, "cee.version", Kind::Decimal(8), self.operating_version);
        uint(visit, "cee.max_version", Kind::Decimal(8), self.max_version);
        uint(visit, "cee.flags", Kind::Hex(8), self.flags);
        uint(visit, "cee.subtype", Kind::Decimal(8), self.subtype);
    }
}

impl Walk for Cee<'_> {
    fn walk(&self, visit: &mut Visit<'_>) {
        match self {
            Cee::Control { operating_version, max_version, sequence, acknowledged } => {
                uint(visit, "cee.version", Kind::Decimal(8), *operating_version);
                uint(visit, "cee.max_version", Kind::Decimal(8), *max_version);
                uint(visit, "cee.sequence", Kind::Decimal(32), *sequence);
                uint(visit, "cee.acknowledged", Kind::Decimal(32), *acknowledged);
            }
            Cee::PriorityGroups(feature, groups) => {
                feature.walk(visit);
                visit("cee.groups", Kind::Bytes, Value::Bytes(&groups.groups));
                visit("cee.bandwidth", Kind::Bytes, Value::Bytes(&groups.bandwidth));
                uint(visit, "cee.classes", Kind::Decimal(8), groups.classes);
            }
            Cee::Pfc { feature, enabled, capability } => {
                feature.walk(visit);
                uint(visit, "cee.pfc.enabled", Kind::Hex(8), *enabled);
                uint(visit, "cee.pfc.capability", Kind::Decimal(8), *capability);
            }
            Cee::Applications(feature, table) => {
                feature.walk(visit);
                for application in table.iter() {
                    uint(visit, "cee.app.protocol", Kind::Hex(16), application.protocol);
                    uint(visit, "cee.app.oui", Kind::Hex(24), application.oui);
                    uint(visit, "cee.app.selector", Kind::Decimal(2), application.selector);
                    uint(visit, "cee.app.priorities", Kind::Hex(8), application.priorities);
                }
            }
            Cee::Other(tlv) => {
                uint(visit, "type", Kind::Decimal(7), tlv.kind);
                visit("value", Kind::Bytes, Value::Bytes(tlv.value));
            }
        }
    }
}

impl Walk for Mad<'_> {
    /// Header first, then the message; other data as it is, under `data`.
    fn walk(&self, visit: &mut Visit<'_>) {
        uint(visit, "mad.base_version", Kind::Decimal(8), self.base_version);
        uint(visit, "mad.class", Kind::Hex(8), self.class);
        uint(visit, "mad.class_version", Kind::Decimal(8), self.class_version);
        uint(visit, "mad.method", Kind::Hex(8), self.method);
        uint(visit, "mad.status", Kind::Hex(16), self.status.0);
        uint(visit, "mad.class_specific", Kind::Hex(16), self.class_specific);
        uint(visit, "mad.transaction", Kind::Hex(64), self.transaction);
        uint(visit, "mad.attribute", Kind::Hex(16), self.attribute.0);
        uint(visit, "mad.resv", Kind::Hex(16), self.reserved);
        uint(visit, "mad.modifier", Kind::Hex(32), self.modifier);
        match self.message() {
            Some(message) => fields(message.fields(), self.data, visit),
            None => visit("data", Kind::Bytes, Value::Bytes(self.data)),
        }
    }
}

impl Walk for Message {
    fn walk(&self, visit: &mut Visit<'_>) {
        fields(self.fields(), &self.data(), visit);
    }
}

impl Walk for IpCm {
    fn walk(&self, visit: &mut Visit<'_>) {
        let mut bytes = [0; IpCm::LEN];
        self.write(&mut bytes);
        fields(IpCm::FIELDS, &bytes, visit);
    }
}

fn fields(table: &[MadField], data: &[u8], visit: &mut Visit<'_>) {
    for field in table {
        if let Some(value) = field.get(data) {
            visit(field.name, field.kind, value);
        }
    }
}
