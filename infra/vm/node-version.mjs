// Runs before anything else in the bundled beacon, because on a VM nothing else has looked at its Node. In plain
// JavaScript that old ones read, too.
const version = process.versions.node
if (Number(version.split('.')[0]) < 24) {
  process.stderr.write(
    `The beacon needs Node 24 or newer; ${process.execPath} is ${version}. Install Node 24 there, or start the beacon by another.\n`,
  )
  // as where the environment is wrong: starting again mends nothing
  process.exit(2)
}
