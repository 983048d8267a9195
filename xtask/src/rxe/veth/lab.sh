
# What a host and a guest have in common: a tester in a network namespace of its own, a device outside of it, a pair of virtual
# Ethernet interfaces between them as the wire, and another pair for the agent. The device stays outside because many kernels
# know rxe in the first namespace only. Before this stand `say`, `fail`, `lacks` and `nothing` (a part of it, or all, cannot be
# had), `filter` (scenarios) and `results` (a folder). The addresses are of ranges for documentation, which hosts hardly have.

agent=198.51.100.2:4792
export ROCESPEC_TOKEN=lab

ip netns add rocespec-tester || nothing "network namespaces"
ip link add rs-wire type veth peer name far netns rocespec-tester || nothing "pairs of virtual interfaces"
ip link add rs-agent type veth peer name ours netns rocespec-tester || fail "no second pair"
in_tester() {
    ip netns exec rocespec-tester "$@"
}
echo 0 >/proc/sys/net/ipv6/conf/rs-wire/router_solicitations
in_tester ip link set lo up
ip link set rs-wire mtu 4200 up
in_tester ip link set far mtu 4200 up
ip link set rs-agent up
in_tester ip link set ours up
ip addr add 198.51.100.2/30 dev rs-agent
in_tester ip addr add 198.51.100.1/30 dev ours

# Runs the suite against what listens now.
run() {
    name=$1
    shift
    started=$(cut -d. -f1 /proc/uptime)
    # shellcheck disable=SC2086
    in_tester rocespec run $filter --dut "nic:far,agent=$agent,ip4=203.0.113.1,ip6=2001:db8::1" --report "$results/$name" \
        --json "$results/$name.json" "$@" >"$results/$name.txt" 2>&1
    code=$?
    say "$name: exit code $code after $(($(cut -d. -f1 /proc/uptime) - started)) s: $(tail -n 1 "$results/$name.txt")"
    rm -rf "${results:?}/$name"
}

# Lets the wire do this to frames, both ways, and runs the suite.
over_bad_wire() {
    name=$1
    shift
    if tc qdisc add dev rs-wire root netem "$@" 2>"$results/tc.txt" && in_tester tc qdisc add dev far root netem "$@"; then
        run "$name" --profile nic
        in_tester tc qdisc del dev far root
    else
        lacks "$name: sch_netem ($(cat "$results/tc.txt"))"
    fi
    tc qdisc del dev rs-wire root 2>/dev/null
}

say "Linux $(uname -r) is up after $(cut -d' ' -f1 /proc/uptime) s"
rocespec emulate --on rs-wire --ip4 203.0.113.2 --ip6 2001:db8::2 --control $agent >"$results/emulate.txt" 2>&1 &
device=$!
sleep 1
kill -0 $device 2>/dev/null || fail "the emulator does not start: $(cat "$results/emulate.txt")"
run emulator --profile nic
over_bad_wire emulator-loss loss 5%
over_bad_wire emulator-reorder delay 2ms reorder 25% 50%
kill $device
wait $device

ip addr add 203.0.113.2/30 dev rs-wire
ip addr add 2001:db8::2/64 dev rs-wire nodad
if rdma link add rs-rxe type rxe netdev rs-wire 2>"$results/rdma.txt"; then
    rocespec-agent --device rs-rxe --listen $agent --token $ROCESPEC_TOKEN >"$results/agent.txt" 2>&1 &
    device=$!
    sleep 1
    run rxe --profile "$(uname -r | grep -q '^6\.1\.' && echo rxe-6.1 || echo rxe)"
    kill $device
else
    lacks "rxe: rdma_rxe ($(cat "$results/rdma.txt"))"
fi
