#!/usr/bin/env python3
"""A tiny RoCE device: an RC responder for SEND, RDMA WRITE and RDMA READ, with the two sockets that rocespec talks to.

    rocespec run rc/responder --dut "exec:python3 responder.py"

Frames come and go on one socket, four bytes of length in front of each. Orders for the software beside the device come on
the other, a line of JSON each. docs/bring-your-own-device.md explains both.

It is a device to learn from, not one to copy: it has one deliberate fault, marked FAULT below, and much is left out.
"""

import json
import os
import select
import socket
import struct
import sys
import zlib

MAC = bytes.fromhex("020000000002")
IP4 = socket.inet_pton(socket.AF_INET, "10.0.0.2")
IP6 = socket.inet_pton(socket.AF_INET6, "fd00::2")
GID4 = bytes(10) + b"\xff\xff" + IP4
ROCE_PORT = 4791

# Opcodes of the reliable connection service.
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0x00, 0x01, 0x02, 0x04
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 0x06, 0x07, 0x08, 0x0A
READ_REQUEST = 0x0C
READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY = 0x0D, 0x0E, 0x0F, 0x10
ACKNOWLEDGE = 0x11
SENDS = {SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY}
WRITES = {WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY}
BEGINS = {SEND_FIRST, SEND_ONLY, WRITE_FIRST, WRITE_ONLY, READ_REQUEST}
ENDS = {SEND_LAST, SEND_ONLY, WRITE_LAST, WRITE_ONLY}

# Syndromes of an acknowledgement.
ACK, RNR_NAK = 0x1F, 0x20
NAK_SEQUENCE, NAK_INVALID, NAK_ACCESS, NAK_OPERATIONAL = 0x60, 0x61, 0x62, 0x63


def icrc(packet):
    """The invariant CRC of a packet from its IP header on, without its last four bytes. What routers change counts as ones."""
    masked = bytearray(packet)
    if masked[0] >> 4 == 4:
        masked[1] = masked[8] = 0xFF  # type of service, time to live
        masked[10:12] = b"\xff\xff"  # header checksum
        udp = 20
    else:
        masked[0:4] = b"\x6f\xff\xff\xff"  # traffic class, flow label
        masked[7] = 0xFF  # hop limit
        udp = 40
    masked[udp + 6 : udp + 8] = b"\xff\xff"  # UDP checksum
    masked[udp + 12] = 0xFF  # FECN, BECN and reserved bits
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(masked)))


def checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", total ^ 0xFFFF)


