
for port in /sys/class/virtio-ports/*; do
    [ "$(cat "$port/name")" = results ] && out=/dev/${port##*/}
done
tar -c -C $results . >"$out" || fail "the results do not go out"
say "done"
poweroff -f
