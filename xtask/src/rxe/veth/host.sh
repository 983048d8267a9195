# The laboratory, which follows, on this host. $1 is the folder for the results, the rest are scenarios. What the kernel has not
# is told and left out; nothing stays behind.

results=$1
shift
filter=$*

say() {
    echo "veth: $*"
}

fail() {
    say "FAILED: $*"
    exit 1
}

lacks() {
    say "skipped: the kernel of this machine, $(uname -r), lacks what is needed for $*"
}

# Known by its exit code.
nothing() {
    say "skipped: this machine has no $*"
    exit 77
}

close() {
    kill $device
    rdma link delete rs-rxe
    ip link del rs-wire
    ip link del rs-agent
    ip netns del rocespec-tester
} 2>/dev/null

[ "$(id -u)" = 0 ] || fail "network namespaces and interfaces need root"
if [ -e /sys/class/net/rs-wire ] || [ -e /run/netns/rocespec-tester ]; then
    fail "another run goes on, or was killed; then: ip link del rs-wire; ip link del rs-agent; ip netns del rocespec-tester"
fi
trap close EXIT
trap 'exit 130' INT TERM
modprobe -q -a rdma_rxe sch_netem 2>/dev/null
