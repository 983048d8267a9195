#!/usr/bin/busybox sh
# First and only script of the guest. What came out of its laboratory, which follows, goes to the host as a tar file. The host
# says by the kernel command line which scenarios to run: rocespec.filter=FILTER, with commas between several.

/usr/bin/busybox --install -s /usr/bin
export PATH=/usr/sbin:/usr/bin
results=/results

say() {
    echo "rocespec-guest: $*"
}

fail() {
    say "FAILED: $*"
    poweroff -f
}

lacks() {
    fail "no $*"
}

nothing() {
    fail "no $*"
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
mkdir -p $results /run /var
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
ip link set lo up