class Refused(Exception):
    """An order that is not carried out: a code of the protocol and a sentence."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class QueuePair:
    def __init__(self, handle):
        self.handle = handle
        self.number = 0x10 + handle
        self.state = "reset"
        self.attributes = {}
        self.receives = []
        self.completions = []
        self.expected = 0  # the PSN that comes next
        self.count = 0  # messages done: the MSN
        self.message = None  # the one that is on its way
        self.reached = 0  # bytes of it that are here


class Device:
    def __init__(self, wire):
        self.wire = wire
        self.reset()

    def reset(self):
        self.qps, self.regions = {}, {}
        self.handles = 0

    # ---- The wire -----------------------------------------------------------------------------------------------------

    def frame(self, frame):
        """A frame from the tester. What is not for us or not whole is dropped without a word."""
        ethertype, packet = frame[12:14], frame[14:]
        if frame[:6] != MAC:
            return
        if ethertype == b"\x08\x00" and len(packet) >= 20 and packet[0] == 0x45 and packet[9] == 17:
            length, start = struct.unpack("!H", packet[2:4])[0], 20
            here, peer = packet[16:20], packet[12:16]
        elif ethertype == b"\x86\xdd" and len(packet) >= 40 and packet[0] >> 4 == 6 and packet[6] == 17:
            length, start = struct.unpack("!H", packet[4:6])[0] + 40, 40
            here, peer = packet[24:40], packet[8:24]
        else:
            return
        packet = packet[:length]
        if here not in (IP4, IP6) or len(packet) < start + 8 + 12 + 4 or len(packet) < length:
            return
        if struct.unpack("!H", packet[start + 2 : start + 4])[0] != ROCE_PORT or icrc(packet[:-4]) != packet[-4:]:
            return
        bth = packet[start + 8 : start + 20]
        opcode, flags, pkey = struct.unpack("!BBH", bth[:4])
        number, psn = int.from_bytes(bth[5:8], "big"), int.from_bytes(bth[9:12], "big")
        pad, version = flags >> 4 & 3, flags & 15
        qp = next((qp for qp in self.qps.values() if qp.number == number), None)
        if qp is None or qp.state not in ("rtr", "rts") or version or pkey & 0x7FFF != 0x7FFF:
            return
        body = packet[start + 20 : -4]
        self.path = (frame[6:12], peer)
        self.request(qp, opcode, psn, bool(bth[8] & 0x80), body[: len(body) - pad])

    def request(self, qp, opcode, psn, wants_ack, body):
        behind = (psn - qp.expected) & 0xFFFFFF
        if behind >= 0x800000:  # a duplicate
            if opcode == READ_REQUEST and len(body) >= 16:
                self.read(qp, psn, body)
            else:
                self.acknowledge(qp, (qp.expected - 1) & 0xFFFFFF, ACK)
            return
        if behind:
            # FAULT: one NAK is enough until the gap is filled; this device sends one for each packet behind it.
            self.acknowledge(qp, qp.expected, NAK_SEQUENCE)
            return
        syndrome = self.carry_out(qp, opcode, body)
        if syndrome is None:  # a READ has been answered
            return
        if syndrome == ACK:
            qp.expected = (psn + 1) & 0xFFFFFF
            if opcode in ENDS:
                qp.count += 1
        elif syndrome & 0x60 == 0x60:
            self.fail(qp)
        if wants_ack or syndrome != ACK:
            self.acknowledge(qp, psn, syndrome)

    def fail(self, qp):
        """Nothing goes any further: receives come back unused."""
        qp.state = "error"
        begun = [qp.message[3]] if qp.message and qp.message[3] else []
        for receive in begun + qp.receives:
            qp.completions.append({"wr_id": receive["wr_id"], "status": "wr_flush_err", "opcode": "recv", "byte_len": 0})
        qp.receives = []

    def carry_out(self, qp, opcode, body):
        """Does what a request asks for, and gives the syndrome of its answer."""
        mtu = qp.attributes.get("path_mtu", 1024)
        if opcode not in SENDS | WRITES | {READ_REQUEST}:
            return NAK_INVALID
        if (opcode in BEGINS) != (qp.message is None):
            return NAK_INVALID
        if opcode in (READ_REQUEST, WRITE_FIRST, WRITE_ONLY) and len(body) < 16:
            return NAK_INVALID
        if opcode == READ_REQUEST:
            return self.read(qp, qp.expected, body)
        if opcode in (WRITE_FIRST, WRITE_ONLY):
            va, key, length = struct.unpack("!QII", body[:16])
            body = body[16:]
            place = self.place(key, va, length, "remote_write")
            if length and place is None:
                return NAK_ACCESS
            qp.message, qp.reached = (WRITES, place or (bytearray(), 0), length, None), 0
        elif opcode in (SEND_FIRST, SEND_ONLY):
            if not qp.receives:
                return RNR_NAK | qp.attributes.get("min_rnr_timer", 0)
            receive = qp.receives.pop(0)
            place = (self.regions[receive["mr"]]["bytes"], receive["offset"])
            qp.message, qp.reached = (SENDS, place, receive["length"], receive), 0
        kind, (memory, offset), length, receive = qp.message
        whole = opcode in ENDS or len(body) == mtu
        fits = qp.reached + len(body) <= length and len(body) <= mtu
        short = kind is WRITES and opcode in ENDS and qp.reached + len(body) != length
        if opcode not in kind or not whole or not fits or short:
            return NAK_INVALID
        memory[offset + qp.reached : offset + qp.reached + len(body)] = body
        qp.reached += len(body)
        if opcode in ENDS:
            if receive:
                qp.completions.append(
                    {"wr_id": receive["wr_id"], "status": "success", "opcode": "recv", "byte_len": qp.reached}
                )
            qp.message = None
        return ACK

    def read(self, qp, psn, body):
        """Answers a READ with as many packets as it takes; None when it did."""
        mtu = qp.attributes.get("path_mtu", 1024)
        va, key, length = struct.unpack("!QII", body[:16])
        memory, offset = self.place(key, va, length, "remote_read") or (None, 0)
        if memory is None and length:
            return NAK_ACCESS
        data = bytes(memory[offset : offset + length]) if length else b""
        pieces = [data[at : at + mtu] for at in range(0, len(data), mtu)] or [b""]
        if psn == qp.expected:
            qp.expected = (psn + len(pieces)) & 0xFFFFFF
            qp.count += 1
        for index, piece in enumerate(pieces):
            first, last = index == 0, index == len(pieces) - 1
            opcode = {(1, 1): READ_ONLY, (1, 0): READ_FIRST, (0, 1): READ_LAST}.get((first, last), READ_MIDDLE)
            aeth = struct.pack("!I", ACK << 24 | qp.count & 0xFFFFFF) if first or last else b""
            self.send(qp, opcode, (psn + index) & 0xFFFFFF, aeth, piece)

    def place(self, key, va, length, right):
        """Where these bytes are, if the key opens them for this."""
        for region in self.regions.values():
            if region["rkey"] == key and right in region["access"]:
                offset = va - region["va"]
                if 0 <= offset and offset + length <= len(region["bytes"]):
                    return region["bytes"], offset
        return None

    def acknowledge(self, qp, psn, syndrome):
        self.send(qp, ACKNOWLEDGE, psn, struct.pack("!I", syndrome << 24 | qp.count & 0xFFFFFF), b"")

    def send(self, qp, opcode, psn, header, payload):
        mac, peer = self.path
        pad = -len(payload) % 4
        bth = struct.pack("!BBHII", opcode, pad << 4, 0xFFFF, qp.attributes["dest_qpn"], psn)
        body = bth + header + payload + bytes(pad)
        udp = struct.pack("!HHHH", 0xC000 | qp.number, ROCE_PORT, 8 + len(body) + 4, 0)
        hops, service = qp.attributes.get("hop_limit", 64), qp.attributes.get("traffic_class", 0)
        if len(peer) == 4:
            ip = struct.pack("!BBHHHBBH", 0x45, service, 20 + len(udp) + len(body) + 4, 0, 0x4000, hops, 17, 0) + IP4 + peer
            ip = ip[:10] + checksum(ip) + ip[12:]
        else:
            ip = struct.pack("!IHBB", 6 << 28 | service << 20, len(udp) + len(body) + 4, 17, hops) + IP6 + peer
        packet = ip + udp + body
        frame = mac + MAC + (b"\x08\x00" if len(peer) == 4 else b"\x86\xdd") + packet + icrc(packet)
        self.wire.sendall(struct.pack("!I", len(frame)) + frame)

    # ---- The software beside it ---------------------------------------------------------------------------------------

    def order(self, line):
        """Answers a line of the control protocol."""
        try:
            request = json.loads(line)
            command = getattr(self, "do_" + request["cmd"], None)
            if command is None:
                raise Refused("unknown_command", f"no {request['cmd']} here")
            return {"id": request["id"], "ok": command(request) or {"done": {}}}
        except Refused as refused:
            return {"id": request["id"], "error": {"code": refused.code, "message": str(refused)}}
        except (KeyError, TypeError, ValueError) as error:
            number = request.get("id", 0) if isinstance(locals().get("request"), dict) else 0
            return {"id": number, "error": {"code": "bad_request", "message": repr(error)}}

    def do_hello(self, request):
        if request["version"] != 1:
            raise Refused("bad_version", "this is version 1")
        gids = [GID4, IP6]
        return {
            "device": {
                "version": 1,
                "agent": "responder.py",
                "name": "tiny",
                "system": "python",
                "mac": MAC.hex(":"),
                "active_mtu": 4096,
                "gids": [
                    {"index": index, "gid": socket.inet_ntop(socket.AF_INET6, gid), "kind": "roce_v2"}
                    for index, gid in enumerate(gids)
                ],
                "capabilities": ["rc", "responder", "rocev2", "ipv4", "ipv6", "rnr", "go-back-n"],
            }
        }

    def do_reset(self, request):
        self.reset()

    def do_create_qp(self, request):
        if request["kind"] != "rc" or request.get("srq") is not None:
            raise Refused("unsupported", "RC without shared receive queues only")
        self.handles += 1
        qp = self.qps[self.handles] = QueuePair(self.handles)
        return {"qp": {"qp": qp.handle, "qpn": qp.number}}

    def do_modify_qp(self, request):
        qp, attributes = self.qp(request), request["attributes"]
        qp.attributes.update(attributes)
        qp.state = attributes.get("state", qp.state)
        qp.expected = attributes.get("rq_psn", qp.expected)

    def do_query_qp(self, request):
        return {"qp_attributes": {"state": self.qp(request).state}}

    def do_destroy_qp(self, request):
        del self.qps[self.qp(request).handle]

    def do_register_memory(self, request):
        self.handles += 1
        key, va = 0x1000 + self.handles, 0x10000000 * self.handles
        self.regions[self.handles] = {
            "rkey": key,
            "va": va,
            "access": request["access"],
            "bytes": bytearray(request["length"]),
        }
        return {"memory": {"mr": self.handles, "va": va, "length": request["length"], "lkey": key, "rkey": key}}

    def do_deregister_memory(self, request):
        self.region(request)
        del self.regions[request["mr"]]

    def do_write_memory(self, request):
        data, offset = bytes.fromhex(request["data"]), request["offset"]
        self.region(request)["bytes"][offset : offset + len(data)] = data

    def do_read_memory(self, request):
        offset = request["offset"]
        return {"data": self.region(request)["bytes"][offset : offset + request["length"]].hex()}

    def do_post_receive(self, request):
        self.region(request)
        self.qp(request).receives.append(request)

    def do_poll(self, request):
        qp = self.qp(request)
        taken, qp.completions = qp.completions[: request["max"]], qp.completions[request["max"] :]
        return {"completions": taken}

    def do_counters(self, request):
        return {"counters": {}}

    def do_events(self, request):
        return {"events": []}

    def qp(self, request):
        if request["qp"] not in self.qps:
            raise Refused("no_such_object", f"no queue pair has the handle {request['qp']}")
        return self.qps[request["qp"]]

    def region(self, request):
        if request["mr"] not in self.regions:
            raise Refused("no_such_object", f"no region has the handle {request['mr']}")
        return self.regions[request["mr"]]


def prepare(device):
    """What the software of a device without a control channel does by itself: qp.toml tells the tester of it."""
    for number, peer, psn in (1, 0x201, 100), (2, 0x202, 0xFFFFFE):
        device.do_create_qp({"kind": "rc"})
        attributes = {"state": "rts", "rq_psn": psn, "dest_qpn": peer, "path_mtu": 1024, "min_rnr_timer": 12}
        device.do_modify_qp({"qp": number, "attributes": attributes})
    device.do_register_memory({"length": 4096, "access": ["remote_read"]})
    buffer = device.do_register_memory({"length": 4096, "access": []})["memory"]
    for qp in 1, 1, 1, 1, 2:
        device.do_post_receive({"qp": qp, "wr_id": 0, "mr": buffer["mr"], "offset": 0, "length": 4096})


def connect(path):
    stream = socket.socket(socket.AF_UNIX)
    stream.connect(path)
    return stream


def accept(path):
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    return listener


def serve(wire, control):
    """Serves one tester until it goes."""
    device = Device(wire)
    if not control:
        prepare(device)
    frames, lines = b"", b""
    while True:
        ready, _, _ = select.select([wire] + ([control] if control else []), [], [])
        # First the wire: what was sent before an order has come before it.
        if wire in ready:
            received = wire.recv(1 << 16)
            if not received:
                return
            frames += received
            while len(frames) >= 4 and len(frames) >= 4 + int.from_bytes(frames[:4], "big"):
                length = int.from_bytes(frames[:4], "big")
                device.frame(frames[4 : 4 + length])
                frames = frames[4 + length :]
        if control in ready:
            received = control.recv(1 << 16)
            if not received:
                return
            *whole, lines = (lines + received).split(b"\n")
            for line in filter(bytes.strip, whole):
                control.sendall(json.dumps(device.order(line)).encode() + b"\n")


def main():
    if len(sys.argv) == 3:  # responder.py WIRE CONTROL: listen, for `--dut socket:`
        wire, control = (accept(path) for path in sys.argv[1:])
        while True:
            serve(wire.accept()[0], control.accept()[0])
    control = os.environ.get("ROCESPEC_CONTROL")
    serve(connect(os.environ["ROCESPEC_WIRE"]), control and connect(control))


if __name__ == "__main__":
    main()
