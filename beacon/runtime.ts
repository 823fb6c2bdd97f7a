// Starts the executable again if its environment would change how Bun runs it: Bun reads variables
// before our code does. The process keeps its id, and has the memory of the second start only.

/** Without a compiler at run time, the beacon needs half the memory. */
const noCompiler = { name: 'BUN_JSC_useJIT', value: '0' }

const isForBun = (name: string) => name.startsWith('BUN_')
const foreign = Object.keys(process.env).filter(
  (name) => isForBun(name) && name !== noCompiler.name,
)
const isAsWanted = foreign.length === 0 && process.env[noCompiler.name] === noCompiler.value
// Windows cannot replace a process: there, the service sets the variable
if (!isAsWanted && process.platform !== 'win32') startAgain()

function startAgain(): void {
  const others = Object.entries(process.env).filter(([name]) => !isForBun(name))
  const environment = { ...Object.fromEntries(others), [noCompiler.name]: noCompiler.value }
  const words = [process.execPath, ...process.argv.slice(2)]
  try {
    process.execve!(process.execPath, words, environment)
  } catch {
    // the file was moved or replaced meanwhile: run on, with more memory
  }
}
