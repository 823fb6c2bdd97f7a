// The entry of the executable. On Node, main.ts is the entry.
import './runtime.ts'
import './main.ts'
