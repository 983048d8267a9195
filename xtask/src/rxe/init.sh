#!/usr/bin/busybox sh
# First and only script of the guest: brings Linux's rxe device up and hands it to the agent.
# The host says by the kernel command line which addresses to take: rocespec.ip4=, rocespec.ip6= (ADDRESS/BITS), rocespec.mtu=,
# and which the tester has: rocespec.peer4=, rocespec.peer6=

/usr/bin/busybox --install -s /usr/bin
export PATH=/usr/bin:/usr/sbin

say() {
    echo "rocespec-guest: $*"
}

fail() {
    say "FAILED: $*"
    poweroff -f
}

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev

mtu=1500
for word in $(cat /proc/cmdline); do
    case $word in
    rocespec.ip4=*) ip4=${word#*=} ;;
    rocespec.ip6=*) ip6=${word#*=} ;;
    rocespec.mtu=*) mtu=${word#*=} ;;
    rocespec.peer4=*) peer4=${word#*=} ;;
    rocespec.peer6=*) peer6=${word#*=} ;;
    esac
done

while read -r module; do
    insmod "/modules/$module" || fail "insmod $module"
done </modules/order

tries=0
until [ -e /sys/class/net/eth0 ]; do
    tries=$((tries + 1))
    [ $tries -gt 100 ] && fail "no eth0 appeared"
    sleep 0.05
done

# Addresses are good at once: nobody else is on this wire, and no router.
for interface in all default eth0; do
    echo 0 >/proc/sys/net/ipv6/conf/$interface/accept_dad
    echo 0 >/proc/sys/net/ipv6/conf/$interface/accept_ra
    echo 0 >/proc/sys/net/ipv6/conf/$interface/router_solicitations
done
ip link set lo up
ip link set eth0 mtu "$mtu" || fail "eth0 takes no MTU of $mtu"
ip link set eth0 up || fail "eth0 does not come up"
[ -z "$ip4" ] || ip addr add "$ip4" dev eth0 || fail "eth0 takes no address $ip4"
[ -z "$ip6" ] || ip addr add "$ip6" dev eth0 || fail "eth0 takes no address $ip6"
# Nobody answers a ping, but to send it the kernel learns the tester's MAC address. A queue pair's first way to RTR would
# wait a second for that.
for peer in $peer4 $peer6; do
    ping -c 1 -W 1 "$peer" >/dev/null 2>&1 &
done
rdma link add rxe0 type rxe netdev eth0 || fail "no rxe device on eth0"

# From here on the host wants to see the kernel's warnings, too.
echo 5 >/proc/sys/kernel/printk
say "Linux $(uname -r), rxe0 is up after $(cut -d' ' -f1 /proc/uptime) s"
rocespec-agent --device rxe0 --virtio control
say "the agent ended with exit code $?"
poweroff -f
