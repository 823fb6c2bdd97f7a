#!/usr/bin/env node
// `foghorn NAME`: runs a command. Plain JavaScript, because an old Node cannot read our TypeScript files.
import './node-version.mjs'

const { main } = await import('./commands.ts')
await main(process.argv.slice(2))
