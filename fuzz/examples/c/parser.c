#include "parser.h"

static unsigned be16(const uint8_t *at) { return (unsigned)at[0] << 8 | at[1]; }
static uint32_t be24(const uint8_t *at) { return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2]; }

int roce_parse(const uint8_t *frame, size_t len, struct roce_packet *packet)
{
    if (len < 14 + 20 || be16(frame + 12) != 0x0800 || frame[14] >> 4 != 4)
        return -1;
    const uint8_t *ip = frame + 14;
    size_t ip_header = (size_t)(ip[0] & 0xf) * 4, ip_len = be16(ip + 2);
    if (ip_header < 20 || ip_len > len - 14 || ip_len < ip_header + 8 + 12 + 4 || ip[9] != 17)
        return -1;
    const uint8_t *udp = ip + ip_header;
    if (be16(udp + 2) != 4791 || be16(udp + 4) != ip_len - ip_header)
        return -1;
    const uint8_t *bth = udp + 8;
    packet->opcode = bth[0];
    packet->pad_count = bth[1] >> 4 & 3;
    packet->dest_qp = be24(bth + 5);
    packet->psn = be24(bth + 9);
    packet->body = bth + 12;
    packet->body_len = ip_len - ip_header - 8 - 12 - 4;
    return packet->pad_count <= packet->body_len ? 0 : -1;
}
