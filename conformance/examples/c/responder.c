/* A tiny RoCE device: an RC responder for SEND and RDMA WRITE, with the two sockets that rocespec talks to.
 *
 *     make && rocespec run rc/responder --dut "exec:./responder"
 *
 * Frames come and go on one socket, four bytes of length in front of each. Orders for the software beside the device come on
 * the other, a line of JSON each. docs/bring-your-own-device.md explains both.
 *
 * It is a device to learn from, not one to copy: it takes messages of one packet only, its JSON is read by looking for names,
 * and it has one deliberate fault, marked FAULT below. */

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { SEND_ONLY = 0x04, WRITE_ONLY = 0x0a, ACKNOWLEDGE = 0x11, ROCE_PORT = 4791 };
enum { ACK = 0x1f, RNR_NAK = 0x20, NAK_SEQUENCE = 0x60, NAK_INVALID = 0x61, NAK_ACCESS = 0x62 };
enum { MAX_QPS = 512, MAX_REGIONS = 2048, MAX_RECEIVES = 512, MAX_FRAME = 70000, MAX_LINE = 4 << 20 };

static const uint8_t MAC[6] = {2, 0, 0, 0, 0, 2};
static const uint8_t IP[4] = {10, 0, 0, 2};

struct receive { uint64_t id; unsigned region, offset, length; };
struct completion { uint64_t id; unsigned length; };

static struct qp {
    int used, ready, error, nak_sent;
    uint32_t number, peer, expected, count;
    unsigned mtu, timer, posted, taken, done, told;
    struct receive receives[MAX_RECEIVES];
    struct completion completions[MAX_RECEIVES];
    char state[8];
} qps[MAX_QPS];

static struct region { int used, writable; uint64_t va, length; uint32_t key; uint8_t *bytes; } regions[MAX_REGIONS];

static int wire, control;
static uint32_t next_number = 0x20;

static uint32_t get(const uint8_t *at, int bytes) {
    uint32_t value = 0;
    while (bytes--) value = value << 8 | *at++;
    return value;
}

static void put(uint8_t *at, uint64_t value, int bytes) {
    while (bytes--) { at[bytes] = value; value >>= 8; }
}

static void write_all(int to, const void *bytes, size_t length) {
    for (const char *at = bytes; length;) {
        ssize_t count = write(to, at, length);
        if (count <= 0) exit(0); /* The tester has gone. */
        at += count;
        length -= count;
    }
}

/* ---- The wire ---------------------------------------------------------------------------------------------------------- */

