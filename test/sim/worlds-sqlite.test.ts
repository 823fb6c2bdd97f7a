import { worlds } from './worlds.ts'

worlds('sqlite')
