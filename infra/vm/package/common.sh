# Functions of all scripts of the packages. They work without a running systemd, too, as in a chroot
# or while an image is made: then the service starts with the VM.
beacon=foghorn-beacon.service
hooks=foghorn-hooks.service
state=/var/lib/foghorn

is_running() {
  [ -d /run/systemd/system ] && systemctl --quiet is-active "$1"
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
  if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
    systemctl start $beacon || true
  fi
  say_what_to_do
}

upgraded() {
  make_user
  if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
    say_why upgrade
    systemctl try-restart $hooks $beacon || true
  fi
  say_what_to_do
}

say_what_to_do() {
  is_running $beacon || echo "The Foghorn beacon is not running. Write its settings into" \
    "/etc/foghorn/beacon.env, then run: systemctl enable --now foghorn-beacon"
}

removing() {
  say_why removed
  if [ -d /run/systemd/system ]; then systemctl stop $beacon $hooks || true; fi
  systemctl --quiet disable $beacon $hooks || true
}

removed() {
  if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
}

purged() {
  rm -rf $state
  userdel foghorn 2>/dev/null || true
}
