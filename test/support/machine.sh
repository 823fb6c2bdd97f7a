# Runs $1/script in a throw-away copy of this machine, with systemd as the first process. It needs
# root. What the script changes on disk goes to memory; the copy has a network of its own. Its output
# goes to $1/output, its exit code to $1/code.
set -eu
folder=$1
if [ "${2:-}" != inside ]; then
  groups=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
  [ -n "$groups" ] || { echo "no cgroup2 is mounted" >&2; exit 1; }
  group=$groups/foghorn-test-$$
  mkdir "$group"
  # processes that were killed need a moment to go
  clean_up() {
    tries=0
    until find "$group" -depth -type d -exec rmdir {} + 2>/dev/null; do
      tries=$((tries + 1))
      [ $tries -lt 50 ] || break
      sleep 0.1
    done
  }
  trap clean_up EXIT
  # a process of its own: this one must be able to remove the group
  sh -c 'echo $$ >"$0/cgroup.procs"
    exec timeout -s KILL 90 unshare --mount --pid --ipc --uts --net --cgroup --fork --kill-child \
      sh "$1" "$2" inside' "$group" "$0" "$folder"
  exit
fi

memory=$folder/memory
root=$memory/root
mkdir "$memory"
mount -t tmpfs tmpfs "$memory"
mkdir "$memory/upper" "$memory/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$memory/upper,workdir=$memory/work" "$root"
mount -t proc proc "$root/proc"
# the kernel's settings are those of this machine
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
for device in null:3 zero:5 full:7 random:8 urandom:9; do
  mknod -m 666 "$root/dev/${device%:*}" c 1 "${device#*:}"
done
mknod -m 666 "$root/dev/tty" c 5 0
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mkdir "$root/trial"
mount --bind "$folder" "$root/trial"
: >"$root/etc/machine-id"

# of what a system does when it starts, only the journal
for unit in "$root"/lib/systemd/system/sysinit.target.wants/* \
  "$root"/etc/systemd/system/sysinit.target.wants/* remount/systemd-remount-fs.service; do
  case $unit in
    *systemd-journald.service) ;;
    *) ln -sf /dev/null "$root/etc/systemd/system/${unit##*/}" ;;
  esac
done
cat >"$root/etc/systemd/system/trial.service" <<'END'
[Unit]
Requires=sysinit.target
After=sysinit.target
[Service]
Type=oneshot
Environment=HOME=/root LC_ALL=C
ExecStart=/bin/sh -eu /trial/script
ExecStopPost=/bin/sh -c 'echo $$EXIT_STATUS >/trial/code; systemctl exit 0'
StandardOutput=file:/trial/output
StandardError=inherit
END
cd "$root"
mkdir old
pivot_root . old
exec env -i container=trial PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c '
  umount -l /old
  exec /lib/systemd/systemd --unit=trial.service --log-level=warning --log-target=journal'