static uint32_t crc(uint32_t crc, const uint8_t *at, size_t length) {
    while (length--) {
        crc ^= *at++;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return crc;
}

/* The invariant CRC of a packet from its IP header on. What routers change counts as ones. */
static uint32_t icrc(const uint8_t *packet, size_t length) {
    uint8_t head[40];
    static const uint8_t ones[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    memcpy(head, packet, sizeof head);
    head[1] = head[8] = head[10] = head[11] = 0xff; /* type of service, time to live, header checksum */
    head[26] = head[27] = 0xff;                     /* UDP checksum */
    head[32] = 0xff;                                /* FECN, BECN and reserved bits */
    return ~crc(crc(crc(~0u, ones, 8), head, sizeof head), packet + sizeof head, length - sizeof head);
}

static void acknowledge(const struct qp *qp, const uint8_t *to, uint32_t psn, int syndrome) {
    enum { PACKET = 20 + 8 + 12 + 4 + 4 };
    uint8_t frame[4 + 14 + PACKET] = {0}, *eth = frame + 4, *ip = eth + 14, *udp = ip + 20, *bth = udp + 8;
    put(frame, 14 + PACKET, 4);
    memcpy(eth, to + 6, 6);
    memcpy(eth + 6, MAC, 6);
    put(eth + 12, 0x0800, 2);
    put(ip, 0x45, 1);
    put(ip + 2, PACKET, 2);
    put(ip + 6, 0x4000, 2);
    put(ip + 8, 64 << 8 | 17, 2);
    memcpy(ip + 12, IP, 4);
    memcpy(ip + 16, to + 14 + 12, 4);
    uint32_t sum = 0;
    for (int at = 0; at < 20; at += 2) sum += get(ip + at, 2);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    put(ip + 10, ~sum & 0xffff, 2);
    put(udp, 0xc000 | (qp->number & 0x3fff), 2);
    put(udp + 2, ROCE_PORT, 2);
    put(udp + 4, PACKET - 20, 2);
    put(bth, ACKNOWLEDGE << 24 | 0xffff, 4);
    put(bth + 4, qp->peer, 4);
    put(bth + 8, psn & 0xffffff, 4);
    put(bth + 12, (uint32_t)syndrome << 24 | (qp->count & 0xffffff), 4);
    uint32_t check = icrc(ip, PACKET - 4);
    for (int at = 0; at < 4; at++) bth[16 + at] = check >> 8 * at;
    write_all(wire, frame, sizeof frame);
}

/* Does what a request asks for, and gives the syndrome of its answer. */
static int carry_out(struct qp *qp, int opcode, const uint8_t *body, size_t length) {
    if (opcode == SEND_ONLY) {
        if (length > qp->mtu) return NAK_INVALID;
        if (qp->taken == qp->posted) return RNR_NAK | qp->timer;
        struct receive *receive = &qp->receives[qp->taken++ % MAX_RECEIVES];
        if (length > receive->length) return NAK_INVALID;
        memcpy(regions[receive->region].bytes + receive->offset, body, length);
        qp->completions[qp->done++ % MAX_RECEIVES] = (struct completion){receive->id, length};
        return ACK;
    }
    if (opcode != WRITE_ONLY || length < 16) return NAK_INVALID;
    uint64_t va = (uint64_t)get(body, 4) << 32 | get(body + 4, 4);
    uint32_t key = get(body + 8, 4), wanted = get(body + 12, 4);
    if (wanted != length - 16 || wanted > qp->mtu) return NAK_INVALID;
    if (!wanted) return ACK;
    for (struct region *region = regions; region < regions + MAX_REGIONS; region++)
        /* FAULT: nobody looks whether the region may be written by a peer. */
        if (region->used && region->key == key && va >= region->va && va - region->va <= region->length &&
            wanted <= region->length - (va - region->va)) {
            memcpy(region->bytes + (va - region->va), body + 16, wanted);
            return ACK;
        }
    return NAK_ACCESS;
}

/* A frame from the tester. What is not for us or not whole is dropped without a word. */
static void take_frame(const uint8_t *frame, size_t length) {
    const uint8_t *ip = frame + 14, *bth = ip + 28;
    if (length < 14 + 20 + 8 + 12 + 4 || memcmp(frame, MAC, 6) || get(frame + 12, 2) != 0x0800) return;
    size_t packet = get(ip + 2, 2);
    if (ip[0] != 0x45 || ip[9] != 17 || memcmp(ip + 16, IP, 4) || get(ip + 22, 2) != ROCE_PORT) return;
    if (packet > length - 14 || packet < 20 + 8 + 12 + 4) return;
    uint32_t check = icrc(ip, packet - 4), seen = 0;
    for (int at = 4; at--;) seen = seen << 8 | ip[packet - 4 + at];
    if (check != seen || (get(bth + 2, 2) & 0x7fff) != 0x7fff || bth[1] & 15) return;
    struct qp *qp = qps;
    while (qp < qps + MAX_QPS && !(qp->used && qp->number == get(bth + 5, 3))) qp++;
    if (qp == qps + MAX_QPS || !qp->ready || qp->error) return;

    int pad = bth[1] >> 4 & 3;
    size_t body = packet - 20 - 8 - 12 - 4;
    if (body < (size_t)pad) return;
    uint32_t psn = get(bth + 9, 3), behind = (psn - qp->expected) & 0xffffff;
    if (behind >= 0x800000) { /* A duplicate. */
        acknowledge(qp, frame, qp->expected - 1, ACK);
        return;
    }
    if (behind) { /* Something is missing: one NAK until it is here. */
        if (!qp->nak_sent) acknowledge(qp, frame, qp->expected, NAK_SEQUENCE);
        qp->nak_sent = 1;
        return;
    }
    qp->nak_sent = 0;
    int syndrome = carry_out(qp, bth[0], bth + 12, body - pad);
    if (syndrome == ACK) {
        qp->expected = (psn + 1) & 0xffffff;
        qp->count++;
    } else if ((syndrome & 0x60) == 0x60) {
        qp->error = 1;
        strcpy(qp->state, "error");
    }
    if (bth[8] & 0x80 || syndrome != ACK) acknowledge(qp, frame, psn, syndrome);
}

/* ---- The software beside it --------------------------------------------------------------------------------------------- */

/* What stands behind a name in a line, or nothing. Enough for lines that rocespec writes: every name is there once. */
static const char *value(const char *line, const char *name) {
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *at = strstr(line, quoted);
    return at ? at + strlen(quoted) : NULL;
}

static uint64_t number(const char *line, const char *name) {
    const char *at = value(line, name);
    return at ? strtoull(at, NULL, 10) : 0;
}

static int says(const char *line, const char *name, const char *text) {
    const char *at = value(line, name);
    return at && *at == '"' && !strncmp(at + 1, text, strlen(text)) && at[1 + strlen(text)] == '"';
}

static void answer(uint64_t id, const char *text) {
    char head[40];
    write_all(control, head, snprintf(head, sizeof head, "{\"id\":%" PRIu64 ",", id));
    write_all(control, text, strlen(text));
    write_all(control, "}\n", 2);
}

static void free_region(struct region *region) {
    free(region->bytes);
    memset(region, 0, sizeof *region);
}

static void reset(void) {
    memset(qps, 0, sizeof qps);
    for (int index = 0; index < MAX_REGIONS; index++) free_region(&regions[index]);
}

static void order(const char *line) {
    static char text[4 << 20];
    const char *done = "\"ok\":{\"done\":{}}";
    uint64_t id = number(line, "id"), handle = number(line, "qp"), memory = number(line, "mr");
    struct qp *qp = handle < MAX_QPS && qps[handle].used ? &qps[handle] : NULL;
    struct region *region = memory < MAX_REGIONS && regions[memory].used ? &regions[memory] : NULL;

    if (says(line, "cmd", "hello")) {
        answer(id, "\"ok\":{\"device\":{\"version\":1,\"agent\":\"responder.c\",\"name\":\"tiny\",\"system\":\"C\","
                   "\"mac\":\"02:00:00:00:00:02\",\"active_mtu\":4096,\"gids\":[{\"index\":0,\"gid\":\"::ffff:10.0.0.2\","
                   "\"kind\":\"roce_v2\"}],\"capabilities\":[\"rc\",\"responder\",\"rocev2\",\"ipv4\",\"rnr\",\"go-back-n\"]}}");
    } else if (says(line, "cmd", "reset")) {
        reset();
        answer(id, done);
    } else if (says(line, "cmd", "create_qp")) {
        for (handle = 0; handle < MAX_QPS && qps[handle].used;) handle++;
        if (!says(line, "kind", "rc") || handle == MAX_QPS) {
            answer(id, "\"error\":{\"code\":\"unsupported\",\"message\":\"RC only, and 512 at most\"}");
            return;
        }
        qps[handle] = (struct qp){.used = 1, .number = next_number++ & 0xffffff, .state = "reset"};
        sprintf(text, "\"ok\":{\"qp\":{\"qp\":%" PRIu64 ",\"qpn\":%u}}", handle, qps[handle].number);
        answer(id, text);
    } else if (says(line, "cmd", "register_memory")) {
        uint64_t length = number(line, "length");
        for (memory = 0; memory < MAX_REGIONS && regions[memory].used;) memory++;
        if (memory == MAX_REGIONS || !length || length > 16 << 20) {
            answer(id, "\"error\":{\"code\":\"bad_argument\",\"message\":\"too much memory\"}");
            return;
        }
        int writable = strstr(line, "\"remote_write\"") != NULL;
        uint64_t va = (memory + 1) << 32;
        regions[memory] = (struct region){1, writable, va, length, 0x100 + memory, calloc(1, length)};
        sprintf(text, "\"ok\":{\"memory\":{\"mr\":%" PRIu64 ",\"va\":%" PRIu64 ",\"length\":%" PRIu64 ",\"lkey\":%u,\"rkey\":%u}}",
                memory, va, length, regions[memory].key, regions[memory].key);
        answer(id, text);
    } else if (says(line, "cmd", "counters")) {
        answer(id, "\"ok\":{\"counters\":{}}");
    } else if (says(line, "cmd", "events")) {
        answer(id, "\"ok\":{\"events\":[]}");
    } else if (says(line, "cmd", "deregister_memory") && region) {
        free_region(region);
        answer(id, done);
    } else if (says(line, "cmd", "write_memory") && region) {
        const char *data = value(line, "data");
        uint64_t at = number(line, "offset");
        for (unsigned byte; data && sscanf(data + 1, "%2x", &byte) == 1 && at < region->length; data += 2)
            region->bytes[at++] = byte;
        answer(id, done);
    } else if (says(line, "cmd", "read_memory") && region) {
        uint64_t at = number(line, "offset"), length = number(line, "length");
        if (at > region->length || length > region->length - at || length > 1 << 20) {
            answer(id, "\"error\":{\"code\":\"bad_argument\",\"message\":\"beyond the region\"}");
            return;
        }
        char *end = text + sprintf(text, "\"ok\":{\"data\":\"");
        for (; length--; at++) end += sprintf(end, "%02x", region->bytes[at]);
        strcpy(end, "\"}");
        answer(id, text);
    } else if (says(line, "cmd", "modify_qp") && qp) {
        if (value(line, "rq_psn")) qp->expected = number(line, "rq_psn");
        if (value(line, "dest_qpn")) qp->peer = number(line, "dest_qpn");
        if (value(line, "path_mtu")) qp->mtu = number(line, "path_mtu");
        if (value(line, "min_rnr_timer")) qp->timer = number(line, "min_rnr_timer") & 31;
        const char *state = value(line, "state");
        if (state) sscanf(state, "\"%7[a-z]", qp->state);
        qp->ready = !strcmp(qp->state, "rtr") || !strcmp(qp->state, "rts");
        answer(id, done);
    } else if (says(line, "cmd", "query_qp") && qp) {
        sprintf(text, "\"ok\":{\"qp_attributes\":{\"state\":\"%s\"}}", qp->state);
        answer(id, text);
    } else if (says(line, "cmd", "destroy_qp") && qp) {
        qp->used = 0;
        answer(id, done);
    } else if (says(line, "cmd", "post_receive") && qp && region) {
        uint64_t offset = number(line, "offset"), length = number(line, "length");
        if (qp->posted - qp->taken == MAX_RECEIVES || offset > region->length || length > region->length - offset) {
            answer(id, "\"error\":{\"code\":\"bad_argument\",\"message\":\"no room for this receive\"}");
            return;
        }
        qp->receives[qp->posted++ % MAX_RECEIVES] = (struct receive){number(line, "wr_id"), memory, offset, length};
        answer(id, done);
    } else if (says(line, "cmd", "poll") && qp) {
        char *end = text + sprintf(text, "\"ok\":{\"completions\":[");
        for (const char *comma = ""; qp->told < qp->done; comma = ",") {
            struct completion *completion = &qp->completions[qp->told++ % MAX_RECEIVES];
            end += sprintf(end, "%s{\"wr_id\":%" PRIu64 ",\"status\":\"success\",\"opcode\":\"recv\",\"byte_len\":%u}", comma,
                           completion->id, completion->length);
        }
        strcpy(end, "]}");
        answer(id, text);
    } else {
        answer(id, qp || region || !handle ? "\"error\":{\"code\":\"unknown_command\",\"message\":\"not here\"}"
                                           : "\"error\":{\"code\":\"no_such_object\",\"message\":\"no such handle\"}");
    }
}

static int dial(const char *variable) {
    const char *path = getenv(variable);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int stream = socket(AF_UNIX, SOCK_STREAM, 0);
    if (!path || strlen(path) >= sizeof address.sun_path) {
        fprintf(stderr, "%s is not the path of a socket: start me with rocespec run --dut exec:./responder\n", variable);
        exit(1);
    }
    strcpy(address.sun_path, path);
    if (connect(stream, (struct sockaddr *)&address, sizeof address)) {
        perror(path);
        exit(1);
    }
    return stream;
}

int main(void) {
    static uint8_t frames[4 + MAX_FRAME];
    static char lines[MAX_LINE + 1];
    size_t in_frames = 0, in_lines = 0;
    wire = dial("ROCESPEC_WIRE");
    control = dial("ROCESPEC_CONTROL");
    for (;;) {
        struct pollfd streams[2] = {{.fd = wire, .events = POLLIN}, {.fd = control, .events = POLLIN}};
        poll(streams, 2, -1);
        /* First the wire: what was sent before an order has come before it. */
        if (streams[0].revents) {
            ssize_t count = read(wire, frames + in_frames, sizeof frames - in_frames);
            if (count <= 0) return 0;
            in_frames += count;
            for (size_t length; in_frames >= 4 && in_frames >= 4 + (length = get(frames, 4));) {
                take_frame(frames + 4, length);
                in_frames -= 4 + length;
                memmove(frames, frames + 4 + length, in_frames);
            }
        }
        if (streams[1].revents) {
            ssize_t count = read(control, lines + in_lines, MAX_LINE - in_lines);
            if (count <= 0) return 0;
            in_lines += count;
            lines[in_lines] = 0;
            for (char *end; (end = memchr(lines, '\n', in_lines));) {
                *end = 0;
                order(lines);
                in_lines -= end + 1 - lines;
                memmove(lines, end + 1, in_lines + 1);
            }
        }
    }
}
