# Functions of all scripts of the packages. They work without a running systemd, too, as in a chroot
# or while an image is made: then the service starts with the VM.
beacon=foghorn-beacon.service
hooks=foghorn-hooks.service
state=/var/lib/foghorn
note=/etc/foghorn/installed-again

has_systemd() {
  [ -d /run/systemd/system ]
}

is_running() {
  has_systemd && systemctl --quiet is-active "$1"
}

# The owner of an image may forbid that packages start services:
# https://www.debian.org/doc/debian-policy/ch-opersys.html#interfacing-with-init-systems
may_start() {
  has_systemd || return 1
  [ -x /usr/sbin/policy-rc.d ] || return 0
  code=0
  /usr/sbin/policy-rc.d foghorn-beacon start || code=$?
  [ $code != 101 ]
}

# The beacon reads the word when it stops, and says it to the relay. Written with the rights of the
# beacon's user: root must not follow a link that this user made, nor wait for a reader of its pipe.
say_why() {
  is_running $beacon || return 0
  timeout 5 setpriv --reuid=foghorn --regid=foghorn --clear-groups \
    sh -c "rm -f $state/stopping && echo $1 >$state/stopping" || true
}

make_user() {
  systemd-sysusers foghorn.conf
}

installed() {
  make_user
  systemctl --quiet preset $beacon || true
  start_enabled
}

note_removal() {
  mkdir -p /etc/foghorn
  : >$note
}

was_removed() {
  [ -e $note ] && rm $note
}

# Settings and links of the services are as the owner had them before the removal.
installed_again() {
  make_user
  start_enabled
}

start_enabled() {
  if has_systemd; then systemctl daemon-reload || true; fi
  for unit in $hooks $beacon; do
    if may_start && is_enabled $unit; then systemctl start $unit || true; fi
  done
  say_what_to_do
}

# What the owner has stopped stays stopped. A start that failed is tried again.
upgraded() {
  make_user
  if has_systemd; then systemctl daemon-reload || true; fi
  if may_start; then
    say_why upgrade
    for unit in $hooks $beacon; do
      [ "$(systemctl show --property ActiveState --value $unit)" = inactive ] ||
        systemctl restart $unit || true
    done
  fi
  say_what_to_do
}

is_enabled() {
  systemctl --quiet is-enabled "$1"
}

say_what_to_do() {
  # a beacon that finds wrong settings has ended by then
  if is_running $beacon; then sleep 1; fi
  if ! has_systemd; then
    is_enabled $beacon && echo "The Foghorn beacon starts with the VM, if /etc/foghorn/beacon.env has settings."
  elif systemctl --quiet is-failed $beacon; then
    echo "The Foghorn beacon cannot start: systemctl status foghorn-beacon says why."
  elif ! is_running $beacon; then
    echo "The Foghorn beacon is not running. Write its settings into" \
      "/etc/foghorn/beacon.env, then run: systemctl enable --now foghorn-beacon"
  fi || true
}

# The services are off, and systemd does not look for them, until the package is installed again.
removing() {
  say_why removed
  if has_systemd; then systemctl stop $beacon $hooks || true; fi
}

disable() {
  systemctl --quiet disable $beacon $hooks || true
}

removed() {
  if has_systemd; then systemctl daemon-reload || true; fi
}

purged() {
  rm -rf $state
  rm -f /etc/systemd/system/*.wants/$beacon /etc/systemd/system/*.wants/$hooks
  userdel foghorn 2>/dev/null || true
}
