// Runs before all other code of the bundled beacon, because nothing else checks the Node of a VM.
// Plain JavaScript that an old Node can read.
const version = process.versions.node
if (Number(version.split('.')[0]) < 24) {
  process.stderr.write(
    `The beacon needs Node 24 or newer; ${process.execPath} is ${version}. Install Node 24, or start the beacon with another Node.\n`,
  )
  // the code of wrong settings: a restart does not help
  process.exit(2)
}
