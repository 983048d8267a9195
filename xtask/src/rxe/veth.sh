#!/usr/bin/busybox sh
# First and only script of the guest: a tester in a network namespace of its own, a device outside of it, a pair of virtual
# Ethernet interfaces between them as the wire, and another pair for the agent. What came out goes to the host as a tar file.
# The host says by the kernel command line which scenarios to run: rocespec.filter=FILTER, with commas between several.

/usr/bin/busybox --install -s /usr/bin
export PATH=/usr/sbin:/usr/bin

say() {
    echo "rocespec-guest: $*"
}

fail() {
    say "FAILED: $*"
    poweroff -f
}

# The shell would take its own, which know less.
ip() {
    /usr/sbin/ip "$@"
}
tc() {
    /usr/sbin/tc "$@"
}

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /results /run /var
ln -s /run /var/run

filter=
for word in $(cat /proc/cmdline); do
    case $word in
    rocespec.filter=*) filter=$(echo "${word#*=}" | tr , ' ') ;;
    esac
done

while read -r module; do
    insmod "/modules/$module" || fail "insmod $module"
done </modules/order

echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
echo 0 >/proc/sys/net/ipv6/conf/default/router_solicitations
ip link set lo up
ip netns add tester || fail "no network namespace"
ip link add wire type veth peer name far netns tester || fail "no pair of interfaces"
ip link add agent type veth peer name ours netns tester || fail "no second pair"
in_tester() {
    ip netns exec tester "$@"
}
in_tester ip link set lo up
ip link set wire mtu 4200 up
in_tester ip link set far mtu 4200 up
ip link set agent up
in_tester ip link set ours up
ip addr add 192.168.0.2/24 dev agent
in_tester ip addr add 192.168.0.1/24 dev ours

export ROCESPEC_TOKEN=guest
agent=192.168.0.2:4792

# Runs the suite against what listens now. A clock in an emulated processor that others share is not exact.
run() {
    name=$1
    shift
    started=$(cut -d. -f1 /proc/uptime)
    # shellcheck disable=SC2086
    in_tester rocespec run $filter --dut "nic:far,agent=$agent" --report "/tmp/$name" --json "/results/$name.json" "$@" \
        >"/results/$name.txt" 2>&1
    code=$?
    say "$name: exit code $code after $(($(cut -d. -f1 /proc/uptime) - started)) s: $(tail -n 1 "/results/$name.txt")"
    rm -rf "/tmp/$name"
}

lossy() {
    tc qdisc add dev wire root netem "$@" || fail "tc netem $*"
    in_tester tc qdisc add dev far root netem "$@" || fail "tc netem $*"
}

say "Linux $(uname -r) is up after $(cut -d' ' -f1 /proc/uptime) s"
rocespec emulate --on wire --control $agent >/results/emulate.txt 2>&1 &
emulate=$!
sleep 1
run emulator --profile nic
lossy loss 5%
run emulator-loss --profile nic
tc qdisc del dev wire root
in_tester tc qdisc del dev far root
lossy delay 2ms reorder 25% 50%
run emulator-reorder --profile nic
tc qdisc del dev wire root
in_tester tc qdisc del dev far root
kill $emulate
wait $emulate

ip addr add 10.0.0.2/24 dev wire
ip addr add fd00::2/64 dev wire
rdma link add rxe0 type rxe netdev wire || fail "no rxe device"
rocespec-agent --device rxe0 --listen $agent --token $ROCESPEC_TOKEN >/results/agent.txt 2>&1 &
sleep 1
run rxe --profile "$(uname -r | grep -q '^6\.1\.' && echo rxe-6.1 || echo rxe)"

for port in /sys/class/virtio-ports/*; do
    [ "$(cat "$port/name")" = results ] && out=/dev/${port##*/}
done
tar -c -C /results . >"$out" || fail "the results do not go out"
say "done"
poweroff -f
